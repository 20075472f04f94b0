// A limit in bytes that several pools share, and products, through budgeted.h: each is given its own store and this budget.
#ifndef TARN_POLICIES_STORE_MEMORY_BUDGET_H_
#define TARN_POLICIES_STORE_MEMORY_BUDGET_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/cancellation.h"

namespace tarn {

/// Counts the bytes that pools have from their stores. Any thread may call any member at any time; none waits for another
/// thread. Constant-initialised and trivially destructible, so that one can serve static pools. It must outlive whatever
/// charges it.
///
/// Bytes are charged before the store is asked for them, and given back after the store has them again, so the limit isn't
/// exceeded by a byte in between either.
class memory_budget {
 public:
  /// Called once each time that used() has risen above the soft limit; what rose before a call came is told by that one. The
  /// thread that asked for memory calls it, at the end of its operation and holding nothing: it may use the pool, trim it and
  /// others, and wait for threads that use them. It must return, and not end that pool. Several threads may call it at once,
  /// and it may be called within itself, where it lets used() fall and rise again.
  using handler = void (*)(memory_budget& which, void* context) noexcept;

  /// Both limits are in bytes. A budget without a soft limit calls nothing.
  constexpr explicit memory_budget(std::size_t limit) noexcept : limit_(limit) {}
  constexpr memory_budget(std::size_t limit, std::size_t soft_limit, handler above, void* context = nullptr) noexcept
      : limit_(limit), soft_limit_(soft_limit), above_(above), context_(context) {}
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;

  /// Returns the most bytes that may be in use at once.
  std::size_t limit() const noexcept { return limit_.load(detail::memory_order_relaxed); }
  /// Nothing is taken away: above a lower limit, requests are refused until used() has fallen so far.
  void set_limit(std::size_t bytes) noexcept { limit_.store(bytes, detail::memory_order_relaxed); }

  /// Returns the bytes above which the handler is called. size_max: never.
  std::size_t soft_limit() const noexcept { return soft_limit_.load(detail::memory_order_relaxed); }
  /// Calls nothing, even if used() is above it.
  void set_soft_limit(std::size_t bytes) noexcept { soft_limit_.store(bytes, detail::memory_order_relaxed); }

  /// Returns the bytes in use: those of all regions that stores gave and didn't get back.
  std::size_t used() const noexcept { return used_.load(detail::memory_order_relaxed); }
  /// Returns the most that used() was.
  std::size_t peak() const noexcept { return peak_.load(detail::memory_order_relaxed); }
  /// Returns the bytes that can still be had, if no other thread is faster. Memory that a store is being asked for counts
  /// as used.
  std::size_t left() const noexcept {
    const std::size_t most = limit(), now = reserved_.load(detail::memory_order_relaxed);
    return most - detail::smaller(most, now);
  }
  /// Returns how many requests the limit refused. A pool that is refused a large chunk may request a smaller one.
  std::size_t refused() const noexcept { return refused_.load(detail::memory_order_relaxed); }

  // ---- for stores, and for memory that is in no pool -----------------------------------------------------------------------

  /// Charges what a store gives. Returns that, or null if the store or the limit refuses; then nothing has changed, but that
  /// refused() counts what the limit refused. Call tell() afterwards.
  /// \param bytes  that get() is expected to give: these are charged before. If it gives more, and the limit doesn't allow
  ///               that, give() gets the region back
  template <class Get, class Give>
  detail::memory charge(std::size_t bytes, Get get, Give give) noexcept {
    if (!reserve(bytes)) return {};
    const detail::memory region = get();
    const std::size_t got = region ? region.bytes : 0;
    if (got > bytes && !reserve(got - bytes)) {
      give(region);
      cancel(bytes);
      return {};
    }
    if (got < bytes) cancel(bytes - got);
    if (got != 0) note_had(got);
    return region;
  }
  /// Charges so many bytes, or returns false. The same for memory that the caller gets by itself.
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    if (!reserve(bytes)) return false;
    note_had(bytes);
    return true;
  }
  /// Precondition: they were taken. Called after the memory has gone.
  void give_back(std::size_t bytes) noexcept {
    used_.fetch_sub(bytes, detail::memory_order_relaxed);
    cancel(bytes);
  }
  /// Calls the handler, if used() rose above the soft limit since the last call. Call it with nothing held.
  void tell() noexcept {
    if (!rose_.load(detail::memory_order_relaxed) || !rose_.exchange(false, detail::memory_order_acq_rel)) return;
    const detail::uncancelled whole;
    above_(*this, context_);
  }

 private:
  /// Acquires what cancel() released: the memory that is charged next is had after the memory that made room for it went.
  bool reserve(std::size_t bytes) noexcept {
    std::size_t now = reserved_.load(detail::memory_order_relaxed);
    do {
      const std::size_t most = limit();
      if (now > most || bytes > most - now) {
        refused_.fetch_add(1, detail::memory_order_relaxed);
        return false;
      }
    } while (!reserved_.compare_exchange_weak(now, now + bytes, detail::memory_order_acquire));
    return true;
  }
  void cancel(std::size_t bytes) noexcept { reserved_.fetch_sub(bytes, detail::memory_order_release); }

  /// The store gave what was reserved. One addition among those of all threads goes past the soft limit.
  void note_had(std::size_t bytes) noexcept {
    const std::size_t before = used_.fetch_add(bytes, detail::memory_order_relaxed);
    const std::size_t now = before + bytes;
    std::size_t seen = peak();
    while (seen < now && !peak_.compare_exchange_weak(seen, now, detail::memory_order_relaxed)) {
    }
    const std::size_t soft = soft_limit();
    if (above_ != nullptr && before <= soft && now > soft) rose_.store(true, detail::memory_order_release);
  }

  detail::atomic_word<std::size_t> limit_;
  detail::atomic_word<std::size_t> soft_limit_ = detail::size_max;
  detail::atomic_word<std::size_t> reserved_ = 0;  // used, and what stores are being asked for
  detail::atomic_word<std::size_t> used_ = 0;
  detail::atomic_word<std::size_t> peak_ = 0;
  detail::atomic_word<std::size_t> refused_ = 0;
  detail::atomic_word<bool> rose_ = false;  // and nobody was told
  const handler above_ = nullptr;
  void* const context_ = nullptr;
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_MEMORY_BUDGET_H_
