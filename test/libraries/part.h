// A part of a process: the program, or a library. All parts are the same code, compiled once for each visibility.
#ifndef TARN_TEST_LIBRARIES_PART_H_
#define TARN_TEST_LIBRARIES_PART_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace tarn::test {

/// The kinds of pools that are passed from part to part: those that nothing locks, and those that threads share.
enum kind : std::size_t { hardened_alone, checked_alone, locked, cached, stacked, checked_locked, asked, over_resource, kinds };
inline constexpr std::size_t first_shared = locked;

struct part {
  std::uint64_t (*thread_number)();
  std::uintptr_t (*secret)();
  std::array<const void*, 5> (*things)();  // of which the process has one
  std::uint64_t (*chunk_number)();         // another each time
  void* (*make)(std::size_t kind, std::pmr::memory_resource* store);
  void (*end)(std::size_t kind, void* pool);
  void* (*allocate)(std::size_t kind, void* pool);
  void (*deallocate)(std::size_t kind, void* pool, void* block);
  void (*hand_over)(void* pool);                     // of checked_alone
  void (*under_group_guard)(void (*action)(void*), void* argument);
  std::pmr::memory_resource* (*resource)();          // of this part
  std::size_t (*reclaim_all)();
  std::size_t (*report_in_use)();
  void (*count_reports)(std::size_t* counter);       // from now on
};

}  // namespace tarn::test

#endif  // TARN_TEST_LIBRARIES_PART_H_
