// decides    the newest free blocks are kept in an array of pointers, the others in batches of 64, packed into the free blocks
// costs      8 instructions to allocate a block and 7 to free it; 2 KiB in the pool object. A free doesn't touch the block
// conflicts  static sizes under 16 bytes, which can't hold a batch; smaller run-time sizes take 16
// use when   there is no reason for another policy: it is the fastest, or as fast, in nearly every workload (the default for
//            unbounded stores)
#ifndef TARN_POLICIES_REUSE_BATCH_REUSE_H_
#define TARN_POLICIES_REUSE_BATCH_REUSE_H_

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/reuse.h"

// What happens:
//
//   pop           from the array in front
//    pop_slow       opens the array; 64 blocks of the newest batch, or unused blocks
//   push          onto the array
//    make_room      larger storage for the array, once; then its older half is packed, 64 blocks at a time
//
// A stack of batches: 64 free blocks at a time, their addresses packed into the free blocks themselves.
//
// A batch is a stream of 64 pointers: first the link to the batch below, then the addresses of blocks 1 to 63. The stream is
// cut into pieces of as many pointers as a block holds, and piece j is in block j. So the address of the block with piece j is
// in an earlier piece, and the misses of unpacking overlap. Only 64 / words blocks are touched: 32 of 16 bytes, 8 of 64, 2 of
// 256. Reallocation after a million random frees: 129 to 10 ns a block against a list (prototype, Sapphire Rapids).

namespace tarn::detail {

/// The number of batches, for pools that need it.
struct counted_batches {
  void change(std::size_t by) noexcept { value += by; }
  std::size_t value = 0;
};
struct uncounted_batches {
  static constexpr void change(std::size_t) noexcept {}
};

/// \tparam Count  counted_batches or uncounted_batches
template <class Count = uncounted_batches>
class batch_stack {
 public:
  static constexpr std::size_t batch = 64;  // blocks

  /// How many of the blocks hold a piece: the first of a batch. The others may be null.
  static constexpr std::size_t pieces(std::size_t words) noexcept { return (batch + words - 1) / words; }

  constexpr bool empty() const noexcept { return head_ == nullptr; }
  std::size_t blocks() const noexcept { return count_.value * batch; }

  /// Packs blocks[0..63].
  /// \param in  reads and writes the words of free blocks (free_words): at least 2 in each
  void give(void* const* blocks, const auto& in) noexcept {
    TARN_ROUNDS(words_of_batch, batch);
    const std::size_t words = in.count();
    in.write(blocks[0], 0, head_);
    const std::size_t first = words < batch ? words : batch;
    for (std::size_t w = 1; w != first; ++w) {
      TARN_ROUND(words_of_batch, 1);
      in.write(blocks[0], w, blocks[w]);
    }
    std::size_t piece = 1;
    std::size_t at = words;
    for (; at + words <= batch; ++piece, at += words) {
      TARN_AT_MOST(batch / 2 - 1);
      write_words(in, blocks[piece], blocks + at, words);
    }
    const std::size_t rest = at < batch ? batch - at : 0;
    for (std::size_t w = 0; w != rest; ++w) {
      TARN_ROUND(words_of_batch, 1);
      in.write(blocks[piece], w, blocks[at + w]);
    }
    head_ = blocks[0];
    count_.change(1);
  }

