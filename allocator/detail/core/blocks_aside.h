// The free blocks of a pool, set aside for a walk through all of its blocks, which must know which of them are free.
//
//   lists    window 0 | 1 | 2 | ...            free blocks that are still ahead, linked through themselves
//   bits     | 1 0 0 1 1 ... |                 of the window in which the walk is: a bit for each place where a block can start
//   passed   highest -> ... -> lowest          free blocks that the walk has passed, linked through themselves
//
// A window is a piece of the address space, of at most as many blocks as there are bits. Two windows may share a list. Blocks
// don't overlap, so the address in a window divided by their stride is different for each, whatever chunk they lie in.
//
// To sort the free blocks took nearly all the time of a walk: their links were read in random order, again and again. Here a
// link is written once, and read once, in a window that fits into a cache.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_BLOCKS_ASIDE_H_
#define TARN_ALLOCATOR_DETAIL_CORE_BLOCKS_ASIDE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "tarn/allocator/detail/core/drained_blocks.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

/// What happens to the free blocks that a walk has passed.
enum class passed {
  wait,   // until the walk is over; then the lowest is handed out first
  vanish  // after the walk, the caller makes all blocks as new, or puts all back. Their memory isn't touched
};

template <class State, passed Passed>
class blocks_aside {
  using chunk = typename State::chunk;
  using word = std::uint64_t;
  static constexpr std::size_t word_bits = 64;
  static constexpr unsigned few = 9;    // a window has places for 2^9 blocks,
  static constexpr unsigned many = 13;  // or in a large pool for up to 2^13
  static constexpr std::size_t most_lists = 256;
  static constexpr std::size_t words = (std::size_t{1} << many) / word_bits;

 public:
  explicit blocks_aside(State& s) noexcept : s_(s) {
    const auto stride_bits = static_cast<unsigned>(std::bit_width(s.chunks.geometry().stride())) - 1;
    const std::size_t bytes = s.chunks.geometry().extent(s.chunks.capacity());
    const auto wanted = static_cast<unsigned>(std::bit_width(bytes / most_lists));
    const std::size_t most = 8 * sizeof(std::size_t) - 1;
    shift_ = static_cast<unsigned>(smaller(clamped(wanted, stride_bits + few, stride_bits + many), most));
    lists_ = smaller(std::bit_ceil((bytes >> shift_) + 1), most_lists);
    for (std::size_t i = 0; i != lists_; ++i) ahead_[i] = nullptr;
    s_.locking.drain_all(s_);
    s_.list.drain(s_.chunks, taker{*this});
    if constexpr (State::traits::in_place) {
      carved_ = s_.chunks.carved();
    } else {
      s_.chunks.each([this](chunk& c) {
        c.walked = c.carved;
        carved_ += c.carved;
        s_.list.adopted(c);  // a drained list is as new
      });
    }
  }
  ~blocks_aside() {
    if constexpr (Passed == passed::wait)
      if (last_ != at_end) walk([](void*) {});  // an exception ended it
    if constexpr (!State::traits::in_place) s_.chunks.each([](chunk& c) { c.walked = 0; });
    restore(s_, passed_);
  }
  blocks_aside(const blocks_aside&) = delete;
  blocks_aside& operator=(const blocks_aside&) = delete;

  /// Calls visit(block) for every block in use, by ascending address, of those that were in use when the walk began.
  template <class Visit>
  void walk(Visit visit) {
    if constexpr (State::traits::in_place) {
      for (std::size_t i = 0; i != carved_; ++i) come_to(s_.chunks.block_at(i), visit);
    } else {
      s_.chunks.each([&](chunk& c) {
        std::byte* const first = c.first;  // visit() may give the chunk back with its last block
        for (std::size_t i = 0, n = c.walked; i != n; ++i) come_to(s_.chunks.block_at(first, i), visit);
      });
    }
    last_ = at_end;
  }

  /// Sets one more block aside, which is in use and in no list. It may be ahead.
  void take(void* block) noexcept {
    ++number_;
    const std::uintptr_t at = address_of(block);
    if (at <= last_) pass(block);
    else if (at >> shift_ == window_) mark(at);
    else link(list_of(at >> shift_), block);
  }

  /// Whether the block existed when the walk began, and whether the walk has come to it.
  bool concerns(const void* block) noexcept {
    if constexpr (State::traits::in_place) {
      return s_.chunks.find(block) != nullptr && address_of(block) < address_of(s_.chunks.block_at(carved_));
    } else {
      const chunk* const c = s_.chunks.find(block);
      return c != nullptr && s_.chunks.slot_of(*c, block) < c->walked;
    }
  }
  bool has_passed(const void* block) const noexcept { return address_of(block) <= last_; }

