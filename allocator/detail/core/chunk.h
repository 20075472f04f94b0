// A chunk: one region from the store, and what the pool knows about it.
//
//   | record | column of locking | of reuse | of checking | block 0 | block 1 | ...                    | block n-1 |
//   ^ region.start                                        ^ first   |<- carved ->|<- never touched ->|
//
// A column is what one axis keeps per chunk. It is in front of the blocks, so an overrun of the last block doesn't reach it.
// The bits of a pool of objects follow the columns. If a pool never has more than one chunk, the record is in the
// pool object, and a region without columns is all blocks. If links are hidden from the program, there is a red line in front
// of the record, against an overrun of the chunk before.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/secret.h"
#include "tarn/policies/reuse/block_bitmap.h"

namespace tarn::detail {

// ---- bits ----------------------------------------------------------------------------------------------------------------
// Which blocks of a pool of objects are free: a bit for each, at the front of its chunk. Walks write them, through settle() in
// walk.h, and blocks come out of them as if they were carved:
//
//   list of free blocks  --settle()-->  bits  --carve()-->  list of free blocks
//
// So a pool that is never walked never touches a bit, and a walk moves only what became free since the one before. Where the
// reuse policy keeps such bits anyway, only what walks must know besides is here.

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

// ---- an array that is the only chunk ---------------------------------------------------------------------------------------

// Where the blocks of a pool are if they are an array of its store: in the pool object, or outside it.
//
// What isn't zero from the start takes space in the program's file, and on firmware in flash. So a pool that has a destructor
// starts all zero, with its array. A static pool, which has no destructor, may contain other values; its array is then outside
// it.

template <class Traits>
class array_elsewhere {
  using array = typename Traits::store::template array<Traits>;

 public:
  template <class Values>
  constexpr explicit array_elsewhere(const Values& values) noexcept {
    if constexpr (requires { values.template array_of<array>(); }) array_ = values.template array_of<array>();
  }
  TARN_STEP array& get() const noexcept { return *array_; }

 private:
  array* array_ = nullptr;
};
template <class Traits>
class array_inside {
  using array = typename Traits::store::template array<Traits>;

 public:
  constexpr explicit array_inside(const auto&) noexcept {}
  TARN_STEP array& get() const noexcept { return array_; }

 private:
  mutable array array_;  // blocks are no part of the pool's value
};

template <class Traits>
using array_of_pool = std::conditional_t<Traits::arrays_lie_beside, array_elsewhere<Traits>, array_inside<Traits>>;

/// The chunk of a pool whose blocks are an array in its store, and in which no axis keeps anything per chunk. It has nothing to
/// fetch, to lay out or to give back, and everything in it but `carved` is a constant. It has those members of `chunks` that
/// such a pool uses.
template <class Traits>
class array_chunk : public chunks_not_walked {
 public:
  using traits = Traits;
  using geometry_type = typename Traits::geometry;
  using chunk = array_chunk;  // a chunk is its own record

  constexpr explicit array_chunk(const auto& values) noexcept : array_(values) {}
  array_chunk(const array_chunk&) = delete;
  array_chunk& operator=(const array_chunk&) = delete;

  TARN_STEP static constexpr geometry_type geometry() noexcept { return {}; }
  static constexpr std::size_t capacity() noexcept { return Traits::store::blocks; }
  const array_chunk* find(const void* address) const noexcept {
    return address_of(address) - address_of(start()) < geometry().extent(capacity()) ? this : nullptr;
  }
  bool is_block(const void* address) const noexcept {
    return find(address) != nullptr &&
           geometry().slot_at(address_of(address) - address_of(start()) - geometry().offset()) < carved_;
  }
  std::byte* block_at(std::size_t slot) noexcept { return start() + geometry().distance(slot) + geometry().offset(); }
  std::size_t carved() const noexcept { return carved_; }

  /// The next block that was never handed out, or null.
  void* carve() noexcept {
    if (carved_ == capacity()) return nullptr;
    if (carved_ == 0) memory_tools::poison(start(), geometry().extent(capacity()));
    return block_at(carved_++);
  }
  std::size_t carve(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && (out[got] = carve()) != nullptr) {
      TARN_ROUND(new_blocks, 1);
      ++got;
    }
    return got;
  }
  /// Calls visit(block) for every block that was handed out at least once, used or free, by ascending address.
  void each_carved(auto visit) {
    for (std::size_t i = 0; i != carved_; ++i) visit(block_at(i));
  }
  /// Makes it as new. Returns the bytes of the array, or 0 if no block was handed out.
  std::size_t forget() noexcept {
    if (carved_ == 0) return 0;
    memory_tools::poison(start(), geometry().extent(capacity()));
    carved_ = 0;
    return geometry().extent(capacity());
  }
  /// The pool is destroyed: the array belongs to the program again.
  void end() noexcept { array_.get().end(); }

