// What a pool does when a hit isn't enough: every 64th call or so. The order of events:
//
//   allocate     take [hit: pop, count]   miss: slow
//   slow         [hit: pop_slow, count]   miss: take_cold; none: wait
//   take_cold    [growth: slow again, since another thread may have grown the pool; grow]  failed: retry, with nothing held
//   deallocate   put [hit: verdict, count, push; crowded: make_room, or after it where a hit holds no lock]  not done: settle
//   settle       full: [hit: push_slow; crowded: make_room]   surplus: [growth: give back]
//   at the end   report_pending, with nothing held; then freed, if the exhaustion policy `hears_frees`
//
// [x: …] under that guard. Before its store is called, a pool is listed in the process: see below.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_SLOW_PATH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_SLOW_PATH_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/allocator/detail/pool/paths.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

// ---- how a pool is listed in the process: in the registry, if it has a name, and among those that others may ask to trim ---
//
//   be_registered  enters the registry: called by the constructor; for constants and the pools of size classes, by enlist
//   enlist         called before the pool's store is, with nothing held: enters the registry and the list of those to ask
//   undisturbed    while this exists, no thread asks the pool
//   be_left_alone  leaves both; called before the pool is destroyed
//   describe       what is counted only for a snapshot of the pool; what it notes beforehand: events.h

// ---- what the registry asks ------------------------------------------------------------------------------------------------

/// Free blocks that aren't behind the front of the list. Called under the core lock.
template <class State>
std::size_t free_outside(const State& s) noexcept {
  std::size_t n = s.list.in_front(s.chunks);
  if constexpr (State::traits::locking::traits.keeps_blocks || State::traits::locking::traits.own_free_list)
    n += s.locking.waiting(s);
  return n;
}

/// Writes what can be seen of a pool only under its core lock, and what never changes.
template <class State>
void describe(const State& s, pool_record& out) noexcept {
  using traits = typename State::traits;
  const auto& g = s.chunks.geometry();
  out.block_size = g.block_size();
  out.stride = g.stride();
  constexpr std::size_t end = sizeof out.policies - 1;
  std::size_t at = detail::add_short_name<typename traits::locking>(out.policies, 0, end);
  at = detail::add_short_name<typename traits::reuse>(out.policies, at, end);
  out.policies[detail::add_short_name<typename traits::store>(out.policies, at, end)] = 0;
  if (!out.is_exact) return;
  const ask_lock guard(s);
  const std::size_t outside = s.list.outside(s.chunks);
  const std::size_t at_rest = smaller(detail::free_outside(s), outside);
  out.in_use = outside - at_rest + detail::apart(s);
  if constexpr (traits::locking::traits.keeps_blocks || traits::locking::traits.own_free_list)
    out.waiting = smaller(s.locking.waiting(s), at_rest);
  out.capacity = s.chunks.capacity();
  if constexpr (traits::counts) {
    const auto counts = s.statistics.read();
    out.in_use = counts.in_use;
    if constexpr (!traits::locking::traits.has_tally) out.peak = counts.peak;  // otherwise the most that was seen
  }
  out.peak = larger(out.peak, out.in_use);
}

/// What the registry calls, for pools of all types alike. Functions, because g++ warns if a lambda's parameter has the name of
/// a user's variable.
template <class State>
struct calls_of_registry {
  static void tell(const void* its, pool_record& out) noexcept {
    const State& looked_at = *static_cast<const State*>(its);  // debuggers find the pool's type by this name
    detail::describe(looked_at, out);
  }
  static bool switch_checks(void* its, bool now, bool is_owner) noexcept {
    return switched<State>::switch_to(*static_cast<State*>(its), now, is_owner);
  }
  static void entered(void* its) noexcept {
    State& s = *static_cast<State*>(its);
    const auto& g = s.chunks.geometry();
    const listed_shape shape{g.block_size(), g.stride(), g.offset(), g.words(),
                             g.coloured() ? std::size_t{1} << g.run_shift() : 0};
    if constexpr (requires { State::traits::name::listing(); }) s.name.describe(shape, State::traits::name::listing());
    else s.name.describe(shape);
  }
  static constexpr process_calls make() noexcept {
    process_calls its{.entered = entered, .tell = tell};
    if constexpr (switched<State>::can_be_on) its.switch_checks = switch_checks;
    return its;
  }
  static constexpr process_calls all = make();
};

