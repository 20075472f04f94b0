// Object pools under checking policies: where an object was made, and what is left when the pool ends.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#if defined(__has_include)
#if __has_include(<source_location>)
#include <source_location>
#endif
#endif

#include "tarn/allocator/object_pool.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

struct order {
  explicit order(int q = 0) : quantity(q) {
    if (q < 0) throw std::invalid_argument("quantity");
  }
  int quantity;
};
struct named_order {
  std::string name = "a name that doesn't fit into the string itself";
};

using located = object_pool<order, checked_with<sites>>;

/// The place that the only report so far names, which is forgotten.
std::pair<std::string, unsigned> site_told(called_from = {}) {
  BOOST_REQUIRE(recorder::seen().size() == 1u);
  const misuse what = recorder::seen().back().what;
  recorder::seen().clear();
  return {what.file == nullptr ? "" : what.file, what.line};
}
template <class Pool, class T>
std::pair<std::string, unsigned> free_twice(Pool& pool, T* object) {
  pool.destroy(object);
  pool.destroy(object);
  return site_told();
}
std::pair<std::string, unsigned> line(unsigned n) { return {__FILE__, n}; }
const std::pair<std::string, unsigned> nowhere{"", 0};

BOOST_AUTO_TEST_CASE(reports_say_where_an_object_was_made) {
  const recorder recording;
  located orders;
  order* const first = orders.here().construct(1);
  BOOST_TEST((free_twice(orders, first) == line(__LINE__ - 1)));
  order* const second = orders.here().try_construct(2);
  BOOST_TEST((free_twice(orders, second) == line(__LINE__ - 1)));
  const auto here = orders.here();
  order* const third = here.make_unique(3).release();
  BOOST_TEST(third->quantity == 3);
  BOOST_TEST((free_twice(orders, third) == line(__LINE__ - 3)));
  // The block is the same, and its site is that of its last use.
  order* const fourth = orders.construct(4);
  BOOST_TEST(fourth == first);
  BOOST_TEST((free_twice(orders, fourth) == nowhere));
  order* const fifth = orders.here({"elsewhere.cc", 7}).construct(5);
  BOOST_TEST((free_twice(orders, fifth) == std::pair<std::string, unsigned>("elsewhere.cc", 7)));
#if defined(__cpp_lib_source_location)
  order* const sixth = orders.here(std::source_location::current()).construct(6);
  BOOST_TEST((free_twice(orders, sixth) == line(__LINE__ - 1)));
#endif
  BOOST_CHECK_THROW((void)orders.here().construct(-1), std::invalid_argument);
  BOOST_TEST((orders.construct(7) == first));  // the block came back
}

BOOST_AUTO_TEST_CASE(reports_say_where_a_block_was_asked_for) {
  const recorder recording;
  pool<static_size<64>, checked_with<shuffled, sites>, thread_cached<>> blocks;
  void* const block = blocks.allocate();
  const auto here = line(__LINE__ + 1);
  blocks.note_site(block);
  blocks.deallocate(block, 65);  // refused, and says nothing of the block
  recorder::seen().clear();
  blocks.deallocate(static_cast<std::byte*>(block) + 1);
  BOOST_TEST((site_told() == here));
  int no_block = 0;
  blocks.note_site(&no_block);  // left alone
  blocks.deallocate(block);
  blocks.note_site(block);  // in nobody's hands
  blocks.deallocate(block);
  BOOST_TEST((site_told() == here));
}

BOOST_AUTO_TEST_CASE(a_leak_says_where_the_first_block_was_asked_for) {
  const recorder recording;
  {
    pool<static_size<64>, checked_with<sites>> blocks;
    void* const first = blocks.allocate();
    void* const second = blocks.allocate();
    blocks.note_site(first < second ? first : second, {"first.cc", 1});
    blocks.note_site(first < second ? second : first, {"second.cc", 2});
  }
  BOOST_TEST((site_told() == std::pair<std::string, unsigned>("first.cc", 1)));
}

/// Where nobody keeps sites, all of that goes, and does nothing.
template <class... Policies>
void make_here() {
  object_pool<order, Policies...> orders;
  order* const one = orders.here().construct(1);
  orders.blocks().note_site(one);
  orders.destroy(one);
}
// shows: FM-32
BOOST_AUTO_TEST_CASE(other_policies_take_no_note) {
  const recorder recording;
  make_here<>();
  make_here<hardened>();
  make_here<checked>();
  make_here<sampled_guard_pages<2, checked>>();
  make_here<sampled_guard_pages<2, checked_with<sites>>>();
  BOOST_TEST(recorder::seen().empty());
  object_pool<order, checked> orders;
  BOOST_TEST((free_twice(orders, orders.here().construct(1)) == nowhere));
  static_assert(sizeof(detail::life_record) + 16 == sizeof(detail::sited_record));
}

template <class T, class... Policies>
std::size_t reports_of_what_is_left() {
  recorder::seen().clear();
  {
    object_pool<T, Policies...> objects;
    for (int i = 0; i != 100; ++i) (void)objects.construct();
  }
  return recorder::seen().size();
}

// "The destructor destroys the objects that are left": whatever their type, that is no leak.
BOOST_AUTO_TEST_CASE(objects_that_are_left_are_no_leak) {
  const recorder recording;
  static_assert(std::is_trivially_destructible_v<order> && !std::is_trivially_destructible_v<named_order>);
  BOOST_TEST((reports_of_what_is_left<order, checked>() == 0u));
  BOOST_TEST((reports_of_what_is_left<named_order, checked>() == 0u));
  BOOST_TEST((reports_of_what_is_left<order, hardened>() == 0u));
  BOOST_TEST((reports_of_what_is_left<named_order, hardened>() == 0u));
  BOOST_TEST((reports_of_what_is_left<named_order, checked, thread_cached<>>() == 0u));
  BOOST_TEST((reports_of_what_is_left<named_order, checked, lock_free>() == 0u));
  BOOST_TEST((reports_of_what_is_left<order, checked, static_array_store<1000>>() == 0u));
  BOOST_TEST((reports_of_what_is_left<order, sampled_guard_pages<2, checked>>() == 0u));
  // The control: blocks that are left are one.
  {
    object_pool<order, checked> objects;
    (void)objects.blocks().allocate();
    std::destroy_at(&objects.blocks());
    BOOST_TEST(recorder::seen().size() == 1u);
    std::construct_at(&objects.blocks());
  }
}

// shows: FM-44
BOOST_AUTO_TEST_CASE(an_object_that_a_burst_names_twice_is_destroyed_once) {
  const recorder recording;
  object_pool<named_order, checked> orders;
  std::array<named_order*, 3> some{orders.construct(), orders.construct(), nullptr};
  some[2] = some[0];
  orders.destroy_n(some);
  BOOST_REQUIRE(recorder::seen().size() == 1u);
  BOOST_TEST((recorder::seen().back().what.kind == misuse_kind::double_free));
  recorder::seen().clear();
}

}  // namespace
}  // namespace tarn::test
