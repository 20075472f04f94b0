// clear() and the ends of pools of objects: each object is destroyed once, whoever owns it, and the pool is as new. Objects
// that own others of their pool: object_pool_walks_test.cc.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/policies/checking.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

/// At its end, it makes another, which stays; or makes and destroys some.
template <class... Policies>
struct heir {
  using pool_type = object_pool<heir, Policies...>;
  explicit heir(int its) : left(its) { ++alive; }
  ~heir() {
    --alive;
    if (left > 0) (void)pool->construct(left - 1);
    if (left == 0) pool->destroy(pool->construct(-1));
  }
  int left;
  static inline pool_type* pool = nullptr;
  static inline int alive = 0;
};

using heirs = std::tuple<heir<fixed_growth<40>, counting_statistics>, heir<static_array_store<320>, counting_statistics>,
                         heir<static_array_store<320>>>;
BOOST_AUTO_TEST_CASE_TEMPLATE(what_destructors_construct_meanwhile_is_left, heir, heirs) {
  const auto held = std::make_unique<typename heir::pool_type>();
  auto& pool = *held;
  heir::pool = &pool;
  std::vector<heir*> some;
  for (int i = 0; i != 100; ++i) some.push_back(pool.construct(i % 3 - 1));
  for (std::size_t i = 0; i < 100; i += 4) pool.destroy(some[i]);
  const int alive = heir::alive;
  const auto expect_in_use = [&]([[maybe_unused]] int n) {
    if constexpr (requires { pool.blocks().statistics(); })
      BOOST_TEST(pool.blocks().statistics().in_use == static_cast<std::size_t>(n));
  };
  expect_in_use(alive);
  pool.clear();
  BOOST_TEST(heir::alive > 0);
  BOOST_TEST(heir::alive < alive);
  expect_in_use(heir::alive);
  int seen = 0;
  pool.for_each([&](const heir& one) {
    ++seen;
    BOOST_TEST(one.left == 0);
  });
  BOOST_TEST(seen == heir::alive);
  BOOST_TEST(pool.blocks().capacity() <= 320u);  // those destructors took few blocks
  pool.clear();
  BOOST_TEST(heir::alive == 0);
  std::set<heir*> places;
  while (places.size() != pool.blocks().capacity()) places.insert(pool.construct(-1));
}

/// Its end makes another, and ends the one that was made before, if any.
struct successor {
  using pool_type = object_pool<successor, sampled_guard_pages<1, no_checking, 64>>;
  explicit successor(bool its) : is_first(its) { ++alive; }
  ~successor() {
    --alive;
    ++ends[this];
    if (!is_first) return;
    successor* const before = std::exchange(last, pool->construct(false));
    ends.erase(last);
    pool->destroy(before);
  }
  bool is_first;
  static inline pool_type* pool = nullptr;
  static inline successor* last = nullptr;
  static inline int alive = 0;
  static inline std::map<const void*, int> ends;
};

BOOST_AUTO_TEST_CASE(objects_on_pages_of_their_own_that_destructors_construct_are_left_to_them) {
  {
    successor::pool_type pool;
    successor::pool = &pool;
    for (int i = 0; i != 40; ++i) (void)pool.construct(true);
    pool.clear();
    BOOST_TEST(successor::alive == 1);
    pool.destroy(std::exchange(successor::last, nullptr));
    BOOST_TEST(successor::alive == 0);
  }
  for (const auto& [where, times] : successor::ends) BOOST_TEST(times == 1);
}

// Under these checks a hit looks for the chunk of a block in two places. If it is in neither, the block of an object that ends
// goes nowhere, all the same.
template <class... Policies>
void end_objects_of_many_chunks() {
  struct object {
    explicit object(int& its) : alive(its) { ++alive; }
    ~object() { --alive; }
    int& alive;
    std::byte more[40];
  };
  int alive = 0;
  object_pool<object, fixed_growth<16>, Policies...> pool;
  std::mt19937 dice(1);
  std::vector<object*> all(8000);
  for (int round = 0; round != 3; ++round) {
    for (object*& one : all) one = pool.construct(alive);
    CHECK(pool.blocks().capacity() == all.size());
    std::shuffle(all.begin(), all.end(), dice);
    for (std::size_t i = 0; i != 4000; ++i) pool.destroy(all[i]);
    pool.clear();
    CHECK(alive == 0);
  }
}
BOOST_AUTO_TEST_CASE(objects_of_many_chunks_end_under_checks) {
  end_objects_of_many_chunks<hardened>();
  end_objects_of_many_chunks<checked>();
  end_objects_of_many_chunks<hardened, lifo_reuse<>>();
}

BOOST_AUTO_TEST_CASE(clear_of_objects_without_a_destructor_touches_none) {
  struct record {
    std::uint64_t number, seven, same, complement;
  };
  object_pool<record, counting_statistics> pool;
  std::vector<record*> all;
  for (std::uint64_t i = 0; i != 2000; ++i) all.push_back(pool.construct(i, std::uint64_t{7}, i, ~i));
  const std::size_t capacity = pool.blocks().capacity();
  pool.clear();
  if (!detail::memory_tools::active)
    for (std::uint64_t i = 0; i != 2000; ++i) {
      const volatile record& was = *all[i];
      CHECK(was.number == i && was.seven == 7 && was.same == i && was.complement == ~i);
    }
  BOOST_TEST(pool.blocks().statistics().in_use == 0u);
  BOOST_TEST(pool.blocks().capacity() == capacity);
  std::set<record*> again;
  for (std::uint64_t i = 0; i != 2000; ++i) again.insert(pool.construct(i, i, i, i));
  BOOST_TEST(again.size() == 2000u);
  BOOST_TEST(pool.blocks().capacity() == capacity);
}

