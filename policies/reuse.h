// Axis reuse: which free block is allocated next, and where free blocks are kept.
//
// Here: reuse_traits, lifo_reuse, reuse_policy; array_front, which the others have in front of their lists. In separate
// headers: batch_reuse, page_local_reuse.
#ifndef TARN_POLICIES_REUSE_H_
#define TARN_POLICIES_REUSE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

/// What a reuse policy declares about itself.
struct reuse_traits {
  std::size_t min_block = 1;       // bytes that the list needs in a free block
  std::size_t min_alignment = 1;   // the alignment of those bytes
  bool finds_chunks = false;       // it looks up the chunk of a block
  bool needs_chunks = true;        // adopted() informs the list of each chunk; false: the list only carves
  bool sees_empty_chunks = false;  // it calls `chunks` when a chunk becomes empty, chunk_emptied(), and when it is used again,
                                   // chunk_reused()
  bool keeps_bitmaps = false;      // its column has `bitmap`, a block_bitmap, which lists every free block after settle()
  bool drops_null = false;         // push() and push_batch() accept null, which its slow path drops, so a free needn't test
};

/// The parameter of every reuse policy: when a block's cache line is prefetched.
enum class prefetch {
  none,         // tight pairs on few blocks: 0.53 instead of 0.62 ns
  on_allocate,  // the user is about to write the block: churn over 100,000 blocks 5.9 to 3.5 ns
  on_free,      // for types whose destructors write into cold objects: 7.4 to 4.5 ns; otherwise slower
};

// decides    the block freed last is allocated first: one list, linked through the free blocks
// costs      less than all others: 6 instructions to allocate a block, 6 to free it, 8 bytes of state. After frees in random
//            order every allocation waits for memory, because the address of the next block is stored in this one
// conflicts  none; blocks under 8 bytes take 8
// use when   blocks are smaller than 16 bytes, or few: the default for those, and for bounded stores
/// \tparam Prefetch  on_allocate prefetches the block after the allocated one, on_free the freed one
template <prefetch Prefetch = prefetch::none>
struct lifo_reuse {
  using axis = tarn::axis::reuse;
  static constexpr reuse_traits traits{
      .min_block = sizeof(detail::free_link),
      .min_alignment = alignof(detail::free_link),
      .needs_chunks = false,
  };

  template <class Traits>
  using per_chunk = detail::no_column<axis>;

  template <class Traits>
  class list {
    using chunks_type = typename Traits::chunks;
    using words = detail::free_words<chunks_type>;

   public:
    TARN_STEP void* pop(chunks_type& chunks) noexcept {
      void* const block = head_;
      if (block != nullptr) [[likely]] {
        head_ = next(chunks, block);
        if constexpr (Prefetch == prefetch::on_allocate) detail::prefetch_for_write(head_);
      }
      return block;
    }
    void* pop_slow(chunks_type& chunks) noexcept {
      void* const block = pop(chunks);
      return block != nullptr ? block : carve(chunks);
    }
    TARN_STEP detail::status push(chunks_type& chunks, void* block) noexcept {
      if constexpr (Prefetch == prefetch::on_free) detail::prefetch_for_write(block);
      words(chunks).write(block, 0, head_);
      head_ = block;
      return detail::status::done;
    }
    detail::status make_room(chunks_type&) noexcept { return detail::status::done; }  // there is always room

    std::size_t pop_batch(chunks_type& chunks, void** out, std::size_t n) noexcept {
      std::size_t got = 0;
      while (got != n && head_ != nullptr) out[got++] = pop(chunks);
      return got + chunks.carve(out + got, n - got);
    }
    detail::status push_batch(chunks_type& chunks, void* const* in, std::size_t n) noexcept {
      while (n != 0) push(chunks, in[--n]);  // the first of the batch is allocated first
      return detail::status::done;
    }

    void adopted(typename Traits::chunk&) noexcept {}
    static constexpr bool gone(typename Traits::chunk&) noexcept { return false; }
    TARN_STEP bool is_empty() const noexcept { return head_ == nullptr; }
    void drain(chunks_type& chunks, auto take) noexcept {
      for (void* block = detail::replace(head_, nullptr); block != nullptr;) {
        void* const below = next(chunks, block);  // take() may write to the block
        take(block);
        block = below;
      }
    }
    void restore(chunks_type& chunks, void* block) noexcept { push(chunks, block); }
    void forget() noexcept { head_ = nullptr; }
    static std::size_t outside(const chunks_type& chunks) noexcept
      requires(Traits::is_listed)
    {
      return chunks.carved();
    }
    /// Visits every free block. An overwritten link ends the list, or may make it circular.
    std::size_t in_front(const chunks_type& chunks) const noexcept
      requires(Traits::is_listed)
    {
      std::size_t n = 0;
      for (void* block = head_; block != nullptr && n != chunks.carved(); ++n)
        block = next(const_cast<chunks_type&>(chunks), block);
      return n;
    }

   private:
    TARN_STEP static void* next(chunks_type& chunks, void* block) noexcept {
      void* const below = words(chunks).read(block, 0);
      return below == nullptr || words(chunks).trusts(below) ? below : nullptr;
    }

