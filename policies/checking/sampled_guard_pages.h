// decides    one block in N, at random, has its own pages between inaccessible pages, and becomes inaccessible once it is
//            freed, so a write past its end, or any use after free, faults at that instruction. The other blocks are checked by
//            another policy
// costs      a countdown for each block; two system calls for one in N, 1.4 us in total. 140 KiB of addresses for each pool, of
//            which up to 68 KiB become memory
// conflicts  recycling_pool; blocks from batch calls aren't sampled
// use when   a program runs in many processes or for a long time, and must detect there what hardened can't
#ifndef TARN_POLICIES_CHECKING_SAMPLED_GUARD_PAGES_H_
#define TARN_POLICIES_CHECKING_SAMPLED_GUARD_PAGES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "tarn/policies/checking.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/platform/secret.h"
#include "tarn/policies/platform/system.h"

// What happens:
//
//   due           a countdown: one call in N, on average
//    take           a free slot; its pages become accessible, and a canary is written next to the block
//   owns          whether a freed block is a sampled one; one comparison
//    give           the canary is checked, and the pages become inaccessible
//   describe_fault  in a handler of SIGSEGV: which block the address is near, and what happened to it

namespace tarn::detail {

// ---- what is told about a slot ----------------------------------------------------------------------------------------

/// The time and the thread, as numbers that the caller chooses.
struct slot_event {
  std::uint64_t sequence = 0;
  std::uint64_t thread = 0;
};

/// The result of freeing a block.
struct slot_verdict {
  enum class kind : unsigned char {
    done,
    damaged,      // done, but bytes next to the block had been written; the rest says which
    foreign,      // not done: no block was ever there
    interior,     // not done: not the start of a block
    double_free,  // not done: the block is free already
  };
  kind is = kind::done;
  std::ptrdiff_t offset = 0;  // from the block's start to the damaged byte next to the block; if on both sides, the one behind
  std::size_t damaged = 0;    // bytes on that side
  std::byte value{};          // of the byte at `offset`
};

/// What is known about an address: the slot's last block, and where the address is relative to it. False if no block is near.
struct slot_view {
  enum class place : unsigned char { in_block, slack_before, slack_behind, guard_before, guard_behind };

  const std::byte* block = nullptr;
  std::size_t bytes = 0;
  bool live = false;
  place where = place::in_block;
  std::ptrdiff_t offset = 0;  // of the address, from the block's start; the first byte behind the block: `bytes`
  std::uint32_t slot = 0;
  slot_event taken;
  slot_event given;  // if not live

  explicit operator bool() const noexcept { return block != nullptr; }
};

// ---- the bytes beside a block on its pages ----------------------------------------------------------------------------
//
// A canary from take() to give() detects writes that reach no guard.
//
//   | canary canary canary [block] c |
//   ^ start                          ^ end

/// The pages of a block. If its slot has more, those are inaccessible.
struct open_pages {
  std::byte* start;
  std::byte* end;
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - start); }
};

struct slot_canary {
  static constexpr int value = 0xCA;

  static void write(open_pages pages, std::byte* block, std::size_t bytes) noexcept {
    std::memset(pages.start, value, static_cast<std::size_t>(block - pages.start));
    std::memset(block + bytes, value, static_cast<std::size_t>(pages.end - (block + bytes)));
  }

  /// Looks for bytes that are no longer the canary.
  static slot_verdict look(open_pages pages, const std::byte* block, std::size_t bytes) noexcept {
    const std::byte* const behind = block + bytes;
    slot_verdict v;
    const auto look_at = [&](const std::byte* p) {
      if (*p == std::byte{value}) return;
      if (v.damaged++ != 0) return;
      v.offset = p - block;
      v.value = *p;
    };
    if (!intact(behind, pages.end))
      for (const std::byte* p = behind; p != pages.end; ++p) look_at(p);
    else if (!intact(pages.start, block))
      for (const std::byte* p = block; p != pages.start;) look_at(--p);
    if (v.damaged != 0) v.is = slot_verdict::kind::damaged;
    return v;
  }