  /// Unpacks the newest batch into out[0..63]. Returns false if there is none, or if an address can't be trusted; the stack is
  /// then empty.
  bool take(void** out, const auto& in) noexcept {
    if (head_ == nullptr) return false;
    TARN_ROUNDS(words_of_batch, batch);
    TARN_ROUNDS(pieces_of_batch, batch / 2);
    const std::size_t words = in.count();
    count_.change(static_cast<std::size_t>(-1));
    out[0] = head_;
    head_ = in.read(out[0], 0);
    if (head_ != nullptr && !in.trusts(head_)) return drop();
    prefetch_for_write(head_);  // the next batch's first piece; null prefetches nothing
    const std::size_t first = words < batch ? words : batch;
    for (std::size_t w = 1; w != first; ++w) {
      TARN_ROUND(words_of_batch, 1);
      out[w] = in.read(out[0], w);
    }
    const std::size_t pieces = batch_stack::pieces(words);
    std::size_t asked = 1;  // pieces whose addresses are known are prefetched early: their misses overlap
    const auto ask = [&](std::size_t known) {
      for (; asked < known && asked < pieces; ++asked) {
        TARN_ROUND(pieces_of_batch, 1);
        prefetch_for_write(out[asked]);
      }
    };
    ask(first);
    std::size_t piece = 1;
    std::size_t at = words;
    for (; at + words <= batch; ++piece, at += words) {
      TARN_AT_MOST(batch / 2 - 1);
      if (!in.trusts(out[piece])) return drop();
      read_words(in, out[piece], out + at, words);
      ask(at + words);
    }
    const std::size_t rest = at < batch ? batch - at : 0;
    if (rest != 0 && !in.trusts(out[piece])) return drop();
    for (std::size_t w = 0; w != rest; ++w) {
      TARN_ROUND(words_of_batch, 1);
      out[at + w] = in.read(out[piece], w);
    }
    return true;
  }

  /// Prefetches the pieces of the newest batch whose addresses are in its first one. Draining half a million blocks of 64 bytes
  /// that were freed at random: 8.4 to 6.6 ms with g++, 8.7 to 7.2 with clang (AMD EPYC, busy). Inlined, because g++ takes it
  /// for a function without effects otherwise, and drops it.
  TARN_STEP void prefetch(const auto& in) const noexcept {
    if (head_ == nullptr) return;
    const std::size_t words = in.count();
    const std::size_t known = smaller(words, batch_stack::pieces(words));
    for (std::size_t w = 1; w < known; ++w) prefetch_for_write(in.read(head_, w));
  }

 private:
  bool drop() noexcept {
    head_ = nullptr;
    count_ = {};
    return false;
  }

  // Copies a whole piece, word by word. A copy of run-time length would become `rep movs` in g++, which waits for each piece in
  // turn; one in 16-byte moves would be stores that can't be forwarded to later pops. A million blocks freed in random order
  // and allocated again, huge pages: 1.08 to 0.96 of the time of a handwritten version. Two words at a time need one test for
  // two. A list of 10,000 elements, filled and cleared: 58 to 48 instructions and 5.1 to 4.5 ns an element (g++ 12, Xeon with
  // AMX).
  static void write_words(const auto& in, void* block, void* const* from, std::size_t words) noexcept {
    std::size_t w = 0;
    for (; w + 2 <= words; w += 2) {
      TARN_ROUND(words_of_batch, 2);
      in.write(block, w, from[w]);
      in.write(block, w + 1, from[w + 1]);
    }
    if (w != words) in.write(block, w, from[w]);
  }
  static void read_words(const auto& in, void* block, void** to, std::size_t words) noexcept {
    std::size_t w = 0;
    for (; w + 2 <= words; w += 2) {
      TARN_ROUND(words_of_batch, 2);
      to[w] = in.read(block, w);
      to[w + 1] = in.read(block, w + 1);
    }
    if (w != words) to[w] = in.read(block, w);
  }

  void* head_ = nullptr;
  TARN_NO_UNIQUE_ADDRESS Count count_;
};

}  // namespace tarn::detail

