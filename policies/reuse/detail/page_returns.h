// What page_local_reuse adds for a retention policy whose pages of memory go back while their chunk stays: which chunks have
// idle units and which blocks have gone, how much is idle, and whether the pool has become thin.
//
//   idle shelves   chunks with idle units, by fullness: the emptiest gives first
//   gone shelves   chunks of which blocks have gone: the fullest takes back first
//
// A thin pool is one whose blocks in use lie far apart, so that pages hardly become idle. Nothing moves them, but a block that
// is freed and allocated again could move to a fuller chunk, if it weren't the same block: the front hands out what was freed
// last. So while the pool is thin, there is no front. That costs some 15 ns a call, so it ends once 16 times as many blocks
// came and went as are in use, whether or not it has helped.
#ifndef TARN_POLICIES_REUSE_DETAIL_PAGE_RETURNS_H_
#define TARN_POLICIES_REUSE_DETAIL_PAGE_RETURNS_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system_pages.h"
#include "tarn/policies/reuse/detail/block_bitmap.h"
#include "tarn/policies/reuse/detail/fullness_shelves.h"
#include "tarn/policies/reuse/detail/idle_units.h"

namespace tarn::detail {

/// What a chunk keeps of it.
template <class Column>
struct page_counts : shelved<Column, 1>, shelved<Column, 2> {
  std::size_t counted_idle = 0;  // blocks, as the list has counted them
  std::size_t counted_free = 0;
};
struct no_page_counts {};

/// For a pool whose pages stay.
struct no_page_returns {
  template <class Chunk>
  TARN_STEP static void shelve(Chunk&, unsigned) noexcept {}
  template <class Chunk>
  TARN_STEP static void remove(Chunk&) noexcept {}
  TARN_STEP static constexpr bool is_thinned() noexcept { return false; }
  TARN_STEP static constexpr bool goes_on(std::size_t, std::size_t) noexcept { return false; }
};

/// \tparam Column  of a chunk: page_counts, and `bitmap`
template <class Traits, class Column>
class page_returns {
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;
  using retention = typename Traits::retention;
  static constexpr std::size_t most_bytes_at_once = 4 * 1024 * 1024;  // the others wait for the growth guard meanwhile

 public:
  /// Blocks were marked or taken. `shelf`: by fullness.
  void shelve(chunk& c, unsigned shelf) noexcept {
    const auto& units = c.bitmap.units();
    const std::size_t idle = c.from_second ? 0 : units.idle() << units.shift();  // a second store's pages stay
    idle_ += idle - c.counted_idle;
    free_ += c.bitmap.free_blocks() - c.counted_free;
    c.counted_idle = idle;
    c.counted_free = c.bitmap.free_blocks();
    if (c.counted_idle != 0) idle_shelves_.put(c, shelf);
    else idle_shelves_.remove(c);
    if (units.gone() != 0) gone_shelves_.put(c, shelf);
    else gone_shelves_.remove(c);
  }
  /// The chunk goes back to the store.
  void remove(chunk& c) noexcept {
    idle_ -= detail::replace(c.counted_idle, 0);
    free_ -= detail::replace(c.counted_free, 0);
    idle_shelves_.remove(c);
    gone_shelves_.remove(c);
  }

  // ---- idle pages --------------------------------------------------------------------------------------------------------

  /// Whether more is idle than the retention policy keeps. Once it is, until half of that is.
  bool is_surplus(const chunks_type& chunks, std::size_t in_use) noexcept {
    const std::size_t bytes = idle_bytes(chunks);
    const std::size_t most = retention::most_idle(in_use * chunks.geometry().stride());
    if (bytes > most && bytes > put_off_) returning_ = true;
    if (bytes <= most / 2) returning_ = false;
    put_off_ = smaller(put_off_, worth_a_try(bytes));
    return returning_;
  }
  /// Takes blocks whose pages are to go out of the bitmaps: `runs`, each with its chunk, at most `n`, from the emptiest
  /// chunks. Returns how many. They count as gone at once; since whoever takes blocks that have gone holds the
  /// growth guard, as the caller does, nobody uses one before its pages went.
  template <class Shelve>
  std::size_t take_idle(chunks_type& chunks, memory* runs, chunk** of, std::size_t n, Shelve shelve) noexcept {
    std::size_t got = 0;
    std::size_t bytes = 0;
    while (got != n && bytes < most_bytes_at_once) {
      Column* const column = idle_shelves_.emptiest_in_use();
      if (column == nullptr) break;
      chunk& c = static_cast<chunk&>(*column);
      runs[got] = take_run(chunks, c, most_bytes_at_once - bytes);
      const bool none = !runs[got];
      shelve(c);
      if (none) {
        idle_shelves_.remove(c);  // until something of it changes
        continue;
      }
      of[got] = detail::pointer_to(c);
      bytes += runs[got++].bytes;
    }
    if (got == 0) put_off(chunks);
    return got;
  }
  /// The system didn't take the run: its blocks are as they were.
  template <class Shelve>
  void put_back(chunks_type& chunks, memory run, chunk& c, Shelve shelve) noexcept {
    const auto& g = chunks.geometry();
    const std::size_t from = address_of(run.start) - address_of(c.first);
    const std::size_t last = g.slot_around(from + run.bytes - 1) / block_bitmap<>::word_blocks;
    for (std::size_t w = g.slot_around(from) / block_bitmap<>::word_blocks; w <= last; ++w) c.bitmap.come_back(w);
    shelve(c);
    put_off(chunks);
  }
  /// Blocks that have gone may be taken again: those of a word, of the fullest chunk. Returns whether there were some.
  template <class Shelve>
  bool come_back(Shelve shelve) noexcept {
    Column* const column = gone_shelves_.fullest();
    if (column == nullptr) return false;
    chunk& c = static_cast<chunk&>(*column);
    const std::size_t w = c.bitmap.lowest_gone();
    if (w == idle_units::none || c.bitmap.come_back(w) == 0) return gone_shelves_.remove(c), false;  // it was overwritten
    shelve(c);
    return true;
  }
  /// Free blocks in memory, but for those in the front.
  std::size_t free_blocks() const noexcept { return free_; }

