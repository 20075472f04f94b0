// A lock-free stack of numbers (Treiber, 1986). The head holds a number and a tag that every pop changes, so that a number
// which left and came back in between isn't taken for one that stayed (the ABA problem).
//
//   head   | tag: 32 bits | number: 32 bits |      number 0: empty
//
// At 50 million pops a second, a tag of 16 bits wraps in 1.3 ms, less than a time slice; one of 32 bits in 86 s. A thread that
// is stopped for longer, within a pop, goes wrong only if it goes on after an exact multiple of 2^32 pops, with the same number
// on top: a chance of less than 2^-32 each time. The links are atomics outside the blocks: a pop may read the link of a block
// that another thread took meanwhile and writes to.
#ifndef TARN_POLICIES_LOCKING_DETAIL_TAGGED_STACK_H_
#define TARN_POLICIES_LOCKING_DETAIL_TAGGED_STACK_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"

namespace tarn::detail {

/// \tparam Atomic  std::atomic; a test passes another
template <template <class> class Atomic>
class tagged_stack {
 public:
  using number = std::uint32_t;
  using link = Atomic<number>;
  static constexpr number none = 0;

  constexpr tagged_stack() noexcept = default;
  tagged_stack(const tagged_stack&) = delete;
  tagged_stack& operator=(const tagged_stack&) = delete;

  /// Takes the number on top, or none. `link_of(number)` returns the link of any number that was ever pushed.
  template <class Links>
  number pop(const Links& link_of) noexcept {
    head seen = head_.load(memory_order_acquire);
    while (number_of(seen) != none) {
      const number next = link_of(number_of(seen)).load(memory_order_relaxed);
      if (head_.compare_exchange_weak(seen, pack(next, tag_of(seen) + 1), memory_order_acquire, memory_order_acquire))
        break;
    }
    return number_of(seen);
  }

  void push(number n, link& its) noexcept { push_chain(n, its); }
  /// Pushes a chain: `first` is its first number, `last` the link of its last; the others are already linked.
  void push_chain(number first, link& last) noexcept {
    head seen = head_.load(memory_order_relaxed);
    do {
      last.store(number_of(seen), memory_order_relaxed);
    } while (!head_.compare_exchange_weak(seen, pack(first, tag_of(seen)), memory_order_release, memory_order_relaxed));
  }
  /// Precondition: no other thread uses the stack.
  void clear() noexcept { head_.store(0, memory_order_relaxed); }

 private:
  using head = std::uint64_t;
  using tag = std::uint32_t;
  static_assert(sizeof(tag) >= 4, "a tag of fewer bits comes round while a thread is preempted");
  static_assert(sizeof(head) == sizeof(tag) + sizeof(number));

  static constexpr number number_of(head h) noexcept { return static_cast<number>(h); }
  static constexpr tag tag_of(head h) noexcept { return static_cast<tag>(h >> 32); }
  static constexpr head pack(number n, tag t) noexcept { return head{t} << 32 | n; }

  Atomic<head> head_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_TAGGED_STACK_H_
