// The gate that keeps forks and calls of stores apart. A thread is inside it while it may call a store: while it holds a growth
// guard, a group_guard, or asks pools to trim. A fork closes the gate and waits until nobody is inside, so that in the child no
// store and no growth guard is half way.
//
// A store may wait for a lock of the program, whose holder waits at the closed gate. So the fork waits for a moment only; then
// it continues past the threads that are at a store, and each of those waits, when it comes back, until the fork is over.
//
//   inside   threads inside, counted once each             at_store   those of them that are at a store, or wait for a
//   closed   newcomers wait                                           growth guard, whose holder may be at a store
//   passing  the fork goes on past the threads at a store
#ifndef TARN_POLICIES_DETAIL_FORK_GATE_H_
#define TARN_POLICIES_DETAIL_FORK_GATE_H_

#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// Where a thread is.
struct fork_position {
  unsigned depth = 0;  // how often it entered the gate
  bool at_store = false;
};

/// The functions return at once, unless a fork is in progress.
class fork_gate {
 public:
  /// Waits while the gate is closed.
  void enter(fork_position& me) noexcept {
    for (unsigned seen = word_.load(memory_order_relaxed); !try_enter(seen); seen = word_.load(memory_order_relaxed))
      if (is_shut(seen)) wait_while(word_.address(), seen);
    me.depth = 1;
  }
  /// Doesn't wait. Returns whether it entered.
  bool try_enter(fork_position& me) noexcept {
    unsigned seen = word_.load(memory_order_relaxed);
    while (!is_shut(seen))
      if (try_enter(seen)) return me.depth = 1, true;
    return false;
  }
  void leave(fork_position& me) noexcept {
    me.depth = 0;
    tell(word_.fetch_sub(one_inside, memory_order_release));
  }

  /// Called inside, before a store is. Nothing of a pool may change until come_back().
  void go_to_store(fork_position& me) noexcept {
    me.at_store = true;
    tell(word_.fetch_add(one_at_store, memory_order_release));
  }
  void come_back(fork_position& me) noexcept {
    for (unsigned seen = word_.load(memory_order_relaxed);;) {
      if ((seen & passing) != 0) {
        wait_while(word_.address(), seen);
        seen = word_.load(memory_order_relaxed);
      } else if (word_.compare_exchange_weak(seen, seen - one_at_store, memory_order_acquire, memory_order_relaxed)) {
        break;
      }
    }
    me.at_store = false;
  }

  // ---- the fork ----------------------------------------------------------------------------------------------------------

  /// Returns when nobody is inside but the caller, or only threads at stores. \param patience  nanoseconds to wait for stores
  void close(const fork_position& me, std::uint64_t patience) noexcept {
    const unsigned own = me.depth != 0 ? 1 : 0;
    const unsigned own_at_store = me.at_store ? 1 : 0;
    word_.fetch_or(closed, memory_order_acquire);
    const std::uint64_t start = steady_nanoseconds();
    for (std::uint64_t waited = 0; waited < patience; waited = steady_nanoseconds() - start) {
      const unsigned seen = word_.load(memory_order_acquire);
      if (inside(seen) == own) return;
      wait_while(word_.address(), seen, patience - waited);
    }
    word_.fetch_or(passing, memory_order_acquire);
    for (;;) {
      const unsigned seen = word_.load(memory_order_acquire);
      if (inside(seen) - own == at_store(seen) - own_at_store) return;
      wait_while(word_.address(), seen);
    }
  }
  void open() noexcept {
    word_.fetch_and(~(closed | passing), memory_order_release);
    wake_all(word_.address());
  }
  /// In the child, where only the caller is left.
  void open_in_child(const fork_position& me) noexcept {
    word_.store((me.depth != 0 ? one_inside : 0) | (me.at_store ? one_at_store : 0), memory_order_release);
  }

 private:
  static constexpr unsigned closed = 1u << 31;
  static constexpr unsigned passing = 1u << 30;
  static constexpr unsigned one_at_store = 1u << 15;
  static constexpr unsigned one_inside = 1;
  static constexpr unsigned most = one_at_store - 1;  // more threads than that wait for each other

  static constexpr unsigned inside(unsigned word) noexcept { return word & most; }
  static constexpr unsigned at_store(unsigned word) noexcept { return word / one_at_store & most; }
  static constexpr bool is_shut(unsigned word) noexcept { return (word & closed) != 0 || inside(word) == most; }

  bool try_enter(unsigned& seen) noexcept {
    return !is_shut(seen) &&
           word_.compare_exchange_weak(seen, seen + one_inside, memory_order_acquire, memory_order_relaxed);
  }
  /// A fork, or a newcomer, may wait for the change.
  void tell(unsigned before) noexcept {
    if (is_shut(before)) [[unlikely]]
      wake_all(word_.address());
  }

  atomic_word<unsigned> word_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_FORK_GATE_H_
