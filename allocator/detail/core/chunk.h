// A chunk: one region from the store, and what the pool knows about it.
//
//   | record | column of locking | of reuse | of checking | block 0 | block 1 | ...                    | block n-1 |
//   ^ region.start                                        ^ first   |<- carved ->|<- never touched ->|
//
// A column is what one axis keeps per chunk. It is in front of the blocks, so an overrun of the last block doesn't reach it.
// The bits of a pool of objects follow the columns (free_bits.h). If a pool never has more than one chunk, the record is in the
// pool object, and a region without columns is all blocks. If links are hidden from the program, there is a red line in front
// of the record, against an overrun of the chunk before.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tarn/allocator/detail/core/free_bits.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

/// Bytes in front of a chunk's record that are never written. An overrun of the chunk before reaches them first. They are a
/// cache line, so that even an overrun with gaps, such as one member of each object, hits them.
class red_line {
 public:
  static constexpr std::size_t bytes = 64;

  static void draw(std::byte* line) noexcept {
    const words expected = words_of(line);
    std::memcpy(line, expected.word, bytes);
  }
  static bool stands(const std::byte* line) noexcept {
    const words expected = words_of(line);
    return std::memcmp(line, expected.word, bytes) == 0;
  }

 private:
  struct words {
    std::uint64_t word[bytes / sizeof(std::uint64_t)];
  };
  /// Differ from line to line, so that a copy of another one doesn't pass.
  static words words_of(const std::byte* line) noexcept {
    words all;
    std::uint64_t next = code_of(line, coded::canary);
    for (std::uint64_t& word : all.word) word = next = scatter(next + 1);
    return all;
  }
};

template <class Traits>
struct chunk : Traits::locking::template per_chunk<Traits>,
               Traits::reuse::template per_chunk<Traits>,
               Traits::checking::template per_chunk<Traits>,
               walked_chunk<Traits>,
               chunk_bits<Traits> {
  memory region;                 // as the store gave it
  std::byte* first = nullptr;    // slot 0
  std::size_t blocks = 0;
  std::size_t carved = 0;        // blocks from this one on were never handed out
  std::size_t idle = 0;          // free blocks, counted while trim() runs
  free_link* free = nullptr;     // those blocks, while trim() runs
  chunk* left = nullptr;         // in the map
  chunk* right = nullptr;
  chunk* next = nullptr;         // in a list of chunks: those to carve, to give back or, while trim() runs, with free blocks
  chunk** link_to_it = nullptr;  // in the list of those to carve: the pointer that points to it
  bool from_second = false;      // it belongs to the exhaustion policy's store
  bool is_cheap = false;         // the store was asked for no more alignment than is cheap

  static constexpr bool is_guarded = Traits::guards_records;
  /// Whether the record may be used: the bytes in front of it are intact.
  bool stands() const noexcept { return red_line::stands(reinterpret_cast<const std::byte*>(this) - red_line::bytes); }
};

/// Where the parts of a chunk are. All in bytes; size_max: such a chunk can't exist.
template <class Traits>
struct chunk_layout {
  using geometry = typename Traits::geometry;
  using locking_column = typename Traits::locking::template per_chunk<Traits>;
  using reuse_column = typename Traits::reuse::template per_chunk<Traits>;
  using checking_column = typename Traits::checking::template per_chunk<Traits>;

  /// In front of the record.
  static constexpr std::size_t red_bytes = Traits::guards_records ? red_line::bytes : 0;

  TARN_STEP static constexpr std::size_t record_bytes() noexcept {
    return Traits::one_chunk ? 0 : round_up(red_bytes + sizeof(chunk<Traits>), alignof(std::uint64_t));
  }
  template <class Column>
  TARN_STEP static constexpr std::size_t column_bytes(std::size_t blocks, const geometry& g) noexcept {
    return round_up(Column::column_bytes(blocks, g), alignof(std::uint64_t));
  }
  static constexpr std::size_t bits_bytes(std::size_t blocks) noexcept {
    return has_free_bits<Traits> ? free_bits::bytes(blocks) : 0;
  }
  /// From a region's start to the first block; at most, if the pool aligns that one.
  static constexpr std::size_t first_offset(std::size_t blocks, const geometry& g) noexcept {
    const std::size_t columns = column_bytes<locking_column>(blocks, g) + column_bytes<reuse_column>(blocks, g) +
                                column_bytes<checking_column>(blocks, g) + bits_bytes(blocks);
    const std::size_t least = Traits::least_alignment(g);
    return round_up(record_bytes() + columns, least) + (Traits::chunk_alignment(g) - least);
  }
  /// The bytes that a chunk of that many blocks takes.
  static constexpr std::size_t bytes(std::size_t blocks, const geometry& g) noexcept {
    const std::size_t extent = g.extent(blocks);
    return extent == size_max ? size_max : first_offset(blocks, g) + extent;
  }
  /// The largest number of blocks, at most `at_most`, whose chunk takes no more than `room` bytes.
  static constexpr std::size_t blocks_in(std::size_t room, std::size_t at_most, const geometry& g) noexcept {
    std::size_t none = room / g.stride() + 1;  // too many, whatever the columns are
    if (at_most < none) {
      if (bytes(at_most, g) <= room) return at_most;
      none = at_most;
    }
    std::size_t fits = 0;
    while (none - fits > 1) {
      const std::size_t middle = fits + (none - fits) / 2;
      (bytes(middle, g) <= room ? fits : none) = middle;
    }
    return fits;
  }
  /// Divides a fresh region. Touches no block, and touches the columns only as their axes do.
  static void open(chunk<Traits>& c, memory region, std::size_t blocks, const geometry& g) noexcept {
    auto* const start = static_cast<std::byte*>(region.start);
    std::byte* at = start + record_bytes();
    open_column<locking_column>(c, at, blocks, g);
    open_column<reuse_column>(c, at, blocks, g);
    open_column<checking_column>(c, at, blocks, g);
    if constexpr (has_free_bits<Traits>) c.bitmap.open(at);
    at += bits_bytes(blocks);
    const std::size_t from = Traits::aligns_first ? address_of(at) : static_cast<std::size_t>(at - start);
    c.region = region;
    c.first = at + (round_up(from, Traits::chunk_alignment(g)) - from);
    c.blocks = blocks;
  }

