// The chunk of a pool whose blocks are an array in its store, and in which no axis keeps anything per chunk. It has nothing to
// fetch, to lay out or to give back, and everything in it but `carved` is a constant. It has those members of `chunks` that
// such a pool uses.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_ARRAY_CHUNK_H_
#define TARN_ALLOCATOR_DETAIL_CORE_ARRAY_CHUNK_H_

#include <cstddef>

#include "tarn/allocator/detail/core/array_place.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

template <class Traits>
class array_chunk {
 public:
  using traits = Traits;
  using geometry_type = typename Traits::geometry;
  using chunk = array_chunk;  // a chunk is its own record

  template <class Values>
  constexpr explicit array_chunk(const Values& values) noexcept : array_(values) {}
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
    while (got != n && (out[got] = carve()) != nullptr) ++got;
    return got;
  }
  /// Calls visit(block) for every block that was handed out at least once, used or free, by ascending address.
  template <class Visit>
  void each_carved(Visit visit) {
    for (std::size_t i = 0; i != carved_; ++i) visit(block_at(i));
  }
  /// Makes it as new. Returns the bytes of the array, or 0 if no block was handed out.
  std::size_t forget() noexcept {
    if (carved_ == 0) return 0;
    memory_tools::poison(start(), geometry().extent(capacity()));
    carved_ = 0;
    return geometry().extent(capacity());
  }
  /// The pool ends: the array belongs to the program again.
  void end() noexcept { array_.get().end(); }

 private:
  TARN_STEP std::byte* start() const noexcept { return array_.get().start(); }

  std::size_t carved_ = 0;
  array_of_pool<Traits> array_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_ARRAY_CHUNK_H_
