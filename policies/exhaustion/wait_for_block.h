// decides    a thread that finds no block, and no further chunk, sleeps until another thread gives a block back, or the time is over
// costs      a load and a branch for each block given back
// conflicts  locking policies under which nobody can give one back meanwhile (no_locking), or where it stays with the thread that
//            did (thread_cached); lock_free
// use when   the number of blocks is the limit that is meant: buffers of a device, jobs in flight
#ifndef TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_
#define TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <new>
#include <semaphore>
#include <thread>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/no_second_store.h"

namespace tarn {

/// \tparam Milliseconds  after which an allocation fails as with report_exhaustion, counted from when it first found nothing
template <std::size_t Milliseconds = 1000>
struct wait_for_block {
  using axis = tarn::axis::exhaustion;
  static constexpr std::size_t extra_chunks = 0;
  static constexpr bool hears_frees = true;

  template <class Environment>
  class part : public detail::no_second_store {
   public:
    constexpr explicit part(const wait_for_block&) noexcept {}

    /// One allocation that waits.
    class attempt {
     public:
      attempt() noexcept = default;
      ~attempt() {
        if (pool_ != nullptr) pool_->waiting_.fetch_sub(1, std::memory_order_relaxed);
      }
      attempt(const attempt&) = delete;
      attempt& operator=(const attempt&) = delete;

     private:
      friend part;
      part* pool_ = nullptr;
      std::chrono::steady_clock::time_point deadline_;
    };

    bool retry(std::size_t, attempt& one) noexcept {
      if (one.pool_ == nullptr) {  // from now on frees are heard; what was given back before is found by looking again
        prepare();
        one.pool_ = this;
        one.deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(Milliseconds);
        waiting_.fetch_add(1, std::memory_order_release);
        return true;
      }
      if (!bell().try_acquire_until(one.deadline_)) return false;
      called_.fetch_sub(1, std::memory_order_relaxed);  // before it looks: a free from now on calls again
      return true;
    }
    /// After so many blocks were given back, with nothing held. The pool's lock orders it with what a thread that waits does
    /// before and after it looks.
    void freed(std::size_t blocks) noexcept {
      if (waiting_.load(std::memory_order_relaxed) != 0) [[unlikely]]
        call(blocks);
    }

   private:
    void call(std::size_t blocks) noexcept {
      for (; blocks != 0; --blocks) {
        std::size_t called = called_.load(std::memory_order_relaxed);
        do {  // whoever was called looks for himself: more than all need no call
          if (called >= waiting_.load(std::memory_order_acquire)) return;
        } while (!called_.compare_exchange_weak(called, called + 1, std::memory_order_relaxed));
        bell().release();
      }
    }
    /// The first thread that waits makes the semaphore: it isn't a constant everywhere, as a static pool must be.
    void prepare() noexcept {
      int seen = made_.load(std::memory_order_acquire);
      if (seen == 0 && made_.compare_exchange_strong(seen, 1, std::memory_order_acquire)) {
        ::new (static_cast<void*>(room_)) semaphore(0);
        made_.store(2, std::memory_order_release);
      }
      while (made_.load(std::memory_order_acquire) != 2) std::this_thread::yield();
    }

    using semaphore = std::counting_semaphore<>;
    static_assert(std::is_trivially_destructible_v<semaphore>);
    semaphore& bell() noexcept { return *std::launder(reinterpret_cast<semaphore*>(room_)); }

    std::atomic<std::size_t> waiting_ = 0;  // threads
    std::atomic<std::size_t> called_ = 0;   // of them, that were told to look
    std::atomic<int> made_ = 0;             // 2: the semaphore is
    alignas(semaphore) std::byte room_[sizeof(semaphore)] = {};
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_
