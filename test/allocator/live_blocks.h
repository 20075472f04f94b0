// The blocks that a product of many sizes has handed out.
#ifndef TARN_TEST_ALLOCATOR_LIVE_BLOCKS_H_
#define TARN_TEST_ALLOCATOR_LIVE_BLOCKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <random>

#include "tarn/test/support/check.h"

namespace tarn::test {

/// No two blocks overlap, and each is full of a stamp of its own until it goes back. Compiled once for all products.
class live_blocks {
 public:
  template <class Product>
  explicit live_blocks(Product& from)
      : allocate_([&from](std::size_t bytes, std::size_t alignment) {
          if constexpr (requires { from.try_allocate(bytes, alignment); }) return from.try_allocate(bytes, alignment);
          else return from.allocate(bytes, alignment);
        }),
        deallocate_(
            [&from](void* block, std::size_t bytes, std::size_t alignment) { from.deallocate(block, bytes, alignment); }) {}

  std::size_t count() const { return live_.size(); }
  /// Returns null where the product had none.
  void* take(std::size_t bytes, std::size_t alignment, called_from = {}) {
    void* const block = allocate_(bytes, alignment);
    if (block != nullptr) add(block, bytes, alignment);
    return block;
  }
  void add(void* block, std::size_t bytes, std::size_t alignment, called_from = {}) {
    const auto start = reinterpret_cast<std::uintptr_t>(block);
    const std::size_t extent = std::max<std::size_t>(bytes, 1);  // of no bytes, too: its address is its own
    require(start != 0 && start % alignment == 0, "no block, or one that isn't aligned");
    const auto next = live_.lower_bound(start);
    require(next == live_.end() || next->first - start >= extent, "a block inside or over a live one");
    if (next != live_.begin()) {
      const auto& [before, its] = *std::prev(next);
      require(start - before >= its.extent, "a block over a live one");
    }
    const auto stamp = static_cast<unsigned char>(++stamps_ * 37 % 251 + 1);
    live_.emplace_hint(next, start, part{extent, bytes, alignment, stamp});
    std::memset(block, stamp, extent);
  }
  void give(void* block, called_from = {}) {
    const part its = leave(block);
    std::memset(block, 0xDD, its.extent);  // whatever a user leaves behind
    deallocate_(block, its.bytes, its.alignment);
  }
  /// The first, the n + 1st ... by address.
  void give_every(std::size_t n, called_from = {}) {
    std::size_t i = 0;
    for (auto at = live_.begin(); at != live_.end();) {
      void* const block = reinterpret_cast<void*>((at++)->first);
      if (i++ % n == 0) give(block);
    }
  }
  void give_all(called_from = {}) { give_every(1); }
  void verify(called_from = {}) const {
    for (const auto& [start, its] : live_) check(start, its);
  }
  /// Somebody else has taken them all back.
  void forget() { live_.clear(); }

  struct part {
    std::size_t extent, bytes, alignment;
    unsigned char stamp;
  };
  /// One at a random place.
  void* any(std::mt19937_64& random) const {
    const std::uintptr_t low = live_.begin()->first, high = live_.rbegin()->first;
    return reinterpret_cast<void*>(live_.lower_bound(low + random() % (high - low + 1))->first);
  }
  /// Strikes off a block that goes back another way.
  part leave(void* block, called_from = {}) {
    const auto found = live_.find(reinterpret_cast<std::uintptr_t>(block));
    const part its = found->second;
    check(found->first, its);
    live_.erase(found);
    return its;
  }

 private:
  static void check(std::uintptr_t start, const part& its) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(start);
    require(bytes[0] == its.stamp && std::memcmp(bytes, bytes + 1, its.extent - 1) == 0, "a live block was written by another");
  }

  std::function<void*(std::size_t, std::size_t)> allocate_;
  std::function<void(void*, std::size_t, std::size_t)> deallocate_;
  std::map<std::uintptr_t, part> live_;
  unsigned stamps_ = 0;
};

}  // namespace tarn::test

#endif  // TARN_TEST_ALLOCATOR_LIVE_BLOCKS_H_
