// Eight threads at pools of every kind that share a budget: the store under it, which counts exactly, never has a byte more out
// than the limit; and threads that meet at the store.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/test/policies/store/exact_store.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

constexpr unsigned threads = 8;

template <class Work>
void in_parallel(Work work) {
  std::barrier start(threads);
  std::vector<std::thread> all;
  for (unsigned i = 0; i != threads; ++i)
    all.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  for (std::thread& one : all) one.join();
}

std::atomic<int> told = 0;
void count_calls(memory_budget&, void*) noexcept { ++told; }

constinit bytes_out out;
constinit memory_budget process{1'100'000, 800'000, count_calls};
constinit memory_budget subsystem{500'000, 300'000, count_calls};
template <class Inner>
using in_process = budgeted<exact_store<Inner, out>, &process>;
using in_subsystem = budgeted<in_process<page_store<>>, &subsystem>;

struct item {
  int numbers[30] = {};
};

/// Blocks of one thread, of several pools.
template <class Take, class Give>
void churn(std::mt19937& random, Take take, Give give) {
  std::vector<decltype(take())> blocks;
  for (std::size_t n = random() % 1500; n != 0; --n) {
    const auto block = take();
    if (block == nullptr) break;
    blocks.push_back(block);
  }
  for (const auto block : blocks) give(block);
}

BOOST_AUTO_TEST_SUITE(budgeted_by_threads)

BOOST_AUTO_TEST_CASE(no_byte_is_had_above_the_limit) {
  const int rounds = std::getenv("TARN_NIGHTLY") != nullptr ? 3000 : 300;
  {
    pool<static_size<64>, in_process<heap_store>, mutex_locking<>, page_local_reuse<>, return_empty_chunks<0, 0>> returning;
    pool<static_size<200>, in_subsystem, thread_cached<>> cached;
    pool<static_size<500>, in_subsystem, mutex_locking<>, reclaim_and_retry<>> reclaiming;
    object_pool<item, in_subsystem, mutex_locking<>> objects;
    size_class_pool<in_process<heap_store>, mutex_locking<>> sizes;
    pool<static_size<128>, in_process<heap_store>, lock_free> fixed;
    in_parallel([&](unsigned thread) {
      std::mt19937 random(thread);
      for (int i = 0; i != rounds; ++i) {
        switch (random() % 6) {
          case 0: churn(random, [&] { return returning.try_allocate(); }, [&](void* b) { returning.deallocate(b); }); break;
          case 1: churn(random, [&] { return cached.try_allocate(); }, [&](void* b) { cached.deallocate(b); }); break;
          case 2: churn(random, [&] { return reclaiming.try_allocate(); }, [&](void* b) { reclaiming.deallocate(b); }); break;
          case 3: churn(random, [&] { return objects.try_construct(); }, [&](item* b) { objects.destroy(b); }); break;
          case 4: {
            const std::size_t bytes = random() % 9000;
            churn(random, [&] { return sizes.try_allocate(bytes); }, [&](void* b) { sizes.deallocate(b, bytes); });
            break;
          }
          default: churn(random, [&] { return fixed.try_allocate(); }, [&](void* b) { fixed.deallocate(b); });
        }
        if (random() % 4 != 0) continue;
        cached.trim();
        reclaiming.trim();
        objects.blocks().trim();
        sizes.trim();
      }
    });
    CHECK(out.most <= process.limit());
    CHECK(process.peak() <= out.most);
    CHECK(process.refused() != 0);
    CHECK(subsystem.peak() <= subsystem.limit());
    CHECK(subsystem.refused() != 0);
    CHECK(process.used() == out.now);
    CHECK(process.left() == process.limit() - out.now);
    CHECK(told != 0);
  }
  CHECK(out.now == 0);
  CHECK(process.used() == 0);
  CHECK(process.left() == process.limit());
  CHECK(subsystem.used() == 0);
  CHECK(subsystem.left() == subsystem.limit());
}

/// A store at which threads meet.
std::function<void()> at_acquire, at_release;
struct meeting_store : heap_store {
  static constexpr store_traits traits{};
  template <class Traits>
  struct source : heap_store::source<Traits> {
    using inner = heap_store::source<Traits>;
    using inner::inner;
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      at_acquire();
      return inner::acquire(bytes, alignment);
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      at_release();
      inner::release(region, alignment);
    }
  };
};

BOOST_AUTO_TEST_CASE(what_a_store_is_being_asked_for_is_charged) {
  at_acquire = at_release = [] {};
  memory_budget budget(unlimited);
  using store = budgeted<meeting_store>;
  std::size_t chunk = 0;
  {
    pool<static_size<64>, store, fixed_growth<10>> measured{store{budget}};
    static_cast<void>(measured.allocate());
    chunk = budget.used();
  }
  budget.set_limit(2 * chunk - 1);  // for one
  pool<static_size<64>, store, fixed_growth<10>> one{store{budget}}, other{store{budget}};
  std::barrier meet(2);
  std::atomic<int> asked = 0;
  at_acquire = [&] {
    if (++asked != 1) return;
    meet.arrive_and_wait();
    meet.arrive_and_wait();
  };
  std::thread first([&] { static_cast<void>(one.allocate()); });
  meet.arrive_and_wait();  // it is at the store
  CHECK(budget.used() == 0);
  CHECK(budget.left() == chunk - 1);
  CHECK(other.try_allocate() == nullptr);
  CHECK(asked == 1);
  meet.arrive_and_wait();
  first.join();
  CHECK(budget.used() == chunk);

  // And while it goes back.
  at_release = [&] {
    meet.arrive_and_wait();
    meet.arrive_and_wait();
  };
  std::thread second([&] { one.release(); });
  meet.arrive_and_wait();
  CHECK(budget.used() == chunk);
  CHECK(other.try_allocate() == nullptr);
  meet.arrive_and_wait();
  second.join();
  at_release = [] {};
  CHECK(other.try_allocate() != nullptr);
  other.release();
  CHECK(budget.used() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tarn::test
