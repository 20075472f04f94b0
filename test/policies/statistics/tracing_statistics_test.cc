// What a sink hears is what the program did, whatever way blocks and chunks come and go.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

/// Keeps what it hears. Nothing of it allocates through a pool.
struct notes {
  static void on_event(const trace_event& event) noexcept {
    const std::scoped_lock alone(mutex);
    events.push_back(event);
  }
  static std::vector<trace_event> take() {
    const std::scoped_lock alone(mutex);
    return std::exchange(events, {});
  }
  static inline std::mutex mutex;
  static inline std::vector<trace_event> events;
};
using traced = tracing_statistics<notes>;

std::size_t number(const std::vector<trace_event>& events, trace_kind kind) {
  std::size_t n = 0;
  for (const auto& event : events) n += event.kind == kind ? 1 : 0;
  return n;
}

/// What events say of the pools: blocks in use and chunks. Checks that none contradicts the ones before.
struct replay {
  std::map<const void*, std::size_t> in_use;  // bytes by address
  std::map<const void*, std::size_t> chunks;
  std::size_t refusals = 0;
  std::size_t wrong = 0;

  void hear(const trace_event& event) {
    switch (event.kind) {
      case trace_kind::allocate:
        wrong += in_use.emplace(event.address, event.bytes).second ? 0 : 1;
        break;
      case trace_kind::free:
        wrong += in_use.count(event.address) != 0 && in_use[event.address] == event.bytes ? 0 : 1;
        in_use.erase(event.address);
        break;
      case trace_kind::grow:
        wrong += chunks.emplace(event.address, event.bytes).second ? 0 : 1;
        break;
      case trace_kind::give_back:
        wrong += chunks.count(event.address) != 0 && chunks[event.address] == event.bytes ? 0 : 1;
        chunks.erase(event.address);
        break;
      case trace_kind::refuse:
        ++refusals;
        break;
      case trace_kind::release:
        in_use.clear();
        break;
    }
  }
  void hear() {
    for (const auto& event : notes::take()) hear(event);
  }
};

template <class... Policies>
void hear_all(called_from = {}) {
  upstream memory;
  notes::take();
  replay heard;
  std::set<const void*> ours;
  {
    pool<static_size<48>, traced, resource_store, Policies...> pool{resource_store{&memory}};
    const auto compare = [&] {
      heard.hear();
      CHECK(heard.wrong == 0u);
      std::set<const void*> theirs;
      for (const auto& [address, bytes] : heard.in_use) {
        theirs.insert(address);
        CHECK(bytes == 48u);
      }
      CHECK((theirs == ours));
    };
    std::mt19937 random(7);
    std::vector<void*> held;
    for (int step = 0; step != 4000; ++step) {
      const auto what = random() % 8;
      if (what < 4 || held.empty()) {
        held.push_back(what % 2 == 0 ? pool.allocate() : pool.try_allocate());
        ours.insert(held.back());
      } else if (what < 6) {
        const std::size_t i = random() % held.size();
        pool.deallocate(held[i]);
        ours.erase(held[i]);
        held[i] = held.back();
        held.pop_back();
      } else if (what == 6) {
        std::array<void*, 20> batch;
        pool.allocate_batch(batch);
        held.insert(held.end(), batch.begin(), batch.end());
        ours.insert(batch.begin(), batch.end());
      } else {
        const std::size_t n = held.size() < 20 ? held.size() : 20;
        pool.deallocate_batch(std::span(held).last(n));
        for (std::size_t i = 0; i != n; ++i) ours.erase(held[held.size() - 1 - i]);
        held.resize(held.size() - n);
      }
      if (step % 200 == 0) compare();
    }
    compare();
    CHECK(!heard.chunks.empty());
    CHECK(heard.refusals == 0u);
    // What fails, fails once, and takes nothing.
    memory.fail(1, failing::for_ever);
    while (void* const block = pool.try_allocate()) {
      held.push_back(block);
      ours.insert(block);
    }
    compare();
    CHECK(heard.refusals == 1u);
    std::array<void*, 3> none;
    BOOST_CHECK_THROW(pool.allocate_batch(none), std::bad_alloc);
    compare();
    CHECK(heard.refusals == 2u);
    pool.deallocate_batch(std::span(held).first(held.size() / 2));
    for (std::size_t i = 0; i != held.size() / 2; ++i) ours.erase(held[i]);
    compare();
    if constexpr (requires { pool.release(); }) {
      pool.release();
      ours.clear();
      compare();
      CHECK(heard.chunks.empty());
      ours.insert(pool.try_allocate());
      ours.erase(nullptr);
    }
  }
  heard.hear();
  CHECK(heard.wrong == 0u);
  CHECK(heard.chunks.empty());
  CHECK(heard.in_use.empty());
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_every_policy_does_is_heard) {
  hear_all<mutex_locking<>, hardened, lifo_reuse<>>();
  hear_all<thread_cached<>, grow_ahead<100>>();
  hear_all<lock_free, checked>();
  hear_all<deferred_checking, page_local_reuse<>>();
  hear_all<sampled_guard_pages<3>>();
  hear_all<page_local_reuse<>, return_empty_chunks<0, 0>, checked>();
}

