// The positions of blocks in a chunk: stride, alignment and colouring, derived in this one place; and how reuse policies read
// and write the links in free blocks (free_words), and orders of free blocks.
//
//   |<-- offset -->|<------- payload ------->|<- suffix ->|<- pad ->|     offset: the prefix, rounded up to the alignment
//   ^ slot         ^ block                                          ^ next slot = slot + stride
//   | links |                                                             of a free block whose payload is untouched
#ifndef TARN_POLICIES_DETAIL_GEOMETRY_H_
#define TARN_POLICIES_DETAIL_GEOMETRY_H_

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

/// What the other axes require of every block, in bytes.
struct block_shape {
  std::size_t min_block = 1;      // a free block holds links
  std::size_t min_alignment = 1;  // of those links
  std::size_t prefix = 0;         // in front of the payload
  std::size_t suffix = 0;         // behind it
  std::size_t links = 0;          // of the prefix, for the links of a free block; 0: they are in the payload
  bool coloured = true;           // false: blocks whose size divides a page never span two, so pages can be returned
};

/// \tparam Checking  may keep links out of the payload of free blocks: `keeps_payload`
template <class Reuse, class Checking>
constexpr block_shape shape_for() noexcept {
  if constexpr (Checking::traits.keeps_payload) {
    const std::size_t links = round_up(Reuse::traits.min_block, alignof(void*));
    return {1, larger(Reuse::traits.min_alignment, alignof(void*)), links + Checking::traits.prefix, Checking::traits.suffix,
            links};
  } else {
    return {Reuse::traits.min_block, Reuse::traits.min_alignment, Checking::traits.prefix, Checking::traits.suffix, 0};
  }
}

inline constexpr std::size_t cache_line = 64;  // bytes

/// The first words of blocks of 128, 256, 512 … bytes, which are written most, would share a few sets of the cache. So every
/// run of 64 KiB starts one cache line later than its distance suggests ("coloured" carving). Churn over 100,000 blocks of 256
/// bytes: 6.8 to 4.7 ns a pair (prototype, Sapphire Rapids).
inline constexpr std::size_t colour_run = 64 * 1024;  // bytes

/// What follows from a block's size and alignment, in bytes; computed when it is used.
template <class Size, block_shape Shape>
class computed_layout {
 public:
  constexpr computed_layout() noexcept
    requires std::default_initializable<Size>
  = default;
  TARN_STEP constexpr explicit computed_layout(const Size& size) noexcept : size_(size) {}

  /// What the user requested.
  TARN_STEP constexpr std::size_t block_size() const noexcept { return size_.bytes(); }
  constexpr std::size_t block_alignment() const noexcept { return size_.alignment(); }

  TARN_STEP constexpr std::size_t alignment() const noexcept { return larger(size_.alignment(), Shape.min_alignment); }
  TARN_STEP constexpr std::size_t payload() const noexcept { return larger(size_.bytes(), Shape.min_block); }
  TARN_STEP constexpr std::size_t offset() const noexcept {
    if constexpr (Shape.prefix == 0) return 0;
    else return round_up(Shape.prefix, alignment());
  }
  TARN_STEP constexpr std::size_t stride() const noexcept { return round_up(offset() + payload() + Shape.suffix, alignment()); }
  /// The best alignment of a chunk for its blocks: no block spans more cache lines than necessary.
  TARN_STEP constexpr std::size_t chunk_alignment() const noexcept {
    return larger(larger(alignment(), alignof(void*)), smaller(lowest_bit(stride()), cache_line));
  }
  TARN_STEP constexpr bool coloured() const noexcept {
    return Shape.coloured && stride() >= 2 * cache_line && is_power_of_two(stride()) && alignment() <= cache_line;
  }
  /// Blocks of a run, as a power of two, if it is coloured.
  TARN_STEP constexpr unsigned run_shift() const noexcept {
    const auto bits = static_cast<unsigned>(std::countr_zero(stride()));
    constexpr auto run_bits = static_cast<unsigned>(std::countr_zero(colour_run));
    return bits < run_bits ? run_bits - bits : 0;
  }

 private:
  TARN_NO_UNIQUE_ADDRESS Size size_;
};

template <auto Value>
inline constexpr auto constant = Value;

