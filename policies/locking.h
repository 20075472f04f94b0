// Axis locking: which threads may use the pool at the same time. A locking policy calls the free list, which is written for one
// thread. Most policies differ only in their guards; they share direct_calls, which goes straight to the list.
//
// Here: locking_traits, no_locking, mutex_locking, interrupt_locking, grouped_locking, locking_policy, shared_locking. In
// separate headers: thread_cached, lock_free, group_guard, and the mutexes.
#ifndef TARN_POLICIES_LOCKING_H_
#define TARN_POLICIES_LOCKING_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn {

/// What a locking policy declares about itself.
struct locking_traits {
  bool may_return_chunks = true;  // no thread can still read a chunk that was returned to the store
  bool needs_identity = false;    // a static pool passes its tag on, as Traits::identity
  bool keeps_memory = false;      // its machinery needs memory from the store for itself
  bool can_forget = false;        // forget_if_alone(): it returns that memory, unless another thread uses a part of it
  bool keeps_blocks = false;      // threads keep free blocks that others can't reach
  bool own_free_list = false;     // the list only carves
  bool one_thread = false;        // nothing is locked: one thread owns the pool
  bool has_owner = false;         // owner(): the number of the thread that owns all pools of the policy
  bool can_wait = false;          // every thread can get a freed block immediately, so a thread can wait for one
  bool can_try = false;           // try_growth_guard(): a growth guard that doesn't wait, and converts to bool
  bool has_tally = false;         // tally: it counts blocks itself, instead of in a few cells
  bool compares_and_swaps = false;  // it needs such a processor
  bool tag_comes_round = false;   // and is correct only for interrupts of one core, which return first
  std::size_t most_blocks = unlimited;  // that it can tell apart
  bool ends_at_exit = false;      // it has a static object whose destructor runs at exit
};

namespace detail {
/// The calls of every locking policy whose callers use the list directly.
/// \tparam Guards  hot() and growth(), const: guards that the pool holds around a hit and around the store; if `can_try`,
///                 try_growth(), which may be false; end(): the pool is destroyed, or as new. Optional: `again`, a
///                 growth_again, and grows_here() if it is `told`
template <class Guards>
class direct_calls {
 public:
  TARN_STEP auto hit_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  TARN_STEP auto core_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  TARN_STEP auto growth_guard() const noexcept(noexcept(guards_.growth())) { return guards_.growth(); }
  auto try_growth_guard() const
    requires(Guards::can_try)
  {
    return guards_.try_growth();
  }
  static constexpr growth_again again = again_of<Guards>;
  bool grows_here() const noexcept { return guards_.grows_here(); }

  TARN_STEP static void* pop(auto& pool) noexcept { return pool.list.pop(pool.chunks); }
  TARN_STEP static void* pop_slow(auto& pool) noexcept { return pool.list.pop_slow(pool.chunks); }
  TARN_STEP static status push(auto& pool, void* block) noexcept { return pool.list.push(pool.chunks, block); }
  TARN_STEP static status push_slow(auto& pool, void* block) noexcept { return pool.list.push(pool.chunks, block); }
  TARN_STEP static status make_room(auto& pool) noexcept { return pool.list.make_room(pool.chunks); }
  TARN_STEP static std::size_t pop_batch(auto& pool, void** out, std::size_t n) noexcept {
    return pool.list.pop_batch(pool.chunks, out, n);
  }
  TARN_STEP static status push_batch(auto& pool, void* const* in, std::size_t n) noexcept {
    return pool.list.push_batch(pool.chunks, in, n);
  }

  TARN_STEP static void adopt(auto& pool, auto& fresh) noexcept { pool.chunks.adopt(fresh, pool.list); }

  // There is no cache in front of the list, and the policy keeps nothing for itself.
  TARN_STEP static void drain(auto&) noexcept {}
  TARN_STEP static void drain_all(auto&) noexcept {}
  TARN_STEP static void drop_all() noexcept {}
  TARN_STEP void end() noexcept { guards_.end(); }
  TARN_STEP static constexpr std::size_t shortage(auto&, const auto*) noexcept { return 0; }
  TARN_STEP static void supply(auto&, memory) noexcept {}
  TARN_STEP static constexpr void expect(std::size_t) noexcept {}
  TARN_STEP static constexpr bool starves() noexcept { return false; }

