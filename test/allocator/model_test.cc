// Random operations against an independent model, in every order in which blocks come back: millions of them. And what the
// registry tells of a pool meanwhile: what is in use is what the model has, and the peak is never too low, and too high by no
// more than the documents say (docs/products/registry.md).
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

using pool_model = model<any_pool>;

// The five phases of a row do at least so many operations together.
constexpr std::size_t operations_for_a_row = 80'000;

void fill_to(pool_model& model, std::size_t n) {
  while (model.live() < n && model.take()) {
  }
}

/// Mostly random, by ones and in batches, around a level that wanders.
void wander(any_pool& pool, pool_model& model, std::mt19937_64& random, std::size_t operations) {
  const std::size_t end = model.operations() + operations;
  std::size_t level = 500;
  while (model.operations() < end) {
    const auto dice = random() % 1000;
    if (dice == 0) level = random() % 2500;
    if (dice == 1) pool.trim();
    if (dice == 2) REQUIRE(pool.try_reserve(std::min<std::size_t>(pool.capacity(), random() % 2000)));
    if (dice == 3) model.take_batch(random() % 300);
    if (dice == 4) model.give_batch(random() % 300 % (model.live() + 1));
    if (model.live() < level + random() % 100)
      model.take();
    else if (model.live() != 0)
      model.give(model.live() - 1 - random() % std::min<std::size_t>(model.live(), 200));
  }
}

BOOST_DATA_TEST_CASE(random_operations_agree_with_the_model, tested_pools(), is) {
  const auto rig = is.make();
  auto& pool = rig->pool;
  pool_model model(pool);
  std::mt19937_64 random(seed());
  const std::size_t some = 2500;

  for (std::size_t night = 0; night < patience(); ++night) {
    for (int round = 0; round < 2; ++round) {
      fill_to(model, some);  // newest first
      while (model.live() != 0) model.give_newest();
      fill_to(model, some);  // oldest first, in the order of allocation
      model.reverse();
      while (model.live() != 0) model.give_newest();
      fill_to(model, some);  // in random order
      model.shuffle(random);
      while (model.live() > some / 10) model.give_newest();
      fill_to(model, some);
      model.verify();
      while (model.live() != 0) model.give_newest();
    }
    CHECK(model.lost() == 0u);
    for (int tooth = 0; tooth < 2; ++tooth) {  // a sawtooth to exhaustion, or to a high level
      fill_to(model, 3000 + random() % 500);
      while (model.live() > 100) model.give(model.live() - 1 - random() % 100);
    }
    if (random() % 2 == 0) pool.trim();
    const std::size_t planned = operations_for_a_row * (night + 1);
    wander(pool, model, random, planned > model.operations() ? planned - model.operations() : 1000);
    model.verify();
    CHECK(model.lost() == 0u);
    while (!pool.release() && model.live() != 0) model.give_newest();
    model.forget();
  }
  CHECK(model.operations() >= operations_for_a_row * patience());
  CHECK((rig->upstream.bytes() == 0 || !is.may_return_chunks));
  CHECK(rig->upstream.faults() == 0);
}

/// As lifo_reuse, but every 1,000th block that is given back is lost.
struct losing_reuse : lifo_reuse<> {
  template <class Traits>
  class list : public lifo_reuse<>::list<Traits> {
    using whole = lifo_reuse<>::list<Traits>;

   public:
    detail::status push(typename Traits::chunks& chunks, void* block) noexcept {
      return ++pushes_ % 1000 == 0 ? detail::status::done : whole::push(chunks, block);
    }
    detail::status push_batch(typename Traits::chunks& chunks, void* const* in, std::size_t n) noexcept {
      while (n != 0) push(chunks, in[--n]);
      return detail::status::done;
    }

   private:
    std::size_t pushes_ = 0;
  };
};
BOOST_AUTO_TEST_CASE(a_lost_block_is_noticed) {
  const auto lose = [](auto& pool) {
    model its(pool);
    while (its.live() != 500) its.take();
    BOOST_TEST(its.lost() == 0u);  // all that were free came and went: as many as there are
    while (its.operations() < 10'000) its.give(0), its.take();
    its.verify();
    return its.lost();
  };
  pool<static_size<64>, static_array_store<800>, losing_reuse> few;
  pool<static_size<64>, fixed_growth<100>, losing_reuse> growing;
  pool<static_size<64>, fixed_growth<100>, lifo_reuse<>> whole;
  BOOST_TEST(lose(few) == 4u);
  BOOST_TEST(lose(growing) != 0u);
  BOOST_TEST(lose(whole) == 0u);
}

BOOST_AUTO_TEST_CASE(all_rows_together_are_five_million_operations) {
  BOOST_TEST(tested_pools().size() * operations_for_a_row >= 5'000'000u);
}

// ---- the registry --------------------------------------------------------------------------------------------------------

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
