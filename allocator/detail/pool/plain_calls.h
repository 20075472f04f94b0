// One block out, one block in, where no call is refused.
//
//   take        [guard: pop, hooks]
//   put         [guard: hooks, push]
#ifndef TARN_ALLOCATOR_DETAIL_POOL_PLAIN_CALLS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_PLAIN_CALLS_H_

#include <cstddef>
#include <span>

#include "tarn/allocator/detail/pool/block_calls.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

template <class Environment>
class plain_calls : public block_calls<Environment> {
  using calls = block_calls<Environment>;
  friend struct inspector;

 protected:
  using calls::calls;
  using calls::checking_;
  using calls::layer_;
  using calls::roomy;
  using calls::statistics_;

  struct incident {};
  static constexpr void tell(incident) noexcept {}
  static constexpr void tell_of_store() noexcept {}

 public:
  std::size_t trim() noexcept
    requires(Environment::may_return_chunks)
  {
    const std::size_t bytes = calls::trim();
    tell_of_leaving();
    return bytes;
  }

 protected:
  /// After blocks may have left a front, with nothing held.
  void tell_of_leaving() noexcept {
    if constexpr (Environment::checks_leaving) {
      detail::incident one;
      {
        [[maybe_unused]] const auto guard = layer_.core_guard();
        if (!layer_.core().take_left_wrong(one)) return;
      }
      one.what().pool = this;
      one.what().block_size = calls::geometry().block_size();
      checking_.report(one.what());
    }
  }
  TARN_STEP static constexpr bool admits_caller() noexcept { return true; }
  static constexpr bool admits(void*) noexcept { return true; }

  TARN_STEP void* take() noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    return noted(layer_.pop());
  }
  void* take_slow() noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    return noted(layer_.pop_slow());
  }
  void* take_slow(incident) noexcept { return take_slow(); }
  TARN_STEP outcome put(void* block) noexcept {
    memory_tools::take_back(block);
    [[maybe_unused]] const auto guard = layer_.guard();
    statistics_.on_deallocate(1);
    calls::close(block);
    const outcome answer = layer_.push(block);
    return calls::unguarded ? answer : roomy(answer);
  }
  outcome put_slow(void* block) noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    return roomy(layer_.push_slow(block));
  }
  std::size_t take_batch(std::span<void*> out) noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    const std::size_t got = layer_.pop_batch(out.data(), out.size());
    for ([[maybe_unused]] void* const block : out.first(got)) calls::open(block);
    statistics_.on_allocate(got);
    return got;
  }
  outcome put_batch(std::span<void* const> blocks) noexcept {
    for (void* const block : blocks) {
      memory_tools::take_back(block);
      calls::close(block);
    }
    [[maybe_unused]] const auto guard = layer_.guard();
    statistics_.on_deallocate(blocks.size());
    return layer_.push_batch(blocks.data(), blocks.size());
  }

 private:
  TARN_STEP void* noted(void* block) noexcept {
    if (block != nullptr) [[likely]] {
      calls::open(block);
      statistics_.on_allocate(1);
    }
    return block;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_PLAIN_CALLS_H_
