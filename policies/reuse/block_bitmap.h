// The blocks of a chunk that are free and in no front: a bit for each, outside the blocks, in levels.
//
//   set     | a bit for each page  |                  pages with a free block: page_set
//   pages   | word, word, ... |                       a word for each page: which of its words have a free block
//   words   | 64 blocks | 64 blocks | ...             a bit for each block
//
// So the lowest free block of a page is found by a few zero counts, however few are free, and no block is touched. If pages of
// memory go back to the system, idle_units (page_local_reuse.h) adds three parts.
//
// Also here: fullness_shelves, which sorts chunks by how many of their blocks are free; and each_marked_word(), from blocks to
// their bits.
#ifndef TARN_POLICIES_REUSE_BLOCK_BITMAP_H_
#define TARN_POLICIES_REUSE_BLOCK_BITMAP_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// A set of numbers from 0 on, of which the lowest is found in O(log). There is a bit for each, and over every 64 words of bits
/// a word that says which of them aren't 0.
///
///   top     | . . 1 1 |
///   ...
///   words   | ... | ... | 64 numbers | 64 numbers |
///
/// \tparam Word  std::uint64_t, or what counts its uses
template <class Word = std::uint64_t>
class page_set {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// Words for numbers under `limit`, which isn't 0.
  static constexpr std::size_t words(std::size_t limit) noexcept {
    std::size_t all = 0;
    for (unsigned level = 0;; ++level) {
      all += words_of(level, limit);
      if (words_of(level, limit) == 1) return all;
    }
  }
  /// Touches no word; prepare() does.
  void open(Word* start, std::size_t limit) noexcept {
    words_ = start;
    limit_ = limit;
    top_ = start + words(limit) - 1;
    for (height_ = 0; words_of(height_, limit) != 1;) ++height_;
  }
  /// Called for each number, in ascending order, before it is used: so only what is used is cleared.
  void prepare(std::size_t number) noexcept {
    Word* base = words_;
    for (unsigned level = 0; number % 64 == 0; base += words_of(level++, limit_)) {
      number /= 64;
      base[number] = 0;
      if (level == height_) return;
    }
  }
  void insert(std::size_t number) noexcept {
    Word* base = words_;
    for (unsigned level = 0;; base += words_of(level++, limit_)) {
      Word& word = base[number / 64];
      const std::uint64_t before = word;
      word = before | std::uint64_t{1} << number % 64;
      if (before != 0 || level == height_) return;  // the levels above are set already
      number /= 64;
    }
  }
  void take_out(std::size_t number) noexcept {
    Word* base = words_;
    for (unsigned level = 0;; base += words_of(level++, limit_)) {
      Word& word = base[number / 64];
      const std::uint64_t after = word & ~(std::uint64_t{1} << number % 64);
      word = after;
      if (after != 0 || level == height_) return;
      number /= 64;
    }
  }
  /// The lowest number, or none. Numbers from `prepared` on weren't prepared; even if the words were overwritten, it reads no
  /// others and returns none of those.
  std::size_t lowest(std::size_t prepared) const noexcept {
    if (prepared == 0) return none;
    std::size_t number = 0;
    const Word* base = top_;
    for (unsigned level = height_;; base -= words_of(--level, limit_)) {
      const std::uint64_t word = base[number];
      if (word == 0) return none;
      number = number * 64 + static_cast<std::size_t>(std::countr_zero(word));
      if (number > (prepared - 1) >> 6 * level) return none;
      if (level == 0) return number;
    }
  }

 private:
  static constexpr std::size_t words_of(unsigned level, std::size_t limit) noexcept {
    return ((limit - 1) >> 6 * (level + 1)) + 1;
  }

  Word* words_ = nullptr;
  Word* top_ = nullptr;
  std::size_t limit_ = 0;
  unsigned height_ = 0;  // levels above the lowest
};

