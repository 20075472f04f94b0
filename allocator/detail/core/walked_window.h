// The window in which a walk through all blocks is: a piece of the address space, and a bit for each place in it where a block
// can start. Blocks don't overlap, so the address in a window divided by their stride is different for each, whatever chunk
// they lie in.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_WALKED_WINDOW_H_
#define TARN_ALLOCATOR_DETAIL_CORE_WALKED_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Geometry>
class walked_window {
 public:
  using word = std::uint64_t;
  static constexpr std::size_t word_bits = 64;
  static constexpr unsigned most_places = 14;  // as a power of two

  /// \param shift  bytes of a window, as a power of two
  walked_window(const Geometry& g, unsigned shift) noexcept : g_(g), shift_(shift) {}

  std::uintptr_t window_of(const void* block) const noexcept { return address_of(block) >> shift_; }
  bool has(const void* block) const noexcept { return window_of(block) == window_; }
  std::uintptr_t number() const noexcept { return window_; }

  /// No place is marked then.
  void enter(std::uintptr_t window) noexcept {
    window_ = window;
    const std::size_t last = ((std::size_t{1} << shift_) - 1) / g_.stride();
    for (std::size_t i = 0; i <= last / word_bits + 1; ++i) bits_[i] = 0;
  }
  void leave() noexcept { window_ = nowhere; }

  /// Precondition: has(block).
  std::size_t place_of(const void* block) const noexcept {
    return static_cast<std::size_t>(address_of(block) - (window_ << shift_)) / g_.stride();
  }
  void mark(std::size_t place) noexcept { bits_[place / word_bits] |= bit_of(place); }
  void unmark(std::size_t place) noexcept { bits_[place / word_bits] &= ~bit_of(place); }
  bool is_marked(std::size_t place) const noexcept { return (bits_[place / word_bits] & bit_of(place)) != 0; }
  /// Marks places of which none lies in another word than the first.
  void mark(std::size_t first, word some) noexcept { bits_[first / word_bits] |= some << first % word_bits; }

  /// Places in which blocks next to each other lie: at most as many as a word has bits.
  struct places {
    std::size_t first;
    std::size_t number;
    word all() const noexcept { return ~word{0} >> (word_bits - number); }
  };
  /// Of as many of the blocks from `i` to `n` as possible, at least the first. Between coloured runs a place may be left out.
  template <class BlockAt>
  places places_from(std::size_t i, std::size_t n, BlockAt block_at) const noexcept {
    std::size_t some = smaller(n - i, word_bits);
    while (!are_neighbours(block_at(i), block_at(i + some - 1), some)) some /= 2;
    return {place_of(block_at(i)), some};
  }
  /// The same up to `n`, at least the last.
  template <class BlockAt>
  places places_up_to(std::size_t n, BlockAt block_at) const noexcept {
    std::size_t some = smaller(n, word_bits);
    while (!are_neighbours(block_at(n - some), block_at(n - 1), some)) some /= 2;
    return {place_of(block_at(n - some)), some};
  }
  /// The marks of these places, the first lowest.
  word marks(places of) const noexcept {
    const std::size_t at = of.first / word_bits;
    const std::size_t shift = of.first % word_bits;
    return (bits_[at] >> shift | (shift == 0 ? 0 : bits_[at + 1] << (word_bits - shift))) & of.all();
  }

 private:
  static constexpr std::uintptr_t nowhere = static_cast<std::uintptr_t>(-1);

  static word bit_of(std::size_t place) noexcept { return word{1} << place % word_bits; }
  bool are_neighbours(const void* first, const void* last, std::size_t number) const noexcept {
    return number == 1 || (has(first) && has(last) && place_of(last) - place_of(first) == number - 1);
  }

  TARN_NO_UNIQUE_ADDRESS Geometry g_;
  unsigned shift_;
  std::uintptr_t window_ = nowhere;
  word bits_[(std::size_t{1} << most_places) / word_bits + 2];
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_WALKED_WINDOW_H_
