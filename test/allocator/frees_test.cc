// A free needs no memory and asks no store for any, under every policy: while a thread frees, malloc, mmap and operator new
// count each call, and so do stores. Stores are called only to give a chunk back, where a policy says so. For products:
// products_*_test.cc.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <random>
#include <span>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/allocator/replaced_malloc.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/tested_pools.h"

namespace {
constinit thread_local bool frees = false;
constinit thread_local std::size_t taken = 0;  // memory that was asked for meanwhile, in calls
constinit thread_local std::size_t given = 0;  // memory given back meanwhile
}  // namespace
void tarn::test::on_malloc() noexcept { taken += frees; }
void tarn::test::on_free() noexcept { given += frees; }

extern "C" {
void* mmap(void* at, std::size_t n, int protection, int flags, int file, off_t offset) noexcept {
  taken += frees;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, file, offset));
}
int munmap(void* at, std::size_t n) noexcept {
  given += frees;
  return static_cast<int>(syscall(SYS_munmap, at, n));
}
}

namespace tarn::test {
namespace {

struct calls {
  std::size_t taken, given;
};
/// The calls for memory that `action` makes, of this thread.
template <class Action>
calls during_frees(Action action) {
  taken = given = 0;
  frees = true;
  action();
  frees = false;
  return {taken, given};
}
template <class T>
[[gnu::noinline]] T* seen(T* object) noexcept {
  asm volatile("" : "+r"(object) : : "memory");
  return object;
}

BOOST_AUTO_TEST_CASE(a_call_for_memory_is_counted) {
  const calls with_malloc = during_frees([] { std::free(seen(std::malloc(1))); });
  BOOST_TEST(with_malloc.taken == 1u);
  BOOST_TEST(with_malloc.given == 1u);
  const calls with_new = during_frees([] { ::operator delete(seen(::operator new(1))); });
  BOOST_TEST(with_new.taken == 1u);
  const calls with_pages =
      during_frees([] { munmap(seen(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), 4096); });
  BOOST_TEST(with_pages.taken == 1u);
  BOOST_TEST(with_pages.given == 1u);
  pool<static_size<64>> pool;
  const calls with_pool = during_frees([&] { pool.deallocate(seen(pool.allocate())); });
  BOOST_TEST(with_pool.taken == 1u);
}

// ---- every composition -----------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_free_of_any_pool_needs_no_memory, tested_pools(), is) {
  const auto rig = is.make();
  std::vector<void*> blocks;
  for (void* b = nullptr; blocks.size() != 2000 && (b = rig->pool.try_allocate()) != nullptr;) blocks.push_back(b);
  REQUIRE(blocks.size() > 400);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(seed()));
  const std::size_t asked = rig->upstream.calls();
  const std::size_t regions = rig->upstream.regions();
  const auto own = std::span(blocks).first(blocks.size() / 2);
  const calls here = during_frees([&] {
    for (void* const b : own.first(own.size() / 2)) rig->pool.deallocate(b);
    rig->pool.deallocate_batch(own.subspan(own.size() / 2));
  });
  CHECK(here.taken == 0);
  CHECK((here.given == 0 || is.returns_chunks));
  CHECK(rig->upstream.calls() == asked);
  CHECK((rig->upstream.regions() == regions || is.returns_chunks));
  for (std::size_t i = own.size(); i != blocks.size(); ++i) {  // the rest, with an allocation between
    const calls one = during_frees([&] { rig->pool.deallocate(blocks[i]); });
    CHECK(one.taken == 0);
    CHECK((one.given == 0 || is.returns_chunks));
    if (i % 3 == 0) rig->pool.deallocate(rig->pool.try_allocate());
  }
}

// ---- every mutex, and threads that free what another one allocated ---------------------------------------------------------

/// The heap; but while the thread frees, nothing is to be had, and nothing is taken back unless `Returns`.
template <bool Returns>
struct closed_store : heap_store {
  template <class Traits>
  struct source : heap_store::source<Traits> {
    using heap = heap_store::source<Traits>;
    constexpr explicit source(const closed_store& s) noexcept : heap(s) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      if (frees) std::abort();
      return heap::acquire(bytes, alignment);
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      if (frees && !Returns) std::abort();
      heap::release(region, alignment);
    }
  };
};
/// A mutex that can only be locked.
class stubborn {
 public:
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};
struct crew;
template <class Locking, bool Returns>
using closed = pool<static_size<64>, Locking, closed_store<Returns>, fixed_growth<20>,
                    std::conditional_t<Returns, return_empty_chunks<0, 0>, keep_chunks>, fall_back_to<closed_store<Returns>>>;
using pools_of_threads =
    std::tuple<closed<mutex_locking<stubborn>, false>, closed<mutex_locking<spin_mutex>, true>,
               closed<mutex_locking<thread_aware_mutex>, false>, closed<grouped_locking<crew, stubborn>, true>,
               closed<lock_free, false>, closed<thread_cached<16, 14>, true>, closed<thread_cached<64, 14>, false>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_free_of_any_thread_asks_no_store, Pool, pools_of_threads) {
  Pool pool;
  std::vector<void*> blocks(5000);
  for (int round = 0; round != 2; ++round) {
    for (void*& b : blocks) b = pool.allocate();
    for (int threads = 0; threads != 2; ++threads) {
      std::thread([&] {
        pool.deallocate(pool.allocate());  // a thread whose first call is a free is another matter
        const calls made = during_frees([&] {
          for (std::size_t i = 0; i != 1000; ++i) pool.deallocate(blocks.back()), blocks.pop_back();
          pool.deallocate_batch(std::span(blocks).last(1000));
        });
        BOOST_TEST(made.taken == 0u);
        blocks.resize(blocks.size() - 1000);
      }).join();
    }
    const calls made = during_frees([&] { pool.deallocate_batch(blocks); });
    BOOST_TEST(made.taken == 0u);
    blocks.resize(5000);
  }
}

}  // namespace
}  // namespace tarn::test
