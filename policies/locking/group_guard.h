// Holds the mutexes of a group over many calls. A separate header, because its default mutex needs <mutex>.
#ifndef TARN_POLICIES_LOCKING_GROUP_GUARD_H_
#define TARN_POLICIES_LOCKING_GROUP_GUARD_H_

#include "tarn/policies/locking.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/standard_library.h"

#if defined(TARN_STANDARD_THREADS)
#include <mutex>
#endif

namespace tarn {

namespace detail {
#if defined(TARN_STANDARD_THREADS)
using group_mutex = std::mutex;
#else
using group_mutex = mutex;
#endif
}  // namespace detail

/// Holds both mutexes of a group over many operations on its pools, including their stores and exhaustion handlers. It can be
/// nested.
/// \tparam Mutex  that of the group's pools; by default std::mutex, or tarn::mutex if the standard library has none
template <class Group, class Mutex = detail::group_mutex>
class [[nodiscard("tarn: a guard without a name unlocks immediately")]] group_guard {
  using mutexes = detail::group_mutexes<Group, Mutex>;

 public:
  /// Locks the group, unless the thread holds another guard of it. Throws: what lock() of the mutex throws.
  group_guard() : growth_(mutexes::growth, mutexes::held != 0) {
    if (!growth_) return;
    if (mutexes::held == 0) {
      if (mutexes::admits()) mutexes::hot.lock();  // else this thread forks, and holds all: no shared spare
      mutexes::is_guarded = true;
    }
    ++mutexes::held;
  }
  /// Unlocks the group, if it is the outermost guard.
  ~group_guard() {
    if (!growth_ || --mutexes::held != 0) return;
    mutexes::is_guarded = false;
    if (!detail::process_forks().holds_all()) mutexes::hot.unlock();
  }
  group_guard(const group_guard&) = delete;
  group_guard& operator=(const group_guard&) = delete;

 private:
  typename detail::store_mutex<Mutex>::guard growth_;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_GROUP_GUARD_H_