namespace tarn {

/// \tparam Prefetch  on_allocate prefetches the allocated block, on_free the freed one
/// \tparam Front     pointers in the array, a multiple of 64 and at least 128. The pool object has room for 256; more are in
///                   the first chunk of which they take no more than 1/32. They are touched only when they are needed. 128: a
///                   pool object half as large
template <prefetch Prefetch = prefetch::on_allocate, std::size_t Front = 1024>
struct batch_reuse {
  using axis = tarn::axis::reuse;
  static constexpr bool arguments_hold = Front >= 128 && Front % 64 == 0;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [E1] batch_reuse was given a front (its array of free blocks) that isn't a multiple of 64 or is under "
                  "128 pointers; use 128, 256 or 1024");
  };
  static constexpr reuse_traits traits{.min_block = 2 * sizeof(void*), .min_alignment = alignof(void*), .drops_null = true};

 private:
  // 256, because with 128 a burst of 100 moves a batch back and forth, and takes 1.4 times as long.
  static constexpr std::size_t own_front = detail::smaller(Front, 256);
  static constexpr std::size_t front_bytes = (Front + 1) * sizeof(void*);
  static constexpr std::size_t batch = detail::batch_stack<>::batch;

 public:
  /// The column: storage for the large front, in chunks of at least 32 times its size.
  template <class Traits>
  struct per_chunk {
    static constexpr std::size_t column_bytes(std::size_t blocks, const auto& geometry) noexcept {
      return Front > own_front && blocks * geometry.stride() / 32 >= front_bytes ? front_bytes : 0;
    }
    void open(std::byte* column, std::size_t blocks, const auto& geometry) noexcept {
      front = column_bytes(blocks, geometry) == 0 ? nullptr : reinterpret_cast<void**>(column);
    }
    void** front = nullptr;
  };

  template <class Traits>
  class list {
    using chunks_type = typename Traits::chunks;
    using words = detail::free_words<chunks_type>;
    using batches =
        detail::batch_stack<std::conditional_t<Traits::is_listed, detail::counted_batches, detail::uncounted_batches>>;

   public:
    TARN_STEP void* pop(chunks_type&) noexcept {
      void* const block = front_.pop();
      if constexpr (Prefetch == prefetch::on_allocate) {
        if (block != nullptr) [[likely]] detail::prefetch_for_write(block);
      }
      return block;
    }
    TARN_NOINLINE void* pop_slow(chunks_type& chunks) noexcept {
      TARN_CHOICE(refill);
      rest_ = nullptr;
      if (!front_.has_block()) {
        if (front_.closed()) front_.open();
        if (batches_.take(front_.fill(batch), words(chunks))) {
          TARN_CHOSEN(refill);
          front_.filled(batch, batch);
        } else {
          TARN_ROUNDS(new_blocks, batch);
          TARN_ROUNDS(new_records, batch);
          TARN_ROUNDS(runs_of_blocks, 2);
          const std::size_t n = chunks.grain(batch);
          const std::size_t got = chunks.carve(front_.fill(n), n);
          if (got != 0) TARN_CHOSEN(refill);
          front_.filled(n, got);
        }
      }
      void* const block = pop(chunks);
      if (block == nullptr) TARN_CHOSEN(refill);
      return block;
    }
    TARN_STEP detail::status push(chunks_type&, void* block) noexcept {
      if constexpr (Prefetch == prefetch::on_free) detail::prefetch_for_write(block);
      return front_.push(block) ? detail::status::done : detail::status::crowded;
    }
    /// Gives the front (larger) storage, or moves the older half of it to the back end, batch by batch.
    TARN_NOINLINE detail::status make_room(chunks_type& chunks) noexcept {
      rest_ = nullptr;
      if (front_.closed()) front_.open();
      else if (larger_ != nullptr && front_.capacity() != Front) front_.move_to(larger_, Front + 1);
      else pack(chunks);
      return detail::status::done;
    }

    // Not inlined, because the compiler would compare the unpacking of 64 addresses with the caller's array of maybe five, and
    // warn.
    TARN_NOINLINE std::size_t pop_batch(chunks_type& chunks, void** out, std::size_t n) noexcept {
      rest_ = nullptr;
      std::size_t got = front_.take(out, n);
      while (n - got >= batch && batches_.take(out + got, words(chunks))) got += detail::without_nulls(out + got, batch);
      if (n != got && batches_.empty()) got += chunks.carve(out + got, n - got);
      for (; got != n; ++got) {  // part of a batch
        out[got] = pop_slow(chunks);
        if (out[got] == nullptr) break;
      }
      return got;
    }
    detail::status push_batch(chunks_type& chunks, void* const* in, std::size_t n) noexcept {
      while (n != 0) {  // from the end, so that the first of the batch is allocated first
        if (front_.room() == 1) make_room(chunks);
        const std::size_t taken = detail::smaller(n, front_.room() - 1);
        n -= taken;
        std::memcpy(front_.fill(taken), in + n, taken * sizeof(void*));
        front_.filled(taken, taken);
      }
      return detail::status::done;
    }

    void adopted(typename Traits::chunk& chunk) noexcept {
      if (larger_ == nullptr) larger_ = static_cast<per_chunk&>(chunk).front;
    }

    TARN_STEP bool is_empty() const noexcept { return front_.size() == 0 && batches_.empty(); }
    /// The chunk whose column holds the front may be returned: gone().
    void drain(chunks_type& chunks, auto take) noexcept {
      void* some[batch];
      while (const std::size_t got = front_.take(some, batch)) detail::each_of(some, got, take);
      while (batches_.take(some, words(chunks))) {
        const std::size_t got = detail::without_nulls(some, batch);
        detail::each_of(some, got / 2, take);
        batches_.prefetch(words(chunks));  // not before: take() has only just prefetched its first piece
        detail::each_of(some + got / 2, got - got / 2, take);
      }
      void** const larger = larger_;
      forget();
      larger_ = larger;
    }
    /// A chunk is returned while the list is drained. Returns whether another may have what the list needs.
    bool gone(typename Traits::chunk& chunk) noexcept {
      if (larger_ == nullptr || static_cast<per_chunk&>(chunk).front != larger_) return false;
      larger_ = nullptr;
      return true;
    }
    /// From now on is_at_rest() returns whether the free blocks are still the present ones. A null on top of the front makes a
    /// call that takes one of them go to the slow path.
    void rest(chunks_type& chunks) noexcept {
      if (front_.size() != 0) {
        if (front_.room() == 1) make_room(chunks);
        if (!front_.push(nullptr)) return static_cast<void>(make_room(chunks));
      }
      rest_ = front_.entries();
    }
    bool is_at_rest() noexcept { return rest_ != nullptr && rest_ == front_.entries(); }
    void restore(chunks_type& chunks, void* block) noexcept {
      if (push(chunks, block) == detail::status::crowded) make_room(chunks);
    }
    std::size_t outside(const chunks_type& chunks) const noexcept
      requires(Traits::is_listed)
    {
      return chunks.carved() - batches_.blocks();
    }
    std::size_t in_front(const chunks_type&) const noexcept { return front_.blocks(); }
    void forget() noexcept {
      front_.close();
      batches_ = {};
      larger_ = nullptr;
      rest_ = nullptr;
    }

   private:
    using per_chunk = batch_reuse::per_chunk<Traits>;

    void pack(chunks_type& chunks) noexcept {
      std::size_t dropped = 0;
      const std::size_t keep = front_.capacity() / 2 - 1;  // so that even a front of 128 with 127 entries gives up one batch
      // Elsewhere a batch may contain a null, unless batches are counted.
      const std::size_t pieces = Traits::is_listed ? batch : batches_.pieces(words(chunks).count());
      for (std::size_t left = front_.size(); left >= keep + batch; left -= batch, dropped += batch) {
        TARN_AT_MOST(Front / 2 / batch);
        TARN_ROUNDS(search_for_null, batch);
        void** const oldest = front_.entries() + left - batch;
        if (detail::first_null(oldest, pieces) != pieces) [[unlikely]] {  // dropping it also makes room
          front_.drop_oldest(dropped);
          return front_.sweep();
        }
        batches_.give(oldest, words(chunks));
      }
      front_.drop_oldest(dropped);
    }

    detail::array_front<own_front, Traits::holds_array> front_;
    batches batches_;
    void** larger_ = nullptr;  // the column of the first chunk that has one
    void** rest_ = nullptr;    // the top of the front when rest() was called, until a block was taken that was there
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_REUSE_BATCH_REUSE_H_
