// Waiting: for a word to change, for a moment, for the clock.
#ifndef TARN_POLICIES_PLATFORM_WAITING_H_
#define TARN_POLICIES_PLATFORM_WAITING_H_

#include <climits>
#include <cstdint>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// Lets other threads run.
inline void yield_thread() noexcept { platform::system::yield(); }
inline void sleep_microseconds(unsigned n) noexcept { platform::system::sleep(std::uint64_t{n} * 1000); }

/// Nanoseconds of a clock that is never set.
inline std::uint64_t steady_nanoseconds() noexcept { return platform::system::nanoseconds(); }

/// Returns when the word is no longer `value`, after wake_one(), or for no reason: the caller must check again. Not for words
/// in memory that processes share. \param nanoseconds  after which it returns at the latest; 0: without a limit
TARN_COLD inline void wait_while(const unsigned* word, unsigned value, std::uint64_t nanoseconds = 0) noexcept {
  platform::system::wait_while(word, value, nanoseconds);
}
TARN_COLD inline void wake(const unsigned* word, int threads) noexcept { platform::system::wake(word, threads); }
/// Wakes one thread that waits for the word, if there is one.
inline void wake_one(const unsigned* word) noexcept { wake(word, 1); }
inline void wake_all(const unsigned* word) noexcept { wake(word, INT_MAX); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_WAITING_H_
