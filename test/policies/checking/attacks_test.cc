// What hardened detects of an attacker who can write where the program shouldn't: a case for each sentence of docs/misuse.md.
// The handler returns: so what is looked at is that nothing worse happens afterwards.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <set>
#include <utility>
#include <vector>

#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/policies/checking/recording.h"

namespace tarn::test {
namespace {

/// Regions, one behind the other unless `next` is set; none goes back.
struct land : std::pmr::memory_resource {
  std::unique_ptr<std::byte[]> bytes{new std::byte[1u << 20]};
  std::size_t used = 0;
  std::size_t gap = 0;  // bytes between two
  std::vector<std::byte*> given;
  void* next = nullptr;  // what the next request gets
  int returned = 0;      // regions

  std::byte* at(std::size_t offset) const noexcept {
    const auto start = reinterpret_cast<std::uintptr_t>(bytes.get());
    return bytes.get() + (64 - start % 64) % 64 + offset;
  }

 private:
  void* do_allocate(std::size_t n, std::size_t) override {
    if (next != nullptr) return std::exchange(next, nullptr);
    given.push_back(at(used));
    used += (n + 63) / 64 * 64 + gap;
    return given.back();
  }
  void do_deallocate(void*, std::size_t, std::size_t) override { ++returned; }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};
template <class... Policies>
using hardened_over_land = pool<static_size<64>, hardened, fixed_growth<256>, resource_store, Policies...>;

/// Takes until `n` are had or nothing comes. Returns how many were handed out twice.
template <class Pool>
std::size_t taken_twice(Pool& pool, std::set<void*>& in_use, std::size_t n) {
  std::size_t twice = 0;
  for (std::size_t i = 0; i != n; ++i)
    if (void* const block = pool.try_allocate()) twice += !in_use.insert(block).second;
  return twice;
}

bool overrun_was_told() {
  return std::any_of(told.begin(), told.end(), [](const misuse& what) { return what.kind == misuse_kind::corrupt_chunk; });
}

// The first `bytes` of a chunk are overwritten, as by an overrun of the one before, when some of its blocks are in use.
template <class... Policies>
void run_over_the_end(std::size_t bytes, int with = 0) {
  const recording here;
  land memory;
  hardened_over_land<Policies...> pool{resource_store{&memory}};
  std::set<void*> in_use;
  pool.reserve(512);
  taken_twice(pool, in_use, 64);  // as many as are carved at once: no list holds one more, so the next call is a slow one
  const auto first_chunk = reinterpret_cast<std::byte*>(*in_use.begin());
  std::byte* record = nullptr;  // of the chunk in use: the last region that starts below its blocks
  for (std::byte* const region : memory.given)
    if (region < first_chunk) record = region;
  BOOST_REQUIRE(record != nullptr);
  std::memset(record, with, bytes);
  BOOST_TEST(taken_twice(pool, in_use, 600) == 0u);
  BOOST_TEST(overrun_was_told());
  if constexpr (requires { pool.trim(); }) pool.trim();
  BOOST_TEST(taken_twice(pool, in_use, 600) == 0u);
}

BOOST_AUTO_TEST_CASE(an_overrun_into_the_next_chunk_is_found_before_its_record_is_believed) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{64}, std::size_t{200}}) {
    run_over_the_end<batch_reuse<>>(bytes);
    run_over_the_end<lifo_reuse<>>(bytes);
  }
  run_over_the_end<page_local_reuse<>>(200);
  run_over_the_end<batch_reuse<>>(256, 0x41);
  run_over_the_end<lifo_reuse<>>(256, 0x41);
  run_over_the_end<page_local_reuse<>>(256, 0x41);
}

BOOST_AUTO_TEST_CASE(blocks_of_a_chunk_that_was_run_over_enter_no_bitmap) {
  const recording here;
  land memory;
  hardened_over_land<page_local_reuse<>> pool{resource_store{&memory}};
  std::set<void*> in_use;
  taken_twice(pool, in_use, 1024);
  std::memset(memory.given[0], 0, 8);
  for (void* const block : in_use) pool.deallocate(block);  // more than a front holds
  in_use.clear();
  pool.trim();
  BOOST_TEST(taken_twice(pool, in_use, 1024) == 0u);
  BOOST_TEST(in_use.size() == 1024u);
  BOOST_TEST(overrun_was_told());
}

