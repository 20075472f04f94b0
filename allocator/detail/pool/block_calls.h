// The hot half of a pool, what its two forms have in common: plain_calls, where no call is refused, and checked_calls.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_BLOCK_CALLS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_BLOCK_CALLS_H_

#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/pool/pool_chunks.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

template <class Environment>
class block_calls : public pool_chunks<Environment> {
  using chunks = pool_chunks<Environment>;

 protected:
  using typename chunks::layer_type;
  using chunks::geometry;
  using chunks::layer_;
  using chunks::statistics_;
  using chunks::supplier_;

  template <class Values>
  constexpr explicit block_calls(const Values& values) noexcept
      : chunks(values), checking_(values.template get<typename Environment::checking>()) {
    if constexpr (Environment::checking::traits.knows_pool) checking_.belongs_to(this);
  }

  /// Whether the hot path holds no lock. Only then may room be made in a step of its own: between two locks another thread
  /// would push into a list that is full.
  static constexpr bool unguarded = std::is_same_v<decltype(std::declval<const layer_type&>().guard()), no_guard>;

  TARN_STEP outcome roomy(outcome answer) noexcept {
    if (answer != outcome::crowded) [[likely]] return answer;
    return layer_.make_room();
  }
  TARN_STEP void open(void* block) noexcept { memory_tools::hand_out(block, geometry().block_size()); }
  TARN_STEP void close(void* block) noexcept { memory_tools::close(block, geometry().block_size()); }

  TARN_NO_UNIQUE_ADDRESS typename Environment::checking::template part<Environment> checking_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_BLOCK_CALLS_H_
