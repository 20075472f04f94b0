// A limit in bytes that several pools and products share through budgeted, which gives each its own store and this budget.
#ifndef TARN_POLICIES_STORE_MEMORY_BUDGET_H_
#define TARN_POLICIES_STORE_MEMORY_BUDGET_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/store.h"

namespace tarn {

/// Counts the bytes that pools have from their stores. Any thread may call any member at any time, without waiting. It is
/// constant-initialised and trivially destructible, so it can serve static pools, and must outlive everything that charges it.
///
/// Bytes are charged before the store is called, and credited after they were returned, so the limit is never exceeded.
class memory_budget {
 public:
  /// Called once each time used() has risen above the soft limit, by the thread that requested memory, at the end of its
  /// operation. Nothing is held, so it may use and trim any pool, and wait for threads that use them. It must return, and not
  /// destroy that pool. Several threads may call it at the same time, and it may be called within itself if it lets used() fall
  /// and rise again.
  using handler = void (*)(memory_budget& which, void* context) noexcept;

  /// Both limits are in bytes. A budget without a soft limit calls nothing.
  constexpr explicit memory_budget(std::size_t limit) noexcept : limit_(limit) {}
  constexpr memory_budget(std::size_t limit, std::size_t soft_limit, handler above, void* context = nullptr) noexcept
      : limit_(limit), soft_limit_(soft_limit), above_(above), context_(context) {}
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;

  /// Returns the most bytes that may be in use.
  std::size_t limit() const noexcept { return limit_.load(detail::memory_order_relaxed); }
  /// If the limit is lower than used(), requests are refused until used() has fallen to it.
  void set_limit(std::size_t bytes) noexcept { limit_.store(bytes, detail::memory_order_relaxed); }

  /// Returns the bytes above which the handler is called. size_max: never.
  std::size_t soft_limit() const noexcept { return soft_limit_.load(detail::memory_order_relaxed); }
  /// Calls nothing, even if used() is above it.
  void set_soft_limit(std::size_t bytes) noexcept { soft_limit_.store(bytes, detail::memory_order_relaxed); }

  /// Returns the bytes of all regions that stores allocated and that weren't returned.
  std::size_t used() const noexcept { return used_.load(detail::memory_order_relaxed); }
  /// Returns the most that used() was.
  std::size_t peak() const noexcept { return peak_.load(detail::memory_order_relaxed); }
  /// Returns the bytes that are still available. Memory that is being requested from a store counts as used.
  std::size_t left() const noexcept {
    const std::size_t most = limit(), now = reserved_.load(detail::memory_order_relaxed);
    return most - detail::smaller(most, now);
  }
  /// Returns how many requests the limit refused; after one, a pool may request a smaller chunk.
  std::size_t refused() const noexcept { return refused_.load(detail::memory_order_relaxed); }

  // ---- for stores, and for memory that is in no pool -----------------------------------------------------------------------

  /// Charges what a store allocates. Returns it, or null if the store or the limit refuses; then only refused() has changed.
  /// Call tell() afterwards.
  /// \param bytes  charged before: what get() should return. If it returns more than the limit allows, give() gets the region
  ///               back
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
  /// Charges that many bytes, or returns false. For memory that the caller allocates itself.
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    if (!reserve(bytes)) return false;
    note_had(bytes);
    return true;
  }
  /// Precondition: they were taken. Called after the memory was freed.
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
  /// Acquires what cancel() released, so that memory is allocated only after the memory that made room for it was freed.
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

  /// The store allocated what was reserved. Exactly one addition of all threads crosses the soft limit.
  void note_had(std::size_t bytes) noexcept {
    const std::size_t before = used_.fetch_add(bytes, detail::memory_order_relaxed);
    const std::size_t now = before + bytes;
    std::size_t seen = peak();
    while (seen < now && !peak_.compare_exchange_weak(seen, now, detail::memory_order_relaxed)) {
    }
    const std::size_t soft = soft_limit();
    if (above_ != nullptr && before <= soft && now > soft) rose_.store(true, detail::memory_order_release);
  }

  // Order: relaxed; numbers.
  detail::atomic_word<std::size_t> limit_;
  detail::atomic_word<std::size_t> soft_limit_ = detail::size_max;
  // Order: of reserved_, take acquire, give back release. Memory that makes room has gone before the room is used. One word
  // holds all, so the limit is exact. The others are relaxed; numbers.
  detail::atomic_word<std::size_t> reserved_ = 0;  // used, and what is being requested from stores
  detail::atomic_word<std::size_t> used_ = 0;
  detail::atomic_word<std::size_t> peak_ = 0;
  detail::atomic_word<std::size_t> refused_ = 0;
  // Order: set release, notify acquire and release. One of the threads that see it set resets it, and calls with what was
  // counted before.
  detail::atomic_word<bool> rose_ = false;  // and it wasn't reported yet
  const handler above_ = nullptr;
  void* const context_ = nullptr;
};

