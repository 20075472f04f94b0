// An array of block pointers in front of a back end: the newest free blocks, available without touching them.
//
//   limit                    top                                        end
//   |  room for blocks ...   | newest | ...                    | oldest | null |
//
// It grows downwards, so that `top` addresses the newest entry; the slot at `end` always holds null, so that one test finds
// both an empty array and the block. There is always room for one more, because a push stores first and tests afterwards, so
// that what it calls when the array is full needs only the array. `top` is a pointer, not an index: with an index the pair
// costs 1.7 ns instead of 0.53 (prototype, Sapphire Rapids).
//
// If the pool object contains an array of blocks, positions are counted from the front's own null. A new front is then all
// zero, so a static pool, with its array, takes no space in the executable. The number of instructions of a hit is the same.
//
// A null that was freed may be among the entries, so that a free needn't test for it. A pop takes it for the end, and the call
// continues with the slow path, which drops it. Code that empties or packs the array also drops it.
#ifndef TARN_POLICIES_REUSE_ARRAY_FRONT_H_
#define TARN_POLICIES_REUSE_ARRAY_FRONT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// \tparam Own         entries in the object itself
/// \tparam StartsZero  a new one is all zero
template <std::size_t Own, bool StartsZero = false>
class array_front {
 public:
  constexpr array_front() noexcept {
    if constexpr (!StartsZero) close();
  }
  array_front(const array_front&) = delete;
  array_front& operator=(const array_front&) = delete;

  /// The newest block, or null if there is none.
  TARN_STEP void* pop() noexcept {
    const position top = top_;
    top_ = top + one;  // first, and undone on a miss, which saves g++ 12 a move
    void* const block = *at(top);
    if (block == nullptr) [[unlikely]]
      top_ = top;
    return block;
  }
  /// Returns whether there is room for another; if not, open(), move_to() or drop_oldest() must follow.
  [[nodiscard]] TARN_STEP bool push(void* block) noexcept {
    const position above = top_;
    const position top = above - one;
    *at(top) = block;
    top_ = top;
    return (StartsZero ? above : top) != limit_;
  }

  TARN_STEP std::size_t size() const noexcept { return static_cast<std::size_t>(end() - top()); }
  TARN_STEP std::size_t room() const noexcept { return static_cast<std::size_t>(top() - limit()); }
  TARN_STEP std::size_t capacity() const noexcept { return static_cast<std::size_t>(end() - limit()); }

  /// Entry i, the newest first.
  TARN_STEP void** entries() noexcept { return top(); }

  /// Before the first use and after close() it has one slot, so that a pool can be a constant.
  TARN_STEP bool closed() const noexcept { return capacity() == 1; }
  TARN_STEP void open() noexcept { move_to(own_.slots, Own + 1); }
  /// From now on there is room for `entries`, at most Own, or for more if more are in it.
  TARN_STEP void limit_to(std::size_t entries) noexcept { limit_to(end() - larger(entries, size() + 1)); }
  TARN_STEP constexpr void close() noexcept {
    if constexpr (StartsZero) top_ = limit_ = end_ = 0;
    else limit_ = nook_, top_ = end_ = nook_ + 1;
    nook_[1] = nullptr;
  }

  /// Moves the entries into larger storage, whose last slot becomes the null.
  void move_to(void** slots, std::size_t n) noexcept {
    void** const old = top();
    const std::size_t entries = size();
    use(slots, n);
    move_top(end() - entries);
    std::memcpy(top(), old, entries * sizeof(void*));
  }

  /// Whether the newest entry is a block; drops nulls until it is.
  bool has_block() noexcept {
    while (size() != 0 && *top() == nullptr) {
      TARN_NOT_IF(no_nulls);
      top_ += one;
    }
    return size() != 0;
  }
  /// Moves the newest blocks to `out`, at most `n`. Returns how many.
  std::size_t take(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    for (; got != n && has_block(); top_ += one) out[got++] = *top();
    return got;
  }
  /// Entries that are blocks. O(entries).
  std::size_t blocks() const noexcept {
    std::size_t n = 0;
    for (void* const* its = top(); its != end(); ++its) n += *its != nullptr;
    return n;
  }
  /// Drops every null.
  void sweep() noexcept {
    TARN_NOT_IF(no_nulls);
    void** to = end();
    for (void** from = end(); from-- != top();)
      if (*from != nullptr) *--to = *from;
    move_top(to);
  }

