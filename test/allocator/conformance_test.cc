// What every pool must do, whatever it is composed of.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
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
using pool_model = model<two_ways>;

std::vector<tested_pool> those(bool (*chosen)(const tested_pool&)) {
  std::vector<tested_pool> some;
  std::ranges::copy_if(tested_pools(), std::back_inserter(some), chosen);
  if (some.empty()) throw std::logic_error("no tested composition is such");
  return some;
}
std::size_t in_use(const any_pool& pool) { return pool.statistics().value_or(pool_counts{}).in_use; }

void take_through(pool_model& m, two_ways& ways, any_reservation& r, std::size_t n, called_from = {}) {
  ways.through = &r;
  for (std::size_t left = r.remaining(); n != 0; --n) {
    REQUIRE(m.take());
    REQUIRE(r.remaining() == --left);
  }
  ways.through = nullptr;
}

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
    two_ways ways{pool};                                                                                       \
    pool_model model(ways);

#define END }

FOR_EVERY_COMPOSITION(a_new_pool_asks_for_nothing_until_a_block_is_wanted)
  CHECK(pool.block_size() == (is.at_run_time ? 48 : is.bytes));
  CHECK(pool.block_alignment() == (is.at_run_time ? 16 : is.alignment));
  CHECK(!pool.owns(nullptr));
  CHECK(!pool.owns(&pool));
  CHECK((pool.capacity() != 0) == is.bounded);
  CHECK(pool.allocate_batch({}) == 0u);
  CHECK(pool.try_allocate_batch({}) == 0u);
  pool.deallocate_batch({});
  pool.deallocate(nullptr);
  pool.deallocate_batch(std::vector<void*>(3, nullptr));
  pool.reserve(0);
  const auto none = rig->try_reserve_blocks(0);
  CHECK(*none && none->remaining() == 0 && none->allocate() == nullptr);
  CHECK(rig->upstream.calls() == 0u);
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

FOR_EVERY_COMPOSITION(freeing_null_does_nothing)
  std::vector<void*> blocks(1000);
  for (void*& block : blocks) {
    pool.deallocate(nullptr);
    REQUIRE((block = pool.try_allocate()) != nullptr);
  }
  const std::size_t capacity = pool.capacity();
  const std::size_t counted = in_use(pool);
  for (int i = 0; i < 3000; ++i) pool.deallocate(nullptr);  // more than any front has room for
  CHECK(in_use(pool) == counted);
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

// ---- reservations --------------------------------------------------------------------------------------------------------

FOR_EVERY_COMPOSITION(reserved_blocks_are_blocks_like_others)
  for (int i = 0; i != 100; ++i) REQUIRE(model.take());
  model.give_batch(40);
  const auto r = rig->try_reserve_blocks(300);
  REQUIRE(*r && r->remaining() == 300);
  for (int i = 0; i != 200; ++i) REQUIRE(model.take());
  if (pool.statistics()) CHECK(in_use(pool) == model.live() + 300);
  const std::size_t calls = rig->upstream.calls();
  const std::size_t capacity = pool.capacity();
  take_through(model, ways, *r, 300);
  CHECK(rig->upstream.calls() == calls && pool.capacity() == capacity);
  CHECK(r->allocate() == nullptr && r->remaining() == 0 && *r);
  if (pool.statistics()) CHECK(in_use(pool) == model.live());
  model.verify();
  while (model.live() != 0) model.give(model.live() / 2);
END

FOR_EVERY_COMPOSITION(what_is_left_goes_back)
  auto r = rig->try_reserve_blocks(300);
  take_through(model, ways, *r, 50);
  const std::size_t capacity = pool.capacity();
  r.reset();
  if (pool.statistics()) CHECK(in_use(pool) == 50);
  REQUIRE(model.take_batch(250) == 250);
  CHECK((pool.capacity() == capacity || is.returns_chunks));
  model.verify();
  if (is.ends) {
    exhaust(model);
    CHECK(model.live() == pool.capacity() + is.beside);
  }
  model.give_batch(model.live());
END

FOR_THOSE(other_threads_can_leave_the_pool_without_a_block, is.ends || is.over_resource)
  for (int i = 0; i != 100; ++i) REQUIRE(model.take());
  model.give_batch(70);
  const auto r = rig->try_reserve_blocks(200);
  REQUIRE(*r);
  rig->upstream.fail(1, failing::for_ever);
  if (is.one_thread) exhaust(model);
  else std::thread([&] { exhaust(model); }).join();
  CHECK((model.live() + 200 >= pool.capacity() || is.keeps_blocks));  // some may lie with this thread
  const std::size_t calls = rig->upstream.calls();
  take_through(model, ways, *r, 200);
  CHECK(rig->upstream.calls() == calls);
  model.verify();
  while (model.live() != 0) model.give_newest();
END

