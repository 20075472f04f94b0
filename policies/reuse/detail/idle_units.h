// Which free blocks of a chunk's bitmap fill whole pages of memory, so that those can go back to the system, and which have
// gone. A unit is the smallest number of neighbours, a power of two, that always covers a page.
//
//   gone       | 64 blocks | 64 blocks | ...    a bit for each block that is free and whose memory has gone
//   gone set                                    words of `gone` that aren't 0: page_set.h
//   idle set                                    groups with an idle unit: all its blocks are free, and not all have gone. A
//                                               group is a word of the bitmap or, if a unit is larger, a unit
//
// A block that lies in two pages goes with the first of them. It doesn't keep the other one.
//
// Nothing is counted for each unit: that a word has become all ones, or was until now, is seen where it is written. With counts
// and a shelf for each unit, churn took 1.34 times as long (prototype).
#ifndef TARN_POLICIES_REUSE_DETAIL_IDLE_UNITS_H_
#define TARN_POLICIES_REUSE_DETAIL_IDLE_UNITS_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/replace.h"
#include "tarn/policies/reuse/detail/page_set.h"

namespace tarn::detail {

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
    gone_ = start;
    gone_set_.open(start + words, words);
    idle_set_.open(start + words + set::words(words), (words >> group_shift(unit_shift)) + 1);
    unit_shift_ = unit_shift;
    if (unit_shift < word_shift) first_of_units_ = ~word{0} / (~word{0} >> (64 - (1u << unit_shift)));
  }
  void forget() noexcept { idle_ = gone_blocks_ = 0; }

  unsigned shift() const noexcept { return unit_shift_; }  // blocks of a unit, as a power of two
  std::size_t idle() const noexcept { return idle_; }      // units
  std::size_t gone() const noexcept { return gone_blocks_; }  // blocks

  // ---- what the bitmap tells ---------------------------------------------------------------------------------------------

  /// From now on, word `w` is used.
  void prepare(std::size_t w) noexcept {
    gone_[w] = 0;
    gone_set_.prepare(w);
    if (group_of(w) << group_shift(unit_shift_) == w) idle_set_.prepare(group_of(w));
  }
  /// Word `w` was `before`, and what had gone of it `gone`.
  void changed(const word* words, std::size_t ready, std::size_t w, word before, word gone) noexcept {
    if (unit_shift_ >= word_shift) return changed_in_large(words, ready, w, before, gone);
    const word were = idle_in(before, gone);
    const word are = idle_in(words[w], gone_in(w));
    if (were == are) return;
    if (were == 0) idle_set_.insert(w);
    if (are == 0) idle_set_.take_out(w);
    idle_ += number_of(are) - number_of(were);
  }
  /// What has gone of word `w`.
  word gone_in(std::size_t w) const noexcept { return gone_blocks_ == 0 ? 0 : gone_[w]; }

  // ---- idle units --------------------------------------------------------------------------------------------------------

  /// The number of the lowest idle unit of a bitmap whose first `ready` words are used, or one past all of its units.
  std::size_t lowest_idle(const word* words, std::size_t ready) const noexcept {
    const std::size_t group = ready == 0 ? none : idle_set_.lowest(group_of(ready - 1) + 1);
    if (group == none) return (ready << word_shift) + 1;
    if (unit_shift_ >= word_shift) return group;
    const auto bit = static_cast<std::size_t>(std::countr_zero(idle_in(words[group], gone_in(group))));
    return ((group << word_shift) + bit) >> unit_shift_;
  }
  /// Precondition: the unit's words are used.
  bool is_idle(const word* words, std::size_t ready, std::size_t unit) const noexcept {
    const std::size_t w = unit << unit_shift_ >> word_shift;
    if (unit_shift_ >= word_shift) return is_idle_large(words, ready, w, words[w], gone_in(w));
    return (idle_in(words[w], gone_in(w)) >> (unit << unit_shift_) % 64 & 1) != 0;
  }

  // ---- blocks that have gone ---------------------------------------------------------------------------------------------

  void put_gone(std::size_t w, word mask) noexcept {
    if (gone_[w] == 0) gone_set_.insert(w);
    gone_[w] |= mask;
    gone_blocks_ += number_of(mask);
  }
  /// Takes all of a word's blocks.
  word take_gone(std::size_t w) noexcept {
    const word mask = replace(gone_[w], word{0});
    if (mask != 0) gone_set_.take_out(w);
    gone_blocks_ -= number_of(mask);
    return mask;
  }
  /// The lowest word that has some, or none.
  std::size_t lowest_gone(std::size_t ready) const noexcept { return gone_blocks_ == 0 ? none : gone_set_.lowest(ready); }
  bool is_gone(std::size_t block) const noexcept { return (gone_[block >> word_shift] >> block % 64 & 1) != 0; }

 private:
  static constexpr unsigned group_shift(unsigned unit_shift) noexcept {
    return unit_shift > word_shift ? unit_shift - word_shift : 0;
  }
  static std::size_t number_of(word bits) noexcept { return static_cast<std::size_t>(std::popcount(bits)); }
  std::size_t group_of(std::size_t w) const noexcept { return w >> group_shift(unit_shift_); }

  /// Of units smaller than a word: the first bit of each whose blocks are all free or gone, and not all gone.
  word idle_in(word free, word gone) const noexcept { return whole_in(free | gone) & ~(gone == 0 ? 0 : whole_in(gone)); }
  word whole_in(word bits) const noexcept {
    for (unsigned i = 0; i != unit_shift_; ++i) bits &= bits >> (1u << i);
    return bits & first_of_units_;
  }

  void changed_in_large(const word* words, std::size_t ready, std::size_t w, word before, word gone) noexcept {
    const bool was = (before | gone) == ~word{0} && is_idle_large(words, ready, w, before, gone);
    const bool is = (words[w] | gone_in(w)) == ~word{0} && is_idle_large(words, ready, w, words[w], gone_in(w));
    if (was == is) return;
    if (is) idle_set_.insert(group_of(w));
    else idle_set_.take_out(group_of(w));
    idle_ += is ? std::size_t{1} : static_cast<std::size_t>(-1);
  }
  /// The same of the unit of word `w`, with `free` and `gone` in its place. Words from `ready` on aren't used: nothing of
  /// theirs is free.
  bool is_idle_large(const word* words, std::size_t ready, std::size_t w, word free, word gone) const noexcept {
    const std::size_t n = std::size_t{1} << group_shift(unit_shift_);
    const std::size_t first = w & ~(n - 1);
    if (first + n > ready) return false;
    word any = free;
    for (std::size_t i = first; i != first + n; ++i) {
      const word its = i == w ? free | gone : words[i] | gone_in(i);
      if (its != ~word{0}) return false;
      if (i != w) any |= words[i];
    }
    return any != 0;
  }

  word* gone_ = nullptr;
  set gone_set_;  // of words
  set idle_set_;  // of groups
  unsigned unit_shift_ = 0;
  word first_of_units_ = 0;  // a bit for each unit of a word
  std::size_t idle_ = 0;         // units
  std::size_t gone_blocks_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_IDLE_UNITS_H_
