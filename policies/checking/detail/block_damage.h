// Finds damage around a block, or in a free one. It is noted and repaired, so that it is reported once.
#ifndef TARN_POLICIES_CHECKING_DETAIL_BLOCK_DAMAGE_H_
#define TARN_POLICIES_CHECKING_DETAIL_BLOCK_DAMAGE_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/checking/detail/guard_bytes.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

/// \param at    the block_place
/// \param from  bytes from the block's start to those that were examined
template <class Chunks, class Place>
TARN_COLD void note_damage(Chunks& chunks, const Place& at, misuse_kind kind, const damage& found, std::ptrdiff_t from,
                           pending_report& one) noexcept {
  misuse& what = one.note(kind, at.block(chunks));
  what.offset = from + static_cast<std::ptrdiff_t>(found.first);
  what.damaged = found.bytes;
  what.value = found.value;
  at.tell(chunks, what);
}

/// \param kept  what is kept in front of the block
template <class Chunks, class Place>
void note_damage_around(Chunks& chunks, const Place& at, void* block, std::uintptr_t kept, pending_report& one) noexcept {
  const std::size_t size = chunks.geometry().payload();
  const guard_words words(block, size);
  if (const damage front = words.in_front(kept))
    detail::note_damage(chunks, at, misuse_kind::write_in_front, front, -static_cast<std::ptrdiff_t>(guard_words::bytes), one);
  if (const damage behind = words.behind())
    detail::note_damage(chunks, at, misuse_kind::write_past_end, behind, static_cast<std::ptrdiff_t>(size), one);
  if (!words.stand(kept)) words.write(kept);
}

/// Precondition: the block is free.
template <class Chunks, class Place>
void note_damage_inside(Chunks& chunks, const Place& at, void* block, pending_report& one) noexcept {
  auto* const start = static_cast<std::byte*>(block);
  const std::size_t size = chunks.geometry().payload();
  [[maybe_unused]] const memory_tools::window look(start, size);
  if (const damage inside = free_fill::find(start, size))
    detail::note_damage(chunks, at, misuse_kind::write_after_free, inside, 0, one);
  free_fill::write(start, size);
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_BLOCK_DAMAGE_H_