  // ---- a thin pool -------------------------------------------------------------------------------------------------------

  bool is_thinned() const noexcept { return thinning_; }
  /// Whether the pool has become thin: fewer than two thirds of the blocks in memory are in use.
  bool becomes_thin(const chunks_type& chunks, std::size_t in_use) noexcept {
    const bool thin = free_ > in_use / 2 && free_ * chunks.geometry().stride() > retention::most_idle(0);
    if (!thin || in_use < tried_at_ / 2) tried_at_ = 0;
    thinning_ = thin && tried_at_ == 0;
    effort_ = 0;
    return thinning_;
  }
  /// Blocks came or went without a front. Returns whether the pool is still thinned.
  bool goes_on(std::size_t in_use, std::size_t blocks) noexcept {
    if (free_ <= in_use / 4) thinning_ = false;
    if ((effort_ += blocks) / 16 > in_use) {
      thinning_ = false;
      tried_at_ = larger(in_use, 1);
    }
    return thinning_;
  }

 private:
  std::size_t idle_bytes(const chunks_type& chunks) const noexcept {
    return idle_ * chunks.geometry().stride();
  }
  /// A quarter more than `idle` bytes, and as much more as may be idle in any case.
  static std::size_t worth_a_try(std::size_t idle) noexcept { return idle + larger(idle / 4, retention::most_idle(0)); }
  /// Nothing went: no other is tried before so much is idle.
  void put_off(const chunks_type& chunks) noexcept {
    put_off_ = worth_a_try(idle_bytes(chunks));
    returning_ = false;
  }
  /// Addresses of a chunk's blocks and pages.
  struct places {
    std::uintptr_t start;  // of slot 0
    std::size_t page;      // bytes
    const typename Traits::geometry& g;

    std::uintptr_t of(std::size_t slot) const noexcept { return start + g.distance(slot); }
    std::uintptr_t end_of(std::size_t slot) const noexcept { return of(slot) + g.stride(); }
    std::uintptr_t page_of(std::uintptr_t at) const noexcept { return at & ~(std::uintptr_t{page} - 1); }
  };
  /// The whole pages of a chunk's lowest idle units, whose blocks go. Null: there is no such unit, or no whole page in it.
  /// Where nothing more of a unit can go, since a page at its end is in use, its other blocks count as gone, too: so it is
  /// looked at once, and not as idle.
  memory take_run(chunks_type& chunks, chunk& c, std::size_t most) noexcept {
    const places at{address_of(c.first), system_pages::page_bytes(), chunks.geometry()};
    for (std::size_t next = 0;;) {
      const auto run = c.bitmap.idle_run(next, most / at.g.stride());
      if (run.blocks == 0) return {};
      next = run.first + run.blocks;
      // A block that lies in two pages goes with both, if it is free.
      std::size_t first = run.first;
      std::size_t last = next;
      while (first != 0 && at.of(first) > at.page_of(at.of(run.first)) && c.bitmap.is_free(first - 1)) --first;
      const std::uintptr_t edge = at.page_of(at.end_of(next - 1) + at.page - 1);
      while (last != c.carved && at.end_of(last - 1) < edge && c.bitmap.is_free(last)) ++last;

      const std::uintptr_t from = at.page_of(at.of(first) + at.page - 1);
      const std::uintptr_t to = at.page_of(at.end_of(last - 1));
      if (from >= to) {
        c.bitmap.leave(run);
        continue;
      }
      first = at.g.slot_around(from - at.start);
      if (c.bitmap.leave({first, at.g.slot_around(to - 1 - at.start) + 1 - first}) == 0) {
        c.bitmap.leave(run);
        continue;
      }
      return {c.first + (from - at.start), to - from};
    }
  }

  fullness_shelves<Column, 1> idle_shelves_;
  fullness_shelves<Column, 2> gone_shelves_;
  std::size_t idle_ = 0;     // blocks in idle units of all chunks
  std::size_t free_ = 0;     // blocks in all bitmaps, in memory
  std::size_t put_off_ = 0;  // bytes: no less is given back
  std::size_t effort_ = 0;   // blocks that came or went since it became thin
  std::size_t tried_at_ = 0;  // blocks in use when thinning it was given up; 0: it wasn't
  bool returning_ = false;
  bool thinning_ = false;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_PAGE_RETURNS_H_
