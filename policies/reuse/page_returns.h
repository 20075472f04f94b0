// What page_local_reuse adds for a retention policy that frees pages of memory while their chunk stays. It records which chunks
// have idle units, which blocks are decommitted (their memory was freed), how much is idle, and whether the pool is thin.
//
//   idle shelves          chunks with idle units, by fullness: the emptiest is used first
//   decommitted shelves   chunks with decommitted blocks: the fullest is used first
//
// A thin pool is one whose blocks in use are far apart, so that pages hardly ever become idle. Blocks in use can't move, but
// after a free, the next allocation could take a block of a fuller chunk. A front would hand out the block freed last instead.
// So while the pool is thin, it has no front. That costs about 15 ns a call, so it stops after 16 times as many blocks were
// allocated and freed as are in use, whether or not it has helped.
#ifndef TARN_POLICIES_REUSE_PAGE_RETURNS_H_
#define TARN_POLICIES_REUSE_PAGE_RETURNS_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/reuse/block_bitmap.h"

namespace tarn::detail {

// ---- idle units of a chunk --------------------------------------------------------------------------------------------
//
// The free blocks of a chunk's bitmap that fill whole pages of memory, which can go back to the system, and the decommitted
// ones. A unit is the smallest number of neighbours, a power of two, that always covers a page.
//
//   decommitted       | 64 blocks | 64 blocks | ...    a bit for each free block whose memory was freed
//   decommitted set                                    words of `decommitted` that aren't 0: page_set
//   idle set                                           groups with an idle unit: all its blocks are free, and not all are
//                                                      decommitted. A group is a word of the bitmap or, if a unit is larger, a
//                                                      unit
//
// A block that spans two pages counts for the first of them. It doesn't keep the other one.
//
// There are no counts for each unit, because a write to a word shows whether it has become all ones, or was until now. With
// counts and a shelf for each unit, churn took 1.34 times as long (prototype).

class idle_units {
  using word = std::uint64_t;
  using set = page_set<word>;
  static constexpr unsigned word_shift = 6;

 public:
  static constexpr std::size_t none = set::none;

  /// \param page  bytes of a page of memory. Blocks whose size divides it fill units of one page; of others, four pages hold at
  ///              least two whole ones.
  static constexpr unsigned shift_for(std::size_t stride, std::size_t page) noexcept {
    const std::size_t blocks = (page % stride == 0 ? page : 4 * page) / stride;
    return static_cast<unsigned>(std::bit_width(blocks > 1 ? blocks : 1)) - 1;
  }
  static constexpr std::size_t words(std::size_t words, unsigned unit_shift) noexcept {
    return words + set::words(words) + set::words((words >> group_shift(unit_shift)) + 1);
  }
  void open(word* start, std::size_t words, unsigned unit_shift) noexcept {
    decommitted_ = start;
    decommitted_set_.open(start + words, words);
    idle_set_.open(start + words + set::words(words), (words >> group_shift(unit_shift)) + 1);
    unit_shift_ = unit_shift;
    if (unit_shift < word_shift) first_of_units_ = ~word{0} / (~word{0} >> (64 - (1u << unit_shift)));
  }
  void forget() noexcept { idle_ = decommitted_blocks_ = 0; }

  unsigned shift() const noexcept { return unit_shift_; }  // blocks of a unit, as a power of two
  std::size_t idle() const noexcept { return idle_; }      // units
  std::size_t decommitted() const noexcept { return decommitted_blocks_; }  // blocks

  // ---- what the bitmap tells ---------------------------------------------------------------------------------------------

  /// From now on, word `w` is used.
  void prepare(std::size_t w) noexcept {
    decommitted_[w] = 0;
    decommitted_set_.prepare(w);
    if (group_of(w) << group_shift(unit_shift_) == w) idle_set_.prepare(group_of(w));
  }
  /// Word `w` was `before`, and its decommitted blocks `gone`.
  void changed(const word* words, std::size_t ready, std::size_t w, word before, word gone) noexcept {
    if (unit_shift_ >= word_shift) return changed_in_large(words, ready, w, before, gone);
    const word were = idle_in(before, gone);
    const word are = idle_in(words[w], decommitted_in(w));
    if (were == are) return;
    if (were == 0) idle_set_.insert(w);
    if (are == 0) idle_set_.take_out(w);
    idle_ += number_of(are) - number_of(were);
  }
  /// The decommitted blocks of word `w`.
  word decommitted_in(std::size_t w) const noexcept { return decommitted_blocks_ == 0 ? 0 : decommitted_[w]; }

  // ---- idle units --------------------------------------------------------------------------------------------------------

