// After fork() the child has one thread, and every mutex that another thread held would stay locked for ever, with what it
// guards half changed. So a fork first closes the gate (fork_gate.h), then holds every leaf mutex, and the child makes anew
// what threads held that are gone.
//
// Locks, in this order; a thread that holds one takes only what stands below it:
//
//   the program's own
//   forking, then the gate: one fork at a time; whoever may call a store is inside
//   store mutexes  growth guards: the outer pool's before that of the pool that is its store; under them stores are called,
//                  and may take locks of the program
//   list           the members
//   leaf mutexes   under one nothing else is locked, so that a fork can hold them all
#ifndef TARN_POLICIES_DETAIL_FORK_LIST_H_
#define TARN_POLICIES_DETAIL_FORK_LIST_H_

#include <cstdint>
#include <new>

#include "tarn/policies/detail/fork_gate.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// A library with pools. Its handlers act for the process while it is the first in the list.
struct fork_library {
  fork_library* next = nullptr;
  atomic_word<bool> is_installed = false;
  void (*const install)() noexcept;  // the library's own function, whichever library calls
};

enum class fork_step { lock, unlock, renew };  // renew: in the child, where no other thread is left

/// What no other thread may hold at a fork. Constant-initialised, without a destructor, so that static pools have none: an
/// owner that ends before the process calls leave().
class fork_member {
 public:
  using handler = void (*)(fork_member&, fork_step) noexcept;

  /// \param has_end  its owner has a destructor, and calls leave(): whose it is then makes no difference, and it is all zero
  constexpr explicit fork_member(bool has_end = false) noexcept;
  fork_member(const fork_member&) = delete;
  fork_member& operator=(const fork_member&) = delete;

  /// Called before the leaf mutex is locked. Waits if a fork is about to take it: with 16 busy threads, a fork then takes a
  /// tenth of the time that it takes to compete for each mutex (prototype). Returns whether to lock: not if the caller is the
  /// thread that forks, in a handler of the program, and holds all.
  TARN_STEP bool admits(handler act) noexcept {
    if (phase_.load(memory_order_acquire) != phase::listed) [[unlikely]]
      return admits_slow(act);
    return true;
  }
  /// Whether admits() would enter the list.
  bool is_apart() const noexcept { return phase_.load(memory_order_acquire) == phase::apart; }
  void leave() noexcept;

 private:
  friend class fork_list;
  enum class phase : unsigned char { apart, listed, taken };
  TARN_ONE_IN_LIBRARY bool admits_slow(handler act) noexcept;

  // A static object without an end is of the library that it lies in, whichever library's code reaches it first: with
  // -rdynamic, a library's own functions may be the program's, and the program stays when the library goes. Other objects are
  // of the library whose code enters them.
  atomic_word<fork_library*> library_;
  fork_member* next_ = nullptr;
  fork_member* previous_ = nullptr;
  handler act_ = nullptr;
  atomic_word<phase> phase_ = phase::apart;
  const bool is_static_;
};

/// One for the process.
class fork_list {
 public:
  /// \param of_thread  where the calling thread has its place
  constexpr explicit fork_list(fork_position& (*of_thread)() noexcept) noexcept : position_(of_thread) {}
  fork_position& position() const noexcept { return position_(); }

  static constexpr std::uint64_t patience = 50'000'000;  // nanoseconds that a fork waits for stores

  fork_gate gate;

  void add(fork_member& m, fork_member::handler act, fork_library* library) noexcept {
    const held lock(mutex_);
    if (m.phase_.load(memory_order_relaxed) != fork_member::phase::apart) return;
    m.act_ = act;
    m.library_.store(library, memory_order_relaxed);
    m.previous_ = nullptr;
    m.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &m;
    first_ = &m;
    m.phase_.store(fork_member::phase::listed, memory_order_release);
  }
  void remove(fork_member& m) noexcept {
    const bool is_mine = holds_all();
    if (!is_mine) mutex_.lock();
    if (m.phase_.load(memory_order_relaxed) != fork_member::phase::apart) unlink(m);
    if (!m.is_static_) m.library_.store(nullptr, memory_order_relaxed);
    if (!is_mine) mutex_.unlock();
  }