 private:
  TARN_NO_UNIQUE_ADDRESS Guards guards_;
};

template <class M>
concept basic_lockable = std::default_initializable<M> && requires(M& m) {
  m.lock();
  m.unlock();
};

/// Whether the target has threads, if the mutex needs them.
template <class M>
inline constexpr bool locks_here = platform::system::has_threads;
template <class M>
  requires(!requires { M::keeps_threads_apart; })
inline constexpr bool locks_here<M> = true;

/// Holds a mutex as long as it lives: the mutex's own guard, if it has one.
template <class Mutex>
struct guard_of {
  using type = held<Mutex>;
};
template <class Mutex>
  requires std::constructible_from<typename Mutex::guard, Mutex&>
struct guard_of<Mutex> {
  using type = typename Mutex::guard;
};

/// The two mutexes of a pool.
template <class Mutex, class Member = fork_member>
class mutex_pair : Member {
  using Member::admits;
  using guard = typename guard_of<Mutex>::type;

 public:
  static constexpr bool can_try = try_lockable<Mutex>;
  static constexpr growth_again again = growth_again::told;

  TARN_STEP guard hot() const { return guard(self().admits(act) ? hot_ : mutex_of_forker<Mutex>); }
  typename store_mutex<Mutex>::guard growth() const {
    self().admits(act);
    return typename store_mutex<Mutex>::guard(growth_);
  }
  /// For work that doesn't justify waiting for a store.
  typename store_mutex<Mutex>::guard try_growth() const
    requires try_lockable<Mutex>
  {
    self().admits(act);
    return typename store_mutex<Mutex>::guard(growth_, only_try());
  }
  /// Whether this thread holds growth().
  bool grows_here() const noexcept { return growth_.is_mine(); }
  void end() noexcept { Member::leave(); }

 private:
  TARN_STEP mutex_pair& self() const noexcept {
    static_cast<void>(&fork_handlers<Mutex>);  // instantiates it
    return const_cast<mutex_pair&>(*this);
  }
  static void act(fork_member& m, fork_step step) noexcept {
    auto& pair = static_cast<mutex_pair&>(m);
    detail::act_on_leaf(pair.hot_, step);
    if (step == fork_step::renew) pair.growth_.renew_in_child();
  }

  mutable Mutex hot_;
  mutable store_mutex<Mutex> growth_;
};

/// Growth is also masked, because a handler that finds no block while the program is at the store can't wait for it.
template <class Mask>
struct interrupt_guards {
  static constexpr bool can_try = false;
  static constexpr growth_again again = growth_again::nests;
  TARN_STEP static masked<Mask> hot() noexcept { return {}; }
  static masked<Mask> growth() noexcept { return {}; }
  static void end() noexcept {}
};
}  // namespace detail

// decides    nothing is locked: one thread at a time uses the pool
// costs      nothing
// conflicts  none
// use when   the pool belongs to one thread, or the caller locks (the default)
struct no_locking {
  using axis = tarn::axis::locking;
  static constexpr locking_traits traits{.one_thread = true};
  template <class T>
  using cell = T;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;

  struct guards {
    static constexpr bool can_try = false;
    static constexpr detail::growth_again again = detail::growth_again::nests;
    TARN_STEP detail::no_guard hot() const noexcept { return {}; }
    TARN_STEP detail::no_guard growth() const noexcept { return {}; }
    TARN_STEP static void end() noexcept {}
  };
  template <class Traits>
  using state = detail::direct_calls<guards>;
};

// decides    every operation takes the pool's own mutex; growth takes a second one, so that other threads don't wait for the
//            store
// costs      a lock and an unlock for each operation: 2 ns a pair while the process has one thread, 9 ns with more, about 40 ns
//            when two threads contend (AMD EPYC)
// conflicts  none
// use when   several threads share a pool occasionally
/// \tparam Mutex  any default-constructible BasicLockable; if it has a type `guard`, that is used to lock it
template <class Mutex = mutex>
struct mutex_locking {
  using axis = tarn::axis::locking;
  static constexpr bool arguments_hold = detail::basic_lockable<Mutex> && detail::locks_here<Mutex>;
  struct complaint {
    static_assert(arguments_hold || detail::basic_lockable<Mutex>,
                  "tarn: [L1] mutex_locking was given a type without lock() and unlock(), or without a default constructor; "
                  "use a mutex, such as tarn::mutex");
    static_assert(!detail::basic_lockable<Mutex> || arguments_hold,
                  "tarn: [Y3] one of tarn's mutexes was used, but this target has no threads, and the mutex doesn't stop "
                  "interrupts; use no_locking, interrupt_locking<> or your own mutex, or provide a platform header "
                  "(docs/platforms.md)");
  };
  static constexpr locking_traits traits{.can_wait = true, .can_try = detail::try_lockable<Mutex>};
  template <class T>
  using cell = T;  // hooks run under the mutex
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  template <class Traits>
  using state = detail::direct_calls<detail::mutex_pair<Mutex, detail::fork_member_in<Traits>>>;
};