 private:
  TARN_STEP std::byte* start() const noexcept { return array_.get().start(); }

  std::size_t carved_ = 0;
  array_of_pool<Traits> array_;
};

// The chunk of a pool whose blocks are an array in its store, if a checking policy keeps something about each of them. As
// array_chunk, it has nothing to fetch or to give back; it has those members of `chunks` that such a pool and its checks use.
// The column is in the array, in front of the blocks.

/// What is known of it. No other chunk will come.
template <class Traits>
  requires(Traits::in_place)
struct chunk<Traits> : Traits::checking::template per_chunk<Traits> {
  std::byte* first = nullptr;  // slot 0; null: it wasn't used yet
  static constexpr std::size_t blocks = Traits::store::blocks;
  std::size_t carved = 0;  // blocks from this one on were never handed out
};

template <class Traits>
class checked_array : public suspicions<Traits>, public chunks_not_walked {
 public:
  using traits = Traits;
  using geometry_type = typename Traits::geometry;
  using chunk = typename Traits::chunk;
  static constexpr bool may_lose_chunks = false;

  constexpr explicit checked_array(const auto& values) noexcept : array_(values) {}
  checked_array(const checked_array&) = delete;
  checked_array& operator=(const checked_array&) = delete;

  TARN_STEP static constexpr geometry_type geometry() noexcept { return {}; }
  static constexpr std::size_t capacity() noexcept { return Traits::store::blocks; }
  std::size_t carved() const noexcept { return chunk_.carved; }

  const chunk* find(const void* address) const noexcept {
    return !ended_ && has(address) ? detail::pointer_to(chunk_) : nullptr;
  }
  chunk* find(const void* address) noexcept {
    if (ended_ || !has(address)) return nullptr;
    open();
    return detail::pointer_to(chunk_);
  }
  /// For hits: whatever the address, since outside the array no slot is one that was carved.
  TARN_STEP chunk* guess(const void*) noexcept { return detail::pointer_to(chunk_); }
  TARN_STEP static constexpr bool bring_in_front(const void*) noexcept { return false; }  // it is
  bool is_block(const void* address) const noexcept {
    const chunk* const c = find(address);
    return c != nullptr && slot_of(*c, address) < c->carved;
  }
  /// Whether a block that the checking policy knows as free starts at the address.
  bool is_free(const void* block) const noexcept {
    const std::size_t slot = slot_of(chunk_, block);
    return slot < chunk_.carved && !checking_column(chunk_).in_use(slot);
  }
  static const auto& checking_column(const chunk& c) noexcept {
    return static_cast<const typename Traits::checking::template per_chunk<Traits>&>(c);
  }
  static std::size_t slot_of(const chunk& c, const void* block) noexcept {
    return geometry().slot_at(address_of(block) - address_of(c.first) - geometry().offset());
  }
  std::byte* block_at(std::size_t slot) noexcept { return block_at(first(), slot); }
  static std::byte* block_at(std::byte* first, std::size_t slot) noexcept {
    return first + geometry().distance(slot) + geometry().offset();
  }

  /// The next block that was never handed out, or null.
  void* carve() noexcept {
    if (chunk_.carved == capacity()) return nullptr;
    open();
    TARN_ROUNDS(new_records, 1);
    chunk_.make_records(chunk_.carved + 1);
    return block_at(chunk_.carved++);
  }
  std::size_t carve(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && (out[got] = carve()) != nullptr) ++got;
    return got;
  }
  void each_carved(auto visit) {
    for (std::size_t i = 0; i != chunk_.carved; ++i) visit(block_at(i));
  }
  void each(auto visit) {
    if (chunk_.carved != 0) visit(chunk_);
  }
  /// Makes it as new. Returns the bytes of the array, or 0 if no block was handed out.
  std::size_t forget() noexcept {
    if (chunk_.carved == 0) return 0;
    chunk_.first = nullptr;
    chunk_.carved = 0;
    open();  // at once: so that what is known of no use any more isn't believed
    return geometry().extent(capacity());
  }
  /// The pool is destroyed: the array belongs to the program again, and nothing is a block.
  void end() noexcept {
    ended_ = true;
    array_.get().end();
  }

 private:
  using layout = typename Traits::layout;
  using column = typename Traits::checking::template per_chunk<Traits>;

  TARN_STEP std::byte* first() const noexcept { return array_.get().start() + layout::first_offset(capacity(), geometry()); }
  TARN_STEP bool has(const void* address) const noexcept {
    return address_of(address) - address_of(first()) < geometry().extent(capacity());
  }
  void open() noexcept {
    if (chunk_.first != nullptr) return;
    static_cast<column&>(chunk_).open(array_.get().start(), capacity(), geometry());
    chunk_.first = first();
    memory_tools::poison(chunk_.first, geometry().extent(capacity()));
  }

  chunk chunk_;
  bool ended_ = false;
  array_of_pool<Traits> array_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_H_
