// Which blocks of a pool of objects are free: a bit for each, at the front of its chunk. Walks write them, through settle() in
// walk.h, and blocks come out of them as if they were carved:
//
//   list of free blocks  --settle()-->  bits  --carve()-->  list of free blocks
//
// So a pool that is never walked never touches a bit, and a walk moves only what became free since the one before. Where the
// reuse policy keeps such bits anyway, only what walks must know besides is here.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_FREE_BITS_H_
#define TARN_ALLOCATOR_DETAIL_CORE_FREE_BITS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/reuse/block_bitmap.h"

namespace tarn::detail {

/// The bits of a chunk. As block_bitmap, but the lowest block leaves first, wherever it is.
class free_bits {
  using word = std::uint64_t;
  static constexpr std::size_t word_blocks = 64;

 public:
  static constexpr std::size_t bytes(std::size_t blocks) noexcept { return (blocks / word_blocks + 1) * sizeof(word); }
  void open(std::byte* start) noexcept { words_ = reinterpret_cast<word*>(start); }
  void forget() noexcept { free_ = ready_ = next_ = 0; }

  std::size_t free_blocks() const noexcept { return free_; }
  word free_in(std::size_t w) const noexcept { return w < ready_ ? words_[w] : 0; }
  bool is_free(std::size_t block) const noexcept { return (free_in(block / word_blocks) >> block % word_blocks & 1) != 0; }
  static constexpr no_units units() noexcept { return {}; }
  void prefetch(std::size_t w) const noexcept { prefetch_for_write(words_ + w); }

  /// Marks the blocks of word `w` that have a bit in `mask` as free: `n` of them.
  void mark(std::size_t w, word mask, std::size_t n) noexcept {
    while (ready_ <= w) words_[ready_++] = 0;  // not before: so a chunk of a million blocks costs no more than one
    words_[w] |= mask;
    next_ = smaller(next_, w);
    free_ += n;
  }
  /// Takes up to `n` free blocks, in ascending order: calls visit(block's number). Returns how many fewer it has. If the bits
  /// were overwritten, it may name blocks that aren't free, and lose some.
  std::size_t take(std::size_t n, auto visit) noexcept {
    const std::size_t had = free_;
    for (n = smaller(n, free_); n != 0 && next_ < ready_;) {
      word& bits = words_[next_];
      for (; bits != 0 && n != 0; bits &= bits - 1, --n, --free_)
        visit(next_ * word_blocks + static_cast<std::size_t>(std::countr_zero(bits)));
      if (bits == 0) ++next_;
    }
    if (next_ >= ready_) free_ = 0;
    return had - free_;
  }

 private:
  word* words_ = nullptr;
  std::size_t free_ = 0;
  std::size_t ready_ = 0;  // words that are in use
  std::size_t next_ = 0;  // those below have no bit
};

// ---- what a chunk keeps for walks -------------------------------------------------------------------------------------------

template <class Traits>
struct walked_chunk {};
template <class Traits>
  requires(Traits::is_walked)
struct walked_chunk<Traits> {
  std::size_t birth = 0;   // how many chunks the pool had adopted, with this one
  std::size_t walked = 0;  // blocks that clear() has to do with: those carved before it began
};

/// Whether a pool's chunks have bits that are no reuse policy's.
template <class Traits>
inline constexpr bool has_free_bits = Traits::is_walked && !Traits::list_has_bits;
template <class Traits>
struct chunk_bits {};
template <class Traits>
  requires has_free_bits<Traits>
struct chunk_bits<Traits> {
  free_bits bitmap;
  typename Traits::chunk* next_with_bits = nullptr;  // a chunk is in that list if it has a bit
};

// ---- what the pool keeps ----------------------------------------------------------------------------------------------------

template <class Traits>
class walked_chunks {
  using chunk = typename Traits::chunk;

 public:
  /// Whether no block comes out of bits.
  bool hides_bits() const noexcept { return hidden_; }
  void hide_bits(bool now) noexcept { hidden_ = now; }

  /// Changes whenever blocks are carved or leave the bits: perhaps for a front, in which they are free without a bit.
  std::size_t taken() const noexcept { return taken_; }
  TARN_STEP void note_taken() noexcept { ++taken_; }
  /// How many blocks a front of `n` places should get. After a walk it begins with one: what a walk's visitor needs is one, and
  /// the others would only go back to their bits.
  std::size_t grain(std::size_t n) noexcept {
    if (shift_ == 0) return n;
    return larger(n >> shift_--, 1);
  }
  /// Bits were set.
  void settled() noexcept {
    shift_ = 6;
    rest_ = taken_ - 1;
  }

  /// Whether no bit has changed since rest().
  bool is_at_rest() const noexcept { return rest_ == taken_; }
  void rest() noexcept { rest_ = taken_; }

  std::size_t births() const noexcept { return births_; }
  void enter(chunk& c) noexcept { c.birth = ++births_; }

  /// While somebody walks through them, chunks stay.
  void keep_all() noexcept { ++walks_; }
  void keep_no_longer() noexcept { --walks_; }
  bool are_kept() const noexcept { return walks_ != 0; }

 private:
  std::size_t taken_ = 0;
  std::size_t rest_ = 0;
  std::size_t births_ = 0;
  unsigned walks_ = 0;
  unsigned char shift_ = 0;
  bool hidden_ = false;
};
struct chunks_not_walked {
  static constexpr bool hides_bits() noexcept { return false; }
  TARN_STEP static void note_taken() noexcept {}
  TARN_STEP static constexpr std::size_t grain(std::size_t n) noexcept { return n; }
  static void keep_all() noexcept {}
  static void keep_no_longer() noexcept {}
  static constexpr bool are_kept() noexcept { return false; }
};
template <class Traits>
using walks_of = std::conditional_t<Traits::is_walked, walked_chunks<Traits>, chunks_not_walked>;

/// The chunks with a bit, the newest first, and how many bits there are.
template <class Traits>
struct chunks_with_bits {
  typename Traits::chunk* first = nullptr;
  std::size_t blocks = 0;
};
struct no_chunks_with_bits {
  static constexpr std::size_t blocks = 0;
};
template <class Traits>
using bits_of = std::conditional_t<has_free_bits<Traits>, chunks_with_bits<Traits>, no_chunks_with_bits>;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_FREE_BITS_H_
