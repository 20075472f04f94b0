// A model of a pool, which checks each operation: the set of live addresses, and a stamp in every byte of each live block.
#ifndef TARN_TEST_SUPPORT_MODEL_H_
#define TARN_TEST_SUPPORT_MODEL_H_

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tarn/test/support/check.h"

namespace tarn::test {

/// Of TARN_SEED, or 1. Printed, so that a failure can be run again.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* const given = std::getenv("TARN_SEED");
    const std::uint64_t s = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
    std::printf("TARN_SEED=%llu\n", static_cast<unsigned long long>(s));
    return s;
  }();
  return value;
}

/// How much longer the tests run at night.
inline std::size_t patience() { return std::getenv("TARN_NIGHTLY") != nullptr ? 10 : 1; }

template <class Pool>
class model {
 public:
  using pool_type = Pool;

  explicit model(Pool& pool) : pool_(pool) {}

  std::size_t live() const { return order_.size(); }
  std::size_t operations() const { return operations_; }
  const std::vector<void*>& blocks() const { return order_; }

  /// Returns whether the pool had a block.
  bool take(called_from = {}) {
    void* const block = pool_.try_allocate();
    ++operations_;
    if (block != nullptr) took(block);
    return block != nullptr;
  }
  /// Returns how many blocks the pool had.
  std::size_t take_batch(std::size_t n, called_from = {}) {
    std::vector<void*> blocks(n);
    const std::size_t got = pool_.try_allocate_batch(blocks);
    require(got <= n, "a batch that is larger than asked for");
    for (void* const block : std::span(blocks).first(got)) took(block);
    operations_ += got;
    return got;
  }
  /// Gives back the i-th of the live blocks, of which 0 was taken first.
  void give(std::size_t i, called_from = {}) {
    void* const block = leave(i);
    pool_.deallocate(block);
    if (++operations_ % 16 == 0) pool_.deallocate(nullptr);  // which does nothing
  }
  void give_newest(called_from = {}) { give(order_.size() - 1); }
  /// Gives back the n newest at once.
  void give_batch(std::size_t n, called_from = {}) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < n; ++i) blocks.push_back(leave(order_.size() - 1));
    if (operations_ % 4 == 0) blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(n / 2), nullptr);
    pool_.deallocate_batch(blocks);
    operations_ += n;
  }
  void shuffle(std::mt19937_64& random) { std::shuffle(order_.begin(), order_.end(), random); }
  void reverse() { std::reverse(order_.begin(), order_.end()); }

  /// Every live block holds what was written into it, and the pool owns it.
  void verify(called_from = {}) const {
    for (const auto& [address, stamp] : stamps_) check_stamp(reinterpret_cast<void*>(address), stamp);
  }
  /// How many blocks the pool has lost: neither live, nor had for asking before it grows. Takes all that are free, and gives
  /// them back; sampled blocks, which are none of capacity(), may hide as many.
  std::size_t lost(called_from = {}) {
    const std::size_t all = pool_.capacity();
    const std::size_t before = live();
    bool has_grown = false;
    while (live() < all && !has_grown && take()) has_grown = pool_.capacity() != all;
    const std::size_t found = live() - (has_grown ? 1 : 0);
    while (live() > before) give_newest();
    return all > found ? all - found : 0;
  }
  /// After a release(), which ends every block.
  void forget() {
    order_.clear();
    stamps_.clear();
  }

 private:
  void took(void* block) {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    require(address % pool_.block_alignment() == 0, "a block that isn't aligned");
    require(pool_.owns(block), "a block that the pool doesn't own");
    const auto next = stamps_.lower_bound(address);
    require(next == stamps_.end() || next->first - address >= pool_.block_size(), "a block inside or over a live one");
    require(next == stamps_.begin() || address - std::prev(next)->first >= pool_.block_size(), "a block over a live one");
    const std::uint64_t stamp = ++last_stamp_;
    stamps_.emplace_hint(next, address, stamp);
    order_.push_back(block);
    fill(block, stamp);
  }
  void* leave(std::size_t i) {
    void* const block = order_[i];
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(i));
    const auto found = stamps_.find(reinterpret_cast<std::uintptr_t>(block));
    check_stamp(block, found->second);
    stamps_.erase(found);
    std::memset(block, 0xDD, pool_.block_size());  // whatever a user leaves behind
    return block;
  }
  /// What a block holds, over and over: another for each stamp. A word at once, since that is most of what tests do.
  static std::uint64_t word_of(std::uint64_t stamp) { return stamp * 0x9E3779B97F4A7C15u; }
  void fill(void* block, std::uint64_t stamp) const {
    auto* const bytes = static_cast<std::byte*>(block);
    const std::uint64_t word = word_of(stamp);
    const std::size_t size = pool_.block_size();
    for (std::size_t i = 0; i < size; i += sizeof word) std::memcpy(bytes + i, &word, std::min(sizeof word, size - i));
  }
  void check_stamp(const void* block, std::uint64_t stamp) const {
    const auto* const bytes = static_cast<const std::byte*>(block);
    const std::uint64_t word = word_of(stamp);
    const std::size_t size = pool_.block_size();
    for (std::size_t i = 0; i < size; i += sizeof word)
      if (std::memcmp(bytes + i, &word, std::min(sizeof word, size - i)) != 0)
        BOOST_FAIL("a live block was written by another");
  }

  Pool& pool_;
  std::vector<void*> order_;
  std::map<std::uintptr_t, std::uint64_t> stamps_;
  std::uint64_t last_stamp_ = 0;
  std::size_t operations_ = 0;
};

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_MODEL_H_
