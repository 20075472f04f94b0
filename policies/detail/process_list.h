// The pools of the process that threads ask something: to trim, or how they are.
//
// Nothing here waits while it holds something: the list's mutex is never held while a pool is asked.
#ifndef TARN_POLICIES_DETAIL_PROCESS_LIST_H_
#define TARN_POLICIES_DETAIL_PROCESS_LIST_H_

#include <climits>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

// A list by ascending rank, and within a rank in the order in which its nodes came. To enter and to leave costs as much as
// there are different ranks, however many nodes there are: the last node of each rank is linked to that of the next one.

namespace tarn::detail {

/// What a node of the list keeps for it.
template <class Node>
struct ranked {
  Node* before = nullptr;
  Node* after = nullptr;
  Node* next_last = nullptr;  // of the last node of a rank: the last of the next higher rank
};

/// \tparam Node  has rank(), which doesn't change while it is in the list, and links, a ranked<Node>
template <class Node>
class ranked_list {
 public:
  constexpr Node* first() const noexcept { return first_; }

  void enter(Node& node) noexcept {
    Node* before = nullptr;  // the last of a lower rank, or of its own
    Node** last = &lasts_;
    while (*last != nullptr && (*last)->rank() < node.rank()) {
      before = *last;
      last = &before->links.next_last;
    }
    if (*last != nullptr && (*last)->rank() == node.rank()) {
      before = *last;
      node.links.next_last = before->links.next_last;
    } else {
      node.links.next_last = *last;
    }
    *last = detail::pointer_to(node);
    Node*& here = before != nullptr ? before->links.after : first_;
    node.links.before = before;
    node.links.after = here;
    if (here != nullptr) here->links.before = detail::pointer_to(node);
    here = detail::pointer_to(node);
  }

  /// Precondition: the node is in the list.
  void leave(Node& node) noexcept {
    Node* const before = node.links.before;
    Node* const after = node.links.after;
    if (after == nullptr || after->rank() != node.rank()) {
      Node** last = &lasts_;
      while (*last != detail::pointer_to(node)) last = &(*last)->links.next_last;
      *last = node.links.next_last;
      if (before != nullptr && before->rank() == node.rank()) {
        before->links.next_last = *last;
        *last = before;
      }
    }
    (before != nullptr ? before->links.after : first_) = after;
    if (after != nullptr) after->links.before = before;
    node.links = {};
  }

 private:
  Node* first_ = nullptr;
  Node* lasts_ = nullptr;  // the last node of the lowest rank
};

// A pool that threads of the process ask something: what it keeps for the list of those (asked_list.h).

template <class Member>
class asked_list;

/// A library with pools in a list. They are removed when it ends, and none enters after that.
struct asked_library {
  enum class phase { before_any, some, over };
  atomic_word<phase> now = phase::before_any;
  void (*const at_first)() noexcept;  // the library's own function, whichever library calls

  /// Returns whether pools may still enter.
  bool begin() noexcept {
    phase before = phase::before_any;
    if (now.compare_exchange_strong(before, phase::some, memory_order_relaxed)) at_first();
    return before != phase::over;
  }
};

/// Constant-initialised, without a destructor, so that static pools have none: an owner that ends before the process leaves.
/// \tparam Member  derived from this
template <class Member>
class asked_member {
 public:
  asked_member(const asked_member&) = delete;
  asked_member& operator=(const asked_member&) = delete;

 protected:
  /// \param library  a static object without an end ends with it
  /// \param has_end  its owner has a destructor, and calls leave(): it is then all zero
  constexpr explicit asked_member(asked_library& library, bool has_end = false) noexcept
      : is_static_(std::is_constant_evaluated() && !has_end), library_(is_static_ ? &library : nullptr) {}

  bool has_entered() const noexcept { return entered_.load(memory_order_acquire); }
  /// Returns whether the member may enter the list now. \param own  of the code that enters it
  bool begins(asked_library& own) noexcept {
    asked_library* library = nullptr;
    if (library_.compare_exchange_strong(library, &own, memory_order_relaxed)) library = &own;
    if (library->begin()) return true;
    forget_library();
    return false;
  }

 private:
  friend class asked_list<Member>;
  friend class ranked_list<Member>;
  /// Its library has ended. A static object ends with it; any other may continue, in code of another library.
  void forget_library() noexcept {
    if (!is_static_) library_.store(nullptr, memory_order_relaxed);
  }

  const bool is_static_;
  atomic_word<bool> entered_ = false;
  atomic_word<asked_library*> library_;  // at whose end it leaves: a static object's own, or that of the code that entered it
  // The rest belongs to the list.
  int asked_by_ = 0;  // threads that are asking it now: it stays until they are done
  int paused_ = 0;    // how often it was paused and not resumed
  ranked<Member> links;
};

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

#endif  // TARN_POLICIES_DETAIL_PROCESS_LIST_H_
