// The free blocks of a pool, set aside for a walk through all of its blocks, which must know which of them are free.
//
//   window    | 1 0 0 1 1 ... |   a bit for each place of the window in which the walk is: walked_window
//   waiting   the free blocks of windows that are ahead, and of those that were passed: waiting_blocks
//
// To sort the free blocks took nearly all the time of a walk, and so did links through all of them: they are in no cache. Now
// most of them aren't touched.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_WALK_H_
#define TARN_ALLOCATOR_DETAIL_CORE_WALK_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

// A set of free blocks of a window, a piece of the address space, kept in a few of these blocks themselves.
//
//   root -> | a . b . | -> a: | . c . . | -> c: | 1 0 0 1 1 ... |
//
// A block's place is its distance from the window's start, in strides. Places are looked up like words in a dictionary, a few
// bits at each node; a node at the bottom has a bit for each of its places. Each node is one of the blocks of the set, one that
// is on the way to its own place: whoever finds a node missing becomes it. So the set needs no memory, most blocks aren't
// touched, and to read it means to read its nodes: of 300,000 blocks about 5,000.

template <class Geometry>
class place_tree {
  using word = std::uint32_t;  // at the bottom 32 bits, else the distance of a node from the start in bytes, plus one
  static constexpr unsigned word_bits = 5;

 public:
  static constexpr unsigned most_bits = 31;  // bytes of a window, as a power of two

  /// \param window  bytes, as a power of two
  place_tree(const Geometry& g, unsigned window) noexcept : g_(g) {
    const std::size_t places = ((std::size_t{1} << window) - 1) / g.stride() + 1;
    const auto bits = static_cast<unsigned>(std::bit_width(places - 1));
    for (top_ = bottom_bits(); top_ < bits;) top_ += fan_bits();
  }
  /// Whether a block has room for a node.
  bool fits() const noexcept { return node_bytes() >= 2 * sizeof(word); }

  std::size_t place_of(std::uintptr_t start, const void* block) const noexcept {
    return static_cast<std::size_t>(address_of(block) - start) / g_.stride();
  }
  void insert(void*& root, std::uintptr_t start, void* block) const noexcept {
    if (root == nullptr) return become(root = block);
    const std::size_t place = place_of(start, block);
    word* node = words(root);
    for (unsigned shift = top_; shift != bottom_bits();) {
      shift -= fan_bits();
      word& next = node[place >> shift & ((std::size_t{1} << fan_bits()) - 1)];
      if (next == 0) {
        next = static_cast<word>(address_of(block) - start) + 1;
        return become(block);
      }
      node = words(block_at(start, next));
    }
    node[place >> word_bits & (node_bytes() / sizeof(word) - 1)] |= word{1} << place % 32;
  }
  /// Calls mark(place of the first, bits of 32 places) until all blocks have been named.
  template <class Mark>
  void each(void* root, std::uintptr_t start, Mark& mark) const noexcept {
    each(root, start, top_, mark);
  }

 private:
  template <class Mark>
  void each(void* block, std::uintptr_t start, unsigned shift, Mark& mark) const noexcept {
    const std::size_t place = place_of(start, block);
    mark(place / 32 * 32, word{1} << place % 32);
    const word* const node = words(block);
    const std::size_t n = node_bytes() / sizeof(word);
    const std::size_t first = place >> bottom_bits() << bottom_bits();
    for (std::size_t i = 0; i != n; ++i)
      if (node[i] == 0) continue;
      else if (shift == bottom_bits()) mark(first + i * 32, node[i]);
      else each(block_at(start, node[i]), start, shift - fan_bits(), mark);
    memory_tools::poison(g_.links(block), node_bytes());
  }
  void become(void* block) const noexcept {
    void* const node = g_.links(block);
    memory_tools::unpoison(node, node_bytes());
    std::memset(node, 0, node_bytes());
  }

  std::size_t node_bytes() const noexcept { return std::bit_floor(smaller(g_.words() * sizeof(void*), 64)); }
  unsigned fan_bits() const noexcept { return static_cast<unsigned>(std::countr_zero(node_bytes() / sizeof(word))); }
  unsigned bottom_bits() const noexcept { return fan_bits() + word_bits; }
  word* words(void* block) const noexcept { return static_cast<word*>(g_.links(block)); }
  static void* block_at(std::uintptr_t start, word distance) noexcept {
    return reinterpret_cast<void*>(start + distance - 1);
  }

