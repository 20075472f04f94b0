// Finds the chunk of an address in constant time, for pools that look it up on many frees: a hash table of granules, each a
// piece of the address space about as large as a chunk.
//
//   granule = address >> shift          hash
//   | granule, chunk | - | granule, chunk | ...       a chunk has one entry for each granule that it touches
//
// Chunks in the same granule are told apart by their ranges, so no store has to align its regions. An entry that would make a
// long run of full places isn't made: so a lookup ends after a few, wherever the chunks lie, and the tree finds the rest.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_TABLE_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Open addressing with linear probing, at most half full (Knuth, The Art of Computer Programming, vol. 3, 6.4). The memory
/// belongs to the pool, which gets it before a chunk is entered, if it can. What there is no room for is left out.
template <class Chunk, class Geometry>
class chunk_table {
 public:
  TARN_STEP Chunk* find(const void* block, const Geometry& g) const noexcept {
    if (places_ == nullptr) return nullptr;
    const std::uintptr_t granule = address_of(block) >> shift_;
    for (std::size_t i = home(granule); places_[i].chunk != nullptr; i = next(i)) {
      Chunk* const c = places_[i].chunk;
      if (places_[i].granule == granule && address_of(block) - address_of(c->first) < g.bytes_of(c->blocks)) return c;
    }
    return nullptr;
  }
  /// Whether every chunk has all its entries. If not, find() may miss one.
  bool has_all() const noexcept { return left_out_ == 0 && no_room_ == 0; }

  /// Bytes of a table with room for all chunks and for the list of fresh ones; 0: this one has room.
  std::size_t shortage(const Chunk* fresh, const Geometry& g) const noexcept {
    const std::size_t room = needed(fresh, g);
    return room <= size_ ? 0 : room * sizeof(place);
  }
  /// Enters all chunks into the new table: `each` calls its argument for every chunk that was in the old one.
  template <class Each>
  void supply(memory more, const Geometry& g, Each each) noexcept {
    if (!more) return;
    places_ = static_cast<place*>(more.start);
    size_ = std::bit_floor(more.bytes / sizeof(place));
    rebuild(g, each);
  }

  template <class Each>
  void insert(Chunk& c, const Geometry& g, Each each) noexcept {
    if (places_ == nullptr) places_ = few_places_, size_ = few;
    const unsigned shift = wanted_shift(c, g);
    if (shift != shift_) {
      shift_ = shift;
      rebuild(g, each);
    }
    enter(c, g);
  }
  void take_out(const Chunk& c, const Geometry& g) noexcept {
    for (std::size_t n = span(c, g, shift_); n != 0; --n) {
      const std::uintptr_t granule = first_granule(c) + n - 1;
      std::size_t i = home(granule);
      while (places_[i].chunk != nullptr && !(places_[i].chunk == detail::pointer_to(c) && places_[i].granule == granule))
        i = next(i);
      if (places_[i].chunk == nullptr) {
        --(no_room_ != 0 ? no_room_ : left_out_);
        continue;
      }
      close_gap(i);
      --used_;
    }
  }
  void forget_all() noexcept {
    for (std::size_t i = 0; i != size_; ++i) ::new (static_cast<void*>(places_ + i)) place{};
    used_ = left_out_ = no_room_ = 0;
  }
  /// The table's memory is given back.
  void forget() noexcept { *this = {}; }

 private:
  struct place {
    std::uintptr_t granule;
    Chunk* chunk;
  };

 public:
  /// Lends a chunk the first place where a block is looked for, so that find() finds it.
  class loan {
   public:
    loan(chunk_table& table, const void* block, Chunk* chunk) noexcept {
      if (chunk == nullptr) return;
      const std::uintptr_t granule = address_of(block) >> table.shift_;
      at_ = table.places_ + table.home(granule);
      was_ = *at_;
      *at_ = {granule, chunk};
    }
    ~loan() {
      if (at_ != nullptr) *at_ = was_;
    }
    loan(const loan&) = delete;
    loan& operator=(const loan&) = delete;
    explicit operator bool() const noexcept { return at_ != nullptr; }

   private:
    place* at_ = nullptr;
    place was_ = {};
  };

