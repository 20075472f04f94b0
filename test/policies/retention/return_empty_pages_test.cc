// return_empty_pages: which pages go and stay, and that no block is lost or handed out twice.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/test/policies/checking/recording.h"
#include "tarn/test/policies/retention/watched_store.h"

namespace tarn::test {
namespace {

using eager = return_empty_pages<10, 16 * KiB>;

template <std::size_t Bytes, class Retention = return_empty_pages<>, class... Policies>
using watched_pool = pool<static_size<Bytes>, watched_store<>, Retention, Policies...>;

// ---- blocks --------------------------------------------------------------------------------------------------------------

template <class Locking>
using sized_pool = pool<dynamic_size, watched_store<>, eager, Locking>;
using lockings = std::tuple<no_locking, mutex_locking<>, thread_cached<>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_keep_what_they_contain_while_pages_go_and_come, locking, lockings) {
  for (const std::size_t bytes : {16u, 48u, 64u, 1000u, 1024u}) {
    watch seen;
    {
      sized_pool<locking> pool{dynamic_size(bytes), watched_store<>{seen}};
      stamped_blocks blocks(pool, bytes, bytes);
      const std::size_t most = MiB / bytes;
      for (int round = 0; round != 12; ++round) {
        blocks.add(most - blocks.size());
        blocks.free_neighbours(40, 16 * KiB / bytes);
        for (std::size_t wanted = blocks.random()() % (most / 2); blocks.size() > wanted;) {  // shrinks, and grows a little
          blocks.free(std::min<std::size_t>(1 + blocks.random()() % 100, blocks.size()));
          blocks.add(blocks.random()() % 60);
        }
        if (round % 4 == 1) pool.trim();
        if (round == 7) seen.accepts = 20;
        if (round == 9) seen.accepts = detail::size_max;
      }
      blocks.check();
      BOOST_TEST(are_distinct(blocks));
      BOOST_TEST(seen.runs > 50u);
      BOOST_TEST(seen.faults == 0u);
      blocks.free(blocks.size());
      pool.trim();
      BOOST_TEST(pool.capacity() == 0u);
    }
    BOOST_TEST(seen.held.size() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(blocks_whose_pages_have_gone_count_and_are_used_before_the_store_is_asked) {
  watch seen;
  watched_pool<64, return_empty_pages<>, fixed_growth<20'000>> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  leave_one_in_a_thousand(blocks, 100'000);
  const std::size_t capacity = pool.capacity();
  BOOST_TEST(pool.trim() > 0u);
  BOOST_TEST(pool.capacity() == capacity);  // each chunk has a block in use
  const std::size_t regions = seen.regions;
  BOOST_TEST(pool.try_reserve(capacity));
  blocks.add(capacity - blocks.size());
  BOOST_TEST(pool.capacity() == capacity);
  BOOST_TEST(seen.regions == regions);
  BOOST_TEST(are_distinct(blocks));
  blocks.check();
  blocks.add(1);
  BOOST_TEST(seen.regions == regions + 1);
}

// ---- pages ---------------------------------------------------------------------------------------------------------------

/// Calls take(page's number) for every page that a block in use lies in.
template <class Pool, class Take>
void each_page(const stamped_blocks<Pool>& blocks, std::size_t bytes, Take take) {
  const auto page_of = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) / page_bytes(); };
  for (const auto* const block : blocks.all())
    for (std::size_t page = page_of(block); page <= page_of(block + bytes / 8 - 1); ++page) take(page);
}
/// Pages of blocks, but for the ends of each region: they share theirs with its record, and with what was never used.
template <class Pool>
std::set<std::size_t> pages_inside(const watch& seen, const stamped_blocks<Pool>& blocks, std::size_t bytes) {
  std::set<std::size_t> all;
  each_page(blocks, bytes, [&](std::size_t page) { all.insert(page); });
  std::set<std::size_t> inner;
  for (const auto& [start, size] : seen.held) {
    const auto first = reinterpret_cast<std::uintptr_t>(start) / page_bytes();
    const std::vector<std::size_t> its(all.lower_bound(first), all.lower_bound(first + size / page_bytes()));
    for (std::size_t i = 6; i + 6 < its.size(); ++i) inner.insert(its[i]);
  }
  return inner;
}
/// After trim(): a page with a block in use is in memory, one far from any has gone.
template <class Pool>
void check_pages(const watch& seen, const stamped_blocks<Pool>& blocks, std::size_t bytes, const std::set<std::size_t>& ever,
                 called_from = {}) {
  std::set<std::size_t> used;
  each_page(blocks, bytes, [&](std::size_t page) { used.insert(page); });
  // Blocks whose size divides a page: each page by itself. Others: units of up to four pages.
  const std::size_t around = page_bytes() % bytes == 0 ? 0 : 4;
  std::size_t gone = 0;
  std::size_t wrong = 0;
  for (const std::size_t page : ever) {
    const bool resident = pages_in(reinterpret_cast<void*>(page * page_bytes()), 1).resident != 0;
    const auto next = used.lower_bound(page - around);
    const bool is_near = next != used.end() && *next <= page + around;
    wrong += used.count(page) != 0 ? !resident : !is_near && resident;
    gone += !resident;
  }
  CHECK(wrong == 0);
  CHECK(gone > ever.size() / 4);
  CHECK(seen.faults == 0);
}

BOOST_AUTO_TEST_CASE(pages_without_a_block_in_use_go_and_others_stay) {
  for (const std::size_t bytes : {16u, 48u, 64u, 1000u, 1024u, 4096u, 6000u}) {
    watch seen;
    sized_pool<no_locking> pool{dynamic_size(bytes), watched_store<>{seen}};
    stamped_blocks blocks(pool, bytes, 1);
    blocks.add(2 * MiB / bytes);
    blocks.sort();
    const std::set<std::size_t> ever = pages_inside(seen, blocks, bytes);
    std::size_t n = 0;
    blocks.free_if([&](void*) { return ++n / 7 % (64 * KiB / bytes + 2) != 0; });
    BOOST_TEST(pool.trim() > 0u);
    check_pages(seen, blocks, bytes, ever);
    blocks.add(1 * MiB / bytes);  // pages come back
    blocks.check();
    BOOST_TEST(are_distinct(blocks));
  }
}

// ---- a system that refuses -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(where_no_page_goes_nothing_is_lost_and_little_is_tried) {
  watch seen;
  watched_pool<64, eager, fixed_growth<20'000>> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  blocks.add(200'000);
  const std::size_t capacity = pool.capacity();
  const std::size_t regions = seen.regions;
  seen.accepts = 0;
  for (int round = 0; round != 3; ++round) {
    blocks.free(10'000);
    leave_one_in_a_thousand(blocks, blocks.size());
    const std::size_t tried = seen.discards;
    BOOST_TEST(tried <= 1000u * static_cast<unsigned>(round + 1));
    BOOST_TEST(pool.trim() == 0u);
    BOOST_TEST(seen.discards == tried + 1);
    blocks.add(capacity - blocks.size());
    BOOST_TEST(are_distinct(blocks));
    blocks.check();
    BOOST_TEST(pool.capacity() == capacity);
    BOOST_TEST(seen.regions == regions);
  }
  leave_one_in_a_thousand(blocks, blocks.size());
  const std::size_t pages = seen.resident();
  seen.accepts = 3;  // some of the runs of a call
  const std::size_t some = pool.trim();
  BOOST_TEST(some > 0u);
  BOOST_TEST(pages - seen.resident() == some / page_bytes());
  seen.accepts = detail::size_max;
  BOOST_TEST(pool.trim() > some);
  BOOST_TEST(seen.resident() < pages / 4);
  blocks.add(capacity - blocks.size());
  BOOST_TEST(are_distinct(blocks));
  BOOST_TEST(seen.regions == regions);
}

