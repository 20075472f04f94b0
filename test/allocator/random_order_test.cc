// Frees in random order aren't quadratic, in any product: 40 times as many things must not cost 40 times as much each.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <random>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

/// The processor's time, since others don't count, for a free and, of the resource, for the next allocation. Nanoseconds.
template <class Take, class Give>
double time_of_a_free(std::size_t n, Take take, Give give) {
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    std::vector<decltype(take(n))> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(take(i));
    std::shuffle(all.begin(), all.end(), std::mt19937_64(7));
    const std::clock_t start = std::clock();
    for (auto* const one : all) give(one);
    best = std::min(best, static_cast<double>(std::clock() - start) * 1e9 / CLOCKS_PER_SEC / static_cast<double>(n));
  }
  return best;
}
template <class Take, class Give>
void is_not_quadratic(const char* what, Take take, Give give, called_from = {}) {
  const double few = time_of_a_free(2'000, take, give), lots = time_of_a_free(80'000, take, give);
  std::printf("%s: %.1f ns of 2,000, %.1f ns of 80,000\n", what, few, lots);
  CHECK(lots < 20 * few + 200);  // caches account for some of it
}

struct number {
  void reset() {}
  long value = 0;
};

BOOST_AUTO_TEST_CASE(defect_14_destruction) {
  object_pool<number> pool;
  is_not_quadratic("destroy()", [&](std::size_t) { return pool.construct(); }, [&](number* n) { pool.destroy(n); });
}
BOOST_AUTO_TEST_CASE(defect_16_checked_release) {
  recycling_pool<number> pool;
  is_not_quadratic("release()", [&](std::size_t) { return pool.acquire(); }, [&](number* n) { CHECK(pool.release(n)); });
}
BOOST_AUTO_TEST_CASE(defect_16_xfree) {
  is_not_quadratic("xfree()", [](std::size_t i) { return xmalloc(i % 100 == 0 ? 4200 : 24); }, [](void* b) { xfree(b); });
}
template <class Resource>
void free_and_allocate(std::size_t blocks_per_chunk, called_from = {}) {
  Resource resource({.max_blocks_per_chunk = blocks_per_chunk, .largest_required_pool_block = 0});
  const auto take = [&](std::size_t) { return resource.allocate(16, 8); };
  is_not_quadratic("a pool resource", take, [&](void* block) {
    resource.deallocate(block, 16, 8);
    resource.deallocate(resource.allocate(16, 8), 16, 8);
  });
}
BOOST_AUTO_TEST_CASE(deallocate_however_many_chunks_there_are) {  // libstdc++ 12 scans them
  free_and_allocate<pmr::unsynchronized_pool_resource>(16);
  free_and_allocate<pmr::synchronized_pool_resource>(16);
}

}  // namespace
}  // namespace tarn::test
