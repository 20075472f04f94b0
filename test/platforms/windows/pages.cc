// Pages of Windows, seen from outside: what is reserved, committed, protected, resident, and what has gone back.
#include <cstdint>
#include <cstring>

#include "tarn/test/platforms/windows/program.h"
#include <psapi.h>

#include "tarn/allocator/pool.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/retention.h"
#include "tarn/policies/store/page_store.h"

namespace tarn::test {
namespace {

using system = platform::system;
constexpr std::size_t page = 4096;

MEMORY_BASIC_INFORMATION about(const void* address) {
  MEMORY_BASIC_INFORMATION it{};
  VirtualQuery(address, &it, sizeof it);
  return it;
}
/// Pages of a region that lie in memory.
std::size_t resident(const void* start, std::size_t bytes) {
  std::size_t n = 0;
  for (std::size_t at = 0; at < bytes; at += page) {
    PSAPI_WORKING_SET_EX_INFORMATION it{};
    it.VirtualAddress = const_cast<char*>(static_cast<const char*>(start)) + at;
    K32QueryWorkingSetEx(GetCurrentProcess(), &it, sizeof it);
    n += it.VirtualAttributes.Valid;
  }
  return n;
}

void addresses_are_aligned_and_go_back() {
  for (const std::size_t alignment : {std::size_t{1}, page, std::size_t{65536}, std::size_t{1} << 21})
    for (const std::size_t offset : {std::size_t{0}, page, 2 * page})
      for (const bool open : {false, true}) {
        auto* const start = static_cast<char*>(system::map_pages(5 * page, alignment, offset, open));
        CHECK(start != nullptr);
        CHECK((reinterpret_cast<std::uintptr_t>(start) + offset) % alignment == 0);
        CHECK(about(start).State == static_cast<DWORD>(open ? MEM_COMMIT : MEM_RESERVE));
        CHECK(about(start + 4 * page).State == static_cast<DWORD>(open ? MEM_COMMIT : MEM_RESERVE));
        CHECK(!open || about(start).RegionSize == 5 * page);
        if (open) std::memset(start, 1, 5 * page);
        void* const whole = about(start).AllocationBase;
        system::unmap_pages(start, 5 * page);
        CHECK(about(start).State == MEM_FREE);
        CHECK(about(whole).State == MEM_FREE);
      }
  CHECK(system::map_pages(~std::size_t{0} - 100 * page, std::size_t{1} << 21, 0, true) == nullptr);
}

void closed_pages_give_their_memory_back_and_open_again() {
  auto* const start = static_cast<char*>(system::map_pages(4 * page, 1, 0, false));
  CHECK(system::open_pages(start + page, 2 * page));
  std::memset(start + page, 7, 2 * page);
  CHECK(about(start).State == MEM_RESERVE);
  CHECK(about(start + page).Protect == PAGE_READWRITE);
  system::close_pages(start + page, 2 * page);
  CHECK(about(start + page).State == MEM_RESERVE);
  char byte = 1;  // Wine reads closed pages, too, and what was given back
  CHECK(system::open_pages(start + page, page));
  CHECK(system::read_anywhere(start + page, &byte, 1) && byte == 0);
  system::unmap_pages(start, 4 * page);
  CHECK(!system::read_anywhere(reinterpret_cast<void*>(16), &byte, 1));
}

void discarded_pages_leave_memory(page_advice how, bool at_once) {
  constexpr std::size_t pages = 64;
  auto* const start = static_cast<std::byte*>(system::map_pages(pages * page, 1, 0, true));
  CHECK(detail::page_memory::fill(start, pages * page));
  CHECK(resident(start, pages * page) == pages);
  const detail::page_run runs[2] = {{start, 16 * page}, {start + 32 * page, 16 * page}};
  SetLastError(77);
  CHECK(detail::page_memory::discard(runs, 2, how) == 2);
  CHECK(GetLastError() == 77);
  CHECK(about(start).State == MEM_COMMIT);
  if (at_once) CHECK(resident(start, pages * page) == pages - 32);
  std::memset(start, 3, pages * page);
  CHECK(start[40 * page] == std::byte{3});
  system::unmap_pages(start, pages * page);
}

void pages_that_are_locked() {
  pool<static_size<64>, page_store<locked_pages>, fixed_growth<64>> pool;
  void* const block = pool.allocate();
  CHECK(block != nullptr && resident(block, 1) == 1);
  pool.deallocate(block);
  auto* const start = static_cast<char*>(system::map_pages(4 * page, 1, 0, false));
  CHECK(system::lock_pages(start, page) != 0);  // not committed: the system says why
  system::unmap_pages(start, 4 * page);
}

void guard_pages_stand_before_and_behind() {
  pool<static_size<64>, page_store<guard_pages>, fixed_growth<64>> pool;
  auto* const block = static_cast<char*>(pool.allocate());
  const MEMORY_BASIC_INFORMATION chunk = about(block);
  CHECK(chunk.State == MEM_COMMIT);
  CHECK(about(static_cast<char*>(chunk.BaseAddress) - 1).State == MEM_RESERVE);
  CHECK(about(static_cast<char*>(chunk.BaseAddress) + chunk.RegionSize).State == MEM_RESERVE);
  pool.deallocate(block);
}

void prefilled_chunks_are_in_memory() {
  pool<static_size<64>, page_store<prefilled>, fixed_growth<1024>> pool;
  void* const block = pool.allocate();
  const MEMORY_BASIC_INFORMATION chunk = about(block);
  CHECK(resident(chunk.BaseAddress, chunk.RegionSize) == chunk.RegionSize / page);
  CHECK(pool.store().refusals().fills == 0);
  pool.deallocate(block);
}

void huge_pages_are_refused_and_reported() {
  pool<static_size<64>, page_store<huge_pages>, fixed_growth<64>> pool;
  void* const block = pool.allocate();
  const page_report report = pool.pages();
  CHECK(report.mapped == std::size_t{2} << 20);
  CHECK(report.refused == report.mapped);
  CHECK(!report.measured);
  pool.deallocate(block);
}

void memory_of_empty_pages_goes_back() {
  using pages_back = pool<static_size<64>, page_store<>, fixed_growth<4096>, page_local_reuse<>, return_empty_pages<>>;
  pages_back pool;
  constexpr std::size_t n = 4000;
  static void* blocks[n];
  for (void*& b : blocks) b = pool.allocate(), std::memset(b, 1, 64);
  auto* const chunk = static_cast<char*>(about(blocks[0]).AllocationBase);
  const std::size_t bytes = about(chunk).RegionSize;
  const std::size_t before = resident(chunk, bytes);
  for (std::size_t i = 1; i != n; ++i) pool.deallocate(blocks[i]);
  pool.trim();
  const std::size_t after = resident(chunk, bytes);
  std::printf("resident pages of %u: %u, then %u\n", unsigned(bytes / page), unsigned(before), unsigned(after));
  CHECK(after < before / 4);
  CHECK(resident(blocks[0], 1) == 1);
  CHECK(*static_cast<char*>(blocks[0]) == 1);
  for (std::size_t i = 1; i != n; ++i) blocks[i] = pool.allocate(), std::memset(blocks[i], 2, 64);
  for (void* b : blocks) pool.deallocate(b);
}

void waits_end_when_woken_and_by_themselves() {
  static unsigned word;
  word = 1;
  const std::uint64_t start = detail::steady_nanoseconds();
  detail::wait_while(&word, 1, 20'000'000);
  CHECK(detail::steady_nanoseconds() - start >= 10'000'000);
  detail::wait_while(&word, 2);  // at once
  detail::sleep_microseconds(1000);
  CHECK(detail::steady_nanoseconds() - start >= 11'000'000);
  in_threads(4, [] {
    static volatile LONG turn;
    if (InterlockedIncrement(&turn) == 4) {
      __atomic_store_n(&word, 5u, __ATOMIC_SEQ_CST);
      detail::wake_all(&word);
    } else {
      while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 1) detail::wait_while(&word, 1);
    }
  });
  CHECK(word == 5);
}

void words_are_the_same_at_each_call() {
  std::uint64_t a[2], b[2];
  CHECK(system::random_words(a) && system::random_words(b));
  CHECK(a[0] == b[0] && a[1] == b[1]);
  CHECK(a[0] != a[1]);
}

}  // namespace
}  // namespace tarn::test

int main() {
  using namespace tarn::test;
  run_case("addresses are aligned and go back", addresses_are_aligned_and_go_back);
  run_case("closed pages", closed_pages_give_their_memory_back_and_open_again);
  run_case("discard", [] { discarded_pages_leave_memory(tarn::page_advice::discard, true); });
  run_case("free lazily", [] { discarded_pages_leave_memory(tarn::page_advice::free_lazily, false); });
  run_case("locked pages", pages_that_are_locked);
  run_case("guard pages", guard_pages_stand_before_and_behind);
  run_case("prefilled", prefilled_chunks_are_in_memory);
  run_case("huge pages", huge_pages_are_refused_and_reported);
  run_case("empty pages", memory_of_empty_pages_goes_back);
  run_case("waiting", waits_end_when_woken_and_by_themselves);
  run_case("random words", words_are_the_same_at_each_call);
  return report();
}
