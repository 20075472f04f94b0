// decides    the newest free blocks are kept in an array of pointers, the others as bits of a bitmap outside the blocks. Blocks
//            are taken from the fullest chunk, page by page, in ascending order within each page
// costs      on the hot path, the same as batch_reuse; a little more than a bit for each block, at the front of its chunk; 2
//            KiB in the pool object; a table of the chunks, from the store. A free doesn't touch the block
// conflicts  none; blocks under 8 bytes take 8
// use when   memory must go back while the pool exists, or blocks freed in random order are used again and traversed
#ifndef TARN_POLICIES_REUSE_PAGE_LOCAL_REUSE_H_
#define TARN_POLICIES_REUSE_PAGE_LOCAL_REUSE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/reuse.h"
#include "tarn/policies/reuse/array_front.h"
#include "tarn/policies/reuse/block_bitmap.h"
#include "tarn/policies/reuse/page_returns.h"

// What happens:
//
//   pop           from the array in front
//    pop_slow       blocks of the fullest chunk's bitmap, in order of their addresses, or unused blocks
//   push          onto the array
//    make_room      mark_slice(): some of the older half of the array are marked in the bitmaps. Where chunks go back, flush():
//                   all of that half, and a chunk that becomes empty may go back
//
// If pages of memory go back, not only chunks, page_returns.h adds to this: chunks are also sorted by their idle pages, and a
// pool that has become thin has no array in front.

namespace tarn::detail {

/// The shelf that a chunk is on; a new one is on none.
template <class Column, bool ReturnsPages>
struct shelf_places : shelved<Column>, std::conditional_t<ReturnsPages, page_counts<Column>, no_page_counts> {};

/// \tparam Column  of a chunk: what it keeps for the shelves, and `bitmap`
template <class Traits, class Column, prefetch Prefetch, std::size_t Front>
class page_local_list {
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;

 public:
  TARN_STEP void* pop(chunks_type&) noexcept {
    void* const block = front_.pop();
    if constexpr (Prefetch == prefetch::on_allocate) {
      if (block != nullptr) [[likely]] prefetch_for_write(block);
    }
    return block;
  }
  TARN_NOINLINE void* pop_slow(chunks_type& chunks) noexcept {
    if (pages_.is_thinned()) return pop_thinned(chunks);
    if (!front_.has_block()) {
      resize_front(most_in_front(chunks));
      const std::size_t n = chunks.grain(smaller(batch, front_.room() - 1));
      front_.filled(n, take(chunks, front_.fill(n), n));
    }
    return pop(chunks);
  }
  TARN_STEP status push(chunks_type&, void* block) noexcept {
    if constexpr (Prefetch == prefetch::on_free) prefetch_for_write(block);
    return front_.push(block) ? status::done : status::crowded;
  }
  /// Moves a part of the front to the bitmaps.
  TARN_NOINLINE status make_room(chunks_type& chunks) noexcept {
    if (pages_.is_thinned()) return make_room_thinned(chunks);
    if (front_.closed()) {
      front_.open();
      if constexpr (in_slices) front_.tell_after(begin);
      return status::done;
    }
    if constexpr (in_slices) return mark_slice(chunks);
    const status answer = flush(chunks, own_capacity(chunks) / 2 - 1);
    if constexpr (Traits::returns_pages)
      if (pages_.becomes_thin(chunks, outside_)) return close_front(chunks, answer);
    return answer;
  }

  std::size_t pop_batch(chunks_type& chunks, void** out, std::size_t n) noexcept {
    const std::size_t got = front_.take(out, n);
    const std::size_t all = got + take(chunks, out + got, n - got);
    if (pages_.is_thinned() && !pages_.goes_on(outside_, all)) front_.open();
    return all;
  }
  status push_batch(chunks_type& chunks, void* const* in, std::size_t n) noexcept {
    status answer = status::done;
    while (n != 0) {  // from the end, so that the first of the batch is handed out first
      if (!pages_.is_thinned() && front_.room() == 1 && make_room(chunks) == status::surplus) answer = status::surplus;
      if (pages_.is_thinned()) {
        if (mark(chunks, in, n) == status::surplus) answer = status::surplus;
        if (!pages_.goes_on(outside_, n)) front_.open();
        break;
      }
      const std::size_t taken = smaller(n, front_.room() - 1);
      n -= taken;
      std::memcpy(front_.fill(taken), in + n, taken * sizeof(void*));
      front_.filled(taken, taken);
    }
    return answer;
  }

