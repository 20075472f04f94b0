// Bursts: many objects made and destroyed by one call, all or none.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

/// Counts what is alive; the constructor throws when `until` more were made.
struct spark {
  explicit spark(int its = 1, const std::string& text = {}) : number(its), name(text) {
    if (until-- == 0) throw std::runtime_error("no more sparks");
    ++alive;
  }
  ~spark() {
    --alive;
    ends.push_back(this);
  }
  int number;
  std::string name;
  static inline int alive = 0;
  static inline int until = -1;
  static inline std::vector<spark*> ends;
};

template <class Pool>
std::size_t seen_in(Pool& pool) {
  std::size_t n = 0;
  pool.for_each([&](const auto&) { ++n; });
  return n;
}

template <class Pool>
void make_and_end(called_from = {}) {
  Pool pool;
  for (const std::size_t n : std::array<std::size_t, 5>{0, 1, 63, 64, 200}) {
    std::vector<spark*> some(n);
    pool.construct_n(some, 7, "a name that is too long to lie in the string itself");
    CHECK(spark::alive == static_cast<int>(n));
    CHECK(std::set<spark*>(some.begin(), some.end()).size() == n);
    for (const spark* const one : some) CHECK(one->number == 7 && one->name.size() > 30);
    CHECK(seen_in(pool) == n);
    if (n > 2) some[2] = nullptr;
    pool.destroy_n(some);  // null is ignored
    CHECK(spark::alive == (n > 2 ? 1 : 0));
    pool.clear();
  }
  CHECK(spark::alive == 0);
  spark::ends.clear();
}

BOOST_AUTO_TEST_CASE(bursts_of_every_length) {
  make_and_end<object_pool<spark, lifo_reuse<>, fixed_growth<30>>>();
  make_and_end<object_pool<spark, page_local_reuse<>, mutex_locking<>>>();
  make_and_end<object_pool<spark, checked>>();
  make_and_end<object_pool<spark, static_array_store<200>>>();
}

BOOST_AUTO_TEST_CASE(what_a_constructor_throws_leaves_none) {
  object_pool<spark, no_growth<100>, counting_statistics, mutex_locking<>> pool;
  std::vector<spark*> some(90);
  for (const bool all : {true, false})
    for (const int until : {0, 1, 70, 89}) {
      spark::until = until;
      spark::ends.clear();
      BOOST_CHECK_THROW(all ? pool.construct_n(some, 1) : static_cast<void>(pool.try_construct_n(some, 1)), std::runtime_error);
      spark::until = -1;
      CHECK(spark::alive == 0);
      CHECK(spark::ends.size() == static_cast<std::size_t>(until));
      for (std::size_t i = 0; i != spark::ends.size(); ++i)  // the newest first
        CHECK(spark::ends[i] == some[static_cast<std::size_t>(until) - 1 - i]);
      CHECK(pool.blocks().statistics().in_use == 0);
    }
  std::vector<spark*> every(100);
  pool.construct_n(every);  // all blocks came back
  CHECK(std::set<spark*>(every.begin(), every.end()).size() == 100);
  CHECK(pool.try_construct() == nullptr);
  pool.destroy_n(every);
}

BOOST_AUTO_TEST_CASE(without_room_for_all_there_is_none) {
  object_pool<spark, static_array_store<100>> pool;
  std::array<spark*, 101> some{};
  BOOST_CHECK_THROW(pool.construct_n(some, 1), std::bad_alloc);
  CHECK(spark::alive == 0);
  some = {};
  CHECK(pool.try_construct_n(some, 1) == 100);
  CHECK(some[100] == nullptr);
  CHECK(spark::alive == 100);
  CHECK(pool.try_construct_n(some, 1) == 0);
  pool.destroy_n(std::span(some).first(0));
  pool.destroy_n(std::span(some).first(100));
  CHECK(spark::alive == 0);
}

/// Destroys a burst of others at its end.
struct emitter {
  using pool_type = object_pool<emitter>;
  emitter() { ++alive; }
  ~emitter() {
    --alive;
    if (!children.empty()) pool->destroy_n(children);
  }
  std::vector<emitter*> children;
  static inline pool_type* pool = nullptr;
  static inline int alive = 0;
};

BOOST_AUTO_TEST_CASE(a_burst_that_a_destructor_ends) {
  emitter::pool_type pool;
  emitter::pool = &pool;
  std::vector<emitter*> roots(10);
  for (const bool by_clear : {true, false}) {
    std::vector<emitter*> leaves(500);
    pool.construct_n(leaves);
    pool.construct_n(roots);
    for (std::size_t i = 0; i != leaves.size(); ++i) roots[i % 10]->children.push_back(leaves[i]);
    if (by_clear) pool.clear();
    else pool.destroy_n(roots);
    BOOST_TEST(emitter::alive == 0);
    BOOST_TEST(seen_in(pool) == 0u);
  }
}

}  // namespace
}  // namespace tarn::test
