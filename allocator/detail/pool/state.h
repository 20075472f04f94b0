// The state of a pool: one struct; no member contains another's state. Paths and growth are functions on it.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_STATE_H_
#define TARN_ALLOCATOR_DETAIL_POOL_STATE_H_

#include <type_traits>

#include "tarn/allocator/detail/compose/pool_traits.h"
#include "tarn/allocator/detail/core/array_chunk.h"
#include "tarn/allocator/detail/core/many_chunks.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/upstream.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// What a hit needs, kept at the front.
template <class Traits>
struct hot_state {
  template <class Values>
  TARN_STEP constexpr explicit hot_state(const Values& values) noexcept(Values::nothrow) : chunks(values) {}

  TARN_NO_UNIQUE_ADDRESS typename Traits::locking::template state<Traits> locking;  // guards; a thread cache or a stack
  typename Traits::reuse::template list<Traits> list;                               // free blocks
  typename Traits::chunks chunks;  // carving, finding a block's chunk, what growth and retention decide
};
/// What a hit touches is in front of the array, where the shortest instructions reach it. On Cortex-M0+ a distance of more than
/// 124 bytes takes one more word in each function, and on M4 each access is twice as long. The array pads itself after it: see
/// Traits::bytes_in_front_of_array().
template <class Traits>
  requires(Traits::is_plain_array)
struct alignas(Traits::array_alignment()) hot_state<Traits> {
  template <class Values>
  TARN_STEP constexpr explicit hot_state(const Values& values) noexcept(Values::nothrow) : chunks(values) {}

  typename Traits::reuse::template list<Traits> list;
  TARN_NO_UNIQUE_ADDRESS typename Traits::chunks chunks;
  TARN_NO_UNIQUE_ADDRESS typename Traits::locking::template state<Traits> locking;
};

/// The pool itself; the address of its state is the address of the pool.
template <class Traits>
struct pool_state : hot_state<Traits> {
  using traits = Traits;
  using chunk = typename Traits::chunk;
  using locking_state = typename Traits::locking::template state<Traits>;

  template <class Values>
  TARN_STEP constexpr explicit pool_state(const Values& values) noexcept(Values::nothrow)
      : hot_state<Traits>(values),
        upstream(values),
        checking(values.template get<typename Traits::checking>()),
        statistics(values.template get<typename Traits::statistics>()),
        name(values.template get<typename Traits::name>()) {
    if constexpr (Traits::checking::traits.knows_pool) checking.belongs_to(this);
  }
  pool_state(const pool_state&) = delete;
  pool_state& operator=(const pool_state&) = delete;

  /// Whether a hit holds no lock. Only in that case may make_room() be a separate step, because otherwise another thread could
  /// push into a full list between the two locks.
  static constexpr bool hits_unguarded =
      std::is_same_v<decltype(static_cast<const locking_state*>(nullptr)->hit_guard()), no_guard>;
  /// Whether nothing synchronises threads.
  static constexpr bool is_confined =
      std::is_same_v<decltype(static_cast<const locking_state*>(nullptr)->core_guard()), no_guard>;

  TARN_NO_UNIQUE_ADDRESS detail::upstream<Traits> upstream;  // the store, and what exhaustion adds to it
  TARN_NO_UNIQUE_ADDRESS typename Traits::checking::template state<Traits> checking;
  TARN_NO_UNIQUE_ADDRESS typename Traits::statistics::template state<Traits> statistics;
  TARN_NO_UNIQUE_ADDRESS typename Traits::name::state name;  // its entry in the registry
  TARN_NO_UNIQUE_ADDRESS chunk_ahead<Traits> ahead;  // what maintain() got, before it is part of the pool
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_STATE_H_
