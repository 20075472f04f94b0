// A stack of batches: 64 free blocks at a time, their addresses packed into the free blocks themselves.
//
// A batch is a stream of 64 pointers: first the link to the batch below, then the addresses of blocks 1 to 63. The stream is
// cut into pieces of as many pointers as a block holds, and piece j lies in block j. So the address of the block with
// piece j stands in an earlier piece, the misses of unpacking overlap, and only 64 / words blocks are touched at all:
// 32 of 16 bytes, 8 of 64, 2 of 256. Reallocation after a million random frees: 129 to 10 ns a block against a list
// (prototype, Sapphire Rapids).
#ifndef TARN_POLICIES_REUSE_DETAIL_BATCH_STACK_H_
#define TARN_POLICIES_REUSE_DETAIL_BATCH_STACK_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// How many batches there are, for a pool that asks.
struct counted_batches {
  void change(std::size_t by) noexcept { value += by; }
  std::size_t value = 0;
};
struct uncounted_batches {
  static constexpr void change(std::size_t) noexcept {}
};

/// \tparam Count  counted_batches or uncounted_batches
template <class Count = uncounted_batches>
class batch_stack {
 public:
  static constexpr std::size_t batch = 64;  // blocks

  /// How many of the blocks hold a piece: the first of a batch. The others may be null.
  static constexpr std::size_t pieces(std::size_t words) noexcept { return (batch + words - 1) / words; }

  constexpr bool empty() const noexcept { return head_ == nullptr; }
  std::size_t blocks() const noexcept { return count_.value * batch; }

  /// Packs blocks[0..63].
  /// \param in  reads and writes the words of free blocks (free_words): at least 2 in each
  template <class Words>
  void give(void* const* blocks, const Words& in) noexcept {
    const std::size_t words = in.count();
    in.write(blocks[0], 0, head_);
    const std::size_t first = words < batch ? words : batch;
    for (std::size_t w = 1; w != first; ++w) in.write(blocks[0], w, blocks[w]);
    std::size_t piece = 1;
    std::size_t at = words;
    for (; at + words <= batch; ++piece, at += words) write_words(in, blocks[piece], blocks + at, words);
    const std::size_t rest = at < batch ? batch - at : 0;
    for (std::size_t w = 0; w != rest; ++w) in.write(blocks[piece], w, blocks[at + w]);
    head_ = blocks[0];
    count_.change(1);
  }

  /// Unpacks the newest batch into out[0..63]. Returns false if there is none, or if an address can't be trusted; the stack is
  /// then empty.
  template <class Words>
  bool take(void** out, const Words& in) noexcept {
    if (head_ == nullptr) return false;
    const std::size_t words = in.count();
    count_.change(static_cast<std::size_t>(-1));
    out[0] = head_;
    head_ = in.read(out[0], 0);
    if (head_ != nullptr && !in.trusts(head_)) return drop();
    prefetch_for_write(head_);  // the next batch's first piece; null prefetches nothing
    const std::size_t first = words < batch ? words : batch;
    for (std::size_t w = 1; w != first; ++w) out[w] = in.read(out[0], w);
    const std::size_t pieces = batch_stack::pieces(words);
    std::size_t asked = 1;  // pieces whose addresses are known are prefetched early: their misses overlap
    const auto ask = [&](std::size_t known) {
      for (; asked < known && asked < pieces; ++asked) prefetch_for_write(out[asked]);
    };
    ask(first);
    std::size_t piece = 1;
    std::size_t at = words;
    for (; at + words <= batch; ++piece, at += words) {
      if (!in.trusts(out[piece])) return drop();
      read_words(in, out[piece], out + at, words);
      ask(at + words);
    }
    const std::size_t rest = at < batch ? batch - at : 0;
    if (rest != 0 && !in.trusts(out[piece])) return drop();
    for (std::size_t w = 0; w != rest; ++w) out[at + w] = in.read(out[piece], w);
    return true;
  }

 private:
  bool drop() noexcept {
    head_ = nullptr;
    count_ = {};
    return false;
  }

  // Copies a whole piece. Word by word, not at once: g++ turns a copy of run-time length into `rep movs`, which waits for each
  // piece in turn, and a copy in 16-byte moves into stores that later pops can't be forwarded from. A million blocks freed in
  // random order and taken again, huge pages: 1.08 to 0.96 of the time of the same written by hand. Two words at a time: one
  // test for two. A list of 10,000 elements, filled and cleared: 58 to 48 instructions and 5.1 to 4.5 ns an element (g++ 12,
  // Xeon with AMX).
  template <class Words>
  static void write_words(const Words& in, void* block, void* const* from, std::size_t words) noexcept {
    std::size_t w = 0;
    for (; w + 2 <= words; w += 2) {
      in.write(block, w, from[w]);
      in.write(block, w + 1, from[w + 1]);
    }
    if (w != words) in.write(block, w, from[w]);
  }
  template <class Words>
  static void read_words(const Words& in, void* block, void** to, std::size_t words) noexcept {
    std::size_t w = 0;
    for (; w + 2 <= words; w += 2) {
      to[w] = in.read(block, w);
      to[w + 1] = in.read(block, w + 1);
    }
    if (w != words) to[w] = in.read(block, w);
  }

  void* head_ = nullptr;
  TARN_NO_UNIQUE_ADDRESS Count count_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_BATCH_STACK_H_