// decides    interrupts are masked during every operation, and restored after it
// costs      three instructions; interrupts wait while an allocation or a free runs, and for the store while the pool grows
// conflicts  wait_for_block; threads on other cores
// use when   an interrupt handler allocates or frees blocks of a pool that the program, or another handler, uses as well
/// \tparam Mask  `save_and_mask()` masks what may interrupt the program, and returns the previous state; `restore()` takes it.
///               Both static and noexcept. tarn::interrupt_mask exists on Cortex-M and RISC-V
template <class Mask = interrupt_mask>
struct interrupt_locking {
  using axis = tarn::axis::locking;
  static constexpr bool arguments_hold = detail::masks_interrupts<Mask>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [L4] interrupt_locking was given a type that can't mask interrupts, or none, and tarn has none for "
                  "this target; give a type with the static functions save_and_mask() and restore(), both noexcept");
  };
  static constexpr locking_traits traits{};
  template <class T>
  using cell = T;  // hooks run under the mask
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  template <class Traits>
  using state = detail::direct_calls<detail::interrupt_guards<Mask>>;
};

namespace detail {

// Order: relaxed. A pool without a lock: its owner sees its own number. For a thread that didn't receive the pool, any value is
// a report.
template <class Group>
TARN_ONE_IN_PROCESS inline constinit atomic_word<thread_number> group_owner = 0;

/// Whether group_mutexes::held can be thread-local.
template <class>
inline constexpr bool counts_holds = platform::system::has_thread_locals || !platform::system::has_threads;

/// A pool of a group that is at its store. There can be several at the same time, because one's store may be another pool with
/// the same mutex.
struct group_growth {
  const void* pool;
  const group_growth* outer;
};

/// The two mutexes of a group, how often the calling thread holds both through a group_guard, and whether any thread does.
template <class Group, class Mutex>
struct group_mutexes {
  static inline store_mutex<Mutex> growth;
  static inline Mutex hot;
  static inline constinit TARN_THREAD_LOCAL unsigned held = 0;
  static inline bool is_guarded = false;  // changed inside the gate, and not at a store
  static inline constinit fork_member member;
  static inline constinit const group_growth* innermost = nullptr;  // of the thread that holds `growth`

  TARN_STEP static bool admits() {
    static_cast<void>(&fork_handlers<Mutex>);  // instantiates it
    return member.admits(act);
  }
  /// A thread that forks while it holds both still holds them afterwards, in the child as well. If another thread holds them,
  /// it is at a store, where it changes no pool, so the fork doesn't wait for it.
  static void act(fork_member&, fork_step step) noexcept {
    const bool is_mine = held != 0;
    if (!is_mine && !is_guarded) detail::act_on_leaf(hot, step);
    if (step != fork_step::renew) return;
    if (!growth.is_mine()) innermost = nullptr;
    growth.renew_in_child();
    if (is_mine) detail::act_on_leaf(hot, step), detail::act_on_leaf(hot, fork_step::lock);
    else if (is_guarded) detail::renew(hot);
    is_guarded = is_mine;
  }

  /// Locks the leaf mutex, unless a group_guard of this thread holds both.
  class hot_guard {
   public:
    TARN_STEP explicit hot_guard(Mutex& mutex) : mutex_(held == 0 ? detail::pointer_to(mutex) : nullptr) {
      if (mutex_ != nullptr) mutex_->lock();
    }
    TARN_STEP ~hot_guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    hot_guard(const hot_guard&) = delete;
    hot_guard& operator=(const hot_guard&) = delete;

   private:
    Mutex* mutex_;
  };
};

template <class Group, class Mutex>
struct group_guards {
  static constexpr bool can_try = try_lockable<Mutex>;
  using mutexes = group_mutexes<Group, Mutex>;
  using hot_guard = typename mutexes::hot_guard;
  static constexpr growth_again again = growth_again::told;

  /// The group's guard, unless this thread holds it already, and a mark that the pool is at its store.
  class growth_guard {
   public:
    explicit growth_guard(const void* pool) : guard_(mutexes::growth, is_held_here()) { mark(pool); }
    growth_guard(const void* pool, only_try what) : guard_(mutexes::growth, what, is_held_here()) { mark(pool); }
    ~growth_guard() {
      if (guard_) mutexes::innermost = mark_.outer;
    }
    growth_guard(const growth_guard&) = delete;
    growth_guard& operator=(const growth_guard&) = delete;
    explicit operator bool() const noexcept { return static_cast<bool>(guard_); }