// Only who takes a chunk out of the map comes past the other's record.
BOOST_AUTO_TEST_CASE(an_overrun_that_is_found_when_a_chunk_goes_back_is_told_by_the_same_call) {
  const recording here;
  land memory;
  hardened_over_land<return_empty_chunks<0, 0>> pool{resource_store{&memory}};
  std::set<void*> in_use;
  taken_twice(pool, in_use, 512);
  const std::vector<void*> all(in_use.begin(), in_use.end());  // 256 of one chunk, 256 of the other
  pool.deallocate(all[510]);
  pool.deallocate(all[511]);
  for (std::size_t i = 0; i != 256; ++i) pool.deallocate(all[i]);  // those of them that are still in the front leave together
  std::byte* record = nullptr;
  for (std::byte* const region : memory.given)
    if (region < all[256]) record = region;
  std::memset(record, 0, 8);
  const int before = memory.returned;
  for (std::size_t i = 256; memory.returned == before; ++i) {
    BOOST_TEST_REQUIRE(i != 510u);
    BOOST_TEST(!overrun_was_told());
    pool.deallocate(all[i]);
  }
  BOOST_TEST(overrun_was_told());
}

// Nothing but the line in front of the record is overwritten, so that whoever believes the record finds it right.
BOOST_AUTO_TEST_CASE(a_free_into_a_chunk_that_was_run_over_is_told_as_that) {
  const recording here;
  land memory;
  hardened_over_land<> pool{resource_store{&memory}};
  void* const block = pool.allocate();
  BOOST_TEST(pool.owns(block));
  std::memset(memory.given[0], 0, 8);
  pool.deallocate(static_cast<std::byte*>(block) + 8);  // refused, and looked at again by the slow half
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].kind == misuse_kind::corrupt_chunk));
  BOOST_TEST(!pool.owns(block));
}

BOOST_AUTO_TEST_CASE(a_region_that_overlaps_what_the_pool_has_is_found) {
  for (const int where : {0, 1, 2, 3, 4}) {
    const recording here;
    land memory;
    memory.used = memory.gap = 64 * 1024;
    pool<static_size<64>, hardened, geometric_growth<32, 256>, resource_store> pool{resource_store{&memory}};
    std::set<void*> in_use;
    taken_twice(pool, in_use, 32);
    std::byte* const first = memory.given[0];
    std::byte* const own = memory.given[1];  // the table of chunks
    memory.next = where == 0   ? first                   // the same
                  : where == 1 ? first - 4096 + 64       // its end lies in the first one's record
                  : where == 2 ? first - 1024            // it lies around the first one
                  : where == 3 ? first + 1024            // it begins among the first one's blocks
                               : own;
    BOOST_TEST(pool.try_allocate() == nullptr);
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST((told[0].kind == misuse_kind::broken_store));
    BOOST_TEST(taken_twice(pool, in_use, 64) == 0u);  // the next region is a right one
    BOOST_TEST(in_use.size() == 96u);
    BOOST_TEST(told.size() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(a_region_that_was_ever_given_is_found) {
  const recording here;
  land memory;
  memory.gap = 3072;  // so that what begins where a table does reaches no chunk
  pool<static_size<64>, hardened, fixed_growth<32>, resource_store> pool{resource_store{&memory}};
  std::set<void*> in_use;
  taken_twice(pool, in_use, 64 * 32);
  const std::vector<std::byte*> given = memory.given;
  BOOST_TEST(given.size() >= 64u + 2);  // chunks, and more than one table
  for (std::byte* const region : given) {
    told.clear();
    memory.next = region;
    while (void* const block = pool.try_allocate()) BOOST_REQUIRE(in_use.insert(block).second);
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST((told[0].kind == misuse_kind::broken_store));
  }
}

BOOST_AUTO_TEST_CASE(a_region_given_twice_within_one_reserve_is_found) {
  const recording here;
  land memory;
  hardened_over_land<> pool{resource_store{&memory}};
  memory.next = memory.at(0);  // and then at(0) again, for the table of chunks, without which the pool goes on
  BOOST_TEST(pool.try_reserve(64));
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].kind == misuse_kind::broken_store));
  BOOST_TEST(pool.capacity() >= 64u);
}

// After a walk the free blocks are bits. The list that is made anew holds them all: no bit may be left.
BOOST_AUTO_TEST_CASE(a_list_that_is_mended_after_a_walk_holds_each_block_once) {
  const recording here;
  struct object {
    std::uint64_t words[4];
  };
  object_pool<object, hardened, lifo_reuse<>> pool;
  std::vector<object*> objects;
  for (int i = 0; i != 100; ++i) objects.push_back(pool.construct());
  for (std::size_t i = 0; i != 50; ++i) pool.destroy(objects[i]);
  pool.for_each([](object&) {});
  for (std::size_t i = 50; i != 60; ++i) pool.destroy(objects[i]);
  for (std::size_t i = 50; i != 60; ++i) std::memset(static_cast<void*>(objects[i]), 0x5A, sizeof(object));
  std::set<object*> in_use(objects.begin() + 60, objects.end());
  for (int i = 0; i != 200; ++i) BOOST_TEST(in_use.insert(pool.construct()).second);
  BOOST_TEST(told.size() == 1u);
}