    /// Carves several blocks, at most the next KiB, because linking them costs less than a call for each. A million of 16
    /// bytes, with growth: 1.45 to 1.10 times a handwritten list.
    void* carve(chunks_type& chunks) noexcept {
      if constexpr (Traits::in_place) {
        return chunks.carve();  // firmware: saves 36 bytes of code
      } else {
        constexpr std::size_t most = 16;
        void* run[most];
        TARN_CHOICE(carved);
        TARN_ROUNDS(new_blocks, most);
        TARN_ROUNDS(new_records, most);
        TARN_ROUNDS(runs_of_blocks, 2);
        std::size_t n = chunks.carve(run, chunks.grain(detail::clamped(1024 / chunks.geometry().stride(), 1, most)));
        if (n == 0) return nullptr;
        TARN_CHOSEN(carved);
        while (n != 1) {
          TARN_AT_MOST(most - 1);
          push(chunks, run[--n]);
        }
        if (run[0] == nullptr) TARN_CHOSEN(carved);  // never
        return run[0];
      }
    }

    void* head_ = nullptr;
  };
};

namespace detail {
/// Takes blocks from a list that is drained.
struct taker {
  void operator()(void*) const noexcept {}
};

template <class P, class Traits>
concept reuse_members = requires(typename P::template list<Traits>& list, typename Traits::chunks& chunks, void* block,
                                 void** out, void* const* in, std::size_t n) {
  { list.pop(chunks) } noexcept -> std::same_as<void*>;
  { list.pop_slow(chunks) } noexcept -> std::same_as<void*>;
  { list.push(chunks, block) } noexcept -> std::same_as<status>;
  { list.make_room(chunks) } noexcept -> std::same_as<status>;
  { list.pop_batch(chunks, out, n) } noexcept -> std::same_as<std::size_t>;
  { list.push_batch(chunks, in, n) } noexcept -> std::same_as<status>;
  { list.drain(chunks, taker{}) } noexcept -> std::same_as<void>;
} && requires(typename P::template list<Traits>& list, typename Traits::chunk& chunk) {
  { list.adopted(chunk) } noexcept -> std::same_as<void>;
  { list.forget() } noexcept -> std::same_as<void>;
} && requires(typename P::template list<Traits>& list, typename Traits::chunks& chunks, void* block) {
  { list.restore(chunks, block) } noexcept -> std::same_as<void>;
} && (!Traits::is_listed || requires(const typename P::template list<Traits>& list, const typename Traits::chunks& chunks) {
  { list.outside(chunks) } noexcept -> std::same_as<std::size_t>;
  { list.in_front(chunks) } noexcept -> std::same_as<std::size_t>;
}) && std::default_initializable<typename P::template list<Traits>>;
}  // namespace detail

/// Everything that the pool uses of a reuse policy, in addition to its traits.
/// The machinery is `list<Traits>`, called with the core guard held.
///   per_chunk<Traits>            its column: column_bytes(blocks, geometry), open(column, blocks, geometry)
///   pop(chunks)                  one branch; null: none is ready
///   pop_slow(chunks)             refills or carves; null: a chunk is needed. First tries again, because another thread may
///                                have refilled
///   push(chunks, block)          takes it; `crowded`: make_room(chunks) must follow, which returns `done` or `surplus`
///   pop_batch, push_batch        the first block of a freed batch is allocated first
///   adopted(chunk)               a chunk was added, or stayed when others were returned or all blocks became free
///   is_empty()                   optional: whether it has no free block, so that drain() need not be called; O(1)
///   gone(chunk)                  optional: a chunk is returned while the list is drained; returns whether adopted() must be
///                                called for others
///   rest(chunks), is_at_rest()   optional: a trim is over; whether the free blocks are still the same
///   drain(chunks, take)          calls take(block) for every free block, starting with the next to be allocated; the list is
///                                then as new, and columns may be freed
///   restore(chunks, block)       takes back a drained block whose chunk stays
///   forget()                     drops every free block untouched, because all chunks are returned
/// and, if the pool is in the registry:
///   outside(chunks)              blocks that are in use or at the front; O(1). Front: the cache that pop and push alone use
///   in_front(chunks)             blocks at the front
/// and, if it sees empty chunks:
///   settle(chunks)               moves every free block to its chunk, so that every chunk without a block in use counts as
///                                empty
///   empty_chunks()               how many chunks are empty
///   take_empty()                 removes and returns one of them
///   front_capacity(chunks)       how many blocks may wait in one place in front of the list, so that chunks can become empty
/// Of `chunks` a list uses the following, and accesses free blocks only through detail::free_words(chunks).
///   carve(out, n)                up to n blocks that were never handed out, or that a walk found free, in ascending order;
///                                returns how many
///   grain(n)                     how many of n to carve at once: in a new pool and after a walk, fewer at first
template <class P>
concept reuse_policy = policy_on<P, axis::reuse> && detail::says<P, reuse_traits> && requires {
  typename detail::template_name<P::template per_chunk>;
  typename detail::template_name<P::template list>;
};

}  // namespace tarn

namespace tarn::detail {

// ---- an array of block pointers in front of a back end: the newest free blocks, available without touching them ----------
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

#endif  // TARN_POLICIES_REUSE_H_
