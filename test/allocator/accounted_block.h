// Blocks of a test's own: one that keeps an account of what another hands out, as a user would write it; and a view of any
// block behind which its type is forgotten, so that a test of all of them compiles once.
#ifndef TARN_TEST_ALLOCATOR_ACCOUNTED_BLOCK_H_
#define TARN_TEST_ALLOCATOR_ACCOUNTED_BLOCK_H_

#include <cstddef>
#include <functional>
#include <map>
#include <new>

#include "tarn/allocator/allocator_block.h"
#include "tarn/test/support/check.h"

namespace tarn::test {

/// Of all accounted blocks.
struct accounts {
  static inline std::size_t outstanding = 0;  // blocks that were handed out and not given back
  static inline std::size_t calls = 0;  // requests so far
  static inline std::size_t refused_from = 0;  // the first request that is refused, as all after it; 0: none
};

/// Notes what the block inside hands out, and checks that it comes back as it was requested.
template <class Inner>
class accounted {
  using block_type = tarn::detail::block_for<Inner>;

 public:
  static constexpr block_traits traits = [] {
    block_traits its = block_type::traits;
    its.any_thread = false;
    return its;
  }();

  accounted() = default;
  ~accounted() { check_that(live_.empty(), "a block was not given back"); }
  accounted(const accounted&) = delete;
  accounted& operator=(const accounted&) = delete;

  void* allocate(std::size_t bytes, std::size_t alignment) {
    if (refuses()) throw std::bad_alloc();
    return note(block_.allocate(bytes, alignment), bytes, alignment);
  }
  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return refuses() ? nullptr : note(block_.try_allocate(bytes, alignment), bytes, alignment);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block == nullptr) return block_.deallocate(block, bytes, alignment);
    const auto found = live_.find(block);
    if (found == live_.end()) return check_that(false, "a block came back to where it didn't come from");
    check_that(found->second.alignment == alignment && found->second.bytes <= bytes && bytes <= found->second.most,
               "a block came back as another");
    live_.erase(found);
    --accounts::outstanding;
    block_.deallocate(block, bytes, alignment);
  }
  bool owns(const void* address) const noexcept
    requires(traits.knows_own)
  {
    return block_.owns(address);
  }
  std::size_t good_size(std::size_t bytes, std::size_t alignment) const noexcept
    requires(traits.has_good_size)
  {
    return block_.good_size(bytes, alignment);
  }
  bool fits(std::size_t bytes, std::size_t alignment) const noexcept
    requires(traits.has_fits)
  {
    return block_.fits(bytes, alignment);
  }
  void reset() noexcept
    requires(traits.can_reset)
  {
    accounts::outstanding -= live_.size();
    live_.clear();
    block_.reset();
  }

 private:
  struct request {
    std::size_t bytes, most, alignment;
  };

  static bool refuses() noexcept {
    ++accounts::calls;
    return accounts::refused_from != 0 && accounts::calls >= accounts::refused_from;
  }
  void* note(void* block, std::size_t bytes, std::size_t alignment) {
    if (block == nullptr) return nullptr;
    const bool is_new =
        live_.emplace(block, request{bytes, tarn::detail::good_size_of(block_, bytes, alignment), alignment}).second;
    check_that(is_new, "a block was handed out twice");
    ++accounts::outstanding;
    return block;
  }

  std::map<void*, request> live_;
  block_type block_;
};

/// A block whose type is forgotten.
struct any_block {
  template <allocator_block Block>
  explicit any_block(Block& all)
      : traits(Block::traits),
        allocate([&all](std::size_t bytes, std::size_t alignment) { return all.allocate(bytes, alignment); }),
        try_allocate([&all](std::size_t bytes, std::size_t alignment) { return all.try_allocate(bytes, alignment); }),
        deallocate([&all](void* block, std::size_t bytes, std::size_t alignment) { all.deallocate(block, bytes, alignment); }) {
    if constexpr (Block::traits.knows_own) owns = [&all](const void* address) { return all.owns(address); };
    if constexpr (Block::traits.has_good_size)
      good_size = [&all](std::size_t bytes, std::size_t alignment) { return all.good_size(bytes, alignment); };
    if constexpr (Block::traits.can_reset) reset = [&all] { all.reset(); };
  }

  block_traits traits;
  std::function<void*(std::size_t, std::size_t)> allocate, try_allocate;
  std::function<void(void*, std::size_t, std::size_t)> deallocate;
  std::function<bool(const void*)> owns;
  std::function<std::size_t(std::size_t, std::size_t)> good_size;
  std::function<void()> reset;
};

}  // namespace tarn::test

#endif  // TARN_TEST_ALLOCATOR_ACCOUNTED_BLOCK_H_
