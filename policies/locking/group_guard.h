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
      mutexes::admits();
      mutexes::growth.lock();
      hot().lock();
    }
    ++mutexes::held;
  }
  ~group_guard() {
    if (--mutexes::held == 0) {
      hot().unlock();
      mutexes::growth.unlock();
    }
  }
  group_guard(const group_guard&) = delete;
  group_guard& operator=(const group_guard&) = delete;

 private:
  static Mutex& hot() noexcept {
    return detail::process_forks.holds_all() ? detail::mutex_of_forker<Mutex> : mutexes::hot;
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_GROUP_GUARD_H_