  TARN_NO_UNIQUE_ADDRESS Geometry g_;
  unsigned top_;  // places of the root, as a power of two
};

// The window in which a walk through all blocks is: a piece of the address space, and a bit for each place in it where a block
// can start. Blocks don't overlap, so the address in a window divided by their stride is different for each, whatever chunk
// they lie in.

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

// Free blocks by windows, pieces of the address space. They need no memory: for each window there is a place_tree, which
// lies in the blocks themselves.
//
//   entry 0 | 1 | 2 | ...  ->  the tree of one window, and a list of blocks of others
//
// Windows that are far apart may share an entry. The blocks of that which comes second, and those that have no room for a node
// of a tree, are linked through themselves.

/// Writes a link into a block, and puts it in front of a list.
template <class Geometry>
void link_block(const Geometry& g, free_link*& list, void* block) noexcept {
  void* const links = g.links(block);
  memory_tools::unpoison(links, sizeof(free_link));
  list = ::new (links) free_link{list};
}

template <class Geometry>
class waiting_blocks {
  using tree = place_tree<Geometry>;
  static constexpr unsigned few = 9;  // a window has places for 2^9 blocks, or in a large pool for more
  static constexpr std::size_t windows = 256;

 public:
  /// \param blocks  of the pool
  waiting_blocks(const Geometry& g, std::size_t blocks) noexcept : g_(g), shift_(window_bits(g, blocks)), trees_(g, shift_) {}
  void forget() noexcept {
    for (entry& one : entries_) one = {};
  }
  /// Bytes of a window, as a power of two.
  unsigned shift() const noexcept { return shift_; }

  /// Adds a block to the tree of its window. Returns false if the entry has that of another window.
  bool add_to_tree(void* block) noexcept {
    const std::uintptr_t window = window_of(block);
    entry& its = entry_of(window);
    if ((its.root != nullptr && window_of(its.root) != window) || !trees_.fits()) return false;
    trees_.insert(its.root, window << shift_, block);
    return true;
  }
  void add(void* block) noexcept {
    if (!add_to_tree(block)) detail::link_block(g_, entry_of(window_of(block)).others, block);
  }
  /// Takes the blocks of the window out, and marks them.
  void take(std::uintptr_t window, walked_window<Geometry>& marks) noexcept {
    entry& its = entry_of(window);
    if (its.root != nullptr && window_of(its.root) == window) {
      const auto mark = [&marks](std::size_t first, std::uint32_t some) { marks.mark(first, some); };
      trees_.each(detail::replace(its.root, nullptr), window << shift_, mark);
    }
    for (free_link* all = detail::replace(its.others, nullptr); all != nullptr;) {
      free_link* const one = replace(all, all->next);
      memory_tools::poison(one, sizeof(free_link));
      void* const block = g_.block_with(one);
      if (window_of(block) == window) marks.mark(marks.place_of(block));
      else add(block);
    }
  }

 private:
  struct entry {
    void* root = nullptr;
    free_link* others = nullptr;
  };

  static unsigned window_bits(const Geometry& g, std::size_t blocks) noexcept {
    const auto stride_bits = static_cast<unsigned>(std::bit_width(g.stride())) - 1;
    const auto wanted = static_cast<unsigned>(std::bit_width(g.extent(blocks) / windows));
    return static_cast<unsigned>(
        smaller(clamped(wanted, stride_bits + few, stride_bits + walked_window<Geometry>::most_places), tree::most_bits));
  }
  std::uintptr_t window_of(const void* block) const noexcept { return address_of(block) >> shift_; }
  /// Different for neighbours; chunks may be any power of two apart.
  entry& entry_of(std::uintptr_t window) noexcept {
    return entries_[(window ^ window / windows ^ window / windows / windows) % windows];
  }

  TARN_NO_UNIQUE_ADDRESS Geometry g_;
  unsigned shift_;
  tree trees_;
  entry entries_[windows] = {};
};

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
  /// Not a lambda: g++ 12 warns of names in those (free_blocks.h).
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

#endif  // TARN_ALLOCATOR_DETAIL_CORE_WALK_H_
