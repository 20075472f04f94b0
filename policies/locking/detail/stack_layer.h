// The layer of lock_free: a stack of block numbers in front of the core, which only carves.
#ifndef TARN_POLICIES_LOCKING_DETAIL_STACK_LAYER_H_
#define TARN_POLICIES_LOCKING_DETAIL_STACK_LAYER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/detail/block_numbers.h"
#include "tarn/policies/locking/detail/tagged_stack.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Guards  hot(), growth() and end(), as for direct_layer: for carving and for growth
template <class Core, class Guards, template <class> class Atomic>
class stack_layer {
  using environment = typename Core::environment;
  using chunk = typename environment::chunk;
  using geometry = typename environment::geometry;
  using numbers = std::conditional_t<environment::one_chunk, one_chunk_numbers<chunk, geometry, Atomic>,
                                     block_numbers<chunk, geometry, Atomic>>;
  using stack = tagged_stack<Atomic>;
  using number = typename stack::number;
  using link = typename stack::link;

 public:
  template <class... Args>
  constexpr explicit stack_layer(Args&&... args) noexcept : core_(std::forward<Args>(args)...) {}

  static no_guard guard() noexcept { return {}; }
  auto core_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  auto grow_guard() const noexcept(noexcept(guards_.growth())) { return guards_.growth(); }

  void* pop() noexcept {
    const number n = stack_.pop([this](number of) -> link& { return link_of(of); });
    return n == stack::none ? nullptr : block_of(n);
  }
  outcome push(void* block) noexcept {
    const number n = number_of(block);
    stack_.push(n, link_of(n));
    return outcome::done;
  }

  /// From the core: blocks that were never used. All but the one returned go onto the stack.
  TARN_NOINLINE void* pop_slow() noexcept {
    if (void* const block = pop()) return block;
    std::array<void*, 32> run;
    [[maybe_unused]] const auto lock = core_guard();  // to the end: who finds the core empty finds the rest on the stack
    const std::size_t got = core_.pop_batch(run.data(), run.size());
    if (got == 0) return pop();
    for (std::size_t i = 0; i != got; ++i) ::new (static_cast<void*>(&link_of(number_of(run[i])))) link(stack::none);
    push_batch(run.data() + 1, got - 1);
    return run[0];
  }
  outcome push_slow(void* block) noexcept { return push(block); }
  static outcome make_room() noexcept { return outcome::done; }

  std::size_t pop_batch(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && (out[got] = pop_slow()) != nullptr) ++got;
    return got;
  }
  /// Linked first, put on the stack at once; the first of the batch is handed out first.
  outcome push_batch(void* const* in, std::size_t n) noexcept {
    if (n == 0) return outcome::done;
    const number first = number_of(in[0]);
    number last = first;
    for (std::size_t i = 1; i != n; ++i) {
      const number next = number_of(in[i]);
      link_of(last).store(next, memory_order_relaxed);
      last = next;
    }
    stack_.push_chain(first, link_of(last));
    return outcome::done;
  }

  void drain() noexcept {}
  void drain_all() noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    while (void* block = pop()) core_.push_batch(&block, 1);
  }
  void drop_all() noexcept {
    stack_.clear();
    numbers_.forget();
  }
  void end() noexcept { guards_.end(); }

  std::size_t shortage(const chunk* fresh) noexcept { return numbers_.shortage(fresh, core_.geometry()); }
  void supply(memory more) noexcept { numbers_.supply(more, core_.geometry()); }
  static constexpr bool starves() noexcept { return false; }
  static constexpr void expect(std::size_t) noexcept {}
  void adopt(chunk& fresh) noexcept {
    numbers_.add(fresh, core_.geometry());
    core_.adopt(fresh);
  }

  constexpr Core& core() noexcept { return core_; }
  constexpr const Core& core() const noexcept { return core_; }

 private:
  number number_of(const void* block) const noexcept {
    const chunk& c = numbers_.chunk_at(block, core_.geometry());
    const std::size_t slot = core_.geometry().slot_at(address_of(block) - address_of(c.first) - core_.geometry().offset());
    return c.base + static_cast<number>(slot) + 1;
  }
  void* block_of(number n) const noexcept {
    const chunk& c = numbers_.chunk_of(n);
    return c.first + core_.geometry().distance(n - 1 - c.base) + core_.geometry().offset();
  }
  link& link_of(number n) const noexcept {
    const chunk& c = numbers_.chunk_of(n);
    return c.links[n - 1 - c.base];
  }

  stack stack_;
  numbers numbers_;
  Core core_;
  TARN_NO_UNIQUE_ADDRESS Guards guards_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_STACK_LAYER_H_
