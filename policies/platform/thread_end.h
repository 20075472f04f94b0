// Notifies a library when a thread exits. The destructor of a thread_local variable does as well, but its registration
// allocates, and without memory glibc aborts. A key of the system needs no memory, so it can be set in a free.
//
// Neither works for what a thread first does in the last round of its keys' destructors, because nothing runs after that. So
// code that takes something for a thread marks it, and others check whether the thread is gone, if the system can say so.
#ifndef TARN_POLICIES_PLATFORM_THREAD_END_H_
#define TARN_POLICIES_PLATFORM_THREAD_END_H_

#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// One key. Constant-initialised.
class thread_end {
 public:
  using handler = void (*)(void*);

  /// `act`, the same each time, will be called with the argument when the calling thread exits, if the library is still loaded.
  /// Returns false if that would need memory. A second call in a thread has no effect.
  bool tell([[maybe_unused]] handler act, [[maybe_unused]] void* argument) noexcept {
    if constexpr (system::thread_keys != 0) {
      unsigned place = place_.load(memory_order_acquire);
      if (place == unmade) place = make(act);
      return place < unmade && system::set_thread_value(place, argument);
    } else {
      return false;
    }
  }
  /// The calling thread's argument; null: none was set.
  void* told() noexcept {
    const unsigned place = place_.load(memory_order_acquire);
    return place < unmade ? system::thread_value(place) : nullptr;
  }
  /// Called before the library is unloaded: no thread is reported any more.
  void close() noexcept {
    const unsigned place = place_.exchange(refused, memory_order_acq_rel);
    if (place < unmade) system::drop_thread_key(place);
  }

 private:
  using system = platform::system;
  static constexpr unsigned unmade = system::thread_keys;  // keys below need no memory
  static constexpr unsigned refused = unmade + 1;

  TARN_COLD unsigned make(handler act) noexcept {
    const unsigned key = system::make_thread_key(act);
    if (key == system::no_key) return unmade;  // all are taken; the next attempt may succeed
    const unsigned place = key < unmade ? key : refused;
    unsigned seen = unmade;
    const bool is_first = place_.compare_exchange_strong(seen, place, memory_order_acq_rel);
    if (!is_first || place == refused) system::drop_thread_key(key);
    return is_first ? place : seen;
  }

  // Order: load acquire, exchange acquire and release. A key of the system, whose memory the system orders. It is set once and
  // closed once.
  atomic_word<unsigned> place_ = unmade;
};

/// Marks which thread something belongs to. Constant-initialised.
class thread_marks {
 public:
  using mark = std::uintptr_t;  // 0: no thread's, or unknown

  /// A different one each time, so that an exchange doesn't replace a later mark of a thread with the same number.
  mark next() noexcept {
    if constexpr (system::knows_threads) {
      unsigned process = process_.load(memory_order_relaxed);
      if (process == 0) process_.store(process = system::this_process(), memory_order_relaxed);
      if (process != system::this_process()) return 0;  // after vfork() another process runs as this thread
      return next_.fetch_add(1, memory_order_relaxed) << bits | system::this_thread();
    } else {
      return 0;
    }
  }
  /// Whether the thread is known to be gone. Precondition: the mark came from here.
  bool is_gone([[maybe_unused]] mark whose) noexcept {
    if constexpr (system::knows_threads)
      return whose != 0 && process_.load(memory_order_relaxed) == system::this_process() &&
             system::is_gone(whose & ((mark{1} << bits) - 1));
    else return false;
  }
  /// In the child of a fork, where the calling thread has another number.
  void renew() noexcept {
    if constexpr (system::knows_threads) process_.store(system::this_process(), memory_order_relaxed);
  }

 private:
  using system = platform::system;
  static constexpr unsigned bits = 22;  // of a thread's number

  // Order: relaxed; numbers.
  atomic_word<mark> next_ = 1;
  atomic_word<unsigned> process_ = 0;  // whose threads have marks
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_THREAD_END_H_