// ---- a fork --------------------------------------------------------------------------------------------------------------

using shared = std::tuple<mutex_locking<>, thread_cached<>>;

// Another thread forks while the system takes pages. The child has the pool as it is then, with the pages that were about to
// go: none of its blocks is missing.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_child_forked_meanwhile_has_every_block, locking, shared) {
  watch seen;
  watched_pool<64, return_empty_pages<25, 64 * MiB>, fixed_growth<8192>, locking> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  leave_one_in_a_thousand(blocks, 8 * 8192);
  const std::size_t capacity = pool.capacity();
  int child_said = -1;
  seen.meanwhile = [&] {
    std::thread([&] {
      child_said = in_child([&] {
        alarm(60);
        if (pool.capacity() != capacity || !blocks.are_intact()) return 1;
        const std::size_t regions = seen.regions;
        blocks.add(capacity - blocks.size());
        if (seen.regions != regions || pool.capacity() != capacity) return 2;
        if (std::set<void*>(blocks.all().begin(), blocks.all().end()).size() != capacity) return 3;
        if (!blocks.are_intact()) return 4;
        blocks.free(capacity);
        pool.trim();
        return pool.capacity() == 0 ? 0 : 5;
      });
    }).join();
  };
  BOOST_TEST(pool.trim() > 0u);
  BOOST_TEST(child_said == 0);
  blocks.add(capacity - blocks.size());
  BOOST_TEST(pool.capacity() == capacity);
  BOOST_TEST(blocks.are_intact());
}