   private:
    void mark(const void* pool) noexcept {
      if (!guard_) return;
      mark_ = {pool, mutexes::innermost};
      mutexes::innermost = detail::launder_address(&mark_);  // g++ 12 warns of a dangling pointer, which goes when this does
    }

    typename store_mutex<Mutex>::guard guard_;
    group_growth mark_{};
  };

  TARN_STEP hot_guard hot() const { return hot_guard(mutexes::admits() ? mutexes::hot : mutex_of_forker<Mutex>); }
  growth_guard growth() const {
    mutexes::admits();
    return growth_guard(this);
  }
  growth_guard try_growth() const
    requires try_lockable<Mutex>
  {
    mutexes::admits();
    return growth_guard(this, only_try());
  }
  /// Whether this thread is at the store of this pool.
  bool grows_here() const noexcept {
    if (!is_held_here()) return false;
    const group_growth* one = mutexes::innermost;
    while (one != nullptr && one->pool != this) one = one->outer;
    return one != nullptr;
  }
  static bool is_held_here() noexcept { return mutexes::held != 0 || mutexes::growth.is_mine(); }
  static void end() noexcept {}
};

}  // namespace detail

// decides    the pool belongs to a group, which a tag identifies. Without a mutex, one thread owns the group and nothing is
//            locked. With a mutex, all pools of the group share a pair of them, which a group_guard can hold across many calls
// costs      nothing without a mutex; with one, the same as mutex_locking, or a check of a thread-local counter while the
//            guard is held
// conflicts  none
// use when   a thread or subsystem has its own pools; or many operations on many pools belong together
/// \tparam Group  any type, complete or not: the group's name
/// \tparam Mutex  void: no lock, one thread owns the group; otherwise a BasicLockable
template <class Group, class Mutex = void>
struct grouped_locking {
  using axis = tarn::axis::locking;
  static constexpr bool arguments_hold =
      std::is_void_v<Mutex> || (detail::basic_lockable<Mutex> && detail::locks_here<Mutex> && detail::counts_holds<Mutex>);
  struct complaint {
    static_assert(std::is_void_v<Mutex> || detail::basic_lockable<Mutex>,
                  "tarn: [L2] grouped_locking was given a type without lock() and unlock() as its mutex; use a mutex, such as "
                  "tarn::mutex, or none");
    static_assert(std::is_void_v<Mutex> || detail::counts_holds<Mutex> || !detail::locks_here<Mutex>,
                  "tarn: [Y9] grouped_locking was given a mutex, but this target has no thread-local variables, in which a "
                  "group_guard counts how often it holds it; use mutex_locking<>, or grouped_locking<Group> for one thread");
    static_assert(arguments_hold || !detail::basic_lockable<Mutex> || detail::locks_here<Mutex>,
                  "tarn: [Y3] one of tarn's mutexes was used, but this target has no threads, and the mutex doesn't stop "
                  "interrupts; use no_locking, interrupt_locking<> or your own mutex, or provide a platform header "
                  "(docs/platforms.md)");
  };
  static constexpr locking_traits traits{
      .one_thread = std::is_void_v<Mutex>,
      .has_owner = true,
      .can_wait = !std::is_void_v<Mutex>,
      .can_try = detail::try_lockable<Mutex>,
      .ends_at_exit = !std::is_void_v<Mutex> && !std::is_trivially_destructible_v<Mutex>,
  };
  /// The number of the thread that owns the group, for checking policies; 0: none so far.
  static detail::atomic_word<detail::thread_number>& owner() noexcept { return detail::group_owner<Group>; }
  template <class T>
  using cell = T;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  using guards =
      typename std::conditional_t<std::is_void_v<Mutex>, std::type_identity<no_locking::guards>,
                                  std::type_identity<detail::group_guards<Group, Mutex>>>::type;
  template <class Traits>
  using state = detail::direct_calls<guards>;
};

