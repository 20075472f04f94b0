// What every pool must do, whatever it is composed of.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/tested_pools.h"

namespace tarn::test {
namespace {

using pool_model = model<any_pool>;

std::vector<tested_pool> those(bool (*chosen)(const tested_pool&)) {
  std::vector<tested_pool> some;
  std::ranges::copy_if(tested_pools(), std::back_inserter(some), chosen);
  if (some.empty()) throw std::logic_error("no tested composition is such");
  return some;
}

/// Takes blocks until the pool has no more; the rest of the case is about such pools only.
std::size_t exhaust(pool_model& model) {
  std::size_t taken = 0;
  while (model.take()) ++taken;
  return taken;
}

/// Not a block on pages of its own, of which batches get none.
bool take_from_chunk(const tested_pool& is, pool_model& model) {
  return is.beside == 0 ? model.take() : model.take_batch(1) == 1;
}

#define FOR_EVERY_COMPOSITION(name) FOR_THOSE(name, true)

/// `condition`, about `is`, says of which.
#define FOR_THOSE(name, condition)                                                                             \
  BOOST_DATA_TEST_CASE(name, those([]([[maybe_unused]] const tested_pool& is) { return condition; }), is) { \
    const auto rig = is.make();                                                                                \
    auto& pool = rig->pool;                                                                                    \
    pool_model model(pool);

#define END }

FOR_EVERY_COMPOSITION(a_new_pool_has_touched_nothing)
  CHECK(!pool.owns(nullptr));
  CHECK(!pool.owns(&pool));
  CHECK(rig->upstream.calls() == 0u);
  CHECK((pool.capacity() != 0) == is.bounded);
END

FOR_EVERY_COMPOSITION(blocks_have_the_size_and_alignment_that_was_asked_for)
  if (is.at_run_time) {
    CHECK(pool.block_size() == 48u);
    CHECK(pool.block_alignment() == 16u);
  } else {
    CHECK(pool.block_size() == is.bytes);
    CHECK(pool.block_alignment() == is.alignment);
  }
END

FOR_EVERY_COMPOSITION(blocks_are_aligned_disjoint_and_owned)
  for (int i = 0; i < 1000; ++i) REQUIRE(model.take());
  model.verify();
  CHECK(pool.capacity() + is.beside >= 1000u);
  while (model.live() != 0) model.give(0);
END

FOR_EVERY_COMPOSITION(blocks_given_back_are_used_again_before_the_pool_grows)
  for (int i = 0; i < 1000; ++i) REQUIRE(model.take());
  const std::size_t capacity = pool.capacity();
  for (int round = 0; round < 5; ++round) {
    while (model.live() != 0) model.give(model.live() / 2);
    for (int i = 0; i < 1000; ++i) REQUIRE(model.take());
    CHECK((pool.capacity() == capacity || is.returns_chunks));
  }
END

FOR_EVERY_COMPOSITION(allocate_and_try_allocate_take_from_one_pool)
  void* const a = pool.allocate();
  void* const b = pool.try_allocate();
  CHECK(a != b);
  CHECK(pool.owns(a));
  CHECK(pool.owns(b));
  pool.deallocate(b);
  pool.deallocate(a);
  if (is.beside == 0) CHECK(pool.allocate() == a);  // the newest free block first
END

FOR_EVERY_COMPOSITION(batches_are_blocks_like_others)
  for (const std::size_t n : {1u, 2u, 63u, 64u, 65u, 127u, 128u, 129u, 200u, 700u}) CHECK(model.take_batch(n) == n);
  for (int i = 0; i < 300; ++i) model.give(static_cast<std::size_t>(i));
  model.verify();
  for (const std::size_t n : {1u, 2u, 63u, 64u, 65u, 128u, 300u}) model.give_batch(n);
  for (int i = 0; i < 500; ++i) REQUIRE(model.take());
  model.verify();
  model.give_batch(model.live());
END

FOR_EVERY_COMPOSITION(a_batch_given_back_is_handed_out_in_its_own_order)
  std::vector<void*> first(60), second(60);
  CHECK(pool.allocate_batch(first) == 60u);
  pool.deallocate_batch(first);
  pool.allocate_batch(second);
  CHECK(first == second);
  pool.deallocate_batch(second);
END

FOR_EVERY_COMPOSITION(an_empty_batch_does_nothing)
  CHECK(pool.allocate_batch({}) == 0u);
  CHECK(pool.try_allocate_batch({}) == 0u);
  pool.deallocate_batch({});
  CHECK(rig->upstream.calls() == 0u);
END

FOR_EVERY_COMPOSITION(freeing_null_does_nothing)
  pool.deallocate(nullptr);
  pool.deallocate_batch(std::vector<void*>(3, nullptr));
  CHECK(rig->upstream.calls() == 0u);
  std::vector<void*> blocks(1000);
  for (void*& block : blocks) {
    pool.deallocate(nullptr);
    REQUIRE((block = pool.try_allocate()) != nullptr);
  }
  const std::size_t capacity = pool.capacity();
  const auto in_use = [&pool] { return pool.statistics().value_or(pool_counts{}).in_use; };
  const std::size_t counted = in_use();
  for (int i = 0; i < 3000; ++i) pool.deallocate(nullptr);  // more than any front has room for
  CHECK(in_use() == counted);
  for (std::size_t i = 0; i != 500; ++i) {  // alone and in batches, so that a null lies everywhere between blocks
    pool.deallocate(blocks[i]);
    if (i % 3 == 0) pool.deallocate(nullptr);
  }
  for (std::size_t i = 500; i != 1000; i += 5) {
    void* const some[] = {nullptr, blocks[i], blocks[i + 1], nullptr, blocks[i + 2], blocks[i + 3], blocks[i + 4], nullptr};
    pool.deallocate_batch(some);
  }
  for (int i = 0; i < 300; ++i) REQUIRE(model.take());
  REQUIRE(model.take_batch(700) == 700u);
  CHECK((pool.capacity() == capacity || is.returns_chunks));
  while (model.live() != 0) model.give(0);
  pool.deallocate(nullptr);
END

FOR_EVERY_COMPOSITION(reserve_gets_the_chunks_up_front)
  pool.reserve(0);
  CHECK(rig->upstream.calls() == 0u);
  pool.reserve(1500);
  CHECK(pool.capacity() >= 1500u);
  const std::size_t calls = rig->upstream.calls();
  const std::size_t capacity = pool.capacity();
  pool.reserve(1500);
  CHECK(model.take_batch(1500) == 1500u);
  CHECK((rig->upstream.calls() == calls || is.keeps_memory));
  CHECK(pool.capacity() == capacity);
END

FOR_EVERY_COMPOSITION(a_batch_that_stops_before_the_last_block_loses_none)
  REQUIRE(take_from_chunk(is, model));
  const std::size_t capacity = pool.capacity();
  CHECK(model.take_batch(capacity - 2) == capacity - 2);
  CHECK(pool.capacity() == capacity);
  CHECK(model.take_batch(1) == 1u);
  CHECK(pool.capacity() == capacity);
  model.verify();
END

FOR_EVERY_COMPOSITION(reserve_of_more_than_can_be_changes_nothing)
  REQUIRE(take_from_chunk(is, model));
  const std::size_t capacity = pool.capacity();
  const std::size_t bytes = rig->upstream.bytes();
  if (is.ends) {
    CHECK(throws_bad_alloc([&] { pool.reserve(100000); }));
    CHECK(!pool.try_reserve(static_cast<std::size_t>(-1)));
    CHECK(pool.capacity() == capacity);
    CHECK(rig->upstream.bytes() == bytes);
  }
  CHECK(pool.try_reserve(1));
  CHECK(pool.capacity() == capacity);
  model.verify();
END

FOR_THOSE(a_pool_that_ends_gives_exactly_its_capacity, is.ends)
  const std::size_t taken = exhaust(model);
  CHECK(taken == pool.capacity() + is.beside);
  CHECK(throws_bad_alloc([&] { (void)pool.allocate(); }));
  for (int round = 0; round < 3; ++round) {
    model.give(model.live() / 3);
    REQUIRE(model.take());
    REQUIRE(!model.take());
  }
  CHECK(pool.capacity() + is.beside == taken);
  while (model.live() != 0) model.give_newest();
  CHECK(exhaust(model) == taken);
  model.verify();
END

FOR_THOSE(a_batch_that_cannot_be_whole_is_not_taken, is.ends)
  const std::size_t all = exhaust(model);
  model.give_batch(100);
  std::vector<void*> blocks(101);
  CHECK(throws_bad_alloc([&] { pool.allocate_batch(blocks); }));
  CHECK(pool.try_allocate_batch(blocks) == 100u);
  pool.deallocate_batch(std::span(blocks).first(100));
  CHECK(exhaust(model) == 100u);
  CHECK(model.live() == all);
  model.verify();
END

FOR_THOSE(trim_gives_back_what_is_empty_and_nothing_else, is.may_return_chunks)
  for (int i = 0; i < 2500; ++i) REQUIRE(model.take());
  std::mt19937_64 random(seed());
  model.shuffle(random);
  while (model.live() > 3) model.give_newest();
  const std::size_t capacity = pool.capacity();
  const std::size_t bytes_before = rig->upstream.bytes();
  const std::size_t given = pool.trim().value();
  model.verify();
  if (is.over_resource) CHECK(rig->upstream.bytes() + given == bytes_before);
  CHECK((given != 0 || pool.capacity() == capacity));
  if (!is.returns_pages) CHECK((pool.capacity() < capacity || given == 0));
  for (int i = 0; i < 2500; ++i) REQUIRE(model.take());  // what was kept isn't lost, what was given isn't used
  model.verify();
  while (model.live() != 0) model.give(0);
  pool.trim();
  if (is.over_resource && !is.keeps_memory) CHECK(rig->upstream.regions() == 0u);
  if (!is.bounded) CHECK(pool.capacity() == 0u);
  CHECK(pool.trim() == std::size_t{0});
  REQUIRE(model.take());
  model.verify();
END

FOR_THOSE(trim_leaves_the_order_of_the_free_blocks_of_a_chunk,
          is.may_return_chunks && !is.keeps_blocks && !is.sees_empty_chunks)
  std::vector<void*> blocks(100);
  pool.allocate_batch(blocks);
  void* const pin = pool.allocate();  // no chunk before it can go, where there is one
  for (int i = 0; i < 40; ++i) pool.deallocate(blocks[static_cast<std::size_t>(i)]);
  pool.trim();
  std::map<const void*, std::vector<void*>> left, got;  // by chunk
  std::size_t stayed = 0;
  for (std::size_t i = 40; i-- != 0;)
    if (pool.owns(blocks[i])) left[rig->chunk_of(blocks[i])].push_back(blocks[i]), ++stayed;
  CHECK(stayed == 40u || !is.bounded);
  std::vector<void*> others;  // that were free before
  while (stayed != 0) {
    void* const block = pool.allocate();
    const auto found = left.find(rig->chunk_of(block));
    if (found == left.end() || std::ranges::find(found->second, block) == found->second.end()) {
      others.push_back(block);
      REQUIRE(others.size() < 200);
    } else {
      got[found->first].push_back(block);
      --stayed;
    }
  }
  CHECK(got == left);
  pool.deallocate_batch(others);
  pool.deallocate(pin);
END

FOR_THOSE(release_gives_everything_back_at_once, is.may_return_chunks)
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2000; ++i) REQUIRE(model.take());
    for (int i = 0; i < 900; ++i) model.give(static_cast<std::size_t>(i));
    pool.release();
    CHECK(rig->upstream.bytes() == 0u);
    CHECK(pool.owns(model.blocks().front()) == is.in_place);
    model.forget();
  }
  CHECK(rig->upstream.faults() == 0u);
END

FOR_THOSE(after_release_the_pool_grows_from_the_start_again, is.may_return_chunks)
  REQUIRE(take_from_chunk(is, model));
  const std::size_t first = pool.capacity();
  for (int round = 0; round < 10; ++round) {  // Boost.Pool doubles its next chunk in every such round (boostorg/pool#54)
    pool.release();
    model.forget();
    REQUIRE(take_from_chunk(is, model));
    CHECK(pool.capacity() == first);
  }
END

FOR_EVERY_COMPOSITION(owns_knows_its_own_addresses_only)
  for (int i = 0; i < 300; ++i) REQUIRE(model.take());
  for (void* const block : model.blocks()) {
    CHECK(pool.owns(block));
    CHECK(pool.owns(static_cast<std::byte*>(block) + pool.block_size() - 1));
  }
  const auto other = is.make();
  void* const foreign = other->pool.allocate();
  CHECK(!pool.owns(foreign));
  CHECK(!other->pool.owns(model.blocks().front()));
  int local = 0;
  CHECK(!pool.owns(&local));
  CHECK(!pool.owns(nullptr));
  CHECK(!pool.owns(reinterpret_cast<void*>(static_cast<std::uintptr_t>(-1))));
END

BOOST_DATA_TEST_CASE(a_destroyed_pool_has_given_everything_back, those([](const tested_pool& is) { return is.over_resource; }),
                     is) {
  upstream resource;
  {
    const auto another = is.make_over(resource);
    for (int i = 0; i < 3000; ++i) REQUIRE(another->try_allocate() != nullptr);
    CHECK(resource.bytes() != 0u);
  }
  CHECK(resource.bytes() == 0u);
  CHECK(resource.faults() == 0u);
}

}  // namespace
}  // namespace tarn::test
