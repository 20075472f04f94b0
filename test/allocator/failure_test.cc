// Where a pool has to stop: caps, numbers that can't be, buffers too small, a store that gives small chunks only. What happens
// when any one call of a store fails stands in fault_injection_test.cc.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory_resource>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/upstream.h"
#include "tarn/allocator/pool.h"

namespace tarn::test {
namespace {

// shows: FM-3
BOOST_AUTO_TEST_CASE(a_cap_is_exact) {
  upstream upstream;
  pool<static_size<64>, resource_store, geometric_growth<8, 64, 2, 100>> pool{resource_store{&upstream}};
  std::vector<void*> blocks(100);
  BOOST_TEST(pool.try_allocate_batch(blocks) == 100u);
  BOOST_TEST(pool.try_allocate() == nullptr);
  BOOST_TEST(pool.capacity() == 100u);
}

BOOST_AUTO_TEST_CASE(a_cap_in_bytes_is_exact) {
  upstream upstream;
  pool<dynamic_size, resource_store, geometric_growth<8, 64, 2, unlimited, 6450>> pool{dynamic_size{64, 8},
                                                                                       resource_store{&upstream}};
  std::vector<void*> blocks(101);
  BOOST_TEST(pool.try_allocate_batch(blocks) == 100u);
  BOOST_TEST(pool.capacity() == 100u);
  tarn::pool<static_size<64>, fixed_growth<30, 70, 64 * 50>> fixed;
  BOOST_TEST(fixed.try_allocate_batch(blocks) == 50u);
}

/// Refuses what is larger than it likes.
class modest final : public std::pmr::memory_resource {
 public:
  std::size_t most = 1 << 20;
  int refused = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > most) {
      ++refused;
      throw std::bad_alloc();
    }
    return ::operator new(bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* start, std::size_t, std::size_t alignment) override {
    ::operator delete(start, std::align_val_t{alignment});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

BOOST_AUTO_TEST_CASE(where_a_large_chunk_cannot_be_had_a_smaller_one_is_tried) {
  modest memory;
  pool<static_size<64>, resource_store> pool{resource_store{&memory}};
  pool.reserve(5'000);
  BOOST_TEST(memory.refused == 0);
  memory.most = 20'000;
  std::vector<void*> blocks(pool.capacity() + 2'000);
  pool.allocate_batch(blocks);
  BOOST_TEST(memory.refused > 0);
  memory.most = 1'000;  // less than the first chunk's 4 KiB: that is no longer geometric growth
  std::vector<void*> rest(pool.capacity() - blocks.size());
  pool.allocate_batch(rest);
  BOOST_TEST(pool.try_allocate() == nullptr);
  tarn::pool<static_size<64>, resource_store, fixed_growth<100>> fixed{resource_store{&memory}};
  BOOST_TEST(fixed.try_allocate() == nullptr);  // all of its chunks are alike
}

// shows: FM-1
BOOST_AUTO_TEST_CASE(numbers_that_no_store_can_meet_are_refused) {
  pool<dynamic_size, no_growth<1000>> pool{dynamic_size{static_cast<std::size_t>(-1) / 8}};
  BOOST_TEST(pool.try_allocate() == nullptr);
  BOOST_CHECK_THROW((void)pool.allocate(), std::bad_alloc);
  BOOST_TEST(!pool.try_reserve(10));
  BOOST_CHECK_THROW(dynamic_size(static_cast<std::size_t>(-1)), std::invalid_argument);
  BOOST_CHECK_THROW(dynamic_size(0), std::invalid_argument);
  BOOST_CHECK_THROW(dynamic_size(64, 3), std::invalid_argument);
  BOOST_CHECK_THROW(dynamic_size(64, 48), std::invalid_argument);
  tarn::pool<static_size<64>> unlimited;
  BOOST_TEST(!unlimited.try_reserve(static_cast<std::size_t>(-1)));
  BOOST_TEST(unlimited.capacity() == 0u);
}

// shows: FM-2
BOOST_AUTO_TEST_CASE(a_buffer_too_small_for_a_block_is_an_exhausted_pool) {
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 127u, 128u}) {
    alignas(64) std::byte buffer[128];
    pool<static_size<64, 64>, buffer_store> pool{buffer_store{std::span(buffer, bytes)}};
    BOOST_TEST(pool.capacity() == bytes / 64);
    std::vector<void*> blocks(3);
    BOOST_TEST(pool.try_allocate_batch(blocks) == bytes / 64);
  }
  pool<static_size<64>, buffer_store> none{buffer_store{{}}};
  BOOST_TEST(none.try_allocate() == nullptr);
}

}  // namespace
}  // namespace tarn::test