 private:
  /// Whether all bytes are the canary: the first is, and each equals the one before it.
  static bool intact(const std::byte* from, const std::byte* to) noexcept {
    return from == to ||
           (*from == std::byte{value} && std::memcmp(from, from + 1, static_cast<std::size_t>(to - from) - 1) == 0);
  }
};

// ---- slots ------------------------------------------------------------------------------------------------------------

/// What guarded_slots keeps for a slot: for the thread that allocates and frees blocks, and for any thread that looks up an
/// address. What find() reads is atomic.
struct slot_record {
  static constexpr std::uint32_t none = UINT32_MAX;  // no slot

  struct event_cell {
    // Order: relaxed: written under the pool's guard, read after live.
    atomic_word<std::uint64_t> sequence = 0;
    atomic_word<std::uint64_t> thread = 0;

    void set(slot_event e) noexcept {
      sequence.store(e.sequence, memory_order_relaxed);
      thread.store(e.thread, memory_order_relaxed);
    }
    slot_event get() const noexcept { return {sequence.load(memory_order_relaxed), thread.load(memory_order_relaxed)}; }
  };

  // Order: relaxed: written under the pool's guard, read after live.
  atomic_word<std::byte*> block = nullptr;  // the last one; null: none yet
  atomic_word<std::size_t> bytes = 0;
  // Order: store release, load acquire. A report reads the other fields after it; of a slot that changes at that moment, it may
  // show half of each state.
  atomic_word<bool> live = false;
  std::uint32_t next = none;  // next free slot
  event_cell taken;
  event_cell given;
};

// Blocks on their own pages, between inaccessible pages: a write past an end, or any use of a block after it was freed, faults
// at that instruction.
//
//   | guard | records | guard | slot 0 | guard | slot 1 | guard | ... | slot n-1 | guard |     one mapping, at the first use
//                     ^ owns()                                                           ^
//
//   | guard | canary canary canary [block] c | guard |   half of the blocks end where the slot ends, as alignment allows;
//   | guard | [block] canary canary canary c | guard |   the others start where it starts
//   | guard | ...... not accessible ........ | guard |   before and after; the slot that was free the longest is used next
//
// The pages are from Electric Fence (Bruce Perens, 1987). Sampling a few blocks in thousands, which is enough if many processes
// run, is from GWP-ASan (Serebryany et al., "GWP-ASan: Sampling-Based Detection of Memory-Safety Bugs in Production", 2023) and
// from KFENCE in the Linux kernel. KFENCE is also the source of the canary in the rest of the page.

// Order: relaxed. A thread that has a block has seen that its slot was taken.
/// Slots of all pools. Further pools get none, because once the process's mappings are used up, no thread can be started any
/// more.
TARN_FOUND_IN_PROCESS inline constinit atomic_word<std::size_t> library_slots = 0;
inline atomic_word<std::size_t>& slots_of_process() noexcept { return one_in_process<library_slots, 0x106>::get(); }
inline constexpr std::size_t most_slots_of_process = 16'000;

/// Constant-initialised, without a destructor: an owner that is destroyed before the process exits calls end(). Not
/// thread-safe, except for owns() and find(). Without mmap, it never has a block.
///
/// take() and give() are a system call each: 1.4 us together (Linux 6.18 in a virtual machine, Xeon with AMX); spread over 5000
/// pairs, 0.3 ns. owns() takes 0.2 ns. A block larger than a page takes one more call, and its pages are new each time: 3.7 us
/// for 16 KiB. Memory: a page for each slot that was ever in use (16: 64 KiB) and one for the records; blocks larger than a
/// page hold theirs while they are live. Mappings: two for each slot, of which Linux allows a process 65,530; so all pools
/// together have at most 16,000 slots, unless a single pool has more.
class guarded_slots {
 public:
  constexpr explicit guarded_slots(std::uint32_t slots = 16) noexcept : slots_(slots) {}
  guarded_slots(const guarded_slots&) = delete;
  guarded_slots& operator=(const guarded_slots&) = delete;

