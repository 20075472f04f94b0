// decides    a thread that finds no block and gets no further chunk sleeps until another thread frees a block, or the time is
//            up. First come, first served
// costs      a load and a branch for each block freed. While threads wait, each free wakes one, which costs some microseconds
// conflicts  locking policies under which no other thread can free a block meanwhile (no_locking), or under which it stays with
//            the thread that freed it (thread_cached); lock_free
// use when   the number of blocks is the intended limit: buffers of a device, jobs in flight
#ifndef TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_
#define TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/waiting_line.h"
#include "tarn/policies/exhaustion/detail/no_second_store.h"
#include "tarn/policies/exhaustion/traits.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

/// \tparam Milliseconds  time until an allocation fails as with report_exhaustion, counted from when it first found nothing.
///                       A call named try_… doesn't wait, and one named …_within waits for its own time
template <std::size_t Milliseconds = 1000>
struct wait_for_block {
  using axis = tarn::axis::exhaustion;
  static constexpr bool arguments_hold =  // judged where it is named: sizeof depends on the parameter
      sizeof(wait_for_block*) != 0 && platform::system::has_threads && platform::system::has_clock;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [Y6] wait_for_block was named, but this target has no threads, of which another could free a block, "
                  "or no clock; write report_exhaustion or retry_with<Handler>, or bring a platform header "
                  "(docs/platforms.md)");
  };
  static constexpr exhaustion_traits traits{.waits = true};

  template <class Traits>
  class state : public detail::no_second_store {
   public:
    constexpr explicit state(const wait_for_block&) noexcept {}

    static constexpr bool retry(std::size_t) noexcept { return false; }
    /// Those who wait, under the pool's guard.
    TARN_STEP detail::waiting_line& line() noexcept { return line_; }
    /// How long a call waits that isn't told.
    static constexpr std::uint64_t nanoseconds() noexcept {
      constexpr std::uint64_t in_one = 1'000'000;  // in a millisecond
      return Milliseconds < UINT64_MAX / in_one ? Milliseconds * in_one : UINT64_MAX;
    }

   private:
    detail::waiting_line line_;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_