// ---- knowing the pool ------------------------------------------------------------------------------------------------------

/// Called with nothing held when the pool is created, and before its store is called. From now on it is in the registry.
template <class State>
TARN_STEP void be_registered([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) {
    static_cast<void>(&fork_handlers<State>), static_cast<void>(&process_list_at_load<State>);  // instantiates them
    s.name.enter(detail::pointer_to(s), calls_of_registry<State>::all, State::is_confined);
    if constexpr (State::traits::checking::traits.switches) s.checking.choose(s.name.name());
  }
}
/// Whether other pools may ask this one: it can be trimmed without waiting.
template <class State>
inline constexpr bool can_be_asked =
    State::traits::reclaims && State::traits::may_return_chunks && need_not_wait<State>;

/// Called before the pool's store is, with nothing held. From now on the registry and report_in_use() list it, and other pools
/// may ask it, if the exhaustion policy allows it.
template <class State>
TARN_STEP void enlist(State& s) noexcept {
  if (detail::grows_here(s)) return;  // the store called the pool: it is in the lists, or has left them to be destroyed
  detail::be_registered(s);
  if constexpr (State::traits::checking::traits.refuses) admission<State>::be_listed(s);
  if constexpr (can_be_asked<State>) {
    static_cast<void>(&fork_handlers<State>), static_cast<void>(&process_list_at_load<State>);  // instantiates them
    static constexpr process_calls calls{
        .trim = [](void* its) noexcept { return detail::trim_if_idle(*static_cast<State*>(its)); }};
    s.upstream.asked_through().enter(detail::pointer_to(s), calls, State::is_confined);
  }
}
/// Called before the pool is destroyed.
template <class State>
TARN_STEP void be_left_alone(State& s) noexcept {
  if constexpr (State::traits::is_listed) s.name.leave();
  if constexpr (State::traits::reclaims) s.upstream.asked_through().leave();
}

/// While this exists, no thread asks the pool, not even the one that walks its blocks, and no call waits for a block, because
/// there is no other thread. Within another one, or in the pool's destructor, this stays so afterwards.
template <class State>
class undisturbed {
 public:
  explicit undisturbed(State& its) noexcept : s_(its) {
    if constexpr (State::traits::is_listed) s_.name.pause();
    if constexpr (can_be_asked<State>) s_.upstream.asked_through().pause();
    if constexpr (State::traits::waits) {
      was_closed_ = s_.upstream.line().is_closed();
      s_.upstream.line().close();
    }
  }
  ~undisturbed() {
    if constexpr (State::traits::waits)
      if (!was_closed_) s_.upstream.line().open();
    if constexpr (can_be_asked<State>) s_.upstream.asked_through().resume();
    if constexpr (State::traits::is_listed) s_.name.resume();
  }
  undisturbed(const undisturbed&) = delete;
  undisturbed& operator=(const undisturbed&) = delete;

 private:
  State& s_;
  bool was_closed_ = false;
};

/// The same for a walk through the blocks in use: no chunk is returned either. The surplus is returned after the last walk.
template <class State>
class walked_alone {
 public:
  explicit walked_alone(State& its) noexcept : s_(its), alone_(its) { s_.chunks.keep_all(); }
  ~walked_alone() {
    s_.chunks.keep_no_longer();
    detail::give_surplus_back(s_);
  }
  walked_alone(const walked_alone&) = delete;
  walked_alone& operator=(const walked_alone&) = delete;

 private:
  State& s_;
  undisturbed<State> alone_;
};

// ---- the calls -----------------------------------------------------------------------------------------------------------

template <class State>
using path_of = std::conditional_t<State::traits::checking::traits.refuses, checked_path<State>, plain_path<State>>;

template <class State>
struct slow_path {
  using traits = typename State::traits;
  using path = path_of<State>;

