// The synchronized pool resource with many threads: what they leave, and calls of upstream. Blocks that change hands:
// test/stress/many_sizes_test.cc.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

using resource_type = tarn::pmr::synchronized_pool_resource;
constexpr std::size_t threads_at_once = 4;

std::pmr::pool_options small_chunks() {
  std::pmr::pool_options options;
  options.max_blocks_per_chunk = 5;
  options.largest_required_pool_block = 1000;
  return options;
}

/// Runs body(thread's number) on so many threads, all at once.
template <class Body>
void in_threads(std::size_t n, Body body) {
  std::barrier start(static_cast<std::ptrdiff_t>(n));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < n; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      body(t);
    });
  for (std::thread& thread : threads) thread.join();
}

BOOST_AUTO_TEST_CASE(no_thread_gets_what_another_threads_request_threw) {
  class tired final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t, std::size_t) override { throw std::this_thread::get_id(); }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  } upstream;
  resource_type resource(&upstream);
  std::atomic<int> wrong = 0;
  in_threads(threads_at_once, [&](std::size_t t) {
    for (std::size_t i = 0; i < 200; ++i) {
      try {
        static_cast<void>(resource.allocate(i % 2 == 0 ? 16 * (t + 1) : 100'000));
        ++wrong;
      } catch (std::thread::id asker) {
        if (asker != std::this_thread::get_id()) ++wrong;
      } catch (const std::bad_alloc&) {  // two threads failed at once
      }
    }
  });
  CHECK(wrong == 0);
}

struct parcel {
  void* block;
  std::size_t bytes;
  unsigned char stamp;
};

parcel pack(std::pmr::memory_resource& resource, std::size_t bytes, std::size_t stamp) {
  parcel p{resource.allocate(bytes, 8), bytes, static_cast<unsigned char>(stamp)};
  std::memset(p.block, p.stamp, bytes);
  return p;
}
bool is_whole(const parcel& p) {
  const auto* const at = static_cast<const unsigned char*>(p.block);
  return at[0] == p.stamp && std::memcmp(at, at + 1, p.bytes - 1) == 0;
}
/// Writes and reads it once more before it is freed.
bool unpack(std::pmr::memory_resource& resource, parcel p) {
  const bool came_whole = is_whole(p);
  p.stamp = static_cast<unsigned char>(~p.stamp);
  std::memset(p.block, p.stamp, p.bytes);
  const bool stayed_whole = is_whole(p);
  resource.deallocate(p.block, p.bytes, 8);
  return came_whole && stayed_whole;
}

BOOST_AUTO_TEST_CASE(mem_res_pool_overview_synchronized_threads_that_come_and_go_leave_no_memory_behind) {
  upstream upstream;
  resource_type resource(&upstream);
  std::size_t after_some = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<parcel> outlive;  // blocks in use when their thread ends: libstdc++ 12 never uses them again
    in_threads(1, [&](std::size_t t) {
      std::vector<parcel> parcels;
      for (std::size_t i = 0; i < 300; ++i)
        (i % 2 == 0 ? parcels : outlive).push_back(pack(resource, 16 + 16 * (i % 13), i + t));
      for (const parcel& p : parcels) CHECK(unpack(resource, p));
    });
    for (const parcel& p : outlive) CHECK(unpack(resource, p));
    // Until then magazines grow with use.
    if (round == 50) after_some = upstream.bytes();
    if (round > 50) REQUIRE(upstream.bytes() == after_some);
  }
  BOOST_TEST(after_some > 0u);
  BOOST_TEST(after_some < 200'000u);  // a thread uses 32 KB
  BOOST_TEST(resource.trim() > 0u);  // nobody's blocks are left in anybody's cache
  BOOST_TEST(upstream.bytes() <= 13 * 4096u);  // the pools themselves
}

/// Counts the calls that come while another is under way, and lets other threads run meanwhile.
class lone final : public std::pmr::memory_resource {
 public:
  upstream from;
  std::atomic<std::size_t> overlaps = 0;

 private:
  struct visit {
    explicit visit(lone& its) : to(its) {
      if (to.inside_.fetch_add(1) != 0) ++to.overlaps;
      for (int i = 0; i < 3; ++i) std::this_thread::yield();
      alone = std::unique_lock(to.mutex_);  // so that an overlap is counted and does no harm
    }
    ~visit() { to.inside_.fetch_sub(1); }
    lone& to;
    std::unique_lock<std::mutex> alone;
  };
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const visit now(*this);
    return from.allocate(bytes, alignment);
  }
  void do_deallocate(void* start, std::size_t bytes, std::size_t alignment) override {
    const visit now(*this);
    from.deallocate(start, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::mutex mutex_;
  std::atomic<int> inside_ = 0;
};

BOOST_AUTO_TEST_CASE(mem_res_pool_overview_synchronized_calls_upstream_from_one_thread_at_a_time) {
  for (const bool fails : {false, true}) {
    lone upstream;
    std::atomic<std::size_t> broken = 0, thrown = 0, trimmed = 0;
    {
      resource_type resource(small_chunks(), &upstream);
      if (fails) upstream.from.fail(3, failing::every_second);
      in_threads(threads_at_once, [&](std::size_t t) {
        for (std::size_t i = 0; i < 100; ++i) {
          std::vector<parcel> parcels;
          for (std::size_t j = 0; j < 15; ++j) {  // other classes than the other threads, the same ones, and large blocks
            const std::size_t bytes = j % 3 == 0 ? 16 + t * 32 : j % 3 == 1 ? 200 : 3000;
            thrown += throws_bad_alloc([&] { parcels.push_back(pack(resource, bytes, i + j + t)); });
          }
          for (const parcel& p : parcels) broken += !unpack(resource, p);
          if (i % 4 == t) trimmed += resource.trim();
        }
      });
      upstream.from.fail(1, failing::never);
      BOOST_TEST(unpack(resource, pack(resource, 100, 1)));
      trimmed += resource.trim();  // now at the latest all is idle
    }
    BOOST_TEST((thrown > 0u) == fails);
    BOOST_TEST(trimmed > 0u);
    BOOST_TEST(broken == 0u);
    BOOST_TEST(upstream.from.calls() >= 1000u);
    BOOST_TEST(upstream.overlaps == 0u);
    BOOST_TEST(upstream.from.bytes() == 0u);
    BOOST_TEST(upstream.from.faults() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(mem_res_pool_overview_synchronized_threads_may_be_the_first_to_want_a_pool) {
  for (int round = 0; round < 100; ++round) {
    lone upstream;
    {
      resource_type resource(small_chunks(), &upstream);
      std::vector<std::vector<parcel>> got(threads_at_once);
      in_threads(threads_at_once, [&](std::size_t t) {
        for (std::size_t i = 0; i < 6; ++i) got[t].push_back(pack(resource, 16 + 16 * i, t * 6 + i));
      });
      std::set<void*> addresses;
      for (const auto& parcels : got)
        for (const parcel& p : parcels) {
          addresses.insert(p.block);
          CHECK(unpack(resource, p));
        }
      CHECK(addresses.size() == 6 * threads_at_once);
      const std::size_t calls = upstream.from.calls();
      for (std::size_t i = 0; i < 6; ++i)
        CHECK(unpack(resource, pack(resource, 16 + 16 * i, i)));  // all of them reached the one pool
      CHECK(upstream.from.calls() == calls);
    }
    REQUIRE(upstream.from.bytes() == 0);
    REQUIRE(upstream.from.faults() == 0);
  }
}

}  // namespace
}  // namespace tarn::test