  void adopted(chunk& c) noexcept {
    static_cast<shelf_places<Column, Traits::returns_pages>&>(c) = {};
    c.bitmap.forget();
  }
  void drain(chunks_type& chunks, auto take) noexcept {
    settle(chunks);
    while (recommit()) {}
    void* some[batch];
    while (const std::size_t got = take_free(chunks, some, batch)) detail::each_of(some, got, take);
  }
  void restore(chunks_type& chunks, void* block) noexcept {
    if (push(chunks, block) == status::crowded) make_room(chunks);
  }
  void forget() noexcept {
    front_.close();
    shelves_ = {};
    pages_ = {};
    outside_ = 0;
  }

  // ---- empty chunks ----------------------------------------------------------------------------------------------------

  /// Moves every free block to its chunk's bitmap.
  void settle(chunks_type& chunks) noexcept { flush(chunks, 0); }
  /// Whether the front is empty. A thin pool has no front, and its calls change the bits immediately.
  TARN_STEP bool is_empty() const noexcept { return front_.size() == 0; }
  /// Bits were changed by other code, while no block was taken.
  void recount(chunks_type& chunks) noexcept {
    settle(chunks);
    outside_ = 0;
    chunks.each([&](chunk& c) {
      shelve(chunks, c);
      outside_ += outside_of(c);
    });
  }
  std::size_t empty_chunks() const noexcept { return shelves_.empties(); }
  /// Precondition: there is an empty chunk.
  chunk& take_empty() noexcept {
    Column& c = *shelves_.empty();
    shelves_.remove(c);
    pages_.remove(static_cast<chunk&>(c));
    return static_cast<chunk&>(c);
  }

  /// For one of many caches in front of the list, such as threads' magazines.
  std::size_t front_capacity(const chunks_type& chunks) const noexcept { return capacity_for(chunks, 64); }

  // ---- idle pages, if they go back -------------------------------------------------------------------------------------

  bool has_surplus_pages(const chunks_type& chunks) noexcept
    requires(Traits::returns_pages)
  {
    return pages_.is_surplus(chunks, outside_);
  }
  /// Blocks in use or in the front.
  std::size_t outside(const chunks_type&) const noexcept { return outside_; }
  std::size_t in_front(const chunks_type&) const noexcept { return front_.blocks(); }
  std::size_t take_idle(chunks_type& chunks, memory* runs, chunk** of, std::size_t n) noexcept
    requires(Traits::returns_pages)
  {
    return pages_.take_idle(chunks, runs, of, n, [this](chunk& c) { shelve(c); });
  }
  void put_back(chunks_type& chunks, memory run, chunk& of) noexcept
    requires(Traits::returns_pages)
  {
    pages_.put_back(chunks, run, of, [this](chunk& c) { shelve(c); });
  }
  /// Called under the growth guard. Blocks whose pages were freed may be taken again. Returns whether there were some.
  bool recommit() noexcept {
    if constexpr (Traits::returns_pages) return pages_.recommit([this](chunk& c) { shelve(c); });
    else return false;
  }

 private:
  static constexpr std::size_t batch = 64;

  // If chunks stay, the older part of the front is marked in slices, so that no free takes much longer than others. They begin
  // when `begin` entries are there: `slice` of them, and again after `interval` further ones, until `kept` are left.
  static constexpr bool in_slices = !Traits::retention::traits.returns_chunks && !Traits::returns_pages;
  // A pair of calls takes 2 % more instructions than with all at once if blocks are freed in random order, and 8 % in order.
  // With slices of 16 after 8, frees in order take a third longer.
  static constexpr std::size_t begin = Front / 4 * 3, kept = Front / 2, slice = 32, interval = 16;

