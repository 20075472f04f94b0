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
#include "tarn/allocator/detail/classes/kept_regions.h"
#include "tarn/allocator/detail/classes/known_spans.h"
#include "tarn/allocator/detail/classes/owner_stores.h"
#include "tarn/policies/checking/asked_in_use.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn {

/// Blocks that are too large for any size class.
struct large_counts {
  std::size_t blocks = 0;  // in use
  std::size_t bytes = 0;  // that they take from the store; without what is kept for the next
};

namespace detail {

/// \tparam Checks  any address may be given back: one at which no block starts is refused
/// \tparam Tells   report_in_use() asks what is in use here
/// \tparam Keeps   some regions that become free stay for the next blocks
template <class Chunks, class Locking, bool Checks, bool Tells, bool Keeps>
class large_blocks {
  struct unknown_span {};
  struct alignas(std::max_align_t) record : std::conditional_t<Checks, known_span<record>, unknown_span> {
    record* next;
    record* previous;
    owned from;
    std::size_t alignment;

    std::size_t bytes() const noexcept { return from.region.bytes; }
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
    owned got = take_kept(offset + bytes, alignment);
    if (!got) got = chunks.acquire_large(offset + bytes, alignment);
    if (!got) return nullptr;
    std::byte* const block = static_cast<std::byte*>(got.region.start) + offset;
    record* const r = ::new (block - sizeof(record)) record;
    r->from = got;
    r->alignment = alignment;
    link(*r);
    if constexpr (Checks) known_.insert(*r, block, size_of(*r));
    if constexpr (Tells)
      asked_.enter(detail::pointer_to(owner), owner.name(),
                   [](void* its) noexcept { return static_cast<Owner*>(its)->report_large_in_use(); });
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
    give_back(chunks, unlink(*r));
    return true;
  }
  /// Gives back what was kept. Returns its bytes.
  std::size_t trim(Chunks& chunks) noexcept {
    if constexpr (!Keeps) return 0;
    record* const all = [this] {
      const held lock(mutex_);
      return kept_.take_all();
    }();
    return give_back(chunks, all);
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
    return detail::report_leaks(owner, *this);
  }
  /// The owner ends: what is still in use is reported, unless it is meant, and nobody asks any more.
  void tell_end(const class_owner& owner, bool reports) const noexcept {
    if (reports) detail::report_leaks(owner, *this);
    asked_.leave();
  }

  /// Precondition: no other thread uses the pool.
  void release_all(Chunks& chunks) noexcept {
    give_back(chunks, detail::replace(first_, nullptr));
    trim(chunks);
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
    return r.from.region.bytes - (detail::address_of(detail::pointer_to(r) + 1) - address_of(r.from.region.start));
  }

  void link(record& r) noexcept {
    const held lock(mutex_);
    r.previous = nullptr;
    r.next = first_;
    if (first_ != nullptr) first_->previous = detail::pointer_to(r);
    first_ = detail::pointer_to(r);
    held_.blocks += 1;
    held_.bytes += r.from.region.bytes;
  }
  /// Returns what must go back now.
  record* unlink(record& r) noexcept {
    const held lock(mutex_);
    (r.previous != nullptr ? r.previous->next : first_) = r.next;
    if (r.next != nullptr) r.next->previous = r.previous;
    held_.blocks -= 1;
    held_.bytes -= r.from.region.bytes;
    if (!Keeps || r.alignment > Chunks::large_alignment) return r.next = nullptr, &r;
    memory_tools::poison(&r + 1, size_of(r));
    return kept_.put(r);
  }

  owned take_kept(std::size_t bytes, std::size_t alignment) noexcept {
    if (!Keeps || alignment > Chunks::large_alignment) return {};
    const held lock(mutex_);
    record* const r = kept_.take(bytes);
    if (r == nullptr) return {};
    const owned got = r->from;
    memory_tools::hand_out(r, got.region.bytes - (address_of(r) - address_of(got.region.start)));
    return got;
  }
  /// All of a list. Returns their bytes.
  static std::size_t give_back(Chunks& chunks, record* all) noexcept {
    std::size_t bytes = 0;
    while (all != nullptr) {
      record& r = *all;
      all = r.next;  // the record lies in the region
      const owned from = r.from;
      const std::size_t alignment = r.alignment;
      bytes += from.region.bytes;
      if constexpr (Keeps) memory_tools::unpoison(&r + 1, size_of(r));
      chunks.release_large(from, alignment);
    }
    return bytes;
  }

  record* first_ = nullptr;
  large_counts held_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Keeps, kept_regions<record>, no_kept_regions<record>> kept_;
  TARN_NO_UNIQUE_ADDRESS mutable owner_mutex<Locking> mutex_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Checks, known_spans<record, Locking>, no_map> known_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Tells, asked_in_use, never_asked_in_use> asked_{starts_zero<Locking>};
};

}  // namespace detail
}  // namespace tarn

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_