/// Of a chunk whose pages of memory stay.
struct no_units {
  static constexpr std::size_t words(std::size_t, unsigned) noexcept { return 0; }
  void open(std::uint64_t*, std::size_t, unsigned) noexcept {}
  void forget() noexcept {}
  void prepare(std::size_t) noexcept {}
  void changed(const std::uint64_t*, std::size_t, std::size_t, std::uint64_t, std::uint64_t) noexcept {}
  static constexpr std::uint64_t decommitted_in(std::size_t) noexcept { return 0; }
  static constexpr bool is_decommitted(std::size_t) noexcept { return false; }
  static constexpr std::size_t decommitted() noexcept { return 0; }
};

/// \tparam Units  no_units or idle_units
template <class Units = no_units>
class block_bitmap {
  using word = std::uint64_t;

 public:
  static constexpr std::size_t word_blocks = 64;

  /// \param page_words  words of a page: 1, 2, 4 ... 64
  /// \param unit_shift  blocks of a unit, if units can go, as a power of two
  static constexpr std::size_t bytes(std::size_t blocks, std::size_t page_words, unsigned unit_shift = 0) noexcept {
    const std::size_t words = blocks / word_blocks + 1;
    const std::size_t pages = words / page_words + 1;
    return (words + pages + page_set<word>::words(pages) + Units::words(words, unit_shift)) * sizeof(word);
  }
  void open(std::byte* start, std::size_t blocks, std::size_t page_words, unsigned unit_shift = 0) noexcept {
    const std::size_t words = blocks / word_blocks + 1;
    const std::size_t pages = words / page_words + 1;
    words_ = reinterpret_cast<word*>(start);
    pages_ = words_ + words;
    set_.open(pages_ + pages, pages);
    units_.open(pages_ + pages + page_set<word>::words(pages), words, unit_shift);
    page_shift_ = static_cast<unsigned>(std::countr_zero(page_words));
    forget();
  }
  void forget() noexcept {
    free_ = ready_ = page_ = 0;
    units_.forget();
  }

  /// Free blocks whose memory wasn't freed.
  std::size_t free_blocks() const noexcept { return free_; }
  bool is_free(std::size_t block) const noexcept {
    const std::size_t w = block / word_blocks;
    return w < ready_ && ((words_[w] >> block % word_blocks & 1) != 0 || units_.is_decommitted(block));
  }
  /// Which blocks of word `w` are free, whether or not their memory was freed.
  word free_in(std::size_t w) const noexcept { return w < ready_ ? words_[w] | units_.decommitted_in(w) : 0; }
  const Units& units() const noexcept { return units_; }
  void prefetch(std::size_t w) const noexcept { prefetch_for_write(words_ + w); }

  /// Marks the blocks of word `w` that have a bit in `mask` as free: `n` of them.
  void mark(std::size_t w, word mask, std::size_t n) noexcept {
    while (ready_ <= w) clear_next();
    const word before = words_[w];
    words_[w] = before | mask;
    units_.changed(words_, ready_, w, before, units_.decommitted_in(w));
    show(w);
    free_ += n;
  }

  /// Takes up to `n` free blocks: calls visit(block's number), ascending within a page. It stays with a page until that is used
  /// up, then continues with the lowest one. Returns how many. If the bitmap was overwritten, it may visit blocks that aren't
  /// free, and lose some, but accesses nothing outside itself.
  template <class Visit>
  std::size_t take(std::size_t n, Visit visit) noexcept {
    std::size_t got = 0;
    while (got < n && got < free_) {
      if (pages_[page_] == 0 && !find_page()) {
        free_ = got;
        break;
      }
      word& page = pages_[page_];
      const std::size_t w = (page_ << page_shift_) + lowest(page);
      word bits = 0;
      if (w < ready_) [[likely]] {
        const word before = bits = words_[w];
        for (; bits != 0 && got != n; bits &= bits - 1, ++got) visit(w * word_blocks + lowest(bits));
        words_[w] = bits;
        units_.changed(words_, ready_, w, before, units_.decommitted_in(w));
      }
      if (bits == 0) page &= page - 1;
      if (page == 0) set_.take_out(page_);
    }
    free_ -= smaller(got, free_);
    return got;
  }

