// How a pool with a name is seen from outside: what it notes where it works anyway, and what is counted when somebody asks. No
// hit counts anything:
//
//   blocks ever handed out = in use + at the front of the list + waiting in front of the list + behind the list's front
//                            '----------------------- outside -----------------------------'
//
// `outside` changes only where the front is refilled or emptied, so the most that it ever was is never less than the peak.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_REGISTRATION_H_
#define TARN_ALLOCATOR_DETAIL_POOL_REGISTRATION_H_

#include <cstddef>

#include "tarn/allocator/detail/pool/checks.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name/named.h"
#include "tarn/policies/platform/config.h"

// The name of a type, as a constant: how reports name the static pool of a tag.

namespace tarn::detail {

/// As the compiler spells it in the name of this function: without run-time type information there is no other source.
template <class T>
struct name_of_type {
  static constexpr const char* whole() noexcept { return TARN_FUNCTION_NAME; }
  /// Where the type's name starts in it: after "T = ".
  static constexpr std::size_t first() noexcept {
    const char* const all = whole();
    std::size_t i = 0;
    while (all[i] != 0 && !(all[i] == 'T' && all[i + 1] == ' ' && all[i + 2] == '=' && all[i + 3] == ' ')) ++i;
    return all[i] == 0 ? i : i + 4;
  }
  static constexpr std::size_t length() noexcept {
    const char* const name = whole() + first();
    std::size_t i = 0;
    while (name[i] != 0 && name[i] != ';' && name[i] != ']') ++i;
    return i;
  }
  struct characters {
    char at[length() + 1] = {};
  };
  static constexpr characters copy = [] {
    characters its;  // no name that a program may have, too: g++ would say that it is shadowed
    for (std::size_t letter = 0; letter != length(); ++letter) its.at[letter] = whole()[first() + letter];
    return its;
  }();
  static constexpr const char* text() noexcept { return copy.at; }
};

/// Blocks in use that lie in no chunk. Called under the core guard.
template <class State>
std::size_t apart([[maybe_unused]] const State& s) noexcept {
  if constexpr (State::traits::samples) return s.checking.live();
  else return 0;
}
/// Called under the core guard, after blocks came from behind the front of the list, or went there and back.
template <class State>
TARN_STEP void note_outside([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) s.name.on_outside(s.list.outside(s.chunks) + detail::apart(s));
}
/// The same, called under the hit guard.
template <class State>
TARN_STEP void note_outside_in_hit([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) {
    if constexpr (State::hits_unguarded) {
      [[maybe_unused]] const auto guard = s.locking.core_guard();
      detail::note_outside(s);
    } else {
      detail::note_outside(s);
    }
  }
}
/// Called under the core guard.
template <class State>
TARN_STEP void note_chunk(State& s, std::size_t bytes) noexcept {
  s.statistics.on_chunk(bytes);
  if constexpr (State::traits::is_listed) s.name.on_chunk(bytes, s.chunks.capacity());
}
template <class State>
TARN_STEP void note_chunk_gone(State& s, std::size_t bytes) noexcept {
  s.statistics.off_chunk(bytes);
  if constexpr (State::traits::is_listed) s.name.off_chunk(bytes, s.chunks.capacity());
}
template <class State>
TARN_STEP void note_refusal([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) s.name.on_refusal();
}

/// Free blocks that aren't behind the front of the list. Called under the core guard.
template <class State>
std::size_t free_outside(const State& s) noexcept {
  std::size_t n = s.list.in_front(s.chunks);
  if constexpr (State::traits::locking::traits.keeps_blocks || State::traits::locking::traits.own_free_list)
    n += s.locking.waiting(s);
  return n;
}

/// "tarn::mutex_locking<tarn::mutex>" as "mutex_locking".
template <class Policy>
constexpr std::size_t add_short_name(char* to, std::size_t at, std::size_t end) noexcept {
  const char* const name = name_of_type<Policy>::text();
  std::size_t first = 0;
  std::size_t last = 0;
  while (name[last] != 0 && name[last] != '<') {
    if (name[last] == ':' || name[last] == ' ') first = last + 1;
    ++last;
  }
  if (at != 0 && at + 2 < end) to[at++] = ',', to[at++] = ' ';
  for (; first != last && at != end; ++first) to[at++] = name[first];
  return at;
}

/// Writes what can be seen of a pool only under its core guard, and what never changes.
template <class State>
void tell_of(const State& s, pool_record& out) noexcept {
  using traits = typename State::traits;
  const auto& g = s.chunks.geometry();
  out.block_size = g.block_size();
  out.stride = g.stride();
  constexpr std::size_t end = sizeof out.policies - 1;
  std::size_t at = detail::add_short_name<typename traits::locking>(out.policies, 0, end);
  at = detail::add_short_name<typename traits::reuse>(out.policies, at, end);
  out.policies[detail::add_short_name<typename traits::store>(out.policies, at, end)] = 0;
  if (!out.is_exact) return;
  [[maybe_unused]] const auto guard = s.locking.core_guard();
  const std::size_t outside = s.list.outside(s.chunks);
  const std::size_t at_rest = smaller(detail::free_outside(s), outside);
  out.in_use = outside - at_rest + detail::apart(s);
  if constexpr (traits::locking::traits.keeps_blocks || traits::locking::traits.own_free_list)
    out.waiting = smaller(s.locking.waiting(s), at_rest);
  out.capacity = s.chunks.capacity();
  if constexpr (traits::counts) {
    const auto counts = s.statistics.read();
    out.in_use = counts.in_use;
    if constexpr (!traits::locking::traits.has_tally) out.peak = counts.peak;  // else the most that somebody saw
  }
  out.peak = larger(out.peak, out.in_use);
}

/// What the registry calls, for pools of all types alike. Functions: g++ warns of a lambda's parameter that has the name of
/// a user's variable.
template <class State>
struct calls_of_registry {
  static void tell(const void* its, pool_record& out) noexcept {
    const State& looked_at = *static_cast<const State*>(its);  // by this name debuggers find the pool's type
    detail::tell_of(looked_at, out);
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

/// Called with nothing held when the pool is made, and before its store is called. From now on it is in the registry.
template <class State>
TARN_STEP void be_registered([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) {
    static_cast<void>(&fork_handlers<State>), static_cast<void>(&process_list_at_load<State>);  // instantiates them
    s.name.enter(detail::pointer_to(s), calls_of_registry<State>::all, State::is_confined);
    if constexpr (State::traits::checking::traits.switches) s.checking.choose(s.name.name());
  }
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_REGISTRATION_H_
