// Axis checking: which misuse of the pool is found.
#ifndef TARN_POLICIES_CHECKING_H_
#define TARN_POLICIES_CHECKING_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking/no_checking.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/stand_in.h"

namespace tarn {

/// Everything that the pool uses of a checking policy. The machinery is `part<Environment>`, made from the policy.
///   refuses                       on_deallocate can answer something else than `done`
///   finds_chunks                  it asks for the chunk of a block in every call
///   prefix, suffix                bytes it wants around every block
///   per_chunk<Environment>        its column: column_bytes(blocks, geometry), open(column, bytes)
///   on_allocate(core, block)      called with guard(), after the block was taken
///   on_deallocate(core, block)    called with guard(), before the block is touched: a verdict. Any but `done` leaves all
///                                 state as it was
///   report(core, block, verdict)  called with nothing held, after a verdict that was a fault
template <class P>
concept checking_policy = policy_on<P, axis::checking> && requires {
  { P::refuses } -> std::convertible_to<bool>;
  { P::finds_chunks } -> std::convertible_to<bool>;
  { P::prefix } -> std::convertible_to<std::size_t>;
  { P::suffix } -> std::convertible_to<std::size_t>;
  requires detail::column<typename P::template per_chunk<detail::stand_in>>;
  typename P::template part<detail::stand_in>;
} && requires(typename P::template part<detail::stand_in>& part, detail::stand_in::core& core, void* block) {
  { part.on_allocate(core, block) } noexcept -> std::same_as<void>;
  { part.on_deallocate(core, block) } noexcept -> std::same_as<detail::outcome>;
  { part.report(core, block, detail::outcome::foreign) } noexcept -> std::same_as<void>;
} && std::constructible_from<typename P::template part<detail::stand_in>, const P&>;

static_assert(checking_policy<no_checking>);

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_H_
