// decides    wrong frees are refused and reported, as hardened does, while the pool's checks are on: from the start where the
//            environment variable TARN_CHECK names the pool, or from a call of switch_checks() on
// costs      a branch that the processor predicts for each call, while the checks are off; a byte for each block, at the front
//            of its chunk. With guard_bytes 32 bytes for each block. On: about what hardened costs
// conflicts  unnamed: nobody could name the pool
// use when   a release build should be able to look for a wrong free where it happens, without being built anew
#ifndef TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_
#define TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/checking.h"
#include "tarn/policies/checking/block_checks.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/checking/leaks.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

// The checks of switchable_checking: whether they are on, and what is known of each block since they are.
//
// A block's record says that it is in use or free only if it was handed out, or given back, while the checks were on. Of all
// others nothing is known: they pass. When the checks are switched on again, all records are forgotten.

namespace tarn::detail {

/// \tparam Spec  the policy: `guards` (there is room for guard bytes)
template <class Traits, class Spec>
class switched_checks {
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;
  using place = block_place<Traits, live_mark>;

 public:
  constexpr explicit switched_checks(const Spec&) noexcept {}

  TARN_STEP bool is_on() const noexcept { return is_on_.load(memory_order_relaxed); }

  /// The pool is in the registry, and has no block yet: decides whether it is checked. Only the first call does something.
  void choose(const char* name) noexcept {
    if (!is_decided_.load(memory_order_acquire)) choose_now(name);
  }

  // ---- under the core guard ----------------------------------------------------------------------------------------------

  /// A block came from the list. Returns whether it may be handed out. If not, that is noted.
  bool comes_out(chunks_type& chunks, void* block) noexcept {
    const place at = place::of(chunks, block);
    if (at.c == nullptr || at.slot >= at.c->carved || at.in_use()) return note(block, true);
    live_mark& known = at.records().get(at.slot);
    if constexpr (Spec::guards) {
      if (looks_at_guards()) {
        if (known.was_handed_out() && !words_around(chunks, block).stand(0)) note(block, true);
        else words_around(chunks, block).write(0);
      }
    }
    known.take(unused_);
    return true;
  }
  /// A block is given back. Returns whether it may be. If not, that is noted.
  bool comes_in(chunks_type& chunks, void* block) noexcept {
    const place at = place::of(chunks, block);
    if (!may_be_in_use(at)) return note(block, false);
    if constexpr (Spec::guards) {
      if (looks_at_guards()) {
        if (at.in_use() && !words_around(chunks, block).stand(0)) return note(block, false);
        words_around(chunks, block).write(0);
      }
    }
    at.records().get(at.slot).give(unused_);
    return true;
  }
  /// What is wrong with a block that can't be given back, as things stand.
  void describe_deallocate(chunks_type& chunks, void* block, pending_report& one) noexcept {
    const place at = place::of(chunks, block);
    if (!may_be_in_use(at)) detail::note_no_block(chunks, at, block, one);
    else note_damage(chunks, at, block, one);
  }
  /// Describes what was noted since the last call, if it can still be seen. Returns whether there was something.
  bool take_noted(chunks_type& chunks, pending_report& one) noexcept {
    void* const block = noted_;
    if (block == nullptr) return false;
    noted_ = nullptr;
    const place at = place::of(chunks, block);
    if (!came_out_) {
      describe_deallocate(chunks, block, one);
      if (!one.seen()) one.note(misuse_kind::double_free, block);  // somebody was handed it meanwhile
    } else if (at.c != nullptr && at.slot < at.c->carved) {
      note_damage(chunks, at, block, one);
    }
    if (!one.seen()) one.note(misuse_kind::corrupt_free_list, block);
    return true;
  }

