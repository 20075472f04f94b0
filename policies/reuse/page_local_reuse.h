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
#include "tarn/policies/reuse/block_bitmap.h"

// What happens:
//
//   pop           from the array in front
//    pop_slow       blocks of the fullest chunk's bitmap, in order of their addresses, or unused blocks
//   push          onto the array
//    make_room      mark_slice(): some of the older half of the array are marked in the bitmaps. Where chunks go back, flush():
//                   all of that half, and a chunk that becomes empty may go back
//
// If pages of memory go back, not only chunks, page_returns records which chunks have idle units, and which blocks are
// decommitted: their memory was freed. It also knows how much is idle, and whether the pool is thin.
//
//   idle shelves          chunks with idle units, by fullness: the emptiest is used first
//   decommitted shelves   chunks with decommitted blocks: the fullest is used first
//
// A thin pool is one whose blocks in use are far apart, so that pages hardly ever become idle. Blocks in use can't move, but
// after a free, the next allocation could take a block of a fuller chunk. A front would hand out the block freed last instead.
// So while the pool is thin, it has no front. That costs about 15 ns a call, so it stops after 16 times as many blocks were
// allocated and freed as are in use, whether or not it has helped.

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
  std::size_t idle_bytes(const chunks_type& chunks) const noexcept { return idle_ * chunks.geometry().stride(); }
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

  // A thin pool has no front: see above.

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
