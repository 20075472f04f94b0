// Axis checking: which misuse of the pool is detected.
//
// Here: checking_traits, no_checking, checking_policy. In separate headers: hardened, checked and deferred_checking
// (checked.h), switchable_checking, sampled_guard_pages. misuse.h defines their reports.
#ifndef TARN_POLICIES_CHECKING_H_
#define TARN_POLICIES_CHECKING_H_

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

/// What a checking policy declares about itself.
struct checking_traits {
  bool refuses = false;          // a call can be refused: the pool takes the checked path
  bool switches = false;         // is_on(): whether calls are checked now: comes_out(), comes_in(), describe_deallocate(),
                                 // take_noted(), choose(), switch_on() and switch_off(), as switchable_checking has them
  bool finds_chunks = false;     // it looks up the chunk of a block in every call
  std::size_t prefix = 0;        // bytes in front of every block
  std::size_t suffix = 0;        // bytes after every block
  bool hides_links = false;      // lists encode their links in free blocks, and follow a link only if the column's in_use(slot)
                                 // says that the block is free. Its make_records(n): from now on the first n blocks may be
                                 // allocated; on_astray(chunks, address, pending_report): the link was invalid
  bool keeps_payload = false;    // links are stored in front of free blocks; the payload belongs to the policy
  bool fills = false;            // it writes over free blocks
  bool shuffles = false;         // blocks that were never handed out come in random order
  bool checks_leaving = false;   // the reuse policy checks blocks that leave its front
  bool samples = false;          // some blocks are owned by the policy: due(), owns(), take(), give(), each_sampled(),
                                 // sampled_now(), drop_sampled(), report_sampled() and describe_fault(), as
                                 // sampled_guard_pages has them
  bool has_generations = false;  // generation_of(): a number that is unique to one use of a block, even if its chunk was freed
                                 // and another was allocated at that address
  bool has_sites = false;        // note_site(): where a block was allocated
  bool knows_pool = false;       // belongs_to(pool), from the pool's constructor
  bool knows_owner = false;      // admits_caller(): only one thread may call. hand_over(): another thread takes over
  bool sees_end = false;         // on_end(): the pool is destroyed
  bool may_end_in_use = false;   // blocks in use at that time are intended, and not reported
  bool tells_in_use = false;     // note_in_use(), be_listed(): report_in_use() includes the pool
  bool can_verify = false;       // next_damaged(): the pool has verify()
  bool tells_reentry = false;    // a reentrant call is refused
  bool has_name = false;         // it is constructed with the pool's name
};

// decides    nothing is checked: misuse is undefined behaviour, as with operator delete
// costs      nothing
// conflicts  none
// use when   the program is known to be correct, and every instruction counts (the default)
struct no_checking {
  using axis = tarn::axis::checking;
  static constexpr checking_traits traits{};

  template <class Traits>
  using per_chunk = detail::no_column<axis>;

  template <class Traits>
  struct state {
    constexpr explicit state(const no_checking&) noexcept {}
  };
};

// Defined in "tarn/policies/checking/switchable_checking.h".
template <class... Options>
struct switchable_checking_with;
/// switchable_checking_with without options.
using switchable_checking = switchable_checking_with<>;
template <class... Options>
struct detail::home<switchable_checking_with<Options...>> {
  static_assert(detail::defined<switchable_checking_with<Options...>>,
                "tarn: [I5] switchable_checking has its own header, which no pool includes; include "
                "tarn/policies/checking/switchable_checking.h");
};

