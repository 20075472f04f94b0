// Puts blocks that were never handed out into an order that can't be predicted from their addresses.
#ifndef TARN_POLICIES_DETAIL_SHUFFLER_H_
#define TARN_POLICIES_DETAIL_SHUFFLER_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

class shuffler {
 public:
  /// The Fisher-Yates shuffle (Knuth, vol. 2, 3.4.2), with xorshift64* (Vigna, 2016). The order is hard to guess, not
  /// impossible.
  void operator()(void** blocks, std::size_t n) noexcept {
    for (std::size_t i = n; i > 1; --i) swap_both(blocks[i - 1], blocks[next() % i]);
  }

 private:
  std::size_t next() noexcept {
    if (state_ == 0) state_ = code_of(this, coded::order);
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::size_t>(state_ * 0x2545F4914F6CDD1Du >> 32);
  }

  std::uint64_t state_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_SHUFFLER_H_