  /// A call that found no block, until it gets one or gives up.
  struct search {
    attempt_at<State>& one;
    typename path::notes seen{};
    bool was_at_store = traits::in_place;  // no store: only the exhaustion policy may have something to report
  };

#if TARN_EXCEPTIONS
  TARN_NOINLINE static void* allocate(State& s) {
    void* block = nullptr;
    if constexpr (traits::waits) block = allocate_within(s, waits_as_usual());
    else block = try_allocate(s);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
#endif
  TARN_NOINLINE static void* try_allocate(State& s) noexcept { return allocate_within(s, limit_of_try()); }
  static void* allocate_within(State& s, auto limit) noexcept {
    void* const block = path::take_slow(s);
    if (block == nullptr) {
      if constexpr (traits::ends_empty) return detail::on_refusal(s), nullptr;
      else return try_allocate_cold(s, limit);
    }
    if (s.locking.starves()) [[unlikely]] detail::feed(s);
    detail::report_pending(s);
    return block;
  }

  // Calls of a pool with checks switched on, if a hit holds no lock.
#if TARN_EXCEPTIONS
  TARN_COLD static void* allocate_on(State& s, void* taken) {
    void* const block = path::checked_now(s, taken);
    return block != nullptr ? block : allocate(s);
  }
#endif
  TARN_COLD static void* try_allocate_on(State& s, void* taken) noexcept {
    void* const block = path::checked_now(s, taken);
    return block != nullptr ? block : try_allocate(s);
  }
  TARN_COLD static void deallocate_on(State& s, void* block) noexcept {
    memory_tools::take_back(block);
    settle_any(s, block, path::put_checked(s, block));
  }
  /// The rest of any free. A policy that is notified of it gets the call when the block is available.
  static void settle_any(State& s, void* block, status answer) noexcept {
    if (answer == status::crowded) make_room(detail::pointer_to(s), s);
    else if (answer != status::done) settle(s, block, answer);
    if constexpr (traits::hears_frees)
      if (answer != status::refused) s.upstream.freed(1);
  }

  /// \tparam Tells  false: the caller holds something, and calls upstream.tell() once it holds nothing
  template <bool Tells = true, class Limit = limit_of_try>
  TARN_COLD static void* try_allocate_cold(State& s, [[maybe_unused]] Limit limit = {}) noexcept {
    TARN_NOT_IF(not_exhausted);
    attempt_at<State> one;
    search its{one};
    void* block = take_cold(s, its, 1);
    if constexpr (waits_under<State, Limit>)
      if (block == nullptr) block = wait_for_one(s, detail::end_of(s, limit), its);
    if (block == nullptr && !std::is_same_v<Limit, only_looks>) detail::on_refusal(s);
    end(s, its, Tells);
    return block;
  }
  /// Whether a caller that found nothing would find nothing again, because no other thread and no code of the program ran
  /// since.
  static constexpr bool has_looked =
      !TARN_FOR_SIZE && State::is_confined && !traits::keeps_memory && !traits::checking::traits.refuses &&
      !switched<State>::can_be_on;
  /// Whether all that take_cold() may wait for was done by reserve().
  static constexpr bool keeps_one_chunk =
      traits::one_chunk && !traits::retention::traits.returns_chunks && !traits::exhaustion::traits.retries;
  /// Takes a block, under the growth lock if it must come from a new chunk. The caller has already looked.
  /// \tparam Retries  whether the exhaustion policy is called
  /// \tparam Expects  whether they are reserved
  /// \param blocks    the least number that it gets, if it must get a chunk
  /// A pool of one chunk calls no store and, if it is lock_free, takes no lock, once it was reserved.
  TARN_NONBLOCKING_BEGIN_
  template <bool Retries = true, bool Expects = false>
  TARN_STEP static void* take_cold(State& s, search& its, std::size_t blocks) noexcept TARN_NONBLOCKING_IF_(keeps_one_chunk) {
    void* block = nullptr;
    [[maybe_unused]] bool looks = !has_looked;
    do {
      if constexpr (traits::in_place) {
        block = path::take_slow(s, its.seen);
      } else {
        detail::enlist(s);
        if (detail::is_at_cap(s)) {
          block = path::take_slow(s, its.seen);  // another thread may have got the last chunk
          if (block != nullptr || detail::is_at_cap(s)) continue;  // or returned one in between
        }
        its.was_at_store = true;
        const growth_lock growing(s);
        if (!growing.is_held()) its.one.is_hopeless = true;
        else if constexpr (traits::retention::traits.returns_chunks && !need_not_wait<State>) detail::return_surplus(s);
        do {
          if (growing.is_held()) detail::top_up(s, growing);
          if (looks) block = path::take_slow(s, its.seen);
          looks = true;
        } while (block == nullptr && (detail::come_back(s, growing.is_held()) ||
                                      (growing.is_held() && detail::grow(s, growing, blocks, its.one, Expects))));
      }
    } while (block == nullptr && Retries && retry(s, its.one));
    return block;
  }
  TARN_NONBLOCKING_END_
  /// Reports the result of a search, with nothing held.
  static void end(State& s, search& its, bool tells = true) noexcept {
    path::report_if_seen(s, its.seen);
    if (its.was_at_store) detail::report_pending_of_store(s, tells);
    else detail::report_pending(s);
  }

  /// Fills `out` from its start with as many blocks as are available. Returns how many.
  template <class Limit = limit_of_try>
  static std::size_t take_batch(State& s, span<void*> out, [[maybe_unused]] Limit limit = {}) noexcept {
    std::size_t got = path::take_batch(s, out);
    while (got != out.size()) {
      void* block = nullptr;
      if constexpr (traits::waits) block = allocate_within(s, limit);
      else block = try_allocate(s);
      if (block == nullptr) break;
      out[got++] = block;
      got += path::take_batch(s, out.subspan(got));
    }
    return got;
  }

  /// Whether the pool can ever have that many blocks, so that waiting makes sense.
  static bool can_have(const State& s, std::size_t blocks) noexcept { return blocks <= detail::capacity_of(s); }
  /// Waits for all blocks of `out`, after all threads that came earlier, because two threads that hold some blocks each and
  /// wait for the other's would wait in vain. Returns how many came before the time was over.
  TARN_COLD static std::size_t wait_for_batch(State& s, span<void*> out, auto limit) noexcept {
    attempt_at<State> one;
    search its{one};
    const std::size_t came = wait(s, out, detail::end_of(s, limit), its);
    std::size_t got = 0;
    for (void* const given : out.first(came))
      if (void* const block = path::take_given(s, given, its.seen)) out[got++] = block;
    if (got != out.size()) detail::on_refusal(s);
    end(s, its);
    return got;
  }

  static void put_batch(State& s, span<void* const> blocks) noexcept {
    if constexpr (!traits::takes_null) {
      const std::size_t n = first_null(blocks.data(), blocks.size());
      if (n != blocks.size()) {
        put_batch(s, blocks.subspan(n + 1));
        blocks = blocks.first(n);
      }
    }
    if (path::put_batch(s, blocks) == status::surplus) detail::give_surplus_back(s);
    detail::report_pending(s);
    if constexpr (traits::hears_frees) s.upstream.freed(blocks.size());
  }

  /// Gets chunks until there are at least that many blocks. Returns whether it could.
  static bool reserve(State& s, std::size_t blocks) noexcept {
    if (s.chunks.geometry().extent(blocks) > size_limit) return false;
    attempt_at<State> one;
    search its{one};
    bool done = false;
    do {
      its.was_at_store = its.was_at_store || !detail::is_at_cap(s);
      if constexpr (traits::in_place) {
        if (blocks <= s.chunks.capacity()) return prepare(s), true;
      } else {
        detail::enlist(s);
        done = detail::grow_to(s, blocks, one);
      }
    } while (!done && !traits::hears_frees && retry(s, one));  // such a policy waits for a free, which adds no chunk
    if (done) prepare(s);
    end(s, its);
    return done;
  }
  /// What the first calls would do, though the blocks are there.
  static void prepare([[maybe_unused]] State& s) noexcept {
    if constexpr (traits::hides_links) static_cast<void>(secret());
    if constexpr (requires { s.locking.prepare(s); }) s.locking.prepare(s);
  }

  /// The first argument is what deallocate() already has in the first register: the pool object, or the block of a static pool.
  /// That saves deallocate() a move on every call, with g++ 12 and clang 14 to 19.
  TARN_NOINLINE static void make_room(const void* first, State& s) noexcept {
    keep_argument(first);
    const status answer = [&s] {
      const call_mark calling(s);
      return s.locking.make_room(s);
    }();
    if constexpr (traits::retention::traits.returns_chunks) {
      if (answer == status::surplus) [[unlikely]] detail::give_surplus_back(s);
    }
    detail::report_pending(s);
  }
  TARN_NOINLINE static void settle(State& s, void* block, status answer) noexcept {
    if (answer == status::refused) return detail::report_noted(s);  // the pool may be destroyed: it must not enter a list again
    if (answer == status::uncounted) path::count_put(s, block);
    if (answer == status::uncounted || answer == status::full) answer = detail::push_slow(s, block);
    if (answer == status::surplus) detail::give_surplus_back(s);
    detail::report_pending(s);
  }

  static maintained maintain(State& s, deadline until) noexcept {
    detail::enlist(s);
    const maintained result = maintenance<State>::run(s, until);
    detail::report_pending_of_store(s);
    return result;
  }

  static std::size_t trim(State& s) noexcept {
    const std::size_t bytes = [&s] {
      const call_mark calling(s);
      s.locking.drain(s);
      detail::serve(s);
      return trim_drained(s);
    }();
    detail::report_pending(s);
    return bytes;
  }
  static void release(State& s) noexcept {
    if (detail::grows_here(s)) return path::report_own_store(s);
    if constexpr (traits::samples) sampled_path<State>::drop(s);
    const call_mark calling(s);
    const growth_lock growing(s);
    detail::return_all(s);
  }
  /// The pool is destroyed: everything is returned.
  static void close(State& s) noexcept {
    const undisturbed<State> alone(s);
    path::end(s);
    if constexpr (traits::samples) sampled_path<State>::drop(s);
    if constexpr (traits::checks_leaving)
      if (path::admits_caller(s)) trim(s);  // so that every block in a front leaves it
    detail::be_left_alone(s);
    detail::report_overrun(s);
    if constexpr (traits::in_place) {
      detail::return_all(s);
    } else {
      // Under it, a store that calls the pool gets no chunk that would be lost.
      const growth_lock growing(s);
      detail::return_all(s);
    }
    s.upstream.end();
    if constexpr (traits::in_place) s.chunks.end();
  }

 private:
  /// A thread that is at the store of another pool doesn't wait, because the holder of this lock may be trimming that pool in
  /// the same way.
  static std::size_t trim_drained(State& s) noexcept {
    if constexpr (traits::locking::traits.can_try) {
      if (is_at_some_store()) {
        std::size_t bytes = 0;
        detail::without_waiting(s, [&] { bytes = detail::return_idle(s); });
        return bytes;
      }
    }
    const growth_lock growing(s);
    return growing.is_held() ? detail::return_idle(s) : 0;
  }
  /// Whether to try again. Called with nothing held.
  static bool retry(State& s, attempt_at<State>& one) noexcept {
    return s.upstream.retry(s.chunks.geometry().block_size(), one);
  }

  /// Waits for blocks that other threads free, or of a chunk that has become available. Not at the pool's own store, because
  /// the other threads may be waiting for that.
  static std::size_t wait(State& s, span<void*> out, std::uint64_t deadline, [[maybe_unused]] search& its) noexcept {
    if (detail::grows_here(s)) return 0;
    return detail::wait_for(s, out, deadline, [&]([[maybe_unused]] auto is_served) {
      if constexpr (!traits::in_place) {
        if (detail::is_at_cap(s)) return;  // no chunk is returned while this thread waits
        const growth_lock growing(s);
        if (!growing.is_held()) return;
        its.was_at_store = true;
        detail::top_up(s, growing);
        while (!is_served() && (detail::come_back(s, true) || detail::grow(s, growing, 1, its.one))) {
        }
      }
    });
  }
  /// If a checking policy refuses the block, it waits for another.
  static void* wait_for_one(State& s, std::uint64_t deadline, search& its) noexcept {
    void* block = nullptr;
    while (block == nullptr && wait(s, {&block, 1}, deadline, its) != 0) block = path::take_given(s, block, its.seen);
    return block;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_SLOW_PATH_H_