namespace detail {

/// The base class of a budgeted store whose argument isn't a store, which is rejected.
struct budgeted_nothing {
  static constexpr store_traits traits{};
  template <class Traits>
  struct source {};
};
template <class Inner>
concept store_in_budget = defined<Inner> && policy_on<Inner, axis::store> && says<Inner, store_traits>;
template <class Inner>
using known_inner = std::conditional_t<store_in_budget<Inner>, Inner, budgeted_nothing>;

/// The budget: that of its type, or one that its value refers to. g++ 12 with -fsanitize=undefined can't compare the argument
/// with null.
template <memory_budget* Budget>
struct which_budget {
  static constexpr memory_budget& get() noexcept { return *Budget; }
};
template <>
struct which_budget<nullptr> {
  constexpr memory_budget& get() const noexcept { return *budget; }
  memory_budget* budget;
};

}  // namespace detail

// decides    another store's chunks count against a memory_budget, a limit in bytes that several pools may share
// costs      four atomic operations for each chunk; a pointer in the pool, or nothing if the budget is a template argument
// conflicts  none; a static pool's budget must be a template argument: budgeted<Store, &budget>
// use when   several pools must stay within a common limit in bytes, or a handler must be called when they exceed one
/// \tparam Inner   any store, even a budgeted one, whose budget is then charged as well
/// \tparam Budget  with static storage duration; null: the constructor is given one
template <class Inner, memory_budget* Budget = nullptr>
class budgeted : public detail::known_inner<Inner> {
  using known = detail::known_inner<Inner>;
  static constexpr bool named = !std::is_same_v<detail::which_budget<Budget>, detail::which_budget<nullptr>>;

 public:
  using axis = tarn::axis::store;
  static constexpr bool arguments_hold = detail::store_in_budget<Inner>;
  struct complaint : detail::home<Inner> {
    static_assert(arguments_hold || !detail::defined<Inner>,
                  "tarn: [T3] budgeted was given something that isn't a store; write budgeted<heap_store>, or "
                  "budgeted<heap_store, &budget>");
  };
  static constexpr store_traits traits = [] {
    store_traits all = known::traits.wrapped();
    all.own_apart = known::traits.own_apart;
    all.can_discard = known::traits.can_discard;
    all.tells_later = true;
    return all;
  }();

  /// \param budget  must outlive the pool
  constexpr explicit budgeted(memory_budget& budget) noexcept
    requires(!named && std::default_initializable<known>)
      : whose_{&budget} {}
  constexpr budgeted(memory_budget& budget, const Inner& inner) noexcept
    requires(!named)
      : known(inner), whose_{&budget} {}

  constexpr budgeted() noexcept  // avoids a second error
    requires((named && std::default_initializable<known>) || !arguments_hold)
  = default;
  /// \param inner  the inner store, or its constructor's argument
  template <class Given>
    requires(named && std::constructible_from<known, const Given&>)
  constexpr explicit budgeted(const Given& inner) noexcept : known(inner) {}

  /// Returns the budget that chunks are charged to.
  constexpr memory_budget& budget() const noexcept { return whose_.get(); }

  template <class Traits>
  class source : public Inner::template source<Traits> {
    using inner = typename Inner::template source<Traits>;

   public:
    constexpr explicit source(const budgeted& store) noexcept : inner(store), whose_(store.whose_) {}

    constexpr memory_budget& budget() const noexcept { return whose_.get(); }

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      return budget().charge(
          expected(bytes, alignment), [&] { return inner::acquire(bytes, alignment); },
          [&](detail::memory region) { inner::release(region, alignment); });
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      inner::release(region, alignment);
      budget().give_back(region.bytes);
    }

    detail::memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept
      requires(Inner::traits.own_apart)
    {
      return budget().charge(
          bytes, [&] { return inner::acquire_own(bytes, alignment); },
          [&](detail::memory region) { inner::release_own(region, alignment); });
    }
    void release_own(detail::memory region, std::size_t alignment) noexcept
      requires(Inner::traits.own_apart)
    {
      inner::release_own(region, alignment);
      budget().give_back(region.bytes);
    }

    /// 0 if the budget has less, because a bounded store returns all or nothing.
    std::size_t room(std::size_t alignment) const noexcept
      requires(Inner::traits.bounded)
    {
      const std::size_t bytes = inner::room(alignment);
      return bytes <= budget().left() ? bytes : 0;
    }

    /// Calls the budgets' handlers, the outermost first.
    void tell() noexcept {
      budget().tell();
      if constexpr (Inner::traits.tells_later) inner::tell();
    }

   private:
    /// The bytes that the inner store would return, so that they are charged before.
    std::size_t expected(std::size_t bytes, [[maybe_unused]] std::size_t alignment) const noexcept {
      if constexpr (Inner::traits.bounded) return detail::larger(bytes, inner::room(alignment));
      else if constexpr (Inner::traits.rounds_up) return detail::larger(bytes, inner::rounded_up(bytes, alignment));
      else return bytes;
    }

    TARN_NO_UNIQUE_ADDRESS detail::which_budget<Budget> whose_;
  };

 private:
  TARN_NO_UNIQUE_ADDRESS detail::which_budget<Budget> whose_;
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_MEMORY_BUDGET_H_
