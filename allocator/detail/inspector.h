// How the products over a pool look into it: object pools find out which blocks are in use.
#ifndef TARN_ALLOCATOR_DETAIL_INSPECTOR_H_
#define TARN_ALLOCATOR_DETAIL_INSPECTOR_H_

#include "tarn/allocator/detail/core.h"
#include "tarn/allocator/detail/pool_body.h"
#include "tarn/allocator/detail/pool_chunks.h"
#include "tarn/allocator/detail/rejected.h"

namespace tarn::detail {

struct inspector {
  /// The single-threaded core, with all that is kept in front of it given back. Precondition: no other thread uses
  /// the pool.
  template <class Environment>
  static typename Environment::core& core(pool_chunks<Environment>& pool) noexcept {
    pool.layer_.drain_all();
    return pool.layer_.core();
  }

  /// Whether the pool would take the block back. Where not, its checking policy has reported that.
  template <class Environment>
  static bool admits(pool_body<Environment>& pool, void* block) noexcept {
    return pool.admits(block);
  }
  static constexpr bool admits(rejected&, void*) noexcept { return true; }

  /// Whether a block, free or in use, starts at the address. Other threads may use the pool.
  template <class Environment>
  static bool is_block(const pool_chunks<Environment>& pool, const void* address) noexcept {
    [[maybe_unused]] const auto guard = pool.layer_.core_guard();
    return pool.layer_.core().is_block(address);
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_INSPECTOR_H_
