// The chunks of a pool: which ones exist, carving, finding a block's chunk, decisions of growth and retention. Written for one
// thread; it never locks, calls a store or runs user code. The caller holds the core guard.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_MANY_CHUNKS_H_
#define TARN_ALLOCATOR_DETAIL_CORE_MANY_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

template <class Traits>
class many_chunks : public suspicions<Traits>, public walks_of<Traits> {
 public:
  using traits = Traits;
  using geometry_type = typename Traits::geometry;
  using chunk = typename Traits::chunk;
  using layout = typename Traits::layout;
  static constexpr bool returns_chunks = Traits::retention::traits.returns_chunks;
  static constexpr bool checks_leaving = Traits::checks_leaving;
  static constexpr bool may_lose_chunks = Traits::guards_records;  // find() returns null for a block in a chunk that was lost

  template <class Values>
  TARN_STEP constexpr explicit many_chunks(const Values& values) noexcept(Values::nothrow)
      : geometry_(values.template get<typename Traits::size>()),
        growth_(values.template get<typename Traits::growth>()),
        retention_(values.template get<typename Traits::retention>()) {}
  many_chunks(const many_chunks&) = delete;
  many_chunks& operator=(const many_chunks&) = delete;

  // ---- questions ---------------------------------------------------------------------------------------------------------

  TARN_STEP const geometry_type& geometry() const noexcept { return geometry_; }
  TARN_STEP std::size_t capacity() const noexcept { return capacity_; }  // blocks, free or in use
  std::size_t number() const noexcept { return count_.number.value; }  // if chunks are returned
  /// Blocks that were ever allocated and are in no bits: of a listed pool.
  std::size_t carved() const noexcept { return count_.carved.value - bits_.blocks; }
  const chunk* find(const void* block) const noexcept { return map_.find(block, geometry_); }
  chunk* find(const void* block) noexcept { return map_.find(block, geometry_); }
  /// For hits: the most likely chunk of the block, or null. Its slot there shows whether the guess is right. A result of
  /// bring_in_front() makes the guess right as long as it exists (false: there was no need).
  TARN_STEP chunk* guess(const void* block) noexcept { return map_.guess(block, geometry_); }
  TARN_STEP auto bring_in_front(const void* block) noexcept { return map_.bring_in_front(block, geometry_); }
  TARN_STEP std::byte* block_at(std::byte* first, std::size_t slot) const noexcept {
    return first + geometry_.distance(slot) + geometry_.offset();
  }
  /// The slot whose block starts at the address, or a number that no slot has.
  std::size_t slot_of(const chunk& c, const void* block) const noexcept {
    return geometry_.slot_at(address_of(block) - address_of(c.first) - geometry_.offset());
  }
  /// Whether a block, free or in use, starts at the address.
  bool is_block(const void* address) const noexcept {
    const chunk* const c = find(address);
    return c != nullptr && slot_of(*c, address) < c->carved;
  }
  /// Whether a block that the checking policy knows as free starts at the address. Called in a hit of lifo_reuse.
  bool is_free(const void* block) const noexcept
    requires(Traits::hides_links)
  {
    const chunk* const c = map_.guess(block, geometry_);
    if (c != nullptr && is_free_in(*c, block)) [[likely]] return true;
    if constexpr (Traits::has_chunk_table) return is_free_far(block);
    else return false;
  }
  static const auto& checking_column(const chunk& c) noexcept {
    return static_cast<const typename Traits::checking::template per_chunk<Traits>&>(c);
  }

  /// The chunk whose red line was overwritten since the previous call, or null. The chunk, and those behind it in the map, no
  /// longer belong to the pool.
  const chunk* take_overrun() noexcept { return map_.take_overrun(); }
  /// Whether a region overlaps one of the chunks.
  bool overlaps(memory region) const noexcept { return detail::overlaps(map_, region); }

  // ---- carving -----------------------------------------------------------------------------------------------------------

  /// Whether carve() has blocks, or will have those of bits that are hidden now.
  bool has_more() const noexcept { return untouched_.first() != nullptr || bits_.blocks != 0; }
  /// How many blocks a front of `n` places should get. A new pool begins with a quarter, because many pools need no more.
  std::size_t grain(std::size_t n) noexcept {
    const chunk* const c = untouched_.first();
    const bool is_new = !TARN_FOR_SIZE && c != nullptr && c->carved == 0 && c->blocks == capacity_;
    return walks_of<Traits>::grain(is_new ? larger(n / 4, 1) : n);
  }
  /// Writes up to `n` blocks that are free in bits, or unused, in ascending order. Returns how many. Computes only their
  /// addresses, so a chunk of a million blocks costs no more than a chunk of one.
  std::size_t carve(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    if constexpr (has_free_bits<Traits>) got = take_from_bits(out, n);
    this->note_taken();
    while (got != n && untouched_.first() != nullptr) {
      if constexpr (Traits::one_chunk) TARN_AT_MOST(1);
      chunk& c = *untouched_.first();
      if (!map_.believes(c)) [[unlikely]] {
        untouched_.forget();  // those behind it can't be found
        break;
      }
      const std::size_t taken = smaller(n - got, c.blocks - c.carved);
      geometry_.write_blocks(out + got, c.first, c.carved, taken);
      got += taken;
      c.carved += taken;
      if constexpr (Traits::hides_links) c.make_records(c.carved);
      count_.carved.add(taken);
      if (c.carved == c.blocks) untouched_.remove(c);
    }
    if constexpr (Traits::shuffles) shuffle_(out, got);
    return got;
  }