  /// Whether every block that was ever handed out is set aside.
  bool has_all() noexcept {
    std::size_t blocks = 0;
    if constexpr (State::traits::in_place) blocks = s_.chunks.carved();
    else s_.chunks.each([&](chunk& c) { blocks += c.carved; });
    return number_ == blocks;
  }
  /// Forgets them: the caller makes all blocks as new.
  void drop() noexcept { passed_ = nullptr; }
  /// Puts every block that existed when the walk began into the list. Precondition: it has come to its end, and all are free.
  void put_all_back() noexcept {
    const auto put = [this](std::byte* block) {
      memory_tools::poison(s_.chunks.geometry().links(block), sizeof(free_link));
      s_.list.restore(s_.chunks, block);
    };
    if constexpr (State::traits::in_place) {
      for (std::size_t i = carved_; i-- != 0;) put(s_.chunks.block_at(i));
    } else {
      s_.chunks.each([&](chunk& c) {
        for (std::size_t i = c.walked; i-- != 0;) put(s_.chunks.block_at(c.first, i));
      });
    }
  }

 private:
  /// Not a lambda: see drained_blocks.h.
  struct taker {
    void operator()(void* block) const noexcept { to.take(block); }
    blocks_aside& to;
  };
  static constexpr std::uintptr_t nowhere = static_cast<std::uintptr_t>(-1);
  static constexpr std::uintptr_t at_end = nowhere;

  std::size_t place_of(std::uintptr_t address) const noexcept {
    return static_cast<std::size_t>(address - (window_ << shift_)) / s_.chunks.geometry().stride();
  }
  free_link*& list_of(std::uintptr_t window) noexcept { return ahead_[window & (lists_ - 1)]; }
  void link(free_link*& list, void* block) noexcept {
    void* const links = s_.chunks.geometry().links(block);
    memory_tools::unpoison(links, sizeof(free_link));
    list = ::new (links) free_link{list};
  }
  void pass(void* block) noexcept {
    if constexpr (Passed != passed::vanish) link(passed_, block);
  }
  void mark(std::uintptr_t address) noexcept {
    const std::size_t at = place_of(address);
    bits_[at / word_bits] |= word{1} << at % word_bits;
  }

  template <class Visit>
  void come_to(void* block, Visit& visit) {
    const std::uintptr_t here = address_of(block);
    if (here <= last_) return;  // the rest of a walk that an exception ended
    last_ = here;
    if (here >> shift_ != window_) [[unlikely]] enter(here >> shift_);
    const std::size_t at = place_of(here);
    if ((bits_[at / word_bits] >> at % word_bits & 1) != 0) pass(block);
    else visit(block);
  }
  /// Marks the free blocks of a window.
  TARN_NOINLINE void enter(std::uintptr_t window) noexcept {
    window_ = window;
    const std::size_t used = place_of((window << shift_) + (std::size_t{1} << shift_) - 1) / word_bits + 1;
    for (std::size_t i = 0; i != used; ++i) bits_[i] = 0;
    free_link* all = std::exchange(list_of(window), nullptr);
    if (all != nullptr) prefetch();
    while (all != nullptr) {
      free_link* const one = std::exchange(all, all->next);
      void* const block = s_.chunks.geometry().block_with(one);
      const std::uintptr_t at = address_of(block);
      if (at >> shift_ == window) mark(at);
      else link(list_of(at >> shift_), block);
    }
  }
  /// The links are about to be read in any order.
  void prefetch() const noexcept {
    const std::size_t step = larger(s_.chunks.geometry().stride(), cache_line);
    for (std::size_t at = 0; at < std::size_t{1} << shift_; at += step)
      prefetch_for_write(reinterpret_cast<void*>((window_ << shift_) + at));
  }

  State& s_;
  unsigned shift_ = 0;  // bytes of a window, as a power of two
  std::size_t lists_ = 1;
  std::uintptr_t window_ = nowhere;
  std::uintptr_t last_ = 0;  // where the walk is
  std::size_t number_ = 0;  // of blocks set aside
  std::size_t carved_ = 0;  // blocks when the walk began
  free_link* passed_ = nullptr;
  free_link* ahead_[most_lists];
  word bits_[words];
};

/// Calls visit(block) for every block in use, by ascending address. visit() may give that block back and take others, which
/// aren't visited; it may give no other block back. Meanwhile the free blocks are set aside: O(blocks), and no memory.
template <class State, class Visit>
void each_live(State& s, Visit visit) {
  blocks_aside<State, passed::wait>(s).walk(visit);
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_BLOCKS_ASIDE_H_
