// Blocks with a region of their own. The record in front of each lets release() find the region.
//
//   | prefix | padding | record | block ...         the block is aligned as requested; the record is just in front of it
//   ^ region.start
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/classes/class_stores.h"
#include "tarn/policies/checking/block_checks.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

// What the owner of the classes' pools reports itself, if a checking policy is named: calls that reach the pool of no class.

/// A call that was refused.
struct refused_free {
  const void* block;
  std::size_t bytes = 0;  // 0: none were named
  std::size_t alignment = 0;  // likewise
};

struct class_owner {
  const void* pools = nullptr;
  const char* name = "";
  void (*report)(const misuse&) noexcept = report_misuse;
  bool has_ended = false;
};

/// No block of that size starts there. `class_size` is the size of the blocks among which the address lies, or 0.
template <class Large>
TARN_COLD void report_refused(const class_owner& owner, const refused_free& call, const Large& large,
                              std::size_t class_size) noexcept {
  misuse what;
  what.pool = owner.pools;
  what.pool_name = owner.name;
  what.address = call.block;
  what.size = call.bytes;
  what.alignment = call.alignment;
  what.block = large.around(call.block);
  what.block_size = what.block != nullptr ? large.usable_size(what.block) : class_size;
  what.kind = owner.has_ended                                     ? misuse_kind::ended_pool
              : what.block_size == 0                              ? misuse_kind::foreign_pointer
              : what.block != nullptr && what.block != call.block ? misuse_kind::interior_pointer
                                                                  : misuse_kind::wrong_size;
  owner.report(what);
}

inline void report_leak(const class_owner& owner, memory large) noexcept {
  const void* const block = large.start;
  misuse what;
  what.kind = misuse_kind::leak;
  what.pool = owner.pools;
  what.pool_name = owner.name;
  what.block_size = large.bytes;
  what.leaked = 1;
  what.leaks = {&block, 1};
  owner.report(what);
}
/// Reports the large blocks in use, each by itself, since they differ in size. Returns how many. The classes report theirs.
template <class Large>
std::size_t report_leaks(const class_owner& owner, const Large& large) noexcept {
  std::size_t blocks = 0;
  for (memory at; (at = large.next_after(at.start)); ++blocks) report_leak(owner, at);
  return blocks;
}

// Regions of large blocks that were freed. A few stay for the next blocks, because a store may take a thousand times as long.
// (A malloc with an alignment of 64 KiB maps and unmaps pages for each: 11,600 ns a pair, 20 with this, Zen 5.) A store may
// also return the memory to the system, so that each page is faulted in again: two fifths of the time of sqlite's calls.
//
// At most `count` of them, none above `largest` bytes, `most` in all; the oldest goes for a newer one. trim() gives them back,
// and so does an allocation that the store refused.
//
// If each region costs an alignment, one more than a quarter too large is taken as well, as long as all such blocks in use have
// at most `most_loose` bytes too many. Otherwise, with sizes in random order, every fifth request found none. Elsewhere a store
// is quick with what it doesn't give to the system, and what is kept is in its way: none is loose, and none below `smallest` is
// kept.

/// What the record of a region has for that.
template <class Record>
struct kept_region {
  Record* older;
  Record* newer;
  std::size_t loose = 0;  // bytes too many of a block in use, if they are more than a quarter
};

