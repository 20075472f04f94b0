// The calls of lock_free: a stack of block numbers in front of the pool's list, which only carves.
#ifndef TARN_POLICIES_LOCKING_DETAIL_STACK_CALLS_H_
#define TARN_POLICIES_LOCKING_DETAIL_STACK_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/detail/block_numbers.h"
#include "tarn/policies/locking/detail/tagged_stack.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Guards  hot(), growth() and end(), as for direct_calls: for carving and for growth
/// \tparam Head    the word of the stack: std::uint64_t, or std::uint32_t
template <class Traits, class Guards, template <class> class Atomic, class Head = std::uint64_t>
class stack_calls {
  using chunk = typename Traits::chunk;
  using geometry = typename Traits::geometry;
  using apart = std::conditional_t<Traits::has_bounded_store,
                                   chunks_apart<chunk, Atomic, Traits::store_is_bounded, Traits::second_store_is_bounded>,
                                   no_chunks_apart<chunk>>;
  using numbers = std::conditional_t<Traits::one_chunk, one_chunk_numbers<chunk, geometry, Atomic>,
                                     block_numbers<chunk, geometry, Atomic, apart>>;
  using stack = tagged_stack<Atomic, Head>;
  using number = typename stack::number;
  using link = typename stack::link;

 public:
  static no_guard hit_guard() noexcept { return {}; }
  auto core_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  auto growth_guard() const noexcept(noexcept(guards_.growth())) { return guards_.growth(); }
  static constexpr growth_again again = again_of<Guards>;
  bool grows_here() const noexcept
    requires(again == growth_again::told)
  {
    return guards_.grows_here();
  }

  template <class Pool>
  void* pop(Pool& pool) noexcept {
    const chunk* c = nullptr;  // of the number popped, so that it is looked up once
    const number n = stack_.pop([&](number of) -> link& {
      c = detail::pointer_to(numbers_.chunk_of(of));
      return c->links[of - 1 - c->base];
    });
    if (n == stack::none) return nullptr;
    const auto& g = pool.chunks.geometry();
    return c->first + g.distance(n - 1 - c->base) + g.offset();
  }
  template <class Pool>
  status push(Pool& pool, void* block) noexcept {
    const auto& g = pool.chunks.geometry();
    const chunk& c = numbers_.chunk_at(block, g);
    const number slot = slot_in(c, g, block);
    stack_.push(static_cast<number>(c.base + slot + 1), c.links[slot]);
    return status::done;
  }

  /// Takes never used blocks from the list. All but the one returned go onto the stack.
  template <class Pool>
  TARN_NOINLINE void* pop_slow(Pool& pool) noexcept {
    if (void* const block = pop(pool)) return block;
    if (has_nothing_more()) return pop(pool);  // what was carved last is on the stack
    constexpr std::size_t most = 32;
    void* run[most];
    [[maybe_unused]] const auto lock = core_guard();  // to the end: who finds the list empty finds the rest on the stack
    const std::size_t got = pool.list.pop_batch(pool.chunks, run, most);
    if (got == 0) {
      if (is_at_cap(pool)) nothing_more_.store(true, memory_order_release);
      return pop(pool);
    }
    for (std::size_t i = 0; i != got; ++i)
      ::new (static_cast<void*>(detail::pointer_to(link_of(number_of(pool.chunks.geometry(), run[i]))))) link(stack::none);
    push_batch(pool, run + 1, got - 1);
    return run[0];
  }
  template <class Pool>
  status push_slow(Pool& pool, void* block) noexcept {
    return push(pool, block);
  }
  template <class Pool>
  static status make_room(Pool&) noexcept {
    return status::done;
  }

  template <class Pool>
  std::size_t pop_batch(Pool& pool, void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && (out[got] = pop_slow(pool)) != nullptr) ++got;
    return got;
  }
  /// Links the blocks, then pushes them all at once; the first of the batch is handed out first.
  template <class Pool>
  status push_batch(Pool& pool, void* const* in, std::size_t n) noexcept {
    if (n == 0) return status::done;
    const number first = number_of(pool.chunks.geometry(), in[0]);
    number last = first;
    for (std::size_t i = 1; i != n; ++i) {
      const number next = number_of(pool.chunks.geometry(), in[i]);
      link_of(last).store(next, memory_order_relaxed);
      last = next;
    }
    stack_.push_chain(first, link_of(last));
    return status::done;
  }

  /// Whether every block that there can ever be was handed out at least once: then a refusal waits for no thread.
  bool has_nothing_more() const noexcept { return nothing_more_.load(memory_order_acquire); }

  template <class Pool>
  static void drain(Pool&) noexcept {}
  template <class Pool>
  void drain_all(Pool& pool) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    nothing_more_.store(false, memory_order_relaxed);
    while (void* block = pop(pool)) pool.list.push_batch(pool.chunks, &block, 1);
  }
  void drop_all() noexcept {
    stack_.forget_all();
    numbers_.forget();
    nothing_more_.store(false, memory_order_relaxed);
  }
  void end() noexcept { guards_.end(); }
  /// Blocks on the stack.
  template <class Pool>
  std::size_t waiting(const Pool& pool) const noexcept {
    return stack_.count(pool.chunks.carved(), [this](number n) -> link& { return link_of(n); });
  }

  template <class Pool>
  std::size_t shortage(Pool& pool, const chunk* fresh) noexcept {
    return numbers_.shortage(fresh, pool.chunks.geometry());
  }
  template <class Pool>
  void supply(Pool& pool, memory more) noexcept {
    numbers_.supply(more, pool.chunks.geometry());
  }
  static constexpr bool starves() noexcept { return false; }
  static constexpr void expect(std::size_t) noexcept {}
  template <class Pool>
  void adopt(Pool& pool, chunk& fresh) noexcept {
    numbers_.add(fresh, pool.chunks.geometry());
    pool.chunks.adopt(fresh, pool.list);
  }

 private:
  /// Called under the core guard. A pool without a growth policy, as a test has, can't say.
  template <class Pool>
  static bool is_at_cap(const Pool& pool) noexcept {
    if constexpr (requires { Traits::may_grow_past_cap; })
      return !Traits::may_grow_past_cap && pool.chunks.next(0, 0).wanted == 0;
    else return false;
  }
  static number slot_in(const chunk& c, const geometry& g, const void* block) noexcept {
    return static_cast<number>(g.slot_at(address_of(block) - address_of(c.first) - g.offset()));
  }
  number number_of(const geometry& g, const void* block) const noexcept {
    const chunk& c = numbers_.chunk_at(block, g);
    return static_cast<number>(c.base + slot_in(c, g, block) + 1);
  }
  link& link_of(number n) const noexcept {
    const chunk& c = numbers_.chunk_of(n);
    return c.links[n - 1 - c.base];
  }

  stack stack_;
  numbers numbers_;
  Atomic<bool> nothing_more_ = false;
  TARN_NO_UNIQUE_ADDRESS Guards guards_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_STACK_CALLS_H_