  /// The number of the lowest idle unit of a bitmap whose first `ready` words are used, or one past all of its units.
  std::size_t lowest_idle(const word* words, std::size_t ready) const noexcept {
    const std::size_t group = ready == 0 ? none : idle_set_.lowest(group_of(ready - 1) + 1);
    if (group == none) return (ready << word_shift) + 1;
    if (unit_shift_ >= word_shift) return group;
    const auto bit = static_cast<std::size_t>(std::countr_zero(idle_in(words[group], decommitted_in(group))));
    return ((group << word_shift) + bit) >> unit_shift_;
  }
  /// Precondition: the unit's words are used.
  bool is_idle(const word* words, std::size_t ready, std::size_t unit) const noexcept {
    const std::size_t w = unit << unit_shift_ >> word_shift;
    if (unit_shift_ >= word_shift) return is_idle_large(words, ready, w, words[w], decommitted_in(w));
    return (idle_in(words[w], decommitted_in(w)) >> (unit << unit_shift_) % 64 & 1) != 0;
  }

  // ---- blocks that have gone ---------------------------------------------------------------------------------------------

  void decommit(std::size_t w, word mask) noexcept {
    if (decommitted_[w] == 0) decommitted_set_.insert(w);
    decommitted_[w] |= mask;
    decommitted_blocks_ += number_of(mask);
  }
  /// Takes all of a word's blocks.
  word recommit(std::size_t w) noexcept {
    const word mask = replace(decommitted_[w], word{0});
    if (mask != 0) decommitted_set_.take_out(w);
    decommitted_blocks_ -= number_of(mask);
    return mask;
  }
  /// The lowest word that has some, or none.
  std::size_t lowest_decommitted(std::size_t ready) const noexcept {
    return decommitted_blocks_ == 0 ? none : decommitted_set_.lowest(ready);
  }
  bool is_decommitted(std::size_t block) const noexcept { return (decommitted_[block >> word_shift] >> block % 64 & 1) != 0; }

 private:
  static constexpr unsigned group_shift(unsigned unit_shift) noexcept {
    return unit_shift > word_shift ? unit_shift - word_shift : 0;
  }
  static std::size_t number_of(word bits) noexcept { return static_cast<std::size_t>(std::popcount(bits)); }
  std::size_t group_of(std::size_t w) const noexcept { return w >> group_shift(unit_shift_); }

  /// Of units smaller than a word: the first bit of each whose blocks are all free or decommitted, and not all decommitted.
  word idle_in(word free, word gone) const noexcept { return whole_in(free | gone) & ~(gone == 0 ? 0 : whole_in(gone)); }
  word whole_in(word bits) const noexcept {
    for (unsigned i = 0; i != unit_shift_; ++i) bits &= bits >> (1u << i);
    return bits & first_of_units_;
  }

  void changed_in_large(const word* words, std::size_t ready, std::size_t w, word before, word gone) noexcept {
    const bool was = (before | gone) == ~word{0} && is_idle_large(words, ready, w, before, gone);
    const bool is = (words[w] | decommitted_in(w)) == ~word{0} && is_idle_large(words, ready, w, words[w], decommitted_in(w));
    if (was == is) return;
    if (is) idle_set_.insert(group_of(w));
    else idle_set_.take_out(group_of(w));
    idle_ += is ? std::size_t{1} : static_cast<std::size_t>(-1);
  }
  /// The same of the unit of word `w`, with `free` and `gone` in its place. Words from `ready` on aren't used, and have no free
  /// blocks.
  bool is_idle_large(const word* words, std::size_t ready, std::size_t w, word free, word gone) const noexcept {
    const std::size_t n = std::size_t{1} << group_shift(unit_shift_);
    const std::size_t first = w & ~(n - 1);
    if (first + n > ready) return false;
    word any = free;
    for (std::size_t i = first; i != first + n; ++i) {
      const word its = i == w ? free | gone : words[i] | decommitted_in(i);
      if (its != ~word{0}) return false;
      if (i != w) any |= words[i];
    }
    return any != 0;
  }

  word* decommitted_ = nullptr;
  set decommitted_set_;  // of words
  set idle_set_;  // of groups
  unsigned unit_shift_ = 0;
  word first_of_units_ = 0;  // a bit for each unit of a word
  std::size_t idle_ = 0;         // units
  std::size_t decommitted_blocks_ = 0;
};

/// What a chunk keeps of it.
template <class Column>
struct page_counts : shelved<Column, 1>, shelved<Column, 2> {
  std::size_t counted_idle = 0;  // blocks, as the list has counted them
  std::size_t counted_free = 0;
};
struct no_page_counts {};

/// For a pool whose pages stay.
struct no_page_returns {
  TARN_STEP static void shelve(auto&, unsigned) noexcept {}
  TARN_STEP static void remove(auto&) noexcept {}
  TARN_STEP static constexpr bool is_thinned() noexcept { return false; }
  TARN_STEP static constexpr bool goes_on(std::size_t, std::size_t) noexcept { return false; }
};

/// \tparam Column  of a chunk: page_counts, and `bitmap`
template <class Traits, class Column>
class page_returns {
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;
  using retention = typename Traits::retention;
  static constexpr std::size_t most_bytes_at_once = 4 * 1024 * 1024;  // other threads wait for the growth guard during this

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
    if (units.decommitted() != 0) decommitted_shelves_.put(c, shelf);
    else decommitted_shelves_.remove(c);
  }
  /// The chunk is returned to the store.
  void remove(chunk& c) noexcept {
    idle_ -= detail::replace(c.counted_idle, 0);
    free_ -= detail::replace(c.counted_free, 0);
    idle_shelves_.remove(c);
    decommitted_shelves_.remove(c);
  }