  /// Blocks in a front keep their chunks from becoming empty, and each may keep a chunk of megabytes. So if chunks go back
  /// automatically, the front holds only a few large blocks.
  static std::size_t most_in_front(const chunks_type& chunks) noexcept {
    constexpr std::size_t bytes = 256 * 1024;
    if constexpr (Traits::retention::traits.returns_chunks) return clamped(bytes / chunks.geometry().stride(), 8, Front);
    else return Front;
  }
  /// If nearly all memory is idle, the front is limited to 1/`part` of the blocks outside the bitmaps, but at least two blocks.
  /// Blocks for allocations aren't limited, because they come from the fullest chunk.
  std::size_t capacity_for(const chunks_type& chunks, std::size_t part) const noexcept {
    const std::size_t most = most_in_front(chunks);
    if constexpr (Traits::retention::traits.returns_chunks && !Traits::returns_pages) {
      const bool idle = chunks.number() > chunks.keep() + 1 && chunks.capacity() / 16 > outside_;
      return idle ? clamped(outside_ / part, 2, most) : most;
    } else {
      return most;
    }
  }
  /// Each block in use may keep a chunk: with a quarter as many blocks, the front keeps at most a quarter more chunks.
  std::size_t own_capacity(const chunks_type& chunks) const noexcept { return capacity_for(chunks, 4); }

  void resize_front(std::size_t entries) noexcept {
    if (front_.closed()) front_.open();
    if constexpr (in_slices) {  // it is empty
      front_.pack();
      front_.tell_after(begin);
    }
    if constexpr (Traits::retention::traits.returns_chunks) front_.limit_to(entries);
  }

  std::size_t take(chunks_type& chunks, void** out, std::size_t n) noexcept {
    const std::size_t got = take_free(chunks, out, n);
    const std::size_t carved = got != n ? chunks.carve(out + got, n - got) : 0;
    outside_ += carved;
    return got + carved;
  }
  /// Takes blocks from the bitmaps, from the fullest chunk first.
  std::size_t take_free(chunks_type& chunks, void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    chunks.note_taken();
    while (got != n && !chunks.hides_bits()) {
      Column* const from = shelves_.fullest();
      if (from == nullptr) break;
      chunk& c = static_cast<chunk&>(*from);
      std::byte* const first = c.first + chunks.geometry().offset();
      from->bitmap.take(n - got, [&](std::size_t slot) { out[got++] = first + chunks.geometry().distance(slot); });
      shelve(chunks, c);
    }
    outside_ += got;
    return got;
  }

  static std::size_t outside_of(const chunk& c) noexcept {
    return c.carved - c.bitmap.free_blocks() - c.bitmap.units().decommitted();
  }
  void shelve(chunk& c) noexcept {
    const unsigned shelf = shelves_.shelf_for(outside_of(c), c.blocks);
    if (c.bitmap.free_blocks() == 0) shelves_.remove(c);
    else shelves_.put(c, shelf);
    pages_.shelve(c, shelf);
  }
  /// The same after blocks were marked or taken: notifies `chunks` if the chunk became empty, or no longer is.
  status shelve(chunks_type& chunks, chunk& c) noexcept {
    const bool was_empty = shelves_.shelf_of(c) == 0;
    shelve(c);
    const bool is_empty = shelves_.shelf_of(c) == 0;
    if (was_empty && !is_empty) chunks.chunk_reused();
    return is_empty && !was_empty ? chunks.chunk_emptied() : status::done;
  }

  /// Moves all but the `keep` newest entries of the front to the bitmaps.
  status flush(chunks_type& chunks, std::size_t keep) noexcept {
    const std::size_t n = front_.size() - smaller(keep, front_.size());
    const status answer = mark(chunks, front_.entries() + front_.size() - n, n);
    front_.drop_oldest(n);
    if (!pages_.is_thinned()) resize_front(own_capacity(chunks));
    return answer;
  }
  /// Marks blocks as free in the bitmaps.
  status mark(chunks_type& chunks, void* const* blocks, std::size_t n) noexcept {
    status answer = status::done;
    detail::each_marked_word(chunks, blocks, n, [&](chunk& c, std::size_t word, std::uint64_t mask, std::size_t marked) {
      outside_ -= marked;
      c.bitmap.mark(word, mask, marked);
      if (shelve(chunks, c) == status::surplus) answer = status::surplus;
    });
    if constexpr (Traits::returns_pages)
      if (pages_.is_surplus(chunks, outside_)) answer = status::surplus;
    return answer;
  }

