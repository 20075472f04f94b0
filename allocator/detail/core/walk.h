// Walks through the blocks in use of a pool of objects: those that were carved and whose bit doesn't say that they are free.
//
//   settle   all that is free goes into the bits (chunk.h)
//   words    64 blocks at a time: carved and not free. Sparse ones are prefetched
//   visit    may free blocks and take others. Who frees one that the walk has yet to come to tells it (freed), and the bits are
//            read again
//
// A walk costs O(words + blocks in use), and what became free since the one before. It needs no memory, and chunks stay.
//
// For an array, which keeps nothing but its blocks, a walk has the bits on the stack: marked_array.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_WALK_H_
#define TARN_ALLOCATOR_DETAIL_CORE_WALK_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// All that is free goes into the bits. Precondition: no other thread uses the pool.
template <class State>
void settle(State& s) noexcept {
  s.locking.drain_all(s);
  detail::settle_list(s);
}

/// Blocks of a chunk that are in use. Precondition: settled.
template <class Chunk>
std::size_t in_use_in(const Chunk& c) noexcept {
  return c.carved - c.bitmap.free_blocks() - c.bitmap.units().decommitted();
}

/// The words of a chunk.
/// \tparam Geometry  the pool's, or the same with more constants: strides that are known only at run time cost a nanosecond
template <class State, class Geometry = typename State::traits::geometry>
class living_words {
  using chunk = typename State::chunk;

 public:
  using word = std::uint64_t;
  static constexpr std::size_t bits = 64;
  static constexpr word full = ~word{0};

  living_words(const State& s, const chunk& c) noexcept : living_words(s, c, c.carved) {}
  /// Of the first `blocks`: at most those that were carved.
  living_words(const State& s, const chunk& c, std::size_t blocks) noexcept
      : c_(detail::pointer_to(c)), blocks_(blocks), g_(geometry_of(s)) {}

  std::size_t number() const noexcept { return (blocks_ + bits - 1) / bits; }
  /// Blocks of word `w` that are in use. Precondition: w < number().
  TARN_STEP word live(std::size_t w) const noexcept {
    const std::size_t left = blocks_ - w * bits;
    return (left >= bits ? full : (word{1} << left) - 1) & ~c_->bitmap.free_in(w);
  }
  TARN_STEP std::byte* block(std::size_t w, std::size_t bit) const noexcept {
    return c_->first + g_.offset() + g_.distance(w * bits + bit);
  }
  static std::size_t lowest(word live) noexcept { return static_cast<std::size_t>(std::countr_zero(live)); }
  static word behind(std::size_t bit) noexcept { return ~word{1} << bit; }

  /// Whether nearly all the chunk's cache lines are needed, which the processor foresees.
  bool is_dense() const noexcept { return detail::in_use_in(*c_) * larger(cache_line / g_.stride(), 1) >= blocks_ / 8 * 7; }
  /// Not inlined, g++ would take it for a function without effects, and drop it.
  TARN_STEP void prefetch(std::size_t w) const noexcept {
    word some = live(w);
    if (some == full) return;
    for (; some != 0; some &= some - 1) prefetch_for_write(block(w, lowest(some)));
  }

 private:
  static Geometry geometry_of(const State& s) noexcept {
    if constexpr (std::is_default_constructible_v<Geometry>) return Geometry();
    else return s.chunks.geometry();
  }

  const chunk* c_;
  std::size_t blocks_;
  TARN_NO_UNIQUE_ADDRESS Geometry g_;
};

/// A walk that goes on. Those of a pool are in a list, the innermost first.
template <class State>
class active_walk {
 public:
  explicit active_walk(State&) noexcept {}
  active_walk* outer = nullptr;

  /// A block that was in use, perhaps of those that the walk has yet to come to, is about to be freed.
  void freed(const void* block) noexcept { changed_ |= !has_passed(block); }

  void at(const void* block) noexcept { last_ = address_of(block); }
  bool has_passed(const void* block) const noexcept { return address_of(block) <= last_; }
  bool changed() noexcept { return replace(changed_, false); }

