// Which pools have a call of the calling thread in progress. A reentrant call, by a signal handler that interrupted the pool,
// would deadlock or see inconsistent state; a call by the pool's own store sees what other threads see at that moment. Also
// here: a number for every thread of the process.
#ifndef TARN_POLICIES_DETAIL_CALL_FRAME_H_
#define TARN_POLICIES_DETAIL_CALL_FRAME_H_

#include <cstdint>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// One for each call, on the stack of the calling thread, which stores the address of the innermost one. A signal handler sees
/// the frames of the thread that it interrupted, and leaves them unchanged.
class call_frame {
 public:
  TARN_STEP explicit call_frame(const void* pool) noexcept : pool_(pool), outer_(innermost().load(memory_order_relaxed)) {
    if constexpr (knows_thread) innermost().store(this, memory_order_relaxed);
    signal_fence();
  }
  TARN_STEP ~call_frame() {
    signal_fence();
    if constexpr (knows_thread) innermost().store(outer_, memory_order_relaxed);
  }
  call_frame(const call_frame&) = delete;
  call_frame& operator=(const call_frame&) = delete;

  /// The innermost frame of this thread in that pool; null: as below.
  TARN_STEP static const call_frame* last_in(const void* pool) noexcept {
    const call_frame* one = innermost().load(memory_order_relaxed);
    while (one != nullptr && one->pool_ != pool) one = one->outer_;
    return one;
  }
  bool is_at_store() const noexcept { return is_at_store_; }
  /// The outermost frame of this thread in that pool; null: this thread has no call in progress.
  TARN_STEP static call_frame* in(const void* pool) noexcept {
    call_frame* found = nullptr;
    for (call_frame* one = innermost().load(memory_order_relaxed); one != nullptr; one = one->outer_)
      if (one->pool_ == pool) found = one;
    return found;
  }

  /// True the first time, so if a handler is called for a call and makes another one, it isn't called again.
  bool is_news() noexcept { return !replace(told_, true); }

 private:
  // Otherwise nothing is detected.
  static constexpr bool knows_thread = platform::system::has_thread_locals || !platform::system::has_threads;
  TARN_STEP static atomic_word<call_frame*>& innermost() noexcept {
    // Order: relaxed; own. It has fences for the thread's signal handlers.
    static constinit TARN_THREAD_LOCAL atomic_word<call_frame*> frame = nullptr;
    return frame;
  }

  const void* pool_;
  call_frame* outer_;
  bool told_ = false;
  bool is_at_store_ = false;

  friend class store_mark;
};

/// Held while a store is called: marks that the thread's innermost call is at its store.
class store_mark {
 public:
  store_mark() noexcept : frame_(call_frame::innermost().load(memory_order_relaxed)) { set(true); }
  ~store_mark() { set(before_); }
  store_mark(const store_mark&) = delete;
  store_mark& operator=(const store_mark&) = delete;

 private:
  void set(bool now) noexcept {
    signal_fence();
    if (frame_ != nullptr) before_ = replace(frame_->is_at_store_, now);
    signal_fence();
  }

  call_frame* const frame_;
  bool before_ = false;
};

// ---- a number for each thread of the process ------------------------------------------------------------------------------

/// 64 bits where the processor can count in them at once.
using thread_number = std::conditional_t<platform::has_wide_atomics, std::uint64_t, std::uintptr_t>;

/// The library that numbers the threads of the process.
struct thread_numbering {
  thread_number& (*const of_thread)() noexcept;  // where the calling thread's number is stored; 0: none yet
  // Order: relaxed; a number. No two threads get the same, because each change is a read-modify-write.
  atomic_word<thread_number> last = 0;

  TARN_COLD thread_number ask() noexcept {
    thread_number& number = of_thread();
    if (number == 0) number = last.fetch_add(1, memory_order_relaxed) + 1;
    return number;
  }
};
TARN_ONE_IN_LIBRARY inline thread_number& number_of_thread() noexcept {
  static constinit TARN_THREAD_LOCAL thread_number number = 0;
  return number;
}
TARN_FOUND_IN_PROCESS inline constinit thread_numbering library_numbering{number_of_thread};

/// A number that no other thread of the process ever has: 1, 2, ... in the order of the first calls. Without thread-local
/// variables: the system's number for the thread, which a later thread may get again.
TARN_STEP thread_number this_thread_number() noexcept {
  if constexpr (platform::system::has_thread_locals) {
    static constinit TARN_THREAD_LOCAL thread_number known = 0;
    if (known == 0) [[unlikely]] known = one_in_process<library_numbering, 0x101>::get().ask();
    return known;
  } else {
    return platform::system::this_thread();
  }
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_CALL_FRAME_H_
