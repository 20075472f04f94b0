// A lock-free stack of numbers (Treiber, 1986). The head holds a number and a tag that every pop changes, so that a number
// which left and came back in between isn't taken for one that stayed (the ABA problem).
//
//   head   | tag: 32 bits | number: 32 bits |      number 0: empty
//   head   | tag: 16 bits | number: 16 bits |      where a processor exchanges no more than 32 bits at once
//
// At 50 million pops a second, a tag of 16 bits wraps in 1.3 ms, less than a time slice; one of 32 bits in 86 s. A thread that
// is stopped for longer, within a pop, goes wrong only if it goes on after an exact multiple of 2^32 pops, with the same number
// on top: a chance of less than 2^-32 each time. The links are atomics outside the blocks: a pop may read the link of a block
// that another thread took meanwhile and writes to.
//
// So 16 bits don't do for threads (rule Y10), but for interrupts of one core: what interrupts a pop ends before the pop goes
// on. An exchange is wrong only if its head is what was read and the link below is not. The number on top is pushed again only
// after a pop took it, and each pop adds 1 to the tag; so meanwhile there were pops, as many as a multiple of 65,536, all
// within one interruption of some instructions.
#ifndef TARN_POLICIES_LOCKING_DETAIL_TAGGED_STACK_H_
#define TARN_POLICIES_LOCKING_DETAIL_TAGGED_STACK_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/platform/atomic_word.h"

namespace tarn::detail {

/// An unsigned number of half as many bits.
template <class Word>
using half_of = std::conditional_t<sizeof(Word) == 8, std::uint32_t, std::uint16_t>;

/// \tparam Atomic  std::atomic; a test passes another
/// \tparam Head    std::uint64_t or std::uint32_t: a number and a tag, each half of it
template <template <class> class Atomic, class Head = std::uint64_t>
class tagged_stack {
 public:
  using number = half_of<Head>;
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
  /// How many numbers are in the stack, at most `limit`: any number up to that, while others change it.
  template <class Links>
  std::size_t count(std::size_t limit, const Links& link_of) const noexcept {
    std::size_t n = 0;
    for (number at = number_of(head_.load(memory_order_acquire)); at != none && n != limit; ++n)
      at = link_of(at).load(memory_order_relaxed);
    return n;
  }
  /// Precondition: no other thread uses the stack.
  void forget_all() noexcept { head_.store(0, memory_order_relaxed); }

 private:
  using head = Head;
  static constexpr unsigned half = sizeof(head) * 4;  // bits

  static constexpr number number_of(head h) noexcept { return static_cast<number>(h); }
  static constexpr std::uint32_t tag_of(head h) noexcept { return static_cast<std::uint32_t>(h >> half); }
  static constexpr head pack(number n, std::uint32_t tag) noexcept { return head{tag} << half | n; }

  Atomic<head> head_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_TAGGED_STACK_H_