  // ---- pages of memory that go back ---------------------------------------------------------------------------------------

  /// Neighbouring idle units: the lowest and those behind it, in at most `most` blocks if that is a unit or more. `blocks` 0:
  /// no unit is idle.
  /// \param from  a block; units below it don't count
  struct run {
    std::size_t first = 0;
    std::size_t blocks = 0;
  };
  run idle_run(std::size_t from, std::size_t most) const noexcept {
    const std::size_t unit = std::size_t{1} << units_.shift();
    const std::size_t end = ready_ * word_blocks;
    const auto idle_at = [&](std::size_t at) {
      return at + unit <= end && units_.is_idle(words_, ready_, at >> units_.shift());
    };
    run found{from == 0 ? units_.lowest_idle(words_, ready_) << units_.shift() : round_up(from, unit), 0};
    while (found.first + unit <= end && !idle_at(found.first)) found.first += unit;
    while (idle_at(found.first + found.blocks) && (found.blocks == 0 || found.blocks + unit <= most)) found.blocks += unit;
    return found;
  }
  /// The memory of free blocks is freed: they aren't taken before recommit(). For some of them this may have happened before.
  /// Returns for how many it hadn't.
  std::size_t decommit(run of) noexcept {
    const std::size_t before = free_;
    while (of.blocks != 0) {
      const std::size_t bit = of.first % word_blocks;
      const std::size_t n = smaller(of.blocks, word_blocks - bit);
      decommit(of.first / word_blocks, ~word{0} >> (word_blocks - n) << bit);
      of.first += n;
      of.blocks -= n;
    }
    return before - free_;
  }
  /// The decommitted blocks of a word can be taken again. Returns how many.
  std::size_t recommit(std::size_t w) noexcept {
    const word before = words_[w];
    const word gone = units_.decommitted_in(w);
    units_.recommit(w);
    words_[w] = before | gone;
    units_.changed(words_, ready_, w, before, gone);
    const auto n = static_cast<std::size_t>(std::popcount(gone));
    if (n != 0) show(w);
    free_ += n;
    return n;
  }
  /// The lowest word with decommitted blocks, or page_set::none.
  std::size_t lowest_decommitted() const noexcept { return units_.lowest_decommitted(ready_); }

 private:
  /// Notes in its page that word `w` has a free block.
  void show(std::size_t w) noexcept {
    const std::size_t page = w >> page_shift_;
    pages_[page] |= word{1} << (w - (page << page_shift_));
    set_.insert(page);
  }
  void decommit(std::size_t w, word mask) noexcept {
    const word before = words_[w];
    const word gone = units_.decommitted_in(w);
    units_.decommit(w, before & mask);
    words_[w] = before & ~mask;
    units_.changed(words_, ready_, w, before, gone);
    free_ -= static_cast<std::size_t>(std::popcount(before & mask));
    if (words_[w] != 0) return;
    const std::size_t page = w >> page_shift_;
    pages_[page] &= ~(word{1} << (w - (page << page_shift_)));
    if (pages_[page] == 0) set_.take_out(page);
  }
  static std::size_t lowest(word bits) noexcept { return static_cast<std::size_t>(std::countr_zero(bits)); }

  /// Goes to the lowest page with a free block. Returns whether there is one.
  bool find_page() noexcept {
    const std::size_t pages = ready_ == 0 ? 0 : ((ready_ - 1) >> page_shift_) + 1;
    const std::size_t found = set_.lowest(pages);
    if (found == set_.none) return false;
    page_ = found;
    return true;
  }
  /// A word is cleared when one of its blocks is freed for the first time, so opening a chunk of a million blocks costs no more
  /// than one block.
  void clear_next() noexcept {
    words_[ready_] = 0;
    units_.prepare(ready_);
    const std::size_t page = ready_ >> page_shift_;
    if (ready_ == page << page_shift_) {
      pages_[page] = 0;
      set_.prepare(page);
    }
    ++ready_;
  }