  /// Marks some of the oldest blocks of the front.
  status mark_slice(chunks_type& chunks) noexcept {
    const std::size_t n = smaller(slice, front_.size() - smaller(front_.size(), kept));
    const status answer = mark(chunks, front_.entries() + front_.size() - n, n);
    front_.retire(n);
    const bool goes_on = front_.size() > kept;
    if (!goes_on || front_.room_in_place() < interval) front_.pack();
    front_.tell_after(goes_on ? interval : begin - front_.size());
    return answer;
  }

  // A thin pool has no front: see page_returns.h.

  void* pop_thinned(chunks_type& chunks) noexcept {
    void* block = nullptr;
    pop_batch(chunks, &block, 1);
    return block;
  }
  status make_room_thinned(chunks_type& chunks) noexcept {
    const status answer = flush(chunks, 0);
    if (!pages_.goes_on(outside_, 1)) front_.open();
    return answer;
  }
  status close_front(chunks_type& chunks, status answer) noexcept {
    if (flush(chunks, 0) == status::surplus) answer = status::surplus;
    front_.close();
    return answer;
  }

  array_front<Front, Traits::holds_array> front_;
  fullness_shelves<Column> shelves_;
  TARN_NO_UNIQUE_ADDRESS
  std::conditional_t<Traits::returns_pages, page_returns<Traits, Column>, no_page_returns> pages_;
  std::size_t outside_ = 0;  // blocks in use or in the front, of those that were ever allocated
};

}  // namespace tarn::detail

namespace tarn {

/// \tparam PageBytes  bytes of blocks that are used up before others of their chunk; a power of two, at least 4096
/// \tparam Prefetch   on_allocate prefetches the allocated block, on_free the freed one
/// \tparam Front      pointers in the array: a multiple of 64 and at least 128
template <std::size_t PageBytes = 64 * 1024, prefetch Prefetch = prefetch::on_allocate, std::size_t Front = 256>
struct page_local_reuse {
  using axis = tarn::axis::reuse;
  static constexpr bool arguments_hold =
      PageBytes >= 4096 && detail::is_power_of_two(PageBytes) && Front >= 128 && Front % 64 == 0;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [E2] page_local_reuse was given pages that aren't a power of two or are under 4096 bytes, or a front "
                  "(its array of free blocks) that isn't a multiple of 64 or is under 128 pointers; use 65536 and 256");
  };
  static constexpr reuse_traits traits{
      .min_block = sizeof(detail::free_link),
      .min_alignment = alignof(detail::free_link),
      .finds_chunks = true,
      .sees_empty_chunks = true,
      .keeps_bitmaps = true,
      .drops_null = true,
  };

 private:
  static constexpr std::size_t page_words(const auto& geometry) noexcept {
    const std::size_t words = PageBytes / geometry.stride() / detail::block_bitmap<>::word_blocks;
    return std::bit_floor(detail::clamped(words, 1, detail::block_bitmap<>::word_blocks));
  }

 public:
  /// The column: the bitmap.
  template <class Traits>
  struct per_chunk : detail::shelf_places<per_chunk<Traits>, Traits::returns_pages> {
    using bitmap_type = detail::block_bitmap<std::conditional_t<Traits::returns_pages, detail::idle_units, detail::no_units>>;
    static constexpr unsigned unit_shift(const auto& geometry) noexcept {
      if constexpr (!Traits::returns_pages) return 0;
      else return detail::idle_units::shift_for(geometry.stride(), detail::system_pages::bytes_here());
    }
    static constexpr std::size_t column_bytes(std::size_t blocks, const auto& geometry) noexcept {
      return bitmap_type::bytes(blocks, page_words(geometry), unit_shift(geometry));
    }
    void open(std::byte* column, std::size_t blocks, const auto& geometry) noexcept {
      bitmap.open(column, blocks, page_words(geometry), unit_shift(geometry));
    }
    bitmap_type bitmap;
  };

  template <class Traits>
  using list = detail::page_local_list<Traits, per_chunk<Traits>, Prefetch, Front>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_REUSE_PAGE_LOCAL_REUSE_H_
