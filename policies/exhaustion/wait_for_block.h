// decides    a thread that finds no block and gets no further chunk sleeps until another thread frees a block, or the time is
//            up
// costs      a load and a branch for each block freed
// conflicts  locking policies under which no other thread can free a block meanwhile (no_locking), or under which it stays with
//            the thread that freed it (thread_cached); lock_free
// use when   the number of blocks is the intended limit: buffers of a device, jobs in flight
#ifndef TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_
#define TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/exhaustion/detail/no_second_store.h"
#include "tarn/policies/exhaustion/detail/semaphore.h"
#include "tarn/policies/exhaustion/traits.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn {

/// \tparam Milliseconds  time until an allocation fails as with report_exhaustion, counted from when it first found nothing
template <std::size_t Milliseconds = 1000>
struct wait_for_block {
  using axis = tarn::axis::exhaustion;
  static constexpr bool arguments_hold =  // judged where it is named: sizeof depends on the parameter
      sizeof(wait_for_block*) != 0 && platform::system::has_threads && platform::system::has_clock;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [Y6] wait_for_block was named, but this target has no threads, of which another could free a block, "
                  "or no clock; write report_exhaustion or retry_with<Handler>, or bring a platform header "
                  "(docs/platforms.md)");
  };
  static constexpr exhaustion_traits traits{.keeps_attempt = true, .hears_frees = true};

  template <class Traits>
  class state : public detail::no_second_store {
   public:
    constexpr explicit state(const wait_for_block&) noexcept {}

    /// One allocation that waits.
    class attempt {
     public:
      attempt() noexcept = default;
      ~attempt() {
        if (pool_ != nullptr) pool_->waiting_.fetch_sub(1, detail::memory_order_relaxed);
      }
      attempt(const attempt&) = delete;
      attempt& operator=(const attempt&) = delete;

     private:
      friend state;
      state* pool_ = nullptr;
      std::uint64_t deadline_ = 0;  // steady_nanoseconds()
    };

    bool retry(std::size_t, attempt& one) noexcept {
      if (one.pool_ == nullptr) {  // from now on frees are heard; a block freed before is found by looking again
        one.pool_ = this;
        one.deadline_ = deadline();
        waiting_.fetch_add(1, detail::memory_order_release);
        return true;
      }
      if (!bell_.try_acquire_until(one.deadline_)) return false;
      called_.fetch_sub(1, detail::memory_order_relaxed);  // before it looks: a free from now on calls again
      return true;
    }
    /// Called after that many blocks were freed, with nothing held. The pool's lock orders it with what a waiting thread does
    /// before and after it looks.
    void freed(std::size_t blocks) noexcept {
      if (waiting_.load(detail::memory_order_relaxed) != 0) [[unlikely]]
        call(blocks);
    }

   private:
    void call(std::size_t blocks) noexcept {
      for (; blocks != 0; --blocks) {
        std::size_t called = called_.load(detail::memory_order_relaxed);
        do {  // each thread that was called looks for itself: no need to call more than wait
          if (called >= waiting_.load(detail::memory_order_acquire)) return;
        } while (!called_.compare_exchange_weak(called, called + 1, detail::memory_order_relaxed));
        bell_.release();
      }
    }
    static std::uint64_t deadline() noexcept {
      constexpr std::uint64_t in_one = 1'000'000;  // nanoseconds in a millisecond
      constexpr std::uint64_t limit = Milliseconds < UINT64_MAX / in_one ? Milliseconds * in_one : UINT64_MAX;
      const std::uint64_t now = detail::steady_nanoseconds();
      return now > UINT64_MAX - limit ? UINT64_MAX : now + limit;
    }

    detail::atomic_word<std::size_t> waiting_ = 0;  // threads
    detail::atomic_word<std::size_t> called_ = 0;   // those of them that were told to look
    detail::semaphore bell_;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_