BOOST_AUTO_TEST_CASE(counts_besides) {
  notes::take();
  pool<static_size<64>, tracing_statistics<notes, counting_statistics>, thread_cached<>> pool;
  std::vector<void*> blocks(200);
  pool.allocate_batch(blocks);
  for (void* const block : blocks) pool.deallocate(block);
  CHECK(pool.statistics().allocations == 200u);
  CHECK(pool.statistics().in_use == 0u);
  const auto events = notes::take();
  CHECK(number(events, trace_kind::allocate) == 200u);
  CHECK(number(events, trace_kind::free) == 200u);
}

BOOST_AUTO_TEST_CASE(a_bounded_pool_refuses) {
  notes::take();
  pool<static_size<64>, static_array_store<3>, traced> pool;
  void* blocks[3];
  for (void*& block : blocks) block = pool.allocate();
  CHECK(pool.try_allocate() == nullptr);
  BOOST_CHECK_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
  CHECK(pool.try_allocate_batch(std::span<void*>(blocks).first(0)) == 0u);
  const auto events = notes::take();
  CHECK(number(events, trace_kind::allocate) == 3u);
  CHECK(number(events, trace_kind::refuse) == 2u);
  CHECK(events.back().bytes == 64u);
  CHECK(events.back().address == nullptr);
  pool.deallocate_batch(blocks);
  CHECK(number(notes::take(), trace_kind::free) == 3u);
  CHECK(!pool.try_reserve_blocks(4));
  const auto reserving = notes::take();
  CHECK(number(reserving, trace_kind::allocate) == 3u);
  CHECK(number(reserving, trace_kind::free) == 3u);
  CHECK(number(reserving, trace_kind::refuse) == 1u);
}

void say_nothing(const misuse&) noexcept {}
BOOST_AUTO_TEST_CASE(a_refused_free_is_none) {
  notes::take();
  pool<static_size<64>, traced, hardened_with<reported_to<say_nothing>>> pool;
  void* const block = pool.allocate();
  pool.deallocate(block);
  pool.deallocate(block);
  const auto events = notes::take();
  CHECK(number(events, trace_kind::allocate) == 1u);
  CHECK(number(events, trace_kind::free) == 1u);
}

BOOST_AUTO_TEST_CASE(a_reservation_is_heard) {
  notes::take();
  replay heard;
  pool<static_size<64>, traced> pool;
  auto some = pool.try_reserve_blocks(10);
  heard.hear();
  CHECK(heard.in_use.size() == 10u);
  void* const block = some.allocate();
  some = {};
  heard.hear();
  CHECK(heard.in_use.size() == 1u);
  pool.deallocate(block);
  heard.hear();
  CHECK(heard.in_use.empty());
  CHECK(heard.wrong == 0u);
}

struct tag;
BOOST_AUTO_TEST_CASE(products_pass_it_on) {
  notes::take();
  {
    object_pool<long, traced> objects;
    long* const one = objects.construct(1);
    static_cast<void>(objects.construct(2));
    objects.destroy(one);
    objects.clear();
    replay heard;
    heard.hear();
    CHECK(heard.in_use.empty());
    CHECK(heard.wrong == 0u);
  }
  notes::take();
  {
    size_class_pool<traced> sizes;
    void* const small = sizes.allocate(20);
    void* const other = sizes.allocate(200);
    sizes.deallocate(small, 20);
    sizes.deallocate(other, 200);
    const auto events = notes::take();
    CHECK(number(events, trace_kind::allocate) == 2u);
    CHECK(number(events, trace_kind::free) == 2u);
  }
  notes::take();
  auto& shared = static_pool<tag, static_size<64>, traced>::instance();
  shared.deallocate(shared.allocate());
  CHECK(number(notes::take(), trace_kind::free) == 1u);
}

// A block that one thread frees and another is handed: the free is heard first, under every locking policy.
template <class Locking>
void hear_threads() {
  notes::take();
  replay heard;
  {
    pool<static_size<64>, traced, Locking> pool;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != 4; ++t)
      threads.emplace_back([&pool, t] {
        std::mt19937 random(t);
        std::vector<void*> held;
        for (int i = 0; i != 3000; ++i) {
          if (random() % 2 == 0 || held.empty()) {
            held.push_back(pool.allocate());
          } else {
            pool.deallocate(held.back());
            held.pop_back();
          }
        }
        for (void* const block : held) pool.deallocate(block);
      });
    for (auto& thread : threads) thread.join();
    heard.hear();
    CHECK(heard.in_use.empty());
  }
  heard.hear();
  CHECK(heard.wrong == 0u);
}
BOOST_AUTO_TEST_CASE(a_free_is_heard_before_the_block_comes_again) {
  hear_threads<mutex_locking<>>();
  hear_threads<thread_cached<>>();
  hear_threads<lock_free>();
}

}  // namespace tarn::test