namespace detail {
template <class P, class Traits>
concept checking_members =
    (!P::traits.refuses ||
     requires(typename P::template state<Traits>& state, typename Traits::chunks& chunks, void* block, pending_report& one,
              misuse& what) {
       { state.on_allocate(chunks, block) } noexcept -> std::same_as<status>;
       { state.on_deallocate(chunks, block) } noexcept -> std::same_as<status>;
       { state.describe_allocate(chunks, block, one) } noexcept -> std::same_as<void>;
       { state.describe_deallocate(chunks, block, one) } noexcept -> std::same_as<void>;
       { state.report(what) } noexcept -> std::same_as<void>;
     }) &&
    as_promised<P::traits.switches,
                requires(typename P::template state<Traits>& state, const typename P::template state<Traits>& seen,
                         typename Traits::chunks& chunks, void* block, pending_report& one, misuse& what, const char* name) {
                  { seen.is_on() } noexcept -> std::same_as<bool>;
                  { state.comes_out(chunks, block) } noexcept -> std::same_as<bool>;
                  { state.comes_in(chunks, block) } noexcept -> std::same_as<bool>;
                  { state.describe_deallocate(chunks, block, one) } noexcept -> std::same_as<void>;
                  { state.take_noted(chunks, one) } noexcept -> std::same_as<bool>;
                  { state.report(what) } noexcept -> std::same_as<void>;
                  { state.choose(name) } noexcept -> std::same_as<void>;
                  { state.switch_on(chunks) } noexcept -> std::same_as<void>;
                  { state.switch_off() } noexcept -> std::same_as<void>;
                }> &&
    as_promised<P::traits.knows_pool,
                requires(typename P::template state<Traits>& state) {
                  { state.belongs_to(detail::pointer_to(state)) } noexcept -> std::same_as<void>;
                }> &&
    as_promised<P::traits.sees_end,
                requires(typename P::template state<Traits>& state, typename Traits::chunks& chunks, pending_report& one,
                         span<const void*> leaks) {
                  { state.on_end(chunks, one, leaks) } noexcept -> std::same_as<void>;
                }> &&
    as_promised<P::traits.tells_in_use,
                requires(typename P::template state<Traits>& state, typename Traits::chunks& chunks, pending_report& one,
                         span<const void*> leaks, told_sites& told, in_use_teller tell) {
                  { state.note_in_use(chunks, one, leaks, told) } noexcept -> std::same_as<void>;
                  { state.be_listed(detail::pointer_to(state), tell) } noexcept -> std::same_as<void>;
                }> &&
    as_promised<P::traits.has_generations,
                requires(typename P::template state<Traits>& state, typename Traits::chunks& chunks, const void* block) {
                  { state.generation_of(chunks, block) } noexcept -> std::same_as<std::uint64_t>;
                }> &&
    as_promised<P::traits.has_sites,
                requires(typename P::template state<Traits>& state, typename Traits::chunks& chunks, const void* block,
                         call_site where) {
                  { state.note_site(chunks, block, where) } noexcept -> std::same_as<void>;
                }> &&
    as_promised<P::traits.can_verify,
                requires(typename P::template state<Traits>& state, typename Traits::chunks& chunks, const void*& from,
                         pending_report& one) {
                  { state.next_damaged(chunks, from, one) } noexcept -> std::same_as<bool>;
                }> &&
    std::constructible_from<typename P::template state<Traits>, const P&>;
}  // namespace detail

/// Everything that the pool uses of a checking policy, in addition to its traits.
/// The machinery is `state<Traits>`, made from the policy.
///   per_chunk<Traits>        its column: column_bytes(blocks, geometry), open(column, blocks, geometry)
/// and, if it refuses, called with the pool's chunks under the core guard:
///   on_allocate(chunks, block)    after a block was taken from the list. `done`: it is allocated; `refused`: it isn't;
///                                 `damaged`: it is, once the damage was described. The last two leave all state unchanged
///   on_deallocate(chunks, block)  before the block is touched. `done`: it is taken back; `refused` leaves all state unchanged
///   describe_allocate(chunks, block, pending_report), describe_deallocate(chunks, block, pending_report)
///                                 after any result other than `done`: notes what is wrong, if it can still be seen
/// called with nothing held:
///   report(misuse)                reports what was noted
/// If it switches, called under the core guard, except is_on(), choose() and switch_off():
///   is_on()                       whether calls are checked now
///   comes_out(chunks, block)      a block was taken from the list. Returns whether it may be allocated; if not, notes why
///   comes_in(chunks, block)       before the block is touched. Returns whether it may be freed; if not, notes why
///   describe_deallocate(chunks, block, pending_report)
///                                 notes what is wrong with a block that can't be freed
///   take_noted(chunks, pending_report)
///                                 describes what was noted since the last call. Returns whether there was something
///   choose(name)                  the pool is in the registry, with that name, and has no block yet; called often
///   switch_on(chunks), switch_off()
/// Optional members:
///   belongs_to(pool)              called by the pool's constructor
///   admits_caller(pending_report)
///                                 whether this thread may use the pool; called first, with nothing held
///   on_end(chunks, pending_report, span)
///                                 the pool is destroyed
///   be_listed(pool, tell)         from now on tell(pool) reports the blocks in use; called often, with nothing held
///   note_in_use(chunks, pending_report, span, told_sites)
///                                 under the core guard: how many blocks are in use, and the first; if sites are known, those
///                                 of one site that wasn't reported
///   hand_over()                   another thread takes over the pool
template <class P>
concept checking_policy = policy_on<P, axis::checking> && detail::says<P, checking_traits> && requires {
  typename detail::template_name<P::template per_chunk>;
  typename detail::template_name<P::template state>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_H_