/// \tparam Record   of a region: a kept_region with `next`, `previous` and bytes(); it is in the region
/// \tparam Aligned  whether each region costs an alignment
template <class Record, bool Aligned>
class kept_regions {
 public:
  /// From now on none stays. Precondition: none did.
  void keep_none() noexcept { keeps_none_ = true; }
  /// Takes out one that has that many bytes, the smallest of those that were seen; null: none has, or it has too many more.
  Record* take(std::size_t bytes) noexcept {
    if (bytes < smallest) return nullptr;
    const std::size_t first = bin(bytes);
    Record* r = first_in_[first];
    for (int looks = 1; r != nullptr && r->bytes() < bytes; ++looks) r = looks != 4 ? r->next : nullptr;
    if (r == nullptr) {
      const std::uint64_t larger_ones = first == bins - 1 ? 0 : filled_ >> (first + 1);
      if (larger_ones == 0) return nullptr;
      r = first_in_[first + 1 + static_cast<unsigned>(std::countr_zero(larger_ones))];
    }
    const std::size_t more = r->bytes() - bytes;
    const bool is_loose = more > bytes / 4;
    if (is_loose && more > most_loose - loose_) return nullptr;
    take_out(*r);
    r->loose = is_loose ? more : 0;
    loose_ += r->loose;
    return r;
  }
  /// A region isn't in use any more.
  void leave(const Record& r) noexcept { loose_ -= r.loose; }
  void leave_all() noexcept { loose_ = 0; }
  /// Returns those that must go instead, which may be itself: a list, by `next`.
  Record* put(Record& r) noexcept {
    r.next = nullptr;
    const std::size_t bytes = r.bytes();
    if (keeps_none_ || bytes < smallest || bytes > largest) return detail::pointer_to(r);
    Record* gone = nullptr;
    while (number_ == count || bytes_ + bytes > most) take_into(gone);
    Record*& first = first_in_[bin(bytes)];
    r.previous = nullptr;
    r.next = replace(first, detail::pointer_to(r));
    if (r.next != nullptr) r.next->previous = detail::pointer_to(r);
    filled_ |= flag_of(bin(bytes));
    r.newer = nullptr;
    r.older = replace(newest_, detail::pointer_to(r));
    (r.older != nullptr ? r.older->newer : oldest_) = detail::pointer_to(r);
    ++number_;
    bytes_ += bytes;
    return gone;
  }
  Record* take_all() noexcept {
    Record* all = nullptr;
    while (oldest_ != nullptr) take_into(all);
    return all;
  }

 private:
  static constexpr std::size_t count = 32;
  static constexpr std::size_t most = (Aligned ? 8 : 4) * 1024 * 1024;
  static constexpr std::size_t largest = most / 2;
  static constexpr std::size_t smallest = Aligned ? 0 : 128 * 1024;  // as of a malloc that maps or trims
  static constexpr std::size_t most_loose = Aligned ? most / 2 : 0;
  static constexpr unsigned first_width = Aligned ? 15 : 17;  // what is smaller is in the first bin
  static constexpr std::size_t bins = 8 * (static_cast<unsigned>(std::bit_width(largest)) - first_width - 1) + 2;
  static_assert(bins <= 64);

  /// Eight for each doubling; all regions in a later one are larger.
  static std::size_t bin(std::size_t bytes) noexcept {
    const auto width = static_cast<unsigned>(std::bit_width(bytes));
    if (width <= first_width) return 0;
    if (bytes > largest) return bins - 1;
    return 8 * (width - first_width - 1) + (bytes >> (width - 4)) % 8 + 1;
  }
  static constexpr std::uint64_t flag_of(std::size_t in) noexcept { return std::uint64_t{1} << in; }

  void take_out(Record& r) noexcept {
    const std::size_t bytes = r.bytes();
    const std::size_t in = bin(bytes);
    (r.previous != nullptr ? r.previous->next : first_in_[in]) = r.next;
    if (r.next != nullptr) r.next->previous = r.previous;
    if (first_in_[in] == nullptr) filled_ &= ~flag_of(in);
    (r.older != nullptr ? r.older->newer : oldest_) = r.newer;
    (r.newer != nullptr ? r.newer->older : newest_) = r.older;
    --number_;
    bytes_ -= bytes;
  }
  /// The oldest goes to the front of a list.
  void take_into(Record*& list) noexcept {
    Record& r = *oldest_;
    take_out(r);
    r.next = replace(list, detail::pointer_to(r));
  }

  Record* first_in_[bins] = {};
  std::uint64_t filled_ = 0;  // a bit for each bin
  Record* oldest_ = nullptr;
  Record* newest_ = nullptr;
  std::size_t number_ = 0;
  std::size_t bytes_ = 0;
  std::size_t loose_ = 0;
  bool keeps_none_ = false;
};

