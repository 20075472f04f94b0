// An allocator made of blocks as std::pmr::memory_resource:
//
//   tarn::pmr::resource_over<tarn::stack_first<4096, tarn::heap_block>> memory;
//   std::pmr::vector<int> numbers(&memory);
#ifndef TARN_ALLOCATOR_RESOURCE_OVER_H_
#define TARN_ALLOCATOR_RESOURCE_OVER_H_

#include <concepts>
#include <cstddef>
#include <memory_resource>
#include <type_traits>

#include "tarn/allocator/allocator_block.h"
#include "tarn/allocator/detail/construct.h"

namespace tarn::pmr {

/// A memory resource over a block, which it contains.
/// \tparam Block  an allocator_block or a product, or a reference to one
template <class Block>
class resource_over : public std::pmr::memory_resource {
  using block_type = detail::block_for<Block>;

 public:
  /// Without an argument, if the block needs none; or with its arguments. Throws: what the block's constructor throws.
  resource_over()
    requires std::default_initializable<block_type>
  = default;
  template <class... Given>
    requires(sizeof...(Given) != 0 && std::constructible_from<block_type, Given...>)
  explicit resource_over(Given&&... given) : block_(static_cast<Given&&>(given)...) {}
  resource_over(const resource_over&) = delete;
  void operator=(const resource_over&) = delete;

  /// Returns the block, or its product.
  auto& block() noexcept { return detail::seen(block_); }

  /// Frees all blocks. Precondition: no earlier block is used again.
  void reset() noexcept
    requires(block_type::traits.can_reset)
  {
    block_.reset();
  }

 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return detail::must_allocate(block_, bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    block_.deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

 private:
  block_type block_;
};

}  // namespace tarn::pmr

#endif  // TARN_ALLOCATOR_RESOURCE_OVER_H_
