// Forks that meet something: handlers of the program that allocate, or lock what threads hold while they allocate; stores that
// wait for such a lock, or fork; what lay in threads that are gone; chunks that are being filled.
#include <boost/test/unit_test.hpp>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tarn/allocator/maintenance_thread.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/locking/group_guard.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/calling_memory.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/observed_thread.h"

namespace {

using namespace tarn;
using test::budget;

template <class... Policies>
using blocks_of_64 = pool<static_size<64>, Policies...>;
using guarded_pool = blocks_of_64<mutex_locking<>>;

/// Forks; returns whether the child's body was true, and it ended by itself.
template <class Body>
bool child_can(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
template <class Pool>
bool can_use(Pool& p) {
  void* const block = p.try_allocate();
  if (block == nullptr) return false;
  p.deallocate(block);
  return p.try_reserve(p.capacity() + 1);
}
void wait_until(const std::atomic<bool>& that) {
  while (!that) std::this_thread::yield();
}

// ---- handlers of the program ----------------------------------------------------------------------------------------

// Registered before tarn's, and after them, before a pool is used. At a fork, the early ones run while tarn holds everything.
std::function<void()> early_prepare, early_after, late_prepare, late_after;
void call(const std::function<void()>& handler) {
  if (handler) handler();
}
void register_early() {
  pthread_atfork([] { call(early_prepare); }, [] { call(early_after); }, [] { call(early_after); });
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_all)() = register_early;
const bool late_are_registered =
    pthread_atfork([] { call(late_prepare); }, [] { call(late_after); }, [] { call(late_after); }) == 0;

struct handlers {
  handlers(std::function<void()> prepare, std::function<void()> after, bool is_early) : is_early_(is_early) {
    BOOST_TEST(late_are_registered);
    (is_early ? early_prepare : late_prepare) = std::move(prepare);
    (is_early ? early_after : late_after) = std::move(after);
  }
  ~handlers() { (is_early_ ? early_prepare : late_prepare) = (is_early_ ? early_after : late_after) = nullptr; }
  handlers(const handlers&) = delete;
  handlers& operator=(const handlers&) = delete;

 private:
  bool is_early_;
};

struct crew;

BOOST_AUTO_TEST_CASE(handlers_may_use_pools_whenever_they_were_registered) {
  const test::alarm_clock patience(300);
  guarded_pool known;
  blocks_of_64<thread_cached<>, reclaim_and_retry<>> cached;
  blocks_of_64<grouped_locking<crew, std::mutex>> grouped;
  size_class_pool<> classes;
  known.reserve(1);
  for (const bool is_early : {false, true}) {
    std::optional<guarded_pool> other{std::in_place};
    other->reserve(1);
    int calls = 0;
    const auto use = [&] {
      ++calls;
      known.deallocate(known.allocate());
      const auto blocks = known.capacity();
      known.reserve(blocks + 1);  // calls the store
      cached.deallocate(cached.allocate());
      {
        const group_guard<crew> guard;
        grouped.deallocate(grouped.allocate());
      }
      grouped.deallocate(grouped.allocate());
      classes.deallocate(classes.allocate(10000), 10000);
      classes.deallocate(classes.allocate(100), 100);
      xfree(xmalloc(100));
      xfree(xmalloc(1'000'000));
      reclaim_all();
      guarded_pool fresh;  // begins and ends here
      fresh.deallocate(fresh.allocate());
      other.reset();  // began before
    };
    const handlers mine(use, use, is_early);
    BOOST_TEST(child_can([&] { return calls == 2 && can_use(known) && can_use(cached) && can_use(grouped); }));
    BOOST_TEST(calls == 2);
    BOOST_TEST(can_use(known));
  }
}

BOOST_AUTO_TEST_CASE(a_handler_may_lock_what_a_thread_holds_while_it_allocates) {
  const test::alarm_clock patience(300);
  guarded_pool pool;
  pool.reserve(1);
  std::mutex registry;
  std::atomic<bool> is_held = false, in_handler = false;
  const handlers mine([&] { in_handler = true, registry.lock(); }, [&] { registry.unlock(); }, false);
  std::thread other([&] {
    const std::lock_guard lock(registry);
    is_held = true;
    wait_until(in_handler);
    pool.reserve(pool.capacity() + 1);
    pool.deallocate(pool.allocate());
  });
  wait_until(is_held);
  BOOST_TEST(child_can([&] { return can_use(pool); }));
  other.join();
}

// ---- stores ---------------------------------------------------------------------------------------------------------

template <class Locking>
using growing = blocks_of_64<Locking, resource_store, fixed_growth<4>>;

/// Groups, which have one mutex: test/policies/locking/fork_test.cc.
using with_store = std::tuple<mutex_locking<>, thread_cached<>, lock_free>;

// Thread 1 is at the store and waits for a mutex. Thread 2 holds that, and waits to grow its pool until the fork is over.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_fork_passes_a_store_that_waits_for_who_waits_for_the_fork, locking, with_store) {
  const test::alarm_clock patience(300);
  budget memory(1 << 20);
  growing<locking> at_work{resource_store{&memory}};
  growing<locking> waiting{resource_store{&memory}};
  blocks_of_64<locking, resource_store, reclaim_and_retry<>> asked{resource_store{&memory}};
  asked.reserve(1);
  waiting.reserve(1);
  std::mutex of_program;
  std::atomic<bool> is_held = false, is_at_store = false, in_handler = false;
  const handlers mine([&] { in_handler = true; }, [] {}, false);
  std::thread holder([&] {
    const std::lock_guard lock(of_program);
    is_held = true;
    wait_until(in_handler);
    waiting.reserve(waiting.capacity() + 1);
    reclaim_all();
  });
  wait_until(is_held);
  memory.on_allocate = [&] {
    if (is_at_store.exchange(true)) return;
    const std::lock_guard lock(of_program);
  };
  std::thread worker([&] { at_work.reserve(at_work.capacity() + 1); });
  wait_until(is_at_store);
  BOOST_TEST(child_can([&] {
    memory.on_allocate = nullptr;
    reclaim_all();
    return can_use(at_work) && can_use(waiting) && can_use(asked);
  }));
  holder.join();
  worker.join();
  BOOST_TEST(can_use(at_work));
  BOOST_TEST(can_use(waiting));
}

/// Puts a chunk into the pool, in which no block is in use.
template <class Pool>
void fill_and_empty(Pool& p) {
  if constexpr (requires { p.block_size(); }) p.deallocate(p.allocate());
  else p.deallocate(p.allocate(64), 64);
}
using asked_without_a_lock = std::tuple<blocks_of_64<resource_store, reclaim_and_retry<>>,
                                        size_class_pool<resource_store, reclaim_and_retry<>>>;

// Thread 1 asks a pool to trim that has no lock of its own, and whose store waits for a mutex. Thread 2 holds that, and waits
// to grow its pool until the fork is over.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_fork_passes_the_store_of_a_pool_without_a_lock_that_is_asked, asked, asked_without_a_lock) {
  const test::alarm_clock patience(300);
  budget memory(1 << 20);
  growing<mutex_locking<>> waiting{resource_store{&memory}};
  std::mutex of_program;
  std::atomic<bool> is_held = false, is_at_store = false, in_handler = false;
  const handlers mine([&] { in_handler = true; }, [] {}, false);
  std::thread holder([&] {
    const std::lock_guard lock(of_program);
    is_held = true;
    wait_until(in_handler);
    waiting.reserve(1);
  });
  wait_until(is_held);
  std::thread asking([&] {
    asked pool{resource_store{&memory}};
    fill_and_empty(pool);
    memory.on_deallocate = [&](std::size_t) {
      is_at_store = true;
      const std::lock_guard lock(of_program);
    };
    BOOST_TEST(reclaim_all() != 0u);
    memory.on_deallocate = nullptr;
  });
  wait_until(is_at_store);
  BOOST_TEST(child_can([&] { return can_use(waiting); }));
  asking.join();
  holder.join();
}

