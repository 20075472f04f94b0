// Blocks on pages of their own, between inaccessible pages: a write past an end, or any use of a block after it was freed,
// faults at that very instruction.
//
//   | guard | records | guard | slot 0 | guard | slot 1 | guard | ... | slot n-1 | guard |     one mapping, at the first use
//                     ^ owns()                                                           ^
//
//   | guard | canary canary canary [block] c | guard |   half of the blocks end where the slot ends, as alignment allows;
//   | guard | [block] canary canary canary c | guard |   the others start where it starts
//   | guard | ...... not accessible ........ | guard |   before and after; the slot that was free the longest is used next
//
// The idea is from Electric Fence (Bruce Perens, 1987). That a few blocks in thousands are enough if many processes run is from
// GWP-ASan (Serebryany et al., "GWP-ASan: Sampling-Based Detection of Memory-Safety Bugs in Production", 2023) and from KFENCE
// in the Linux kernel, which is also the source of the canary in the rest of the page.
#ifndef TARN_POLICIES_CHECKING_DETAIL_GUARDED_SLOTS_H_
#define TARN_POLICIES_CHECKING_DETAIL_GUARDED_SLOTS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/policies/checking/detail/slot_canary.h"
#include "tarn/policies/checking/detail/slot_record.h"
#include "tarn/policies/checking/detail/slot_view.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/leak_roots.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system_pages.h"

namespace tarn::detail {

/// Slots of all pools. The others get none: where they would use up the process's mappings, no thread could be made any more.
TARN_FOUND_IN_PROCESS inline constinit atomic_word<std::size_t> library_slots = 0;
inline atomic_word<std::size_t>& slots_of_process() noexcept { return one_in_process<library_slots, 0x106>::get(); }
inline constexpr std::size_t most_slots_of_process = 16'000;

/// Constant-initialised, without a destructor: an owner that ends before the process calls end(). Not thread-safe, except for
/// owns() and find(). Without mmap, it never has a block.
///
/// take() and give() are a system call each: 1.4 us together (Linux 6.18 in a virtual machine, Xeon with AMX); spread over 5000
/// pairs, 0.3 ns. owns() takes 0.2 ns. A block larger than a page takes one call more, and its pages are new each time: 3.7 us
/// with 16 KiB. Memory: a page for each slot that was ever in use (16: 64 KiB) and one for the records; blocks larger than a
/// page hold theirs while they are live. Mappings: two for each slot, of which Linux allows a process 65,530; so all pools have
/// at most 16,000 slots, or one pool more than that.
class guarded_slots {
 public:
  constexpr explicit guarded_slots(std::uint32_t slots = 16) noexcept : slots_(slots) {}
  guarded_slots(const guarded_slots&) = delete;
  guarded_slots& operator=(const guarded_slots&) = delete;

  /// How many slots there are to be, as the constructor's argument. Changes nothing while slots are reserved.
  void reserve_for(std::uint32_t slots) noexcept {
    if (extent_.load(memory_order_relaxed) == 0) slots_ = slots;
  }

  /// Returns a block with unspecified contents, or null if all slots are live, the system refuses, or the block is larger than
  /// a slot; then nothing has changed, except that the slots may be reserved. The first block decides how large slots are: as
  /// many pages as it needs. Precondition: `alignment` is a power of two.
  void* take(std::size_t bytes, std::size_t alignment, slot_event by = {}) noexcept {
    if (bytes == 0 || (extent_.load(memory_order_relaxed) == 0 && !open(bytes, alignment))) return nullptr;
    if (first_ == none || room(bytes, alignment, page_) > slot_bytes_) return nullptr;
    std::byte* const low = slot_start(first_);
    const std::size_t to_right = (address_of(low) + slot_bytes_ - bytes) & ~(alignment - 1);
    const std::size_t to_left = round_up(address_of(low), alignment);
    std::byte* const block = low + ((right_is_next() ? to_right : to_left) - address_of(low));
    const open_pages pages = around(block, bytes);
    if (!system_pages::allow(pages.start, pages.bytes())) return nullptr;
    memory_tools::unpoison(pages.start, pages.bytes());  // the caller may have poisoned what was there before
    slot_canary::write(pages, block, bytes);

    slot_record& r = records_[first_];
    first_ = r.next;
    ++takes_;
    r.block.store(block, memory_order_relaxed);
    r.bytes.store(bytes, memory_order_relaxed);
    r.taken.set(by);
    r.live.store(true, memory_order_release);
    return block;
  }

