// How the products over a pool look into it: object pools find out which blocks are in use.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_INSPECTOR_H_
#define TARN_ALLOCATOR_DETAIL_POOL_INSPECTOR_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/allocator/detail/compose/rejected.h"
#include "tarn/allocator/detail/core/core.h"
#include "tarn/allocator/detail/pool/pool_body.h"
#include "tarn/allocator/detail/pool/pool_chunks.h"

namespace tarn::detail {

struct inspector {
  /// The single-threaded core, with all that is kept in front of it given back. Precondition: no other thread uses
  /// the pool.
  template <class Environment>
  static typename Environment::core& core(pool_chunks<Environment>& pool) noexcept {
    pool.layer_.drain_all();
    return pool.layer_.core();
  }

  /// Calls visit(block) for every block in use, as core::each_live() does. Precondition: no other thread uses the pool.
  template <class Environment, class Visit>
  static void each_live(pool_body<Environment>& pool, Visit visit) {
    core(pool).each_live(visit);
    if constexpr (Environment::samples) pool.checking_.each_sampled(visit);
  }
  template <class Visit>
  static void each_live(rejected&, Visit) noexcept {}

  /// After release(): the pool ends, though nobody destroys it.
  template <class Environment>
  static void end_stores(pool_chunks<Environment>& pool) noexcept {
    pool.supplier_.end();
  }
  static constexpr void end_stores(rejected&) noexcept {}

  /// Which use of a block this is; 0: none. Any address is a fair question. Other threads may use the pool.
  template <class Environment>
  static std::uint64_t generation_of(pool_body<Environment>& pool, const void* block) noexcept {
    [[maybe_unused]] const auto guard = pool.layer_.core_guard();
    return pool.checking_.generation_of(pool.layer_.core(), block);
  }
  template <class Environment>
  static constexpr bool has_generations(const pool_body<Environment>*) noexcept {
    return Environment::has_generations;
  }
  static constexpr bool has_generations(const void*) noexcept { return false; }

  /// Whether a call can be refused.
  template <class Pool>
  static constexpr bool can_refuse() noexcept {
    if constexpr (std::is_base_of_v<rejected, Pool>) return false;
    else return Pool::refuses;
  }

  /// Whether the pool would take the block back. Where not, its checking policy has reported that.
  template <class Environment>
  static bool admits(pool_body<Environment>& pool, void* block) noexcept {
    return pool.admits(block);
  }
  static constexpr bool admits(rejected&, void*) noexcept { return true; }

  /// Whether a block of the pool is about to be given to the global operator delete: as an object of so many bytes, or, 0, as an
  /// array. It was reported then. Only where misuse is looked for.
  template <class Environment>
  static bool is_misused([[maybe_unused]] pool_body<Environment>& pool, [[maybe_unused]] void* block,
                         [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (Environment::checking::traits.refuses) {
      if (!pool.owns(block)) return false;
      pool.refuse_delete(block, bytes);
      return true;
    } else {
      return false;
    }
  }
  static constexpr bool is_misused(rejected&, void*, std::size_t) noexcept { return false; }

  /// Whether a block, free or in use, starts at the address. Other threads may use the pool.
  template <class Environment>
  static bool is_block(const pool_chunks<Environment>& pool, const void* address) noexcept {
    [[maybe_unused]] const auto guard = pool.layer_.core_guard();
    return pool.layer_.core().is_block(address);
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_INSPECTOR_H_
