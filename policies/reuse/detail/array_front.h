// An array of block pointers in front of a back end: the newest free blocks, available without touching any.
//
//   limit                    top                                        end
//   |  room for blocks ...   | newest | ...                    | oldest | null |
//
// It grows downwards, so that `top` addresses the newest entry; the slot at `end` always holds null, so that one test finds
// both an empty array and the block. There is always room for one more: a push stores first and tests afterwards, so that what
// it calls when the array is full needs nothing but the array. `top` is a pointer, not an index: with an index the pair costs
// 1.7 ns instead of 0.53 (prototype, Sapphire Rapids).
//
// A null that was freed may stand among the entries, so that a free needn't ask. A pop takes it for the end; what empties or
// packs the array drops it.
#ifndef TARN_POLICIES_REUSE_DETAIL_ARRAY_FRONT_H_
#define TARN_POLICIES_REUSE_DETAIL_ARRAY_FRONT_H_

#include <cstddef>
#include <cstring>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Own  entries in the object itself
template <std::size_t Own>
class array_front {
 public:
  constexpr array_front() noexcept { close(); }
  array_front(const array_front&) = delete;
  array_front& operator=(const array_front&) = delete;

  /// The newest block, or null if there is none.
  TARN_STEP void* pop() noexcept {
    void** const top = top_;
    top_ = top + 1;  // first, and undone on a miss: saves g++ 12 a move
    void* const block = *top;
    if (block == nullptr) [[unlikely]]
      top_ = top;
    return block;
  }
  /// Returns whether there is room for another; if not, open(), move_to() or drop_oldest() must follow.
  [[nodiscard]] TARN_STEP bool push(void* block) noexcept {
    void** const top = top_ - 1;
    *top = block;
    top_ = top;
    return top != limit_;
  }

  TARN_STEP std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - top_); }
  TARN_STEP std::size_t room() const noexcept { return static_cast<std::size_t>(top_ - limit_); }
  TARN_STEP std::size_t capacity() const noexcept { return static_cast<std::size_t>(end_ - limit_); }

  /// Entry i, the newest first.
  TARN_STEP void** entries() noexcept { return top_; }

  /// Before the first use and after close() it has one slot, so that a pool can be a constant.
  TARN_STEP bool closed() const noexcept { return capacity() == 1; }
  TARN_STEP void open() noexcept { move_to(own_.slots, Own + 1); }
  /// From now on there is room for `entries`, at most Own, or for more if more are in it.
  TARN_STEP void limit_to(std::size_t entries) noexcept { limit_ = end_ - larger(entries, size() + 1); }
  TARN_STEP constexpr void close() noexcept {
    limit_ = nook_;
    top_ = end_ = nook_ + 1;
    *end_ = nullptr;
  }

  /// Moves the entries into larger storage, whose last slot becomes the null.
  void move_to(void** slots, std::size_t n) noexcept {
    void** const old = top_;
    const std::size_t entries = size();
    use(slots, n);
    top_ -= entries;
    std::memcpy(top_, old, entries * sizeof(void*));
  }

  /// Whether the newest entry is a block; drops nulls until it is.
  bool has_block() noexcept {
    while (size() != 0 && *top_ == nullptr) ++top_;
    return size() != 0;
  }
  /// Moves the newest blocks to `out`, at most `n`. Returns how many.
  std::size_t take(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && has_block()) out[got++] = *top_++;
    return got;
  }
  /// Entries that are blocks. O(entries).
  std::size_t blocks() const noexcept {
    std::size_t n = 0;
    for (void* const* at = top_; at != end_; ++at) n += *at != nullptr;
    return n;
  }
  /// Drops every null.
  void sweep() noexcept {
    void** to = end_;
    for (void** from = end_; from-- != top_;)
      if (*from != nullptr) *--to = *from;
    top_ = to;
  }

  /// Drops the `n` oldest entries, which stand at entries()[size() - n] and up.
  void drop_oldest(std::size_t n) noexcept {
    const std::size_t kept = size() - n;
    std::memmove(top_ + n, top_, kept * sizeof(void*));
    top_ += n;
  }

  /// Where up to `n` entries can be written directly. Precondition: room() is more than n; filled() must follow.
  TARN_STEP void** fill(std::size_t n) noexcept { return top_ - n; }
  /// Takes over the first `got` of the `n` entries that fill(n) made room for.
  void filled(std::size_t n, std::size_t got) noexcept {
    if (got != n) std::memmove(top_ - got, top_ - n, got * sizeof(void*));
    top_ -= got;
  }

 private:
  TARN_STEP void use(void** slots, std::size_t n) noexcept {
    limit_ = slots;
    top_ = end_ = slots + (n - 1);
    *end_ = nullptr;
  }

  void** top_;
  void** limit_;
  void** end_;
  void* nook_[2] = {};
  union {
    std::byte none = {};
    void* slots[Own + 1];
  } own_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_ARRAY_FRONT_H_
