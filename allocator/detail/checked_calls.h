// One block out, one block in, where the checking policy can refuse a call: the checks run before anything is touched, and a misuse is
// reported when nothing is held any more.
//
//   take        [guard: pop, verdict, hooks]     no free block came: take_carefully
//   put         [guard: verdict, hooks, push]    refused: looked at once more to describe it, reported
//
// Locking policies that need no guard for the hot half have the checks run under the core guard: what checks look up is the core's.
#ifndef TARN_ALLOCATOR_DETAIL_CHECKED_CALLS_H_
#define TARN_ALLOCATOR_DETAIL_CHECKED_CALLS_H_

#include <array>
#include <cstddef>
#include <new>
#include <span>

#include "tarn/allocator/detail/block_calls.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/config.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/this_thread_number.h"

namespace tarn::detail {

template <class Environment>
class checked_calls : public block_calls<Environment> {
  using calls = block_calls<Environment>;
  friend struct inspector;

 protected:
  using calls::calls;
  using calls::checking_;
  using calls::layer_;
  using calls::roomy;
  using calls::statistics_;

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
      [[maybe_unused]] const auto growing = layer_.grow_guard();
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
    if constexpr (requires(incident& one) { checking_.admits_caller(one); }) {
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
    if constexpr (requires(incident& one, std::span<const void*> leaks) { checking_.on_end(layer_.core(), one, leaks); }) {
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

  void* take() noexcept {
    void* block;
    {
      [[maybe_unused]] const auto guard = calls::hot_guard();
      block = layer_.pop();
      if (block == nullptr) [[unlikely]] return nullptr;
      [[maybe_unused]] const auto looking = look_guard();
      if (checking_.on_allocate(layer_.core(), block) == outcome::done) [[likely]] return handed_out(block);
    }
    return take_carefully(block);
  }
  void* take_slow() noexcept {
    incident one;
    void* const block = take_slow(one);
    tell(one);
    return block;
  }
  void* take_slow(incident& one) noexcept { return take_carefully(nullptr, one); }
  outcome put(void* block) noexcept {
    {
      [[maybe_unused]] const auto guard = calls::hot_guard();
      if (may_go(block)) [[likely]] {
        statistics_.on_deallocate(1);
        calls::close(block);
        const outcome answer = layer_.push(block);
        return calls::unguarded ? answer : roomy(answer);
      }
    }
    return refuse(block);
  }
  outcome put_slow(void* block) noexcept {
    [[maybe_unused]] const auto guard = calls::hot_guard();
    return roomy(layer_.push_slow(block));
  }
  std::size_t take_batch(std::span<void*> out) noexcept {
    std::size_t got = 0;
    while (got != out.size() && (out[got] = take()) != nullptr) ++got;
    return got;
  }

  TARN_COLD void report(incident& one) noexcept {
    misuse& what = one.what();
    what.pool = this;
    what.block_size = calls::geometry().block_size();
    checking_.report(what);
  }

 private:
  /// Whether this thread is in no call of the pool, as far as somebody keeps that. Where it is, that was reported.
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

  auto look_guard() const noexcept {
    if constexpr (calls::unguarded) return layer_.core_guard();
    else return no_guard{};
  }
  bool may_go(void* block) noexcept {
    [[maybe_unused]] const auto looking = look_guard();
    return checking_.on_deallocate(layer_.core(), block) == outcome::done;
  }
  void* handed_out(void* block) noexcept {
    calls::open(block);
    statistics_.on_allocate(1);
    return block;
  }

  /// Looked at once more, to tell what is wrong. Meanwhile another thread may have been handed the block, so that it looks right.
  TARN_COLD outcome refuse(void* block) noexcept {
    incident one;
    {
      [[maybe_unused]] const auto guard = calls::core_guard();
      checking_.describe_deallocate(layer_.core(), block, one);
    }
    if (!one.seen()) one.note(misuse_kind::double_free, block);
    if (one.what().kind == misuse_kind::ended_pool) layer_.end();  // the guard entered lists again that the pool had left
    report(one);
    return outcome::refused;
  }

  /// A block that the checking policy knows as free; `block`, which came from the list, if it is one. What is none, because somebody
  /// wrote into the pool's memory, is dropped, and the list made anew.
  void* take_carefully(void* block, incident& one) noexcept {
    [[maybe_unused]] const auto guard = calls::hot_guard();
    for (;; block = nullptr) {
      if (block == nullptr) block = layer_.pop_slow();
      [[maybe_unused]] const auto looking = look_guard();
      if (is_astray(one)) [[unlikely]] {
        mend();
        continue;
      }
      if (block == nullptr) return nullptr;
      const outcome verdict = checking_.on_allocate(layer_.core(), block);
      if (verdict != outcome::done) checking_.describe_allocate(layer_.core(), block, one);
      if (verdict != outcome::refused) return handed_out(block);
      mend();
    }
  }
  TARN_COLD void* take_carefully(void* block) noexcept {
    incident one;
    void* const other = take_carefully(block, one);
    tell(one);
    return other;
  }

  static constexpr bool mends = hides_links<typename Environment::checking>;
  /// Whether the list read an address that is none.
  bool is_astray(incident& one) noexcept {
    if constexpr (mends) {
      const void* const address = layer_.core().distrusted();
      if (address == nullptr) [[likely]] return false;
      checking_.on_astray(layer_.core(), address, one);
      return true;
    } else {
      return false;
    }
  }
  TARN_COLD void mend() noexcept {
    if constexpr (mends) layer_.core().template mend<list_holds_all>();
  }
  static constexpr bool list_holds_all =
      !Environment::reuse::sees_empty_chunks && !requires { requires Environment::locking::keeps_blocks; } &&
      !requires { requires Environment::locking::own_free_list; };
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CHECKED_CALLS_H_
