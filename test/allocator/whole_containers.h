// Whole containers over an allocator of tarn's: arrays are taken and given back, and containers are copied, moved, swapped and
// spliced every way.
#ifndef TARN_TEST_ALLOCATOR_WHOLE_CONTAINERS_H_
#define TARN_TEST_ALLOCATOR_WHOLE_CONTAINERS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tarn/test/support/check.h"

namespace tarn::test {

template <std::size_t Align>
struct alignas(Align) aligned {
  long value = 0;
};

/// Takes arrays of many lengths, fills them to the last byte, and gives them back in another order.
template <class A>
void take_arrays(A allocator, called_from = {}) {
  using T = typename A::value_type;
  struct array {
    T* start;
    std::size_t n;
    int stamp;
  };
  std::mt19937 random(7);
  std::vector<array> arrays;
  const auto bytes_of = [](const array& a) { return reinterpret_cast<unsigned char*>(a.start); };
  const auto is_intact = [&](const array& a) {
    return std::all_of(bytes_of(a), bytes_of(a) + a.n * sizeof(T), [&](unsigned char byte) { return byte == a.stamp; });
  };
  for (unsigned round = 0; round < 3; ++round) {
    for (const std::size_t n : {0u, 1u, 1u, 2u, 3u, 7u, 8u, 31u, 64u, 100u, 129u, 500u, 513u, 1000u, 1u, 2u, 0u})
      if (n * sizeof(T) <= 1u << 20) {
        arrays.push_back({allocator.allocate(n), n, static_cast<int>(arrays.size() % 251)});
        REQUIRE(arrays.back().start != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(arrays.back().start) % alignof(T) == 0);
        if (n != 0) std::memset(bytes_of(arrays.back()), arrays.back().stamp, n * sizeof(T));
      }
    allocator.deallocate(nullptr, 0);  // as libc++'s vector does
    std::shuffle(arrays.begin(), arrays.end(), random);
    for (std::size_t keep = arrays.size() / (round + 2); arrays.size() > keep; arrays.pop_back()) {
      CHECK(is_intact(arrays.back()));
      allocator.deallocate(arrays.back().start, arrays.back().n);
    }
  }
  for (const array& a : arrays) {
    CHECK(is_intact(a));
    allocator.deallocate(a.start, a.n);
  }
}

// ---- containers over an allocator, given for any type ---------------------------------------------------------------------

template <class A, class T>
using as = typename std::allocator_traits<A>::template rebind_alloc<T>;
template <class A>
using list_of = std::list<long, as<A, long>>;
template <class A>
using forward_list_of = std::forward_list<long, as<A, long>>;
template <class A>
using vector_of = std::vector<long, as<A, long>>;
template <class A>
using deque_of = std::deque<std::array<long, 80>, as<A, std::array<long, 80>>>;  // one in a node of libstdc++
template <class A>
using map_of = std::map<long, long, std::less<>, as<A, std::pair<const long, long>>>;
template <class A>
using multimap_of = std::multimap<long, long, std::less<>, as<A, std::pair<const long, long>>>;
template <class A>
using set_of = std::set<long, std::less<>, as<A, long>>;
template <class A>
using multiset_of = std::multiset<long, std::less<>, as<A, long>>;
template <class A>
using unordered_map_of = std::unordered_map<long, long, std::hash<long>, std::equal_to<>, as<A, std::pair<const long, long>>>;
template <class A>
using unordered_set_of = std::unordered_set<long, std::hash<long>, std::equal_to<>, as<A, long>>;
template <class A>
using unordered_multimap_of =
    std::unordered_multimap<long, long, std::hash<long>, std::equal_to<>, as<A, std::pair<const long, long>>>;
template <class A>
using unordered_multiset_of = std::unordered_multiset<long, std::hash<long>, std::equal_to<>, as<A, long>>;

/// Puts `n` elements in, from `first` on.
template <class C>
void put(C& c, long first, long n) {
  using value = typename C::value_type;
  for (long i = first; i < first + n; ++i) {
    if constexpr (requires { typename C::mapped_type; }) c.emplace(i, -i);
    else if constexpr (requires { typename C::key_type; }) c.emplace(i);
    else if constexpr (!std::is_arithmetic_v<value>) c.push_back({i});
    else if constexpr (requires { c.push_back(value()); }) c.push_back(static_cast<value>(i));
    else c.push_front(i);
  }
}
template <class C>
long length(const C& c) {
  return static_cast<long>(std::distance(c.begin(), c.end()));
}

/// Copies, moves and swaps of containers with unequal allocators. Afterwards each is used further, so that a block that is on
/// the wrong side comes back there.
/// \param is_in  (container, allocator): its elements are of this allocator
template <class C, class IsIn>
void go_every_way(const typename C::allocator_type& a, const typename C::allocator_type& b, IsIn is_in, called_from = {}) {
  const auto filled = [](const typename C::allocator_type& from) {
    C c(from);
    put(c, 0, 50);
    return c;
  };
  const C expected = filled(a);
  C original = filled(a), copy(original), copy_there(original, b);
  const auto of_copy = copy.get_allocator();
  const bool is_shared = std::allocator_traits<typename C::allocator_type>::select_on_container_copy_construction(a) == a;
  CHECK(is_in(original, a) && is_in(copy, of_copy) && (of_copy == a) == is_shared && copy == expected);
  CHECK(is_in(copy_there, b) && copy_there == expected);
  const void* const first = &*original.begin();
  C moved(std::move(original));
  CHECK(is_in(moved, a) && original.get_allocator() == a && &*moved.begin() == first && moved == expected);
  C moved_there(std::move(moved), b);  // element by element
  CHECK(is_in(moved_there, b) && moved_there == expected);
  put(copy_there, 900, 80);
  copy_there = copy;  // it keeps its own allocator
  CHECK(is_in(copy_there, b) && copy_there == expected);
  const void* const first_of_copy = &*copy.begin();
  copy_there = std::move(copy);  // it takes the allocator along, and what it had goes back
  CHECK(is_in(copy_there, of_copy) && &*copy_there.begin() == first_of_copy && copy_there == expected);
  using std::swap;
  swap(copy_there, moved_there);  // the allocators go along
  CHECK(is_in(copy_there, b) && is_in(moved_there, of_copy) && &*moved_there.begin() == first_of_copy);
  for (C* const one : {&original, &copy, &copy_there, &moved, &moved_there}) {
    one->clear();
    put(*one, 100, 60);
    if constexpr (requires { one->erase(one->begin()); }) one->erase(one->begin());
    else one->pop_front();
    CHECK(length(*one) == 59);
  }
}

/// Nodes go from one container to another with an equal allocator, which asks nobody.
/// \param held  () what was asked for, and what is there
template <class A, class Held>
void move_nodes(const A& shared, Held held, called_from = {}) {
  list_of<A> a({1, 3, 5}, shared), b({2, 4, 6}, shared);
  map_of<A> m({{1, 1}, {2, 2}}, shared), n({{3, 3}, {2, 2}}, shared);
  const auto before = held();
  const long* const first = &a.front();
  b.splice(b.begin(), a, a.begin());
  CHECK(&b.front() == first);
  a.merge(b);
  m.merge(n);
  swap(m, n);
  CHECK(held() == before);
  CHECK(m.size() == 1u && n.size() == 3u && a.size() == 6u);
}

}  // namespace tarn::test

#endif  // TARN_TEST_ALLOCATOR_WHOLE_CONTAINERS_H_
