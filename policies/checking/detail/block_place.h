// Where in its pool a block lies, and what is known about it from that.
#ifndef TARN_POLICIES_CHECKING_DETAIL_BLOCK_PLACE_H_
#define TARN_POLICIES_CHECKING_DETAIL_BLOCK_PLACE_H_

#include <cstddef>

#include "tarn/policies/checking/detail/block_records.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Record  what the chunk's column keeps for each block
template <class Traits, class Record>
struct block_place {
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;

  chunk* c = nullptr;    // null: the address lies in no chunk
  std::size_t slot = 0;  // size_max: no block starts there

  static block_place of(chunks_type& chunks, const void* address) noexcept { return in(chunks, chunks.find(address), address); }
  /// For hits: it may miss a chunk, and the call then comes again.
  TARN_STEP static block_place close_to(chunks_type& chunks, const void* address) noexcept {
    return in(chunks, chunks.find_near(address), address);
  }
  TARN_STEP static block_place in(chunks_type& chunks, chunk* found, const void* address) noexcept {
    if (found == nullptr) [[unlikely]] return {};
    return {found, chunks.geometry().slot_at(address_of(address) - address_of(found->first) - chunks.geometry().offset())};
  }

  TARN_STEP bool in_use() const noexcept { return c != nullptr && records().in_use(slot); }

  // Preconditions of the rest: there is a chunk, and for block() and tell() a slot.

  TARN_STEP block_records<Record>& records() const noexcept { return *c; }
  std::byte* block(chunks_type& chunks) const noexcept {
    return c->first + chunks.geometry().distance(slot) + chunks.geometry().offset();
  }
  void tell(chunks_type& chunks, misuse& what) const noexcept {
    what.number = slot;
    what.chunk = c->first;
    what.block = block(chunks);
    if (const Record* const known = records().find(slot)) known->tell(what);
  }
};

/// Notes why a block that isn't in use can't be given back.
template <class Chunks, class Place>
TARN_COLD void note_no_block(Chunks& chunks, Place at, void* address, pending_report& one) noexcept {
  if (at.c == nullptr) {
    one.note(misuse_kind::foreign_pointer, address);
    return;
  }
  misuse& what = one.note(misuse_kind::double_free, address);
  if (at.slot >= at.c->blocks) {
    what.kind = misuse_kind::interior_pointer;
    at.slot = chunks.geometry().slot_around(address_of(address) - address_of(at.c->first));
  }
  at.tell(chunks, what);
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_BLOCK_PLACE_H_
