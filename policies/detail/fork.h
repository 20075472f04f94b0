// Forks. The child of a fork has one thread: a mutex that another thread held would stay locked for ever, and what it guards
// would stay half changed. So a fork first waits until no pool is half changed, and the child renews the locks of threads that
// don't exist there:
//
//   before      locks `forking`: one fork at a time
//               closes the gate, and waits until the only threads inside are at stores                             fork_gate
//               marks the members, so that newcomers wait, and locks every leaf mutex, which none may hold now     fork_list
//   in parent   unlocks them, and opens the gate
//   in child    renews them, and the growth guards whose threads are gone; opens the gate          act_on_leaf, store_mutex
//
// Locks, in this order; a thread that holds one takes only those below it:
//
//   the program's own
//   forking, then the gate: one fork at a time; every thread that may call a store is inside
//   store mutexes  growth guards: the outer pool's before that of the pool that is its store; under them stores are called,
//                  and may take locks of the program
//   list           the members
//   leaf mutexes   under one nothing else is locked, so that a fork can hold them all
//
// A thread is inside the gate while it may call a store: while it holds a growth guard, a group_guard, or asks pools to trim
// (inside_gate). A store may wait for a lock of the program whose holder waits at the closed gate. So the fork waits only for a
// moment for the gate to be empty. After that it continues as soon as all threads inside are at a store at the same time
// (store_call), and each of those waits, when it comes back, until the fork is over. Before the fork continues, threads come
// back from their stores as usual, because one that the fork waits for may itself wait for such a thread.
#ifndef TARN_POLICIES_DETAIL_FORK_H_
#define TARN_POLICIES_DETAIL_FORK_H_

#include <concepts>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"

#if defined(TARN_HAS_FORK)
#include <cstdlib>
#endif

namespace tarn::detail {

enum class fork_step { lock, unlock, renew };  // renew: in the child, where no other thread is left
struct only_try {};

#if defined(TARN_HAS_FORK)

// ---- the gate --------------------------------------------------------------------------------------------------------------
//
//   inside   threads inside, counted once each             at_store   those of them that are at a store, or wait for a
//   closed   newcomers wait                                           growth guard, whose holder may be at the store
//   passing  the fork goes on past the threads at a store

/// Where a thread is.
struct fork_position {
  unsigned depth = 0;  // how often it entered the gate
  bool at_store = false;
};

/// The functions return immediately, unless a fork is in progress.
class fork_gate {
 public:
  /// Waits while the gate is closed.
  void enter(fork_position& me) noexcept {
    for (unsigned seen = word_.load(memory_order_relaxed); !try_enter(seen); seen = word_.load(memory_order_relaxed))
      if (is_shut(seen)) wait_while(word_.address(), seen);
    me.depth = 1;
  }
  /// Doesn't wait. Returns whether it entered.
  bool try_enter(fork_position& me) noexcept {
    unsigned seen = word_.load(memory_order_relaxed);
    while (!is_shut(seen))
      if (try_enter(seen)) return me.depth = 1, true;
    return false;
  }
  void leave(fork_position& me) noexcept {
    me.depth = 0;
    tell(word_.fetch_sub(one_inside, memory_order_release));
  }

  /// Called inside, before a store is. Nothing of a pool may change until come_back().
  void go_to_store(fork_position& me) noexcept {
    me.at_store = true;
    tell(word_.fetch_add(one_at_store, memory_order_release));
  }
  void come_back(fork_position& me) noexcept {
    for (unsigned seen = word_.load(memory_order_relaxed);;) {
      if ((seen & passing) != 0) {
        wait_while(word_.address(), seen);
        seen = word_.load(memory_order_relaxed);
      } else if (word_.compare_exchange_weak(seen, seen - one_at_store, memory_order_acquire, memory_order_relaxed)) {
        break;
      }
    }
    me.at_store = false;
  }

  // ---- the fork ----------------------------------------------------------------------------------------------------------

