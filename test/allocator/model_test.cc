// Random operations against an independent model, in every order in which blocks come back: millions of them.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <random>

#include "tarn/test/support/model.h"
#include "tarn/test/support/tested_pools.h"

namespace tarn::test {
namespace {

using pool_model = model<any_pool>;

// The five phases of a row do at least so many operations together.
constexpr std::size_t operations_for_a_row = 160'000;

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
    for (int round = 0; round < 6; ++round) {
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
    for (int tooth = 0; tooth < 6; ++tooth) {  // a sawtooth to exhaustion, or to a high level
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

}  // namespace
}  // namespace tarn::test
