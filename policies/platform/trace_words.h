// What trace_ring writes with: words that one thread writes while others read, and the processor's clock.
#ifndef TARN_POLICIES_PLATFORM_TRACE_WORDS_H_
#define TARN_POLICIES_PLATFORM_TRACE_WORDS_H_

#include <chrono>
#include <cstdint>

#include "tarn/policies/platform/config.h"

#if !defined(__GNUC__)
#include <atomic>
#endif

namespace tarn::detail {

/// A word that one thread changes and any reads. No constructor, so that millions of them are zero from the start, and none is
/// in the program's file. A thread that reads a value sees what its writer did before.
struct trace_word {
#if defined(__GNUC__)
  TARN_STEP std::uint64_t own() const noexcept { return __atomic_load_n(&value, __ATOMIC_RELAXED); }  // for its writer
  TARN_STEP std::uint64_t load() const noexcept { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
  TARN_STEP void store(std::uint64_t its) noexcept { __atomic_store_n(&value, its, __ATOMIC_RELEASE); }
#else
  std::uint64_t own() const noexcept { return load(); }
  std::uint64_t load() const noexcept {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(value)).load(std::memory_order_acquire);
  }
  void store(std::uint64_t its) noexcept { std::atomic_ref<std::uint64_t>(value).store(its, std::memory_order_release); }
#endif
  alignas(8) std::uint64_t value;
};

/// The clock of the times in a dump.
enum class trace_ticks : std::uint32_t { nanoseconds = 1, rdtsc = 2, cntvct = 3 };

inline std::uint64_t trace_nanoseconds() noexcept {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

#if defined(__GNUC__) && defined(__x86_64__)
inline constexpr trace_ticks trace_clock = trace_ticks::rdtsc;
TARN_STEP std::uint64_t trace_now() noexcept { return __builtin_ia32_rdtsc(); }
#elif defined(__GNUC__) && defined(__aarch64__)
inline constexpr trace_ticks trace_clock = trace_ticks::cntvct;
TARN_STEP std::uint64_t trace_now() noexcept {
  std::uint64_t ticks;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#else
inline constexpr trace_ticks trace_clock = trace_ticks::nanoseconds;
inline std::uint64_t trace_now() noexcept { return trace_nanoseconds(); }
#endif

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_TRACE_WORDS_H_
