// The pools of the process that threads ask something: to trim, or how they are.
//
// Nothing here waits while it holds something: the list's mutex is never held while a pool is asked.
#ifndef TARN_POLICIES_DETAIL_ASKED_LIST_H_
#define TARN_POLICIES_DETAIL_ASKED_LIST_H_

#include <climits>
#include <cstddef>

#include "tarn/policies/detail/asked_member.h"
#include "tarn/policies/detail/ranked_list.h"
#include "tarn/policies/detail/store_mutex.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// One walk through a list: one rank after the other, from the lowest.
struct asked_round {
  int from = INT_MIN;
  bool ended = false;
};

/// \tparam Member  an asked_member, with a rank()
template <class Member>
class asked_list : fork_member {
 public:
  /// Calls ask(member) for those of the next rank.
  template <class Ask>
  void ask_next(asked_round& round, Ask ask) noexcept {
    const inside_gate inside;
    asking now;
    for (begin(now, round); now.member != nullptr; next(now, round)) ask(*now.member);
  }

  std::size_t size() noexcept {
    const held lock(mutex());
    return size_;
  }
  /// fill(member) writes what asking it needs. Only the first call does something.
  template <class Fill>
  void add(Member& m, Fill fill) noexcept {
    const held lock(mutex());
    if (of(m).entered_.load(memory_order_relaxed)) return;
    fill(m);
    members_.enter(m);
    ++size_;
    of(m).entered_.store(true, memory_order_release);
  }
  void remove(Member& m) noexcept {
    pause(m);
    const held lock(mutex());
    if (of(m).entered_.load(memory_order_relaxed)) take_out(m);  // its library may have removed it meanwhile
    --of(m).paused_;
  }
  /// The library is unloaded, or the process ends.
  void remove_library(const asked_library& library) noexcept {
    tarn::mutex& held_one = mutex();
    const held lock(held_one);
    for (Member* m = members_.first(); m != nullptr;) {
      Member& here = *m;
      m = of(here).links.after;
      if (of(here).library_.load(memory_order_relaxed) != &library) continue;
      if (of(here).asked_by_ == 0) {
        take_out(here);
      } else {
        wait_a_moment(held_one);
        m = members_.first();  // any may have come or gone
      }
    }
  }

  /// From now on nobody asks the member. Waits for threads that are asking it.
  void pause(Member& m) noexcept {
    tarn::mutex& held_one = mutex();
    const held lock(held_one);
    ++of(m).paused_;
    while (of(m).asked_by_ != 0) wait_a_moment(held_one);
  }
  void resume(Member& m) noexcept {
    const held lock(mutex());
    --of(m).paused_;
  }

 private:
  /// What a thread asks now.
  struct asking {
    Member* member = nullptr;
    asking* next = nullptr;
    const thread_number thread = this_thread_number();
  };

  static asked_member<Member>& of(Member& m) noexcept { return m; }
  tarn::mutex& mutex() noexcept { return admits(act) ? mutex_ : mutex_of_forker<tarn::mutex>; }
  /// In the child, threads that asked are gone.
  static void act(fork_member& m, fork_step step) noexcept {
    auto& list = static_cast<asked_list&>(m);
    detail::act_on_leaf(list.mutex_, step);
    if (step != fork_step::renew) return;
    for (asking** at = &list.asking_; *at != nullptr;) {
      asking& other = **at;
      if (other.thread == this_thread_number()) {
        at = &other.next;
      } else {
        if (other.member != nullptr) --of(*other.member).asked_by_;
        *at = other.next;
      }
    }
  }

  void begin(asking& now, asked_round& round) noexcept {
    const held lock(mutex());
    Member* m = members_.first();
    while (m != nullptr && (m->rank() < round.from || of(*m).paused_ != 0)) m = of(*m).links.after;
    round.ended = m == nullptr;
    if (m == nullptr) return;
    round.from = m->rank();
    ++of(*m).asked_by_;
    now.member = m;
    now.next = asking_;
    asking_ = &now;
  }
  void next(asking& now, asked_round& round) noexcept {
    const held lock(mutex());
    --of(*now.member).asked_by_;
    Member* m = of(*now.member).links.after;
    while (m != nullptr && of(*m).paused_ != 0) m = of(*m).links.after;
    if (m != nullptr && m->rank() == round.from) {
      ++of(*m).asked_by_;
      now.member = m;
      return;
    }
    round.ended = m == nullptr;
    if (m != nullptr) round.from = m->rank();
    now.member = nullptr;
    asking** at = &asking_;
    while (*at != &now) at = &(*at)->next;
    *at = now.next;
  }

  static void wait_a_moment(tarn::mutex& held_one) noexcept {
    held_one.unlock();
    sleep_microseconds(20);
    held_one.lock();
  }
  void take_out(Member& m) noexcept {
    members_.leave(m);
    --size_;
    of(m).forget_library();
    of(m).entered_.store(false, memory_order_release);
  }

  tarn::mutex mutex_;
  ranked_list<Member> members_;  // by ascending rank, then in the order they came
  std::size_t size_ = 0;
  asking* asking_ = nullptr;     // by other threads, and by those at whose stores they are
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_ASKED_LIST_H_
