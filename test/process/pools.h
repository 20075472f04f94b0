// The static pools that every part of the process's life uses, and what is known of their blocks. Constant-initialised itself:
// nothing here is made or ends.
#ifndef TARN_TEST_PROCESS_POOLS_H_
#define TARN_TEST_PROCESS_POOLS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "tarn/allocator/static_pool.h"
#include "tarn/policies/locking.h"

namespace tarn::test {

inline constexpr std::size_t block_bytes = 64;

struct group;
struct lone_group;

template <std::size_t I, class Locking>
struct numbered {
  static auto& instance() noexcept { return static_pool<numbered, static_size<block_bytes>, Locking>::instance(); }
};

#if defined(CONTROL_ENDS)
/// What must be found out: a pool that is made when it is first used, and ends.
struct control {
  static auto& instance() noexcept {
    static pool<static_size<block_bytes>, mutex_locking<>> made_here;
    return made_here;
  }
};
template <class Do>
void for_each_pool(bool, Do action) {
  action(std::size_t{0}, control::instance());
}
inline constexpr std::size_t pools = 1;
#elif defined(CONTROL_LATE)
/// What must be found out: a pool that is made when the static objects of its file are.
struct control {
  pool<static_size<block_bytes>, mutex_locking<>> made_late;
  control() noexcept { detail::keep_argument(this); }
  static control one;
};
template <class Do>
void for_each_pool(bool, Do action) {
  action(std::size_t{0}, control::one.made_late);
}
inline constexpr std::size_t pools = 1;
#else
/// Calls the action with each pool that the calling thread may use, and its number.
template <class Do>
void for_each_pool(bool alone, Do action) {
  action(std::size_t{0}, numbered<0, mutex_locking<>>::instance());
  action(std::size_t{1}, numbered<1, mutex_locking<spin_mutex>>::instance());
  action(std::size_t{2}, numbered<2, mutex_locking<thread_aware_mutex>>::instance());
  action(std::size_t{3}, numbered<3, thread_cached<>>::instance());
  action(std::size_t{4}, numbered<4, lock_free>::instance());
  action(std::size_t{5}, numbered<5, grouped_locking<group, std::mutex>>::instance());
  if (!alone) return;
  action(std::size_t{6}, numbered<6, grouped_locking<lone_group>>::instance());
  action(std::size_t{7}, numbered<7, no_locking>::instance());
}
inline constexpr std::size_t pools = 8;
#endif

// ---- what is counted ------------------------------------------------------------------------------------------------------

enum class when : std::size_t {
  before_main, after_main, at_exit, thread_ends, detached_ends, detached_runs, containers_end, library_begins, library_ends,
  library_runs, faults, count
};
inline constexpr std::array<const char*, static_cast<std::size_t>(when::count)> names{
    "before main", "after main", "at exit", "thread ends", "detached ends", "detached runs", "containers end",
    "library begins", "library ends", "library runs", "faults"};
inline constinit std::array<std::atomic<std::size_t>, static_cast<std::size_t>(when::count)> counts{};

#if defined(LIBRARY)  // which has all that stands here for itself, and is gone before the counts are read
extern "C" void note_in_program(std::size_t);
inline void note(when w) noexcept { note_in_program(static_cast<std::size_t>(w)); }
#else
inline void note(when w) noexcept { counts[static_cast<std::size_t>(w)].fetch_add(1, std::memory_order_relaxed); }
#endif
inline std::size_t noted(when w) noexcept { return counts[static_cast<std::size_t>(w)].load(std::memory_order_relaxed); }

/// The units in the order in which their objects were made: "012".
inline constinit std::array<char, 8> order{};
inline constinit std::atomic<std::size_t> made = 0;

// ---- blocks ---------------------------------------------------------------------------------------------------------------

/// Blocks of each pool with a stamp in every word. It has no destructor: whoever holds it says when they go.
class stamped {
 public:
  static constexpr std::size_t each = 20;  // more than the smallest magazine

  void take(bool alone) noexcept {
    for_each_pool(alone, [this](std::size_t i, auto& pool) {
      for (void*& block : blocks_[i]) {
        block = pool.try_allocate();
        if (block == nullptr) note(when::faults);
        else for (std::size_t w = 0; w != words; ++w) static_cast<std::uintptr_t*>(block)[w] = word(block, w);
      }
    });
  }
  /// All that were taken, by any thread. Whether they are what they were is counted.
  void give(bool alone) noexcept {
    for_each_pool(alone, [this](std::size_t i, auto& pool) {
      for (void*& block : blocks_[i]) {
        if (block == nullptr) continue;
        bool right = pool.owns(block);
        for (std::size_t w = 0; w != words; ++w) right = right && static_cast<std::uintptr_t*>(block)[w] == word(block, w);
        if (!right) note(when::faults);
        pool.deallocate(block);
        block = nullptr;
      }
    });
  }
  /// Where one thread uses all pools.
  void pass_through(bool alone) noexcept {
    give(alone);
    take(alone);
    give(alone);
  }

 private:
  static constexpr std::size_t words = block_bytes / sizeof(std::uintptr_t);
  std::uintptr_t word(void* block, std::size_t w) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(block) + w) ^ reinterpret_cast<std::uintptr_t>(this);
  }

  std::array<std::array<void*, each>, pools> blocks_{};
};

template <when W>
struct at_thread_end {
  stamped held;
  at_thread_end() noexcept { held.take(false); }
  ~at_thread_end() {
    held.pass_through(false);
    note(W);
  }
};

}  // namespace tarn::test

#endif  // TARN_TEST_PROCESS_POOLS_H_