 private:
  template <class Column>
  TARN_STEP static void open_column(Column& column, std::byte*& at, std::size_t blocks, const geometry& g) noexcept {
    column.open(at, blocks, g);
    at += column_bytes<Column>(blocks, g);
  }
};

// ---- how many chunks there are, and how many blocks were ever handed out: each for a pool that asks ----------------------

struct counted {
  TARN_STEP void add(std::size_t n) noexcept { value += n; }
  TARN_STEP void subtract(std::size_t n) noexcept { value -= n; }
  std::size_t value = 0;
};
/// \tparam What  tells two members of one object apart, so that neither takes space
template <int What>
struct uncounted {
  TARN_STEP void add(std::size_t) noexcept {}
  TARN_STEP void subtract(std::size_t) noexcept {}
};

/// \tparam Number, Carved  whether they are counted
template <bool Number, bool Carved>
struct chunk_count {
  /// A chunk with that many allocated blocks is added or removed.
  TARN_STEP void enter(std::size_t blocks) noexcept {
    number.add(1);
    carved.add(blocks);
  }
  TARN_STEP void leave(std::size_t blocks) noexcept {
    number.subtract(1);
    carved.subtract(blocks);
  }

  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Number, counted, uncounted<0>> number;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Carved, counted, uncounted<1>> carved;
};

/// The chunks with blocks that were never handed out; blocks are carved from the first, until it has none. One that was never
/// used comes behind one that was: so only the first may have been used. Every operation that changes it is O(1).
/// \tparam Chunk  has `next`, `blocks` and `carved`, and `link_to_it`: the link of the list that points to it
/// \tparam Link   the type of `next`
template <class Chunk, class Link = Chunk*>
class carving_list {
 public:
  Chunk* first() const noexcept { return first_; }
  void push(Chunk& c) noexcept {
    Link& before = first_ != nullptr && first_->carved != 0 && c.carved == 0 ? first_->next : first_;
    Chunk* const after = before;
    c.next = after;
    if (after != nullptr) after->link_to_it = &c.next;
    before = detail::pointer_to(c);
    c.link_to_it = &before;
  }
  bool has_untouched() const noexcept { return first_ != nullptr && (first_->carved == 0 || first_->next != nullptr); }
  /// Precondition: the chunk is in the list.
  void remove(Chunk& c) noexcept {
    Chunk* const after = c.next;
    *c.link_to_it = after;
    if (after != nullptr) after->link_to_it = c.link_to_it;
  }
  void forget() noexcept { first_ = nullptr; }
  /// Whether there are fewer blocks to carve than `blocks`. Looks no further than needed, or than a record can be believed.
  bool has_fewer_than(std::size_t blocks, auto believes) const noexcept {
    for (const Chunk* c = first_; c != nullptr && believes(*c); c = c->next) {
      if (c->blocks - c->carved >= blocks) return false;
      blocks -= c->blocks - c->carved;
    }
    return blocks != 0;
  }

 private:
  Link first_{};
};

// ---- suspicions ----------------------------------------------------------------------------------------------------------
// Errors that a list came across, kept until its caller can deal with them: an invalid link in a free block, and an address
// that left a front and is no block. Empty if no checking policy asks.

/// For lists that encode their links.
class invalid_link {
 public:
  /// A link read from a free block is invalid. Kept until trust_again().
  void distrust(const void* address) noexcept { address_ = address; }
  const void* distrusted() const noexcept { return address_; }
  void trust_again() noexcept { address_ = nullptr; }

 private:
  const void* address_ = nullptr;
};

/// For the reuse policy that checks what leaves its front.
class wrong_leaver {
 public:
  /// The address is no block, or is free already.
  void leaves_wrong(const void* address, misuse_kind kind) noexcept {
    address_ = address;
    kind_ = kind;
  }
  /// Takes the last one since the previous call. Returns whether there was one.
  bool take_left_wrong(pending_report& one) noexcept {
    const void* const address = replace(address_, nullptr);
    if (address != nullptr) one.note(kind_, address);
    return address != nullptr;
  }

 private:
  const void* address_ = nullptr;
  misuse_kind kind_ = {};
};

struct nothing_invalid {};
struct nothing_wrong {};

template <class Traits>
class suspicions : public std::conditional_t<Traits::hides_links, invalid_link, nothing_invalid>,
                   public std::conditional_t<Traits::checks_leaving, wrong_leaver, nothing_wrong> {};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_