/// The same, of a size that is known when the pool is compiled: constants, even at -O0, where a check of hardened uses some of
/// them thirty times (139 to 103 ns a pair).
template <class Size, block_shape Shape>
class fixed_layout {
  static constexpr computed_layout<Size, Shape> of{};

 public:
  constexpr fixed_layout() noexcept = default;
  TARN_STEP constexpr explicit fixed_layout(const Size&) noexcept {}

  TARN_STEP static constexpr std::size_t block_size() noexcept { return constant<of.block_size()>; }
  TARN_STEP static constexpr std::size_t block_alignment() noexcept { return constant<of.block_alignment()>; }
  TARN_STEP static constexpr std::size_t alignment() noexcept { return constant<of.alignment()>; }
  TARN_STEP static constexpr std::size_t payload() noexcept { return constant<of.payload()>; }
  TARN_STEP static constexpr std::size_t offset() noexcept { return constant<of.offset()>; }
  TARN_STEP static constexpr std::size_t stride() noexcept { return constant<of.stride()>; }
  TARN_STEP static constexpr std::size_t chunk_alignment() noexcept { return constant<of.chunk_alignment()>; }
  TARN_STEP static constexpr bool coloured() noexcept { return constant<of.coloured()>; }
  TARN_STEP static constexpr unsigned run_shift() noexcept { return constant<of.run_shift()>; }
};

/// A size in nine bytes.
class packed_size {
 public:
  TARN_STEP constexpr packed_size(std::size_t bytes, std::size_t alignment) noexcept
      : bytes_(bytes), alignment_bits_(static_cast<unsigned char>(std::countr_zero(alignment))) {}
  TARN_STEP constexpr std::size_t bytes() const noexcept { return bytes_; }
  TARN_STEP constexpr std::size_t alignment() const noexcept { return std::size_t{1} << alignment_bits_; }

 private:
  std::size_t bytes_;
  unsigned char alignment_bits_;
};

/// The same, for a size that the pool is given: in two words; what takes time is computed once, when the pool is created.
template <class Size, block_shape Shape>
class stored_layout : public computed_layout<packed_size, Shape> {
  using computed = computed_layout<packed_size, Shape>;

 public:
  TARN_STEP constexpr explicit stored_layout(const Size& size) noexcept
      : computed(packed_size(size.bytes(), size.alignment())),
        chunk_alignment_bits_(static_cast<unsigned char>(std::countr_zero(computed::chunk_alignment()))),
        run_shift_(static_cast<unsigned char>(computed::run_shift())),
        coloured_(computed::coloured()) {}

  TARN_STEP constexpr std::size_t chunk_alignment() const noexcept { return std::size_t{1} << chunk_alignment_bits_; }
  TARN_STEP constexpr bool coloured() const noexcept { return coloured_; }
  TARN_STEP constexpr unsigned run_shift() const noexcept { return run_shift_; }

 private:
  unsigned char chunk_alignment_bits_;
  unsigned char run_shift_;
  bool coloured_;
};

template <class Size, block_shape Shape>
using layout_of = std::conditional_t<Size::traits.at_run_time, stored_layout<Size, Shape>, fixed_layout<Size, Shape>>;

/// The number of pointers that a block holds, if a size that is given at run time declares it in its type.
template <class Size>
inline constexpr std::size_t known_words = 0;

template <class Size, block_shape Shape>
class geometry : public layout_of<Size, Shape> {
  using layout = layout_of<Size, Shape>;

 public:
  using layout::layout;
  using layout::alignment;
  using layout::coloured;
  using layout::offset;
  using layout::payload;
  using layout::run_shift;
  using layout::stride;

  /// Where a list may keep links in a free block, and how many pointers fit there.
  TARN_STEP void* links(void* block) const noexcept {
    return Shape.links == 0 ? block : static_cast<std::byte*>(block) - offset();
  }
  TARN_STEP void* block_with(void* links) const noexcept {
    return Shape.links == 0 ? links : static_cast<std::byte*>(links) + offset();
  }
  TARN_STEP constexpr std::size_t words() const noexcept {
    if constexpr (Shape.links != 0) return Shape.links / sizeof(void*);
    else if constexpr (known_words<Size> != 0) return known_words<Size>;
    else return payload() / sizeof(void*);
  }

