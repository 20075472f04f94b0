// decides    a pool whose store refuses asks all pools with this policy to trim, and tries again; the others ask it, too
// costs      nothing until then; 72 bytes in the pool, and a mutex at its first chunk
// conflicts  bounded stores, to which no other pool's memory can go; recycling_pool; a pool without a lock is asked only by
//            the thread that last called its store, so it must not be handed to another thread while that one continues to use
//            other pools
// use when   several pools share scarce memory, and each peaks at a different time
#ifndef TARN_POLICIES_EXHAUSTION_RECLAIM_AND_RETRY_H_
#define TARN_POLICIES_EXHAUSTION_RECLAIM_AND_RETRY_H_

#include <cstddef>

#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/exhaustion.h"

namespace tarn {

/// The pools are asked with nothing held, without waiting for them, one priority after the other, until the store no longer
/// refuses.
/// \tparam Priority  pools with a lower one are asked sooner
template <int Priority = 0>
struct reclaim_and_retry {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits{.keeps_attempt = true, .reclaims = true};

  template <class Traits>
  class state : public detail::no_second_store {
   public:
    constexpr explicit state(const reclaim_and_retry&) noexcept : member_(Priority) {}

    using attempt = detail::reclaim_round;
    bool retry(std::size_t, attempt& round) noexcept {
      while (!round.ended)
        if (detail::pools_of_process().trim_next(round) != 0) {
          round.met_busy = false;
          return true;
        }
      // A pool that was busy may have given something back by now.
      const bool again = round.met_busy;
      round.met_busy = false;
      return again;
    }

    /// Through which other pools ask this one.
    detail::reclaim_member& member() noexcept { return member_; }

   private:
    detail::reclaim_member member_;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_RECLAIM_AND_RETRY_H_
