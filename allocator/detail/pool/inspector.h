// Access to a pool's internals for the products built on it.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_INSPECTOR_H_
#define TARN_ALLOCATOR_DETAIL_POOL_INSPECTOR_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/allocator/detail/pool/members.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

struct inspector {
  /// Returns all cached blocks to the list, then returns the state. Precondition: no other thread uses the pool.
  template <class Traits>
  static pool_state<Traits>& drained(pool_members<Traits>& pool) noexcept {
    pool.state_.locking.drain_all(pool.state_);
    return pool.state_;
  }

  /// From now on no call waits for a block, because there is no other thread.
  template <class Traits>
  static void end_waiting([[maybe_unused]] pool_members<Traits>& pool) noexcept {
    if constexpr (Traits::waits) pool.state_.upstream.line().close();
  }

  template <class Traits>
  static pool_state<Traits>& state_of(pool_members<Traits>& pool) noexcept {
    return pool.state_;
  }

  /// As try_allocate(), but waits for a block up to `limit` (waiting.h), if the exhaustion policy waits at all.
  template <class Traits, class Limit>
  TARN_STEP static void* allocate_or_null(pool_members<Traits>& pool, [[maybe_unused]] Limit limit) noexcept {
    if constexpr (waits_under<pool_state<Traits>, Limit>) return pool.allocate_under(limit);
    else return pool.try_allocate();
  }
  static std::size_t allocate_batch(auto& pool, span<void*> out, auto limit) noexcept { return pool.take_batch(out, limit); }
  /// Whether calls can wait for a block.
  template <class Traits>
  static constexpr bool waits(const pool_members<Traits>*) noexcept {
    return Traits::waits;
  }

  /// As try_allocate(), but returns null if that needs a call.
  template <class Traits>
  TARN_STEP static void* hit(pool_members<Traits>& pool) noexcept {
    using path = typename pool_members<Traits>::path;
    if constexpr (Traits::checking::traits.refuses || Traits::samples || path::leaves_checks) return nullptr;
    else return path::take(pool.state_);
  }

  /// As try_allocate(), for a caller that holds its own guard, and calls tell() when it holds nothing.
  template <class Traits>
  static void* allocate_untold(pool_members<Traits>& pool) noexcept {
    if constexpr (!Traits::tells_later) {
      return pool.try_allocate();
    } else {
      using slow = typename pool_members<Traits>::slow;
      void* block = hit(pool);
      if (block == nullptr) block = slow::path::take_slow(pool.state_);
      return block != nullptr ? block : slow::template try_allocate_cold<false>(pool.state_);
    }
  }
  static void tell(auto& pool) noexcept { pool.state_.upstream.tell(); }

  /// Called after release(): ends a pool that is never destroyed.
  template <class Traits>
  static void end_stores(pool_members<Traits>& pool) noexcept {
    pool.state_.upstream.end();
    if constexpr (Traits::in_place) pool.state_.chunks.end();
  }

  /// The pool is part of that owner. Precondition: its store was not called yet.
  static void belong_to(auto& pool, auto owner) noexcept { pool.state_.upstream.belong_to(owner); }

  /// Frees empty chunks, unless another thread is using the pool. Returns their bytes. Never waits.
  template <class Traits>
  static std::size_t trim_if_idle([[maybe_unused]] pool_members<Traits>& pool) noexcept {
    if constexpr (Traits::may_return_chunks && need_not_wait<pool_state<Traits>>)
      return detail::trim_if_idle(pool.state_).bytes;
    else return 0;
  }
  /// Called before the end of a pool that is never destroyed. Waits for threads that ask it to trim.
  static void be_left_alone(auto& pool) noexcept { detail::be_left_alone(pool.state_); }

  /// A number that is unique to one use of a block; 0: none. Any address is valid. Other threads may use the pool.
  static std::uint64_t generation_of(auto& pool, const void* block) noexcept {
    const ask_lock guard(pool.state_);
    return pool.state_.checking.generation_of(pool.state_.chunks, block);
  }
  template <class Traits>
  static constexpr bool has_generations(const pool_members<Traits>*) noexcept {
    return Traits::has_generations;
  }

  /// Whether a call can be refused.
  template <class Pool>
  static constexpr bool can_refuse() noexcept {
    return Pool::refuses;
  }
  /// Whether blocks that are in use when the pool is destroyed are intended.
  template <class Pool>
  static constexpr bool may_end_in_use() noexcept {
    return Pool::may_end_in_use;
  }
  /// Whether a batch costs less than its blocks one by one: they share a lock, and none is checked individually.
  template <class Traits>
  static constexpr bool prefers_batches(const pool_members<Traits>*) noexcept {
    // Threads that each wait for a block while they hold others may wait for each other.
    return (!Traits::checking::traits.refuses || Traits::waits) && !Traits::samples && !pool_state<Traits>::is_confined;
  }

  /// Whether the pool would accept the block in a free. If not, its checking policy has reported that.
  template <class Traits>
  static bool admits(pool_members<Traits>& pool, void* block) noexcept {
    using members = pool_members<Traits>;
    if constexpr (Traits::samples)
      if (members::sampled::owns(pool.state_, block)) return members::sampled::admits(pool.state_, block);
    return members::path::admits(pool.state_, block);
  }

  /// Whether a block of the pool is about to be passed to the global operator delete, as an object of that many bytes or, if 0,
  /// as an array. If so, that was reported. Always false if misuse isn't checked.
  template <class Pool>
  static bool is_misused([[maybe_unused]] Pool& pool, [[maybe_unused]] void* block,
                         [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (Pool::refuses) {
      if (!pool.owns(block)) return false;
      Pool::path::refuse_delete(pool.state_, block, bytes);
      return true;
    } else {
      return false;
    }
  }

  /// Whether a block, free or in use, starts at the address. Other threads may use the pool.
  static bool is_block(const auto& pool, const void* address) noexcept {
    const ask_lock guard(pool.state_);
    return pool.state_.chunks.is_block(address);
  }
};

/// \tparam Pool  derived from pool_members
template <class Pool>
using state_within = std::remove_reference_t<decltype(inspector::state_of(*static_cast<Pool*>(nullptr)))>;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_INSPECTOR_H_