// A thread is at the store. A handler that runs while tarn holds everything can't wait for it: it waits for the fork.
BOOST_AUTO_TEST_CASE_TEMPLATE(an_early_handler_gets_no_chunk_while_a_thread_is_at_the_store, locking, with_store) {
  const test::alarm_clock patience(300);
  budget memory(1 << 20);
  growing<locking> pool{resource_store{&memory}};
  size_class_pool<resource_store, mutex_locking<>> classes{resource_store{&memory}};
  std::atomic<int> at_store = 0, calls = 0;
  std::atomic<bool> may_go = false;
  memory.on_allocate = [&] {
    ++at_store;
    wait_until(may_go);
  };
  std::thread worker([&] { pool.reserve(1); });
  std::thread other([&] { classes.deallocate(classes.allocate(100), 100); });
  while (at_store != 2) std::this_thread::yield();
  const auto ask = [&] {
    ++calls;
    BOOST_TEST(pool.try_allocate() == nullptr);
    BOOST_TEST(!pool.try_reserve(1));
    if constexpr (!std::is_same_v<locking, lock_free>) BOOST_TEST(pool.trim() == 0u);
    BOOST_TEST(classes.try_allocate(100) == nullptr);
    BOOST_TEST(classes.try_allocate(100'000) == nullptr);
  };
  {
    const handlers mine(ask, ask, true);
    BOOST_TEST(child_can([&] {
      memory.on_allocate = nullptr;
      return calls == 2 && can_use(pool) && classes.try_allocate(100) != nullptr;
    }));
  }
  BOOST_TEST(calls == 2);
  may_go = true;
  worker.join();
  other.join();
  BOOST_TEST(can_use(pool));
  BOOST_TEST(classes.try_allocate(100) != nullptr);
}

// A third thread waits for the growth of the pool whose store is at work: it, too, must not keep the fork waiting.
BOOST_AUTO_TEST_CASE(a_fork_passes_threads_that_wait_to_grow) {
  const test::alarm_clock patience(300);
  budget memory(1 << 20);
  growing<mutex_locking<>> pool{resource_store{&memory}};
  std::atomic<bool> is_at_store = false, may_go = false;
  memory.on_allocate = [&] {
    if (!is_at_store.exchange(true)) wait_until(may_go);
  };
  std::thread worker([&] { pool.reserve(1); });
  wait_until(is_at_store);
  std::thread other([&] { pool.reserve(9); });
  bool good = true;
  for (int i = 0; i < 3; ++i)
    good &= child_can([&] {
      memory.on_allocate = nullptr;
      return can_use(pool);
    });
  BOOST_TEST(good);
  may_go = true;
  worker.join();
  other.join();
  BOOST_TEST(pool.capacity() >= 9u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_store_may_fork, locking, with_store) {
  const test::alarm_clock patience(300);
  budget memory(1 << 20), inner(1 << 20);
  growing<locking> pool{resource_store{&memory}};
  growing<locking> other{resource_store{&inner}};
  other.reserve(1);
  pid_t child = -1;
  memory.on_allocate = [&, calls = 0]() mutable {
    if (calls++ != 0) return;
    other.reserve(other.capacity() + 1);  // a pool used by a store
    child = fork();
    if (child == 0) alarm(120);
    other.reserve(other.capacity() + 1);
  };
  pool.reserve(1);
  const bool good = can_use(pool) && can_use(other) && reclaim_all() == 0;
  if (child == 0) {
    bool in_thread = false;
    std::thread([&] { in_thread = can_use(pool) && can_use(other); }).join();
    _exit(good && in_thread ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  BOOST_TEST(good);
  BOOST_TEST(status == 0);
}

// ---- threads that are gone ------------------------------------------------------------------------------------------

/// Threads that each keep some blocks of a pool in their caches, until they are told to end.
template <class Pool>
class sleepers {
 public:
  sleepers(Pool& pool, std::size_t threads, std::size_t blocks) : step_(static_cast<std::ptrdiff_t>(threads + 1)) {
    for (std::size_t t = 0; t != threads; ++t)
      threads_.emplace_back([this, &pool, blocks] {
        std::vector<void*> mine(blocks);
        pool.allocate_batch(mine);
        for (void* const block : mine) pool.deallocate(block);
        step_.arrive_and_wait();
        step_.arrive_and_wait();
      });
    step_.arrive_and_wait();
  }
  ~sleepers() {
    step_.arrive_and_wait();
    for (std::thread& t : threads_) t.join();
  }
  sleepers(const sleepers&) = delete;
  sleepers& operator=(const sleepers&) = delete;

 private:
  std::barrier<> step_;
  std::vector<std::thread> threads_;
};

BOOST_AUTO_TEST_CASE(a_child_has_the_blocks_that_lay_in_threads_that_are_gone) {
  const test::alarm_clock patience(300);
  blocks_of_64<thread_cached<>, fixed_growth<4096>> pool;
  pool.reserve(1);
  const std::size_t capacity = pool.capacity();
  const sleepers threads(pool, 20, 100);  // more than there are slots in the pool
  BOOST_REQUIRE(pool.capacity() == capacity);
  const bool all = child_can([&] {
    std::vector<void*> blocks;
    while (pool.capacity() == capacity) blocks.push_back(pool.allocate());
    blocks.pop_back();  // of the next chunk
    std::ranges::sort(blocks);
    return blocks.size() == capacity && std::ranges::adjacent_find(blocks) == blocks.end();
  });
  BOOST_TEST(all);
}

// Numbers of the parent's threads are free in the child: a thousand generations don't use them up.
BOOST_AUTO_TEST_CASE(a_childs_threads_get_the_lowest_numbers) {
  const test::alarm_clock patience(300);
  blocks_of_64<thread_cached<>> pool;
  const sleepers threads(pool, 20, 1);
  BOOST_TEST(child_can([&] {
    unsigned number = 0;
    std::thread([&] {
      pool.deallocate(pool.allocate());
      number = detail::this_thread.id;
    }).join();
    return number == 1 || number == 2;  // the other is this thread's, if it has one
  }));
}

// ---- chunks that are filled, and the thread that does it ---------------------------------------------------------------

std::function<void()> on_fill;
struct watched_growth : grow_ahead<4000, fixed_growth<8192>> {
  using canonical = watched_growth;
  static bool fill(std::byte* start, std::size_t bytes) noexcept {
    call(on_fill);
    return grow_ahead::fill(start, bytes);
  }
};

BOOST_AUTO_TEST_CASE(a_child_has_the_chunk_that_its_parent_fills) {
  const test::alarm_clock patience(300);
  blocks_of_64<mutex_locking<>, watched_growth> p;
  std::latch reached(1), open(1);
  bool is_first = true;
  on_fill = [&] {
    if (!std::exchange(is_first, false)) return;
    reached.count_down();
    open.wait();
  };
  test::observed_thread maintainer([&] { BOOST_TEST((p.maintain() == maintained::done)); });
  reached.wait();
  test::observed_thread forker([&] {
    BOOST_TEST(child_can([&] {
      on_fill = nullptr;
      // Nobody else fills it: it can go back, and the next maintain() goes on with it.
      if (p.capacity() != 0 || p.trim() == 0 || p.maintain() != maintained::done) return false;
      return p.capacity() == 8192 && can_use(p);
    }));
  });
  BOOST_TEST(forker.comes_to_wait());  // no slice is half filled in a child
  open.count_down();
  forker.join();
  maintainer.join();
  on_fill = nullptr;
}

BOOST_AUTO_TEST_CASE(a_maintenance_thread_and_its_places_can_end_in_a_child) {
  const test::alarm_clock patience(300);
  blocks_of_64<mutex_locking<>, watched_growth> p;
  for (int i = 0; i != 20; ++i) {
    auto keeper = std::make_unique<maintenance_thread>(std::chrono::microseconds(10));
    std::optional<maintenance_thread::place> place(std::in_place, *keeper, p);
    BOOST_TEST(child_can([&] {
      if (i % 2 == 0) place.reset();
      maintenance_thread::place late(*keeper, p);
      keeper.reset();
      place.reset();
      maintenance_thread other;
      const auto own = other.add(p);
      while (own.last() != maintained::done) std::this_thread::yield();
      return can_use(p);
    }));
  }
}

BOOST_AUTO_TEST_CASE(a_place_at_whose_store_the_thread_was_can_end_in_a_child) {
  const test::alarm_clock patience(300);
  budget memory(1 << 30);
  std::latch reached(1), open(1);
  std::atomic<bool> is_first = true;
  memory.on_allocate = [&] {
    if (!is_first.exchange(false)) return;
    reached.count_down();
    open.wait();
  };
  blocks_of_64<mutex_locking<>, resource_store, watched_growth> p{resource_store{&memory}};
  auto keeper = std::make_unique<maintenance_thread>();
  std::optional<maintenance_thread::place> place(std::in_place, *keeper, p);
  reached.wait();
  BOOST_TEST(child_can([&] {
    place.reset();
    keeper.reset();
    return p.maintain() == maintained::done && can_use(p);
  }));
  open.count_down();
}

}  // namespace