struct heavy {
  explicit heavy(std::uint64_t with) { words.fill(with); }
  ~heavy() { ++ended; }
  std::array<std::uint64_t, 8> words;
  static inline std::size_t ended = 0;
};

BOOST_AUTO_TEST_CASE(clear_touches_few_of_the_free_blocks) {  // they are in no cache
  if (detail::memory_tools::active) return;
  // One piece, so that no two of its windows share an entry; where chunks lie anywhere, some do.
  constexpr std::size_t bytes = 1 << 20;
  struct aligned_delete {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, std::align_val_t(bytes)); }
  };
  void* const piece = ::operator new(bytes, std::align_val_t(bytes));
  const std::unique_ptr<std::byte, aligned_delete> memory(static_cast<std::byte*>(piece));
  object_pool<heavy, buffer_store, batch_reuse<>> pool{buffer_store{std::span(memory.get(), bytes)}};
  std::vector<heavy*> all;
  for (std::uint64_t i = 0; i != 4000; ++i) all.push_back(pool.construct(i));
  std::shuffle(all.begin(), all.end(), std::mt19937(7));
  all.resize(1200);
  for (heavy* const one : all) pool.destroy(one);
  const auto content_of = [](const heavy* one) {
    std::array<std::uint64_t, 8> words{};
    for (std::size_t i = 0; i != 8; ++i) words[i] = reinterpret_cast<const volatile std::uint64_t*>(one)[i];
    return words;
  };
  std::vector<std::array<std::uint64_t, 8>> before;
  for (const heavy* const one : all) before.push_back(content_of(one));
  heavy::ended = 0;
  pool.clear();
  BOOST_TEST(heavy::ended == 2800u);
  std::size_t written = 0;
  for (std::size_t i = 0; i != all.size(); ++i) written += content_of(all[i]) != before[i] ? 1 : 0;
  BOOST_TEST(written < 100u);
}

struct house;
struct room {
  explicit room(house* its) : owned(its) { ++alive; }
  ~room();
  house* owned;
  static inline int alive = 0;
};
struct house {
  explicit house(room* its) : owned(its) { ++alive; }
  ~house();
  room* owned;
  static inline int alive = 0;
};
void (*end_house)(house*) = nullptr;
void (*end_room)(room*) = nullptr;
room::~room() {
  --alive;
  if (owned != nullptr) end_house(owned);
}
house::~house() {
  --alive;
  if (owned != nullptr) end_room(owned);
}

template <class... Policies>
void build_and_end() {
  using pool_type = multipool<room, house, Policies...>;
  static pool_type* pool;
  end_house = [](house* one) { pool->destroy(one); };
  end_room = [](room* one) { pool->destroy(one); };
  for (const bool by_clear : {true, false}) {
    std::optional<pool_type> things;
    pool = &things.emplace();
    for (int i = 0; i != 20; ++i) {
      (void)things->template construct<house>(things->template construct<room>(nullptr));
      (void)things->template construct<room>(things->template construct<house>(things->template construct<room>(nullptr)));
    }
    if (by_clear) things->clear();
    else things.reset();
    CHECK(house::alive == 0);
    CHECK(room::alive == 0);
  }
}

BOOST_AUTO_TEST_CASE(objects_that_own_others_in_other_pools_are_destroyed_once) {
  build_and_end<>();
  build_and_end<checked>();
}

/// While a pool is walked its blocks lie apart. One that can't grow, and finds none meanwhile, finds them all afterwards.
template <class... Policies>
struct asking {
  static inline object_pool<asking, Policies...>* its = nullptr;
  static inline bool asks = false;
  ~asking() {
    if (asks) static_cast<void>(its->try_construct());
  }
  std::array<long, 4> bytes = {};
};
template <class... Policies>
void nothing_is_lost_at_the_cap() {
  using object = asking<Policies...>;
  object_pool<object, Policies...> pool;
  object::its = &pool;
  const auto constructed = [&pool] {
    std::size_t n = 0;
    while (pool.try_construct() != nullptr) ++n;
    return n;
  };
  BOOST_TEST(constructed() == 8u);
  object::asks = true;
  pool.clear();
  object::asks = false;
  BOOST_TEST(constructed() == 8u);
  pool.clear();
  object* some[8];
  for (object*& one : some) one = pool.construct();
  for (object* const one : {some[0], some[2], some[5]}) pool.destroy(one);
  std::size_t more = 0;
  pool.for_each([&](object&) { more += pool.try_construct() != nullptr; });
  BOOST_TEST(more + constructed() == 3u);
}
BOOST_AUTO_TEST_CASE(a_block_that_is_asked_for_within_a_walk_at_the_cap_costs_none) {
  nothing_is_lost_at_the_cap<fixed_growth<8, 8>, lock_free>();
  nothing_is_lost_at_the_cap<static_array_store<8>, lock_free>();
  nothing_is_lost_at_the_cap<fixed_growth<8, 8>, lock_free, hardened>();
  nothing_is_lost_at_the_cap<fixed_growth<8, 8>, mutex_locking<>>();
}

}  // namespace
}  // namespace tarn::test
