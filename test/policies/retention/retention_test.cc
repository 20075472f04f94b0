// Memory that comes back: what return_empty_chunks gives to the store, when, and what it keeps.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/upstream.h"

namespace {

using namespace tarn;
using test::upstream;

template <class... Policies>
using pool_of_64 = pool<static_size<64>, fixed_growth<1000>, resource_store, Policies...>;

template <class Pool>
std::vector<void*> fill(Pool& pool, std::size_t blocks) {
  std::vector<void*> all(blocks);
  pool.allocate_batch(all);
  return all;
}

enum class order { as_taken, newest_first, random };

void arrange(std::vector<void*>& blocks, order how) {
  if (how == order::newest_first) std::reverse(blocks.begin(), blocks.end());
  if (how == order::random) std::shuffle(blocks.begin(), blocks.end(), std::mt19937(17));
}

using lockings = std::tuple<no_locking, mutex_locking<>, thread_cached<16, 62>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_peak_of_200_chunks_goes_back_by_itself, locking, lockings) {
  for (const order how : {order::as_taken, order::newest_first, order::random}) {
    upstream memory;
    pool_of_64<locking, return_empty_chunks<1, 4>> pool{resource_store{&memory}};
    for (int round = 0; round < 3; ++round) {
      std::vector<void*> blocks = fill(pool, 200'000);
      BOOST_TEST(pool.capacity() >= 200'000u);
      arrange(blocks, how);
      for (void* const block : blocks) pool.deallocate(block);
      // Low to High empty chunks, and those that two blocks in front, or what a thread's magazines hold, keep.
      BOOST_TEST(pool.capacity() <= 1000u * (4 + 8));
    }
    pool.trim();
    BOOST_TEST(pool.capacity() == 0u);
    BOOST_TEST(memory.faults() == 0u);
  }
}

struct crew;
using pools_with_tables =
    std::tuple<pool_of_64<return_empty_chunks<>>, pool_of_64<page_local_reuse<>, no_locking>,
               pool_of_64<page_local_reuse<>, mutex_locking<>>, pool_of_64<return_empty_chunks<0, 0>, grouped_locking<crew>>,
               pool_of_64<page_local_reuse<>, thread_cached<16, 62>>, pool_of_64<hardened>,
               pool_of_64<hardened, mutex_locking<>, return_empty_chunks<0, 2>>>;

/// The table of chunks has memory of the store, too. It goes when no chunk is left, and comes again with them.
BOOST_AUTO_TEST_CASE_TEMPLATE(after_a_trim_with_no_block_in_use_the_store_has_everything, pool, pools_with_tables) {
  upstream memory;
  pool its{resource_store{&memory}};
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks = fill(its, 100'000);
    arrange(blocks, order::random);
    void* const last = blocks.back();
    blocks.pop_back();
    for (void* const block : blocks) its.deallocate(block);
    its.trim();
    BOOST_TEST(memory.regions() != 0u);
    BOOST_TEST(its.owns(last));
    its.deallocate(last);
    its.trim();
    BOOST_TEST(its.capacity() == 0u);
    BOOST_TEST(memory.regions() == 0u);
    BOOST_TEST(!its.owns(last));
  }
  BOOST_TEST(memory.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(batches_go_back_as_single_blocks_do) {
  upstream memory;
  pool_of_64<return_empty_chunks<0, 0>> pool{resource_store{&memory}};
  std::vector<void*> blocks = fill(pool, 50'000);
  arrange(blocks, order::random);
  pool.deallocate_batch(blocks);
  BOOST_TEST(pool.capacity() <= 2000u);
}

/// A load that goes up and down around a chunk's boundary. The chunks' bytes pass the boundary, and the store hears nothing.
BOOST_AUTO_TEST_CASE(a_load_around_a_boundary_does_not_reach_the_store) {
  upstream memory;
  pool_of_64<return_empty_chunks<1, 3>> pool{resource_store{&memory}};
  std::vector<void*> base = fill(pool, 5'400);
  std::vector<void*> wave(2'500);
  std::size_t calls = 0;
  std::size_t regions = 0;
  for (int round = 0; round < 50; ++round) {
    pool.allocate_batch(wave);
    for (void* const block : wave) pool.deallocate(block);
    if (round == 0) {
      calls = memory.calls();
      regions = memory.regions();
    }
  }
  BOOST_TEST(memory.calls() == calls);
  BOOST_TEST(memory.regions() == regions);

  upstream other;  // the control: without the distance between Low and High each wave calls the store
  pool_of_64<return_empty_chunks<0, 0>> eager{resource_store{&other}};
  std::vector<void*> its_base = fill(eager, 5'400);
  std::size_t before = 0;
  for (int round = 0; round < 50; ++round) {
    if (round == 1) before = other.calls();
    eager.allocate_batch(wave);
    for (void* const block : wave) eager.deallocate(block);
  }
  BOOST_TEST(other.calls() >= before + 49u);
  for (void* const block : base) pool.deallocate(block);
  for (void* const block : its_base) eager.deallocate(block);
}

BOOST_AUTO_TEST_CASE(low_and_high_are_kept) {
  upstream memory;
  pool_of_64<return_empty_chunks<2, 6>> pool{resource_store{&memory}};
  std::vector<void*> blocks = fill(pool, 20'000);
  std::sort(blocks.begin(), blocks.end());
  std::set<std::size_t> seen;
  for (void* const block : blocks) {
    pool.deallocate(block);
    seen.insert(pool.capacity());
  }
  BOOST_TEST(*seen.begin() >= 2'000u);
  BOOST_TEST(*seen.begin() <= 7'000u);
  BOOST_TEST(seen.size() >= 3u);  // four chunks at a time
  pool.trim();
  BOOST_TEST(pool.capacity() == 0u);
}

/// A peak of 100 chunks; a random tenth of the blocks lives on, of which then ten times a random half is replaced.
template <class Pool>
std::size_t chunks_after_thinning(Pool& pool) {
  std::mt19937 random(23);
  std::vector<void*> blocks = fill(pool, 100'000);
  std::shuffle(blocks.begin(), blocks.end(), random);
  while (blocks.size() > 10'000) {
    pool.deallocate(blocks.back());
    blocks.pop_back();
  }
  for (int round = 0; round < 10; ++round) {
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (std::size_t i = 0; i != 5'000; ++i) pool.deallocate(blocks[i]);
    for (std::size_t i = 0; i != 5'000; ++i) blocks[i] = pool.allocate();
  }
  pool.trim();
  const std::size_t chunks = pool.capacity() / 1000;
  for (void* const block : blocks) pool.deallocate(block);
  return chunks;
}

BOOST_AUTO_TEST_CASE(blocks_come_from_the_fullest_chunk_so_that_others_become_empty) {
  upstream memory;
  pool_of_64<return_empty_chunks<>> returning{resource_store{&memory}};
  pool_of_64<batch_reuse<>> keeping{resource_store{&memory}};
  const std::size_t few = chunks_after_thinning(returning);
  const std::size_t many = chunks_after_thinning(keeping);
  std::printf("of 100 chunks, 10 of them full of what lives: %zu stay, %zu with batch_reuse and trim()\n", few, many);
  BOOST_TEST(few >= 10u);
  BOOST_TEST(few <= 30u);
  BOOST_TEST(many >= 90u);
}

/// A reuse policy that counts the blocks and the chunks which a trim hands to its list.
template <class Reuse>
struct stepping : Reuse {
  static inline std::size_t steps = 0;
  template <class Traits>
  struct list : Reuse::template list<Traits> {
    using base = typename Reuse::template list<Traits>;
    template <class Take>
    void drain(typename Traits::chunks& chunks, Take take) noexcept {
      base::drain(chunks, [&take](void* block) noexcept { ++steps, take(block); });
    }
    void restore(typename Traits::chunks& chunks, void* block) noexcept { ++steps, base::restore(chunks, block); }
    void adopted(typename Traits::chunk& c) noexcept { ++steps, base::adopted(c); }
  };
};
template <class Reuse>
struct trimming {
  using reuse = stepping<Reuse>;
  pool<static_size<64>, fixed_growth<16>, reuse> its;
  std::vector<void*> blocks = fill(its, 0);

  explicit trimming(std::size_t chunks) : blocks(fill(its, 16 * chunks)) {}
  ~trimming() {
    for (void* const block : blocks) its.deallocate(block);
  }
  std::size_t steps() {
    reuse::steps = 0;
    BOOST_TEST(its.trim() == 0u);
    return reuse::steps;
  }
};
using lists = std::tuple<batch_reuse<>, batch_reuse<prefetch::none, 128>, lifo_reuse<>>;
using lists_that_rest = std::tuple<batch_reuse<>, batch_reuse<prefetch::none, 128>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_trim_takes_no_step_if_nothing_was_freed_or_allocated, reuse, lists_that_rest) {
  for (const std::size_t chunks : {200u, 400u})
    for (const std::size_t free : {0u, 1u, 40u, 100u, 1500u}) {
      trimming<reuse> one(chunks);
      arrange(one.blocks, order::random);
      for (std::size_t i = 0; i != free; ++i) {
        one.its.deallocate(one.blocks.back());
        one.blocks.pop_back();
      }
      one.its.trim();
      BOOST_TEST(one.steps() == 0u);
      std::vector<void*> few;
      for (int i = 0; i != 30; ++i) few.push_back(one.its.allocate());
      one.its.trim();
      BOOST_TEST(one.steps() == 0u);
      for (void* const block : few) one.its.deallocate(block);
      one.its.trim();
      BOOST_TEST(one.steps() == 0u);
      one.its.deallocate(one.its.allocate());
      one.its.reserve(16 * (chunks + 4));
      BOOST_TEST(one.its.trim() != 0u);  // chunks that nobody used
      for (void* const block : one.blocks) one.its.deallocate(block);
      one.blocks.clear();
      BOOST_TEST(one.its.trim() != 0u);
      BOOST_TEST(one.its.capacity() == 0u);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_trim_takes_steps_for_free_blocks_and_not_for_full_chunks, reuse, lists) {
  for (const std::size_t chunks : {200u, 400u}) {
    trimming<reuse> one(chunks);
    one.its.trim();
    for (int i = 0; i != 5; ++i) one.blocks.push_back(one.its.allocate());  // of a chunk that comes for it
    BOOST_TEST(one.steps() <= 150u);
    one.its.deallocate(one.blocks.front());
    one.blocks.front() = one.its.allocate();
    BOOST_TEST(one.steps() <= 150u);
  }
}

/// The last block of a chunk is freed in the place of one that was taken: what is free is as much as before.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_chunk_that_became_empty_goes_whatever_was_taken, reuse, lists) {
  pool<static_size<64>, fixed_growth<16>, reuse> its;
  std::vector<void*> blocks = fill(its, 64);
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i != 64; ++i)
    if (i % 16 != 0) its.deallocate(blocks[i]);
  BOOST_TEST(its.trim() == 0u);
  void* const taken = its.allocate();
  its.deallocate(blocks[taken < blocks[16] ? 16 : 0]);
  BOOST_TEST(its.trim() != 0u);
  BOOST_TEST(its.capacity() == 48u);
}

}  // namespace