 private:
  std::uintptr_t last_ = 0;  // where the walk is
  bool changed_ = false;  // a block ahead was freed
};

/// Visits the blocks in use of chunks. A handful of sparse ones is looked up and prefetched while those before are visited. So
/// their misses overlap, and that nobody can foresee how many there are in a word costs little.
template <class State, class Geometry>
class chunk_walker {
  using chunk = typename State::chunk;
  using words = living_words<State, Geometry>;

 public:
  chunk_walker(State& s, active_walk<State>& walk) noexcept : s_(s), walk_(walk), seen_(s.chunks.taken()) {}

  /// Calls visit(chunk, block) for those of a chunk as long as it returns true. Returns whether it came to the end.
  template <class Visit>
  bool walk(chunk& c, Visit& visit) {
    look();
    const words of(s_, c, s_.chunks.hides_bits() ? c.walked : c.carved);  // clear() ends what was there when it began
    word_ = 0;
    mask_ = words::full;
    dense_ = of.is_dense();
    std::byte* some[2][enough + words::bits];
    while (walk_full(of, c, visit)) {
      std::size_t number[2] = {gather(of, some[0]), 0};
      if (number[0] == 0 && word_ == of.number()) return true;  // else a full word lies behind empty ones
      for (unsigned now = 0; number[now] != 0; now ^= 1) {
        number[now ^ 1] = gather(of, some[now ^ 1]);
        for (std::size_t i = 0; i != number[now]; ++i) {
          std::byte* const block = some[now][i];
          walk_.at(block);
          if (!visit(c, block)) return false;
          if (!changed()) [[likely]]
            continue;
          const std::size_t slot = s_.chunks.slot_of(c, block);
          word_ = slot / words::bits;
          mask_ = words::behind(slot % words::bits);
          number[now ^ 1] = gather(of, some[now ^ 1]);
          break;
        }
      }
    }
    return false;
  }

 private:
  static constexpr std::size_t enough = 16;  // blocks whose misses overlap

  /// Called after a visit: whether the bits have to be read again.
  TARN_STEP bool changed() noexcept {
    if (!walk_.changed()) [[likely]]
      return false;
    if (!s_.chunks.hides_bits()) detail::settle(s_);  // clear() marks what it frees by itself
    return true;
  }
  /// Called before bits are read: what visit() took may have brought other blocks into a front.
  TARN_STEP void look() noexcept {
    if (s_.chunks.taken() == seen_) [[likely]]
      return;
    detail::settle(s_);
    seen_ = s_.chunks.taken();
  }
  /// Visits words of which all blocks are in use, or all words of a dense chunk: nothing has to be prefetched. Returns whether
  /// visit() always did.
  template <class Visit>
  bool walk_full(const words& of, chunk& c, Visit& visit) {
    for (; word_ < of.number(); ++word_) {
      look();
      auto live = of.live(word_) & mask_;
      if (live != words::full && !dense_) return true;
      while (live != 0) {
        const std::size_t bit = words::lowest(live);
        live &= live - 1;
        std::byte* const block = of.block(word_, bit);
        walk_.at(block);
        if (!visit(c, block)) return false;
        if (changed()) [[unlikely]]
          live = of.live(word_) & words::behind(bit);
      }
      mask_ = words::full;
    }
    return true;
  }
  std::size_t gather(const words& of, std::byte** out) noexcept {
    std::size_t n = 0;
    look();
    for (; n < enough && word_ < of.number(); ++word_) {
      auto live = of.live(word_) & mask_;
      if (live == words::full || dense_) break;
      for (; live != 0; live &= live - 1) prefetch_for_write(out[n++] = of.block(word_, words::lowest(live)));
      mask_ = words::full;
    }
    return n;
  }

  State& s_;
  active_walk<State>& walk_;
  std::size_t seen_;
  std::size_t word_ = 0;
  std::uint64_t mask_ = 0;  // of its blocks, those that the walk has yet to come to
  bool dense_ = false;
};

