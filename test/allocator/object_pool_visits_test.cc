// object_pool's for_each() against a set of one's own, and long walks beside a map.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/allocator/counted_objects.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

/// Beside a pool: what ought to be in it.
template <class Pool>
class shadow {
  using T = typename Pool::value_type;

 public:
  explicit shadow(Pool& pool) : pool_(pool) {}

  bool add(called_from = {}) {
    const auto mark = static_cast<unsigned char>(++marks_ % 251 + 1);
    T* const o = pool_.try_construct(mark);
    if (o == nullptr) return false;
    REQUIRE(live_.emplace(o, mark).second);
    return true;
  }
  void remove(std::mt19937_64& random, called_from = {}) {
    if (live_.empty()) return;
    const auto at = std::next(live_.begin(), static_cast<std::ptrdiff_t>(random() % live_.size()));
    REQUIRE(at->first->bytes[0] == at->second);
    T* const o = at->first;
    live_.erase(at);
    pool_.destroy(o);
  }
  void remove_if(auto wanted) {
    for (auto at = live_.begin(); at != live_.end();) {
      const auto here = at++;
      if (!wanted()) continue;
      pool_.destroy(here->first);
      live_.erase(here);
    }
  }
  /// Every live object once, by ascending address, and nothing else.
  void compare(called_from = {}) const {
    auto expected = live_.begin();
    std::size_t seen = 0;
    bool same = true;
    pool_.for_each([&](T& o) {
      ++seen;
      same = same && expected != live_.end() && &o == expected->first && o.bytes[0] == expected->second && o.whole();
      if (expected != live_.end()) ++expected;
    });
    CHECK(seen == live_.size());
    CHECK(same);
  }
  void forget() { live_.clear(); }
  std::size_t live() const { return live_.size(); }

 private:
  Pool& pool_;
  std::map<T*, unsigned char> live_;
  unsigned marks_ = 0;
};

constexpr std::size_t many = 900;  // several chunks, several runs of coloured blocks, several batches

template <class Pool>
void visit_in_many_states(Pool& pool) {
  using T = typename Pool::value_type;
  const long alive = T::alive;
  std::mt19937_64 random(seed());
  shadow<Pool> all(pool);
  all.compare();  // nothing was ever constructed

  CHECK(all.add());
  all.compare();
  all.remove_if([] { return true; });
  all.compare();  // one free block

  for (std::size_t n = 0; n < many && all.add(); ++n)
    if (n < 40 || n % 61 == 0) all.compare();  // while it is carved
  all.compare();

  all.remove_if([&] { return random() % 2 == 0; });
  all.compare();
  all.remove_if([i = 0]() mutable { return ++i % 3 == 0; });
  all.compare();
  while (all.live() < many / 2 && all.add()) {
  }
  all.compare();

  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 50; ++i)
      if (random() % 2 == 0) all.add();
      else all.remove(random);
    all.compare();
  }

  all.remove_if([&] { return random() % 10 != 0; });
  all.compare();
  pool.blocks().trim();
  all.compare();
  while (all.live() < many && all.add()) {
  }
  all.compare();

  pool.clear();
  all.forget();
  all.compare();
  CHECK(T::alive == alive);
  while (all.live() < many && all.add()) {
  }
  all.compare();
  pool.clear();
  pool.release();
  all.forget();
  all.compare();
  while (all.live() < many / 3 && all.add()) {
  }
  all.compare();
}

template <class Pool, class... Given>
void visit(called_from = {}, const Given&... given) {
  using T = typename Pool::value_type;
  {
    const auto pool = std::make_unique<Pool>(given...);
    visit_in_many_states(*pool);
  }
  CHECK(T::alive == 0);  // the destructor destroyed what was left
  CHECK(T::spoiled == 0);
  CHECK(T::misaligned == 0);
}

