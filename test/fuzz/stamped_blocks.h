// Blocks in use, with a stamp of its own in every byte of each. Two blocks that overlap, or a block that somebody else writes
// into, are found when the stamp is looked at: at the latest when the block goes back.
#ifndef TARN_TEST_FUZZ_STAMPED_BLOCKS_H_
#define TARN_TEST_FUZZ_STAMPED_BLOCKS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tarn/test/fuzz/input.h"

namespace tarn::test {

class stamped_blocks {
 public:
  struct block {
    void* start;
    std::size_t bytes;
    std::size_t alignment;
    std::uint64_t stamp;
  };

  std::size_t size() const { return blocks_.size(); }
  bool empty() const { return blocks_.empty(); }
  const block& operator[](std::size_t i) const { return blocks_[i]; }

  /// All bytes of it can be written, and are.
  void add(void* start, std::size_t bytes, std::size_t alignment) {
    must(start != nullptr, "a block at null");
    must(reinterpret_cast<std::uintptr_t>(start) % alignment == 0, "a block that isn't aligned");
    blocks_.push_back({start, bytes, alignment, next_stamp()});
    each_piece(blocks_.back(), [](void* at, const void* stamp, std::size_t n) { std::memcpy(at, stamp, n); });
  }
  /// Ends its use: it is overwritten with whatever a user leaves behind.
  block take(std::size_t i) {
    const block one = blocks_[i];
    check(one, one.bytes);
    std::memset(one.start, 0xDD, one.bytes);
    forget(i);
    return one;
  }
  /// Without a look at it.
  void forget(std::size_t i) { blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i)); }
  void forget_all() { blocks_.clear(); }

  /// The first `bytes` bytes hold its stamp.
  static void check(const block& one, std::size_t bytes) {
    each_piece({one.start, bytes, one.alignment, one.stamp}, [](const void* at, const void* stamp, std::size_t n) {
      must(std::memcmp(at, stamp, n) == 0, "a block in use was written by another");
    });
  }
  void check_all() const {
    for (const block& one : blocks_) check(one, one.bytes);
  }

  // Orders in which they may go back.
  void reverse() { std::reverse(blocks_.begin(), blocks_.end()); }
  void shuffle(std::size_t seed) {
    for (std::size_t i = blocks_.size(); i > 1; --i) {
      seed = seed * 0x9E3779B97F4A7C15u + i;
      std::swap(blocks_[i - 1], blocks_[(seed >> 33) % i]);
    }
  }

 private:
  /// One for all, so that blocks of two pools differ too.
  static std::uint64_t next_stamp() {
    static std::uint64_t last = 0;
    return ++last * 0x9E3779B97F4A7C15u;
  }
  /// In pieces, by functions that a sanitizer looks into once. How many there are is nothing to the fuzzer.
  template <class Call>
  [[clang::no_sanitize("coverage")]] static void each_piece(const block& one, Call call) {
    std::array<std::uint64_t, 32> stamp;
    for (std::uint64_t& word : stamp) word = one.stamp;
    for (std::size_t at = 0; at < one.bytes; at += sizeof stamp)
      call(static_cast<std::byte*>(one.start) + at, stamp.data(), std::min(sizeof stamp, one.bytes - at));
  }

  std::vector<block> blocks_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_FUZZ_STAMPED_BLOCKS_H_