  /// Returns when only the caller is inside, or only threads at stores. \param patience  nanoseconds to wait for stores
  void close(const fork_position& me, std::uint64_t patience) noexcept {
    const unsigned own = me.depth != 0 ? 1 : 0;
    const unsigned own_at_store = me.at_store ? 1 : 0;
    word_.fetch_or(closed, memory_order_acquire);
    const std::uint64_t start = steady_nanoseconds();
    for (std::uint64_t waited = 0; waited < patience; waited = steady_nanoseconds() - start) {
      const unsigned seen = word_.load(memory_order_acquire);
      if (inside(seen) == own) return;
      wait_while(word_.address(), seen, patience - waited);
    }
    for (unsigned seen = word_.load(memory_order_acquire);;) {
      if (inside(seen) - own != at_store(seen) - own_at_store) {
        wait_while(word_.address(), seen);
        seen = word_.load(memory_order_acquire);
      } else if (word_.compare_exchange_weak(seen, seen | passing, memory_order_acquire, memory_order_acquire)) {
        return;
      }
    }
  }
  void open() noexcept {
    word_.fetch_and(~(closed | passing), memory_order_release);
    wake_all(word_.address());
  }
  /// In the child, where only the caller is left.
  void open_in_child(const fork_position& me) noexcept {
    word_.store((me.depth != 0 ? one_inside : 0) | (me.at_store ? one_at_store : 0), memory_order_release);
  }

 private:
  static constexpr unsigned closed = 1u << 31;
  static constexpr unsigned passing = 1u << 30;
  static constexpr unsigned one_at_store = 1u << 15;
  static constexpr unsigned one_inside = 1;
  static constexpr unsigned most = one_at_store - 1;  // more threads than that wait for each other

  static constexpr unsigned inside(unsigned word) noexcept { return word & most; }
  static constexpr unsigned at_store(unsigned word) noexcept { return word / one_at_store & most; }
  static constexpr bool is_shut(unsigned word) noexcept { return (word & closed) != 0 || inside(word) == most; }

  bool try_enter(unsigned& seen) noexcept {
    return !is_shut(seen) &&
           word_.compare_exchange_weak(seen, seen + one_inside, memory_order_acquire, memory_order_relaxed);
  }
  /// A fork, or a new thread, may wait for the change.
  void tell(unsigned before) noexcept {
    if (is_shut(before)) [[unlikely]]
      wake_all(word_.address());
  }

  // Order: enter, come back, close: acquire; leave, go to the store, open: release; looking is relaxed. One word holds the gate
  // and the counts, so a fork and a thread that enters see each other. What a thread did inside is released when it leaves or
  // goes to a store, and acquired by the fork's loads.
  atomic_word<unsigned> word_ = 0;
};

// ---- the members: what a fork holds, and the list of them -----------------------------------------------------------------

/// A library with pools. Its handlers act for the process while it is the first in the list.
struct fork_library {
  fork_library* next = nullptr;
  // Order: relaxed; a number. The C library's lock orders the handlers.
  atomic_word<bool> is_installed = false;
  void (*const install)() noexcept;  // the library's own function, whichever library calls
};

/// What no other thread may hold at a fork. Constant-initialised, without a destructor, so that static pools have none: an
/// owner that is destroyed before the process exits calls leave().
class fork_member {
 public:
  using handler = void (*)(fork_member&, fork_step) noexcept;

  /// \param has_end  its owner has a destructor, and calls leave(): its library is then irrelevant, and the object is all zero
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

  // A static object that is never destroyed belongs to the library that contains it, whichever library's code uses it first.
  // With -rdynamic, a library's own functions may be the program's, and the program stays when the library is unloaded. Other
  // objects belong to the library whose code enters them.
  // Order: relaxed; mutex. The destructor's look is acquire.
  atomic_word<fork_library*> library_;
  fork_member* next_ = nullptr;
  fork_member* previous_ = nullptr;
  handler act_ = nullptr;
  // Order: store release, load acquire. A thread that finds itself `taken` sees `taking_` set, or reset, and so waits or goes
  // on.
  atomic_word<phase> phase_ = phase::apart;
  const bool is_static_;
};

/// One for the process.
class fork_list {
 public:
  /// \param of_thread  where the calling thread's position is stored
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
  /// It is unloaded, or the process exits: nothing in another library may refer to it any more.
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
    if (holds_all()) return false;  // another library's did
    const held lock(mutex_);
    return libraries_ == &library;
  }

  /// Whether the calling thread forks and holds everything; if so, everything is its own.
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
  /// This thread locked it, in the parent. ThreadSanitizer must be notified that it no longer does.
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
  // Order: end release, look acquire; others relaxed. See phase_.
  atomic_word<unsigned> taking_ = 0;        // 1: the fork takes the leaf mutexes, or holds them
  // Order: relaxed; own.
  atomic_word<thread_number> forker_ = 0;  // the thread that holds all
};

