// What a pool does about blocks that a checking policy keeps for itself, of which it takes a few: they never meet the list.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_SAMPLED_CALLS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_SAMPLED_CALLS_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/pool/checked_calls.h"
#include "tarn/allocator/detail/pool/plain_calls.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// One of the two, whichever the checking policy needs.
template <class Environment>
using calls_of = std::conditional_t<Environment::checking::traits.refuses, checked_calls<Environment>, plain_calls<Environment>>;

template <class Environment>
class sampled_calls : public calls_of<Environment> {
  using calls = calls_of<Environment>;
  friend struct inspector;

 public:
  /// As in pool_chunks; sampled blocks end, too.
  void release() noexcept
    requires(Environment::may_return_chunks)
  {
    if (!calls::admits_caller()) return;
    drop_sampled();
    calls::release();
  }
  bool owns(const void* address) const noexcept { return calls::checking_.owns(address) || calls::owns(address); }

  /// For a handler of SIGSEGV: which sampled block the address belongs to whose access faulted, and what became of the block. Returns
  /// false, and leaves `what` alone, where no such block is near. Allocates nothing, takes no lock.
  bool explain_fault(const void* address, misuse& what) const noexcept {
    if (!calls::checking_.describe_fault(address, what)) return false;
    what.pool = this;
    what.block_size = calls::geometry().block_size();
    return true;
  }

 protected:
  using calls::calls;

  bool admits(void* block) noexcept {
    if (!is_sampled(block)) return calls::admits(block);
    const bool is_live = [&] {
      [[maybe_unused]] const auto guard = calls::core_guard();
      return calls::checking_.is_live(block);
    }();
    if (!is_live) put_sampled(block);  // which tells what it is
    return is_live;
  }

  /// A block, where this call is due for one; else null.
  void* take_sampled() noexcept {
    if (!calls::checking_.due()) [[likely]] return nullptr;
    return take_due();
  }
  bool is_sampled(const void* block) const noexcept { return calls::checking_.owns(block); }
  TARN_COLD void put_sampled(void* block) noexcept {
    incident one;
    {
      [[maybe_unused]] const auto guard = calls::core_guard();
      if (calls::checking_.give(block, one)) calls::statistics_.on_deallocate(1);
    }
    if (!one.seen()) return;
    one.what().pool = this;
    one.what().block_size = calls::geometry().block_size();
    calls::checking_.report_sampled(one.what());
  }
  void drop_sampled() noexcept {
    [[maybe_unused]] const auto guard = calls::core_guard();
    calls::checking_.drop_sampled();
  }

 private:
  TARN_COLD void* take_due() noexcept {
    [[maybe_unused]] const auto guard = calls::core_guard();
    void* const block = calls::checking_.take(calls::geometry().block_size(), calls::geometry().block_alignment());
    if (block != nullptr) calls::statistics_.on_allocate(1);
    return block;
  }
};

template <class Environment>
using all_calls_of = std::conditional_t<Environment::samples, sampled_calls<Environment>, calls_of<Environment>>;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_SAMPLED_CALLS_H_