  /// Drops the `n` oldest entries, which are at entries()[size() - n] and up.
  void drop_oldest(std::size_t n) noexcept {
    const std::size_t kept = size() - n;
    std::memmove(top() + n, top(), kept * sizeof(void*));
    move_top(top() + n);
  }

  // In steps: what retire() drops stays in its place, as lost room, until pack().

  /// Drops the `n` oldest entries. O(1).
  TARN_STEP void retire(std::size_t n) noexcept {
    end_ = position_of(end() - n);
    *end() = nullptr;
  }
  /// Moves the entries to the end of the object's own storage. Precondition: they are in it.
  void pack() noexcept {
    void** const from = top();
    void** const to = own_.slots + (Own - size());
    if constexpr (platform::system::has_pages) std::memmove(to, from, (size() + 1) * sizeof(void*));
    else move_up(to, from, size() + 1);
    end_ = position_of(own_.slots + Own);
    move_top(to);
  }
  /// From now on push() tells when there are `n` more entries, or when there is no room for more.
  TARN_STEP void tell_after(std::size_t n) noexcept {
    limit_to(top() - smaller(n, static_cast<std::size_t>(top() - own_.slots)));
  }
  /// Room for entries before the next pack(), even if push() tells before.
  TARN_STEP std::size_t room_in_place() const noexcept { return static_cast<std::size_t>(top() - own_.slots); }

  /// Where up to `n` entries can be written directly. Precondition: room() is more than n; filled() must follow.
  TARN_STEP void** fill(std::size_t n) noexcept { return top() - n; }
  /// Takes over the first `got` of the `n` entries that fill(n) made room for.
  void filled(std::size_t n, std::size_t got) noexcept {
    if (got != n && got != 0) std::memmove(top() - got, top() - n, got * sizeof(void*));
    move_top(top() - got);
  }

 private:
  /// A place in the array: its address, or bytes from &nook_[1] on, modulo 2 to the power of the bits of a pointer.
  using position = std::conditional_t<StartsZero, std::uintptr_t, void**>;
  static constexpr std::size_t one = StartsZero ? sizeof(void*) : 1;  // from an entry to the next

  TARN_STEP void** at(position p) const noexcept {
    if constexpr (StartsZero) return reinterpret_cast<void**>(address_of(nook_ + 1) + p);
    else return p;
  }
  TARN_STEP position position_of(void** p) const noexcept {
    if constexpr (StartsZero) return address_of(p) - address_of(nook_ + 1);
    else return p;
  }
  TARN_STEP void** top() const noexcept { return at(top_); }
  TARN_STEP void** end() const noexcept { return at(end_); }
  TARN_STEP void** limit() const noexcept { return at(limit_) - StartsZero; }
  TARN_STEP void move_top(void** to) noexcept { top_ = position_of(to); }
  TARN_STEP void limit_to(void** lowest) noexcept { limit_ = position_of(lowest + StartsZero); }

  TARN_STEP void use(void** slots, std::size_t n) noexcept {
    limit_to(slots);
    top_ = end_ = position_of(slots + (n - 1));
    *end() = nullptr;
  }

  /// As memmove, which newlib does byte by byte: in parts that don't overlap.
  static void move_up(void** to, void* const* from, std::size_t n) noexcept {
    const auto by = static_cast<std::size_t>(to - from);
    if (by == 0) return;
    while (n != 0) {
      const std::size_t part = smaller(n, by);
      n -= part;
      std::memcpy(to + n, from + n, part * sizeof(void*));
    }
  }

  position top_{};
  position limit_{};  // if it starts zero, of the entry above
  position end_{};
  void* nook_[2] = {};
  union {
    std::byte none = {};
    void* slots[Own + 1];
  } own_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_ARRAY_FRONT_H_