/// Calls visit(chunk, block) for every block in use, by ascending address, as long as it returns true. visit() may free any
/// block, and take others, which may be visited if they are ahead. Chunks that are added during this aren't visited; none may
/// be removed. `walk` is known to those who free blocks. Returns whether visit() never returned false.
template <class Geometry, class State, class Visit>
bool each_living(State& s, active_walk<State>& walk, Visit visit) {
  detail::settle(s);
  const std::size_t births = s.chunks.births();
  chunk_walker<State, Geometry> walker(s, walk);
  for (auto* c = s.chunks.after(nullptr); c != nullptr; c = s.chunks.after(c->first))
    if (c->birth <= births && !walker.walk(*c, visit)) return false;
  return true;
}

// ---- an array --------------------------------------------------------------------------------------------------------------

/// Bits for the blocks of an array: those that were free when it was made, and what was marked since. Meanwhile the list is
/// empty, until give_back().
template <class State>
class marked_array {
  static constexpr std::size_t bits = 8 * sizeof(std::size_t);
  static constexpr std::size_t blocks = State::traits::store::blocks;

 public:
  explicit marked_array(State& s) noexcept : s_(s), carved_(s.chunks.carved()) {
    s_.locking.drain_all(s_);
    s_.list.drain(s_.chunks, block_adder<marked_array>{*this});
  }
  marked_array(const marked_array&) = delete;
  marked_array& operator=(const marked_array&) = delete;

  std::size_t carved() const noexcept { return carved_; }
  std::size_t marked() const noexcept { return marked_; }
  bool is_marked(std::size_t i) const noexcept { return (words_[i / bits] >> i % bits & 1) != 0; }
  void add(const void* block) noexcept {
    const std::size_t i = number_of(block);
    words_[i / bits] |= std::size_t{1} << i % bits;
    ++marked_;
  }
  /// Whether the block existed when this was made.
  bool has(const void* block) const noexcept { return number_of(block) < carved_; }
  /// The number of a block that existed then, or some other number.
  std::size_t number_of(const void* block) const noexcept {
    return s_.chunks.geometry().slot_at(address_of(block) - address_of(s_.chunks.block_at(std::size_t{0})));
  }
  /// Those that are marked are free, and the lowest is handed out first.
  void give_back() noexcept {
    for (std::size_t i = carved_; i-- != 0;)
      if (is_marked(i)) s_.list.restore(s_.chunks, s_.chunks.block_at(i));
  }

 protected:
  State& s_;

 private:
  std::size_t carved_;
  std::size_t marked_ = 0;
  std::size_t words_[(blocks + bits - 1) / bits] = {};
};

template <class State>
  requires(State::traits::in_place)
class active_walk<State> : public marked_array<State> {
 public:
  explicit active_walk(State& s) noexcept : marked_array<State>(s) { this->give_back(); }
  active_walk* outer = nullptr;

  void freed(const void* block) noexcept {
    if (this->has(block)) this->add(block);
  }
};

/// The same for an array: no block that is allocated during this is visited. O(blocks).
template <class Geometry, class State, class Visit>
  requires(State::traits::in_place)
bool each_living(State& s, active_walk<State>& walk, Visit visit) {
  for (std::size_t i = 0; i != walk.carved(); ++i)
    if (!walk.is_marked(i) && !visit(s.chunks, s.chunks.block_at(i))) return false;
  return true;
}

/// How many blocks are in use. O(chunks), and what became free since the list was settled; of an array: O(blocks).
template <class State>
std::size_t count_living(State& s) noexcept {
  if constexpr (State::traits::in_place) {
    const active_walk<State> its(s);
    return its.carved() - its.marked();
  } else {
    detail::settle(s);
    std::size_t n = 0;
    s.chunks.each([&n](typename State::chunk& c) { n += detail::in_use_in(c); });
    return n;
  }
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_WALK_H_
