// page_local_reuse: no free marks more than a slice of the front, whatever was freed before, and no block is lost meanwhile.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <vector>

#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/reuse/page_local_reuse.h"

namespace tarn::test {
namespace {

constexpr std::size_t slice = 32;

template <class Pool>
std::size_t in_front(Pool& pool) {
  const auto& state = detail::inspector::state_of(pool);
  return state.list.in_front(state.chunks);
}

/// Frees, and counts the blocks that leave the front for their bits.
template <class Pool>
class counted_frees {
 public:
  explicit counted_frees(Pool& pool) : pool_(pool) {}
  void operator()(void* block) {
    const std::size_t before = in_front(pool_);
    pool_.deallocate(block);
    const std::size_t marked = before + 1 - in_front(pool_);
    most = std::max(most, marked);
    all += marked;
  }
  std::size_t most = 0, all = 0;

 private:
  Pool& pool_;
};

template <class Pool>
std::vector<void*> take(Pool& pool, std::size_t n) {
  std::vector<void*> blocks(n);
  for (void*& block : blocks) block = pool.allocate();
  return blocks;
}

template <class... Policies>
void expect_slices(std::size_t at_least) {
  using pool_type = tarn::pool<static_size<48>, Policies...>;
  pool_type pool;
  BOOST_TEST(pool.try_reserve(at_least));
  const std::size_t n = pool.capacity();
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<void*> blocks = take(pool, n);
  const std::set<void*> all(blocks.begin(), blocks.end());
  BOOST_TEST(all.size() == n);

  counted_frees free(pool);
  for (int round = 0; round != 4; ++round) {  // in order, and in none
    for (void* const block : blocks) free(block);
    BOOST_TEST(free.all + in_front(pool) >= n);
    blocks = take(pool, n);
    BOOST_TEST((std::set<void*>(blocks.begin(), blocks.end()) == all));
    free.all = 0;
    std::shuffle(blocks.begin(), blocks.end(), random);
  }
  for (std::size_t i = 0; i != 4 * n; ++i) {  // some, and some again
    if (random() % 1000 < 520 && !blocks.empty()) {
      free(blocks.back());
      blocks.pop_back();
    } else if (blocks.size() != n) {
      blocks.push_back(pool.allocate());
    }
  }
  const std::vector<void*> rest = take(pool, n - blocks.size());
  std::set<void*> again(blocks.begin(), blocks.end());
  again.insert(rest.begin(), rest.end());
  BOOST_TEST((again == all));
  BOOST_TEST((free.most != 0 && free.most <= slice));
}

BOOST_AUTO_TEST_CASE(no_free_marks_more_than_a_slice) {
  expect_slices<page_local_reuse<>>(1'000);
  expect_slices<page_local_reuse<>>(20'000);
  expect_slices<page_local_reuse<>, no_growth<1000>>(1'000);
  expect_slices<page_local_reuse<>, static_array_store<1000>>(1'000);
  expect_slices<page_local_reuse<4096, prefetch::none, 128>>(1'000);
  expect_slices<page_local_reuse<4096, prefetch::on_free, 512>>(5'000);
}

/// Batches go through the same front.
BOOST_AUTO_TEST_CASE(batches_are_marked_as_well) {
  tarn::pool<static_size<48>, page_local_reuse<>, no_growth<1000>> pool;
  std::vector<void*> blocks = take(pool, 1'000);
  const std::set<void*> all(blocks.begin(), blocks.end());
  for (std::size_t n : {1u, 15u, 16u, 17u, 100u, 500u, 1'000u}) {
    for (std::size_t at = 0; at < blocks.size(); at += n)
      pool.deallocate_batch({blocks.data() + at, std::min(n, blocks.size() - at)});
    blocks = take(pool, 1'000);
    BOOST_TEST((std::set<void*>(blocks.begin(), blocks.end()) == all));
  }
}

}  // namespace
}  // namespace tarn::test
