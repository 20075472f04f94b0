// fixed_container: the size of a node against what the library's containers ask for, N elements and no more, copies, moves and
// swaps. Nothing comes from the heap.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using detail::measured;

std::size_t node_bytes, node_alignment, elsewhere;

/// Notes what a container asks for.
template <class T>
struct noting : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = noting<U>;
  };
  noting() = default;
  template <class U>
  noting(const noting<U>&) noexcept {}
  T* allocate(std::size_t n) {
    if (n == 1) node_bytes = sizeof(T), node_alignment = alignof(T);
    else ++elsewhere;
    return std::allocator<T>::allocate(n);
  }
};
template <template <class> class Allocator, class Container>
using with = typename detail::with_allocator<Container, Allocator<typename Container::value_type>>::type;

template <class C>
void put(C& c, const typename C::value_type& value) {
  if constexpr (requires { typename C::key_type; }) c.insert(value);
  else c.push_front(value);
}
template <class C>
std::size_t length(const C& c) {
  return static_cast<std::size_t>(std::distance(c.begin(), c.end()));
}

/// What is computed when the program is compiled is what the library asks for when it runs.
template <class Container>
void measure(called_from = {}) {
  node_bytes = node_alignment = elsewhere = 0;
  {
    with<noting, Container> c;
    put(c, typename Container::value_type());
  }
  CHECK(node_bytes == (detail::measure_node<Container, measured::size>()));
  CHECK(node_alignment == (detail::measure_node<Container, measured::alignment>()));
  CHECK(elsewhere == 0);
}
struct odd {
  char c[5];
  friend bool operator<(const odd&, const odd&) noexcept { return false; }
};
struct alignas(64) wide {
  char c;
};
template <class Key>
void measure_all_of(called_from = {}) {
  measure<std::list<Key>>();
  measure<std::forward_list<Key>>();
  measure<std::map<Key, char>>();
  measure<std::multimap<char, Key>>();
  measure<std::set<Key>>();
  measure<std::multiset<Key>>();
}
BOOST_AUTO_TEST_CASE(the_size_of_a_node) {
  measure_all_of<char>();
  measure_all_of<int>();
  measure_all_of<void*>();
  measure_all_of<odd>();
  measure_all_of<std::string>();
  measure<std::list<wide>>();
  measure<std::map<int, wide>>();
  measure<std::set<long double>>();
  BOOST_TEST((detail::measure_node<std::vector<int>, measured::size>()) == 0u);
}

/// N, and not one more; and again after one went.
template <class C>
void fill(called_from = {}) {
  C c;
  using value = typename C::value_type;
  const auto nth = [](int i) {
    if constexpr (requires { typename C::mapped_type; }) return value(static_cast<long>(i), static_cast<short>(-i));
    else return static_cast<value>(i);
  };
  CHECK(c.empty() && C::capacity() == 10 && c.max_size() == 10);
  const auto* const begin = reinterpret_cast<const std::byte*>(&c);
  for (int round = 0; round != 3; ++round) {
    for (int i = 0; i != 10; ++i) put(c, nth(i));
    CHECK(throws_bad_alloc([&] { put(c, nth(20)); }));
    CHECK(length(c) == 10);
    for (const auto& element : c) {
      const auto* const its = reinterpret_cast<const std::byte*>(&element);
      CHECK(its > begin && its + sizeof(element) <= begin + sizeof(C));
      CHECK(reinterpret_cast<std::uintptr_t>(its) % alignof(value) == 0);
    }
    C copy(c);
    CHECK(copy == c && copy.get_allocator() != c.get_allocator() && copy.get_allocator() == copy.get_allocator());
    C moved(std::move(copy));
    CHECK(moved == c && copy.empty());
    CHECK(throws_bad_alloc([&] { put(moved, nth(20)); }));
    C assigned;
    put(assigned, nth(30));
    assigned = moved;
    CHECK(assigned == c);
    copy = std::move(assigned);
    CHECK(copy == c && assigned.empty());
    C& itself = copy;
    copy = itself;
    copy = std::move(itself);
    CHECK(copy == c);
    put(assigned, nth(7));
    swap(copy, assigned);
    CHECK(assigned == c && length(copy) == 1 && *copy.begin() == nth(7));
    swap(itself, copy);
    CHECK(length(copy) == 1);
    if (round == 0) c.clear();
    else if constexpr (requires { c.pop_front(); }) c = {nth(1), nth(2)}, c.pop_front(), c.pop_front();
    else c = {nth(1), nth(2)}, c.erase(c.begin()), c.erase(c.begin());
    CHECK(c.empty());
  }
}
BOOST_AUTO_TEST_CASE(so_many_elements) {
  fill<fixed_list<long, 10>>();
  fill<fixed_forward_list<char, 10>>();
  fill<fixed_map<long, short, 10>>();
  fill<fixed_multimap<long, short, 10, std::greater<>>>();
  fill<fixed_set<int, 10>>();
  fill<fixed_multiset<int, 10, std::less<>, hardened>>();
  fill<fixed_list<int, 10, checked>>();
}

BOOST_AUTO_TEST_CASE(as_the_containers_constructors) {
  const int some[] = {3, 1, 2};
  const fixed_list<int, 5> a{3, 1, 2}, b(std::begin(some), std::end(some)), c(3u, 7), d(3u);
  BOOST_TEST((a == b && c == fixed_list<int, 5>{7, 7, 7} && d == fixed_list<int, 5>{0, 0, 0}));
  const fixed_set<int, 5, std::greater<int>> s(std::begin(some), std::end(some), std::greater<int>());
  BOOST_TEST(*s.begin() == 3);
  const fixed_set<int, 5, std::greater<int>> t({3, 1, 2}, std::greater<int>());
  BOOST_TEST((t == s));
  static_assert(!std::is_constructible_v<fixed_list<int, 5>, std::initializer_list<int>, int>);
  BOOST_CHECK_THROW((fixed_list<int, 2>{1, 2, 3}), std::bad_alloc);
  static_assert(!std::is_convertible_v<unsigned, fixed_list<int, 5>>);
  static_assert(std::is_base_of_v<std::list<int, fixed_list<int, 5>::allocator_type>, fixed_list<int, 5>>);
  static_assert(sizeof(fixed_list<long, 100>) < 100 * (sizeof(long) + 2 * sizeof(void*)) + 100);
}

BOOST_AUTO_TEST_CASE(elements_that_throw_and_are_counted) {
  auto value = std::make_shared<int>(1);
  {
    fixed_list<std::shared_ptr<int>, 4> a(4u, value);
    const auto b = a;
    fixed_list<std::shared_ptr<int>, 4> c = std::move(a);
    BOOST_TEST(value.use_count() == 9);
    auto node = fixed_map<int, std::shared_ptr<int>, 3>{{1, value}, {2, value}};
    auto taken = node.extract(1);
    BOOST_TEST((!taken.empty() && node.size() == 1u));
    node.insert(std::move(taken));
    BOOST_TEST(node.size() == 2u);
  }
  BOOST_TEST(value.use_count() == 1);
}

}  // namespace
}  // namespace tarn::test