  /// Bytes from slot 0 to slot `i`.
  TARN_STEP constexpr std::size_t distance(std::size_t i) const noexcept {
    std::size_t bytes = i * stride();
    if (coloured()) bytes += (i >> run_shift()) * cache_line;
    return bytes;
  }

  /// Writes the addresses of the blocks in `n` slots from slot `from` on. `first`: slot 0.
  void write_blocks(void** out, std::byte* first, std::size_t from, std::size_t n) const noexcept {
    const std::size_t step = stride();
    const std::size_t run = std::size_t{1} << run_shift();
    while (n != 0) {
      TARN_ROUND(runs_of_blocks, 1);
      const std::size_t some = coloured() ? smaller(n, run - (from & (run - 1))) : n;
      std::byte* at = first + distance(from) + offset();
      std::size_t i = 0;
      for (; !TARN_FOR_SIZE && i + 4 <= some; i += 4, at += 4 * step) {
        TARN_ROUND(new_blocks, 4);
        out[i] = at;
        out[i + 1] = at + step;
        out[i + 2] = at + 2 * step;
        out[i + 3] = at + 3 * step;
      }
      for (; i != some; ++i, at += step) {
        if constexpr (TARN_FOR_SIZE) TARN_ROUND(new_blocks, 1);
        else TARN_AT_MOST(3);
        out[i] = at;
      }
      out += some;
      from += some;
      n -= some;
    }
  }

  /// The slot whose block starts `distance` bytes behind the first block. If none does, a number that no slot has.
  TARN_STEP constexpr std::size_t slot_at(std::size_t distance) const noexcept {
    if (!coloured()) return exact_slots(distance);
    const std::size_t run = (stride() << run_shift()) + cache_line;
    const std::size_t slot = exact_slots(distance % run);
    return slot >> run_shift() == 0 ? (distance / run << run_shift()) + slot : size_max;
  }
  /// The same, for many blocks. \param strides  of stride()
  TARN_STEP constexpr std::size_t slot_at(std::size_t distance, const exact_divisor& strides) const noexcept {
    return coloured() ? slot_at(distance) : strides.quotient(distance);
  }

  /// The slot that contains a byte, `distance` bytes behind the start of the first slot.
  constexpr std::size_t slot_around(std::size_t distance) const noexcept {
    std::size_t slots = 0;
    if (coloured()) {
      const std::size_t run = (stride() << run_shift()) + cache_line;
      slots = distance / run << run_shift();
      distance = smaller(distance % run, (stride() << run_shift()) - 1);
    }
    return slots + quotient(distance, stride());
  }

  /// As extent(), for slots that exist: at least 1.
  TARN_STEP constexpr std::size_t bytes_of(std::size_t n) const noexcept { return distance(n - 1) + stride(); }

  /// Bytes that `n` slots take, or size_max if there can't be that many.
  constexpr std::size_t extent(std::size_t n) const noexcept {
    if (n == 0) return 0;
    if (exceeds(n, stride() + cache_line, size_limit)) return size_max;
    return distance(n - 1) + stride();
  }

 private:
  /// How many strides a distance is, or a number that no slot has if it isn't a multiple.
  TARN_STEP constexpr std::size_t exact_slots(std::size_t distance) const noexcept {
    if constexpr (!Size::traits.at_run_time) return exact_quotient<layout::stride()>(distance);
    const std::size_t slots = distance / stride();
    return slots * stride() == distance ? slots : size_max;
  }
};

// ---- links in free blocks --------------------------------------------------------------------------------------------------
//
// If a checking policy requires it, they are encoded, and every address is checked before it is followed. So a program that
// wrote into a free block can't corrupt the list, or make it hand out something that isn't a block.

/// A checking policy that encodes links.
template <class Checking>
concept hides_links = Checking::traits.hides_links;

/// The words of any free block of a pool.
template <class Chunks>
class free_words {
  static constexpr bool hidden = hides_links<typename Chunks::traits::checking>;

 public:
  TARN_STEP explicit free_words(Chunks& chunks) noexcept : chunks_(chunks) {}

  /// How many pointers a free block holds.
  std::size_t count() const noexcept { return chunks_.geometry().words(); }

