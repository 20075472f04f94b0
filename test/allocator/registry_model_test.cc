// What the registry tells of a pool, in every composition, after each of many random operations: what is in use is what the
// model has, and the peak is never too low, and too high by no more than the documents say (docs/products/registry.md).
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <random>

#include "tarn/test/support/model.h"
#include "tarn/test/support/tested_pools.h"

namespace tarn::test {
namespace {

struct checked_record {
  const tested_pool& is;
  any_pool& pool;
  const model<any_pool>& known;
  std::size_t most = 0;
  std::size_t beyond = 0;  // blocks by which the peak was too high, at most

  void compare(std::size_t may_be_beyond, called_from = {}) {
    most = std::max(most, known.live());
    const pool_record record = pool.record().value();
    REQUIRE(record.in_use == known.live());
    REQUIRE(record.is_exact);
    REQUIRE(record.capacity + is.beside >= record.in_use + record.waiting);
    REQUIRE(record.peak >= most);
    REQUIRE(record.peak <= most + may_be_beyond);
    beyond = std::max(beyond, record.peak - most);
  }
};

BOOST_DATA_TEST_CASE(the_registry_tells_what_the_model_knows, tested_pools(), is) {
  const auto rig = is.make();
  any_pool& pool = rig->pool;
  model<any_pool> known(pool);
  if (!is.is_listed) {
    CHECK(!pool.record().has_value());
    return;
  }
  std::mt19937_64 random(seed());
  checked_record c{is, pool, known};
  const auto wander = [&](std::size_t operations, std::size_t may_be_beyond, auto between) {
    std::size_t level = 500;
    for (std::size_t i = 0; i != operations * patience(); ++i) {
      const auto dice = random() % 100;
      if (dice == 0) level = random() % 2500;
      if (dice == 1) known.take_batch(random() % 300);
      if (dice == 2) known.give_batch(random() % 300 % (known.live() + 1));
      if (dice == 3) between();
      c.most = std::max(c.most, known.live());
      for (std::size_t n = random() % 40; n != 0 && known.live() < level; --n) known.take();
      c.most = std::max(c.most, known.live());
      for (std::size_t n = random() % 40; n != 0 && known.live() > level; --n) known.give(random() % known.live());
      c.compare(may_be_beyond);
    }
  };
  c.compare(0);
  known.take();
  c.compare(is.keeps_blocks ? 510 : 64);
  wander(500, is.keeps_blocks ? 510 : 64, [] {});
  BOOST_TEST_MESSAGE("row " << is.row << ": at most " << c.beyond << " blocks beyond");
  wander(500, 1024 + 510, [&] { pool.trim(); });
  while (!pool.release() && known.live() != 0) known.give_newest();
  known.forget();
  CHECK(pool.record()->in_use == 0u);
}

BOOST_AUTO_TEST_CASE(many_rows_are_listed) {
  const auto is_listed = [](const tested_pool& p) { return p.is_listed; };
  const auto listed = std::count_if(tested_pools().begin(), tested_pools().end(), is_listed);
  std::printf("%zu of %zu compositions are listed\n", static_cast<std::size_t>(listed), tested_pools().size());
  BOOST_TEST(listed >= 50);
}

}  // namespace
}  // namespace tarn::test