BOOST_AUTO_TEST_CASE(links_that_are_overwritten_again_and_again_end_each_call) {
  const recording here;
  land memory;
  hardened_over_land<lifo_reuse<>> pool{resource_store{&memory}};
  std::set<void*> in_use;
  taken_twice(pool, in_use, 32);
  std::vector<void*> blocks(in_use.begin(), in_use.end());
  for (int round = 0; round != 5; ++round) {
    for (void* const block : blocks) pool.deallocate(block);
    for (void* const block : blocks) std::memset(block, 0x41 + round, 64);
    std::set<void*> again;
    BOOST_TEST(taken_twice(pool, again, 32) == 0u);
    blocks.assign(again.begin(), again.end());
  }
  BOOST_TEST(told.size() >= 5u);
  for (const misuse& what : told) BOOST_TEST((what.kind == misuse_kind::corrupt_free_list));
}

// No attack, but as hard to see for a hit: ten small chunks lie where its guess knows two. Every block is found all the same.
template <class... Policies>
void many_chunks_near_each_other() {
  const recording here;
  land memory;
  pool<static_size<64>, fixed_growth<4>, resource_store, Policies...> pool{resource_store{&memory}};
  for (int round = 0; round != 3; ++round) {
    std::set<void*> in_use;
    BOOST_TEST(taken_twice(pool, in_use, 400) == 0u);
    BOOST_TEST(in_use.size() == 400u);
    for (void* const block : in_use) pool.deallocate(block);
  }
  BOOST_TEST(memory.given.size() < 110u);  // 100 chunks, and tables
  BOOST_TEST(told.empty());
}
BOOST_AUTO_TEST_CASE(blocks_of_many_chunks_near_each_other_come_and_go) {
  many_chunks_near_each_other<hardened>();
  many_chunks_near_each_other<hardened, lifo_reuse<>>();
  many_chunks_near_each_other<checked>();
}

/// The record of the chunk in a region.
template <class Traits>
typename Traits::chunk& record_in(const detail::pool_members<Traits>&, std::byte* region) {
  return *reinterpret_cast<typename Traits::chunk*>(region + detail::red_line::bytes);
}

// What a list is rebuilt from is wrong, since a write leaped over the red line: of 64 blocks that were carved, 16 have records.
template <class Reuse>
void shorten_a_chunk() {
  const recording here;
  land memory;
  pool<static_size<64>, hardened, fixed_growth<64>, resource_store, Reuse> pool{resource_store{&memory}};
  std::set<void*> in_use;
  taken_twice(pool, in_use, 64);
  for (void* const block : in_use) pool.deallocate(block);
  in_use.clear();
  record_in(pool, memory.given[0]).forget();
  record_in(pool, memory.given[0]).make_records(16);
  BOOST_TEST(taken_twice(pool, in_use, 600) == 0u);
  BOOST_TEST(in_use.size() == 600u);
  BOOST_TEST(memory.given.size() < 20u);  // 16 blocks and ten chunks
  BOOST_TEST(told.size() != 0u);
  for (const misuse& what : told) BOOST_TEST((what.kind == misuse_kind::corrupt_free_list));
}
BOOST_AUTO_TEST_CASE(a_list_that_is_wrong_again_is_given_up) {
  shorten_a_chunk<lifo_reuse<>>();
  shorten_a_chunk<batch_reuse<>>();
}

// The record says that no block was carved, when all that were are in use: 976 of 1024, since a new pool carves 16 and then 64.
BOOST_AUTO_TEST_CASE(a_call_that_finds_blocks_in_use_again_and_again_gives_up) {
  const recording here;
  land memory;
  pool<static_size<64>, hardened, fixed_growth<1024>, resource_store> pool{resource_store{&memory}};
  std::set<void*> in_use;
  taken_twice(pool, in_use, 976);
  const std::size_t before = memory.given.size();
  record_in(pool, memory.given[0]).carved = 0;
  BOOST_TEST(taken_twice(pool, in_use, 1) == 0u);
  BOOST_TEST(in_use.size() == 977u);
  BOOST_TEST(memory.given.size() > before);  // it didn't look at all 976
  BOOST_TEST(taken_twice(pool, in_use, 1100) == 0u);
}

}  // namespace
}  // namespace tarn::test
