// decides    one block in N, at random, lies on its own pages between inaccessible pages, and becomes inaccessible once it is
//            freed: a write past an end, and any use after free, faults at that instruction. The other blocks are checked by
//            another policy
// costs      a countdown for each block; for one in N two system calls, 1.4 us in all. 140 KiB of addresses for each pool, of
//            which up to 68 KiB become memory
// conflicts  recycling_pool; blocks from batch calls aren't sampled
// use when   a program runs in many processes or for a long time, and must detect there what hardened can't
#ifndef TARN_POLICIES_CHECKING_SAMPLED_GUARD_PAGES_H_
#define TARN_POLICIES_CHECKING_SAMPLED_GUARD_PAGES_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/checking/detail/guarded_slots.h"
#include "tarn/policies/checking/detail/sampler.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/checking/no_checking.h"
#include "tarn/policies/checking/told_sites.h"
#include "tarn/policies/checking/traits.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

/// \tparam N      one block in N is sampled, on average; 1: every block, while there are slots
/// \tparam Then   the checking policy of the other blocks
/// \tparam Slots  blocks that can lie on pages of their own at once
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
        "tarn: [H3] sampled_guard_pages with one block in 0, no slots, or something else than a checking policy for the other "
        "blocks; write sampled_guard_pages<5000, hardened>");
    static_assert(!numbers_hold || arguments_hold,
                  "tarn: [Y7] sampled_guard_pages was named, but this target has no pages of memory that could be made "
                  "inaccessible; write hardened, or bring a platform header (docs/platforms.md)");
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

    bool due() noexcept { return sampler_.due(); }
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
    /// Returns whether the block was taken back. Anything wrong with it is noted.
    bool give(void* block, detail::pending_report& one) noexcept {
      const detail::slot_view view = slots_.find(block);
      const detail::slot_verdict verdict = slots_.give(block, {++sequence_, detail::this_thread_number()});
      if (verdict.is == detail::slot_verdict::kind::done) [[likely]] return true;
      misuse& what = one.note(kind_of(verdict), block);
      tell(view, what);
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
      tell(view, what);
      return true;
    }
    /// Where a walk begins: blocks that are sampled after that don't concern it.
    std::uint64_t sampled_now() const noexcept { return sequence_; }
    /// Calls visit(block) for each that was in use when sampled_now() returned `then`, and is still.
    template <class Visit>
    void each_sampled(std::uint64_t then, Visit visit) {
      slots_.each_live([&](const detail::slot_view& view) {
        if (view.taken.sequence <= then) visit(const_cast<std::byte*>(view.block));
      });
    }
    /// The pool ends: does what Then does, and sampled blocks in use are leaks, too.
    template <class Chunks>
    void on_end(Chunks& chunks, detail::pending_report& one, span<const void*> leaks) noexcept
      requires(Then::traits.sees_end)
    {
      base::on_end(chunks, one, leaks);
      if constexpr (!traits.may_end_in_use) note_sampled(one, leaks);
    }
    /// Sampled blocks have no sites: they are told with the first of the others.
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
        if (!one.seen()) tell(view, one.note(misuse_kind::leak, nullptr));
        misuse& what = one.what();
        what.block = nullptr;
        const std::size_t n = what.leaked++;
        if (!Then::lists_leaks || n >= leaks.size()) return;
        leaks[n] = view.block;
        what.leaks = leaks.first(n + 1);
      });
    }
    static void tell(const detail::slot_view& view, misuse& what) noexcept {
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
    detail::sampler_of<detail::fixed_mean<N>> sampler_;
    std::uint64_t sequence_ = 0;
    const char* name_ = nullptr;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_SAMPLED_GUARD_PAGES_H_