 private:
  static constexpr std::size_t few = 4;
  static constexpr std::size_t most_granules = 16;  // for one chunk; with more, granules get larger

  static constexpr std::size_t longest_run = 64;  // a table that is half full has such a run once in some 100,000 places

  /// Whether place `i`, which is empty, would belong to a longer run if it were full.
  bool lengthens_run(std::size_t i) const noexcept {
    std::size_t run = 1;
    for (std::size_t at = next(i); run <= longest_run && places_[at].chunk != nullptr; at = next(at)) ++run;
    for (std::size_t n = 1; run <= longest_run && places_[(i - n) & (size_ - 1)].chunk != nullptr; ++n) ++run;
    return run > longest_run;
  }
  std::uintptr_t first_granule(const Chunk& c) const noexcept { return address_of(c.first) >> shift_; }
  static std::size_t span(const Chunk& c, const Geometry& g, unsigned shift) noexcept {
    const std::uintptr_t first = address_of(c.first);
    return ((first + g.extent(c.blocks) - 1) >> shift) - (first >> shift) + 1;
  }
  unsigned wanted_shift(const Chunk& c, const Geometry& g) const noexcept {
    if (used_ != 0 && span(c, g, shift_) <= most_granules) return shift_;
    // With granules as large as a chunk, each would hold two chunks, and half of the lookups would meet the wrong one.
    const auto bits = static_cast<unsigned>(std::bit_width(larger(g.extent(c.blocks), 4096) - 1));
    return static_cast<unsigned>(larger(bits - 3, smaller(bits, 14)));
  }
  /// Places for all chunks, including the fresh ones. If granules get larger meanwhile, fewer are needed.
  std::size_t needed(const Chunk* fresh, const Geometry& g) const noexcept {
    std::size_t places = used_ + no_room_;
    for (; fresh != nullptr; fresh = fresh->next)
      places += used_ == 0 ? most_granules : smaller(span(*fresh, g, shift_), most_granules);
    return 2 * places <= size_ ? size_ : std::bit_ceil(larger(4 * places, 32));
  }

  TARN_STEP std::size_t home(std::uintptr_t granule) const noexcept {
    return static_cast<std::size_t>(granule * 0x9E3779B97F4A7C15u >> 32) & (size_ - 1);  // Fibonacci hashing (Knuth, ibid.)
  }
  TARN_STEP std::size_t next(std::size_t i) const noexcept { return (i + 1) & (size_ - 1); }
  void enter(Chunk& c, const Geometry& g) noexcept {
    for (std::size_t n = span(c, g, shift_); n != 0; --n) {
      const std::uintptr_t granule = first_granule(c) + n - 1;
      if (2 * (used_ + 1) > size_) {
        ++no_room_;
        continue;
      }
      std::size_t i = home(granule);
      while (places_[i].chunk != nullptr) i = next(i);
      if (lengthens_run(i)) {
        ++left_out_;
        continue;
      }
      places_[i] = {granule, detail::pointer_to(c)};
      ++used_;
    }
  }
  /// Moves entries back that are behind place `gap` only because it was taken (Knuth, ibid., algorithm R).
  void close_gap(std::size_t gap) noexcept {
    for (std::size_t i = next(gap); places_[i].chunk != nullptr; i = next(i)) {
      const std::size_t from_home = (i - home(places_[i].granule)) & (size_ - 1);
      const std::size_t from_gap = (i - gap) & (size_ - 1);
      if (from_home < from_gap) continue;
      places_[gap] = places_[i];
      gap = i;
    }
    places_[gap] = {};
  }
  template <class Each>
  void rebuild(const Geometry& g, Each each) noexcept {
    forget_all();
    each([&](Chunk& c) { enter(c, g); });
  }

  place* places_ = nullptr;
  std::size_t size_ = 0;  // places, a power of two
  std::size_t used_ = 0;
  std::size_t left_out_ = 0;  // entries that weren't made: they would have made a long run
  std::size_t no_room_ = 0;   // the table was full, and the pool got no memory for another
  unsigned shift_ = 0;  // bits of an address inside a granule
  place few_places_[few] = {};  // until there is memory: two entries, and a loan, with which there is still an empty place
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_TABLE_H_