// ---- the list of the process, and the handlers that each library with pools has for forks ----------------------------------

TARN_ONE_IN_LIBRARY inline fork_position& position_of_thread() noexcept {
  static constinit TARN_THREAD_LOCAL fork_position position;
  return position;
}
TARN_FOUND_IN_PROCESS inline constinit fork_list library_list{position_of_thread};
inline fork_list& process_forks() noexcept { return one_in_process<library_list, 0x102>::get(); }

// Each library has its own copy of these functions and of the variable, because another library's would install handlers that
// disappear with that library.
TARN_ONE_IN_LIBRARY void install_fork_handlers() noexcept;
TARN_ONE_IN_LIBRARY inline constinit fork_library library_forks{.install = install_fork_handlers};
TARN_ONE_IN_LIBRARY inline void before_fork() noexcept {
  if (process_forks().is_first(library_forks)) process_forks().before();
}
TARN_ONE_IN_LIBRARY inline void after_fork_in_parent() noexcept { process_forks().after_in_parent(); }
TARN_ONE_IN_LIBRARY inline void after_fork_in_child() noexcept { process_forks().after_in_child(); }
TARN_ONE_IN_LIBRARY inline void at_end_of_library() noexcept { process_forks().remove(library_forks); }
/// Registering may allocate, so nothing is held.
TARN_COLD TARN_ONE_IN_LIBRARY inline void install_fork_handlers() noexcept {
  if (library_forks.is_installed.exchange(true, memory_order_relaxed)) return;
  if (!platform::system::at_fork(before_fork, after_fork_in_parent, after_fork_in_child))  // no memory: the next retries
    return library_forks.is_installed.store(false, memory_order_relaxed);
  process_forks().add(library_forks);
  std::atexit(at_end_of_library);
}
/// Handlers that are registered first run last before a fork, when those of the program have locked what they need. A template,
/// so that only programs with such mutexes have it.
struct TARN_ONE_IN_LIBRARY early_fork_handlers {
  TARN_STEP early_fork_handlers() noexcept { this_thread_number(), install_fork_handlers(); }
};
template <class>
TARN_FIRST_AT_LOAD static const early_fork_handlers fork_handlers;

constexpr fork_member::fork_member(bool has_end) noexcept
    : library_(std::is_constant_evaluated() && !has_end ? &library_forks : nullptr),
      is_static_(std::is_constant_evaluated() && !has_end) {}
inline bool fork_member::admits_slow(handler act) noexcept {
  fork_library* library = library_.load(memory_order_relaxed);
  if (library == nullptr) library = &library_forks;
  fork_list& list = process_forks();
  if (list.holds_all()) return false;
  if (phase_.load(memory_order_acquire) == phase::taken) return list.wait_for_fork(), true;
  library->install();
  list.add(*this, act, library);
  return true;
}
inline void fork_member::leave() noexcept {
  if (library_.load(memory_order_acquire) != nullptr) process_forks().remove(*this);
}

// ---- inside the gate, and at a store ---------------------------------------------------------------------------------------

/// A stay inside the gate. A nested one, in a store that is a pool itself, ends the outer one's time at the store.
class [[nodiscard]] inside_gate {
 public:
  /// Waits while a fork is in progress.
  inside_gate() noexcept {
    if (is_outermost()) process_forks().gate.enter(me()), how_ = how::outermost;
    else begin_inner();
  }
  /// Doesn't wait, if this is the outermost stay.
  explicit inside_gate(only_try) noexcept {
    if (!is_outermost()) begin_inner();
    else if (process_forks().gate.try_enter(me())) how_ = how::outermost;
  }
  ~inside_gate() {
    if (how_ == how::outermost) process_forks().gate.leave(me());
    else if (how_ != how::outside) --me().depth;
    if (how_ == how::from_store) process_forks().gate.go_to_store(me());
  }
  inside_gate(const inside_gate&) = delete;
  inside_gate& operator=(const inside_gate&) = delete;

  explicit operator bool() const noexcept { return how_ != how::outside; }

 private:
  enum class how : unsigned char { outside, outermost, inner, from_store };

  static fork_position& me() noexcept { return process_forks().position(); }
  /// The thread that forks passes in and out, in a handler of the program.
  static bool is_outermost() noexcept { return me().depth == 0 && !process_forks().holds_all(); }
  void begin_inner() noexcept {
    how_ = how::inner;
    if (me().at_store && !process_forks().holds_all()) process_forks().gate.come_back(me()), how_ = how::from_store;
    ++me().depth;
  }

