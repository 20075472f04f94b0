// The locks of a pool, each a scope with one spelling: `const core_lock guard(s);`. If a policy requires it, a scope also
// records that this thread is in a call of the pool, or at its store.
//
//   hit_lock          around one block, out or in
//   core_lock         around the list and the chunks
//   ask_lock          the same around a query, which isn't a call of the pool: it records nothing
//   look_lock         within a hit_lock, around what needs the core lock: does nothing if that is the same lock
//   growth_lock       around the store; not held if this thread is at the store already
//   growth_try_lock   as growth_lock; also not held if another thread holds it
//   store_look        around a query about the store, which may be made during a call of that store
//   call_mark         no lock: only the record
//
// Order: growth lock, then core lock. A store is called under the growth lock only.
//
// A store may run code of the program that calls the pool again: a new-handler, a memory resource, a hook. That code sees the
// pool as any other thread would, except that it can't wait for the growth lock, which its own thread holds. So its growth_lock
// isn't held.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_LOCKS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_LOCKS_H_

#include <new>
#include <type_traits>

#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// For pools that don't record which thread is in them.
struct no_call_frame {
  TARN_STEP constexpr explicit no_call_frame(const void*) noexcept {}
};

/// What each lock consists of: a frame that exists from before the guard waits until after it is released.
template <class State>
class call_mark {
 public:
  TARN_STEP explicit call_mark(const State& its) noexcept : frame_(detail::pointer_to(its)) {}
  TARN_STEP ~call_mark() {}  // so that a scope isn't an unused variable
  call_mark(const call_mark&) = delete;
  call_mark& operator=(const call_mark&) = delete;

 private:
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<State::traits::tells_reentry, call_frame, no_call_frame> frame_;
};

template <class State>
class hit_lock : call_mark<State> {
 public:
  TARN_STEP explicit hit_lock(const State& its) : call_mark<State>(its), guard_(its.locking.hit_guard()) {}
  TARN_STEP ~hit_lock() {}

 private:
  decltype(static_cast<const State*>(nullptr)->locking.hit_guard()) guard_;
};
template <class State>
class ask_lock {
 public:
  TARN_STEP explicit ask_lock(const State& its) : guard_(its.locking.core_guard()) {}
  TARN_STEP ~ask_lock() {}
  ask_lock(const ask_lock&) = delete;
  ask_lock& operator=(const ask_lock&) = delete;

 private:
  decltype(static_cast<const State*>(nullptr)->locking.core_guard()) guard_;
};
template <class State>
class core_lock : call_mark<State>, ask_lock<State> {
 public:
  TARN_STEP explicit core_lock(const State& its) : call_mark<State>(its), ask_lock<State>(its) {}
};

struct no_mark {
  TARN_STEP explicit no_mark(const auto&) noexcept {}
  TARN_STEP ~no_mark() {}
};
template <class State>
class look_lock : std::conditional_t<State::hits_unguarded, ask_lock<State>, no_mark> {
  using lock = std::conditional_t<State::hits_unguarded, ask_lock<State>, no_mark>;

 public:
  TARN_STEP explicit look_lock(const State& its) : lock(its) {}
};

/// Whether this thread is at the pool's store, which called the pool again.
template <class State>
bool grows_here([[maybe_unused]] const State& s) noexcept {
  constexpr growth_again again = again_of<typename State::locking_state>;
  if constexpr (!State::traits::store_comes_back) return false;
  else if (s.upstream.owner_is_at_store()) return true;
  else if constexpr (again == growth_again::nests) return s.chunks.is_growing();
  else if constexpr (again == growth_again::told) return s.locking.grows_here();
  else return s.upstream.grower() == this_thread_number();
}

enum class at_store { waits, tries, looks };

template <at_store How, class State>
TARN_STEP auto guard_of_store(const State& s) {
  if constexpr (How == at_store::tries) return s.locking.try_growth_guard();
  else return s.locking.growth_guard();
}
/// If the store requests memory during this, it must not call this pool again.
template <at_store How, class State>
TARN_STEP auto visit_of_store(State& s) {
  const auto lock = [&s] { return detail::guard_of_store<How>(s); };
  if constexpr (How == at_store::looks || !State::traits::reclaims) return lock();
  else return reclaim_member::at_store<decltype(lock())>(s.upstream.asked_through(), lock);
}

/// The growth guard, unless this thread is already at the store, and a mark that it now is.
template <class State, at_store How>
class store_scope {
  using state = std::conditional_t<How == at_store::looks, const State, State>;
  static constexpr growth_again again = again_of<typename State::locking_state>;

 public:
  explicit store_scope(state& of) : s_(of), is_nested_(detail::grows_here(of)) {
    if (is_nested_) return;
    ::new (static_cast<void*>(detail::pointer_to(held_))) scope(of);
    if (detail::is_held(held_.guard)) mark(true);
  }
  ~store_scope() {
    if (is_nested_) return;
    if (detail::is_held(held_.guard)) mark(false);
    held_.~scope();
  }
  store_scope(const store_scope&) = delete;
  store_scope& operator=(const store_scope&) = delete;

  bool is_held() const noexcept { return is_nested_ ? How == at_store::looks : detail::is_held(held_.guard); }

 private:
  struct scope {
    explicit scope(state& its) : mark(its), guard(detail::visit_of_store<How>(its)) {}
    TARN_NO_UNIQUE_ADDRESS std::conditional_t<How == at_store::looks, no_mark, call_mark<State>> mark;
    decltype(detail::visit_of_store<How>(*static_cast<state*>(nullptr))) guard;
  };

  void mark([[maybe_unused]] bool now) noexcept {
    if constexpr (How != at_store::looks && State::traits::store_comes_back) {
      if constexpr (again == growth_again::nests) s_.chunks.set_growing(now);
      if constexpr (again == growth_again::waits) s_.upstream.set_grower(now ? this_thread_number() : 0);
    }
  }

  state& s_;
  const bool is_nested_;
  union {
    scope held_;
  };
};

template <class State>
struct growth_lock : store_scope<State, at_store::waits> {
  explicit growth_lock(State& its) : store_scope<State, at_store::waits>(its) {}
};
template <class State>
struct growth_try_lock : store_scope<State, at_store::tries> {
  explicit growth_try_lock(State& its) : store_scope<State, at_store::tries>(its) {}
};
template <class State>
struct store_look : store_scope<State, at_store::looks> {
  explicit store_look(const State& its) : store_scope<State, at_store::looks>(its) {}
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_LOCKS_H_
