// Reservations, of every composition.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/tested_pools.h"

namespace tarn::test {
namespace {

/// For the model: the pool, or for allocations a reservation of its blocks.
struct two_ways {
  any_pool& pool;
  any_reservation* through = nullptr;

  void* try_allocate() { return through != nullptr ? through->allocate() : pool.try_allocate(); }
  std::size_t try_allocate_batch(std::span<void*> out) { return pool.try_allocate_batch(out); }
  void deallocate(void* block) { pool.deallocate(block); }
  void deallocate_batch(std::span<void* const> blocks) { pool.deallocate_batch(blocks); }
  bool owns(const void* address) const { return pool.owns(address); }
  std::size_t block_size() const { return pool.block_size(); }
  std::size_t block_alignment() const { return pool.block_alignment(); }
};
using reserved_model = model<two_ways>;

std::vector<tested_pool> those(bool (*chosen)(const tested_pool&)) {
  std::vector<tested_pool> some;
  std::ranges::copy_if(tested_pools(), std::back_inserter(some), chosen);
  return some;
}
std::size_t in_use(const any_pool& pool) { return pool.statistics().value_or(pool_counts{}).in_use; }

void take_through(reserved_model& m, two_ways& ways, any_reservation& r, std::size_t n, called_from = {}) {
  ways.through = &r;
  for (std::size_t left = r.remaining(); n != 0; --n) {
    REQUIRE(m.take());
    REQUIRE(r.remaining() == --left);
  }
  ways.through = nullptr;
}

#define FOR_THOSE(name, condition)                                                                          \
  BOOST_DATA_TEST_CASE(name, those([]([[maybe_unused]] const tested_pool& is) { return condition; }), is) { \
    const auto rig = is.make();                                                                             \
    auto& pool = rig->pool;                                                                                 \
    two_ways ways{pool};                                                                                    \
    reserved_model m(ways);

#define END }

FOR_THOSE(reserved_blocks_are_blocks_like_others, true)
  for (int i = 0; i != 100; ++i) REQUIRE(m.take());
  m.give_batch(40);
  const auto r = rig->try_reserve_blocks(300);
  REQUIRE(*r && r->remaining() == 300);
  for (int i = 0; i != 200; ++i) REQUIRE(m.take());
  if (pool.statistics()) CHECK(in_use(pool) == m.live() + 300);
  const std::size_t calls = rig->upstream.calls();
  const std::size_t capacity = pool.capacity();
  take_through(m, ways, *r, 300);
  CHECK(rig->upstream.calls() == calls && pool.capacity() == capacity);
  CHECK(r->allocate() == nullptr && r->remaining() == 0 && *r);
  if (pool.statistics()) CHECK(in_use(pool) == m.live());
  m.verify();
  while (m.live() != 0) m.give(m.live() / 2);
END

FOR_THOSE(a_reservation_of_nothing_asks_for_nothing, true)
  const auto r = rig->try_reserve_blocks(0);
  CHECK(*r && r->remaining() == 0 && r->allocate() == nullptr);
  CHECK(rig->upstream.calls() == 0);
END

FOR_THOSE(what_is_left_goes_back, true)
  auto r = rig->try_reserve_blocks(300);
  take_through(m, ways, *r, 50);
  const std::size_t capacity = pool.capacity();
  r.reset();
  if (pool.statistics()) CHECK(in_use(pool) == 50);
  REQUIRE(m.take_batch(250) == 250);
  CHECK((pool.capacity() == capacity || is.returns_chunks));
  m.verify();
  if (is.ends) {
    while (m.take()) {}
    CHECK(m.live() == pool.capacity() + is.beside);
  }
  m.give_batch(m.live());
END

FOR_THOSE(other_threads_can_leave_the_pool_without_a_block, is.ends || is.over_resource)
  for (int i = 0; i != 100; ++i) REQUIRE(m.take());
  m.give_batch(70);
  const auto r = rig->try_reserve_blocks(200);
  REQUIRE(*r);
  rig->upstream.fail(1, failing::for_ever);
  const auto exhaust = [&] { while (m.take()) {} };
  if (is.one_thread) exhaust();
  else std::thread(exhaust).join();
  CHECK((m.live() + 200 >= pool.capacity() || is.keeps_blocks));  // some may lie with this thread
  const std::size_t calls = rig->upstream.calls();
  take_through(m, ways, *r, 200);
  CHECK(rig->upstream.calls() == calls);
  m.verify();
  while (m.live() != 0) m.give_newest();
END

FOR_THOSE(more_than_there_are_is_refused_as_a_whole, is.ends)
  REQUIRE(m.take_batch(100) == 100);
  const std::size_t capacity = pool.capacity();
  const std::size_t bytes = rig->upstream.bytes();
  for (const std::size_t n : {std::size_t{100'000}, static_cast<std::size_t>(-1)}) {
    const auto r = rig->try_reserve_blocks(n);
    CHECK(!*r && r->remaining() == 0 && r->allocate() == nullptr);
    if (pool.statistics()) CHECK(in_use(pool) == 100);
    CHECK(pool.capacity() == capacity);
    CHECK((rig->upstream.bytes() == bytes || is.keeps_memory));
  }
  while (m.take()) {}
  m.verify();
  m.give_batch(100);
  CHECK(!*rig->try_reserve_blocks(101 + is.beside));
  CHECK(*rig->try_reserve_blocks(100 - is.beside));
  m.give_batch(m.live());
END

FOR_THOSE(each_call_of_the_store_may_fail, is.over_resource)
  for (const failing mode : {failing::once, failing::for_ever, failing::every_second}) {
    for (std::size_t k = 1;; ++k) {
      REQUIRE(k < 1000);
      const auto fresh = is.make();
      two_ways fresh_ways{fresh->pool};
      reserved_model model(fresh_ways);
      REQUIRE(model.take_batch(150) == 150);
      model.give_batch(60);
      const std::size_t capacity = fresh->pool.capacity();
      const std::size_t failures = fresh->upstream.failures();
      const std::size_t bytes = fresh->upstream.bytes();
      fresh->upstream.fail(k, mode);
      auto r = fresh->try_reserve_blocks(2500);
      fresh->upstream.fail(1, failing::never);
      const bool refused = !*r;
      if (refused) {
        CHECK(fresh->pool.capacity() == capacity);
        CHECK((fresh->upstream.bytes() == bytes || is.keeps_memory));
        CHECK(r->remaining() == 0);
        r = fresh->try_reserve_blocks(2500);  // the next call works
        REQUIRE(*r);
      }
      if (fresh->pool.statistics()) CHECK(in_use(fresh->pool) == 90 + 2500);
      take_through(model, fresh_ways, *r, 2500);
      model.verify();
      model.give_batch(2590);
      if (fresh->pool.trim() && !is.keeps_memory) CHECK(fresh->upstream.bytes() == 0);
      CHECK(fresh->upstream.faults() == 0);
      if (fresh->upstream.failures() == failures) {
        CHECK(!refused);
        break;
      }
    }
  }
END

}  // namespace
}  // namespace tarn::test