  // ---- idle pages --------------------------------------------------------------------------------------------------------

  /// Whether more is idle than the retention policy keeps. Once it is, this stays true until only half of that is idle.
  bool is_surplus(const chunks_type& chunks, std::size_t in_use) noexcept {
    const std::size_t bytes = idle_bytes(chunks);
    const std::size_t most = retention::most_idle(in_use * chunks.geometry().stride());
    if (bytes > most && bytes > put_off_) returning_ = true;
    if (bytes <= most / 2) returning_ = false;
    put_off_ = smaller(put_off_, worth_a_try(bytes));
    return returning_;
  }
  /// Removes blocks whose pages will be freed from the bitmaps: `runs`, each with its chunk, at most `n`, from the emptiest
  /// chunks. Returns how many. They count as decommitted immediately. A thread that takes decommitted blocks holds the growth
  /// guard, as the caller does, so none is used before its pages are freed.
  std::size_t take_idle(chunks_type& chunks, memory* runs, chunk** of, std::size_t n, auto shelve) noexcept {
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
  /// The system refused the run: its blocks are as before.
  void put_back(chunks_type& chunks, memory run, chunk& c, auto shelve) noexcept {
    const auto& g = chunks.geometry();
    const std::size_t from = address_of(run.start) - address_of(c.first);
    const std::size_t last = g.slot_around(from + run.bytes - 1) / block_bitmap<>::word_blocks;
    for (std::size_t w = g.slot_around(from) / block_bitmap<>::word_blocks; w <= last; ++w) c.bitmap.recommit(w);
    shelve(c);
    put_off(chunks);
  }
  /// Decommitted blocks may be taken again: those of a word, of the fullest chunk. Returns whether there were some.
  bool recommit(auto shelve) noexcept {
    Column* const column = decommitted_shelves_.fullest();
    if (column == nullptr) return false;
    chunk& c = static_cast<chunk&>(*column);
    const std::size_t w = c.bitmap.lowest_decommitted();
    if (w == idle_units::none || c.bitmap.recommit(w) == 0) return decommitted_shelves_.remove(c), false;  // it was overwritten
    shelve(c);
    return true;
  }
  /// Free blocks in memory, except those in the front.
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
  /// Blocks were allocated or freed without a front. Returns whether the pool still has none.
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
  /// A quarter more than `idle` bytes, plus what may be idle in any case.
  static std::size_t worth_a_try(std::size_t idle) noexcept { return idle + larger(idle / 4, retention::most_idle(0)); }
  /// Nothing was freed: the next attempt waits until that much is idle.
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
  /// The whole pages of a chunk's lowest idle units, whose blocks are decommitted. Null: there is no such unit, or no whole
  /// page in it. If a page at the end of a unit is in use, nothing more of the unit can be freed. Its other blocks then count
  /// as decommitted as well, so that it is checked only once and isn't idle.
  memory take_run(chunks_type& chunks, chunk& c, std::size_t most) noexcept {
    const places at{address_of(c.first), system_pages::page_bytes(), chunks.geometry()};
    for (std::size_t next = 0;;) {
      const auto run = c.bitmap.idle_run(next, most / at.g.stride());
      if (run.blocks == 0) return {};
      next = run.first + run.blocks;
      // A free block that spans two pages is freed with both.
      std::size_t first = run.first;
      std::size_t last = next;
      while (first != 0 && at.of(first) > at.page_of(at.of(run.first)) && c.bitmap.is_free(first - 1)) --first;
      const std::uintptr_t edge = at.page_of(at.end_of(next - 1) + at.page - 1);
      while (last != c.carved && at.end_of(last - 1) < edge && c.bitmap.is_free(last)) ++last;

      const std::uintptr_t from = at.page_of(at.of(first) + at.page - 1);
      const std::uintptr_t to = at.page_of(at.end_of(last - 1));
      if (from >= to) {
        c.bitmap.decommit(run);
        continue;
      }
      first = at.g.slot_around(from - at.start);
      if (c.bitmap.decommit({first, at.g.slot_around(to - 1 - at.start) + 1 - first}) == 0) {
        c.bitmap.decommit(run);
        continue;
      }
      return {c.first + (from - at.start), to - from};
    }
  }

  fullness_shelves<Column, 1> idle_shelves_;
  fullness_shelves<Column, 2> decommitted_shelves_;
  std::size_t idle_ = 0;     // blocks in idle units of all chunks
  std::size_t free_ = 0;     // blocks in all bitmaps, in memory
  std::size_t put_off_ = 0;  // bytes: no less is freed
  std::size_t effort_ = 0;   // blocks allocated or freed since it became thin
  std::size_t tried_at_ = 0;  // blocks in use when thinning it was given up; 0: it wasn't
  bool returning_ = false;
  bool thinning_ = false;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_PAGE_RETURNS_H_