  /// Sets the number of slots, as the constructor's argument does. Changes nothing while slots are reserved.
  void reserve_for(std::uint32_t slots) noexcept {
    if (extent_.load(memory_order_relaxed) == 0) slots_ = slots;
  }

  /// Returns a block with unspecified contents. Null if all slots are live, the system refuses, or the block is larger than a
  /// slot; then nothing has changed, except that the slots may be reserved. The first block decides how large slots are: as
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

  /// Frees a block: from now on it can't be accessed. Any address is valid. Returns the result; if it wasn't freed, nothing has
  /// changed. A double free is detected as long as the slot isn't reused.
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

  /// Returns whether an address lies in or between the slots. Any thread may call it at any time. Relaxed is enough: a thread
  /// that has a block from take() has seen what take() did. For any other address, one new value and one old still give "no",
  /// because nothing is below `extent_`.
  bool owns(const void* address) const noexcept {
    return address_of(address) - base_.load(memory_order_relaxed) < extent_.load(memory_order_relaxed);
  }

  /// Returns what is known about an address. One in a guard belongs to the nearer slot, or, if only one of the two was ever
  /// used, to that one. Any thread may call it at any time, also in a signal handler; for a slot that is being allocated or
  /// freed at that moment, it may return half of each state.
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
  void each_live(auto visit) const {
    if (extent_.load(memory_order_relaxed) == 0) return;
    for (std::uint32_t slot = 0; slot != slots_; ++slot)
      if (records_[slot].live.load(memory_order_relaxed))
        visit(view(slot, records_[slot].block.load(memory_order_relaxed)));
  }

  /// Returns everything to the system, including live blocks; the object is then as new. Precondition: no other thread uses it.
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
  bool right_is_next() const noexcept { return (std::popcount(takes_ + base_.load(memory_order_relaxed) / page_) & 1) != 0; }

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
  // Order: extent_: store release, load of find() acquire; others relaxed. A thread that has a block has seen that it was
  // taken. For an address without a slot, an old base_ with a new extent_ still says no, because nothing is below the extent.
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

// ---- which allocations are sampled: one call in N, on average ---------------------------------------------------------
//
// A countdown, so a call that isn't due costs a decrement and a branch. With one in 5000, that is 0.2 to 0.3 ns (Xeon with AMX)
// if the sampler is reached through a register, and up to 1.7 ns if it is a static object (see launder_address). Threads share
// it, so under thread_cached two threads at the same time write to one cache line: 9 instead of 2.5 ns a pair (AMD EPYC). A
// countdown for each thread would need a slot for each pool and thread, as magazines have.

/// Constant-initialised; without a seed, all zero. Threads may share it; simultaneous calls may count as one.
class sampler {
 public:
  /// \param seed  for tests: the same calls are due in each run. 0: they differ from run to run, and from sampler to sampler
  constexpr explicit sampler(std::uint32_t seed = 0) noexcept : random_(seed) {}

  /// Returns whether this call is due. \param mean  one call in `mean` is, on average; 1 to 2^31
  bool due(std::uint32_t mean) noexcept {
    const std::uint32_t left = left_.load(memory_order_relaxed);
    if (left <= 1) [[unlikely]] return reload(mean, left == 0);
    left_.store(left - 1, memory_order_relaxed);
    return false;
  }

 private:
  TARN_COLD bool reload(std::uint32_t mean, bool is_first) noexcept {
    if (random_.load(memory_order_relaxed) == 0) random_.store(any_seed(), memory_order_relaxed);
    left_.store(draw(mean), memory_order_relaxed);
    return !is_first || due(mean);  // the very first call is like any other
  }

