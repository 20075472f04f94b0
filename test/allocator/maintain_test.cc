// maintain(), called in between and beside other threads, and maintenance_thread: what is ready afterwards, how a deadline cuts
// it, and what becomes of a chunk that is half filled.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tarn/allocator/maintenance_thread.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/calling_memory.h"
#include "tarn/test/support/observed_thread.h"
#include "tarn/test/support/test.h"
#include "tarn/test/support/upstream.h"

namespace {

using namespace tarn;
using test::failing;
using test::upstream;

/// Counts the slices that are filled, and refuses one if told.
int fills = 0;
int refused_fill = 0;
std::function<void()> on_fill;
template <std::size_t Blocks, class Growth = geometric_growth<>>
struct watched_growth : grow_ahead<Blocks, Growth> {
  using canonical = watched_growth;
  static bool fill(std::byte* start, std::size_t bytes) noexcept {
    if (on_fill) on_fill();  // with threads, which count for themselves
    else ++fills;
    return fills != refused_fill && grow_ahead<Blocks, Growth>::fill(start, bytes);
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

// shows: FM-23
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

// ---- beside other threads, and maintenance_thread. They are made to meet: a store, or the filling of a slice, waits -----

using test::budget;
using test::observed_thread;
constexpr std::size_t plenty = std::size_t{1} << 30;

/// A place in the code where a thread waits, if it is told to: once.
class stop_sign {
 public:
  void set() noexcept { is_set_ = true; }
  void pass() {
    if (!is_set_.exchange(false)) return;
    reached_.count_down();
    open_.wait();
  }
  void wait_until_reached() { reached_.wait(); }
  void open() { open_.count_down(); }

 private:
  std::atomic<bool> is_set_ = false;
  std::latch reached_{1};
  std::latch open_{1};
};

template <class Locking>
void allocates_while_another_is_at_the_store(test::called_from = {}) {
  const test::alarm_clock limit(120);
  budget memory(plenty);
  stop_sign store;
  pool_over<Locking, grow_ahead<4000, fixed_growth<6000>>> p{resource_store{&memory}};
  CHECK(p.maintain() == maintained::done);
  for (int i = 0; i != 2500; ++i) CHECK(p.try_allocate() != nullptr);  // below the watermark: 3500 are ready
  memory.on_allocate = [&] { store.pass(); };
  store.set();
  observed_thread maintainer([&] { CHECK(p.maintain() == maintained::done); });
  store.wait_until_reached();
  std::vector<void*> blocks(3000);
  for (void*& block : blocks) CHECK((block = p.try_allocate()) != nullptr);
  for (void* const block : blocks) p.deallocate(block);
  store.open();
  maintainer.join();
  memory.on_allocate = nullptr;
}
BOOST_AUTO_TEST_CASE(an_allocation_above_the_watermark_never_waits_for_who_is_at_the_store) {
  allocates_while_another_is_at_the_store<mutex_locking<>>();
  allocates_while_another_is_at_the_store<thread_cached<>>();
  allocates_while_another_is_at_the_store<lock_free>();
}

BOOST_AUTO_TEST_CASE(a_slice_is_filled_with_nothing_held) {
  const test::alarm_clock limit(120);
  budget memory(plenty);
  stop_sign slice;
  pool_over<mutex_locking<>, watched_growth<4000, fixed_growth<8192>>, return_empty_chunks<0, 0>> p{resource_store{&memory}};
  on_fill = [&] { slice.pass(); };
  slice.set();
  observed_thread maintainer([&] { CHECK(p.maintain() == maintained::done); });
  slice.wait_until_reached();

  // Nobody waits: the first of these takes the chunk that is being filled, and the pool grows.
  std::vector<void*> blocks(10'000);
  for (void*& block : blocks) CHECK((block = p.try_allocate()) != nullptr);
  for (void* const block : blocks) *static_cast<unsigned char*>(block) = 7;
  CHECK(p.capacity() == 2 * 8192);
  for (void* const block : blocks) {
    CHECK(*static_cast<unsigned char*>(block) == 7);
    p.deallocate(block);
  }
  CHECK(p.capacity() == 2 * 8192);  // a free waits for nobody, so the chunks stay

  // The chunk can't go back while a page of it is filled.
  observed_thread trimmer([&] { CHECK(p.trim() != 0); });
  CHECK(trimmer.comes_to_wait());
  slice.open();
  trimmer.join();
  maintainer.join();
  on_fill = nullptr;
}

BOOST_AUTO_TEST_CASE(two_that_maintain_share_the_slices) {
  const test::alarm_clock limit(120);
  budget memory(plenty);
  stop_sign slice;
  std::atomic<int> filled = 0;
  pool_over<mutex_locking<>, watched_growth<4000, fixed_growth<8192>>> p{resource_store{&memory}};
  on_fill = [&] { ++filled, slice.pass(); };
  slice.set();
  observed_thread first([&] { CHECK(p.maintain() == maintained::done); });
  slice.wait_until_reached();
  CHECK(p.maintain() == maintained::unfinished);  // all but the slice of the other
  CHECK(p.capacity() == 0);
  const int shared = filled;
  slice.open();
  first.join();
  on_fill = nullptr;
  CHECK(filled == shared);
  CHECK(p.capacity() == 8192);
  CHECK(p.maintain() == maintained::done);

  // Many at once, and threads that allocate and trim.
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([&p, t] {
      for (int i = 0; i != 40; ++i) {
        if (t < 2) p.maintain();
        void* blocks[300];
        for (void*& block : blocks) block = p.try_allocate();
        for (void* const block : blocks) p.deallocate(block);
        if (t == 3) p.trim();
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(p.maintain() == maintained::done);
}

/// Allocates, so that the pool must grow, until it has.
template <class Pool>
void use_up(Pool& p) {
  const std::size_t before = p.capacity();
  for (std::size_t i = 0; i <= before; ++i) CHECK(p.try_allocate() != nullptr);
}
template <class Pool>
void wait_for_capacity(const Pool& p, std::size_t blocks) {
  while (p.capacity() < blocks) std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(a_thread_maintains_any_number_of_pools) {
  const test::alarm_clock limit(120);
  maintenance_thread keeper(std::chrono::microseconds(100));
  pool<static_size<64>, mutex_locking<>, grow_ahead<1000, fixed_growth<100>>> a;
  pool<static_size<256>, thread_cached<>, grow_ahead<percent<50>>> b;
  const auto of_a = keeper.add(a);
  {
    const maintenance_thread::place of_b(keeper, b);
    wait_for_capacity(a, 1000);
    wait_for_capacity(b, 1);
    use_up(a);
    use_up(b);
    wait_for_capacity(a, 2000);
  }
  std::optional<maintenance_thread::place> again;
  again.emplace(keeper, b);
  while (of_a.last() != maintained::done || again->last() != maintained::done) std::this_thread::yield();
}

/// The last turn of each round: of the places, the first that came.
struct last_in_round {
  maintained maintain(std::chrono::steady_clock::time_point) noexcept {
    if (const auto act = on_turn) act();
    return maintained::done;
  }
  std::function<void()> on_turn;
};

BOOST_AUTO_TEST_CASE(wake_has_the_thread_look_at_once) {
  const test::alarm_clock limit(120);
  stop_sign first_round;
  stop_sign second_round;
  last_in_round last{[&] { second_round.pass(), first_round.pass(); }};
  pool<static_size<64>, mutex_locking<>, grow_ahead<1000, fixed_growth<100>>> p;
  maintenance_thread keeper(std::chrono::hours(1));
  first_round.set();
  const maintenance_thread::place of_last(keeper, last);
  const maintenance_thread::place of_pool(keeper, p);
  keeper.wake();
  first_round.wait_until_reached();

  // What rang until now may have come too late for this round, so that there would be another one. This one knows of all.
  second_round.set();
  keeper.wake();
  first_round.open();
  second_round.wait_until_reached();
  CHECK(p.capacity() >= 1000);
  use_up(p);
  const std::size_t used = p.capacity();
  second_round.open();
  keeper.wake();
  wait_for_capacity(p, used + 500);
}

BOOST_AUTO_TEST_CASE(the_thread_may_end_before_the_places_and_after_them) {
  const test::alarm_clock limit(120);
  pool<static_size<64>, mutex_locking<>, grow_ahead<1000, fixed_growth<100>>> p;
  auto keeper = std::make_unique<maintenance_thread>(std::chrono::hours(1));
  std::optional<maintenance_thread::place> first(std::in_place, *keeper, p);
  wait_for_capacity(p, 1000);
  while (first->last() != maintained::done) std::this_thread::yield();
  pool<static_size<64>, mutex_locking<>, grow_ahead<1000>> late;
  const maintenance_thread::place of_late(*keeper, late);
  wait_for_capacity(late, 1000);  // it looks when a pool comes
  keeper.reset();
  CHECK(p.maintain() == maintained::done);
  first.reset();
  {
    maintenance_thread other;
    first.emplace(other, p);
    first.reset();
  }
}

BOOST_AUTO_TEST_CASE(a_place_ends_once_the_thread_has_left_its_pool_and_waits_for_no_other) {
  const test::alarm_clock limit(120);
  budget memory(plenty);
  stop_sign store;
  memory.on_allocate = [&] { store.pass(); };
  store.set();
  pool<static_size<64>, mutex_locking<>, grow_ahead<1000>> quick;
  auto slow = std::make_unique<pool_over<mutex_locking<>, grow_ahead<1000>>>(resource_store{&memory});
  maintenance_thread keeper(std::chrono::microseconds(100));
  std::optional<maintenance_thread::place> of_quick(std::in_place, keeper, quick);
  std::optional<maintenance_thread::place> of_slow(std::in_place, keeper, *slow);
  store.wait_until_reached();
  of_quick.reset();  // the thread is at the other's store
  of_quick.emplace(keeper, quick);
  observed_thread leaver([&] { of_slow.reset(), slow.reset(); });
  CHECK(leaver.comes_to_wait());
  store.open();
  leaver.join();
  wait_for_capacity(quick, 1000);
}

}  // namespace