  /// Frees a block: from now on it can't be accessed. Any address is valid. Returns what became of it; if it wasn't freed,
  /// nothing has changed. A double free is detected as long as the slot isn't reused.
  slot_verdict give(void* block, slot_event by = {}) noexcept {
    using enum slot_verdict::kind;
    const std::size_t distance = address_of(block) - base_.load(memory_order_relaxed);
    if (!owns(block) || distance % stride() < page_) return {foreign};
    const auto slot = static_cast<std::uint32_t>(distance / stride());
    slot_record& r = records_[slot];
    std::byte* const start = r.block.load(memory_order_relaxed);
    if (start == nullptr) return {foreign};
    if (start != block) return {interior};
    if (!r.live.load(memory_order_relaxed)) return {double_free};
    const std::size_t bytes = r.bytes.load(memory_order_relaxed);
    const open_pages pages = around(start, bytes);
    const slot_verdict verdict = slot_canary::look(pages, start, bytes);

    r.given.set(by);
    r.live.store(false, memory_order_release);
    // If the system refuses, the block is free anyway, and accessible until its slot is reused.
    system_pages::forbid(pages.start, pages.bytes());
    if (slot_bytes_ != page_) system_pages::empty(pages.start, pages.bytes());
    r.next = none;
    (first_ == none ? first_ : records_[last_].next) = slot;
    last_ = slot;
    return verdict;
  }

  /// Returns whether an address lies in or between the slots. Any thread may call it at any time. Relaxed: a thread that has a
  /// block from take() has seen what take() did; for any other address, one new value and one old still mean no: nothing lies
  /// below `extent_`.
  bool owns(const void* address) const noexcept {
    return address_of(address) - base_.load(memory_order_relaxed) < extent_.load(memory_order_relaxed);
  }

  /// Returns what is known about an address. One in a guard belongs to the nearer slot, or, if only one of the two was ever
  /// used, to that one. Any thread may call it at any time, also in a signal handler; for a slot that is being taken or given
  /// back at that moment, it may return half of each state.
  slot_view find(const void* address) const noexcept {
    if (extent_.load(memory_order_acquire) == 0 || !owns(address)) return {};
    const std::size_t distance = address_of(address) - base_.load(memory_order_relaxed);
    const auto right = static_cast<std::uint32_t>(distance / stride());  // past the last slot, in the last guard
    const std::size_t within = distance % stride();
    if (within >= page_ || right == 0) return view(right, address);
    if (right == slots_) return view(right - 1, address);
    const bool right_is_nearer = within >= page_ / 2;
    const slot_view nearer = view(right_is_nearer ? right : right - 1, address);
    return nearer ? nearer : view(right_is_nearer ? right - 1 : right, address);
  }

  /// Calls visit(const slot_view&) for each block that is live.
  template <class Visit>
  void each_live(Visit visit) const {
    if (extent_.load(memory_order_relaxed) == 0) return;
    for (std::uint32_t slot = 0; slot != slots_; ++slot)
      if (records_[slot].live.load(memory_order_relaxed))
        visit(view(slot, records_[slot].block.load(memory_order_relaxed)));
  }

