// One call in N, on average: which allocations are examined more closely.
//
// A countdown, so that a call that isn't due costs a decrement and a branch: 0.2 to 0.3 ns with one in 5000 (Xeon with AMX) if
// the sampler is reached through a register, up to 1.7 ns if it is a static object (see launder_address). Threads share it, so
// that under thread_cached two at once write to one cache line: 9 instead of 2.5 ns a pair (AMD EPYC). A countdown for each
// thread would need a slot for each pool and thread, as magazines have.
#ifndef TARN_POLICIES_CHECKING_DETAIL_SAMPLER_H_
#define TARN_POLICIES_CHECKING_DETAIL_SAMPLER_H_

#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

/// Constant-initialised. Threads may share it: calls at the same time may count as one.
/// How many calls there are to one that is due.
struct given_mean {
  std::uint32_t mean_;
};
template <std::uint32_t Mean>
struct fixed_mean {
  static constexpr std::uint32_t mean_ = Mean;
};

/// \tparam Mean  fixed_mean: a new sampler is then all zero
template <class Mean>
class sampler_of : Mean {
  using Mean::mean_;

 public:
  constexpr sampler_of() noexcept = default;
  /// \param mean  one call in `mean` is due, on average; at most 2^31; 1: every call; 0: none
  /// \param seed  for tests: the same calls are due in each run. 0: they differ from run to run, and from sampler to sampler
  constexpr explicit sampler_of(std::uint32_t mean, std::uint32_t seed = 0) noexcept : Mean{mean}, random_(seed) {
    if (mean != 0 && seed != 0) left_.store(draw(), memory_order_relaxed);
  }

  /// Returns whether this call is due.
  bool due() noexcept {
    const std::uint32_t left = left_.load(memory_order_relaxed);
    if (left <= 1) [[unlikely]] return reload();
    left_.store(left - 1, memory_order_relaxed);
    return false;
  }

 private:
  TARN_COLD bool reload() noexcept {
    if (mean_ == 0) {
      left_.store(UINT32_MAX, memory_order_relaxed);
      return false;
    }
    const bool fresh = random_.load(memory_order_relaxed) == 0;
    if (fresh) random_.store(any_seed(), memory_order_relaxed);
    left_.store(draw(), memory_order_relaxed);
    return !fresh || due();  // the very first call is like any other
  }

  /// Uniform in 1 .. 2 * mean - 1, so that it doesn't fall in step with a program that allocates periodically.
  std::uint32_t draw() noexcept {
    std::uint32_t x = random_.load(memory_order_relaxed);
    x ^= x << 13;  // Marsaglia's xorshift: any start but 0 visits all numbers but 0
    x ^= x >> 17;
    x ^= x << 5;
    random_.store(x, memory_order_relaxed);
    return 1 + static_cast<std::uint32_t>(std::uint64_t{x} * (2 * std::uint64_t{mean_} - 1) >> 32);
  }
  std::uint32_t any_seed() const noexcept {
    return static_cast<std::uint32_t>(scatter(code_of(this, coded::order)) >> 32) | 1;
  }

  atomic_word<std::uint32_t> left_ = 0;    // calls until one is due; 0 as 1
  atomic_word<std::uint32_t> random_ = 0;  // 0: not started
};
using sampler = sampler_of<given_mean>;

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_SAMPLER_H_
