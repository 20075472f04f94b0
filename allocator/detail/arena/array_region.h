// The memory of an arena that is an array in the object: a number, and no chunk, store or growth.
#ifndef TARN_ALLOCATOR_DETAIL_ARENA_ARRAY_REGION_H_
#define TARN_ALLOCATOR_DETAIL_ARENA_ARRAY_REGION_H_

#include <cstddef>

#include "tarn/allocator/detail/arena/arena_traits.h"
#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Its members are those of chunk_region.
template <class Traits>
class array_region {
  using array = typename Traits::store::template array<Traits>;
  static constexpr std::size_t size = array::size;
  static_assert(size % byte_geometry::alignment() == 0);  // so that nothing that was rounded up is behind the end

 public:
  struct place {
    std::byte* at;
  };

  template <class Values>
  constexpr explicit array_region(const Values& values) noexcept : array_(values) {}

  TARN_STEP std::byte* at() noexcept { return array_.get().start() + used_; }
  TARN_STEP void move_to(std::byte* to) noexcept { used_ = static_cast<std::size_t>(to - array_.get().start()); }
  TARN_STEP std::size_t left() const noexcept { return size - used_; }
  TARN_STEP place now() noexcept { return {at()}; }
  place start() noexcept { return {array_.get().start()}; }

  template <std::size_t Bytes, std::size_t Alignment>
  TARN_STEP bool hit(void*& block) noexcept {
    constexpr std::size_t bytes = arena_taken(larger(Bytes, 1));
    const std::size_t at = used_ + skipped(Alignment);
    if (at + bytes > size) [[unlikely]]
      return false;
    used_ = at + bytes;
    block = array_.get().start() + at;
    return true;
  }
  TARN_STEP bool hit(void*& block, std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment > byte_geometry::alignment()) [[unlikely]]
      return false;
    return take(block, bytes, used_ + skipped(alignment));
  }
  void* hit_slow(std::size_t bytes, std::size_t alignment) noexcept {
    void* block = nullptr;
    const std::size_t at = used_ + skipped(alignment);
    if (at <= size) take(block, larger(bytes, 1), at);
    return block;
  }
  TARN_STEP void rewind(place to) noexcept { move_to(to.at); }
  template <class Visit>
  void each_behind(place from, Visit visit) noexcept {
    if (at() > from.at) visit(memory{from.at, static_cast<std::size_t>(at() - from.at)});
  }
  bool owns(const void* block) const noexcept { return address_of(block) - address_of(array_.get().start()) < used_; }
  bool is_spare(const void* block) const noexcept {
    return !owns(block) && address_of(block) - address_of(array_.get().start()) < size;
  }
  std::size_t in_use() const noexcept { return used_; }
  static constexpr std::size_t capacity() noexcept { return size; }
  void end() noexcept { array_.get().end(); }

 private:
  TARN_STEP std::size_t skipped(std::size_t alignment) noexcept {
    if (alignment <= arena_unit) return 0;
    const std::size_t at = alignment <= byte_geometry::alignment() ? used_ : address_of(array_.get().start()) + used_;
    return round_up(at, alignment) - at;
  }
  TARN_STEP bool take(void*& block, std::size_t bytes, std::size_t at) noexcept {
    const std::size_t taken = arena_taken(bytes);
    if (taken - 1 >= size - at) [[unlikely]]
      return false;
    used_ = at + taken;
    block = array_.get().start() + at;
    return true;
  }

  std::size_t used_ = 0;
  array_of_pool<Traits> array_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ARENA_ARRAY_REGION_H_
