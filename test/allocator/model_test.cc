// Random operations against an independent model, in every order in which blocks come back: millions of them.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <random>
#include <tuple>

#include "tarn/test/support/compositions.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/rig.h"

namespace tarn::test {
namespace {

// The five phases of a row do at least so many operations together.
constexpr std::size_t operations_for_a_row = 160'000;
static_assert(std::tuple_size_v<compositions> * operations_for_a_row >= 5'000'000);

template <class Model>
void fill_to(Model& model, std::size_t n) {
  while (model.live() < n && model.take()) {
  }
}

/// Mostly random, by ones and in batches, around a level that wanders.
template <class Pool, class Model>
void wander(Pool& pool, Model& model, std::mt19937_64& random, std::size_t operations) {
  const std::size_t end = model.operations() + operations;
  std::size_t level = 500;
  while (model.operations() < end) {
    const auto dice = random() % 1000;
    if (dice == 0) level = random() % 2500;
    if (dice == 1) trim_if_possible(pool);
    if (dice == 2) REQUIRE(pool.try_reserve(std::min<std::size_t>(pool.capacity(), random() % 2000)));
    if (dice == 3) model.take_batch(random() % 300);
    if (dice == 4) model.give_batch(random() % 300 % (model.live() + 1));
    if (model.live() < level + random() % 100)
      model.take();
    else if (model.live() != 0)
      model.give(model.live() - 1 - random() % std::min<std::size_t>(model.live(), 200));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(random_operations_agree_with_the_model, Row, shard) {
  const auto held = std::make_unique<rig<typename Row::type>>();
  auto& pool = held->pool;
  model<typename Row::type> model(pool);
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
    for (int tooth = 0; tooth < 6; ++tooth) {  // a sawtooth to exhaustion, or to a high level
      fill_to(model, 3000 + random() % 500);
      while (model.live() > 100) model.give(model.live() - 1 - random() % 100);
    }
    if (random() % 2 == 0) trim_if_possible(pool);
    const std::size_t planned = operations_for_a_row * (night + 1);
    wander(pool, model, random, planned > model.operations() ? planned - model.operations() : 1000);
    model.verify();
    while (!release_if_possible(pool) && model.live() != 0) model.give_newest();
    model.forget();
  }
  CHECK(model.operations() >= operations_for_a_row * patience());
  CHECK((held->upstream.bytes() == 0 || !facts<typename Row::type>::may_return_chunks));
  CHECK(held->upstream.faults() == 0);
}

}  // namespace
}  // namespace tarn::test
