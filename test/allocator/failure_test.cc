// A store that fails, returns null or throws: the pool is as it was, nothing leaks, the next call works. Each operation is
// tried with the k-th call of the store failing, k = 1, 2, ..., until it succeeds.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <vector>

#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/rig.h"
#include "tarn/test/support/upstream.h"
#include "tarn/allocator/pool.h"

namespace tarn::test {
namespace {

/// A store that asks an upstream and passes a refusal on as null, as a C library would.
struct refusing_store {
  using axis = tarn::axis::store;
  static constexpr bool bounded = false;
  static constexpr bool sized_by_geometry = false;
  test::upstream* upstream;

  explicit refusing_store(test::upstream* u) : upstream(u) {}

  template <class Environment>
  struct source {
    test::upstream* upstream;
    explicit source(const refusing_store& store) noexcept : upstream(store.upstream) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      try {
        return {upstream->allocate(bytes, alignment), bytes};
      } catch (const std::bad_alloc&) {
        return {};
      }
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      upstream->deallocate(region.start, region.bytes, alignment);
    }
  };
};

struct crew;

template <class Store>
using growable = std::tuple<
    pool<static_size<64>, Store>,
    pool<static_size<64>, Store, lifo_reuse<>, fixed_growth<10>>,
    pool<static_size<24>, Store, mutex_locking<>, fixed_growth<33>>,
    pool<static_size<256>, Store, grouped_locking<crew>, geometric_growth<4, 64>>,
    pool<static_size<16, 4096>, Store, geometric_growth<2, 16>>,
    pool<static_size<8>, Store, grouped_locking<crew, std::mutex>, fixed_growth<50>>,
    pool<static_size<40>, Store, no_growth<700>>,
    pool<static_size<64>, Store, fixed_growth<64, 640>, batch_reuse<prefetch::none, 128>>,
    pool<static_size<64>, Store, thread_cached<>, fixed_growth<40>>,
    pool<static_size<16>, Store, thread_cached<16, 14>, geometric_growth<4, 64>>,
    pool<static_size<64>, Store, lock_free, fixed_growth<40>>,
    pool<static_size<48>, Store, lock_free, geometric_growth<4, 64>>>;

struct tally {
  std::size_t points = 0;    // a call of the store was made to fail
  std::size_t rounds = 0;
} tally;

/// One operation: returns whether it succeeded.
struct operation {
  const char* name;
  template <class Pool>
  static bool allocate(Pool& pool, std::vector<void*>& got) {
    try {
      got.push_back(pool.allocate());
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  template <class Pool>
  static bool try_allocate(Pool& pool, std::vector<void*>& got) {
    void* const block = pool.try_allocate();
    if (block != nullptr) got.push_back(block);
    return block != nullptr;
  }
  template <class Pool>
  static bool batch(Pool& pool, std::vector<void*>& got) {
    std::vector<void*> blocks(400);
    try {
      pool.allocate_batch(blocks);
      got.insert(got.end(), blocks.begin(), blocks.end());
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  template <class Pool>
  static bool reserve(Pool& pool, std::vector<void*>&) {
    return pool.try_reserve(600);
  }
};

template <class Pool, class Make, class Operation>
void fail_every_call(upstream& upstream, Make make, Operation operation, bool all_or_nothing, failing mode) {
  for (std::size_t k = 1; k < 200; ++k) {
    const auto made = make(std::type_identity<Pool>{}, upstream);
    Pool& pool = *made;
    model<Pool> model(pool);
    // Some blocks are live and the pool is about to need a chunk.
    REQUIRE(model.take());
    while (model.live() < pool.capacity()) REQUIRE(model.take());
    const std::size_t capacity = pool.capacity();
    const std::size_t bytes = upstream.bytes();
    const std::size_t failures = upstream.failures();

    upstream.fail(k, mode);
    std::vector<void*> got;
    const bool succeeded = operation(pool, got);
    const bool injected = upstream.failures() != failures;
    upstream.fail(1, failing::never);

    ++tally.rounds;
    tally.points += injected;
    REQUIRE(succeeded || injected || pool.capacity() >= 640);
    if (!succeeded) {
      if (all_or_nothing) {
        CHECK(pool.capacity() == capacity);
        CHECK((upstream.bytes() == bytes || facts<Pool>::keeps_memory));  // what it got for itself stays for the next call
      }
      CHECK(got.empty());
      model.verify();
      if (injected) {  // it was the store and not the growth policy that refused: the next call works
        void* const next = pool.try_allocate();
        REQUIRE(next != nullptr);
        pool.deallocate(next);
      }
    }
    for (void* const block : got) CHECK(pool.owns(block));
    model.verify();
    if (!injected) return;  // the operation makes fewer than k calls
  }
  BOOST_FAIL("the operation never went through");
}

template <class Pools, class Make>
void fail_everything(Make make) {
  const auto one = [&]<class Pool>(std::type_identity<Pool>) {
    for (const failing mode : {failing::once, failing::for_ever, failing::every_second}) {
      test::upstream upstream;
      fail_every_call<Pool>(upstream, make, &operation::allocate<Pool>, true, mode);
      fail_every_call<Pool>(upstream, make, &operation::try_allocate<Pool>, true, mode);
      fail_every_call<Pool>(upstream, make, &operation::batch<Pool>, false, mode);  // its chunks stay, as documented
      fail_every_call<Pool>(upstream, make, &operation::reserve<Pool>, true, mode);
      CHECK(upstream.bytes() == 0);
      CHECK(upstream.faults() == 0);
    }
  };
  [&]<class... P>(std::type_identity<std::tuple<P...>>) { (one(std::type_identity<P>{}), ...); }(std::type_identity<Pools>{});
}

BOOST_AUTO_TEST_CASE(a_resource_that_throws) {
  fail_everything<growable<resource_store>>([]<class Pool>(std::type_identity<Pool>, upstream& upstream) {
    return std::make_unique<Pool>(resource_store{&upstream});
  });
}

BOOST_AUTO_TEST_CASE(a_store_that_returns_null) {
  fail_everything<growable<refusing_store>>([]<class Pool>(std::type_identity<Pool>, upstream& upstream) {
    return std::make_unique<Pool>(refusing_store{&upstream});
  });
}

BOOST_AUTO_TEST_CASE(a_pool_whose_first_call_fails_is_as_new) {
  upstream upstream;
  pool<static_size<64>, resource_store> pool{resource_store{&upstream}};
  upstream.fail(1, failing::once);
  BOOST_CHECK_THROW((void)pool.allocate(), std::bad_alloc);
  BOOST_TEST(pool.capacity() == 0u);
  BOOST_TEST(upstream.bytes() == 0u);
  void* const block = pool.allocate();
  BOOST_TEST(block != nullptr);
  pool.deallocate(block);
}

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
  pool<dynamic_size, resource_store, geometric_growth<8, 64, 2, unlimited, 6450>> pool{dynamic_size{64, 8}, resource_store{&upstream}};
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

BOOST_AUTO_TEST_CASE(enough_calls_of_the_store_were_made_to_fail) {
  std::printf("%zu calls of a store were made to fail, in %zu rounds\n", tally.points, tally.rounds);
  BOOST_TEST(tally.points >= 200u);
}

}  // namespace
}  // namespace tarn::test
