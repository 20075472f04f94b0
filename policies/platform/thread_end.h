// Tells a library that a thread ends. The destructor of a thread_local variable does, too, but its registration allocates, and
// without memory glibc ends the process. A key of the system needs none, so that it can be asked for in a free.
#ifndef TARN_POLICIES_PLATFORM_THREAD_END_H_
#define TARN_POLICIES_PLATFORM_THREAD_END_H_

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// One key. Constant-initialised.
class thread_end {
 public:
  using handler = void (*)(void*);

  /// `act`, the same each time, will be called with the argument when the calling thread ends, if the library is still loaded.
  /// Returns whether: not if that needs memory. Called twice in a thread, it counts once.
  bool tell([[maybe_unused]] handler act, [[maybe_unused]] void* argument) noexcept {
    if constexpr (system::thread_keys != 0) {
      unsigned place = place_.load(memory_order_acquire);
      if (place == unmade) place = make(act);
      return place < unmade && system::set_thread_value(place, argument);
    } else {
      return false;
    }
  }
  /// The calling thread's argument; null: it told none.
  void* told() noexcept {
    const unsigned place = place_.load(memory_order_acquire);
    return place < unmade ? system::thread_value(place) : nullptr;
  }
  /// Called before the library is unloaded: nobody is told any more.
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
    if (key == system::no_key) return unmade;  // all are taken: perhaps not the next time
    const unsigned place = key < unmade ? key : refused;
    unsigned seen = unmade;
    const bool is_first = place_.compare_exchange_strong(seen, place, memory_order_acq_rel);
    if (!is_first || place == refused) system::drop_thread_key(key);
    return is_first ? place : seen;
  }

  atomic_word<unsigned> place_ = unmade;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_THREAD_END_H_
