// Blocks with a region of their own. The record in front of each lets release() find the region.
//
//   | prefix | padding | record | block ...         the block is aligned as requested; the record is just in front of it
//   ^ region.start
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_

#include <cstddef>
#include <new>
#include <utility>

#include "tarn/allocator/detail/classes/class_chunks.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"

namespace tarn {

/// Blocks that are too large for any size class.
struct large_counts {
  std::size_t blocks = 0;  // in use
  std::size_t bytes = 0;  // that they take from the store
};

namespace detail {

template <class Chunks, class Locking>
class large_blocks {
  struct alignas(std::max_align_t) record {
    record* next;
    record* previous;
    memory region;
    std::size_t alignment;
    std::size_t bytes;
  };

 public:
  /// Returns null if the store gives no memory. `alignment` is a power of two.
  void* allocate(Chunks& chunks, std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > size_limit || alignment > size_limit) return nullptr;
    bytes = detail::larger(bytes, 1);
    alignment = detail::larger(alignment, alignof(record));
    const std::size_t offset = round_up(Chunks::large_prefix + sizeof(record), alignment);
    const memory region = chunks.acquire_large(offset + bytes, alignment);
    if (!region) return nullptr;
    std::byte* const block = static_cast<std::byte*>(region.start) + offset;
    const held lock(mutex_);
    record* const r = ::new (block - sizeof(record)) record{first_, nullptr, region, alignment, bytes};
    if (first_ != nullptr) first_->previous = r;
    first_ = r;
    held_.blocks += 1;
    held_.bytes += region.bytes;
    return block;
  }

  void deallocate(Chunks& chunks, void* block) noexcept {
    record* const r = record_of(block);
    {
      const held lock(mutex_);
      (r->previous != nullptr ? r->previous->next : first_) = r->next;
      if (r->next != nullptr) r->next->previous = r->previous;
      held_.blocks -= 1;
      held_.bytes -= r->region.bytes;
    }
    chunks.release_large(r->region, r->alignment);
  }

  static std::size_t usable_size(const void* block) noexcept { return record_of(const_cast<void*>(block))->bytes; }

  /// Precondition: no other thread uses the pool.
  void release_all(Chunks& chunks) noexcept {
    for (record* r = std::exchange(first_, nullptr); r != nullptr;) {
      const memory region = r->region;
      const std::size_t alignment = r->alignment;
      r = r->next;  // the record lies in the region
      chunks.release_large(region, alignment);
    }
    held_ = {};
    mutex_.leave();
  }

  large_counts read() const noexcept {
    const held lock(mutex_);
    return held_;
  }

 private:
  static record* record_of(void* block) noexcept { return std::launder(static_cast<record*>(block) - 1); }

  record* first_ = nullptr;
  large_counts held_;
  TARN_NO_UNIQUE_ADDRESS mutable owner_mutex<Locking> mutex_;
};

}  // namespace detail
}  // namespace tarn

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_