FOR_THOSE(more_than_there_are_is_refused_as_a_whole, is.ends)
  REQUIRE(model.take_batch(100) == 100);
  const std::size_t capacity = pool.capacity();
  const std::size_t bytes = rig->upstream.bytes();
  for (const std::size_t n : {std::size_t{100'000}, static_cast<std::size_t>(-1)}) {
    const auto r = rig->try_reserve_blocks(n);
    CHECK(!*r && r->remaining() == 0 && r->allocate() == nullptr);
    if (pool.statistics()) CHECK(in_use(pool) == 100);
    CHECK(pool.capacity() == capacity);
    CHECK((rig->upstream.bytes() == bytes || is.keeps_memory));
  }
  exhaust(model);
  model.verify();
  model.give_batch(100);
  CHECK(!*rig->try_reserve_blocks(101 + is.beside));
  CHECK(*rig->try_reserve_blocks(100 - is.beside));
  model.give_batch(model.live());
END

FOR_THOSE(each_call_of_the_store_may_fail, is.over_resource)
  for (const failing mode : {failing::once, failing::for_ever, failing::every_second}) {
    for (std::size_t k = 1;; ++k) {
      REQUIRE(k < 1000);
      const auto fresh = is.make();
      two_ways fresh_ways{fresh->pool};
      pool_model fresh_model(fresh_ways);
      REQUIRE(fresh_model.take_batch(150) == 150);
      fresh_model.give_batch(60);
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
      take_through(fresh_model, fresh_ways, *r, 2500);
      fresh_model.verify();
      fresh_model.give_batch(2590);
      if (fresh->pool.trim() && !is.keeps_memory) CHECK(fresh->upstream.bytes() == 0);
      CHECK(fresh->upstream.faults() == 0);
      if (fresh->upstream.failures() == failures) {
        CHECK(!refused);
        break;
      }
    }
  }
END

// ---- bytes_for() and blocks_in(): as many blocks come out of a buffer as they say, and not one more ----------------------

bool in_a_buffer(const tested_pool& is) { return is.make_in != nullptr; }

/// So many bytes at an address that is a multiple of `alignment`, and of no larger power of two.
class buffer {
 public:
  buffer(std::size_t bytes, std::size_t alignment) : memory_(bytes + 3 * most), bytes_(bytes), alignment_(alignment) {}
  std::span<std::byte> bytes() {
    const std::size_t start = detail::round_up(detail::address_of(memory_.data()), 2 * most) + alignment_;
    return std::span(memory_).subspan(start - detail::address_of(memory_.data()), bytes_);
  }
  static constexpr std::size_t most = 256;  // alignment

 private:
  std::vector<std::byte> memory_;
  std::size_t bytes_, alignment_;
};
constexpr std::size_t alignments[] = {1, 4, 16, 128};

/// How many blocks come out of that buffer; the pool may have others.
std::size_t blocks_from(const tested_pool& is, std::size_t bytes, std::size_t alignment) {
  buffer memory(bytes, alignment);
  const std::span<std::byte> all = memory.bytes();
  const auto pool = is.make_in(all);
  std::vector<void*> blocks;
  while (void* const block = pool->try_allocate()) blocks.push_back(block);
  pool->deallocate_batch(blocks);
  return static_cast<std::size_t>(std::ranges::count_if(blocks, [&](void* block) {
    return std::greater_equal<>()(block, all.data()) && std::less<>()(block, all.data() + all.size());
  }));
}

/// Whether the answers are right, of some numbers of blocks.
using answer = std::function<std::size_t(std::size_t, std::size_t)>;
bool bytes_are_right(const tested_pool& is, const answer& bytes_for, std::size_t alignment,
                     std::initializer_list<std::size_t> of) {
  return std::ranges::all_of(of, [&](std::size_t n) {
    const std::size_t bytes = bytes_for(n, alignment);
    return blocks_from(is, bytes, alignment) == n && blocks_from(is, bytes - 1, alignment) == n - 1;
  });
}
bool blocks_are_right(const tested_pool& is, const answer& blocks_in, std::size_t alignment,
                      std::initializer_list<std::size_t> of) {
  return std::ranges::all_of(of, [&](std::size_t n) {
    return std::ranges::all_of(
        std::initializer_list<std::size_t>{n - 1, n, n + is.bytes_for(1, alignment) / 2},
        [&](std::size_t bytes) { return blocks_in(bytes, alignment) == blocks_from(is, bytes, alignment); });
  });
}

// shows: FM-36
BOOST_DATA_TEST_CASE(as_many_blocks_come_out_as_the_bytes_are_for, those(in_a_buffer), is) {
  for (const std::size_t alignment : alignments) CHECK(bytes_are_right(is, is.bytes_for, alignment, {1, 2, 3, 64, 65, 200}));
  for (const std::size_t better : {2u, 8u, 256u}) {  // the same bytes at an address of which less is known
    const std::size_t blocks = blocks_from(is, is.bytes_for(65, 1), better);
    CHECK(blocks == 65u);
  }
}
BOOST_DATA_TEST_CASE(as_many_blocks_come_out_as_the_bytes_have, those(in_a_buffer), is) {
  for (const std::size_t alignment : alignments)
    CHECK(blocks_are_right(is, is.blocks_in, alignment, {1, is.bytes_for(1, alignment), 1000, is.bytes_for(65, alignment)}));
  CHECK(is.blocks_in(0, 1) == 0u);
  CHECK(is.bytes_for(0, 1) == 0u);
  for (std::size_t n = 1; n < 3000; n += n / 2 + 1) CHECK(is.blocks_in(is.bytes_for(n, 8), 8) == n);
}
// shows: FM-36
BOOST_DATA_TEST_CASE(a_limit_of_blocks_is_known, those(in_a_buffer), is) {
  const std::size_t most = is.blocks_in(detail::size_limit, 1);
  if (most > 1'000'000) return;  // as many as the buffer has
  CHECK(is.bytes_for(most + 1, 1) == detail::size_max);
  CHECK(blocks_from(is, is.bytes_for(most, 16) + 4096, 16) == most);
}

}  // namespace
}  // namespace tarn::test