  /// Uniform in 1 .. 2 * mean - 1, so that it doesn't synchronise with a program that allocates periodically.
  std::uint32_t draw(std::uint32_t mean) noexcept {
    std::uint32_t x = random_.load(memory_order_relaxed);
    x ^= x << 13;  // Marsaglia's xorshift: any start but 0 visits all numbers but 0
    x ^= x >> 17;
    x ^= x << 5;
    random_.store(x, memory_order_relaxed);
    return 1 + static_cast<std::uint32_t>(std::uint64_t{x} * (2 * std::uint64_t{mean} - 1) >> 32);
  }
  std::uint32_t any_seed() const noexcept { return static_cast<std::uint32_t>(scatter(code_of(this, coded::order)) >> 32) | 1; }

  // Order: relaxed; numbers. Two threads that use a sampler at the same time lose a step of a random countdown.
  atomic_word<std::uint32_t> left_ = 0;    // calls until one is due; 0: not started
  atomic_word<std::uint32_t> random_ = 0;  // 0: without a seed
};

}  // namespace tarn::detail

namespace tarn {

/// \tparam N      one block in N is sampled, on average; 1: every block, while there are slots
/// \tparam Then   the checking policy of the other blocks
/// \tparam Slots  the most blocks that can have their own pages at the same time
template <std::uint32_t N = 5000, class Then = no_checking, std::uint32_t Slots = 16>
struct sampled_guard_pages : Then {
  using axis = tarn::axis::checking;
  static constexpr bool numbers_hold = [] {
    if constexpr (policy_on<Then, tarn::axis::checking>) return N != 0 && Slots != 0 && !Then::traits.samples;
    else return false;
  }();
  static constexpr bool arguments_hold = numbers_hold && platform::system::has_pages;
  struct complaint {
    static_assert(
        numbers_hold,
        "tarn: [H3] sampled_guard_pages was given a rate of 0, 0 slots, or something that isn't a checking policy for the "
        "other blocks; write sampled_guard_pages<5000, hardened>");
    static_assert(!numbers_hold || arguments_hold,
                  "tarn: [Y7] sampled_guard_pages was used, but this target has no pages of memory that could be made "
                  "inaccessible; use hardened, or provide a platform header (docs/platforms.md)");
  };
  static constexpr checking_traits traits = [] {
    checking_traits all;
    if constexpr (policy_on<Then, tarn::axis::checking>) all = Then::traits;
    all.samples = true;
    return all;
  }();

  /// The sampled blocks. The caller holds the core guard, except for due() and owns().
  template <class Traits>
  class state : public Then::template state<Traits> {
    using base = typename Then::template state<Traits>;

   public:
    constexpr explicit state(const sampled_guard_pages& policy) noexcept : base(policy) {
      if constexpr (Then::traits.has_name)
        if (*policy.name != '\0') name_ = policy.name;
    }

