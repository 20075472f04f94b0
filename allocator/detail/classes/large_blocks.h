// Blocks with a region of their own. The record in front of each lets release() find the region.
//
//   | prefix | padding | record | block ...         the block is aligned as requested; the record is just in front of it
//   ^ region.start
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_

#include <cstddef>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/classes/class_reports.h"
#include "tarn/allocator/detail/classes/known_spans.h"
#include "tarn/allocator/detail/classes/owner_stores.h"
#include "tarn/policies/checking/asked_in_use.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"

namespace tarn {

/// Blocks that are too large for any size class.
struct large_counts {
  std::size_t blocks = 0;  // in use
  std::size_t bytes = 0;  // that they take from the store
};

namespace detail {

/// \tparam Checks  any address may be given back: one at which no block starts is refused
/// \tparam Tells   report_in_use() asks what is in use here
template <class Chunks, class Locking, bool Checks, bool Tells>
class large_blocks {
  struct unknown_span {};
  struct alignas(std::max_align_t) record : std::conditional_t<Checks, known_span<record>, unknown_span> {
    record* next;
    record* previous;
    owned from;
    std::size_t alignment;
  };

 public:
  /// Returns null if the store gives no memory. `alignment` is a power of two.
  /// \param owner  can be asked from now on: its report_large_in_use() is, which calls report_in_use() here
  template <class Owner>
  void* allocate(Chunks& chunks, std::size_t bytes, std::size_t alignment, [[maybe_unused]] Owner& owner) noexcept {
    if (bytes > size_limit || alignment > size_limit) return nullptr;
    bytes = detail::larger(bytes, 1);
    alignment = detail::larger(alignment, alignof(record));
    const std::size_t offset = round_up(Chunks::large_prefix + sizeof(record), alignment);
    const owned got = chunks.acquire_large(offset + bytes, alignment);
    if (!got) return nullptr;
    std::byte* const block = static_cast<std::byte*>(got.region.start) + offset;
    record* const r = ::new (block - sizeof(record)) record;
    r->from = got;
    r->alignment = alignment;
    link(*r);
    if constexpr (Checks) known_.insert(*r, block, size_of(*r));
    if constexpr (Tells)
      asked_.enter(&owner, owner.name(), [](void* its) noexcept { return static_cast<Owner*>(its)->report_large_in_use(); });
    return block;
  }

  /// Null is left alone. Returns whether a block starts there; always true unless it checks.
  bool deallocate(Chunks& chunks, void* block) noexcept {
    if (block == nullptr) return true;
    record* r = nullptr;
    if constexpr (Checks) {
      r = known_.take(block);
      if (r == nullptr) return false;
    } else {
      r = record_of(block);
    }
    unlink(*r);
    const std::size_t alignment = r->alignment;
    chunks.release_large(r->from, alignment);
    return true;
  }

  /// In bytes. If it checks: 0 for an address at which no block starts.
  std::size_t usable_size(const void* block) const noexcept {
    if constexpr (Checks) {
      std::size_t bytes = 0;
      known_.find(block, [&](const record& r) { bytes = r.first == block ? size_of(r) : 0; });
      return bytes;
    } else {
      return size_of(*record_of(const_cast<void*>(block)));
    }
  }

  /// The block that the address lies in, or null.
  const void* around(const void* address) const noexcept
    requires(Checks)
  {
    const void* block = nullptr;
    known_.find(address, [&](const record& r) { block = r.first; });
    return block;
  }
  /// The block in use whose address is the next after that; null: there is none.
  memory next_after(const void* address) const noexcept
    requires(Checks)
  {
    memory next;
    known_.next_after(address, [&next](const record& r) { next = {r.first, size_of(r)}; });
    return next;
  }
  std::size_t report_in_use(const class_owner& owner) const noexcept
    requires(Tells)
  {
    return report_leaks(owner, *this);
  }
  /// The owner ends: what is still in use is reported, and nobody asks any more.
  void tell_end(const class_owner& owner) const noexcept {
    report_leaks(owner, *this);
    asked_.leave();
  }

  /// Precondition: no other thread uses the pool.
  void release_all(Chunks& chunks) noexcept {
    for (record* r = replace(first_, nullptr); r != nullptr;) {
      const owned from = r->from;
      const std::size_t alignment = r->alignment;
      r = r->next;  // the record lies in the region
      chunks.release_large(from, alignment);
    }
    held_ = {};
    if constexpr (Checks) known_.leave();
    mutex_.leave();
  }

  large_counts read() const noexcept {
    const held lock(mutex_);
    return held_;
  }

 private:
  struct no_map {};

  static record* record_of(void* block) noexcept { return std::launder(static_cast<record*>(block) - 1); }
  static std::size_t size_of(const record& r) noexcept {
    return r.from.region.bytes - (address_of(&r + 1) - address_of(r.from.region.start));
  }

  void link(record& r) noexcept {
    const held lock(mutex_);
    r.previous = nullptr;
    r.next = first_;
    if (first_ != nullptr) first_->previous = &r;
    first_ = &r;
    held_.blocks += 1;
    held_.bytes += r.from.region.bytes;
  }
  void unlink(record& r) noexcept {
    const held lock(mutex_);
    (r.previous != nullptr ? r.previous->next : first_) = r.next;
    if (r.next != nullptr) r.next->previous = r.previous;
    held_.blocks -= 1;
    held_.bytes -= r.from.region.bytes;
  }

  record* first_ = nullptr;
  large_counts held_;
  TARN_NO_UNIQUE_ADDRESS mutable owner_mutex<Locking> mutex_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Checks, known_spans<record, Locking>, no_map> known_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Tells, asked_in_use, never_asked_in_use> asked_{starts_zero<Locking>};
};

}  // namespace detail
}  // namespace tarn

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_
