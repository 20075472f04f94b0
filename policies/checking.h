// Axis checking: which misuse of the pool is found.
#ifndef TARN_POLICIES_CHECKING_H_
#define TARN_POLICIES_CHECKING_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking/call_site.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/checking/deferred_checking.h"
#include "tarn/policies/checking/hardened.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/checking/no_checking.h"
#include "tarn/policies/checking/sampled_guard_pages.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/stand_in.h"

namespace tarn {

/// Everything that the pool uses of a checking policy. The machinery is `part<Environment>`, made from the policy.
///   refuses                       a call can be refused. Where not, no hook is called, and `part` has only its constructor
///   finds_chunks                  it asks for the chunk of a block in every call
///   prefix, suffix                bytes it wants around every block
///   per_chunk<Environment>        its column: column_bytes(blocks, geometry), open(column, blocks, geometry)
/// and where it refuses, with what the core keeps guarded:
///   on_allocate(core, block)      after a block came from the list. `done`: it is handed out; `refused`: it isn't; `damaged`: it
///                                 is, when that was described. Both others leave all state as it was
///   on_deallocate(core, block)    before the block is touched. `done`: it is taken back; `refused` leaves all state as it was
///   describe_allocate(core, block, incident), describe_deallocate(core, block, incident)
///                                 after another answer than `done`: notes what is wrong, if that is still to be seen
/// with nothing held:
///   report(misuse)                what an incident noted
/// It may say more:
///   hides_links                   what lists keep in free blocks is encoded, and an address is followed only where the column's
///                                 in_use(slot) says that no one has the block; on_astray(core, address, incident): it was none
///   keeps_payload                 lists lie in front of free blocks, whose payload is the policy's
///   shuffles                      blocks that were never handed out come in no order
///   checks_leaving                the reuse policy looks at what leaves its front, and the pool reports what is no block, by report()
///   samples                       some blocks are the policy's own: due(), owns(), take(), give(), each_sampled(), drop_sampled(),
///                                 report_sampled() and describe_fault(), as sampled_guard_pages has them
///   has_generations               it has generation_of(core, block): a number that this use of the block has, and no other; 0: none
///   belongs_to(pool)              called by the pool's constructor
///   admits_caller(incident)       whether this thread may use the pool; called first, with nothing held
///   on_end(core, incident, span)  the pool ends
///   can_verify                    it has next_damaged(core, from, incident), for verify(): whether a block behind `from` was written
///                                 where it should not; it is `from` then
///   hand_over()                   another thread goes on with the pool
///   tells_reentry                 a call out of the pool's own call, by a signal handler or by its store, is refused, and reported
///   has_sites                     it has note_site(core, block, call_site), which keeps where the block was asked for
template <class P>
concept checking_policy = policy_on<P, axis::checking> && requires {
  { P::refuses } -> std::convertible_to<bool>;
  { P::finds_chunks } -> std::convertible_to<bool>;
  { P::prefix } -> std::convertible_to<std::size_t>;
  { P::suffix } -> std::convertible_to<std::size_t>;
  requires detail::column<typename P::template per_chunk<detail::stand_in>>;
  typename P::template part<detail::stand_in>;
} && (!P::refuses || requires(typename P::template part<detail::stand_in>& part, detail::stand_in::core& core, void* block,
                              detail::incident& one, misuse& what) {
  { part.on_allocate(core, block) } noexcept -> std::same_as<detail::outcome>;
  { part.on_deallocate(core, block) } noexcept -> std::same_as<detail::outcome>;
  { part.describe_allocate(core, block, one) } noexcept -> std::same_as<void>;
  { part.describe_deallocate(core, block, one) } noexcept -> std::same_as<void>;
  { part.report(what) } noexcept -> std::same_as<void>;
}) && std::constructible_from<typename P::template part<detail::stand_in>, const P&>;

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_H_
