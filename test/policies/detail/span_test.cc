// tarn::span takes what std::span takes and refuses what that refuses, and each converts to the other.
#include <boost/test/unit_test.hpp>

#include <array>
#include <deque>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tarn/policies/detail/protocol.h"

namespace {

template <class From, class T>
constexpr bool as_std = std::is_convertible_v<From, tarn::span<T>> == std::is_convertible_v<From, std::span<T>> &&
                        std::is_constructible_v<tarn::span<T>, From> == std::is_constructible_v<std::span<T>, From> &&
                        std::is_nothrow_constructible_v<tarn::span<T>, From> ==
                            std::is_nothrow_constructible_v<std::span<T>, From>;
template <class Range, class T>
constexpr bool in_each_way = as_std<Range, T> && as_std<Range&, T> && as_std<const Range&, T> && as_std<const Range, T>;

template <class E, class T>
constexpr bool whatever_holds_it =
    in_each_way<std::vector<E>, T> && in_each_way<std::array<E, 3>, T> && in_each_way<E[3], T> &&
    in_each_way<std::span<E>, T> && in_each_way<std::span<E, 3>, T> && in_each_way<std::span<const E>, T> &&
    in_each_way<tarn::span<const E>, T> && in_each_way<std::deque<E>, T> && in_each_way<std::unique_ptr<E[]>, T> &&
    in_each_way<E*, T> && in_each_way<E, T>;

struct base {
  int i;
};
struct derived : base {
  int j;
};

template <class E>
constexpr bool to_each =
    whatever_holds_it<E, void*> && whatever_holds_it<E, void* const> && whatever_holds_it<E, const void* const> &&
    whatever_holds_it<E, base> && whatever_holds_it<E, const base>;
static_assert(to_each<void*> && to_each<const void*> && to_each<derived*>);
static_assert(to_each<base> && to_each<derived>);
static_assert(in_each_way<std::string, char> && in_each_way<std::string, const char>);
static_assert(in_each_way<std::string_view, const char> && in_each_way<std::string_view, char>);

// To a std::span, from a variable, a constant one and a temporary.
template <class From, class To>
constexpr bool converts = std::is_convertible_v<tarn::span<From>, std::span<To>> &&
                          std::is_convertible_v<tarn::span<From>&, std::span<To>> &&
                          std::is_convertible_v<const tarn::span<From>&, std::span<To>> &&
                          std::is_constructible_v<std::span<To>, tarn::span<From>>;
static_assert(converts<void*, void*> && converts<void*, void* const> && converts<void* const, void* const>);
static_assert(converts<int, int> && converts<int, const int>);
static_assert(!converts<const int, int> && !converts<derived, base> && !converts<int, long>);
static_assert(!std::is_convertible_v<tarn::span<int>, std::vector<int>>);
static_assert(!std::is_convertible_v<tarn::span<char>, std::string>);

static_assert(std::is_trivially_copyable_v<tarn::span<int>> && sizeof(tarn::span<int>) == sizeof(std::span<int>));

// Overloads of a program's own: neither is ambiguous.
int which(std::span<int>) { return 1; }
int which(std::span<void*>) { return 2; }

}  // namespace

BOOST_AUTO_TEST_SUITE(span)

BOOST_AUTO_TEST_CASE(parts_of_a_span) {
  int some[] = {1, 2, 3, 4, 5};
  const tarn::span<int> all = some;
  const auto is = [&](tarn::span<const int> part, const std::vector<int>& expected) {
    return std::vector<int>(part.begin(), part.end()) == expected && part.size() == expected.size() &&
           part.empty() == expected.empty();
  };
  BOOST_TEST(is(all, {1, 2, 3, 4, 5}));
  BOOST_TEST(is(all.first(2), {1, 2}));
  BOOST_TEST(is(all.last(2), {4, 5}));
  BOOST_TEST(is(all.subspan(3), {4, 5}));
  BOOST_TEST(is(all.subspan(1, 2), {2, 3}));
  BOOST_TEST(is(all.subspan(5), {}));
  BOOST_TEST(is({some + 1, 3}, {2, 3, 4}));
  BOOST_TEST(is({some + 1, some + 3}, {2, 3}));
  BOOST_TEST(is({some, 0}, {}));
  BOOST_TEST(is({}, {}));
  BOOST_TEST(all.front() == 1);
  BOOST_TEST(all.back() == 5);
  BOOST_TEST(all.data() == some);
  all[2] = 30;
  BOOST_TEST(some[2] == 30);
}

BOOST_AUTO_TEST_CASE(there_and_back) {
  std::vector<int> some = {1, 2, 3};
  const auto temporary = [&] { return tarn::span<int>(some); };
  tarn::span<int> variable = some;
  const tarn::span<int> constant = some;
  for (const std::span<int> one : {std::span<int>(temporary()), std::span<int>(variable), std::span<int>(constant)}) {
    BOOST_TEST(one.data() == some.data());
    BOOST_TEST(one.size() == 3u);
    const tarn::span<const int> back = one;
    BOOST_TEST(back.data() == some.data());
    BOOST_TEST(back.size() == 3u);
  }
  std::span<const int> other = temporary();
  BOOST_TEST(other.data() == some.data());
  other = variable.last(1);
  BOOST_TEST(other.data() == some.data() + 2);
  BOOST_TEST(which(temporary()) == 1);
  BOOST_TEST(which(variable) == 1);
  BOOST_TEST(which(constant) == 1);
  BOOST_TEST(which(tarn::span<void*>()) == 2);
  static_assert(std::is_same_v<decltype(std::span(temporary())), std::span<int>>);
  static_assert(std::is_same_v<decltype(std::span(constant)), std::span<int>>);
}

// Two pointers would be two elements.
BOOST_AUTO_TEST_CASE(braces_copy_what_lies_between_two_iterators) {
  void* some[] = {&some[2], &some[1], &some[0]};
  const tarn::span<void*> all = some;
  const tarn::span<const void* const> seen = all;
  const std::vector<void*> copy{all.begin(), all.end()};
  const std::vector<const void*> other{seen.begin(), seen.end()};
  BOOST_TEST(copy == std::vector<void*>(some, some + 3));
  BOOST_TEST(other == std::vector<const void*>(some, some + 3));
  static_assert(std::random_access_iterator<decltype(all.begin())>);
  static_assert(!std::is_pointer_v<decltype(all.begin())> && !std::is_pointer_v<decltype(seen.begin())>);

  auto at = all.end();
  BOOST_TEST(*--at == some[2]);
  BOOST_TEST(*at-- == some[2]);
  BOOST_TEST(at[-1] == some[0]);
  BOOST_TEST((at - all.begin() == 1 && 1 + all.begin() == at && at - 1 == all.begin() && at++ < all.end()));
  BOOST_TEST((at > all.begin() && at >= at && at <= all.end() && ++at == all.end()));
}

BOOST_AUTO_TEST_SUITE_END()