  // ---- growth ------------------------------------------------------------------------------------------------------------

  /// What the growth policy requests next, with `more` blocks than now and `last` in the newest chunk (both 0: now).
  TARN_STEP chunk_request next(std::size_t last, std::size_t more) const noexcept {
    return growth_.next_chunk(last != 0 ? last : newest_ / marks, capacity_ + more, geometry_.stride());
  }
  /// Whether the pool is at its store, if the locking policy can't tell; and whether pages are being returned. Changed under
  /// the growth guard, the second under the core guard as well.
  TARN_STEP bool is_growing() const noexcept { return (newest_ & growing_mark) != 0; }
  TARN_STEP void set_growing(bool now) noexcept { newest_ = (newest_ & ~growing_mark) | (now ? growing_mark : 0); }
  bool pages_go() const noexcept { return (newest_ & pages_mark) != 0; }
  void set_pages_go(bool now) noexcept { newest_ = (newest_ & ~pages_mark) | (now ? pages_mark : 0); }
  /// Whether there are fewer unused blocks than a policy that grows ahead requires. O(chunks that have some).
  bool is_below_watermark() const noexcept {
    return untouched_.has_fewer_than(growth_.watermark(capacity_), [&](const chunk& c) { return map_.believes(c); });
  }
  std::size_t watermark() const noexcept { return growth_.watermark(capacity_); }
  /// Creates the record of a fresh region. It isn't yet part of the pool; no block is touched.
  chunk* make(memory region, std::size_t blocks) noexcept {
    auto* const start = static_cast<std::byte*>(region.start);
    if constexpr (Traits::guards_records) red_line::draw(start);
    chunk* const c = map_.make_record(start + layout::red_bytes);
    layout::open(*c, region, blocks, geometry_);
    memory_tools::poison(c->first, geometry_.extent(blocks));
    return c;
  }
  /// Bytes that the chunk map needs before a list of fresh chunks can be adopted.
  TARN_STEP std::size_t shortage(const chunk* fresh) noexcept { return map_.shortage(fresh, geometry_); }
  TARN_STEP void supply(memory more) noexcept { map_.supply(more, geometry_); }
  /// Enters a chunk, which may have been taken out before.
  void insert(chunk& c) noexcept {
    map_.insert(c, geometry_);
    capacity_ += c.blocks;
    count_.enter(c.carved);
    if (c.carved != c.blocks) untouched_.push(c);
  }
  /// A fresh chunk becomes part of the pool.
  TARN_STEP void adopt(chunk& c, auto& list) noexcept {
    if constexpr (Traits::is_walked) this->enter(c);
    newest_ = newest_ % marks + c.blocks * marks;
    insert(c);
    list.adopted(c);
  }

  // ---- giving back -------------------------------------------------------------------------------------------------------

  /// For the reuse policy that sees empty chunks: a chunk became empty, or is used again.
  TARN_STEP status chunk_emptied() noexcept { return retention_.emptied(); }
  TARN_STEP void chunk_reused() noexcept { retention_.reused(); }
  /// How many empty chunks stay when a surplus is returned.
  std::size_t keep() const noexcept { return retention_.keep(); }
  bool has_surplus() const noexcept { return retention_.has_surplus(); }

