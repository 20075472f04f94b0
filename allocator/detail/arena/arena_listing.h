// How the registry knows an arena that has a name: as a pool of blocks of one byte.
#ifndef TARN_ALLOCATOR_DETAIL_ARENA_ARENA_LISTING_H_
#define TARN_ALLOCATOR_DETAIL_ARENA_ARENA_LISTING_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name.h"

namespace tarn::detail {

template <class Arena>
struct arena_listing {
  /// Called with nothing held when the arena is made, and before its store is called.
  static void enter(Arena& arena) noexcept {
    static_cast<void>(&fork_handlers<Arena>), static_cast<void>(&process_list_at_load<Arena>);  // instantiates them
    constexpr bool is_confined = std::is_same_v<decltype(arena.locking_.core_guard()), no_guard>;
    arena.name_.enter(detail::pointer_to(arena), calls, is_confined);
  }

 private:
  static void entered(void* its) noexcept { static_cast<Arena*>(its)->name_.describe({1, 1, 0, 0, 0}); }
  static void tell(const void* its, pool_record& out) noexcept {
    const Arena& arena = *static_cast<const Arena*>(its);
    using traits = typename Arena::traits;
    out.block_size = out.stride = 1;
    constexpr std::size_t end = sizeof out.policies - 1;
    std::size_t at = detail::add_short_name<typename traits::locking>(out.policies, 0, end);
    constexpr char word[] = ", arena";
    for (std::size_t letter = 0; letter != sizeof word - 1 && at != end; ++letter) out.policies[at++] = word[letter];
    out.policies[detail::add_short_name<typename traits::store>(out.policies, at, end)] = 0;
    if (!out.is_exact) return;
    [[maybe_unused]] const auto guard = arena.locking_.core_guard();
    out.in_use = arena.region_.in_use();
    out.peak = arena.region_.peak();
    out.capacity = arena.region_.capacity();
  }
  static constexpr process_calls calls{.entered = entered, .tell = tell};
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ARENA_ARENA_LISTING_H_