// shows: FM-45
BOOST_AUTO_TEST_CASE(for_each_visits_the_live_objects) {
  visit<object_pool<item<40>>>();
  visit<object_pool<item<40>, fixed_growth<37>>>();
  visit<object_pool<item<40>, fixed_growth<37>, lifo_reuse<>>>();
  visit<object_pool<item<40>, geometric_growth<1, 100>, batch_reuse<prefetch::none, 128>>>();
  visit<object_pool<item<40>, fixed_growth<1>>>();
  visit<object_pool<item<40>, mutex_locking<>, fixed_growth<100>>>();
  visit<object_pool<item<40>, shared_locking, counting_statistics>>();
  visit<object_pool<item<40>, page_store<>>>();
}
BOOST_AUTO_TEST_CASE(for_each_in_bounded_stores) {
  visit<object_pool<item<40>, static_array_store<700>>>();
  visit<object_pool<item<40>, static_array_store<700>, batch_reuse<>>>();
  visit<object_pool<item<40>, static_array_store<many>, batch_reuse<prefetch::none, 128>>>();
  std::vector<std::byte> bytes(40'003);
  visit<object_pool<item<40>, buffer_store>>({}, buffer_store{std::span(bytes).subspan(3)});
  visit<object_pool<item<40>, buffer_store, batch_reuse<>>>({}, buffer_store{std::span(bytes).subspan(3)});
}
BOOST_AUTO_TEST_CASE(for_each_over_coloured_blocks) {
  visit<object_pool<item<256>, fixed_growth<800>>>();
  visit<object_pool<item<256, 64>, fixed_growth<600>, lifo_reuse<>>>();
  visit<object_pool<item<256>, static_array_store<850>>>();
  visit<object_pool<item<4096>, fixed_growth<50>>>();
}
BOOST_AUTO_TEST_CASE(for_each_over_the_smallest_and_the_most_aligned_objects) {
  visit<object_pool<item<1>>>();
  visit<object_pool<item<1>, static_array_store<500>>>();
  visit<object_pool<item<1>, mutex_locking<>, fixed_growth<7>>>();
  visit<object_pool<item<128, 128>>>();
  visit<object_pool<item<64, 64>, fixed_growth<9>, lifo_reuse<>>>();
  visit<object_pool<item<4096, 4096>, fixed_growth<100>>>();
}

// shows: FM-46
BOOST_AUTO_TEST_CASE(the_current_object_may_be_destroyed) {
  const auto every_third = []<class Pool>(std::type_identity<Pool>) {
    Pool pool;
    for (int i = 0; i < 300; ++i) REQUIRE(pool.try_construct(static_cast<unsigned char>(i % 200)) != nullptr);
    std::size_t visits = 0;
    pool.for_each([&](auto& o) {
      if (++visits % 3 == 0) pool.destroy(&o);
    });
    CHECK(visits == 300);
    visits = 0;
    pool.for_each([&](auto& o) {
      ++visits;
      CHECK(o.whole());
    });
    CHECK(visits == 200);
    CHECK(Pool::value_type::alive == 200);
    // The hundred blocks are free again, each once.
    const std::size_t capacity = pool.blocks().capacity();
    std::set<const void*> distinct;
    for (std::size_t i = 200; i < capacity; ++i) REQUIRE(distinct.insert(pool.try_construct()).second);
    CHECK(pool.blocks().capacity() == capacity);
    pool.for_each([&](auto& o) { pool.destroy(&o); });
    CHECK(Pool::value_type::alive == 0);
  };
  every_third(std::type_identity<object_pool<item<32>>>{});
  every_third(std::type_identity<object_pool<item<32>, fixed_growth<11>, lifo_reuse<>>>{});
  every_third(std::type_identity<object_pool<item<256>, static_array_store<300>>>{});
  every_third(std::type_identity<object_pool<item<256>, no_growth<300>, batch_reuse<prefetch::none, 128>>>{});
}

BOOST_AUTO_TEST_CASE(objects_on_pages_of_their_own_that_are_made_meanwhile_are_not_visited) {
  object_pool<item<32>, sampled_guard_pages<1, no_checking, 16>> pool;  // the first 16 are sampled
  std::set<const void*> before, visited;
  for (int i = 0; i != 12; ++i) before.insert(pool.construct());
  pool.destroy(static_cast<item<32>*>(const_cast<void*>(*before.begin())));
  before.erase(before.begin());
  pool.for_each([&](auto& o) {
    REQUIRE(visited.insert(&o).second);
    if (visited.size() % 2 == 0) pool.destroy(&o);
    REQUIRE(pool.construct() != nullptr);
    REQUIRE(visited.size() <= before.size());
  });
  CHECK(visited == before);
}

BOOST_AUTO_TEST_CASE(a_callback_may_construct) {
  const auto replace = []<class Pool>(std::type_identity<Pool>) {
    Pool pool;
    std::set<const void*> before;
    for (int i = 0; i < 500; ++i) before.insert(pool.construct(static_cast<unsigned char>(1)));
    for (int i = 0; i < 100; ++i) {  // and some free blocks
      const auto at = std::next(before.begin(), i);
      pool.destroy(static_cast<typename Pool::value_type*>(const_cast<void*>(*at)));
      before.erase(at);
    }
    std::set<const void*> visited, made;
    pool.for_each([&](auto& o) {
      if (o.bytes[0] != 1) return;  // one of those that were made meanwhile
      REQUIRE(visited.insert(&o).second);
      if (visited.size() % 2 == 0) {
        pool.destroy(&o);
        made.erase(&o);
      }
      for (int i = 0; i < 3; ++i) {
        const auto* const fresh = pool.construct(static_cast<unsigned char>(2));
        REQUIRE(made.insert(fresh).second);
      }
    });
    CHECK(visited == before);
    CHECK(made.size() == 1200);
    std::size_t live = 0;
    pool.for_each([&](auto& o) {
      ++live;
      CHECK(o.whole());
      CHECK((o.bytes[0] == 2) == made.contains(&o));
    });
    CHECK(live == 1200 + 200);
    pool.clear();
    CHECK(Pool::value_type::alive == 0);
  };
  replace(std::type_identity<object_pool<item<32>>>{});
  replace(std::type_identity<object_pool<item<32>, fixed_growth<50>, lifo_reuse<>>>{});
  replace(std::type_identity<object_pool<item<256>, batch_reuse<prefetch::none, 128>, fixed_growth<300>>>{});
  replace(std::type_identity<object_pool<item<1>, mutex_locking<>>>{});
}

template <class Pool>
void throw_in_every_place(called_from = {}) {
  constexpr std::size_t blocks = 150;
  for (std::size_t place : {1u, 2u, 50u, 74u, 75u}) {
    for (const bool destroys : {false, true}) {
      Pool pool;
      std::vector<item<48>*> all;
      while (auto* const o = pool.try_construct()) all.push_back(o);
      REQUIRE(all.size() == blocks);
      for (std::size_t i = 0; i < blocks; i += 2) pool.destroy(all[i]);
      std::size_t visits = 0;
      const auto call = [&](item<48>& o) {
        ++visits;
        if (destroys) pool.destroy(&o);
        if (visits == place) throw std::runtime_error("enough");
      };
      BOOST_CHECK_THROW(pool.for_each(call), std::runtime_error);
      CHECK(visits == place);
      const std::size_t left = blocks / 2 - (destroys ? place : 0);
      CHECK(item<48>::alive == static_cast<long>(left));
      std::size_t seen = 0;
      pool.for_each([&](item<48>& o) {
        ++seen;
        CHECK(o.whole());
      });
      CHECK(seen == left);
      CHECK(room_of(pool) == blocks - left);
      CHECK(room_of(pool) == blocks - left);
      CHECK(pool.blocks().capacity() == blocks);
    }
    CHECK(item<48>::alive == 0);
  }
}

// shows: FM-46
BOOST_AUTO_TEST_CASE(a_callback_that_throws_leaves_the_pool_whole) {
  throw_in_every_place<object_pool<item<48>, static_array_store<150>>>();
  throw_in_every_place<object_pool<item<48>, static_array_store<150>, batch_reuse<>>>();
  throw_in_every_place<object_pool<item<48>, fixed_growth<20, 150>, batch_reuse<prefetch::none, 128>>>();
  throw_in_every_place<object_pool<item<48>, geometric_growth<2, 64, 2, 150>, lifo_reuse<>>>();
}

BOOST_AUTO_TEST_CASE(
    for_each_gives_the_blocks_back_lowest_first) {  // so that a pool that was looked at carves no more than before
  object_pool<item<64>> pool;
  std::vector<item<64>*> all;
  for (int i = 0; i < 60; ++i) all.push_back(pool.construct());
  std::sort(all.begin(), all.end());
  for (item<64>* const o : all) pool.destroy(o);
  pool.for_each([](auto&) {});
  for (item<64>* const o : all) BOOST_TEST(pool.construct() == o);
}

// ---- a long walk ------------------------------------------------------------------------------------------------------------

template <class Pool, class... Given>
void walk(std::size_t operations, std::size_t most, called_from = {}, const Given&... given) {
  using T = typename Pool::value_type;
  {
    const auto held = std::make_unique<Pool>(given...);
    Pool& pool = *held;
    std::mt19937_64 random(seed());
    std::map<T*, unsigned char> live;
    std::vector<T*> order;
    std::size_t aim = most / 2;
    for (std::size_t i = 0; i < operations; ++i) {
      if (i % 5000 == 0) aim = random() % (most + 1);
      const std::uint64_t dice = random() % 100;
      if (dice < (live.size() < aim ? 70 : 30)) {
        const auto mark = static_cast<unsigned char>(random());
        T* const o = pool.try_construct(mark);
        if (o == nullptr) {
          REQUIRE(live.size() == pool.blocks().capacity());
          continue;
        }
        const auto [at, fresh] = live.emplace(o, mark);
        REQUIRE(fresh);
        REQUIRE(at == live.begin() || std::prev(at)->first + 1 <= o);
        REQUIRE(std::next(at) == live.end() || o + 1 <= std::next(at)->first);
        order.push_back(o);
      } else if (!order.empty()) {
        std::swap(order[random() % order.size()], order.back());
        T* const o = order.back();
        REQUIRE(o->whole());
        REQUIRE(o->bytes[0] == live.at(o));
        live.erase(o);
        order.pop_back();
        pool.destroy(o);
      }
      if (i % 10'000 == 9'999) {
        auto expected = live.begin();
        pool.for_each([&](T& o) { REQUIRE(expected != live.end() && (expected++)->first == &o && o.whole()); });
        REQUIRE(expected == live.end());
        REQUIRE(T::alive == static_cast<long>(live.size()));
      }
      if (i % 40'000 == 39'999) pool.blocks().trim();
    }
  }
  CHECK(T::alive == 0);
  CHECK(T::spoiled == 0);
}

BOOST_AUTO_TEST_CASE(two_hundred_thousand_operations_agree_with_a_map) {
  const std::size_t n = 50'000 * patience();
  walk<object_pool<item<40>>>(n, 4000);
  walk<object_pool<item<256>, fixed_growth<700>, lifo_reuse<>>>(n, 2000);
  walk<object_pool<item<24, 8>, static_array_store<1000>, batch_reuse<prefetch::none, 128>>>(n, 1500);
  test::upstream upstream;
  walk<object_pool<item<1>, mutex_locking<>, resource_store, geometric_growth<3, 50, 3>>>(n, 3000, {},
                                                                                          resource_store{&upstream});
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

}  // namespace
}  // namespace tarn::test
