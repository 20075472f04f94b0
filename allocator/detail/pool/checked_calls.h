// One block out, one block in, where the checking policy can refuse a call: the checks run before anything is touched, and a misuse is
// reported when nothing is held any more.
//
//   take        [guard: pop, verdict, hooks]     no free block came: take_carefully
//   put         [guard: verdict, hooks, push]    refused: looked at once more to describe it, reported
//
// Locking policies that need no guard for the hot half have the checks run under the core guard: what checks look up is the core's.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_CHECKED_CALLS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_CHECKED_CALLS_H_

#include <cstddef>
#include <span>

#include "tarn/allocator/detail/pool/checked_entry.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Environment>
class checked_calls : public checked_entry<Environment> {
  using calls = checked_entry<Environment>;
  friend struct inspector;

 protected:
  using calls::calls;
  using calls::checking_;
  using calls::layer_;
  using calls::report;
  using calls::roomy;
  using calls::statistics_;
  using calls::tell;
  using typename calls::incident;

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

 private:
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
  /// Whether the list read an invalid link.
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
      !Environment::reuse::traits.sees_empty_chunks && !Environment::locking::traits.keeps_blocks &&
      !Environment::locking::traits.own_free_list;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_CHECKED_CALLS_H_