  /// Switches the checks on. Nothing is known of any block any more. With guard bytes, if there is room.
  void switch_on(chunks_type& chunks) noexcept {
    chunks.each([](chunk& c) { static_cast<block_records<live_mark>&>(c).forget(); });
    has_guards_.store(Spec::guards, memory_order_relaxed);
    is_on_.store(true, memory_order_relaxed);
  }
  /// Switches them off, with anything held.
  void switch_off() noexcept { is_on_.store(false, memory_order_relaxed); }

  // ---- with nothing held ---------------------------------------------------------------------------------------------------

  void report(misuse& what) noexcept {
    const char* const name = name_.load(memory_order_relaxed);
    what.pool_name = name != nullptr ? name : "";
    reporter_of<Spec>::report(what);
  }

 private:
  TARN_COLD void choose_now(const char* name) noexcept {
    name_.store(name, memory_order_relaxed);
    const check_wish wish = checks_of_process().wish_for(name, Spec::guards);
    has_guards_.store(wish.guards, memory_order_relaxed);
    is_on_.store(wish.checks, memory_order_relaxed);
    is_decided_.store(true, memory_order_release);
  }

  bool looks_at_guards() const noexcept { return has_guards_.load(memory_order_relaxed); }
  static guard_words words_around(chunks_type& chunks, const void* block) noexcept {
    return {block, chunks.geometry().payload()};
  }
  /// Whether a block starts there that isn't known to be free.
  static bool may_be_in_use(const place& at) noexcept {
    if (at.c == nullptr || at.slot >= at.c->carved) return false;
    const live_mark* const known = at.records().find(at.slot);
    return known == nullptr || !known->was_handed_out() || known->in_use();
  }
  void note_damage(chunks_type& chunks, const place& at, void* block, pending_report& one) noexcept {
    if constexpr (Spec::guards) {
      const live_mark* const known = at.records().find(at.slot);
      if (looks_at_guards() && known != nullptr && known->was_handed_out())
        detail::note_damage_around(chunks, at, block, 0, one);
    }
  }
  bool note(void* block, bool came_out) noexcept {
    if (noted_ == nullptr) {
      noted_ = block;
      came_out_ = came_out;
    }
    return false;
  }

  atomic_word<bool> is_on_ = false;
  atomic_word<bool> is_decided_ = false;
  atomic_word<bool> has_guards_ = false;
  atomic_word<const char*> name_ = nullptr;  // until it is decided
  void* noted_ = nullptr;  // the first that was wrong and not described yet, and whether it came out of the list
  bool came_out_ = false;
  std::uint64_t unused_ = 0;  // live_mark counts nothing
};

}  // namespace tarn::detail

namespace tarn {

/// Checks that are off until somebody names the pool. TARN_CHECK holds names, with commas between them: the checks of these
/// pools are on from the start. `*` at the end of a name stands for any further characters; `:guard` behind it asks for guard
/// bytes, too:
///
///   TARN_CHECK=orders,messages:guard,cache_*
///
/// A double free, a foreign or an interior pointer is reported, and the call does nothing. Blocks that were handed out before
/// the checks were switched on pass once.
/// \tparam Options  guard_bytes, reported_to<handler>
template <class... Options>
struct switchable_checking_with {
  using axis = tarn::axis::checking;
  static constexpr bool arguments_hold =
      ((detail::one_of<Options, guard_bytes> || detail::handlers_in<Options> == 1) && ...) &&
      detail::handlers_among<Options...> <= 1;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [H4] switchable_checking_with was given something that is none of its options; they are guard_bytes "
                  "and one reported_to<handler>");
  };

  static constexpr bool guards = detail::one_of<guard_bytes, Options...>;
  static constexpr checking_traits traits{
      .switches = true,
      .prefix = guards ? detail::guard_words::bytes : 0,
      .suffix = guards ? detail::guard_words::bytes : 0,
  };
  using reporter = detail::reporter_among<Options...>;

  template <class Traits>
  using per_chunk = detail::block_records<detail::live_mark>;
  template <class Traits>
  using state = detail::switched_checks<Traits, switchable_checking_with>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_
