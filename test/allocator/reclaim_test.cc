// Pools that give empty chunks back because another one's store refused, or reclaim_all() was called: in which order, by which
// thread, and that nobody waits for anybody.
#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/locking/group_guard.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/calling_memory.h"
#include "tarn/test/support/check.h"

namespace {

using namespace tarn;
using test::budget;

struct crew;

/// Chunks of ten blocks of 64 bytes and a record: 10 blocks fit in a chunk's 768 bytes, not in fewer.
template <int Priority, class Locking = no_locking>
using asked = pool<static_size<64>, Locking, fixed_growth<10>, resource_store, reclaim_and_retry<Priority>>;

template <class Pool>
std::size_t chunk_bytes() {
  budget memory(1 << 20);
  Pool pool{resource_store{&memory}};
  pool.reserve(1);
  return (1 << 20) - static_cast<std::size_t>(memory.left());
}

/// Gives a pool a free chunk.
template <class Pool>
void fill_and_empty(Pool& pool) {
  std::vector<void*> blocks(10);
  pool.allocate_batch(blocks);
  pool.deallocate_batch(blocks);
}

BOOST_AUTO_TEST_CASE(a_pool_that_ran_dry_gets_what_another_does_not_need) {
  budget memory(2 * chunk_bytes<asked<0>>());
  asked<0> rich{resource_store{&memory}};
  asked<0> poor{resource_store{&memory}};
  rich.reserve(20);
  std::vector<void*> blocks(20);
  BOOST_TEST(poor.try_allocate_batch(blocks) == 20u);
  BOOST_TEST(rich.capacity() == 0u);
  BOOST_TEST(memory.given_back() == 2u);
  BOOST_TEST(poor.try_allocate() == nullptr);
  BOOST_CHECK_THROW((void)poor.allocate(), std::bad_alloc);
  BOOST_TEST(!rich.try_reserve(1));
  poor.deallocate_batch(blocks);
  BOOST_TEST(rich.try_reserve(20));  // reserve asks, too
  BOOST_TEST(poor.capacity() == 0u);
}

BOOST_AUTO_TEST_CASE(pools_of_a_low_priority_are_asked_first_and_others_only_if_need_be) {
  budget memory(4 * chunk_bytes<asked<0>>());
  asked<5> important{resource_store{&memory}};
  asked<-1> cache{resource_store{&memory}};
  asked<2> middle{resource_store{&memory}};
  asked<0> poor{resource_store{&memory}};
  important.reserve(10);
  middle.reserve(10);
  cache.reserve(20);
  std::array<void*, 30> blocks;
  BOOST_TEST(poor.try_allocate_batch(std::span(blocks).first(20)) == 20u);
  BOOST_TEST(cache.capacity() == 0u);
  BOOST_TEST(middle.capacity() == 10u);
  BOOST_TEST(important.capacity() == 10u);
  BOOST_TEST((poor.try_allocate_batch(std::span(blocks).subspan(20)) == 10u));
  BOOST_TEST(middle.capacity() == 0u);
  BOOST_TEST(important.capacity() == 10u);
  poor.deallocate_batch(blocks);
  BOOST_TEST(!poor.try_reserve(1000));  // before it fails, every pool was asked, itself too
  BOOST_TEST(important.capacity() + poor.capacity() == 0u);
  BOOST_TEST(memory.left() == long(4 * chunk_bytes<asked<0>>()));
}

BOOST_AUTO_TEST_CASE(reclaim_all_asks_each_by_priority_and_returns_bytes) {
  budget memory(1 << 20);
  const std::size_t chunk = chunk_bytes<asked<0>>();
  asked<3> late{resource_store{&memory}};
  asked<-3> early{resource_store{&memory}};
  late.reserve(20);
  early.reserve(10);
  std::vector<std::size_t> seen;
  memory.on_deallocate = [&](std::size_t bytes) {
    BOOST_TEST(bytes == chunk);
    seen.push_back(late.capacity());
  };
  void* const block = late.allocate();
  BOOST_TEST(reclaim_all() == 2 * chunk);  // a chunk in use stays
  BOOST_TEST(seen == (std::vector<std::size_t>{20, 10}), boost::test_tools::per_element());
  BOOST_TEST(reclaim_all() == 0u);
  late.deallocate(block);
  BOOST_TEST(reclaim_all() == chunk);
  memory.on_deallocate = nullptr;
}

BOOST_AUTO_TEST_CASE(nobody_is_asked_where_it_is_the_growth_policy_that_refuses) {
  budget memory(1 << 20);
  asked<0> rich{resource_store{&memory}};
  rich.reserve(10);
  pool<static_size<64>, fixed_growth<10, 20>, resource_store, reclaim_and_retry<>> capped{resource_store{&memory}};
  BOOST_TEST(!capped.try_reserve(21));
  std::vector<void*> blocks(20);
  capped.allocate_batch(blocks);
  BOOST_TEST(capped.try_allocate() == nullptr);
  BOOST_TEST(rich.capacity() == 10u);
  capped.deallocate_batch(blocks);
}

BOOST_AUTO_TEST_CASE(a_pool_that_keeps_its_record_is_asked_no_more_when_it_ended) {
  budget memory(1 << 20);
  for (int i = 0; i < 3; ++i) {
    std::optional<asked<0>> pools[3];
    for (auto& pool : pools) pool.emplace(resource_store{&memory}), pool->reserve(10);
    pools[i].reset();
    BOOST_TEST(reclaim_all() == 2 * chunk_bytes<asked<0>>());
  }
  BOOST_TEST(reclaim_all() == 0u);
}

// ---- who asks whom ----------------------------------------------------------------------------------------------------------

using shared = std::tuple<mutex_locking<>, grouped_locking<crew, std::mutex>, thread_cached<>>;
using confined = std::tuple<no_locking, grouped_locking<crew>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(any_thread_asks_pools_that_have_a_lock, locking, shared) {
  budget memory(1 << 20);
  asked<0, locking> pool{resource_store{&memory}};
  fill_and_empty(pool);
  std::size_t bytes = 0;
  std::thread([&] { bytes = reclaim_all(); }).join();
  // With thread_cached they wait in this thread's magazine.
  if constexpr (!std::is_same_v<locking, thread_cached<>>) BOOST_TEST(bytes != 0u);
  BOOST_TEST((bytes + reclaim_all()) == chunk_bytes<asked<0>>());
  BOOST_TEST(pool.capacity() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(pools_without_a_lock_are_asked_by_the_thread_that_was_there_last, locking, confined) {
  budget memory(1 << 20);
  asked<0, locking> pool{resource_store{&memory}};
  fill_and_empty(pool);
  std::size_t others = 1;
  std::thread([&] { others = reclaim_all(); }).join();
  BOOST_TEST(others == 0u);
  BOOST_TEST(pool.capacity() == 10u);
  std::size_t own = 0;
  std::thread([&] {  // the pool moves to another thread
    pool.reserve(20);
    own = reclaim_all();
  }).join();
  BOOST_TEST(own == 2 * chunk_bytes<decltype(pool)>());
  pool.reserve(10);
  BOOST_TEST(reclaim_all() != 0u);
}

BOOST_AUTO_TEST_CASE(lock_free_asks_but_is_not_asked) {
  const std::size_t chunk = chunk_bytes<asked<0>>();
  budget memory(16 * chunk);
  asked<0> rich{resource_store{&memory}};
  rich.reserve(100);
  asked<0, lock_free> poor{resource_store{&memory}};
  std::vector<void*> blocks;
  while (void* const block = poor.try_allocate()) blocks.push_back(block);
  BOOST_TEST(rich.capacity() == 0u);
  poor.deallocate_batch(blocks);
  const std::size_t capacity = poor.capacity();
  BOOST_TEST(reclaim_all() == 0u);
  BOOST_TEST(poor.capacity() == capacity);
}

BOOST_AUTO_TEST_CASE(under_a_group_guard_pools_of_the_group_are_asked_and_others_still_can_be) {
  using grouped = asked<0, grouped_locking<crew, std::mutex>>;
  budget memory(2 * chunk_bytes<grouped>());
  grouped rich{resource_store{&memory}};
  grouped poor{resource_store{&memory}};
  rich.reserve(20);
  const group_guard<crew> guard;
  void* const block = poor.try_allocate();
  BOOST_REQUIRE(block != nullptr);
  BOOST_TEST(rich.capacity() == 0u);
  std::size_t bytes = 1;
  std::thread([&] { bytes = reclaim_all(); }).join();  // doesn't wait for the group
  BOOST_TEST(bytes == 0u);
  poor.deallocate(block);
}

// ---- user code --------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_store_may_ask_while_its_pool_grows_and_that_pool_stays_alone) {
  const test::alarm_clock patience(600);
  budget memory(1 << 20), inner(1 << 20);
  const auto grow = [&]<class Locking>(std::type_identity<Locking>) {
    asked<0, Locking> other{resource_store{&inner}};
    asked<0, Locking> pool{resource_store{&memory}};
    pool.reserve(10);
    other.reserve(10);
    std::size_t calls = 0;
    memory.on_allocate = [&] {
      const std::size_t before = memory.given_back();
      const std::size_t bytes = reclaim_all();
      BOOST_TEST(memory.given_back() == before);  // never two calls of a store at once
      // The other pool's.
      if (calls++ == 0 && !std::is_same_v<Locking, grouped_locking<crew, std::mutex>>) BOOST_TEST(bytes != 0u);
    };
    BOOST_TEST(pool.try_reserve(30));
    memory.on_allocate = nullptr;
    BOOST_TEST(calls >= 2u);
    BOOST_TEST(pool.capacity() == 30u);
  };
  grow(std::type_identity<no_locking>{});
  grow(std::type_identity<mutex_locking<>>{});
  grow(std::type_identity<mutex_locking<std::recursive_mutex>>{});
  grow(std::type_identity<grouped_locking<crew, std::mutex>>{});
  grow(std::type_identity<thread_cached<>>{});
}

BOOST_AUTO_TEST_CASE(a_store_is_called_again_if_a_pool_that_was_asked_is_busy) {
  const test::alarm_clock patience(600);
  budget memory(0);
  asked<0, mutex_locking<>> busy{resource_store{&memory}}, poor{resource_store{&memory}};
  std::atomic<bool> is_at_store = false, may_go = false;
  std::size_t calls = 0;
  memory.on_allocate = [&, me = std::this_thread::get_id()] {
    if (std::this_thread::get_id() == me) {
      if (++calls == 2) memory.add(1 << 20);  // as if the other pool had given something back meanwhile
      return;
    }
    is_at_store = true;
    while (!may_go) std::this_thread::yield();
  };
  std::thread other([&] { busy.try_reserve(10); });
  while (!is_at_store) std::this_thread::yield();
  void* const block = poor.try_allocate();
  BOOST_TEST(block != nullptr);
  BOOST_TEST(calls == 2u);
  may_go = true;
  other.join();
  if (block != nullptr) poor.deallocate(block);
}

BOOST_AUTO_TEST_CASE(stores_are_called_with_the_register_unlocked) {
  const test::alarm_clock patience(600);
  budget memory(1 << 20), inner(1 << 20);
  asked<0, mutex_locking<>> pool{resource_store{&memory}};
  pool.reserve(30);
  std::size_t made = 0;
  memory.on_deallocate = [&](std::size_t) {
    asked<0> shortlived{resource_store{&inner}};
    shortlived.reserve(10);  // enters the register
    BOOST_TEST(reclaim_all() != 0u);
    std::thread([] { reclaim_all(); }).join();
    ++made;
  };
  BOOST_TEST(reclaim_all() != 0u);
  memory.on_deallocate = nullptr;
  BOOST_TEST(made == 3u);
}

// ---- a pool whose owner looks through its blocks ---------------------------------------------------------------------------

/// Asks all pools, by this thread and by another.
std::size_t ask_all() {
  std::size_t bytes = reclaim_all();
  std::thread([&] { bytes += reclaim_all(); }).join();
  return bytes;
}

/// Asks all pools at its end.
struct asker {
  explicit asker(std::size_t& found) : bytes(&found) {}
  ~asker() { *bytes += ask_all(); }
  std::size_t* bytes;
  std::size_t canary = 4711;
};

template <class Locking>
using askers = object_pool<asker, Locking, fixed_growth<10>, resource_store, reclaim_and_retry<>>;
using walked = std::tuple<no_locking, mutex_locking<>, thread_cached<>, grouped_locking<struct walkers, tarn::mutex>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_pool_is_not_asked_while_its_objects_are_visited, locking, walked) {
  budget memory(1 << 20);
  asked<0, mutex_locking<>> in_front{resource_store{&memory}};  // a walk through the list comes here first, and gets nothing
  void* const block = in_front.allocate();
  std::size_t bytes = 0;
  {
    askers<locking> pool{resource_store{&memory}};
    for (int i = 0; i < 25; ++i) (void)pool.construct(bytes);
    pool.blocks().reserve(40);  // a chunk of which nothing is in use
    std::size_t seen = 0;
    pool.for_each([&](asker& one) {
      if (++seen == 3) BOOST_TEST(ask_all() == 0u);
      BOOST_TEST(one.canary == 4711u);
    });
    BOOST_TEST(seen == 25u);
    BOOST_TEST(pool.blocks().capacity() == 40u);
    pool.blocks().reserve(100);
    BOOST_TEST(ask_all() > 0u);  // afterwards it is asked as before, at least by this thread
    pool.blocks().reserve(60);
    pool.clear();
    BOOST_TEST(bytes == 0u);
    BOOST_TEST(ask_all() > 0u);
    for (int i = 0; i < 25; ++i) (void)pool.construct(bytes);
  }
  BOOST_TEST(bytes == 0u);  // nor when it ends
  in_front.deallocate(block);
}

BOOST_AUTO_TEST_CASE(an_owner_that_visits_its_objects_may_trim) {
  budget memory(1 << 20);
  using numbers = object_pool<std::size_t, fixed_growth<10>, resource_store>;
  numbers pool{resource_store{&memory}};
  std::vector<std::size_t*> all;
  for (std::size_t i = 0; i != 100; ++i) all.push_back(pool.construct(i));
  for (std::size_t i = 0; i < 100; i += 3) pool.destroy(all[i]);
  std::size_t sum = 0;
  pool.for_each([&](std::size_t& number) {
    pool.blocks().trim();
    sum += number;
  });
  BOOST_TEST(sum == 3267u);  // 1 + 2 + 4 + 5 + 7 ...
}

std::size_t asked_in_report = 0;

BOOST_AUTO_TEST_CASE(a_pool_that_ends_is_not_asked_while_it_looks_for_leaks) {
  budget memory(1 << 20);
  asked_in_report = 0;
  const auto before = set_misuse_handler([](const misuse& what) noexcept {
    if (what.kind == misuse_kind::leak) asked_in_report = 1 + ask_all();
  });
  {
    using pool_type = pool<static_size<64>, mutex_locking<>, fixed_growth<10>, resource_store, reclaim_and_retry<>, hardened>;
    pool_type pool{resource_store{&memory}};
    pool.reserve(20);
    BOOST_TEST(pool.allocate() != nullptr);
  }
  set_misuse_handler(before);
  BOOST_TEST(asked_in_report == 1u);
}

// ---- many threads ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(pools_come_and_go_while_they_are_asked) {
  constexpr int lives = 200;
  const test::alarm_clock patience(600);
  budget memory(1 << 24);
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> bytes = 0, rounds = 0;
  std::vector<std::thread> askers;
  for (int t = 0; t < 2; ++t)
    askers.emplace_back([&] {
      while (!stop) bytes += reclaim_all(), ++rounds;
    });
  std::vector<std::thread> owners;
  for (int t = 0; t < 2; ++t)
    owners.emplace_back([&] {
      for (int i = 0; i < lives; ++i) {
        asked<1, mutex_locking<>> a{resource_store{&memory}};
        asked<0, thread_cached<>> b{resource_store{&memory}};
        asked<2> c{resource_store{&memory}};
        for (int k = 0; k < 5; ++k) fill_and_empty(a), fill_and_empty(b), fill_and_empty(c);
        if (i % 4 == 0)
          while (a.capacity() != 0) std::this_thread::yield();  // an asker comes by
      }
    });
  for (std::thread& t : owners) t.join();
  stop = true;
  for (std::thread& t : askers) t.join();
  std::printf("%zu rounds of reclaim_all() got %zu bytes from 1200 pools that came and went\n", rounds.load(), bytes.load());
  const std::size_t met = 2 * lives / 4 * chunk_bytes<asked<1, mutex_locking<>>>();
  BOOST_TEST(bytes >= met);
  BOOST_TEST(memory.left() == 1 << 24);
}