  /// Word `i` of a free block. By memcpy, because the user's object is gone and ours doesn't exist yet.
  TARN_STEP void* read(void* block, std::size_t i) const noexcept {
    std::byte* const place = at(block, i);
    if constexpr (memory_tools::active) memory_tools::unpoison(place, sizeof(void*));
    std::uintptr_t word;
    std::memcpy(&word, word_aligned(place), sizeof word);
    if constexpr (memory_tools::active) memory_tools::poison(place, sizeof(void*));
    if constexpr (hidden) word ^= mask(place);
    return reinterpret_cast<void*>(word);
  }
  TARN_STEP void write(void* block, std::size_t i, void* value) const noexcept {
    std::byte* const place = at(block, i);
    auto word = reinterpret_cast<std::uintptr_t>(value);
    if constexpr (hidden) word ^= mask(place);
    if constexpr (memory_tools::active) memory_tools::unpoison(place, sizeof(void*));
    std::memcpy(word_aligned(place), &word, sizeof word);
    if constexpr (memory_tools::active) memory_tools::poison(place, sizeof(void*));
  }

  /// Whether an address that was read may be followed; not null. If not, the list must be dropped; the pool rebuilds it.
  TARN_STEP bool trusts(void* block) const noexcept {
    if constexpr (hidden) {
      if (chunks_.is_free(block)) [[likely]] return true;
      chunks_.distrust(block);
      return false;
    } else {
      return true;
    }
  }

 private:
  TARN_STEP std::byte* at(void* block, std::size_t i) const noexcept {
    return static_cast<std::byte*>(chunks_.geometry().links(block)) + i * sizeof(void*);
  }
  /// Differs from word to word, so that a word copied from another block is also detected.
  static std::uintptr_t mask(const std::byte* place) noexcept { return code_of(place, coded::link); }

  Chunks& chunks_;
};

// ---- orders of free blocks -------------------------------------------------------------------------------------------------

/// Puts blocks that were never allocated into an order that can't be predicted from their addresses.
class shuffler {
 public:
  /// The Fisher-Yates shuffle (Knuth, vol. 2, 3.4.2), with xorshift64* (Vigna, 2016). The order is hard to guess, not
  /// impossible.
  void operator()(void** blocks, std::size_t n) noexcept {
    for (std::size_t i = n; i > 1; --i) swap_both(blocks[i - 1], blocks[next() % i]);
  }

 private:
  std::size_t next() noexcept {
    if (state_ == 0) state_ = code_of(this, coded::order);
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::size_t>(state_ * 0x2545F4914F6CDD1Du >> 32);
  }

  std::uint64_t state_ = 0;
};

// ---- a list by address, sorted in the blocks themselves: no memory, no recursion ------------------------------------------

inline bool lies_before(const free_link* a, const free_link* b) noexcept { return address_of(a) < address_of(b); }

inline free_link* merge_links(free_link* a, free_link* b) noexcept {
  free_link start{nullptr};
  free_link* last = &start;
  while (a != nullptr && b != nullptr) {
    free_link*& lower = lies_before(a, b) ? a : b;
    last = last->next = lower;
    lower = lower->next;
  }
  last->next = a != nullptr ? a : b;
  return start.next;
}

/// Cuts the longest run off the front of a list and sorts it: each of its blocks goes after the last or before the first one.
inline free_link* take_run(free_link*& list) noexcept {
  free_link* first = list;
  free_link* last = first;
  list = first->next;
  last->next = nullptr;
  while (list != nullptr) {
    free_link* const block = list;
    if (lies_before(last, block)) {
      list = block->next;
      last->next = block;
      last = block;
      last->next = nullptr;
    } else if (lies_before(block, first)) {
      list = block->next;
      block->next = first;
      first = block;
    } else {
      break;
    }
  }
  return first;
}

/// A natural merge sort, bottom up (Knuth, vol. 3, 5.2.4): O(n log n), and O(n) if the order was ascending or descending.
inline free_link* sort_links(free_link* list) noexcept {
  free_link* sorted[64] = {};  // [i]: 2^i runs merged, or none
  while (list != nullptr) {
    free_link* run = take_run(list);
    std::size_t i = 0;
    for (; sorted[i] != nullptr; ++i) run = merge_links(replace(sorted[i], nullptr), run);
    sorted[i] = run;
  }
  free_link* all = nullptr;
  for (free_link* const some : sorted) all = merge_links(some, all);
  return all;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_GEOMETRY_H_
