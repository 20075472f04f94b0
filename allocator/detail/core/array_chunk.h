// The chunk of a pool whose blocks are an array in its store, and in which no axis keeps anything per chunk. It has nothing to
// fetch, to lay out or to give back, and everything in it but `carved` is a constant. It has those members of `chunks` that
// such a pool uses.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_ARRAY_CHUNK_H_
#define TARN_ALLOCATOR_DETAIL_CORE_ARRAY_CHUNK_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/allocator/detail/core/free_bits.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

// Where the blocks of a pool are if they are an array of its store: in the pool object, or outside it.
//
// What isn't zero from the start takes space in the program's file, and on firmware in flash. So a pool that has a destructor
// starts all zero, with its array. A static pool, which has no destructor, may contain other values; its array is then outside
// it.

template <class Traits>
class array_elsewhere {
  using array = typename Traits::store::template array<Traits>;

 public:
  template <class Values>
  constexpr explicit array_elsewhere(const Values& values) noexcept {
    if constexpr (requires { values.template array_of<array>(); }) array_ = values.template array_of<array>();
  }
  TARN_STEP array& get() const noexcept { return *array_; }

 private:
  array* array_ = nullptr;
};
template <class Traits>
class array_inside {
  using array = typename Traits::store::template array<Traits>;

 public:
  constexpr explicit array_inside(const auto&) noexcept {}
  TARN_STEP array& get() const noexcept { return array_; }

 private:
  mutable array array_;  // blocks are no part of the pool's value
};

template <class Traits>
using array_of_pool = std::conditional_t<Traits::arrays_lie_beside, array_elsewhere<Traits>, array_inside<Traits>>;

template <class Traits>
class array_chunk : public chunks_not_walked {
 public:
  using traits = Traits;
  using geometry_type = typename Traits::geometry;
  using chunk = array_chunk;  // a chunk is its own record

  constexpr explicit array_chunk(const auto& values) noexcept : array_(values) {}
  array_chunk(const array_chunk&) = delete;
  array_chunk& operator=(const array_chunk&) = delete;

  TARN_STEP static constexpr geometry_type geometry() noexcept { return {}; }
  static constexpr std::size_t capacity() noexcept { return Traits::store::blocks; }
  const array_chunk* find(const void* address) const noexcept {
    return address_of(address) - address_of(start()) < geometry().extent(capacity()) ? this : nullptr;
  }
  bool is_block(const void* address) const noexcept {
    return find(address) != nullptr &&
           geometry().slot_at(address_of(address) - address_of(start()) - geometry().offset()) < carved_;
  }
  std::byte* block_at(std::size_t slot) noexcept { return start() + geometry().distance(slot) + geometry().offset(); }
  std::size_t carved() const noexcept { return carved_; }

  /// The next block that was never handed out, or null.
  void* carve() noexcept {
    if (carved_ == capacity()) return nullptr;
    if (carved_ == 0) memory_tools::poison(start(), geometry().extent(capacity()));
    return block_at(carved_++);
  }
  std::size_t carve(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && (out[got] = carve()) != nullptr) {
      TARN_ROUND(new_blocks, 1);
      ++got;
    }
    return got;
  }
  /// Calls visit(block) for every block that was handed out at least once, used or free, by ascending address.
  void each_carved(auto visit) {
    for (std::size_t i = 0; i != carved_; ++i) visit(block_at(i));
  }
  /// Makes it as new. Returns the bytes of the array, or 0 if no block was handed out.
  std::size_t forget() noexcept {
    if (carved_ == 0) return 0;
    memory_tools::poison(start(), geometry().extent(capacity()));
    carved_ = 0;
    return geometry().extent(capacity());
  }
  /// The pool is destroyed: the array belongs to the program again.
  void end() noexcept { array_.get().end(); }

 private:
  TARN_STEP std::byte* start() const noexcept { return array_.get().start(); }

  std::size_t carved_ = 0;
  array_of_pool<Traits> array_;
};

// The chunk of a pool whose blocks are an array in its store, if a checking policy keeps something about each of them. As
// array_chunk, it has nothing to fetch or to give back; it has those members of `chunks` that such a pool and its checks use.
// The column is in the array, in front of the blocks.

/// What is known of it. No other chunk will come.
template <class Traits>
  requires(Traits::in_place)