BOOST_AUTO_TEST_CASE(threads_that_all_ran_dry_ask_each_other_and_nobody_hangs) {
  const test::alarm_clock patience(600);
  using thrifty = asked<0, mutex_locking<>>;
  const std::size_t chunk = chunk_bytes<thrifty>();
  budget memory(24 * chunk);
  std::atomic<std::size_t> got = 0, failed = 0, lost = 0;
  std::vector<std::thread> threads;
  {
    std::vector<std::unique_ptr<thrifty>> pools;
    for (int i = 0; i < 4; ++i) pools.push_back(std::make_unique<thrifty>(resource_store{&memory}));
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::vector<void*> blocks;
        for (int i = 0; i < 3000 || memory.refused() <= 500 || memory.given_back() <= 500; ++i) {
          thrifty& pool = *pools[static_cast<std::size_t>(t + i) % 4];
          for (int n = i % 100; n-- > 0;) {
            void* const block = pool.try_allocate();
            if (block == nullptr) {
              ++failed;
              break;
            }
            std::memset(block, t + 1, 64);
            blocks.push_back(block);
          }
          got += blocks.size();
          for (void* const block : blocks) {
            const auto* const bytes = static_cast<const unsigned char*>(block);
            lost += bytes[0] != t + 1 || bytes[63] != t + 1;
            pool.deallocate(block);
          }
          blocks.clear();
        }
      });
    for (std::thread& t : threads) t.join();
    std::printf("%zu blocks, %zu refused by the store, %zu failed, %zu chunks went round\n", got.load(), memory.refused(),
                failed.load(), memory.given_back());
    BOOST_TEST(lost == 0u);
    BOOST_TEST(memory.refused() > 500u);
    BOOST_TEST(memory.given_back() > 500u);
  }
  BOOST_TEST(memory.left() == long(24 * chunk));
}

