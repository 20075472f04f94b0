// A chunk: one region from the store, and what the pool knows about it.
//
//   | record | column of locking | of reuse | of checking | block 0 | block 1 | ...                    | block n-1 |
//   ^ region.start                                        ^ first   |<- carved ->|<- never touched ->|
//
// A column is what one axis keeps per chunk. It lies in front of the blocks, so an overrun of the last block runs away from it.
// If a pool never has more than one chunk, the record lies in the pool, and a region without columns is all blocks. If links
// are hidden from the program, a red line lies in front of the record, against an overrun of the chunk before.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_

#include <cstddef>
#include <cstdint>

#include "tarn/allocator/detail/core/red_line.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Traits>
struct chunk : Traits::locking::template per_chunk<Traits>,
               Traits::reuse::template per_chunk<Traits>,
               Traits::checking::template per_chunk<Traits> {
  memory region;                 // as the store gave it
  std::byte* first = nullptr;    // slot 0
  std::size_t blocks = 0;
  std::size_t carved = 0;        // blocks from this one on were never handed out
  std::size_t idle = 0;          // free blocks, counted while trim() runs
  free_link* free = nullptr;     // those blocks, while trim() runs
  std::size_t walked = 0;        // blocks that a walk visits: those carved before it began
  chunk* left = nullptr;         // in the map
  chunk* right = nullptr;
  chunk* next = nullptr;         // in a list of chunks: those to carve, to give back or, while trim() runs, with free blocks
  chunk** link_to_it = nullptr;  // in the list of those to carve: the pointer that points to it
  bool from_second = false;      // it belongs to the exhaustion policy's store

  static constexpr bool is_guarded = Traits::guards_records;
  /// Whether the record may be believed: nobody wrote over what lies in front of it.
  bool stands() const noexcept
    requires(Traits::guards_records)
  {
    return red_line::stands(reinterpret_cast<const std::byte*>(this) - red_line::bytes);
  }
};

/// Where the parts of a chunk lie. All in bytes; size_max: such a chunk can't exist.
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
  static constexpr std::size_t first_offset(std::size_t blocks, const geometry& g) noexcept {
    return round_up(record_bytes() + column_bytes<locking_column>(blocks, g) + column_bytes<reuse_column>(blocks, g) +
                        column_bytes<checking_column>(blocks, g),
                    g.alignment() > Traits::chunk_alignment(g) ? g.alignment() : Traits::chunk_alignment(g));
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
    std::byte* at = static_cast<std::byte*>(region.start) + record_bytes();
    open_column<locking_column>(c, at, blocks, g);
    open_column<reuse_column>(c, at, blocks, g);
    open_column<checking_column>(c, at, blocks, g);
    c.region = region;
    c.first = static_cast<std::byte*>(region.start) + first_offset(blocks, g);
    c.blocks = blocks;
  }

 private:
  template <class Column>
  TARN_STEP static void open_column(Column& column, std::byte*& at, std::size_t blocks, const geometry& g) noexcept {
    column.open(at, blocks, g);
    at += column_bytes<Column>(blocks, g);
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_
