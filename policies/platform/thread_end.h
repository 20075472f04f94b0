// Tells a library that a thread ends. The destructor of a thread_local variable does, too, but its registration allocates, and
// without memory glibc ends the process. A key of the system needs none, so that it can be asked for in a free.
#ifndef TARN_POLICIES_PLATFORM_THREAD_END_H_
#define TARN_POLICIES_PLATFORM_THREAD_END_H_

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

#if defined(__linux__) && __has_include(<pthread.h>)
#include <pthread.h>
#define TARN_HAS_KEYS 1
#endif

namespace tarn::detail {

/// One key. Constant-initialised.
class thread_end {
 public:
  using handler = void (*)(void*);

  /// `act`, the same each time, will be called with the argument when the calling thread ends, if the library is still loaded.
  /// Returns whether: not if that needs memory. Called twice in a thread, it counts once.
  bool tell([[maybe_unused]] handler act, [[maybe_unused]] void* argument) noexcept {
#if defined(TARN_HAS_KEYS)
    unsigned place = place_.load(memory_order_acquire);
    if (place == unmade) place = make(act);
    return place < free_of_memory && pthread_setspecific(static_cast<pthread_key_t>(place), argument) == 0;
#else
    return false;
#endif
  }
  /// Called before the library is unloaded: nobody is told any more.
  void close() noexcept {
    [[maybe_unused]] const unsigned place = place_.exchange(refused, memory_order_acq_rel);
#if defined(TARN_HAS_KEYS)
    if (place < free_of_memory) pthread_key_delete(static_cast<pthread_key_t>(place));
#endif
  }

 private:
  static constexpr unsigned free_of_memory = 32;  // glibc has the values of the first 32 keys in the thread; musl those of all
  static constexpr unsigned unmade = free_of_memory;
  static constexpr unsigned refused = free_of_memory + 1;

#if defined(TARN_HAS_KEYS)
  TARN_COLD unsigned make(handler act) noexcept {
    pthread_key_t key = {};
    if (pthread_key_create(&key, act) != 0) return unmade;  // all are taken: perhaps not the next time
    const auto number = static_cast<unsigned>(key);
    const unsigned place = number < free_of_memory ? number : refused;
    unsigned seen = unmade;
    const bool is_first = place_.compare_exchange_strong(seen, place, memory_order_acq_rel);
    if (!is_first || place == refused) pthread_key_delete(key);
    return is_first ? place : seen;
  }
#endif

  atomic_word<unsigned> place_ = unmade;
};

}  // namespace tarn::detail

#undef TARN_HAS_KEYS

#endif  // TARN_POLICIES_PLATFORM_THREAD_END_H_
