// Objects that are deleted as what they aren't.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

/// No destructor is virtual. Compilers would warn of what delete does with these.
template <class Checking>
struct shape {
  long id = 1;
  DECLARE_MEMORY_POOL_WITH(shape, Checking)
};
template <class Checking>
struct square : shape<Checking> {  // from the global operators, since it is larger
  long side[4] = {1, 2, 3, 4};
};
struct tag {
  long text[2] = {};
};
template <class Checking>
struct circle : shape<Checking> {
  long radius[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  DECLARE_MEMORY_POOL_WITH(circle, Checking)
};
template <class Checking>
struct tagged : tag, shape<Checking> {
  long more[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  DECLARE_MEMORY_POOL_WITH(tagged, Checking)
};

/// Deletes the object as what it isn't, and tells what was reported.
template <class Base, class Derived>
misuse_kind delete_as(Derived* object, called_from = {}) {
  recorder::seen().clear();
  delete static_cast<Base*>(hidden(static_cast<Base*>(object)));
  BOOST_REQUIRE(recorder::seen().size() == 1u);
  BOOST_TEST((recorder::seen()[0].what.pool == &Base::memory_pool()));
  BOOST_TEST(recorder::seen()[0].what.address == static_cast<Base*>(object));
  return recorder::seen()[0].what.kind;
}
template <class Checking>
void delete_through_a_base(called_from = {}) {
  using enum misuse_kind;
  const recorder recording;
  auto* const large = new square<Checking>;
  BOOST_TEST((delete_as<shape<Checking>>(large) == foreign_pointer));
  BOOST_TEST(large->side[3] == 4);
  auto* const pooled = new circle<Checking>;
  BOOST_TEST((delete_as<shape<Checking>>(pooled) == (std::is_same_v<Checking, checked> ? other_pool : foreign_pointer)));
  BOOST_TEST(pooled->radius[7] == 8);
  auto* const shifted = new tagged<Checking>;
  BOOST_TEST((delete_as<shape<Checking>>(shifted) == foreign_pointer));
  BOOST_TEST(shifted->more[7] == 8);
  recorder::seen().clear();
  delete large;
  delete pooled;
  delete shifted;
  BOOST_TEST(recorder::seen().empty());
}
BOOST_AUTO_TEST_CASE(delete_through_a_base_without_a_virtual_destructor) {
  delete_through_a_base<hardened>();
  delete_through_a_base<checked>();
}

template <class Checking>
void delete_with_other_sizes(called_from = {}) {
  const recorder recording;
  using derived = circle<Checking>;
  derived* const object = new derived;
  for (const std::size_t bytes : {std::size_t{1}, sizeof(shape<Checking>), sizeof(derived) - 1, sizeof(derived) + 1}) {
    recorder::seen().clear();
    derived::operator delete(hidden(object), bytes);
    BOOST_REQUIRE(recorder::seen().size() == 1u);
    const misuse& what = recorder::seen()[0].what;
    BOOST_TEST((what.kind == misuse_kind::wrong_size));
    BOOST_TEST(what.address == object);
    BOOST_TEST(what.size == bytes);
    BOOST_TEST((what.pool == &derived::memory_pool()));
    BOOST_TEST(object->radius[7] == 8);
  }
  recorder::seen().clear();
  delete object;
  BOOST_TEST(derived::memory_pool().try_allocate() == object);  // it is back, once
  derived::memory_pool().deallocate(object);
  BOOST_TEST(recorder::seen().empty());
}
BOOST_AUTO_TEST_CASE(delete_with_another_size) {
  delete_with_other_sizes<hardened>();
  delete_with_other_sizes<checked>();
}

template <class Checking>
void free_at_the_second_base(called_from = {}) {
  const recorder recording;
  using derived = tagged<Checking>;
  derived* const object = new derived;
  void* const second = static_cast<shape<Checking>*>(object);
  BOOST_REQUIRE(second != object);
  derived::operator delete(hidden(second), sizeof(derived));
  derived::memory_pool().deallocate(second);
  BOOST_TEST(recorder::seen().size() == 2u);
  for (const report& r : recorder::seen()) {
    BOOST_TEST((r.what.kind == misuse_kind::interior_pointer), r.text);
    BOOST_TEST(r.what.address == second);
    BOOST_TEST(r.what.block == object);
  }
  BOOST_TEST(object->more[7] == 8);
  delete object;
  BOOST_TEST(recorder::seen().size() == 2u);
}
BOOST_AUTO_TEST_CASE(free_by_the_address_of_a_second_base) {
  free_at_the_second_base<hardened>();
  free_at_the_second_base<checked>();
}

}  // namespace
}  // namespace tarn::test
