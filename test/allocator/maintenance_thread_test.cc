// maintain() beside other threads, and maintenance_thread. Threads are made to meet: a store, or the filling of a slice, waits.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tarn/allocator/maintenance_thread.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/calling_memory.h"
#include "tarn/test/support/observed_thread.h"
#include "tarn/test/support/test.h"

namespace {

using namespace tarn;
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

std::function<void()> on_fill;
template <std::size_t Blocks, class Growth = fixed_growth<8192>>
struct stopping_growth : grow_ahead<Blocks, Growth> {
  using canonical = stopping_growth;
  static bool fill(std::byte* start, std::size_t bytes) noexcept {
    if (on_fill) on_fill();
    return grow_ahead<Blocks, Growth>::fill(start, bytes);
  }
};

template <class... Policies>
using pool_over = pool<static_size<64>, resource_store, Policies...>;

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
  pool_over<mutex_locking<>, stopping_growth<4000>, return_empty_chunks<0, 0>> p{resource_store{&memory}};
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
  std::atomic<int> fills = 0;
  pool_over<mutex_locking<>, stopping_growth<4000>> p{resource_store{&memory}};
  on_fill = [&] { ++fills, slice.pass(); };
  slice.set();
  observed_thread first([&] { CHECK(p.maintain() == maintained::done); });
  slice.wait_until_reached();
  CHECK(p.maintain() == maintained::unfinished);  // all but the slice of the other
  CHECK(p.capacity() == 0);
  const int shared = fills;
  slice.open();
  first.join();
  on_fill = nullptr;
  CHECK(fills == shared);
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
