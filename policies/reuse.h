// Axis reuse: which free block is handed out next, and where free blocks are kept.
#ifndef TARN_POLICIES_REUSE_H_
#define TARN_POLICIES_REUSE_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/reuse/batch_reuse.h"
#include "tarn/policies/reuse/lifo_reuse.h"
#include "tarn/policies/reuse/page_local_reuse.h"
#include "tarn/policies/reuse/traits.h"

namespace tarn {

namespace detail {
/// Takes blocks from a list that is drained.
struct taker {
  void operator()(void*) const noexcept {}
};

template <class P, class Traits>
concept reuse_members = requires(typename P::template list<Traits>& list, typename Traits::chunks& chunks, void* block,
                                 void** out, void* const* in, std::size_t n) {
  { list.pop(chunks) } noexcept -> std::same_as<void*>;
  { list.pop_slow(chunks) } noexcept -> std::same_as<void*>;
  { list.push(chunks, block) } noexcept -> std::same_as<status>;
  { list.make_room(chunks) } noexcept -> std::same_as<status>;
  { list.pop_batch(chunks, out, n) } noexcept -> std::same_as<std::size_t>;
  { list.push_batch(chunks, in, n) } noexcept -> std::same_as<status>;
  { list.drain(chunks, taker{}) } noexcept -> std::same_as<void>;
} && requires(typename P::template list<Traits>& list, typename Traits::chunk& chunk) {
  { list.adopted(chunk) } noexcept -> std::same_as<void>;
  { list.forget() } noexcept -> std::same_as<void>;
} && requires(typename P::template list<Traits>& list, typename Traits::chunks& chunks, void* block) {
  { list.restore(chunks, block) } noexcept -> std::same_as<void>;
} && (!Traits::is_listed || requires(const typename P::template list<Traits>& list, const typename Traits::chunks& chunks) {
  { list.outside(chunks) } noexcept -> std::same_as<std::size_t>;
  { list.in_front(chunks) } noexcept -> std::same_as<std::size_t>;
}) && std::default_initializable<typename P::template list<Traits>>;
}  // namespace detail

/// Everything that the pool uses of a reuse policy besides its traits.
/// The machinery is `list<Traits>`, called with the core guard held.
///   per_chunk<Traits>            its column: column_bytes(blocks, geometry), open(column, blocks, geometry)
///   pop(chunks)                  one branch; null: none is ready
///   pop_slow(chunks)             refills or carves; null: a chunk is needed. Tries again first: another thread may have
/// refilled
///   push(chunks, block)          takes it; `crowded`: make_room(chunks) must follow, which returns `done` or `surplus`
///   pop_batch, push_batch        the first block of a batch that was given back is handed out first
///   adopted(chunk)               a chunk was added, or stayed in a trim
///   gone(chunk)                  optional: a chunk goes while the list is drained; returns whether adopted() must name others
///   rest(chunks), is_at_rest()   optional: a trim ends; whether what is free is still the same
///   drain(chunks, take)          calls take(block) for every free block, the next to be handed out first; the list is then as
///                                new, and columns may go
///   restore(chunks, block)       takes back a drained block whose chunk stays
///   forget()                     drops every free block untouched: all chunks go
/// and, if the pool is in the registry:
///   outside(chunks)              blocks that are in use or at the front; O(1). Front: where a free block is found, or goes, by
///                                pop and push alone
///   in_front(chunks)             blocks at the front
/// and, if it sees empty chunks:
///   settle(chunks)               counts everything that is free, so that every chunk that can be empty is
///   empty_chunks()               how many chunks are wholly free
///   take_empty()                 removes and returns one of them
///   front_capacity(chunks)       how many blocks may wait in one place in front of the list, so that chunks can become empty
template <class P>
concept reuse_policy = policy_on<P, axis::reuse> && detail::says<P, reuse_traits> && requires {
  typename detail::template_name<P::template per_chunk>;
  typename detail::template_name<P::template list>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_REUSE_H_