// ---- with other policies -------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(checked_pools_keep_pages_and_give_chunks_back) {
  const recording here;
  watch seen;
  {
    watched_pool<64, eager, checked, fixed_growth<1000>> pool{watched_store<>{seen}};
    stamped_blocks blocks(pool, 64, 1);
    blocks.add(20'000);
    blocks.sort();
    std::size_t n = 0;
    blocks.free_if([&](void*) { return ++n % 100 != 0 || n > 10'000; });
    BOOST_TEST(seen.discards == 0u);
    BOOST_TEST(seen.held.size() < 18u);  // chunks
    BOOST_TEST(pool.trim() > 0u);
    BOOST_TEST(seen.discards == 0u);
    blocks.add(20'000);
    blocks.free(blocks.size());
  }
  BOOST_TEST(told.size() == 0u);
}

BOOST_AUTO_TEST_CASE(hardened_pools_give_pages_back_and_find_a_double_free) {
  const recording here;
  watch seen;
  watched_pool<64, eager, hardened> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  blocks.add(50'000);
  blocks.sort();
  std::size_t n = 0;
  void* freed = nullptr;
  blocks.free_if([&](void* block) {
    if (++n == 7777) freed = block;
    return n % 1000 != 0;
  });
  pool.trim();
  BOOST_TEST(seen.runs > 0u);
  BOOST_TEST(pages_in(freed, 1).resident == 0u);
  BOOST_TEST(told.size() == 0u);
  pool.deallocate(freed);
  BOOST_TEST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].kind == misuse_kind::double_free));
  BOOST_TEST(told[0].address == freed);
  BOOST_TEST(pages_in(freed, 1).resident == 0u);  // nothing was touched
  blocks.add(pool.capacity() - blocks.size());
  BOOST_TEST(are_distinct(blocks));
  BOOST_TEST(told.size() == 1u);
}

struct counted {
  static inline std::size_t alive = 0;
  explicit counted(std::uint64_t n) : number(n) { ++alive; }
  ~counted() { --alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  std::uint64_t number;
  std::array<std::byte, 56> rest{};
};

BOOST_AUTO_TEST_CASE(objects_are_visited_and_destroyed_beside_pages_that_have_gone) {
  watch seen;
  {
    object_pool<counted, watched_store<>, eager> pool{watched_store<>{seen}};
    std::vector<counted*> objects;
    for (std::uint64_t i = 0; i != 50'000; ++i) objects.push_back(pool.construct(i));
    std::size_t sum = 0;
    for (std::size_t i = 0; i != objects.size(); ++i)
      if (i % 1000 == 0) sum += objects[i]->number;
      else pool.destroy(objects[i]);
    pool.blocks().trim();
    BOOST_TEST(seen.runs > 0u);
    const std::size_t few = seen.resident();
    std::size_t visited = 0, met = 0;
    pool.for_each([&](const counted& one) { ++visited, met += one.number; });
    BOOST_TEST(visited == 50u);
    BOOST_TEST(met == sum);
    pool.blocks().trim();
    BOOST_TEST(seen.resident() <= few + 2);  // what for_each() touched goes again
    pool.clear();
    BOOST_TEST(counted::alive == 0u);
    for (std::uint64_t i = 0; i != 1000; ++i) (void)pool.construct(i);
    pool.blocks().trim();
  }
  BOOST_TEST(counted::alive == 0u);
  BOOST_TEST(seen.held.size() == 0u);
}

BOOST_AUTO_TEST_CASE(chunks_of_a_second_store_keep_their_pages) {
  watch seen;
  seen.most_regions = 4;
  using retention = return_empty_pages<10, 256 * KiB>;
  watched_pool<64, retention, fixed_growth<5000>, fall_back_to<heap_store>> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  blocks.add(60'000);
  BOOST_TEST(seen.held.size() == 4u);
  blocks.sort();
  const auto is_in_first = [&seen](const void* block) {
    const auto after = seen.held.upper_bound(static_cast<const std::byte*>(block));
    return after != seen.held.begin() && block < std::prev(after)->first + std::prev(after)->second;
  };
  std::size_t n = 0;
  blocks.free_if([&](void* block) { return !is_in_first(block) && ++n % 1000 != 0; });
  BOOST_TEST(seen.discards == 0u);
  blocks.sort();
  blocks.free_if([&](void* block) { return is_in_first(block) && ++n % 1000 != 0; });
  BOOST_TEST(seen.runs > 0u);
  const std::size_t rest = pool.trim();
  BOOST_TEST(rest > 64 * KiB);  // what is idle in the second store counts for nothing
  BOOST_TEST(pool.trim() == 0u);
  BOOST_TEST(seen.faults == 0u);  // runs in no region of the first
  blocks.check();
  const std::size_t capacity = pool.capacity();
  blocks.add(capacity - blocks.size());
  BOOST_TEST(pool.capacity() == capacity);
  BOOST_TEST(are_distinct(blocks));
}

BOOST_AUTO_TEST_CASE(a_store_with_a_budget_gives_pages_back) {
  watch seen;
  memory_budget budget(64 * MiB);
  using store = budgeted<watched_store<>>;
  pool<static_size<64>, store, eager> pool{store{budget, watched_store<>{seen}}};
  stamped_blocks blocks(pool, 64, 1);
  blocks.add(50'000);
  blocks.sort();
  const std::size_t pages = seen.resident();
  blocks.free_last(49'000);
  pool.trim();
  BOOST_TEST(seen.runs > 0u);
  BOOST_TEST(seen.resident() < pages / 4);
  blocks.check();
}

BOOST_AUTO_TEST_CASE(maintenance_gives_a_surplus_back_that_frees_could_not) {
  watch seen;
  watched_pool<64, eager> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  seen.accepts = 0;
  leave_one_in_a_thousand(blocks, 50'000);
  const std::size_t pages = seen.resident();
  seen.accepts = detail::size_max;
  blocks.add(40'000);
  blocks.sort();
  blocks.free_last(40'000);
  BOOST_TEST((pool.maintain() == maintained::done));
  BOOST_TEST(seen.resident() < pages / 2);
  const std::size_t rest = pool.trim();
  BOOST_TEST(rest <= 32 * KiB + 64 * KiB);
  BOOST_TEST((pool.maintain() == maintained::done));
}

BOOST_AUTO_TEST_CASE(the_advice_reaches_the_store) {
  watch seen;
  watched_pool<64, return_empty_pages<10, 16 * KiB, page_advice::free_lazily>> pool{watched_store<>{seen}};
  stamped_blocks blocks(pool, 64, 1);
  blocks.add(50'000);
  blocks.sort();
  blocks.free_last(49'999);
  BOOST_TEST(seen.runs > 0u);
  BOOST_TEST((seen.how == page_advice::free_lazily));
  blocks.add(20'000);
  blocks.free(10'000);
  blocks.check();
  BOOST_TEST(seen.faults == 0u);
}

}  // namespace
}  // namespace tarn::test
