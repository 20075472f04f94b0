// The free blocks of a pool, set aside for a walk through all of its blocks, which must know which of them are free.
//
//   window    | 1 0 0 1 1 ... |   a bit for each place of the window in which the walk is: walked_window.h
//   waiting   the free blocks of windows that are ahead, and of those that were passed: waiting_blocks.h
//
// To sort the free blocks took nearly all the time of a walk, and so did links through all of them: they are in no cache. Now
// most of them aren't touched.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_BLOCKS_ASIDE_H_
#define TARN_ALLOCATOR_DETAIL_CORE_BLOCKS_ASIDE_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/allocator/detail/core/drained_blocks.h"
#include "tarn/allocator/detail/core/waiting_blocks.h"
#include "tarn/allocator/detail/core/walked_window.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
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
  using geometry = typename State::traits::geometry;
  using window = walked_window<geometry>;
  using places = typename window::places;
  using word = typename window::word;

 public:
  explicit blocks_aside(State& s) noexcept
      : s_(s), waiting_(s.chunks.geometry(), s.chunks.capacity()), window_(s.chunks.geometry(), waiting_.shift()) {
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
    if constexpr (Passed == passed::wait) give_back();
    if constexpr (!State::traits::in_place) s_.chunks.each([](chunk& c) { c.walked = 0; });
    // lock_free, which may have found the list empty meanwhile, looks again.
    if constexpr (State::traits::locking::traits.own_free_list) s_.locking.drain_all(s_);
  }
  blocks_aside(const blocks_aside&) = delete;
  blocks_aside& operator=(const blocks_aside&) = delete;

  /// Calls visit(block) for every block in use, by ascending address, of those that were in use when the walk began.
  template <class Visit>
  void walk(Visit visit) {
    if constexpr (State::traits::in_place) {
      come_through(carved_, [this](std::size_t i) { return s_.chunks.block_at(i); }, visit);
    } else {
      s_.chunks.each([&](chunk& c) {  // visit() may give the chunk back with its last block
        come_through(c.walked, [this, first = c.first](std::size_t i) { return s_.chunks.block_at(first, i); }, visit);
      });
    }
    last_ = at_end;
  }

  /// Sets one more block aside, which is in use and in no list. It may be ahead.
  void take(void* block) noexcept {
    ++number_;
    if (address_of(block) <= last_) pass(block);
    else if (window_.has(block)) window_.mark(window_.place_of(block));
    else waiting_.add(block);
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
  void drop() noexcept {
    passed_ = nullptr;
    waiting_.forget();
  }
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
  static constexpr auto at_end = static_cast<std::uintptr_t>(-1);

  void enter(const void* block) noexcept {
    if (window_.has(block)) [[likely]] return;
    window_.enter(window_.window_of(block));
    waiting_.take(window_.window_of(block), window_);
  }
  /// The walk has come to a free block. Precondition: it is in the block's window.
  void pass(void* block) noexcept {
    if constexpr (Passed == passed::wait)
      if (!waiting_.add_to_tree(block)) detail::link_block(s_.chunks.geometry(), passed_, block);
  }

  /// Visits the live ones of a chunk's blocks, as many of them at a time as a word has bits.
  template <class BlockAt, class Visit>
  void come_through(std::size_t n, BlockAt block_at, Visit& visit) {
    std::size_t i = 0;
    while (i != n && has_passed(block_at(i))) ++i;  // the rest of a walk that an exception ended
    for (places some; i != n; i += some.number) {
      enter(block_at(i));
      some = window_.places_from(i, n, block_at);
      const word free = window_.marks(some);
      if constexpr (Passed == passed::wait) {
        for (word left = free; left != 0; left &= left - 1) {
          window_.unmark(some.first + lowest(left));  // if an exception ends the walk, it isn't passed again
          pass(block_at(i + lowest(left)));
        }
      }
      for (word live = free ^ some.all(); live != 0; live &= live - 1) {
        void* const block = block_at(i + lowest(live));
        last_ = address_of(block);
        if (window_.is_marked(some.first + lowest(live))) [[unlikely]] pass(block);  // a visit has just ended it
        else visit(block);
      }
    }
  }

  /// Puts the free blocks that were passed back into the list, the lowest last.
  void give_back() noexcept {
    detail::restore(s_, replace(passed_, nullptr));
    window_.leave();
    if constexpr (State::traits::in_place) {
      give_back_some(carved_, [this](std::size_t i) { return s_.chunks.block_at(i); });
    } else {
      s_.chunks.each_downwards([this](chunk& c) {
        give_back_some(c.walked, [this, &c](std::size_t i) { return s_.chunks.block_at(c.first, i); });
      });
    }
  }
  template <class BlockAt>
  void give_back_some(std::size_t n, BlockAt block_at) noexcept {
    while (n != 0) {
      enter(block_at(n - 1));
      const places some = window_.places_up_to(n, block_at);
      n -= some.number;
      for (word free = window_.marks(some); free != 0;) {
        const auto highest = static_cast<unsigned>(std::bit_width(free)) - 1;
        free ^= word{1} << highest;
        s_.list.restore(s_.chunks, block_at(n + highest));
      }
    }
  }
  static std::size_t lowest(word bits) noexcept { return static_cast<std::size_t>(std::countr_zero(bits)); }

  State& s_;
  waiting_blocks<geometry> waiting_;
  window window_;
  std::uintptr_t last_ = 0;  // where the walk is
  std::size_t number_ = 0;  // of blocks set aside
  std::size_t carved_ = 0;  // blocks when the walk began
  free_link* passed_ = nullptr;  // those that no tree has room for: highest -> ... -> lowest
};

/// Calls visit(block) for every block in use, by ascending address. visit() may give that block back and take others, which
/// aren't visited; it may give no other block back. Meanwhile the free blocks are set aside: O(blocks), and no memory.
template <class State, class Visit>
void each_live(State& s, Visit visit) {
  blocks_aside<State, passed::wait>(s).walk(visit);
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_BLOCKS_ASIDE_H_