    bool due() noexcept { return sampler_.due(N); }
    bool owns(const void* address) const noexcept { return slots_.owns(address); }
    std::size_t live() const noexcept {
      std::size_t n = 0;
      slots_.each_live([&](const detail::slot_view&) { ++n; });
      return n;
    }
    bool is_live(const void* block) const noexcept {
      const detail::slot_view view = slots_.find(block);
      return view.live && view.block == block;
    }
    void* take(std::size_t bytes, std::size_t alignment) noexcept {
      slots_.reserve_for(Slots);
      return slots_.take(bytes, alignment, {++sequence_, detail::this_thread_number()});
    }
    /// Returns whether the block was freed. Anything wrong with it is noted.
    bool give(void* block, detail::pending_report& one) noexcept {
      const detail::slot_view view = slots_.find(block);
      const detail::slot_verdict verdict = slots_.give(block, {++sequence_, detail::this_thread_number()});
      if (verdict.is == detail::slot_verdict::kind::done) [[likely]] return true;
      misuse& what = one.note(kind_of(verdict), block);
      describe(view, what);
      what.offset = verdict.offset;
      what.damaged = verdict.damaged;
      what.value = std::to_integer<unsigned char>(verdict.value);
      return verdict.is == detail::slot_verdict::kind::damaged;
    }
    /// If an access to the address would fault: describes the block that it belongs to, and returns true.
    bool describe_fault(const void* address, misuse& what) const noexcept {
      const detail::slot_view view = slots_.find(address);
      if (!view || (view.live && view.where == detail::slot_view::place::in_block)) return false;
      what = {};
      what.kind = misuse_kind::page_fault;
      what.pool_name = name();
      what.address = view.block;
      what.offset = view.offset;
      describe(view, what);
      return true;
    }
    /// Where a walk begins: it ignores blocks that are sampled later.
    std::uint64_t sampled_now() const noexcept { return sequence_; }
    /// Calls visit(block) for each block that was in use when sampled_now() returned `then`, and still is.
    void each_sampled(std::uint64_t then, auto visit) {
      slots_.each_live([&](const detail::slot_view& view) {
        if (view.taken.sequence <= then) visit(const_cast<std::byte*>(view.block));
      });
    }
    /// The pool is destroyed: does what Then does; sampled blocks in use are also leaks.
    template <class Chunks>
    void on_end(Chunks& chunks, detail::pending_report& one, span<const void*> leaks) noexcept
      requires(Then::traits.sees_end)
    {
      base::on_end(chunks, one, leaks);
      if constexpr (!traits.may_end_in_use) note_sampled(one, leaks);
    }
    /// Sampled blocks have no sites; they are reported with the first of the others.
    template <class Chunks>
    void note_in_use(Chunks& chunks, detail::pending_report& one, span<const void*> leaks,
                     detail::told_sites& told) noexcept
      requires(Then::traits.tells_in_use)
    {
      const bool is_first = told.is_new();
      base::note_in_use(chunks, one, leaks, told);
      if (is_first) note_sampled(one, leaks);
    }
    /// Drops every sampled block.
    void drop_sampled() noexcept { slots_.end(); }  // precondition: no other thread uses the pool

    void report_sampled(misuse& what) noexcept {
      what.pool_name = name();
      detail::reporter_of<Then>::report(what);
    }

   private:
    const char* name() const noexcept { return name_ != nullptr ? name_ : ""; }
    void note_sampled(detail::pending_report& one, span<const void*> leaks) noexcept {
      slots_.each_live([&](const detail::slot_view& view) {
        if (!one.seen()) describe(view, one.note(misuse_kind::leak, nullptr));
        misuse& what = one.what();
        what.block = nullptr;
        const std::size_t n = what.leaked++;
        if (!Then::lists_leaks || n >= leaks.size()) return;
        leaks[n] = view.block;
        what.leaks = leaks.first(n + 1);
      });
    }
    static void describe(const detail::slot_view& view, misuse& what) noexcept {
      what.block = view.block;
      what.allocated = view.taken.sequence;
      what.allocated_by = view.taken.thread;
      if (view.live) return;
      what.freed = view.given.sequence;
      what.freed_by = view.given.thread;
    }
    static misuse_kind kind_of(const detail::slot_verdict& verdict) noexcept {
      using enum detail::slot_verdict::kind;
      switch (verdict.is) {
        case interior: return misuse_kind::interior_pointer;
        case double_free: return misuse_kind::double_free;
        case damaged: return verdict.offset < 0 ? misuse_kind::write_in_front : misuse_kind::write_past_end;
        default: return misuse_kind::foreign_pointer;
      }
    }

    // All zero in a pool that has no name.
    detail::guarded_slots slots_{0};
    detail::sampler sampler_;
    std::uint64_t sequence_ = 0;
    const char* name_ = nullptr;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_SAMPLED_GUARD_PAGES_H_