  how how_ = how::outside;
};

/// Held while a store is called, or while a thread waits for another that may be at one.
class [[nodiscard]] store_call {
 public:
  store_call() noexcept : counts_(me().depth != 0 && !me().at_store && !process_forks().holds_all()) {
    if (counts_) process_forks().gate.go_to_store(me());
  }
  ~store_call() {
    if (counts_) process_forks().gate.come_back(me());
  }
  store_call(const store_call&) = delete;
  store_call& operator=(const store_call&) = delete;

 private:
  static fork_position& me() noexcept { return process_forks().position(); }

  bool counts_;
};

/// Whether the calling thread is at the store of a pool with a lock: then it holds a growth guard, and waits for no other.
inline bool is_at_some_store() noexcept { return process_forks().position().at_store; }

#else

// Where no process is copied: the same names, and nothing behind them.

class fork_member {
 public:
  using handler = void (*)(fork_member&, fork_step) noexcept;

  constexpr explicit fork_member(bool = false) noexcept {}

  TARN_STEP static constexpr bool admits(handler) noexcept { return true; }
  static constexpr bool is_apart() noexcept { return false; }
  static constexpr void leave() noexcept {}
};

struct fork_list {
  static constexpr bool holds_all() noexcept { return false; }
};
TARN_STEP constexpr fork_list process_forks() noexcept { return {}; }

template <class>
inline constexpr bool fork_handlers = false;

class [[nodiscard]] inside_gate {
 public:
  inside_gate() noexcept {}
  explicit inside_gate(only_try) noexcept {}
  inside_gate(const inside_gate&) = delete;
  inside_gate& operator=(const inside_gate&) = delete;
  explicit operator bool() const noexcept { return true; }
};

class [[nodiscard]] store_call {
 public:
  store_call() noexcept {}
  store_call(const store_call&) = delete;
  store_call& operator=(const store_call&) = delete;
};

constexpr bool is_at_some_store() noexcept { return false; }  // not counted

#endif

// ---- mutexes under which stores are called, and leaf mutexes ---------------------------------------------------------------

template <class M>
concept try_lockable = requires(M& m) {
  { m.try_lock() } -> std::convertible_to<bool>;
};

/// The same, if threads may be inside the gate: a locking policy synchronises them, or other pools ask this one to trim.
template <class Locking, bool Asked = false>
using store_call_under = std::conditional_t<Locking::traits.one_thread && !Asked, no_guard, store_call>;

/// Reconstructs a mutex in the child of a fork. The thread that locked it may be gone, or be this one, whose number in the
/// system differs from that in the parent, so unlock() may do nothing.
template <class Mutex>
void renew(Mutex& mutex) {
  ::new (static_cast<void*>(detail::pointer_to(mutex))) Mutex;
}

/// What a fork does with a leaf mutex.
template <class Mutex>
void act_on_leaf(Mutex& mutex, fork_step step) {
  if (step == fork_step::lock) {
#if defined(TARN_TSAN)
    // Members come and go, so each fork has an order of its own. Only one holds several, so no two wait for each other, but
    // ThreadSanitizer doesn't see that. It ignores the order of mutexes that were locked by try_lock().
    if constexpr (try_lockable<Mutex>) {
      while (!mutex.try_lock()) yield_thread();
      return;
    }
#endif
    mutex.lock();
  } else {
    mutex.unlock();
    if (step == fork_step::renew) detail::renew(mutex);
  }
}

/// A mutex under which stores are called, held through a guard.
template <class Mutex>
class store_mutex {
 public:
  /// Holds the mutex, inside the gate. Not if the thread that forks would wait, in a handler of the program: the holder is at
  /// a store, and then waits until the fork is over.
  class [[nodiscard]] guard {
   public:
    /// `others`: another guard of this thread holds it.
    explicit guard(store_mutex& m, bool others = false) {
      if (others) return;
      holds_ = !process_forks().holds_all() || !m.is_taken();
      if (holds_) holder_before_ = m.lock(), mutex_ = detail::pointer_to(m);
    }
    /// Waits for nothing, not even a fork.
    guard(store_mutex& m, only_try what, bool others = false)
      requires try_lockable<Mutex>
        : inside_(what) {
      const thread_number me = this_thread_number();
      holds_ = others || (inside_ && m.mutex_.try_lock());
      if (holds_ && !others) holder_before_ = m.note(me), mutex_ = detail::pointer_to(m);
    }
    ~guard() {
      if (mutex_ != nullptr) mutex_->unlock(holder_before_);
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    explicit operator bool() const noexcept { return holds_; }

   private:
    inside_gate inside_;
    store_mutex* mutex_ = nullptr;      // to unlock
    thread_number holder_before_ = 0;  // this thread, if the mutex is recursive
    bool holds_ = true;
  };

