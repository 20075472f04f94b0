// bytes_for_peak(): what a pool has from its store, to the byte, at every number of blocks in use.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/reuse/page_local_reuse.h"
#include "tarn/policies/store/page_store.h"

namespace tarn::test {
namespace {

/// A store whose regions are counted.
template <class Store = heap_store>
struct counted : Store {
  static inline std::size_t held = 0;
  using canonical = counted;
  template <class Traits>
  struct source : Store::template source<Traits> {
    using base = typename Store::template source<Traits>;
    constexpr explicit source(const counted& its) noexcept : base(its) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const detail::memory region = base::acquire(bytes, alignment);
      held += region.bytes;
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      held -= region.bytes;
      base::release(region, alignment);
    }
  };
};

/// heap_store may get up to three cache lines more for each chunk of whole huge pages, in which blocks fit.
template <class Pool, bool OfHeap>
bool is_held(std::size_t held, std::size_t peak) {
  constexpr std::size_t huge = 2 * 1024 * 1024, more = 192;
  const std::size_t bytes = Pool::bytes_for_peak(peak);
  if (!OfHeap || Pool::block_size() * peak < huge / 2) return held == bytes;
  const std::size_t whole = bytes / huge;
  return held <= bytes + more * whole && held >= Pool::bytes_for_peak(peak - more / Pool::block_size() * whole);
}

/// At each number of blocks up to `most`; and then while fewer and more are in use, in no order.
template <class Store, class... Policies>
void expect_exact(std::size_t most) {
  using pool_type = tarn::pool<Store, Policies...>;
  BOOST_TEST_CONTEXT(typeid(pool_type).name()) {
    pool_type pool;
    std::vector<void*> blocks;
    std::size_t wrong = 0, first_wrong = 0;
    const auto take = [&] {
      if (void* const block = pool.try_allocate()) blocks.push_back(block);
    };
    const auto expect = [&](std::size_t peak) {
      if (!is_held<pool_type, std::is_base_of_v<heap_store, Store>>(Store::held, peak) && wrong++ == 0) first_wrong = peak;
    };
    expect(0);
    while (blocks.size() != most) {
      take();
      expect(blocks.size());
    }
    std::size_t random = 1;
    for (std::size_t n = 0; n != most; ++n) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      if ((random >> 40) % 3 != 0 && !blocks.empty()) {
        std::swap(blocks[(random >> 33) % blocks.size()], blocks.back());
        pool.deallocate(blocks.back());
        blocks.pop_back();
      } else if (blocks.size() != most) {
        take();
      }
    }
    expect(most);
    while (blocks.size() != most) take();
    expect(most);
    BOOST_TEST(wrong == 0u, wrong << " peaks are wrong, first " << first_wrong);
    for (void* const block : blocks) pool.deallocate(block);
  }
  BOOST_TEST(Store::held == 0u);
}
/// After reserve() it holds what it would have after as many allocations.
template <class Store, class... Policies>
void expect_reserved(std::size_t most) {
  using pool_type = tarn::pool<Store, Policies...>;
  for (std::size_t n = 1; n <= most; n += n / 3 + 1) {
    pool_type pool;
    BOOST_TEST(pool.try_reserve(n));
    BOOST_TEST((is_held<pool_type, std::is_base_of_v<heap_store, Store>>(Store::held, n)), n << " blocks");
  }
}

using heap = counted<>;
constexpr std::size_t some = 700;
constexpr std::size_t many = 100'000;

