// Who may call a pool whose checking policy can refuse a call, and what is told when nothing is held any more.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_CHECKED_ENTRY_H_
#define TARN_ALLOCATOR_DETAIL_POOL_CHECKED_ENTRY_H_

#include <array>
#include <cstddef>
#include <new>
#include <span>

#include "tarn/allocator/detail/pool/block_calls.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Environment>
class checked_entry : public block_calls<Environment> {
  using calls = block_calls<Environment>;
  friend struct inspector;

 protected:
  using calls::calls;
  using calls::checking_;
  using calls::layer_;

  using incident = detail::incident;

 public:
  // As in pool_chunks, for the thread that may.
#if TARN_EXCEPTIONS
  void reserve(std::size_t blocks) {
    if (!try_reserve(blocks)) throw std::bad_alloc();
  }
#endif
  bool try_reserve(std::size_t blocks) noexcept {
    if (!admits_caller()) return false;
    const bool could = calls::try_reserve(blocks);
    if (!could) tell_of_store();
    return could;
  }
  void release() noexcept
    requires(Environment::may_return_chunks)
  {
    if (!admits_caller()) return;
    [[maybe_unused]] const auto calling = calls::call_guard();
    calls::release();
  }
  std::size_t trim() noexcept
    requires(Environment::may_return_chunks)
  {
    if (!admits_caller()) return 0;
    [[maybe_unused]] const auto calling = calls::call_guard();
    return calls::trim();
  }

 protected:
  void tell(incident& one) noexcept {
    if (one.seen()) [[unlikely]] report(one);
  }
  static constexpr void tell_of_leaving() noexcept {}
  /// After the store was asked, with nothing held.
  void tell_of_store() noexcept {
    const auto broken = [this] {
      [[maybe_unused]] const auto growing = calls::growth_guard();
      return calls::supplier_.take_broken();
    }();
    if (!broken.region) return;
    incident one;
    misuse& what = one.note(misuse_kind::broken_store, broken.region.start);
    what.size = broken.region.bytes;
    what.alignment = broken.alignment;
    report(one);
  }

  /// Whether the calling thread may use the pool. Where not, that was reported.
  bool admits_caller() noexcept {
    if (!is_outside()) [[unlikely]] return false;
    if constexpr (Environment::checking::traits.knows_owner && Environment::locking::traits.one_thread) {
      incident one;
      if (!checking_.admits_caller(one)) [[unlikely]] {
        report(one);
        return false;
      }
    }
    return true;
  }
  /// Whether a block could be given back, as things stand. Where not, that was reported, unless it is null.
  bool admits(void* block) noexcept {
    if (block == nullptr || !admits_caller()) return false;
    incident one;
    {
      [[maybe_unused]] const auto guard = calls::core_guard();
      checking_.describe_deallocate(layer_.core(), block, one);
    }
    tell(one);
    return !one.seen();
  }

  /// Whether the block, of which that is told, can have been asked for with such a size. Where not, that was reported.
  bool admits_size(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes <= calls::geometry().block_size() && alignment <= calls::geometry().block_alignment()) [[likely]] return true;
    incident one;
    misuse& what = one.note(misuse_kind::wrong_size, block);
    what.size = bytes;
    what.alignment = alignment;
    report(one);
    return false;
  }
  /// Reports delete of an object of `bytes`, or, 0, of an array.
  TARN_COLD void refuse_delete(void* block, std::size_t bytes) noexcept {
    incident one;
    one.note(bytes == 0 ? misuse_kind::array_delete : misuse_kind::wrong_size, block).size = bytes;
    report(one);
  }
  /// The pool ends: what is still in use is reported.
  void end() noexcept {
    if constexpr (Environment::checking::traits.sees_end) {
      incident one;
      std::array<const void*, 16> leaks;
      checking_.on_end(layer_.core(), one, leaks);
      tell(one);
    }
  }

  std::size_t verify() noexcept
    requires(Environment::can_verify)
  {
    if (!is_outside()) return 0;
    const void* from = nullptr;
    for (std::size_t found = 0;; ++found) {
      incident one;
      {
        [[maybe_unused]] const auto guard = calls::core_guard();
        if (!checking_.next_damaged(layer_.core(), from, one)) return found;
      }
      report(one);
    }
  }

  TARN_COLD void report(incident& one) noexcept {
    misuse& what = one.what();
    what.pool = this;
    what.block_size = calls::geometry().block_size();
    checking_.report(what);
  }

 private:
  /// Whether this thread is in no call of the pool, if reentry is tracked. Where it is, that was reported.
  bool is_outside() noexcept {
    if constexpr (Environment::tells_reentry) {
      if (call_frame* const outer = call_frame::in(this)) [[unlikely]] {
        tell_of_reentry(*outer);
        return false;
      }
    }
    return true;
  }
  TARN_COLD void tell_of_reentry(call_frame& outer) noexcept {
    if (!outer.is_news()) return;
    incident one;
    one.note(misuse_kind::reentry, nullptr).thread = this_thread_number();
    report(one);
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_CHECKED_ENTRY_H_
