// A set of numbers from 0 on, of which the lowest is found in O(log): a bit for each, and over every 64 words of bits a word
// that says which of them aren't 0.
//
//   top     | . . 1 1 |
//   ...
//   words   | ... | ... | 64 numbers | 64 numbers |
#ifndef TARN_POLICIES_REUSE_DETAIL_PAGE_SET_H_
#define TARN_POLICIES_REUSE_DETAIL_PAGE_SET_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tarn::detail {

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
  /// Touches no word: prepare() does.
  void open(Word* start, std::size_t limit) noexcept {
    words_ = start;
    limit_ = limit;
    top_ = start + words(limit) - 1;
    for (height_ = 0; words_of(height_, limit) != 1;) ++height_;
  }
  /// Called for each number, in ascending order, before it is used: so no more is cleared than what is used.
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
      if (before != 0 || level == height_) return;  // those above know
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
  /// The lowest number, or none. Numbers from `prepared` on weren't prepared: if the words were overwritten, it still reads no
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

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_PAGE_SET_H_
