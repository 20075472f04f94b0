// return_empty_pages: how much it holds and how often it asks the system; and what a sanitizer would hide.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdio>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/checking/recording.h"
#include "tarn/test/policies/retention/watched_store.h"

namespace tarn::test {
namespace {

template <std::size_t Bytes, class Retention = return_empty_pages<>, class... Policies>
using watched_pool = pool<static_size<Bytes>, watched_store<>, Retention, Policies...>;

/// A random tenth of what is there stays.
template <class Blocks>
void thin(Blocks& blocks) {
  blocks.free(blocks.size() - blocks.size() / 10);
}

template <std::size_t Bytes>
void check_calls(called_from = {}) {
  watch seen;
  watched_pool<Bytes> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, Bytes, Bytes);
  const std::size_t peak = 4 * MiB / Bytes;
  std::size_t frees = 0;
  const auto note = [&](const char* what) {
    std::printf("%zu bytes, %s: %zu calls, %zu frees\n", Bytes, what, seen.discards, frees);
    CHECK(seen.discards * 64 <= frees);
    seen.discards = frees = 0;
  };
  blocks.add(peak);
  frees = peak - peak / 10;
  thin(blocks);
  note("thinning");
  for (int round = 0; round != 10; ++round) {
    const std::size_t half = blocks.size() / 2;
    blocks.free(half);
    blocks.add(half);
    frees += half;
  }
  note("halves");
  blocks.add(peak - blocks.size());
  while (blocks.size() > peak / 10) {
    blocks.free(64);
    blocks.add(56);
    frees += 64;
  }
  note("shrinks under churn");
  for (std::size_t i = 0; i != 2 * peak; ++i) {
    blocks.free(1);
    blocks.add(1);
  }
  frees = 2 * peak;
  note("churn");
  blocks.add(peak - blocks.size());
  frees = peak - peak / 10;
  blocks.sort();
  blocks.free_last(frees);
  note("in order");
  CHECK(seen.faults == 0);
}

BOOST_AUTO_TEST_CASE(few_frees_call_the_system) {
  check_calls<64>();
  check_calls<1024>();
}

template <std::size_t Bytes>
void check_held(double after_halves, double after_trim, double after_churn, called_from = {}) {
  watch seen;
  watched_pool<Bytes> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, Bytes, Bytes);
  const std::size_t peak = 64 * MiB / Bytes;
  const auto held = [&](const char* what) {
    const double ratio = static_cast<double>(seen.resident_bytes()) / static_cast<double>(blocks.bytes());
    std::printf("%zu bytes, %s: %.3f\n", Bytes, what, ratio);
    return ratio;
  };
  blocks.add(peak);
  CHECK(held("full") < 1.1);
  thin(blocks);
  for (int round = 0; round != 10; ++round) {
    const std::size_t half = blocks.size() / 2;
    blocks.free(half);
    blocks.add(half);
  }
  CHECK(held("after halves") <= after_halves);
  pool.trim();
  CHECK(held("after trim()") <= after_trim);
  blocks.add(peak / 2 - blocks.size());
  while (blocks.size() > peak / 20) {
    blocks.free(64);
    blocks.add(60);
  }
  CHECK(held("after a slow shrink") <= after_churn);
  blocks.check();
}

BOOST_AUTO_TEST_CASE(little_more_is_held_than_is_in_use, *boost::unit_test::enable_if<!sanitized>()) {
  check_held<64>(1.35, 1.25, 2.0);
  check_held<1024>(1.15, 1.1, 2.0);
}

BOOST_AUTO_TEST_CASE(what_may_be_idle_stays) {
  watch seen;
  watched_pool<64, return_empty_pages<25, 1024 * 1024>> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  blocks.add(2 * MiB / 64);
  for (int round = 0; round != 5; ++round) {
    blocks.free_last(MiB / 64 - 4096);
    blocks.add(MiB / 64 - 4096);
  }
  BOOST_TEST(seen.discards == 0u);
}

// Under the address sanitizer, the second free is found at once.
BOOST_AUTO_TEST_CASE(deferred_checking_finds_a_double_free_of_a_block_whose_page_has_gone,
                     *boost::unit_test::enable_if<!sanitized>()) {
  const recording here;
  watch seen;
  watched_pool<64, return_empty_pages<10, 16 * KiB>, deferred_checking, fixed_growth<10'000>> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  blocks.add(50'000);
  const std::size_t capacity = pool.capacity();
  blocks.sort();
  std::size_t n = 0;
  void* freed = nullptr;
  blocks.free_if([&](void* block) {
    if (++n == 7777) freed = block;
    return n % 1000 != 0;
  });
  pool.trim();
  BOOST_TEST(pages_in(freed, 1).resident == 0u);
  BOOST_TEST(told.size() == 0u);
  pool.deallocate(freed);
  pool.trim();
  BOOST_TEST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].kind == misuse_kind::double_free));
  BOOST_TEST(told[0].address == freed);
  const std::size_t regions = seen.regions;
  blocks.add(capacity - blocks.size());
  BOOST_TEST(are_distinct(blocks));
  BOOST_TEST(seen.regions == regions);
}

}  // namespace
}  // namespace tarn::test
