// block_resource: a pool's blocks for what fits into one, upstream for the rest. And the circle: pools over resources over
// pools.
#include <boost/test/unit_test.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory_resource>
#include <new>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

template <class Pool>
constexpr bool is_a_memory_resource =
    std::is_base_of_v<std::pmr::memory_resource, block_resource<Pool>> &&
    std::is_nothrow_constructible_v<block_resource<Pool>, Pool&> &&
    std::is_nothrow_constructible_v<block_resource<Pool>, Pool&, std::pmr::memory_resource*> &&
    !std::is_convertible_v<Pool&, block_resource<Pool>> && !std::is_constructible_v<block_resource<Pool>, Pool&&> &&
    requires(const block_resource<Pool>& r) {
      { r.pool() } -> std::same_as<Pool&>;
      { r.upstream_resource() } -> std::same_as<std::pmr::memory_resource*>;
    };
static_assert(is_a_memory_resource<pool<static_size<64>>>);
static_assert(is_a_memory_resource<static_pool<struct of_resource, static_size<64>>::body>);
static_assert(std::same_as<decltype(block_resource(static_pool<struct of_resource, static_size<64>>::instance())),
                           block_resource<static_pool<struct of_resource, static_size<64>>::body>>);

/// What fits goes to the pool and comes back to it; what doesn't, to upstream and back.
template <class Pool>
void check_routes(Pool& pool) {
  const std::size_t size = pool.block_size();
  const std::size_t natural = pool.block_alignment();
  upstream upstream;
  {
    block_resource<Pool> resource(pool, &upstream);
    CHECK(&resource.pool() == &pool);
    CHECK(resource.upstream_resource() == &upstream);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, size - 1, size, size + 1, 2 * size, 10 * size})
      for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        const bool fits = bytes <= size && alignment <= natural;
        const std::size_t calls = upstream.calls();
        void* const block = resource.allocate(bytes, alignment);
        CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
        CHECK(pool.owns(block) == fits);
        CHECK(upstream.calls() == calls + !fits);
        CHECK(upstream.bytes() == (fits ? 0 : bytes));
        static_cast<std::pmr::memory_resource&>(resource).deallocate(block, bytes, alignment);
        CHECK(upstream.bytes() == 0);
        CHECK(upstream.faults() == 0);
        void* const next = pool.try_allocate();
        CHECK(next != nullptr);
        if (fits) CHECK(next == block);  // it is the pool's again: the one that was freed last
        pool.deallocate(next);
      }
  }
  CHECK(upstream.faults() == 0);
}

BOOST_AUTO_TEST_CASE(block_resource_routes_by_size_and_alignment_both_ways) {
  pool<static_size<48, 16>> aligned;
  check_routes(aligned);
  pool<static_size<256, 256>, lifo_reuse<>> far_aligned;
  check_routes(far_aligned);
  pool<dynamic_size, mutex_locking<>> dynamic{dynamic_size{40, 8}};
  check_routes(dynamic);
  check_routes(static_pool<struct routed, static_size<24>, static_array_store<4>>::instance());
}

BOOST_AUTO_TEST_CASE(block_resource_throws_bad_alloc_when_the_pool_is_exhausted) {
  constexpr std::size_t blocks = 10;
  upstream upstream;
  pool<static_size<32>, no_growth<blocks>> pool;
  block_resource resource(pool, &upstream);
  std::set<void*> all;
  for (std::size_t i = 0; i < blocks; ++i) all.insert(resource.allocate(20, 4));
  CHECK(all.size() == blocks);
  for (int i = 0; i < 3; ++i) CHECK(throws_bad_alloc([&] { static_cast<void>(resource.allocate(20, 4)); }));
  CHECK(upstream.calls() == 0);  // it isn't a fallback
  void* const large = resource.allocate(1000, 8);
  resource.deallocate(large, 1000, 8);
  resource.deallocate(*all.begin(), 20, 4);
  CHECK(resource.allocate(20, 4) == *all.begin());
  CHECK(throws_bad_alloc([&] { static_cast<void>(resource.allocate(20, 4)); }));
  for (void* const block : all) resource.deallocate(block, 20, 4);
  CHECK(upstream.bytes() == 0);
  CHECK(upstream.faults() == 0);
}

BOOST_AUTO_TEST_CASE(block_resource_passes_on_what_upstream_throws) {
  pool<static_size<32>> pool;
  class peculiar final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t, std::size_t) override { throw 5; }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  } upstream;
  block_resource resource(pool, &upstream);
  BOOST_CHECK_THROW(static_cast<void>(resource.allocate(33)), int);
  resource.deallocate(resource.allocate(32), 32);
}

BOOST_AUTO_TEST_CASE(block_resource_leaves_null_alone) {
  struct opened : block_resource<pool<static_size<64>>> {
    using block_resource::block_resource;
    using block_resource::do_deallocate;
  };
  pool<static_size<64>> pool;
  upstream upstream;
  opened resource(pool, &upstream);
  for (const std::size_t bytes : {0u, 64u, 6400u}) resource.do_deallocate(nullptr, bytes, 8);
  BOOST_TEST(upstream.calls() + upstream.faults() == 0u);
  BOOST_TEST(pool.capacity() == 0u);
}

BOOST_AUTO_TEST_CASE(block_resource_takes_the_default_resource_of_its_construction) {
  pool<static_size<32>> pool;
  upstream upstream;
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&upstream);
  block_resource resource(pool);
  std::pmr::set_default_resource(before);
  BOOST_TEST(resource.upstream_resource() == &upstream);
  resource.deallocate(resource.allocate(100), 100);
  BOOST_TEST(upstream.calls() == 1u);
  BOOST_TEST(upstream.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(block_resource_is_equal_to_itself_alone) {
  pool<static_size<32>> pool;
  upstream upstream;
  const block_resource one(pool, &upstream), other(pool, &upstream);
  BOOST_TEST((one.is_equal(one) && !one.is_equal(other) && !one.is_equal(upstream)));
}

// ---- the circle ------------------------------------------------------------------------------------------------------------

using resources = std::tuple<tarn::pmr::unsynchronized_pool_resource, tarn::pmr::synchronized_pool_resource>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_resource_over_a_pool_over_a_resource, Resource, resources) {
  upstream upstream;
  std::size_t thrown = 0;
  for (std::size_t k = 1; k < 60; ++k) {
    {
      Resource outer(&upstream);
      pool<static_size<5000, 64>, resource_store, fixed_growth<4>> pool{resource_store{&outer}};
      block_resource chunks(pool, &outer);
      Resource inner(&chunks);
      upstream.fail(k, failing::every_second);
      std::pmr::list<std::pmr::string> list(&inner);
      for (int i = 0; i < 400; ++i)
        thrown += throws_bad_alloc([&] { list.emplace_back(std::string(static_cast<std::size_t>(i), 'x')); });
      upstream.fail(1, failing::never);
      list.emplace_back(std::string(300, 'y'));
      CHECK(list.back().size() == 300);
      CHECK(pool.capacity() > 0);
    }
    REQUIRE(upstream.bytes() == 0);
    REQUIRE(upstream.faults() == 0);
  }
  BOOST_TEST(thrown >= 50u);
}

}  // namespace
}  // namespace tarn::test
