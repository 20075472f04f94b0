// Which blocks of a chunk are free and in no front: a bit for each, outside the blocks, in levels.
//
//   set     | a bit for each page  |                  pages with a free block: page_set.h
//   pages   | word, word, ... |                       a word for each page: which of its words have a free block
//   words   | 64 blocks | 64 blocks | ...             a bit for each block
//
// So the lowest free block of a page is a few zero counts away, however few are free, and no block is touched. Where pages of
// memory go back to the system, idle_units.h has three more parts.
#ifndef TARN_POLICIES_REUSE_DETAIL_BLOCK_BITMAP_H_
#define TARN_POLICIES_REUSE_DETAIL_BLOCK_BITMAP_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/reuse/detail/page_set.h"

namespace tarn::detail {

/// Of a chunk whose pages of memory stay.
struct no_units {
  static constexpr std::size_t words(std::size_t, unsigned) noexcept { return 0; }
  void open(std::uint64_t*, std::size_t, unsigned) noexcept {}
  void forget() noexcept {}
  void prepare(std::size_t) noexcept {}
  void changed(const std::uint64_t*, std::size_t, std::size_t, std::uint64_t, std::uint64_t) noexcept {}
  static constexpr std::uint64_t gone_in(std::size_t) noexcept { return 0; }
  static constexpr bool is_gone(std::size_t) noexcept { return false; }
  static constexpr std::size_t gone() noexcept { return 0; }
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

  /// Free blocks whose memory hasn't gone back.
  std::size_t free_blocks() const noexcept { return free_; }
  bool is_free(std::size_t block) const noexcept {
    const std::size_t w = block / word_blocks;
    return w < ready_ && ((words_[w] >> block % word_blocks & 1) != 0 || units_.is_gone(block));
  }
  const Units& units() const noexcept { return units_; }
  void prefetch(std::size_t w) const noexcept { prefetch_for_write(words_ + w); }

  /// Marks the blocks of word `w` that have a bit in `mask` as free: `n` of them.
  void mark(std::size_t w, word mask, std::size_t n) noexcept {
    while (ready_ <= w) clear_next();
    const word before = words_[w];
    words_[w] = before | mask;
    units_.changed(words_, ready_, w, before, units_.gone_in(w));
    show(w);
    free_ += n;
  }

  /// Takes up to `n` free blocks: calls visit(block's number), ascending within a page. It stays with a page until that is used
  /// up, then continues with the lowest one. Returns how many. If the bitmap was overwritten, it may name blocks that aren't
  /// free, and lose some, but goes nowhere else.
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
        units_.changed(words_, ready_, w, before, units_.gone_in(w));
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
  /// The memory of free blocks goes: they aren't taken before they come back. Some of them may have gone before. Returns how
  /// many had not.
  std::size_t leave(run of) noexcept {
    const std::size_t before = free_;
    while (of.blocks != 0) {
      const std::size_t bit = of.first % word_blocks;
      const std::size_t n = smaller(of.blocks, word_blocks - bit);
      leave(of.first / word_blocks, ~word{0} >> (word_blocks - n) << bit);
      of.first += n;
      of.blocks -= n;
    }
    return before - free_;
  }
  /// The blocks of a word that have gone are free again. Returns how many.
  std::size_t come_back(std::size_t w) noexcept {
    const word before = words_[w];
    const word gone = units_.gone_in(w);
    units_.take_gone(w);
    words_[w] = before | gone;
    units_.changed(words_, ready_, w, before, gone);
    const auto n = static_cast<std::size_t>(std::popcount(gone));
    if (n != 0) show(w);
    free_ += n;
    return n;
  }
  /// The lowest word of which blocks have gone, or page_set::none.
  std::size_t lowest_gone() const noexcept { return units_.lowest_gone(ready_); }

 private:
  /// Its page knows that word `w` has a free block.
  void show(std::size_t w) noexcept {
    const std::size_t page = w >> page_shift_;
    pages_[page] |= word{1} << (w - (page << page_shift_));
    set_.insert(page);
  }
  void leave(std::size_t w, word mask) noexcept {
    const word before = words_[w];
    const word gone = units_.gone_in(w);
    units_.put_gone(w, before & mask);
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
  /// A word is cleared when one of its blocks is given back for the first time, so that a chunk of a million blocks costs no
  /// more than one.
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
  unsigned page_shift_ = 0;  // words of a page, as a power of two: a division by their number takes longer than all the rest
  std::size_t free_ = 0;   // blocks
  std::size_t ready_ = 0;  // words that are in use
  std::size_t page_ = 0;   // from which blocks are taken
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_BLOCK_BITMAP_H_
