// decides    every thread keeps its own magazines of free blocks, and meets the others only to exchange a whole magazine
// costs      13 instructions to allocate a block and 15 to free it; 1.7 KiB in the pool object, and memory from the
//            store, about 9 bytes for each free block. Up to two magazines of blocks, at most 64 KiB or 28 blocks, stay in each
//            thread that used the pool
// conflicts  bounded stores, whose blocks could lie in other threads' magazines while a thread finds none
// use when   several threads allocate and free, their own blocks or each other's
#ifndef TARN_POLICIES_LOCKING_THREAD_CACHED_H_
#define TARN_POLICIES_LOCKING_THREAD_CACHED_H_

#include <cstddef>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/shared_cell.h"
#include "tarn/policies/locking/detail/magazine_calls.h"
#include "tarn/policies/locking/detail/thread_tally.h"
#include "tarn/policies/locking/mutex_locking.h"
#include "tarn/policies/locking/traits.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

/// \tparam Threads   slots in the pool object, of 64 bytes: 16, 64 or 256. Threads - 1 threads at once find theirs directly;
///                   further ones, up to 1023, through a table, in four times the time; more take a lock each time
/// \tparam Magazine  blocks in the largest magazine: 14, 30, 62, 126, 254 or 510. A thread begins with 14. No magazine holds
///                   more than 32 KiB of blocks but the smallest, of 14; where 14 are more than 512 KiB, there is none, and
///                   each call takes a lock
template <std::size_t Threads = 16, std::size_t Magazine = 510>
struct thread_cached {
  using axis = tarn::axis::locking;

 private:
  static constexpr std::size_t largest() noexcept {
    std::size_t size = 0;
    while (size != detail::magazine::sizes && detail::magazine::capacity(size) != Magazine) ++size;
    return size;
  }

 public:
  static constexpr bool numbers_hold = detail::tier_of(Threads) != detail::tiers && largest() != detail::magazine::sizes;
  static constexpr bool arguments_hold = numbers_hold && platform::system::has_threads && platform::system::has_thread_locals;
  struct complaint {
    static_assert(numbers_hold,
                  "tarn: [L3] thread_cached was given numbers that it has no slots or magazines for; take 16, 64 or 256 "
                  "threads, and 14, 30, 62, 126, 254 or 510 blocks");
    static_assert(!numbers_hold || arguments_hold,
                  "tarn: [Y2] thread_cached was named, but this target has no threads, or a thread has no variables of its "
                  "own, so that nobody could keep a magazine; write no_locking, interrupt_locking<> or "
                  "mutex_locking<a_mutex_of_yours>, or bring a platform header (docs/platforms.md)");
  };
  static constexpr locking_traits traits{
      .keeps_memory = true, .can_forget = true, .keeps_blocks = true, .can_try = true, .has_tally = true};
  template <class T>
  using cell = detail::shared_cell<T>;
  using tally = detail::thread_tally<detail::process_threads, unsigned{Threads}>;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  template <class Traits>
  using state =
      detail::magazine_calls<detail::mutex_pair<mutex, detail::fork_member_in<Traits>>, detail::process_threads,
                             unsigned{Threads}, largest()>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_THREAD_CACHED_H_