  word* words_ = nullptr;
  word* pages_ = nullptr;
  page_set<word> set_;  // of pages
  TARN_NO_UNIQUE_ADDRESS Units units_;
  unsigned page_shift_ = 0;  // words of a page, as a power of two: a division would take longer than all the rest
  std::size_t free_ = 0;   // blocks
  std::size_t ready_ = 0;  // words that are in use
  std::size_t page_ = 0;   // from which blocks are taken
};

// ---- chunks with free blocks, on shelves by how full they are ---------------------------------------------------------
//
// Blocks are taken from the fullest, so that others can become empty.

/// What a chunk keeps for its shelf.
/// \tparam Set  which of several sets of shelves, if a chunk is in more than one
template <class Node, int Set = 0>
struct shelved {
  static constexpr unsigned nowhere = static_cast<unsigned>(-1);

  Node* above = nullptr;
  Node* below = nullptr;
  unsigned shelf_and_one = 0;  // so that a new one is all zero
};

/// Shelf 0 has the empty chunks, shelves 1 to 16 the others by sixteenths. Every operation is O(1).
/// \tparam Node  derived from shelved<Node, Set>
template <class Node, int Set = 0>
class fullness_shelves {
  using place = shelved<Node, Set>;

 public:
  /// The shelf of a chunk of `blocks`, of which `used` aren't free.
  static constexpr unsigned shelf_for(std::size_t used, std::size_t blocks) noexcept {
    if (used == 0) return 0;
    const auto width = static_cast<unsigned>(std::bit_width(blocks));
    return 1 + static_cast<unsigned>(used >> (width > 4 ? width - 4 : 0));
  }

  /// The newest chunk on the fullest shelf, or null.
  Node* fullest() const noexcept { return filled_ == 0 ? nullptr : first_[static_cast<unsigned>(std::bit_width(filled_)) - 1]; }
  Node* empty() const noexcept { return first_[0]; }
  std::size_t empties() const noexcept { return empties_; }
  /// The newest chunk on the shelf of the fewest blocks in use, or null. Empty ones don't count.
  Node* emptiest_in_use() const noexcept {
    const std::uint32_t in_use = filled_ & ~std::uint32_t{1};
    return in_use == 0 ? nullptr : first_[static_cast<unsigned>(std::countr_zero(in_use))];
  }

  /// place::nowhere: on none.
  static unsigned shelf_of(const Node& node) noexcept { return static_cast<const place&>(node).shelf_and_one - 1; }
  /// Puts a chunk on a shelf, wherever it was before.
  void put(Node& node, unsigned shelf) noexcept {
    place& its = node;
    if (its.shelf_and_one == shelf + 1) return;
    remove(node);
    its.shelf_and_one = shelf + 1;
    its.above = nullptr;
    its.below = first_[shelf];
    if (its.below != nullptr) place_of(its.below).above = detail::pointer_to(node);
    first_[shelf] = detail::pointer_to(node);
    filled_ |= 1u << shelf;
    if (shelf == 0) ++empties_;
  }
  void remove(Node& node) noexcept {
    place& its = node;
    const unsigned shelf = shelf_of(node);
    if (shelf == place::nowhere) return;
    (its.above != nullptr ? place_of(its.above).below : first_[shelf]) = its.below;
    if (its.below != nullptr) place_of(its.below).above = its.above;
    if (first_[shelf] == nullptr) filled_ &= ~(1u << shelf);
    if (shelf == 0) --empties_;
    its.shelf_and_one = 0;
  }

 private:
  static place& place_of(Node* node) noexcept { return *node; }

  Node* first_[17] = {};
  std::uint32_t filled_ = 0;  // a bit for each shelf
  std::size_t empties_ = 0;
};

// ---- from blocks to their bits ----------------------------------------------------------------------------------------

/// A chunk, and where its blocks are, because the next block is often in the same chunk.
template <class Chunks>
class block_places {
 public:
  using chunk = typename Chunks::chunk;
  struct place {
    chunk* c;
    std::size_t slot;

    std::size_t word_of_slot() const noexcept { return slot / block_bitmap<>::word_blocks; }
    std::uint64_t bit_of_slot() const noexcept { return std::uint64_t{1} << slot % block_bitmap<>::word_blocks; }
  };

