// Magazines: arrays of block pointers that a thread takes from and gives to on its own, and the depot where full ones are
// exchanged for empty ones (Bonwick and Adams, "Magazines and Vmem", 2001).
//
//   bottom                              top                        limit
//   | oldest | ...             | newest |  room for blocks ...     |
//
// Arrays, not lists: 0.66 instead of 1.25 ns a pair, and exact bounds without a counter (prototype, Sapphire Rapids). A free
// touches no block, but once a magazine: see write_each().
#ifndef TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_H_
#define TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_H_

#include <cstddef>
#include <cstring>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/single_threaded.h"

namespace tarn::detail {

/// One of six sizes: 128 bytes for 14 blocks to 4 KiB for 510. The blocks' addresses lie behind it.
struct magazine {
  static constexpr std::size_t sizes = 6;
  static constexpr std::size_t capacity(std::size_t size) noexcept { return (std::size_t{16} << size) - 2; }  // blocks
  static constexpr std::size_t bytes(std::size_t size) noexcept { return (std::size_t{16} << size) * sizeof(void*); }
  /// Of blocks in a magazine that isn't of the smallest size. 64 threads that freed 4 MB of 16 to 1024 bytes each, one after
  /// the other, keep 44 to 50 MB; 214 to 295 with 512 KiB. Mixed sizes take up to 8 % more time; with 16 KiB, 15 to 25 % (AMD
  /// EPYC).
  static constexpr std::size_t grown_bytes = 32 * 1024;
  static constexpr std::size_t most_bytes = 512 * 1024;  // of blocks in one of the smallest size

  /// How many of the sizes are small enough for blocks so far apart; 0: no magazine is.
  static constexpr std::size_t sizes_for(std::size_t stride, std::size_t largest) noexcept {
    if (capacity(0) > most_bytes / stride) return 0;
    std::size_t n = largest + 1;
    while (n > 1 && capacity(n - 1) > grown_bytes / stride) --n;
    return n;
  }

  void** bottom() noexcept { return reinterpret_cast<void**>(this + 1); }
  void** limit() noexcept { return bottom() + capacity(size); }

  magazine* next;  // in a list of the depot
  std::size_t size;
};
static_assert(sizeof(magazine) == 2 * sizeof(void*));

/// What no thread holds: full and empty magazines, and memory for further ones. A full magazine isn't changed while it lies
/// here. The caller holds the core guard.
class depot {
 public:
  magazine* take_full() noexcept {
    if (full_ != nullptr) --fulls_;
    return pop(full_);
  }
  void give_full(magazine* m) noexcept {
    ++fulls_;
    push(full_, m);
  }
  bool has_full() const noexcept { return full_ != nullptr; }
  std::size_t full() const noexcept { return fulls_; }
  /// Blocks in the full ones. O(full ones).
  std::size_t full_blocks() const noexcept {
    std::size_t n = 0;
    for (const magazine* m = full_; m != nullptr; m = m->next) n += magazine::capacity(m->size);
    return n;
  }

  void give_empty(magazine* m) noexcept { push(empty_[m->size], m); }

  /// An empty magazine: of the size wanted, or newly made, or else the nearest smaller one. Null if there is none.
  magazine* take_empty(std::size_t wanted) noexcept {
    if (magazine* const m = pop(empty_[wanted])) return m;
    if (void* const fresh = carve(magazine::bytes(wanted))) return ::new (fresh) magazine{nullptr, wanted};
    for (std::size_t size = wanted; size-- != 0;)
      if (magazine* const m = pop(empty_[size])) return m;
    return nullptr;
  }

  /// Cache lines of the pool's own memory, or null if supply() must come first.
  void* carve(std::size_t bytes) noexcept {
    if (bytes > left_.bytes) {
      if (patience_ != 0) --patience_;
      else lacks_ = larger(lacks_, bytes);
      return nullptr;
    }
    void* const start = left_.start;
    left_ = {static_cast<std::byte*>(start) + bytes, left_.bytes - bytes};
    return start;
  }

  /// That many blocks will exist: asks for memory for magazines to hold them, and for one thread's magazines as they grow.
  void expect(std::size_t blocks) noexcept {
    const std::size_t bytes = add(1024 + multiply(blocks, 10), smaller(multiply(blocks, 15), 16 * 1024));
    if (bytes > left_.bytes) lacks_ = larger(lacks_, bytes);
  }

  /// Bytes to request from the store; 0: none are missing. Doubles, so that the store is rarely asked.
  std::size_t shortage() const noexcept {
    return lacks_ == 0 ? 0 : larger(lacks_, clamped(2 * supplied_, 1024, 64 * 1024));
  }
  /// Null: the store refused, and isn't asked again at once.
  void supply(memory more) noexcept {
    lacks_ = 0;
    if (!more) {
      patience_ = 16;
      return;
    }
    left_ = more;  // the rest of the last is less than a magazine, and lost until all goes back
    supplied_ = more.bytes;
  }

 private:
  static magazine* pop(magazine*& list) noexcept {
    magazine* const m = list;
    if (m != nullptr) list = m->next;
    return m;
  }
  static void push(magazine*& list, magazine* m) noexcept { m->next = replace(list, m); }

  magazine* full_ = nullptr;
  std::size_t fulls_ = 0;
  magazine* empty_[magazine::sizes] = {};
  memory left_;
  std::size_t lacks_ = 0;  // bytes
  unsigned patience_ = 0;  // times to do without before the store is asked again
  std::size_t supplied_ = 0;  // bytes, the last time
};

/// A full magazine goes to the depot, or comes from it. A cache line that the freeing thread only read stays shared, and each
/// later store to it must request it again, one after the other. Written once here, it moves to the next thread in one
/// transfer, and the prefetches on the other side overlap. Producer and consumer with magazines of 510: 29 to 11 ns a block,
/// batched 13 to 8; only one of the two is worse than none (prototype, Sapphire Rapids). Not into blocks of a page or more:
/// they may have no memory yet, or not any more, and the system would have to find some for each. Nor with one thread, to
/// which it is only cost: python over malloc 1.65 instead of 1.90 s (AMD EPYC).
template <class Geometry>
void write_each(magazine& m, const Geometry& geometry) noexcept {
  constexpr std::size_t page = 4096;
  if (geometry.stride() >= page || is_single_threaded()) return;
  for (void** b = m.bottom(); b != m.limit(); ++b) {
    auto* const byte = static_cast<std::byte*>(geometry.links(*b));
    [[maybe_unused]] const memory_tools::window look(byte, 1);
    *byte = std::byte{};
  }
}
inline void prefetch_each(magazine& m) noexcept {
  for (void** b = m.bottom(); b != m.limit(); ++b) prefetch_for_write(*b);
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_H_