  /// Whether this thread holds it. Waits for nothing.
  bool is_mine() const noexcept { return holder_.load(memory_order_relaxed) == this_thread_number(); }

  /// If its holder is this thread, it is locked again. If nobody is noted, a thread that waited, and so was at a store, may
  /// have locked it just before the fork.
  void renew_in_child() {
    const bool is_mine = this->is_mine();
    if (is_mine) mutex_.unlock();
    detail::renew(mutex_);
    if (is_mine) detail::act_on_leaf(mutex_, fork_step::lock);
    else holder_.store(0, memory_order_relaxed);
  }

 private:
  /// Asked while no other thread can unlock it.
  bool is_taken() {
    if constexpr (try_lockable<Mutex>) {
      if (!mutex_.try_lock()) return true;
      mutex_.unlock();
      return false;
    } else {
      return holder_.load(memory_order_relaxed) != 0;
    }
  }
  thread_number lock() {
    const thread_number me = this_thread_number();  // not under the mutex: the first in the process may allocate, here even
    if constexpr (try_lockable<Mutex>)
      if (mutex_.try_lock()) return note(me);
    const store_call wait;  // its holder may be at a store
    mutex_.lock();
    return note(me);
  }
  void unlock(thread_number holder_before) {
    holder_.store(holder_before, memory_order_relaxed);
    mutex_.unlock();
  }
  thread_number note(thread_number me) noexcept {
    const thread_number before = holder_.load(memory_order_relaxed);
    holder_.store(me, memory_order_relaxed);
    return before;
  }

  Mutex mutex_;
  // Order: relaxed; own, or no thread can unlock at that moment.
  atomic_word<thread_number> holder_ = 0;  // its thread's number
};

/// In the place of a leaf mutex, for the thread that forks: it holds that already.
template <class Mutex>
inline Mutex mutex_of_forker{};

/// The member of an owner that has a destructor, so that all of its bytes start as zero.
struct fork_member_with_end : fork_member {
  constexpr fork_member_with_end() noexcept : fork_member(true) {}
};
template <class Traits>
using fork_member_in = std::conditional_t<starts_zero<Traits>, fork_member_with_end, fork_member>;

/// A leaf mutex that a fork holds. Its owner calls leave() before it is destroyed.
/// \tparam Member  fork_member, or that with an end
template <class Member>
class fork_mutex_as : Member {
 public:
  void lock() { (admits(act) ? mutex_ : mutex_of_forker<tarn::mutex>).lock(); }
  void unlock() { (process_forks().holds_all() ? mutex_of_forker<tarn::mutex> : mutex_).unlock(); }
  using Member::leave;

 private:
  using Member::admits;
  static void act(fork_member& m, fork_step step) noexcept { act_on_leaf(static_cast<fork_mutex_as&>(m).mutex_, step); }

  tarn::mutex mutex_;
};

/// As fork_mutex_as, but stores are called under it, and it is held through a guard.
template <class Member>
class fork_store_mutex_as : Member {
  using Member::admits;

 public:
  class [[nodiscard]] guard : store_mutex<tarn::mutex>::guard {
   public:
    explicit guard(fork_store_mutex_as& m) : store_mutex<tarn::mutex>::guard((m.admits(act), m.mutex_)) {}
    guard(fork_store_mutex_as& m, only_try what) : store_mutex<tarn::mutex>::guard((m.admits(act), m.mutex_), what) {}
    using store_mutex<tarn::mutex>::guard::operator bool;
  };
  using Member::leave;
  /// Whether this thread holds it.
  bool is_mine() const noexcept { return mutex_.is_mine(); }

 private:
  static void act(fork_member& m, fork_step step) noexcept {
    if (step == fork_step::renew) static_cast<fork_store_mutex_as&>(m).mutex_.renew_in_child();
  }

  store_mutex<tarn::mutex> mutex_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_FORK_H_
