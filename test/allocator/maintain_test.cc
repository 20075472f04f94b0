// maintain(), called in between: what is ready afterwards, how a deadline cuts it, and what becomes of a chunk that is half
// filled. With threads: maintenance_thread_test.cc.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/test.h"

namespace {

using namespace tarn;
using test::failing;
using test::upstream;

/// Counts the slices that are filled, and refuses one if told.
int fills = 0;
int refused_fill = 0;
template <std::size_t Blocks, class Growth = geometric_growth<>>
struct watched_growth : grow_ahead<Blocks, Growth> {
  using canonical = watched_growth;
  static bool fill(std::byte* start, std::size_t bytes) noexcept {
    return ++fills != refused_fill && grow_ahead<Blocks, Growth>::fill(start, bytes);
  }
};

/// Its hours are slices and calls of the store.
const upstream* memory_of_clock = nullptr;
struct step_clock {
  using rep = std::size_t;
  struct time_point {
    using clock = step_clock;
    std::size_t steps;
    bool operator<(const time_point& other) const noexcept { return steps < other.steps; }
  };
  static time_point now() noexcept { return {static_cast<std::size_t>(fills) + memory_of_clock->calls()}; }
};
constexpr step_clock::time_point long_ago{0};

template <class... Policies>
using pool_over = pool<static_size<64>, resource_store, Policies...>;

/// Calls of the store for a chunk and magazines, in bursts of as many blocks as nobody's first magazine holds.
template <class... Policies>
std::size_t calls_in_bursts(bool maintains) {
  upstream memory;
  pool_over<thread_cached<>, Policies...> p{resource_store{&memory}};
  if constexpr (requires { p.maintain(); })
    if (maintains) CHECK(p.maintain() == maintained::done);
  const std::size_t before = memory.calls();
  std::vector<void*> blocks(20'000);
  for (int round = 0; round != 20; ++round) {
    for (void*& block : blocks) CHECK((block = p.try_allocate()) != nullptr);
    for (void* const block : blocks) p.deallocate(block);
  }
  return memory.calls() - before;
}
BOOST_AUTO_TEST_CASE(magazines_get_memory_where_nobody_calls_maintain) {
  const std::size_t usual = calls_in_bursts<fixed_growth<100'000>>(false);
  CHECK(usual >= 3u);
  CHECK(calls_in_bursts<grow_ahead<1000, fixed_growth<100'000>>>(false) == usual);
  CHECK(calls_in_bursts<grow_ahead<1000, fixed_growth<100'000>>>(true) == 0u);
}

struct crew;
template <class Locking>
void no_allocation_meets_the_store(test::called_from = {}) {
  upstream memory;
  pool_over<Locking, grow_ahead<3000>> p{resource_store{&memory}};
  CHECK(p.maintain() == maintained::done);
  for (int round = 0; round != 8; ++round) {
    const std::size_t calls = memory.calls();
    for (int i = 0; i != 3000; ++i) CHECK(p.try_allocate() != nullptr);
    CHECK(memory.calls() == calls);
    CHECK(p.maintain() == maintained::done);
  }
  CHECK(p.capacity() >= 9 * 3000);
}

BOOST_AUTO_TEST_CASE(no_allocation_above_the_watermark_calls_the_store) {
  no_allocation_meets_the_store<no_locking>();
  no_allocation_meets_the_store<mutex_locking<>>();
  no_allocation_meets_the_store<thread_cached<>>();
  no_allocation_meets_the_store<lock_free>();
  no_allocation_meets_the_store<grouped_locking<crew, std::mutex>>();
}

BOOST_AUTO_TEST_CASE(maintenance_alone_gets_memory_for_magazines) {
  upstream memory;
  pool_over<thread_cached<>, grow_ahead<100, fixed_growth<100>>> p{resource_store{&memory}};
  CHECK(p.maintain() == maintained::done);
  CHECK(memory.regions() == 2);  // a chunk, and magazines for its blocks
  std::vector<void*> blocks(5000);
  for (void*& block : blocks) {
    block = p.try_allocate();
    p.maintain();
  }
  for (void* const block : blocks) p.deallocate(block);  // needs more magazines than the last chunk did
  const std::size_t calls = memory.calls();
  for (void*& block : blocks) block = p.try_allocate();
  CHECK(memory.calls() == calls);
  CHECK(p.maintain() == maintained::done);
  CHECK(memory.calls() != calls);
}

BOOST_AUTO_TEST_CASE(what_is_freed_is_handed_out_before_what_is_ready) {
  upstream memory;
  pool_over<grow_ahead<1000>> p{resource_store{&memory}};
  std::vector<void*> blocks(5000);
  p.maintain();
  for (int round = 0; round != 4; ++round) {  // it has its peak and the watermark, and gets no more
    p.try_allocate_batch(span<void*>(blocks.data(), blocks.size()));
    CHECK(p.maintain() == maintained::done);
    p.deallocate_batch(span<void* const>(blocks.data(), blocks.size()));
    const std::size_t capacity = p.capacity();
    CHECK(p.maintain() == maintained::done);
    CHECK(p.capacity() == capacity);
    CHECK(round == 0 || memory.bytes() < 64 * (5000 + 2 * 1000 + 8192));
  }
}

BOOST_AUTO_TEST_CASE(a_percentage_is_of_all_blocks) {
  static_assert(grow_ahead<percent<10>>().watermark(0) == 1);
  static_assert(grow_ahead<percent<10>>().watermark(1234) == 123);
  static_assert(grow_ahead<percent<99>>().watermark(static_cast<std::size_t>(-1)) < static_cast<std::size_t>(-1));
  static_assert(std::is_same_v<pool<static_size<64>, grow_ahead<10>>, pool<static_size<64>, grow_ahead<10u>>>);
  pool<static_size<64>, grow_ahead<percent<50>, fixed_growth<100>>> p;
  CHECK(p.maintain() == maintained::done);
  CHECK(p.capacity() == 100);
  for (int i = 0; i != 51; ++i) CHECK(p.try_allocate() != nullptr);
  CHECK(p.maintain() == maintained::done);
  CHECK(p.capacity() == 200);
}

/// Whether each page of these blocks is in memory.
bool are_in_memory(const std::vector<void*>& blocks) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (void* const block : blocks) {
    unsigned char is_there = 0;
    void* const start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(block) / page * page);
    if (mincore(start, page, &is_there) != 0 || (is_there & 1) == 0) return false;
  }
  return true;
}

BOOST_AUTO_TEST_CASE(the_pages_of_a_chunk_are_in_memory_when_it_is_the_pools) {
  std::vector<void*> blocks(20'000);
  pool<static_size<64>, page_store<>, fixed_growth<20'000>> reserved;
  CHECK(reserved.try_reserve(20'000));
  for (void*& block : blocks) block = reserved.try_allocate();
  CHECK(!are_in_memory(blocks));  // so the test can tell
  pool<static_size<64>, page_store<>, grow_ahead<20'000>> ready;
  CHECK(ready.maintain() == maintained::done);
  for (void*& block : blocks) block = ready.try_allocate();
  CHECK(are_in_memory(blocks));
}

BOOST_AUTO_TEST_CASE(a_deadline_is_kept_to_one_step) {
  upstream memory;
  memory_of_clock = &memory;
  fills = 0;
  pool_over<watched_growth<20'000, fixed_growth<8192>>> p{resource_store{&memory}};  // 512 KiB: 8 slices or 9
  int calls = 0;
  for (maintained answer = maintained::unfinished; answer != maintained::done; ++calls) {
    const std::size_t before = step_clock::now().steps;
    answer = p.maintain(long_ago);
    const std::size_t steps = step_clock::now().steps - before;
    CHECK(steps <= 1);
    REQUIRE(calls < 100);
  }
  CHECK(p.capacity() == 3 * 8192);
  CHECK(fills >= 3 * 8);
  CHECK(memory.calls() == 3);

  p.release();
  const std::size_t start = step_clock::now().steps;
  CHECK(p.maintain(step_clock::time_point{start + 5}) == maintained::unfinished);
  CHECK(step_clock::now().steps == start + 5);
  CHECK(p.capacity() == 0);  // a chunk is the pool's once it is filled
  CHECK(p.maintain(step_clock::time_point{start + 1000}) == maintained::done);
}

/// A pool with a chunk of 8192 blocks of which one slice is filled.
struct half_filled {
  upstream memory;  // outlives the pool
  pool_over<watched_growth<1000, fixed_growth<8192, 10'000>>> p{resource_store{&memory}};
  half_filled() {
    memory_of_clock = &memory;
    CHECK(p.maintain(long_ago) == maintained::unfinished);
    fills = 0;
    CHECK(p.maintain(long_ago) == maintained::unfinished);
    CHECK(fills == 1);
    CHECK(memory.regions() == 1);
    CHECK(p.capacity() == 0);
  }
};

BOOST_AUTO_TEST_CASE(an_allocation_that_finds_nothing_takes_a_chunk_that_is_half_filled) {
  half_filled its;
  CHECK(its.p.try_allocate() != nullptr);
  CHECK(its.p.capacity() == 8192);
  CHECK(its.memory.calls() == 1);
  CHECK(its.p.maintain() == maintained::done);
  CHECK(fills == 1);
}
BOOST_AUTO_TEST_CASE(a_cap_counts_the_chunk_that_is_half_filled) {
  half_filled its;
  CHECK(!its.p.try_reserve(10'001));
  CHECK(its.p.capacity() <= 10'000);
  CHECK(its.p.try_reserve(8000));  // that chunk is enough
  CHECK(its.memory.calls() <= 2);
  CHECK(its.p.try_reserve(10'000));
  CHECK(its.p.capacity() == 10'000);
}
BOOST_AUTO_TEST_CASE(a_half_filled_chunk_goes_back) {
  half_filled trimmed;
  CHECK(trimmed.p.trim() != 0);
  CHECK(trimmed.memory.regions() == 0);
  CHECK(trimmed.p.maintain() == maintained::done);
  half_filled released;
  released.p.release();
  CHECK(released.memory.regions() == 0);
  CHECK(released.p.maintain() == maintained::done);
  upstream memory;
  {
    pool_over<grow_ahead<1000>> ended{resource_store{&memory}};
    CHECK(ended.maintain(step_clock::time_point{0}) == maintained::unfinished);
    CHECK(memory.regions() == 1);
  }
  CHECK(memory.regions() == 0);
}

BOOST_AUTO_TEST_CASE(what_is_refused_is_told_and_changes_nothing) {
  upstream memory;
  pool_over<thread_cached<>, watched_growth<1000, fixed_growth<8192, 10'000>>> p{resource_store{&memory}};
  memory.fail(1, failing::for_ever);
  CHECK(p.maintain() == maintained::refused);
  CHECK(p.capacity() == 0);
  memory.fail(1, failing::never);

  fills = 0;
  refused_fill = 3;  // by the system
  CHECK(p.maintain() == maintained::refused);
  refused_fill = 0;
  CHECK(p.capacity() == 0);
  CHECK(memory.regions() == 0);

  CHECK(p.maintain() == maintained::done);
  for (int i = 0; i != 9500; ++i) CHECK(p.try_allocate() != nullptr);
  p.maintain();
  CHECK(p.maintain() == maintained::refused);  // by the cap
  CHECK(p.capacity() == 10'000);
}

/// So that a free can't give a surplus back.
struct untried_mutex : std::mutex {
  bool try_lock() = delete;
};
BOOST_AUTO_TEST_CASE(it_gives_a_surplus_back_a_chunk_a_step) {
  upstream memory;
  memory_of_clock = &memory;
  pool_over<mutex_locking<untried_mutex>, fixed_growth<1000>, return_empty_chunks<1, 3>> p{resource_store{&memory}};
  CHECK(p.maintain() == maintained::done);
  std::vector<void*> blocks(10'000);
  p.try_allocate_batch(span<void*>(blocks.data(), blocks.size()));
  p.deallocate_batch(span<void* const>(blocks.data(), blocks.size()));
  const std::size_t capacity = p.capacity();
  CHECK(p.maintain(long_ago) == maintained::unfinished);
  CHECK(p.capacity() == capacity - 1000);
  CHECK(p.maintain() == maintained::done);
  CHECK(p.capacity() <= 2000);
}

BOOST_AUTO_TEST_CASE(products_of_many_sizes_have_it_for_the_classes_in_use) {
  upstream memory;
  size_class_pool<resource_store, grow_ahead<1000>> p{resource_store{&memory}};
  CHECK(p.maintain() == maintained::done);
  CHECK(memory.calls() == 0);
  for (const std::size_t bytes : {std::size_t{48}, std::size_t{200}}) CHECK(p.try_allocate(bytes) != nullptr);
  CHECK(p.maintain() == maintained::done);
  const std::size_t calls = memory.calls();
  for (int i = 0; i != 1000; ++i)
    for (const std::size_t bytes : {std::size_t{48}, std::size_t{200}}) CHECK(p.try_allocate(bytes) != nullptr);
  CHECK(memory.calls() == calls);

  struct messages;
  using heap = xallocator<messages, grow_ahead<10>>;  // granules
  CHECK(heap::maintain() == maintained::done);
  heap::deallocate(heap::allocate(100));
  CHECK(heap::maintain() == maintained::done);
  CHECK(heap::maintain(std::chrono::steady_clock::now()) != maintained::refused);
}

template <class Pool>
concept has_maintain = requires(Pool& p) { p.maintain(); };
static_assert(!has_maintain<pool<static_size<64>>>);
using growth = fixed_growth<100>;  // only who grows ahead has the words for that
static_assert(sizeof(pool<static_size<64>, growth>) < sizeof(pool<static_size<64>, grow_ahead<1, growth>>));

}  // namespace