/// Where regions go back at once.
template <class Record>
struct no_kept_regions {
  static constexpr void keep_none() noexcept {}
  static constexpr Record* take(std::size_t) noexcept { return nullptr; }
  static constexpr void leave(const Record&) noexcept {}
  static constexpr void leave_all() noexcept {}
  static constexpr Record* put(Record& r) noexcept { return r.next = nullptr, &r; }
  static constexpr Record* take_all() noexcept { return nullptr; }
};

}  // namespace tarn::detail

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
  struct never_kept {};
  struct alignas(std::max_align_t) record : std::conditional_t<Checks, known_span<record>, unknown_span>,
                                            std::conditional_t<Keeps, kept_region<record>, never_kept> {
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
    record* r = take_kept(offset, bytes, alignment);
    if (r == nullptr) {
      const owned got = chunks.acquire_large(offset + bytes, alignment);
      if (!got) return nullptr;
      r = make(got, offset, alignment);
      const held lock(mutex_);
      link(*r);
    }
    std::byte* const block = reinterpret_cast<std::byte*>(r + 1);
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
  /// All blocks in use. Precondition: no other thread uses the pool.
  void deallocate_all(Chunks& chunks) noexcept {
    while (first_ != nullptr) deallocate(chunks, first_ + 1);
  }
  /// Precondition: nothing was allocated.
  void keep_none() noexcept { kept_.keep_none(); }
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
  /// The owner is destroyed: reports what is still in use, unless that is intended; report_in_use() no longer includes it.
  void tell_end(const class_owner& owner, bool reports) const noexcept {
    if (reports) detail::report_leaks(owner, *this);
    asked_.leave();
  }

  /// Precondition: no other thread uses the pool.
  void release_all(Chunks& chunks) noexcept {
    give_back(chunks, detail::replace(first_, nullptr));
    trim(chunks);
    kept_.leave_all();
    held_ = {};
    if constexpr (Checks) known_.leave();
    mutex_.leave();
  }

  /// Whether the address lies in a block in use.
  bool owns(const void* address) const noexcept {
    const held lock(mutex_);
    for (const record* r = first_; r != nullptr; r = r->next)
      if (address_of(address) - address_of(r + 1) < size_of(*r)) return true;
    return false;
  }
  large_counts read() const noexcept {
    const held lock(mutex_);
    return held_;
  }

 private:
  static record* record_of(void* block) noexcept { return std::launder(static_cast<record*>(block) - 1); }
  static std::size_t size_of(const record& r) noexcept {
    return r.from.region.bytes - (detail::address_of(detail::pointer_to(r) + 1) - address_of(r.from.region.start));
  }

  static record* make(owned got, std::size_t offset, std::size_t alignment) noexcept {
    auto* const r = ::new (static_cast<std::byte*>(got.region.start) + offset - sizeof(record)) record;
    r->from = got;
    r->alignment = alignment;
    return r;
  }
  void link(record& r) noexcept {
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
    kept_.leave(r);
    if (!Keeps || r.alignment > Chunks::large_alignment) return r.next = nullptr, &r;
    memory_tools::poison(&r + 1, size_of(r));
    return kept_.put(r);
  }

  /// Null: there is none.
  record* take_kept(std::size_t offset, std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (Keeps) {
      if (alignment > Chunks::large_alignment) return nullptr;
      const held lock(mutex_);
      record* const kept = kept_.take(offset + bytes);
      if (kept == nullptr) return nullptr;
      const owned got = kept->from;
      const std::size_t loose = kept->loose;
      memory_tools::hand_out(kept, got.region.bytes - (address_of(kept) - address_of(got.region.start)));
      record* const r = make(got, offset, alignment);
      r->loose = loose;
      link(*r);
      return r;
    } else {
      return nullptr;
    }
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
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Keeps, kept_regions<record, Chunks::tagged>, no_kept_regions<record>> kept_;
  TARN_NO_UNIQUE_ADDRESS mutable owner_mutex<Locking> mutex_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Checks, known_spans<record, Locking>, no_spans> known_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Tells, asked_in_use, never_asked_in_use> asked_{starts_zero<Locking>};
};

}  // namespace detail
}  // namespace tarn

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_LARGE_BLOCKS_H_