BOOST_AUTO_TEST_CASE(chunks_of_the_heap_are_counted_to_the_byte) {
  expect_exact<heap, static_size<64>>(many);
  expect_exact<heap, static_size<24, 8>, lifo_reuse<>>(many);
  expect_exact<heap, static_size<200>, fixed_growth<100>>(10'000);
  expect_exact<heap, static_size<1>>(some);
  expect_exact<heap, static_size<100, 4>, fixed_growth<1>>(some);
  expect_exact<heap, static_size<64, 64>, geometric_growth<10, 40, 3>>(some);
  expect_exact<heap, static_size<64>, geometric_growth<4, 64, 2, some>>(some);
  expect_exact<heap, static_size<48>, no_growth<some>>(some);
  expect_exact<heap, static_size<5'000>>(3'000);  // chunks of whole huge pages
}
BOOST_AUTO_TEST_CASE(whatever_is_in_front_of_the_blocks) {
  expect_exact<heap, static_size<64>, mutex_locking<>>(some);
  expect_exact<heap, static_size<64>, lock_free, no_growth<some>>(some);
  expect_exact<heap, static_size<64>, page_local_reuse<>, no_growth<some>>(some);
  expect_exact<heap, static_size<64>, hardened, no_growth<some>>(some);
  expect_exact<heap, static_size<64>, checked, no_growth<some>>(some);
  expect_exact<heap, static_size<64>, counting_statistics>(some);
}
BOOST_AUTO_TEST_CASE(reserve_gets_as_much) {
  expect_reserved<heap, static_size<64>>(many);
  expect_reserved<heap, static_size<64>, fixed_growth<100>>(many);
}
BOOST_AUTO_TEST_CASE(pages_are_counted_whole) {
  expect_exact<counted<page_store<>>, static_size<64>>(10'000);
  expect_exact<counted<page_store<>>, static_size<64>, fixed_growth<100>>(some);
  expect_exact<counted<page_store<huge_pages>>, static_size<1'000>>(10'000);
}

struct body {
  double place[6];
};
BOOST_AUTO_TEST_CASE(objects_have_a_bit_more) {
  using bodies = object_pool<body, heap>;
  bodies pool;
  for (std::size_t n = 1; n <= some; ++n) {
    static_cast<void>(pool.construct());
    BOOST_TEST(heap::held == bodies::pool_type::bytes_for_peak(n));
  }
}

constexpr auto never = static_cast<std::size_t>(-1);
template <class... Policies>
constexpr std::size_t bytes(std::size_t peak) {
  return pool<static_size<64>, Policies...>::bytes_for_peak(peak);
}
template <class... Policies>
concept known = requires { pool<static_size<64>, Policies...>::bytes_for_peak(1); };

static_assert(bytes<>(0) == 0);
static_assert(bytes<>(never) == never && bytes<fixed_growth<1>>(never) == never && bytes<fixed_growth<1>>(never / 64) == never);
static_assert(pool<dynamic_size>::bytes_for_peak(never, dynamic_size(64)) == never);
static_assert(bytes<no_growth<100>>(100) == bytes<no_growth<100>>(1) && bytes<no_growth<100>>(101) == never);
static_assert(bytes<fixed_growth<10, 25>>(25) != never && bytes<fixed_growth<10, 25>>(26) == never);
static_assert(bytes<static_array_store<10>>(10) == 0 && bytes<static_array_store<10>>(11) == never);
static_assert(bytes<static_array_store<10>, lock_free>(10) == 0);
static_assert(pool<dynamic_size>::bytes_for_peak(100, dynamic_size(64)) == bytes<>(100));

// What also depends on addresses, on threads or on what was returned has no such figure.
static_assert(known<> && known<hardened, no_growth<100>> && known<lock_free, no_growth<100>>);
static_assert(!known<thread_cached<>> && !known<lock_free> && !known<page_local_reuse<>> && !known<hardened> &&
              !known<return_empty_chunks<>> && !known<grow_ahead<100>> && !known<buffer_store>);

/// The figures of docs/axes/growth.md: bytes held for each byte of blocks in use, at the worst of these numbers of blocks.
template <class... Policies>
double worst_from(std::size_t first) {
  double worst = 0;
  for (std::size_t n = first; n <= many; ++n)
    worst = std::max(worst, static_cast<double>(bytes<Policies...>(n)) / static_cast<double>(64 * n));
  return worst;
}
BOOST_AUTO_TEST_CASE(the_worst_is_as_documented, *boost::unit_test::tolerance(0.005)) {
  BOOST_TEST(worst_from<>(65) == 3.03);
  BOOST_TEST(worst_from<>(1000) == 2.04);
  BOOST_TEST((worst_from<geometric_growth<natural, 1024>>(10'000)) == 1.10);
  BOOST_TEST(worst_from<fixed_growth<100>>(1000) == 1.13);
  BOOST_TEST(worst_from<fixed_growth<100>>(10'000) == 1.04);
  BOOST_TEST(static_cast<double>(bytes<fixed_growth<100>>(1000)) / 64'000 == 1.025);
  BOOST_TEST(static_cast<double>(bytes<no_growth<1000>>(1000)) / 64'000 == 1.001);
}

}  // namespace
}  // namespace tarn::test
