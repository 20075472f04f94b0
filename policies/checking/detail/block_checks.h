// The checks of single blocks, for the policies that make them: where a block lies, whether it is in use, and what was written
// around it and in it. Everything is decided before anything is touched; a refused call leaves everything unchanged.
//
//   given back:    null? · chunk (range) · slot (stride) · in use? · guard bytes      then: record, fill
//   handed out:    chunk · slot · free? · fill, guard bytes                           then: record, guard bytes
#ifndef TARN_POLICIES_CHECKING_DETAIL_BLOCK_CHECKS_H_
#define TARN_POLICIES_CHECKING_DETAIL_BLOCK_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/checking/asked_in_use.h"
#include "tarn/policies/checking/call_site.h"
#include "tarn/policies/checking/detail/block_damage.h"
#include "tarn/policies/checking/detail/block_place.h"
#include "tarn/policies/checking/detail/guard_bytes.h"
#include "tarn/policies/checking/detail/pool_names.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/checking/told_sites.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Spec  the policy: `record`, `guards` (guard bytes), `fills` (free blocks), `knows_owner` (thread), `name`
template <class Traits, class Spec>
class block_checks {
  using record = typename Spec::record;
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;
  using place = block_place<Traits, record>;

 public:
  constexpr explicit block_checks(const Spec& spec) noexcept
      : name_(*spec.name != '\0' ? spec.name : nullptr), asked_(starts_zero<Traits>) {}
  /// Called under the core guard before the first block is handed out, and again. Not by the constructor: a pool that holds an
  /// array would not be all zero.
  void lies_in(const void* pool) noexcept {
    if constexpr (Spec::guards) pool_ = pool;
  }

  // ---- under the core guard ----------------------------------------------------------------------------------------------

  status on_deallocate(chunks_type& chunks, void* block) noexcept {
    const place at = place::close_to(chunks, block);
    if (!at.in_use()) [[unlikely]] return status::refused;
    if constexpr (Spec::guards) {
      if (!words_around(chunks, block).stand(kept())) [[unlikely]] return status::refused;
    }
    at.records().get(at.slot).give(sequence_);
    if constexpr (Spec::traits.fills) free_fill::write(static_cast<std::byte*>(block), chunks.geometry().payload());
    return status::done;
  }
  void describe_deallocate(chunks_type& chunks, void* block, pending_report& one) noexcept {
    const place at = place::of(chunks, block);
    if (!at.in_use()) {
      detail::note_no_block(chunks, at, block, one);
      if (ended_ && at.c == nullptr) one.what().kind = misuse_kind::ended_pool;
      return;
    }
    if constexpr (Spec::guards) detail::note_damage_around(chunks, at, block, kept(), one);
  }

  status on_allocate(chunks_type& chunks, void* block) noexcept {
    const place at = place::close_to(chunks, block);
    if (at.c == nullptr || at.slot >= at.c->carved) [[unlikely]] return status::refused;
    record& known = at.records().get(at.slot);
    if (known.in_use()) [[unlikely]] return status::refused;
    if constexpr (Spec::guards) {
      if (!known.was_handed_out()) words_around(chunks, block).write(kept());
      else if (!is_as_left(chunks, block)) [[unlikely]] return status::damaged;
    }
    known.take(sequence_);
    return status::done;
  }
  void describe_allocate(chunks_type& chunks, void* block, pending_report& one) noexcept {
    if constexpr (!Spec::guards && !Traits::has_chunk_table) return on_astray(chunks, block, one);  // all there is to be wrong
    const place at = place::of(chunks, block);
    if (at.c == nullptr || at.slot >= at.c->carved || at.in_use()) return on_astray(chunks, block, one);
    if constexpr (Spec::guards) {
      detail::note_damage_around(chunks, at, block, kept(), one);
      if constexpr (Spec::traits.fills) detail::note_damage_inside(chunks, at, block, one);
    }
    at.records().get(at.slot).take(sequence_);
  }

  /// A number that is unique to this use of the block; 0: it isn't in use, or is no block.
  static std::uint64_t generation_of(chunks_type& chunks, const void* block) noexcept
    requires(Spec::traits.has_generations)
  {
    const place at = place::of(chunks, block);
    return at.in_use() ? at.records().generation(at.slot) : 0;
  }

  /// Records where a block in use was allocated. Any other address is ignored.
  void note_site(chunks_type& chunks, const void* block, call_site where) noexcept
    requires(Spec::traits.has_sites)
  {
    const place at = place::of(chunks, block);
    if (at.in_use()) at.records().get(at.slot).site = where;
  }

  /// The free list holds an address that is no free block.
  void on_astray(chunks_type&, const void* address, pending_report& one) noexcept {
    one.note(misuse_kind::corrupt_free_list, address);
  }

  // ---- with nothing held ---------------------------------------------------------------------------------------------------

  /// A pool without a lock belongs to the thread that used it first, until hand_over().
  bool admits_caller(pending_report& one) noexcept
    requires(Spec::traits.knows_owner && Traits::locking::traits.one_thread)
  {
    atomic_word<thread_number>& owner = owner_of_pool();
    const thread_number me = this_thread_number();
    thread_number known = owner.load(memory_order_relaxed);
    if (known == me) [[likely]] return true;
    if (known == 0 && owner.compare_exchange_strong(known, me, memory_order_relaxed)) return true;
    misuse& what = one.note(misuse_kind::wrong_thread, nullptr);
    what.thread = me;
    what.owner = known;
    return false;
  }
  void hand_over() noexcept {
    if constexpr (Spec::traits.knows_owner) owner_of_pool().store(0, memory_order_relaxed);
  }