  explicit block_places(Chunks& chunks) noexcept : chunks_(chunks) {}

  /// `block` is any address if the pool checks what leaves, otherwise a block.
  place of(const void* block) noexcept {
    if (address_of(block) - first_ >= bytes_) {
      last_ = chunks_.find(block);
      if constexpr (Chunks::checks_leaving || Chunks::may_lose_chunks) {
        if (last_ == nullptr) return bytes_ = 0, place{};
      }
      first_ = address_of(last_->first) + chunks_.geometry().offset();
      bytes_ = chunks_.geometry().extent(last_->blocks);
    }
    return {last_, chunks_.geometry().slot_at(address_of(block) - first_)};
  }

  // If the pool checks what leaves: an address that fails a check is given to leaves_wrong().

  /// Whether a block that was ever allocated starts there. If not, clears the place.
  TARN_STEP bool is_block(const void* block, place& at) noexcept {
    if (at.c != nullptr && at.slot < at.c->carved) return true;
    chunks_.leaves_wrong(block, at.c == nullptr ? misuse_kind::foreign_pointer : misuse_kind::interior_pointer);
    at.c = nullptr;
    return false;
  }
  /// \param again  its bit already waits to be marked
  TARN_STEP bool is_in_use(const void* block, const place& at, bool again) noexcept {
    if (!again && !at.c->bitmap.is_free(at.slot)) return true;
    chunks_.leaves_wrong(block, misuse_kind::double_free);
    return false;
  }

 private:
  Chunks& chunks_;
  chunk* last_ = nullptr;
  std::uintptr_t first_ = 0;
  std::size_t bytes_ = 0;
};

/// Calls mark(chunk, word, mask, blocks) for the blocks' bits: one call for neighbours in one word, which makes frees in order
/// a sixth faster. If the pool checks what leaves, an address that isn't a block, or is already free, isn't marked but passed
/// to leaves_wrong(). Nulls are skipped. A group of blocks is looked up first and marked afterwards, so that the words of the
/// bitmaps arrive in between. Frees in random order then take 12.5 instead of 15 to 20 ns (Xeon with 2 MiB of L2).
template <class Chunks, class Mark>
void each_marked_word(Chunks& chunks, void* const* blocks, std::size_t n, Mark mark) noexcept {
  constexpr std::size_t group = 16;
  constexpr bool may_miss = Chunks::checks_leaving || Chunks::may_lose_chunks;
  typename Chunks::chunk* c = nullptr;
  std::size_t word = 0;
  std::uint64_t mask = 0;
  std::size_t marked = 0;
  const auto commit = [&] {
    if (marked != 0) mark(*c, word, mask, marked);
    mask = marked = 0;
  };
  block_places<Chunks> find(chunks);
  while (n != 0) {
    typename block_places<Chunks>::place at[group];
    const void* looked_up[group];
    std::size_t found = 0;
    for (const std::size_t later = n - smaller(group, n); n != later; --n, ++blocks) {
      if (*blocks == nullptr) [[unlikely]] continue;
      at[found] = find.of(*blocks);
      if constexpr (Chunks::checks_leaving) find.is_block(*blocks, at[found]);  // clears the place if it isn't
      if (may_miss && at[found].c == nullptr) [[unlikely]] continue;
      at[found].c->bitmap.prefetch(at[found].word_of_slot());
      looked_up[found++] = *blocks;
    }
    for (std::size_t i = 0; i != found; ++i) {
      if constexpr (Chunks::checks_leaving) {
        const bool again = at[i].c == c && at[i].word_of_slot() == word && (mask & at[i].bit_of_slot()) != 0;
        if (!find.is_in_use(looked_up[i], at[i], again)) continue;
      }
      if (at[i].c != c || at[i].word_of_slot() != word) {
        commit();
        c = at[i].c;
        word = at[i].word_of_slot();
      }
      mask |= at[i].bit_of_slot();
      ++marked;
    }
  }
  commit();
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_BLOCK_BITMAP_H_
