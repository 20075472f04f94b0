// Holds the mutexes of a group over many calls. A header of its own, since its default costs <mutex>.
#ifndef TARN_POLICIES_LOCKING_GROUP_GUARD_H_
#define TARN_POLICIES_LOCKING_GROUP_GUARD_H_

#include <mutex>

#include "tarn/policies/locking/grouped_locking.h"

namespace tarn {

/// Holds both mutexes of a group, growth first, over many operations on many pools of the group. It can be nested. While it
/// is held, stores and exhaustion handlers of those pools run under it too.
template <class Group, class Mutex = std::mutex>
class [[nodiscard("tarn: the guard ends where it isn't named")]] group_guard {
  using mutexes = detail::group_mutexes<Group, Mutex>;

 public:
  group_guard() {
    if (mutexes::held == 0) {
      mutexes::member.enter(mutexes::act);
      std::unique_lock<Mutex> first(mutexes::growth);  // unlocked if the second lock() throws
      mutexes::hot.lock();
      first.release();
    }
    ++mutexes::held;
  }
  ~group_guard() {
    if (--mutexes::held == 0) {
      mutexes::hot.unlock();
      mutexes::growth.unlock();
    }
  }
  group_guard(const group_guard&) = delete;
  group_guard& operator=(const group_guard&) = delete;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_GROUP_GUARD_H_
