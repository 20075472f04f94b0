// Walks through object pools whose free blocks lie in lists of the pool's own; and parts() for threads.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/test/allocator/walked_pools.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

// shows: FM-43 FM-45 FM-46
BOOST_AUTO_TEST_CASE(walks_of_batches_agree_with_a_map) {
  walk_beside_a_map<object_pool<owner<40>>>(3000);
  walk_beside_a_map<object_pool<owner<3>>>(3000);
  walk_beside_a_map<object_pool<owner<240>>>(1500);  // coloured
  walk_beside_a_map<object_pool<owner<40>, batch_reuse<prefetch::none, 128>, fixed_growth<37>>>(3000);
  walk_beside_a_map<object_pool<owner<40>, fixed_growth<2>>>(4000);  // more chunks than a walk has in its array
}
BOOST_AUTO_TEST_CASE(walks_of_lists_agree_with_a_map) {
  walk_beside_a_map<object_pool<owner<1>, lifo_reuse<>>>(3000);
  walk_beside_a_map<object_pool<owner<40>, lifo_reuse<>, fixed_growth<64>>>(3000);
}
BOOST_AUTO_TEST_CASE(walks_of_bitmaps_agree_with_a_map) {
  walk_beside_a_map<object_pool<owner<40>, page_local_reuse<>>>(3000);
  walk_beside_a_map<object_pool<owner<40>, return_empty_chunks<>, fixed_growth<50>>>(3000);
  walk_beside_a_map<object_pool<owner<40>, return_empty_pages<>, page_store<>>>(40'000);
}

BOOST_AUTO_TEST_CASE(threads_walk_through_parts_at_once) {
  object_pool<long> pool;
  std::vector<long*> all;
  for (int i = 0; i != 30'000; ++i) all.push_back(pool.construct(0L));
  for (std::size_t i = 0; i < all.size(); i += 3) pool.destroy(all[i]);
  const auto parts = pool.parts(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != parts.size(); ++i)
    threads.emplace_back([&parts, i] {
      for (long& one : parts[i]) ++one;
    });
  for (std::thread& one : threads) one.join();
  std::size_t n = 0;
  pool.for_each([&](const long& one) {
    CHECK(one == 1);
    ++n;
  });
  BOOST_TEST(n == 20'000u);
  BOOST_TEST(n == pool.count());
}

BOOST_AUTO_TEST_CASE(words_of_which_none_lives_lie_between_those_of_which_all_do) {
  for (const std::size_t first : {0u, 64u}) {
    object_pool<owner<48>, fixed_growth<640>> pool;
    std::vector<owner<48>*> all;
    for (std::uint32_t i = 0; i != 640; ++i) all.push_back(pool.construct(i));
    std::sort(all.begin(), all.end());
    for (std::size_t i = first; i < all.size(); i += i % 64 == 63 ? 65 : 1) pool.destroy(all[i]);
    std::size_t n = 0;
    pool.for_each([&](auto&) { ++n; });
    BOOST_TEST(n == 320u);
    for ([[maybe_unused]] auto& one : pool) --n;
    BOOST_TEST(n == 0u);
  }
}

/// What a walk leaves in the bits leaves them in order, and is handed out before anything new.
BOOST_AUTO_TEST_CASE(a_pool_that_was_walked_through_grows_no_more) {
  object_pool<owner<40>, fixed_growth<100>> pool;
  std::vector<owner<40>*> all;
  for (std::uint32_t i = 0; i != 1000; ++i) all.push_back(pool.construct(i));
  for (std::size_t i = 0; i < all.size(); i += 2) pool.destroy(all[i]);
  pool.for_each([](auto&) {});
  for (std::uint32_t i = 0; i != 500; ++i) BOOST_TEST_REQUIRE(pool.try_construct(i) != nullptr);
  BOOST_TEST(pool.blocks().capacity() == 1000u);
  BOOST_TEST(pool.count() == 1000u);
}
BOOST_AUTO_TEST_CASE(a_pool_that_was_walked_through_hands_out_the_lowest_first) {  // and carves no more than before
  object_pool<owner<40>> pool;
  std::vector<owner<40>*> all;
  for (std::uint32_t i = 0; i != 60; ++i) all.push_back(pool.construct(i));
  std::sort(all.begin(), all.end());
  for (owner<40>* const one : all) pool.destroy(one);
  pool.for_each([](auto&) {});
  for (owner<40>* const one : all) BOOST_TEST(pool.construct(7u) == one);
}
BOOST_AUTO_TEST_CASE(what_is_constructed_in_a_walk_comes_out_of_the_bits) {
  object_pool<long, no_growth<256>> pool;
  std::vector<long*> all;
  for (long i = 0; i != 256; ++i) all.push_back(pool.construct(i));
  for (std::size_t i = 128; i != 256; ++i) pool.destroy(all[i]);
  std::set<const long*> live(all.begin(), all.begin() + 128);
  pool.for_each([&](const long& one) {  // more blocks come out of the bits than it constructs objects
    BOOST_TEST_REQUIRE(live.contains(&one));
    if (live.size() != 228) live.insert(pool.try_construct(-1L));
  });
  BOOST_TEST(pool.count() == 228u);
  while (const long* const one = pool.try_construct(-1L)) live.insert(one);
  BOOST_TEST(live.size() == 256u);
}
BOOST_AUTO_TEST_CASE(chunks_stay_while_somebody_walks_and_go_afterwards) {
  object_pool<owner<40>, return_empty_chunks<0>, fixed_growth<20>> pool;
  for (std::uint32_t i = 0; i != 400; ++i) (void)pool.construct(i);
  std::size_t least = pool.blocks().capacity();
  pool.for_each([&](auto& one) {
    pool.destroy(&one);
    BOOST_TEST(pool.blocks().trim() == 0u);
    (void)pool.blocks().maintain();
    least = std::min(least, pool.blocks().capacity());
  });
  BOOST_TEST(least == 400u);
  BOOST_TEST(pool.blocks().capacity() < 400u);
}
BOOST_AUTO_TEST_CASE(a_walk_leaves_the_empty_chunks_that_the_retention_policy_keeps) {
  object_pool<owner<40>, return_empty_chunks<1, 4>, fixed_growth<20>> pool;
  std::vector<owner<40>*> all;
  for (std::uint32_t i = 0; i != 100; ++i) all.push_back(pool.construct(i));
  for (std::size_t i = 40; i != 100; ++i) pool.destroy(all[i]);
  pool.for_each([](auto&) {});
  BOOST_TEST(pool.count() == 40u);
  BOOST_TEST(pool.blocks().capacity() == 100u);
}
BOOST_AUTO_TEST_CASE(chunks_that_were_free_when_a_pool_was_cleared_go_once) {
  object_pool<owner<40>, page_local_reuse<>, fixed_growth<20>> pool;
  std::vector<owner<40>*> all;
  for (int round = 0; round != 3; ++round) {
    all.clear();
    for (std::uint32_t i = 0; i != 100; ++i) all.push_back(pool.construct(i));
    for (std::size_t i = 0; i != 90; ++i) pool.destroy(all[i]);
    pool.clear();
    BOOST_TEST(pool.count() == 0u);
  }
  for (owner<40>*& one : all) one = pool.construct(0u);
  for (std::size_t i = 0; i != 99; ++i) pool.destroy(all[i]);
  BOOST_TEST(pool.blocks().trim() != 0u);
  BOOST_TEST(pool.blocks().capacity() == 20u);
}
/// Its destructor constructs another, and destroys that or leaves it.
struct maker {
  maker() { ++alive; }
  ~maker() {
    --alive;
    if (end != nullptr) end(pool);
  }
  template <class Pool>
  void make(Pool& in, bool destroys) {
    pool = &in;
    if (destroys) end = [](void* its) { static_cast<Pool*>(its)->destroy(static_cast<Pool*>(its)->construct()); };
    else end = [](void* its) { (void)static_cast<Pool*>(its)->construct(); };
  }
  static inline long alive = 0;
  void* pool = nullptr;
  void (*end)(void*) = nullptr;
  char rest[40];
};
BOOST_AUTO_TEST_CASE(a_chunk_that_becomes_empty_again_while_a_pool_is_cleared_counts_once) {
  object_pool<maker, return_empty_chunks<0, 4>, fixed_growth<200>> pool;
  const std::byte* start = nullptr;  // of the first chunk: no object stays in the second, which has blocks that never were one
  std::size_t bytes = 0;
  for (int round = 0; round != 6; ++round) {
    std::vector<maker*> all;
    for (int i = 0; i != 230; ++i) all.push_back(pool.construct());
    const auto at = [&](std::size_t i) { return reinterpret_cast<const std::byte*>(all[i]); };
    if (round == 0) start = at(0), bytes = 200 * static_cast<std::size_t>(at(1) - start);
    std::size_t stay = 0;
    for (std::size_t i = 0; i != all.size(); ++i) {
      if (!std::less<>()(at(i), start) && std::less<>()(at(i), start + bytes)) all[i]->make(pool, true), ++stay;
      else pool.destroy(all[i]);
    }
    BOOST_TEST(stay > 100u);
    pool.clear();
    BOOST_TEST(pool.count() == 0u);
    BOOST_TEST(pool.blocks().capacity() == 400u);
  }
}
/// Chunks by ascending address.
struct ascending_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  static constexpr std::size_t most = 300'000;

  template <class Traits>
  struct source {
    explicit source(const ascending_store&) noexcept {}
    ~source() { ::operator delete(memory, std::align_val_t{4096}); }
    detail::memory acquire(std::size_t bytes, std::size_t) noexcept {
      if (memory == nullptr) memory = ::operator new(most, std::align_val_t{4096});
      if (most - given < bytes + 4096) return {};
      return {static_cast<std::byte*>(memory) + std::exchange(given, (given + bytes + 4095) / 4096 * 4096), bytes};
    }
    void release(detail::memory, std::size_t) noexcept {}
    void* memory = nullptr;
    std::size_t given = 0;
  };
};
BOOST_AUTO_TEST_CASE(chunks_that_come_meanwhile_are_not_walked_through) {
  object_pool<long, ascending_store, fixed_growth<4>> pool;
  for (long i = 0; i != 12; ++i) (void)pool.construct(i);
  long visits = 0;
  pool.for_each([&](const long& one) {
    BOOST_TEST_REQUIRE(one == visits++);
    (void)pool.construct(99L);
  });
  BOOST_TEST(visits == 12);
  BOOST_TEST(pool.count() == 24u);
}
BOOST_AUTO_TEST_CASE(what_destructors_construct_while_a_pool_is_cleared_is_an_object_like_others) {
  const auto clear = []<class Pool>(Pool pool) {
    for (const bool destroys : {true, false}) {
      std::vector<maker*> all;
      for (int i = 0; i != 290; ++i) all.push_back(pool->construct());
      std::sort(all.begin(), all.end());  // so that they come before the blocks that were never used
      for (std::size_t i = 0; i < all.size(); i += 3) pool->destroy(all[i]);  // what is free isn't used meanwhile
      for (std::size_t i = 1; i < 60; i += 3) all[i]->make(*pool, destroys);
      pool->clear();
      std::size_t left = 0;
      pool->for_each([&](maker& one) {
        CHECK(one.pool == nullptr);
        ++left;
      });
      CHECK(static_cast<long>(left) == maker::alive);
      CHECK(left == pool->count());
      CHECK(!destroys || left == 0);
    }
    pool->clear();
    CHECK(maker::alive == 0);
    CHECK(pool->count() == 0);
  };
  clear(std::make_unique<object_pool<maker, ascending_store, fixed_growth<200>>>());
  clear(std::make_unique<object_pool<maker, ascending_store, fixed_growth<200>, lifo_reuse<>>>());
  clear(std::make_unique<object_pool<maker, ascending_store, fixed_growth<200>, page_local_reuse<>>>());
  clear(std::make_unique<object_pool<maker, ascending_store, fixed_growth<200>, checked>>());
}

std::size_t in_use(const char* name) {
  for (const pool_record& one : snapshot())
    if (std::string_view(one.name) == name) return one.in_use;
  return 9999;
}
BOOST_AUTO_TEST_CASE(the_registry_counts_what_is_in_use_after_walks) {
  const auto count = []<class Pool>(Pool pool, const char* name) {
    pool->clear();
    for (int round = 0; round != 2; ++round) {
      std::vector<long*> all;
      for (long i = 0; i != 1000; ++i) all.push_back(pool->construct(i));
      CHECK(in_use(name) == 1000);
      for (std::size_t i = 0; i != 900; i += 3) pool->destroy(all[i]);
      pool->for_each([](long&) {});
      CHECK(in_use(name) == 700);
      pool->blocks().trim();
      CHECK(in_use(name) == 700);
      for (long i = 0; i != 100; ++i) all.push_back(pool->construct(i));
      CHECK(in_use(name) == 800);
      pool->clear();
      CHECK(in_use(name) == 0);
    }
  };
  count(std::make_unique<object_pool<long, fixed_growth<100>, named<"batches">>>(), "batches");
  count(std::make_unique<object_pool<long, fixed_growth<100>, lifo_reuse<>, named<"lists">>>(), "lists");
  count(std::make_unique<object_pool<long, fixed_growth<100>, page_local_reuse<>, named<"bitmaps">>>(), "bitmaps");
}
BOOST_AUTO_TEST_CASE(a_walk_within_another_leaves_the_pool_undisturbed) {
  object_pool<long, named<"undisturbed">> pool;
  object_pool<long, no_growth<2>, wait_for_block<>, mutex_locking<>> waiting;
  const auto waits = [&] { return !detail::inspector::state_of(waiting.blocks()).upstream.line().is_closed(); };
  (void)pool.construct(1L);
  (void)waiting.construct(1L);
  for (int round = 0; round != 2; ++round) {
    BOOST_TEST(in_use("undisturbed") == 1u);
    BOOST_TEST(waits());
    pool.for_each([&](long&) {
      pool.for_each([](long&) {});
      BOOST_TEST(pool.count() == 1u);
      BOOST_TEST(in_use("undisturbed") == 9999u);
    });
    waiting.for_each([&](long&) {
      waiting.for_each([](long&) {});
      BOOST_TEST(!waits());
    });
  }
}
BOOST_AUTO_TEST_CASE(trim_gives_back_what_a_walk_found_free) {
  const auto walk_and_trim = []<class Pool>(Pool pool) {
    std::vector<long*> all;
    for (long i = 0; i != 400; ++i) all.push_back(pool->construct(i));
    const std::size_t nothing = pool->blocks().trim();
    for (std::size_t i = 0; i != 399; ++i) pool->destroy(all[i]);
    pool->for_each([](long&) {});
    CHECK(nothing == 0);
    CHECK(pool->blocks().trim() != 0);
    CHECK(pool->blocks().capacity() == 20);
    CHECK(pool->blocks().trim() == 0);
    CHECK(*pool->begin() == 399);
    pool->destroy(all[399]);
    CHECK(pool->blocks().trim() != 0);
    CHECK(pool->blocks().capacity() == 0);
  };
  walk_and_trim(std::make_unique<object_pool<long, fixed_growth<20>>>());
  walk_and_trim(std::make_unique<object_pool<long, fixed_growth<20>, lifo_reuse<>>>());
  walk_and_trim(std::make_unique<object_pool<long, fixed_growth<20>, page_local_reuse<>>>());
}

}  // namespace
}  // namespace tarn::test
