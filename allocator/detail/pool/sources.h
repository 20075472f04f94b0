// Which of a pool's policies have machinery of their own where its memory comes from, and which have none.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_SOURCES_H_
#define TARN_ALLOCATOR_DETAIL_POOL_SOURCES_H_

#include <cstddef>
#include <type_traits>

namespace tarn::detail {

/// What an exhaustion policy keeps for one operation that found nothing.
struct no_attempt {};
template <class State, bool Keeps>
struct attempt_of {
  using type = no_attempt;
};
template <class State>
struct attempt_of<State, true> {
  using type = typename State::attempt;
};

/// Whether an exhaustion policy wants to look again.
template <class State, class Own>
bool looks_again(State& state, std::size_t bytes, [[maybe_unused]] Own& own) noexcept {
  if constexpr (std::is_same_v<Own, no_attempt>) return state.retry(bytes);
  else return state.retry(bytes, own);
}

/// For a pool whose blocks exist from the start.
struct no_source {
  template <class Store>
  constexpr explicit no_source(const Store&) noexcept {}
};
template <class Traits>
struct source_of {
  using type = typename Traits::store::template source<Traits>;
};
template <class Traits>
  requires(Traits::in_place)
struct source_of<Traits> {
  using type = no_source;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_SOURCES_H_
