// Which blocks of a chunk are free and in no front: a bit for each, outside the blocks, in levels.
//
//   set     | a bit for each page  |                  pages with a free block: page_set.h
//   pages   | word, word, ... |                       a word for each page: which of its words have a free block
//   words   | 64 blocks | 64 blocks | ...             a bit for each block
//
// So the lowest free block of a page is a few zero counts away, however few are free, and no block is touched.
#ifndef TARN_POLICIES_REUSE_DETAIL_BLOCK_BITMAP_H_
#define TARN_POLICIES_REUSE_DETAIL_BLOCK_BITMAP_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/reuse/detail/page_set.h"

namespace tarn::detail {

class block_bitmap {
  using word = std::uint64_t;

 public:
  static constexpr std::size_t word_blocks = 64;

  /// \param page_words  words of a page: 1, 2, 4 ... 64
  static constexpr std::size_t bytes(std::size_t blocks, std::size_t page_words) noexcept {
    const std::size_t words = blocks / word_blocks + 1;
    const std::size_t pages = words / page_words + 1;
    return (words + pages + page_set<word>::words(pages)) * sizeof(word);
  }
  void open(std::byte* start, std::size_t blocks, std::size_t page_words) noexcept {
    words_ = reinterpret_cast<word*>(start);
    pages_ = words_ + blocks / word_blocks + 1;
    const std::size_t pages = (blocks / word_blocks + 1) / page_words + 1;
    set_.open(pages_ + pages, pages);
    page_shift_ = static_cast<unsigned>(std::countr_zero(page_words));
    forget();
  }
  void forget() noexcept { free_ = ready_ = page_ = 0; }

  std::size_t free() const noexcept { return free_; }
  bool is_free(std::size_t block) const noexcept {
    const std::size_t w = block / word_blocks;
    return w < ready_ && (words_[w] >> block % word_blocks & 1) != 0;
  }
  void prefetch(std::size_t w) const noexcept { prefetch_for_write(words_ + w); }

  /// Marks the blocks of word `w` that have a bit in `mask` as free: `n` of them.
  void mark(std::size_t w, word mask, std::size_t n) noexcept {
    while (ready_ <= w) clear_next();
    words_[w] |= mask;
    const std::size_t page = w >> page_shift_;
    pages_[page] |= word{1} << (w - (page << page_shift_));
    set_.insert(page);
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
        bits = words_[w];
        for (; bits != 0 && got != n; bits &= bits - 1, ++got) visit(w * word_blocks + lowest(bits));
        words_[w] = bits;
      }
      if (bits == 0) page &= page - 1;
      if (page == 0) set_.erase(page_);
    }
    free_ -= smaller(got, free_);
    return got;
  }

 private:
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
  unsigned page_shift_ = 0;  // words of a page, as a power of two: a division by their number takes longer than all the rest
  std::size_t free_ = 0;   // blocks
  std::size_t ready_ = 0;  // words that are in use
  std::size_t page_ = 0;   // from which blocks are taken
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_BLOCK_BITMAP_H_
