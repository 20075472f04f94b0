// A pool for each of several types.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/multipool.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

// ---- each type has a pool of its own ----------------------------------------------------------------------------------------

template <int Which>
struct thing {
  explicit thing(long n) : value(n) { ++alive; }
  thing(const thing&) = delete;
  thing& operator=(const thing&) = delete;
  ~thing() { --alive; }
  long value;
  char more[static_cast<std::size_t>(Which) * 24 + 1] = {};
  static inline int alive = 0;
};
using wall = thing<0>;
using door = thing<1>;
using key = thing<7>;

BOOST_AUTO_TEST_CASE(each_type_has_its_own_pool) {
  multipool<wall, door, key, fixed_growth<5>> things;
  std::vector<wall*> walls;
  std::vector<door*> doors;
  for (int i = 0; i < 50; ++i) {
    walls.push_back(things.construct<wall>(i));
    if (i % 2 == 0) doors.push_back(things.construct<door>(100 + i));
  }
  BOOST_TEST(things.pool_of<wall>().blocks().capacity() == 50u);
  BOOST_TEST(things.pool_of<door>().blocks().capacity() == 25u);
  BOOST_TEST(things.pool_of<key>().blocks().capacity() == 0u);
  for (const wall* const w : walls) {
    BOOST_TEST(things.pool_of<wall>().blocks().owns(w));
    BOOST_TEST(!things.pool_of<door>().blocks().owns(w));
  }
  for (std::size_t i = 0; i < doors.size(); ++i) BOOST_TEST(doors[i]->value == static_cast<long>(100 + 2 * i));

  things.destroy(walls[3]);  // the type says where it goes
  things.destroy(doors[3]);
  BOOST_TEST(wall::alive == 49);
  BOOST_TEST(door::alive == 24);
  BOOST_TEST(things.construct<wall>(1) == walls[3]);
  BOOST_TEST(things.construct<door>(1) == doors[3]);
  things.destroy(static_cast<key*>(nullptr));
  things.clear();
  BOOST_TEST(wall::alive == 0);
  BOOST_TEST(door::alive == 0);
  BOOST_TEST(things.pool_of<wall>().blocks().capacity() == 50u);
}

BOOST_AUTO_TEST_CASE(two_types_of_one_layout_stay_apart) {
  struct left {
    long value;
  };
  struct right {
    long value;
  };
  multipool<left, right, no_growth<3>> both;
  for (int i = 0; i < 3; ++i) BOOST_TEST(both.try_construct<left>(i) != nullptr);
  BOOST_TEST(both.try_construct<left>(3) == nullptr);
  BOOST_TEST(both.try_construct<right>(3)->value == 3);
}

BOOST_AUTO_TEST_CASE(policies_stand_anywhere_in_the_list_and_serve_all) {
  multipool<no_growth<2>, wall, mutex_locking<>, door, lifo_reuse<>, counting_statistics, key> things;
  using walls = object_pool<wall, no_growth<2>, mutex_locking<>, lifo_reuse<>, counting_statistics>;
  static_assert(std::is_same_v<decltype(things.pool_of<wall>()), walls&>);
  BOOST_TEST(things.try_construct<door>(1) != nullptr);
  BOOST_TEST(things.try_construct<door>(2) != nullptr);
  BOOST_TEST(things.try_construct<door>(3) == nullptr);
  BOOST_CHECK_THROW((void)things.construct<door>(3), std::bad_alloc);
  BOOST_TEST(door::alive == 2);
  BOOST_TEST(things.pool_of<door>().blocks().statistics().in_use == 2u);
  BOOST_TEST(things.pool_of<wall>().blocks().statistics().in_use == 0u);
}

BOOST_AUTO_TEST_CASE(arguments_arrive_and_exceptions_leave_nothing_behind) {
  struct picky {
    picky(std::unique_ptr<int> one, const std::string& two, int& three, bool throws) : a(std::move(one)), b(two), c(three) {
      if (throws) throw std::runtime_error("picky");
    }
    std::unique_ptr<int> a;
    std::string b;
    int& c;
  };
  multipool<picky, wall, static_array_store<1>> things;
  int three = 3;
  for (int i = 0; i < 5; ++i) {
    BOOST_CHECK_THROW((void)things.construct<picky>(nullptr, "two", three, true), std::runtime_error);
    BOOST_CHECK_THROW((void)things.try_construct<picky>(nullptr, "two", three, true), std::runtime_error);
  }
  picky* const p = things.construct<picky>(std::make_unique<int>(1), "two", three, false);
  BOOST_TEST(*p->a == 1);
  BOOST_TEST(&p->c == &three);
  BOOST_TEST(things.try_construct<picky>(nullptr, "two", three, false) == nullptr);
}

BOOST_AUTO_TEST_CASE(the_destructor_destroys_what_is_left_and_release_all_does_not) {
  {
    multipool<wall, door, long> things;
    for (int i = 0; i < 10; ++i) BOOST_TEST(things.construct<wall>(i)->value == i);
    things.release_all();
    BOOST_TEST(std::exchange(wall::alive, 0) == 10);
    BOOST_TEST(things.pool_of<wall>().blocks().capacity() == 0u);
    for (int i = 0; i < 10; ++i) BOOST_TEST((things.construct<wall>(i) && things.construct<door>(i)));
    BOOST_TEST(*things.construct<long>(7) == 7);
  }
  BOOST_TEST(wall::alive == 0);
  BOOST_TEST(door::alive == 0);
}

}  // namespace
}  // namespace tarn::test