struct chunk<Traits> : Traits::checking::template per_chunk<Traits> {
  std::byte* first = nullptr;  // slot 0; null: it wasn't used yet
  static constexpr std::size_t blocks = Traits::store::blocks;
  std::size_t carved = 0;  // blocks from this one on were never handed out
};

template <class Traits>
class checked_array : public suspicions<Traits>, public chunks_not_walked {
 public:
  using traits = Traits;
  using geometry_type = typename Traits::geometry;
  using chunk = typename Traits::chunk;
  static constexpr bool may_lose_chunks = false;

  constexpr explicit checked_array(const auto& values) noexcept : array_(values) {}
  checked_array(const checked_array&) = delete;
  checked_array& operator=(const checked_array&) = delete;

  TARN_STEP static constexpr geometry_type geometry() noexcept { return {}; }
  static constexpr std::size_t capacity() noexcept { return Traits::store::blocks; }
  std::size_t carved() const noexcept { return chunk_.carved; }

  const chunk* find(const void* address) const noexcept {
    return !ended_ && has(address) ? detail::pointer_to(chunk_) : nullptr;
  }
  chunk* find(const void* address) noexcept {
    if (ended_ || !has(address)) return nullptr;
    open();
    return detail::pointer_to(chunk_);
  }
  /// For hits: whatever the address, since outside the array no slot is one that was carved.
  TARN_STEP chunk* guess(const void*) noexcept { return detail::pointer_to(chunk_); }
  TARN_STEP static constexpr bool bring_in_front(const void*) noexcept { return false; }  // it is
  bool is_block(const void* address) const noexcept {
    const chunk* const c = find(address);
    return c != nullptr && slot_of(*c, address) < c->carved;
  }
  /// Whether a block that the checking policy knows as free starts at the address.
  bool is_free(const void* block) const noexcept {
    const std::size_t slot = slot_of(chunk_, block);
    return slot < chunk_.carved && !checking_column(chunk_).in_use(slot);
  }
  static const auto& checking_column(const chunk& c) noexcept {
    return static_cast<const typename Traits::checking::template per_chunk<Traits>&>(c);
  }
  static std::size_t slot_of(const chunk& c, const void* block) noexcept {
    return geometry().slot_at(address_of(block) - address_of(c.first) - geometry().offset());
  }
  std::byte* block_at(std::size_t slot) noexcept { return block_at(first(), slot); }
  static std::byte* block_at(std::byte* first, std::size_t slot) noexcept {
    return first + geometry().distance(slot) + geometry().offset();
  }

  /// The next block that was never handed out, or null.
  void* carve() noexcept {
    if (chunk_.carved == capacity()) return nullptr;
    open();
    TARN_ROUNDS(new_records, 1);
    chunk_.make_records(chunk_.carved + 1);
    return block_at(chunk_.carved++);
  }
  std::size_t carve(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && (out[got] = carve()) != nullptr) ++got;
    return got;
  }
  void each_carved(auto visit) {
    for (std::size_t i = 0; i != chunk_.carved; ++i) visit(block_at(i));
  }
  void each(auto visit) {
    if (chunk_.carved != 0) visit(chunk_);
  }
  /// Makes it as new. Returns the bytes of the array, or 0 if no block was handed out.
  std::size_t forget() noexcept {
    if (chunk_.carved == 0) return 0;
    chunk_.first = nullptr;
    chunk_.carved = 0;
    open();  // at once: so that what is known of no use any more isn't believed
    return geometry().extent(capacity());
  }
  /// The pool is destroyed: the array belongs to the program again, and nothing is a block.
  void end() noexcept {
    ended_ = true;
    array_.get().end();
  }

 private:
  using layout = typename Traits::layout;
  using column = typename Traits::checking::template per_chunk<Traits>;

  TARN_STEP std::byte* first() const noexcept { return array_.get().start() + layout::first_offset(capacity(), geometry()); }
  TARN_STEP bool has(const void* address) const noexcept {
    return address_of(address) - address_of(first()) < geometry().extent(capacity());
  }
  void open() noexcept {
    if (chunk_.first != nullptr) return;
    static_cast<column&>(chunk_).open(array_.get().start(), capacity(), geometry());
    chunk_.first = first();
    memory_tools::poison(chunk_.first, geometry().extent(capacity()));
  }

  chunk chunk_;
  bool ended_ = false;
  array_of_pool<Traits> array_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_ARRAY_CHUNK_H_