  void add(fork_library& library) noexcept {
    const held lock(mutex_);
    *place_of(nullptr) = &library;
  }
  /// It is unloaded, or the process ends: nothing of another library may refer to it any more.
  void remove(fork_library& library) noexcept {
    const held lock(mutex_);
    for (fork_member *m = first_, *next = nullptr; m != nullptr; m = next) {
      next = m->next_;
      if (m->library_.load(memory_order_relaxed) != &library) continue;
      unlink(*m);
      m->library_.store(nullptr, memory_order_relaxed);
    }
    if (fork_library*& at = *place_of(&library); at != nullptr) at = library.next;
  }
  /// Whether the library's handlers act.
  bool is_first(const fork_library& library) noexcept {
    if (holds_all()) return false;  // another's have
    const held lock(mutex_);
    return libraries_ == &library;
  }

  /// Whether the calling thread forks and holds everything: then all is its own.
  bool holds_all() const noexcept {
    const thread_number forker = forker_.load(memory_order_relaxed);
    return forker != 0 && forker == this_thread_number();
  }
  void wait_for_fork() noexcept {
    while (taking_.load(memory_order_acquire) != 0) wait_while(taking_.address(), 1);
  }

  // ---- the fork ----------------------------------------------------------------------------------------------------------

  void before() noexcept {
    fork_position& me = position();
    lock_forking(me);
    gate.close(me, patience);
    taking_.store(1, memory_order_relaxed);
    mutex_.lock();
    for (fork_member* m = first_; m != nullptr; m = m->next_) m->phase_.store(fork_member::phase::taken, memory_order_release);
    for (fork_member* m = first_; m != nullptr; m = m->next_) m->act_(*m, fork_step::lock);
    forker_.store(this_thread_number(), memory_order_relaxed);
  }
  void after_in_parent() noexcept {
    if (!holds_all()) return;
    forker_.store(0, memory_order_relaxed);
    give_back_all(fork_step::unlock);
    mutex_.unlock();
    taking_.store(0, memory_order_release);
    wake_all(taking_.address());
    gate.open();
    forking_.unlock();
  }
  void after_in_child() noexcept {
    if (!holds_all()) return;
    forker_.store(0, memory_order_relaxed);
    give_back_all(fork_step::renew);
    make_anew(mutex_);
    taking_.store(0, memory_order_relaxed);
    gate.open_in_child(position());
    make_anew(forking_);
  }

 private:
  /// This thread locked it, in the parent: ThreadSanitizer must hear that it no longer does.
  static void make_anew(tarn::mutex& mutex) noexcept {
    mutex.unlock();
    ::new (static_cast<void*>(&mutex)) tarn::mutex;
  }
  /// The link to a library, or the last link.
  fork_library** place_of(const fork_library* library) noexcept {
    fork_library** at = &libraries_;
    while (*at != nullptr && *at != library) at = &(*at)->next;
    return at;
  }
  /// Under a group_guard the caller is inside the gate, and another fork waits for it: it may pass the caller.
  void lock_forking(fork_position& me) noexcept {
    const bool can_be_passed = me.depth != 0 && !me.at_store;
    if (can_be_passed) gate.go_to_store(me);
    forking_.lock();
    if (can_be_passed) gate.come_back(me);
  }
  void unlink(fork_member& m) noexcept {
    (m.previous_ != nullptr ? m.previous_->next_ : first_) = m.next_;
    if (m.next_ != nullptr) m.next_->previous_ = m.previous_;
    m.phase_.store(fork_member::phase::apart, memory_order_release);
  }
  void give_back_all(fork_step step) noexcept {
    for (fork_member *m = first_, *next = nullptr; m != nullptr; m = next) {
      next = m->next_;  // another thread may end it as soon as it is unlocked
      m->phase_.store(fork_member::phase::listed, memory_order_relaxed);
      m->act_(*m, step);
    }
  }

  fork_position& (*const position_)() noexcept;
  tarn::mutex forking_;
  tarn::mutex mutex_;  // of the members and libraries
  fork_member* first_ = nullptr;
  fork_library* libraries_ = nullptr;
  atomic_word<unsigned> taking_ = 0;        // 1: the fork takes the leaf mutexes, or holds them
  atomic_word<thread_number> forker_ = 0;  // the thread that holds all
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_FORK_LIST_H_