  void report(misuse& what) noexcept {
    what.pool_name = name();
    if constexpr (Spec::guards) {
      if (what.kind == misuse_kind::foreign_pointer) find_other(what);
    }
    reporter_of<Spec>::report(what);
  }

  /// The pool can be asked what is in use, until it ends.
  void be_listed(void* pool, in_use_teller tell) noexcept
    requires(Spec::traits.tells_in_use)
  {
    asked_.enter(pool, name(), tell);
  }
  /// The pool ends. \param leaks  the first blocks that are still in use
  void on_end([[maybe_unused]] chunks_type& chunks, [[maybe_unused]] pending_report& one,
              [[maybe_unused]] span<const void*> leaks) noexcept {
    asked_.leave();
    ended_ = true;
    if constexpr (!Spec::traits.may_end_in_use) {
      told_sites told;
      note_in_use(chunks, one, leaks, told, true);
    }
  }
  /// Notes the blocks in use, and lists the first of them; if their sites are known and not `all` are asked for, those of one
  /// site that wasn't told.
  void note_in_use(chunks_type& chunks, pending_report& one, span<const void*> leaks, told_sites& told,
                   bool all = !Spec::traits.has_sites) noexcept {
    std::size_t n = 0;
    const record* first = nullptr;
    chunks.each([&](chunk& c) {
      for (place at{detail::pointer_to(c), 0}; at.slot != at.records().ready(); ++at.slot) {
        if (!at.records().in_use(at.slot)) continue;
        const record* const its = at.records().find(at.slot);
        if constexpr (Spec::traits.has_sites)
          if (!all && (told.has(its->site) || (n != 0 && !told.is_full() && !detail::same_site(its->site, first->site))))
            continue;
        if (n == 0) first = its;
        if (n < leaks.size()) leaks[n] = at.block(chunks);
        ++n;
      }
    });
    if (n == 0) return;
    if constexpr (Spec::traits.has_sites) told.add(first->site);
    misuse& what = one.note(misuse_kind::leak, nullptr);
    what.leaked = n;
    if constexpr (Spec::lists_leaks) what.leaks = leaks.first(smaller(n, leaks.size()));
    first->tell(what);
  }

  /// Checks every block from `from` on, and moves `from` past the next damaged one. Returns whether there was one.
  bool next_damaged(chunks_type& chunks, const void*& from, pending_report& one) noexcept
    requires(Spec::traits.can_verify)
  {
    chunks.each_from(from, [&](chunk& c) {
      const bool starts_inside = address_of(from) >= address_of(c.first);
      const std::size_t in_front = address_of(from) - address_of(c.first);
      place at{detail::pointer_to(c), starts_inside ? chunks.geometry().slot_around(in_front) + 1 : 0};
      for (; at.slot < at.records().ready() && !one.seen(); ++at.slot) {
        if (!at.records().get(at.slot).was_handed_out()) continue;
        std::byte* const block = at.block(chunks);
        from = block;
        detail::note_damage_around(chunks, at, block, kept(), one);
        if (!at.records().in_use(at.slot)) detail::note_damage_inside(chunks, at, block, one);
      }
      return !one.seen();
    });
    return one.seen();
  }

 private:
  const char* name() const noexcept { return name_ != nullptr ? name_ : ""; }

  TARN_STEP std::uintptr_t kept() const noexcept { return address_of(pool_); }
  TARN_STEP static guard_words words_around(chunks_type& chunks, const void* block) noexcept {
    return {block, chunks.geometry().payload()};
  }
  TARN_STEP bool is_as_left(chunks_type& chunks, const void* block) const noexcept {
    if (!words_around(chunks, block).stand(kept())) [[unlikely]] return false;
    if constexpr (Spec::traits.fills)
      return free_fill::stands(static_cast<const std::byte*>(block), chunks.geometry().payload());
    return true;
  }

  /// Finds out whether the guard bytes of another checked pool are in front of the address.
  static void find_other(misuse& what) noexcept {
    const std::byte* const at = static_cast<const std::byte*>(what.address) - guard_words::bytes;
    std::uint64_t copy[2];
    if (!platform::system::read_anywhere(at, copy, sizeof copy)) return;
    const auto* const other = reinterpret_cast<const void*>(guard_words::kept_in(what.address, copy));
    const char* const name = other == nullptr ? nullptr : named_pools().find(other);
    if (name == nullptr) return;
    what.kind = misuse_kind::other_pool;
    what.other_pool = other;
    what.other_name = name;
  }

  TARN_STEP atomic_word<thread_number>& owner_of_pool() noexcept {
    if constexpr (Traits::locking::traits.has_owner) return Traits::locking::owner();
    else return owner_;
  }

  // All zero in a pool that has no name and no guard bytes: it takes no space in the executable.
  const char* name_;            // null: none
  const void* pool_ = nullptr;  // if there are guard bytes
  std::uint64_t sequence_ = 0;
  atomic_word<thread_number> owner_ = 0;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Spec::traits.tells_in_use, asked_in_use, never_asked_in_use> asked_;
  bool ended_ = false;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_BLOCK_CHECKS_H_