  /// Moves a chunk to the front of the list `leaving`. O(log chunks).
  void unlink(chunk& c, chunk*& leaving) noexcept {
    if (c.carved != c.blocks) untouched_.remove(c);
    map_.take_out(c, geometry_);
    capacity_ -= c.blocks;
    count_.leave(c.carved);
    c.next = detail::replace(leaving, detail::pointer_to(c));
  }
  bool has_untouched() const noexcept { return untouched_.has_untouched(); }
  /// Calls visit(chunk) for each that has carved and uncarved blocks.
  void each_begun(auto visit) noexcept {
    for (chunk *c = untouched_.first(), *next; c != nullptr && c->carved != 0; c = next) {
      next = c->next;
      visit(*c);
    }
  }
  /// Takes out the chunks that were never used. O(1) for each, and the map's O(log chunks).
  void unlink_untouched(chunk*& leaving) noexcept {
    for (chunk *c = untouched_.first(), *next; c != nullptr; c = next) {
      next = c->next;
      if (c->carved == 0) unlink(*c, leaving);
    }
  }
  /// Takes every chunk out, as a list linked by `next`. They may be inserted again.
  TARN_STEP chunk* take_all() noexcept {
    untouched_.forget();
    bits_ = {};
    capacity_ = 0;
    count_ = {};
    return map_.take_all();
  }
  /// Resets it, except for what the policies count. Also forgets the map's table.
  TARN_STEP void forget() noexcept {
    newest_ %= marks;
    map_.forget();
  }

  // ---- bits: of pools whose chunks have them -------------------------------------------------------------------------------

  /// Marks the blocks of word `w` of a chunk that have a bit in `mask` as free: `n` of them.
  void mark_free(chunk& c, std::size_t w, std::uint64_t mask, std::size_t n) noexcept {
    if (c.bitmap.free_blocks() == 0) c.next_with_bits = detail::replace(bits_.first, detail::pointer_to(c));
    c.bitmap.mark(w, mask, n);
    bits_.blocks += n;
  }
  /// Writes up to `n` blocks that are free in bits. Returns how many.
  std::size_t take_from_bits(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && bits_.first != nullptr && !this->hides_bits()) {
      chunk& c = *bits_.first;
      if (!map_.believes(c)) [[unlikely]] {
        bits_ = {};  // those behind it can't be found
        break;
      }
      bits_.blocks -= c.bitmap.take(n - got, [&](std::size_t slot) { out[got++] = block_at(c.first, slot); });
      if (c.bitmap.free_blocks() == 0) bits_.first = c.next_with_bits;
    }
    return got;
  }
  /// Chunks have left, or other code changed bits.
  void recount_bits() noexcept {
    bits_ = {};
    each([this](chunk& c) {
      if (c.bitmap.free_blocks() != 0) c.next_with_bits = detail::replace(bits_.first, detail::pointer_to(c));
      bits_.blocks += c.bitmap.free_blocks();
    });
  }

  // ---- walks -------------------------------------------------------------------------------------------------------------

  /// The next chunk by ascending address, or null.
  chunk* after(const void* address) noexcept { return map_.after(address); }
  /// Calls visit(chunk) for each chunk, by ascending address. visit() may return the chunk to the store.
  void each(auto visit) {
    for (chunk* c = map_.after(nullptr); c != nullptr;) {
      const std::byte* const first = c->first;
      visit(*c);
      c = map_.after(first);
    }
  }
  /// As each(), from the chunk that the address lies in, or from the next one, as long as visit() returns true.
  void each_from(const void* address, auto visit) {
    chunk* c = find(address);
    if (c == nullptr) c = map_.after(address);
    while (c != nullptr && visit(*c)) c = map_.after(c->first);
  }
  /// Calls visit(block) for every block that was allocated at least once, used or free, by ascending address.
  void each_carved(auto visit) {
    each([&](chunk& c) {
      for (std::size_t i = 0; i != c.carved; ++i) visit(block_at(c.first, i));
    });
  }

 private:
  bool is_free_in(const chunk& c, const void* block) const noexcept {
    const std::size_t slot = slot_of(c, block);
    return slot < c.carved && !checking_column(c).in_use(slot);
  }
  TARN_COLD bool is_free_far(const void* block) const noexcept {
    const chunk* const c = find(block);
    return c != nullptr && is_free_in(*c, block);
  }

  struct no_shuffler {};
  static constexpr std::size_t growing_mark = Traits::marks_growth;
  static constexpr std::size_t pages_mark = Traits::returns_pages ? 1 + growing_mark : 0;
  static constexpr std::size_t marks = 1 + growing_mark + pages_mark;

  carving_list<chunk> untouched_;
  chunk_map<Traits> map_;
  TARN_NO_UNIQUE_ADDRESS bits_of<Traits> bits_;
  std::size_t capacity_ = 0;  // blocks in all chunks
  TARN_NO_UNIQUE_ADDRESS chunk_count<returns_chunks, Traits::is_listed> count_;
  std::size_t newest_ = 0;  // blocks in the newest chunk, times `marks`; the marks
  TARN_NO_UNIQUE_ADDRESS geometry_type geometry_;
  TARN_NO_UNIQUE_ADDRESS typename Traits::growth growth_;
  TARN_NO_UNIQUE_ADDRESS typename Traits::retention::state retention_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Traits::shuffles, shuffler, no_shuffler> shuffle_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_MANY_CHUNKS_H_