  /// Gives everything back to the system, including live blocks, and is then as new. Precondition: no other thread uses it.
  void end() noexcept {
    const std::size_t extent = extent_.load(memory_order_relaxed);
    if (extent == 0) return;
    extent_.store(0, memory_order_relaxed);
    base_.store(0, memory_order_relaxed);
    std::byte* const start = reinterpret_cast<std::byte*>(records_) - page_;
    const std::size_t bytes = page_ + record_bytes(page_) + extent;
    memory_tools::unpoison(start, bytes);
    drop_leak_root(start, bytes);
    system_pages::release(start, bytes);
    slots_of_process().fetch_sub(slots_, memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t none = slot_record::none;

  open_pages around(std::byte* block, std::size_t bytes) const noexcept {
    const std::size_t before = address_of(block) & (page_ - 1);
    return {block - before, block - before + round_up(before + bytes, page_)};
  }
  std::size_t stride() const noexcept { return page_ + slot_bytes_; }
  std::size_t record_bytes(std::size_t page) const noexcept { return round_up(slots_ * sizeof(slot_record), page); }
  std::byte* slot_start(std::uint32_t slot) const noexcept {
    return reinterpret_cast<std::byte*>(records_) + record_bytes(page_) + slot * stride() + page_;
  }
  /// Bytes that a slot needs for a block, wherever the slot starts.
  static std::size_t room(std::size_t bytes, std::size_t alignment, std::size_t page) noexcept {
    if (bytes > size_limit || alignment > size_limit) return size_max;
    return round_up(bytes, page) + (alignment > page ? alignment - page : 0);
  }
  /// The Thue-Morse sequence: half and half, without a period that could match one of the program's. Where it starts depends on
  /// the addresses, which differ from run to run.
  bool right_is_next() const noexcept {
    return (std::popcount(takes_ + base_.load(memory_order_relaxed) / page_) & 1) != 0;
  }

  slot_view view(std::uint32_t slot, const void* address) const noexcept {
    const slot_record& r = records_[slot];
    slot_view v;
    v.live = r.live.load(memory_order_acquire);
    std::byte* const block = r.block.load(memory_order_relaxed);
    if (block == nullptr) return {};
    v.block = block;
    v.bytes = r.bytes.load(memory_order_relaxed);
    v.offset = static_cast<std::ptrdiff_t>(address_of(address) - address_of(block));
    v.slot = slot;
    v.taken = r.taken.get();
    v.given = r.given.get();
    const open_pages pages = around(block, v.bytes);
    const std::uintptr_t at = address_of(address);
    using enum slot_view::place;
    if (v.offset < 0) v.where = at < address_of(pages.start) ? guard_before : slack_before;
    else if (at - address_of(block) >= v.bytes) v.where = at < address_of(pages.end) ? slack_behind : guard_behind;
    return v;
  }

  TARN_COLD bool open(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t page = system_pages::page_bytes();
    const std::size_t slot_bytes = room(bytes, alignment, page);
    const std::size_t extent = add(multiply(add(slot_bytes, page), slots_), page);
    const std::size_t front = page + record_bytes(page);
    if (slots_ == 0 || extent > size_limit) return false;
    const std::size_t others = slots_of_process().fetch_add(slots_, memory_order_relaxed);
    const bool may = others == 0 || others + slots_ <= most_slots_of_process;
    std::byte* const start = may ? system_pages::reserve(front + extent) : nullptr;
    if (start == nullptr || !system_pages::allow(start + page, front - page)) {
      if (start != nullptr) system_pages::release(start, front + extent);
      slots_of_process().fetch_sub(slots_, memory_order_relaxed);
      return false;
    }
    add_leak_root(start, front + extent);
    records_ = reinterpret_cast<slot_record*>(start + page);
    for (std::uint32_t slot = 0; slot != slots_; ++slot) {
      slot_record* const r = ::new (static_cast<void*>(records_ + slot)) slot_record;
      r->next = slot + 1 != slots_ ? slot + 1 : none;
    }
    page_ = page;
    slot_bytes_ = slot_bytes;
    first_ = 0;
    last_ = slots_ - 1;
    base_.store(address_of(start) + front, memory_order_relaxed);
    extent_.store(extent, memory_order_release);
    return true;
  }

  // In one cache line: every free calls owns().
  atomic_word<std::uintptr_t> base_ = 0;  // of the first guard
  atomic_word<std::size_t> extent_ = 0;   // bytes, from the first guard to the end of the last; 0: nothing is reserved
  std::size_t page_ = 0;                  // bytes
  std::size_t slot_bytes_ = 0;
  slot_record* records_ = nullptr;
  std::uint64_t takes_ = 0;
  std::uint32_t slots_;
  std::uint32_t first_ = 0;  // the slot that was free the longest; none: all are live
  std::uint32_t last_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_GUARDED_SLOTS_H_