namespace detail {
template <class P, class Traits>
concept locking_members =
    requires(typename P::template state<Traits>& state, typename Traits::pool& pool, void* block, void** out, void* const* in,
             std::size_t n) {
      { state.pop(pool) } noexcept -> std::same_as<void*>;
      { state.pop_slow(pool) } noexcept -> std::same_as<void*>;
      { state.push(pool, block) } noexcept -> std::same_as<status>;
      { state.push_slow(pool, block) } noexcept -> std::same_as<status>;
      { state.make_room(pool) } noexcept -> std::same_as<status>;
      { state.pop_batch(pool, out, n) } noexcept -> std::same_as<std::size_t>;
      { state.push_batch(pool, in, n) } noexcept -> std::same_as<status>;
      { state.drain(pool) } noexcept -> std::same_as<void>;
      { state.drain_all(pool) } noexcept -> std::same_as<void>;
      { state.drop_all() } noexcept -> std::same_as<void>;
      { state.end() } noexcept -> std::same_as<void>;
      { state.supply(pool, memory{}) } noexcept -> std::same_as<void>;
    } &&
    requires(typename P::template state<Traits>& state, typename Traits::pool& pool, typename Traits::chunk& chunk) {
      { state.adopt(pool, chunk) } noexcept -> std::same_as<void>;
      { state.shortage(pool, detail::pointer_to(chunk)) } noexcept -> std::same_as<std::size_t>;
      { state.starves() } noexcept -> std::same_as<bool>;
      { state.expect(std::size_t{}) } noexcept -> std::same_as<void>;
    } && requires(const typename P::template state<Traits>& state) {  // of a const pool
      state.hit_guard();
      state.core_guard();
      state.growth_guard();
    } && as_promised<P::traits.can_try, requires(const typename P::template state<Traits>& state) {
      static_cast<bool>(state.try_growth_guard());
    }> && as_promised<P::traits.can_forget, requires(typename P::template state<Traits>& state) {
      { state.forget_if_alone() } noexcept -> std::same_as<bool>;
    }> && as_promised<P::traits.has_owner, requires { P::owner(); }> && as_promised<P::traits.has_tally, requires {
      typename P::tally;
    }> && (!Traits::is_listed || !(P::traits.keeps_blocks || P::traits.own_free_list) ||
           requires(const typename P::template state<Traits>& state, const typename Traits::pool& pool) {
             { state.waiting(pool) } noexcept -> std::same_as<std::size_t>;
           });
}  // namespace detail

/// Everything that the pool uses of a locking policy, in addition to its traits.
/// The machinery is `state<Traits>`. Its functions get the pool and use its `list` and `chunks`, which are written for one
/// thread.
///   cell<T>                       a number that is safe for hooks to change where they run: plain, or atomic
///   per_chunk<Traits>             its column
///   hit_guard()                   held around pop, push, batches and hooks; may guard nothing
///   core_guard(), growth_guard()  held around list and chunks, and around the store. Order: growth_guard, then core_guard
///   pop(pool), pop_slow(pool)     a block, or null. pop(): none is ready; pop_slow(): none without a further chunk
///   push(pool, block), push_slow(pool, block)
///                                 `full`: the slow path must take it; `surplus`: taken, and chunks may be returned
///   make_room(pool)               called after a push that returned `crowded`
///   pop_batch(pool, out, n), push_batch(pool, in, n)
///                                 several blocks; pop_batch returns how many it got
///   drain(pool)                   returns to the list the cached blocks that the calling thread can reach
///   drain_all(pool)               the same for all of them; no other thread uses the pool
///   shortage(pool, fresh)         bytes that the machinery needs to adopt a list of fresh chunks or, if null, to continue; 0:
///                                 none. Called with the growth guard held, until it is 0 or the store refuses
///   supply(pool, memory)          that many bytes from the pool's store, valid until drop_all(); null: the store refused
///   expect(n)                     n blocks were reserved: shortage() then returns what the calling thread will need for
///                                 them
///   prepare(pool)                 optional: blocks were reserved. Does what the next allocations would do for their first time
///   waiting(pool)                 if the pool is in the registry, and threads keep blocks or the free list is its own: free
///                                 blocks that aren't in the list. Called under the core guard; other threads use the pool
///   starves()                     whether a slow operation left the machinery with a shortage
///   adopt(pool, chunk)            under the core guard: calls chunks.adopt(chunk, list), and records what the machinery must
///                                 know about a chunk. Not called if the blocks are an array in the pool and no axis has a
///                                 column
///   forget_if_alone()             optional: drops what was supplied, if no other thread uses a part of it. Called under the
///                                 core guard when no chunk is left. Returns whether it did
///   drop_all()                    every chunk is returned, with what was supplied; no other thread uses the pool
///   end()                         nothing outside the pool may refer to the machinery any more: the pool is destroyed, or as
///                                 new
/// Optional members:
///   implies                       the reuse policy that is its default
///   tally                         counts blocks for a statistics policy: add(n), subtract(n); try_add() and try_subtract() for
///                                 one block in a hit, which return whether they did; settle(), in_use(), peak(),
///                                 allocations(). Without it, a few cells are used
template <class P>
concept locking_policy = policy_on<P, axis::locking> && detail::says<P, locking_traits> && requires {
  typename detail::template_name<P::template cell>;
  typename detail::template_name<P::template per_chunk>;
  typename detail::template_name<P::template state>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_H_