BOOST_AUTO_TEST_CASE(a_child_can_end_a_pool_that_was_being_asked_at_its_store) {
  const test::alarm_clock patience(600);
  budget memory(1 << 20);
  std::optional<asked<0, mutex_locking<>>> pool{std::in_place, resource_store{&memory}};
  pool->reserve(10);
  std::atomic<bool> is_at_store = false, may_go = false;
  memory.on_deallocate = [&](std::size_t) {
    is_at_store = true;
    while (!may_go) std::this_thread::yield();
  };
  std::thread asker([] { reclaim_all(); });
  while (!is_at_store) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);
    pool.reset();  // whoever is asking it isn't there
    _exit(0);
  }
  may_go = true;
  asker.join();
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  memory.on_deallocate = nullptr;
}

BOOST_AUTO_TEST_CASE(a_child_that_a_store_forked_is_still_at_the_store) {
  const test::alarm_clock patience(600);
  budget memory(1 << 20);
  asked<0, mutex_locking<>> pool{resource_store{&memory}};
  pool.reserve(10);
  int status = -1;
  memory.on_allocate = [&] {
    const pid_t child = fork();
    if (child == 0) {
      alarm(100);
      std::size_t bytes = 1;
      std::thread([&] { bytes = reclaim_all(); }).join();
      _exit(bytes == 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
  };
  pool.reserve(20);
  memory.on_allocate = nullptr;
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  BOOST_TEST(reclaim_all() != 0u);
}

BOOST_AUTO_TEST_CASE(static_pools_are_asked_too) {
  struct tag;
  auto& pool = static_pool<tag, static_size<64>, mutex_locking<>, fixed_growth<10>, reclaim_and_retry<>>::instance();
  BOOST_TEST(reclaim_all() == 0u);
  pool.reserve(10);
  BOOST_TEST(reclaim_all() != 0u);
  BOOST_TEST(pool.capacity() == 0u);
}

}  // namespace
