// Sampled blocks, which a checking policy takes from memory of its own: they never enter the list.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_SAMPLED_PATH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_SAMPLED_PATH_H_

#include "tarn/allocator/detail/pool/admission.h"
#include "tarn/allocator/detail/pool/guards.h"
#include "tarn/allocator/detail/pool/listing.h"
#include "tarn/allocator/detail/pool/telling.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class State>
struct sampled_path {
  /// A sampled block if this call is due for one, else null.
  static void* take(State& s) noexcept {
    if (!s.checking.due()) [[likely]] return nullptr;
    return take_due(s);
  }
  static bool owns(const State& s, const void* address) noexcept { return s.checking.owns(address); }
  TARN_COLD static void put(State& s, void* block) noexcept {
    pending_report one;
    {
      [[maybe_unused]] const auto guard = detail::core_guard(s);
      if (s.checking.give(block, one)) {
        s.statistics.on_deallocate(1);
        detail::tell_of_free(s, block);
      }
    }
    if (!one.seen()) return;
    one.what().pool = detail::pointer_to(s);
    one.what().block_size = s.chunks.geometry().block_size();
    s.checking.report_sampled(one.what());
  }
  /// Whether a sampled block could be freed. If not, that was reported.
  static bool admits(State& s, void* block) noexcept {
    const bool is_live = [&] {
      [[maybe_unused]] const auto guard = detail::core_guard(s);
      return s.checking.is_live(block);
    }();
    if (!is_live) put(s, block);  // which reports what is wrong
    return is_live;
  }
  static void drop(State& s) noexcept {
    [[maybe_unused]] const auto guard = detail::core_guard(s);
    s.checking.drop_sampled();
  }

  /// For a handler of SIGSEGV: whether a sampled block is near the address, and what became of it.
  static bool explain_fault(const State& s, const void* address, misuse& what) noexcept {
    if (!s.checking.describe_fault(address, what)) return false;
    what.pool = detail::pointer_to(s);
    what.block_size = s.chunks.geometry().block_size();
    return true;
  }

 private:
  TARN_COLD static void* take_due(State& s) noexcept {
    if constexpr (State::traits::checking::traits.tells_in_use) admission<State>::be_listed(s);
    [[maybe_unused]] const auto guard = detail::core_guard(s);
    void* const block = s.checking.take(s.chunks.geometry().block_size(), s.chunks.geometry().block_alignment());
    if (block != nullptr) {
      s.statistics.on_allocate(1);
      detail::tell_of_allocation(s, block);
    }
    detail::note_outside(s);
    return block;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_SAMPLED_PATH_H_
