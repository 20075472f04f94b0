// Each name of containers.h beside the standard's: after the same random operations both hold the same.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <iomanip>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

// ---- the names --------------------------------------------------------------------------------------------------------------

template <class T>
using of = stl_allocator<T>;
using entry = std::pair<const int, long>;
struct by_remainder {
  bool operator()(int a, int b) const { return a % 100 < b % 100; }
};
struct by_digits {
  std::size_t operator()(int i) const { return static_cast<std::size_t>(i % 10); }
};
struct same_remainder {
  bool operator()(int a, int b) const { return a % 1000 == b % 1000; }
};

static_assert(std::is_same_v<tarn::vector<int>, std::vector<int, of<int>>>);
static_assert(std::is_same_v<tarn::deque<int>, std::deque<int, of<int>>>);
static_assert(std::is_same_v<tarn::list<int>, std::list<int, of<int>>>);
static_assert(std::is_same_v<tarn::forward_list<int>, std::forward_list<int, of<int>>>);
static_assert(std::is_same_v<tarn::map<int, long>, std::map<int, long, std::less<int>, of<entry>>>);
static_assert(std::is_same_v<tarn::multimap<int, long>, std::multimap<int, long, std::less<int>, of<entry>>>);
static_assert(std::is_same_v<tarn::set<int>, std::set<int, std::less<int>, of<int>>>);
static_assert(std::is_same_v<tarn::multiset<int>, std::multiset<int, std::less<int>, of<int>>>);
static_assert(std::is_same_v<tarn::unordered_map<int, long>,
                             std::unordered_map<int, long, std::hash<int>, std::equal_to<int>, of<entry>>>);
static_assert(std::is_same_v<tarn::unordered_multimap<int, long>,
                             std::unordered_multimap<int, long, std::hash<int>, std::equal_to<int>, of<entry>>>);
static_assert(std::is_same_v<tarn::unordered_set<int>, std::unordered_set<int, std::hash<int>, std::equal_to<int>, of<int>>>);
static_assert(
    std::is_same_v<tarn::unordered_multiset<int>, std::unordered_multiset<int, std::hash<int>, std::equal_to<int>, of<int>>>);
static_assert(std::is_same_v<tarn::queue<int>, std::queue<int, std::deque<int, of<int>>>>);
static_assert(std::is_same_v<tarn::stack<int>, std::stack<int, std::deque<int, of<int>>>>);
static_assert(std::is_same_v<tarn::priority_queue<int>, std::priority_queue<int, std::vector<int, of<int>>, std::less<int>>>);

template <class Char, class String>
constexpr bool is_string_of = std::is_same_v<String, std::basic_string<Char, std::char_traits<Char>, of<Char>>> &&
                              std::is_same_v<String, tarn::basic_string<Char>>;
static_assert(is_string_of<char, tarn::string> && is_string_of<wchar_t, tarn::wstring>);
static_assert(is_string_of<char8_t, tarn::u8string> && is_string_of<char16_t, tarn::u16string>);
static_assert(is_string_of<char32_t, tarn::u32string>);
using traits = std::char_traits<char>;
using wtraits = std::char_traits<wchar_t>;
static_assert(std::is_same_v<tarn::stringbuf, std::basic_stringbuf<char, traits, of<char>>>);
static_assert(std::is_same_v<tarn::wstringbuf, std::basic_stringbuf<wchar_t, wtraits, of<wchar_t>>>);
static_assert(std::is_same_v<tarn::stringstream, std::basic_stringstream<char, traits, of<char>>>);
static_assert(std::is_same_v<tarn::wstringstream, std::basic_stringstream<wchar_t, wtraits, of<wchar_t>>>);
static_assert(std::is_same_v<tarn::istringstream, std::basic_istringstream<char, traits, of<char>>>);
static_assert(std::is_same_v<tarn::wistringstream, std::basic_istringstream<wchar_t, wtraits, of<wchar_t>>>);
static_assert(std::is_same_v<tarn::ostringstream, std::basic_ostringstream<char, traits, of<char>>>);
static_assert(std::is_same_v<tarn::wostringstream, std::basic_ostringstream<wchar_t, wtraits, of<wchar_t>>>);

// What stays open: comparators, hashers, underlying containers, the allocator.
static_assert(std::is_same_v<tarn::map<int, long, by_remainder>, std::map<int, long, by_remainder, of<entry>>>);
static_assert(std::is_same_v<tarn::list<int, stl_allocator<int, no_locking>>, std::list<int, stl_allocator<int, no_locking>>>);
static_assert(std::is_same_v<tarn::set<int, std::less<>, std::allocator<int>>, std::set<int, std::less<>>>);
static_assert(std::is_same_v<tarn::queue<int, tarn::list<int>>, std::queue<int, std::list<int, of<int>>>>);
static_assert(std::is_same_v<tarn::basic_string<char, traits, std::allocator<char>>, std::string>);

// ---- the same operations on both --------------------------------------------------------------------------------------------

class dice {
 public:
  explicit dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return n == 0 ? 0 : engine_() % n; }
  int number() { return static_cast<int>(engine_() % 10000); }

 private:
  std::mt19937 engine_;
};

/// Elements of several kinds: small, and such that hold memory themselves.
template <class Value>
Value make(int i) {
  if constexpr (std::is_arithmetic_v<Value>) return static_cast<Value>(i);
  else return Value(static_cast<std::size_t>(i % 40 + 1), static_cast<typename Value::value_type>('a' + i % 26));
}
template <class A, class B>
bool same(const A& a, const B& b) {
  if constexpr (std::is_arithmetic_v<A>) return a == b;
  else return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
template <class C, class D>
bool same_sequence(const C& c, const D& d) {
  return std::equal(c.begin(), c.end(), d.begin(), d.end(), [](const auto& x, const auto& y) { return same(x, y); });
}

/// One random operation; called for both containers with equal dice.
template <class C>
void change_sequence(C& c, dice d) {
  using value = typename C::value_type;
  const auto at = [&](std::size_t n) { return std::next(c.begin(), static_cast<std::ptrdiff_t>(d.below(n))); };
  const std::size_t size = c.size();
  switch (d.below(18)) {
    case 0:
    case 1:
    case 2:
      c.push_back(make<value>(d.number()));
      break;
    case 3:
      c.insert(at(size + 1), make<value>(d.number()));
      break;
    case 4:
      c.insert(at(size + 1), d.below(20), make<value>(d.number()));
      break;
    case 5:
      if (size != 0) c.erase(at(size));
      break;
    case 6:
      if (size != 0) c.pop_back();
      break;
    case 7: {
      const auto from = at(size + 1);
      c.erase(from, std::next(from, static_cast<std::ptrdiff_t>(
                                        d.below(static_cast<std::size_t>(std::distance(from, c.end())) / 4 + 1))));
      break;
    }
    case 8:
      c.resize(size + d.below(30));
      break;
    case 9:
      c.resize(size - size / 8);
      break;
    case 10: {
      C copy(c);
      copy.push_back(make<value>(d.number()));
      c = copy;
      break;
    }
    case 11: {
      C moved(std::move(c));
      c = C();
      c.swap(moved);
      break;
    }
    case 12:
      if (size > 400) c.clear();
      break;
    case 13:
      if (size > 300) c.assign(d.below(100), make<value>(d.number()));
      break;
    case 14:
      c.emplace(at(size + 1), make<value>(d.number()));
      break;
    case 15: {
      if constexpr (requires { c.sort(); }) c.sort();
      else std::sort(c.begin(), c.end());
      break;
    }
    case 16: {
      if constexpr (requires { c.push_front(make<value>(1)); }) c.push_front(make<value>(d.number()));
      if constexpr (requires { c.splice(c.begin(), c); }) {
        C other(d.below(10), make<value>(d.number()));
        c.splice(at(size + 1), other);
        c.reverse();
      }
      if constexpr (requires { c.shrink_to_fit(); }) c.shrink_to_fit();
      break;
    }
    case 17: {
      if constexpr (requires { c.unique(); }) c.unique();
      std::erase_if(c, [](const value& v) { return same(v, make<value>(7)); });
      break;
    }
  }
}

template <class C, class Twin, class Change>
void compare(Change change, unsigned rounds = 1000, called_from = {}) {
  C c;
  Twin twin;
  std::size_t most = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    change(c, dice(i));
    change(twin, dice(i));
    if (i % 16 == 0) REQUIRE(same_sequence(c, twin));
    most = std::max(most, static_cast<std::size_t>(std::distance(c.begin(), c.end())));
  }
  CHECK(same_sequence(c, twin));
  CHECK(most >= 40);  // something happened
  const C copy(c);
  CHECK(copy == c && !(copy != c) && same_sequence(copy, twin));
}

BOOST_AUTO_TEST_CASE(sequences) {
  const auto change = [](auto& c, dice d) { change_sequence(c, d); };
  compare<tarn::vector<int>, std::vector<int>>(change);
  compare<tarn::vector<tarn::string>, std::vector<std::string>>(change);
  compare<tarn::deque<long>, std::deque<long>>(change);
  compare<tarn::deque<tarn::string>, std::deque<std::string>>(change);
  compare<tarn::list<int>, std::list<int>>(change);
  compare<tarn::list<tarn::string>, std::list<std::string>>(change);
  compare<tarn::list<int, stl_allocator<int, no_locking>>, std::list<int>>(change);
}

BOOST_AUTO_TEST_CASE(a_vector_of_bits) {
  tarn::vector<bool> bits;
  std::vector<bool> twin;
  for (int i = 0; i < 5000; ++i) bits.push_back(i % 7 < 3), twin.push_back(i % 7 < 3);
  bits.flip(), twin.flip();
  bits.erase(bits.begin() + 100, bits.begin() + 777), twin.erase(twin.begin() + 100, twin.begin() + 777);
  BOOST_TEST(bits.size() == 4323u);
  BOOST_TEST((std::equal(bits.begin(), bits.end(), twin.begin(), twin.end())));
}

BOOST_AUTO_TEST_CASE(forward_lists) {
  const auto change = []<class C>(C& c, dice d) {
    using value = typename C::value_type;
    const auto length = static_cast<std::size_t>(std::distance(c.begin(), c.end()));
    const auto before = [&] { return std::next(c.before_begin(), static_cast<std::ptrdiff_t>(d.below(length + 1))); };
    switch (d.below(11)) {
      case 0:
      case 1:
      case 2:
        c.push_front(make<value>(d.number()));
        break;
      case 3:
        c.insert_after(before(), d.below(12), make<value>(d.number()));
        break;
      case 4:
        if (length != 0) c.erase_after(std::next(c.before_begin(), static_cast<std::ptrdiff_t>(d.below(length))));
        break;
      case 5:
        c.sort(), c.unique();
        break;
      case 6:
        c.reverse();
        break;
      case 7: {
        C other(d.below(9), make<value>(d.number()));
        c.splice_after(before(), other);
        break;
      }
      case 8: {
        C other(4, make<value>(d.number()));
        c.sort();
        c.merge(other);
        break;
      }
      case 9:
        if (length > 300) c.clear();
        break;
      case 10: {
        C copy(c), moved(std::move(c));
        c = std::move(copy);
        c.remove(make<value>(3));
        break;
      }
    }
  };
  compare<tarn::forward_list<int>, std::forward_list<int>>(change);
  compare<tarn::forward_list<tarn::string>, std::forward_list<std::string>>(change);
}

template <class V>
auto key_of(const V& v) {
  if constexpr (requires { v.first; }) return v.first;
  else return v;
}

/// Keys from a small range, so that most operations meet one.
template <class C>
void change_keyed(C& c, dice d) {
  using key = typename C::key_type;
  const auto next_key = [&] { return make<key>(static_cast<int>(d.below(600))); };
  const auto insert = [&](C& into) {
    if constexpr (requires { typename C::mapped_type; }) into.emplace(next_key(), make<typename C::mapped_type>(d.number()));
    else into.insert(next_key());
  };
  switch (d.below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      insert(c);
      break;
    case 4:
      c.erase(next_key());
      break;
    case 5: {
      const auto found = c.find(next_key());
      if (found != c.end()) c.erase(found);
      break;
    }
    case 6: {
      C other;
      for (int i = 0; i < 20; ++i) insert(other);
      if constexpr (requires { c.merge(other); }) c.merge(other);
      break;
    }
    case 7: {
      auto node = c.extract(next_key());
      if (node.empty()) break;
      if constexpr (requires { node.key(); }) node.key() = next_key();
      else node.value() = next_key();
      c.insert(std::move(node));
      break;
    }
    case 8: {
      C copy(c);
      insert(copy);
      c = copy;
      break;
    }
    case 9: {
      C moved(std::move(c));
      c = C();
      swap(c, moved);
      break;
    }
    case 10:
      if (c.size() > 500) c.clear();
      break;
    case 11: {
      const auto k = next_key();
      const auto range = c.equal_range(k);
      if (c.count(k) != static_cast<std::size_t>(std::distance(range.first, range.second))) c.clear();
      c.erase(range.first, range.second);
      if constexpr (requires { c.rehash(1); }) c.rehash(d.below(2000));
      break;
    }
  }
}

BOOST_AUTO_TEST_CASE(ordered) {
  // Pairs: compared as sequences, because the order is the container's.
  const auto compare_pairs = []<class C, class Twin>(std::type_identity<C>, std::type_identity<Twin>) {
    C c;
    Twin twin;
    for (unsigned i = 0; i < 1200; ++i) {
      change_keyed(c, dice(i));
      change_keyed(twin, dice(i));
      if (i % 16 == 0)
        REQUIRE(std::equal(c.begin(), c.end(), twin.begin(), twin.end(),
                           [](const auto& a, const auto& b) { return same(a.first, b.first) && same(a.second, b.second); }));
    }
    CHECK(c.size() == twin.size() && c.size() > 20);
  };
  using std::type_identity;
  const auto change = [](auto& c, dice d) { change_keyed(c, d); };
  compare_pairs(type_identity<tarn::map<int, long>>(), type_identity<std::map<int, long>>());
  compare_pairs(type_identity<tarn::map<tarn::string, tarn::string>>(), type_identity<std::map<std::string, std::string>>());
  compare_pairs(type_identity<tarn::multimap<int, long>>(), type_identity<std::multimap<int, long>>());
  compare_pairs(type_identity<tarn::map<int, long, by_remainder>>(), type_identity<std::map<int, long, by_remainder>>());
  compare_pairs(type_identity<tarn::map<int, long, std::greater<>, stl_allocator<entry, no_locking>>>(),
                type_identity<std::map<int, long, std::greater<>>>());
  compare<tarn::set<int>, std::set<int>>(change);
  compare<tarn::set<tarn::string>, std::set<std::string>>(change);
  compare<tarn::multiset<int>, std::multiset<int>>(change);
  compare<tarn::multiset<int, by_remainder>, std::multiset<int, by_remainder>>(change);
}

/// Elements as a sorted sequence of their texts: the order of hashed containers is their own business.
template <class C>
std::vector<std::string> sorted(const C& c) {
  const auto text = []<class T>(const T& t) {
    if constexpr (std::is_arithmetic_v<T>) return std::to_string(t);
    else return std::string(t.begin(), t.end());
  };
  std::vector<std::string> all;
  for (const auto& element : c) {
    if constexpr (requires { element.first; }) all.push_back(text(element.first) + ":" + text(element.second));
    else all.push_back(text(element));
  }
  std::sort(all.begin(), all.end());
  return all;
}

template <class C, class Twin>
void compare_hashed(called_from = {}) {
  C c;
  Twin twin;
  std::size_t most = 0;
  for (unsigned i = 0; i < 1200; ++i) {
    change_keyed(c, dice(i));
    change_keyed(twin, dice(i));
    REQUIRE(c.size() == twin.size());
    if (i % 50 == 0) REQUIRE(sorted(c) == sorted(twin));
    most = std::max(most, c.size());
  }
  CHECK(sorted(c) == sorted(twin));
  CHECK(most > 50);
  const C copy(c);
  CHECK(copy == c);
}

BOOST_AUTO_TEST_CASE(hashed) {
  // Of equal keys, which one goes is unspecified: there the mapped value is the key's.
  compare_hashed<tarn::unordered_map<int, long>, std::unordered_map<int, long>>();
  compare_hashed<tarn::unordered_map<tarn::string, tarn::string>, std::unordered_map<std::string, std::string>>();
  compare_hashed<tarn::unordered_set<int>, std::unordered_set<int>>();
  compare_hashed<tarn::unordered_set<tarn::string>, std::unordered_set<std::string>>();
  compare_hashed<tarn::unordered_multiset<int>, std::unordered_multiset<int>>();
  compare_hashed<tarn::unordered_multimap<int, long>, std::unordered_multimap<int, long>>();
  compare_hashed<tarn::unordered_map<int, long, by_digits>, std::unordered_map<int, long, by_digits>>();
  compare_hashed<tarn::unordered_set<int, by_digits, same_remainder>, std::unordered_set<int, by_digits, same_remainder>>();
}

BOOST_AUTO_TEST_CASE(adaptors) {
  tarn::queue<int> queue;
  std::queue<int> queue_twin;
  tarn::stack<tarn::string> stack;
  std::stack<std::string> stack_twin;
  tarn::priority_queue<int> heap;
  std::priority_queue<int> heap_twin;
  tarn::priority_queue<int, tarn::vector<int>, std::greater<>> least;
  tarn::queue<int, tarn::list<int>> listed;
  dice d(4);
  std::size_t most = 0;
  for (int i = 0; i < 20000; ++i) {
    if (d.below(100) < (i < 12000 ? 60u : 40u)) {
      const int n = d.number();
      queue.push(n), queue_twin.push(n), listed.push(n);
      stack.push(make<tarn::string>(n)), stack_twin.push(make<std::string>(n));
      heap.push(n), heap_twin.push(n), least.push(-n);
    } else if (!queue_twin.empty()) {
      CHECK(queue.front() == queue_twin.front() && queue.back() == queue_twin.back() && listed.front() == queue.front());
      CHECK(std::string_view(stack.top()) == std::string_view(stack_twin.top()));
      CHECK(heap.top() == heap_twin.top() && least.top() == -heap_twin.top());
      queue.pop(), queue_twin.pop(), listed.pop(), stack.pop(), stack_twin.pop(), heap.pop(), heap_twin.pop(), least.pop();
    }
    CHECK(queue.size() == queue_twin.size() && stack.size() == queue.size() && heap.size() == queue.size());
    most = std::max(most, queue.size());
  }
  BOOST_TEST(most > 1000u);
  const tarn::queue<int> copy(queue);
  BOOST_TEST((copy == queue));
  static_assert(std::uses_allocator_v<tarn::queue<int>, stl_allocator<int>>);
  const tarn::queue<int> with_allocator(queue, stl_allocator<int>());
  BOOST_TEST(with_allocator.size() == queue.size());
}

// ---- strings ----------------------------------------------------------------------------------------------------------------

template <class String, class Twin>
void compare_strings(called_from = {}) {
  using character = typename String::value_type;
  using view = std::basic_string_view<character>;
  String s;
  Twin t;
  std::size_t most = 0;
  const auto both = [&](auto call) {
    call(s);
    call(t);
  };
  for (unsigned i = 0; i < 1200; ++i) {
    const auto piece = [](dice& d) {
      std::vector<character> text(d.below(30));
      for (character& c : text) c = static_cast<character>('a' + d.below(20));
      return text;
    };
    both([&](auto& x) {
      dice d(i);
      using string = std::remove_reference_t<decltype(x)>;
      const std::size_t from = d.below(x.size() + 1);
      const std::vector<character> text = piece(d);
      const view added(text.data(), text.size());
      switch (d.below(12)) {
        case 0:
          x += added;
          break;
        case 1:
          x.append(d.below(10), static_cast<character>('z'));
          break;
        case 2:
          x.insert(from, added);
          break;
        case 3:
          x.erase(from, d.below(20));
          break;
        case 4:
          x.replace(from, d.below(10), added);
          break;
        case 5:
          x = x.substr(from / 4) + string(added);
          break;
        case 6:
          x.push_back(static_cast<character>('y'));
          break;
        case 7:
          if (!x.empty()) x.pop_back();
          break;
        case 8:
          x.resize(x.size() / 2 + d.below(40), static_cast<character>('w'));
          break;
        case 9:
          if (x.size() > 300) x.clear();
          break;
        case 10: {
          string moved(std::move(x));
          string copied(moved);
          x.assign(added);
          x.swap(copied);
          x.shrink_to_fit();
          break;
        }
        case 11:
          std::erase(x, static_cast<character>('c'));
          break;
      }
    });
    REQUIRE(view(s) == view(t));
    REQUIRE(s.c_str()[s.size()] == character());
    dice d(i);
    const character some = static_cast<character>('a' + d.below(20));
    CHECK(s.find(some) == t.find(some) && s.rfind(some) == t.rfind(some) &&
          s.find_first_not_of(some) == t.find_first_not_of(some));
    const std::size_t half = s.size() / 2;
    CHECK(s.compare(half, s.size(), s) == t.compare(half, t.size(), t));
    CHECK(s.starts_with(view(t).substr(0, half)) && s.ends_with(view(t).substr(half)));
    most = std::max(most, s.size());
  }
  CHECK(most > 60);
  CHECK((s <=> String(s.size(), static_cast<character>('m'))) == (t <=> Twin(t.size(), static_cast<character>('m'))));
}

BOOST_AUTO_TEST_CASE(strings_of_all_characters) {
  compare_strings<tarn::string, std::string>();
  compare_strings<tarn::wstring, std::wstring>();
  compare_strings<tarn::u8string, std::u8string>();
  compare_strings<tarn::u16string, std::u16string>();
  compare_strings<tarn::u32string, std::u32string>();
}

template <class Char, class Stream, class Out, class In, class Buffer, class TwinStream, class TwinIn>
void compare_streams(called_from = {}) {
  using string = tarn::basic_string<Char>;
  Stream stream;
  TwinStream twin;
  Out out;
  Buffer buffer;
  std::basic_ostream<Char> over_buffer(&buffer);
  const auto write = [&](auto call) { call(stream), call(twin), call(out), call(over_buffer); };
  for (int i = 0; i < 2000; ++i)
    write([&](auto& s) {
      s << std::setw(i % 9) << i * 7919 << static_cast<Char>(' ') << i / 7.0 << static_cast<Char>(i % 5 == 0 ? '\n' : ' ')
        << std::hex << i << std::dec << static_cast<Char>(' ');
    });
  using view = std::basic_string_view<Char>;
  const auto expected = twin.str();
  CHECK(expected.size() > 20000);
  const string text = stream.str();
  CHECK(view(text) == view(expected) && view(out.str()) == view(expected) && view(buffer.str()) == view(expected));
  CHECK(stream.view() == view(expected) && out.view() == view(expected) && buffer.view() == view(expected));

  In in(text);
  TwinIn twin_in(expected);
  int numbers = 0;
  for (;; ++numbers) {
    int a = 0, b = 0, c = 0, d = 0;
    double x = 0, y = 0;
    const bool more = static_cast<bool>(in >> a >> x >> std::hex >> b >> std::dec);
    REQUIRE(more == static_cast<bool>(twin_in >> c >> y >> std::hex >> d >> std::dec));
    if (!more) break;
    CHECK(a == c && x == y && b == d);
  }
  CHECK(numbers == 2000);

  // Lines, into strings with our allocator; a stream that is moved; one that starts with a text.
  int lines = 0;
  tarn::vector<string> all;
  for (string line; std::getline(stream, line);) ++lines, all.push_back(line);
  CHECK(lines == 401 && all.back().size() > 10);
  Stream second(text, std::ios::in | std::ios::out | std::ios::ate);
  second << static_cast<Char>('!');
  Stream third(std::move(second));
  CHECK(third.str().size() == text.size() + 1 && view(third.str()).substr(0, text.size()) == view(text));
  third.str(string());
  CHECK(third.str().empty());
  third.swap(stream);
  CHECK(view(third.str()) == view(text));
  CHECK((std::is_same_v<decltype(third.str()), string>));
}

BOOST_AUTO_TEST_CASE(string_streams) {
  compare_streams<char, tarn::stringstream, tarn::ostringstream, tarn::istringstream, tarn::stringbuf, std::stringstream,
                  std::istringstream>();
  compare_streams<wchar_t, tarn::wstringstream, tarn::wostringstream, tarn::wistringstream, tarn::wstringbuf,
                  std::wstringstream, std::wistringstream>();
}

// ---- comparing, hashing -----------------------------------------------------------------------------------------------------

struct any_string_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
struct without_case {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](char x, char y) { return std::tolower(x) < std::tolower(y); });
  }
};

BOOST_AUTO_TEST_CASE(transparent_comparators_find_without_making_a_string) {
  tarn::map<tarn::string, int, std::less<>> map;
  tarn::set<tarn::string, without_case> set;
  tarn::unordered_map<tarn::string, int, any_string_hash, std::equal_to<>> hashed;
  const auto name = [](int i) { return "a name that is too long to be stored inside its string: " + std::to_string(i); };
  for (int i = 0; i < 500; ++i) {
    const std::string n = name(i);
    map.emplace(n, i), set.emplace(n), hashed.emplace(n, i);
  }
  for (int i = 0; i < 500; ++i) {
    const std::string n = name(i);
    BOOST_TEST(map.find(std::string_view(n))->second == i);
    BOOST_TEST(map.find(n.c_str())->second == i);
    BOOST_TEST(hashed.find(std::string_view(n))->second == i);
    std::string loud = n;
    for (char& c : loud) c = static_cast<char>(std::toupper(c));
    BOOST_TEST(set.contains(std::string_view(loud)));
    BOOST_TEST(!map.contains(std::string_view(loud)));
  }
  BOOST_TEST(!hashed.contains("nobody"));
  BOOST_TEST(set.size() == 500u);
}

BOOST_AUTO_TEST_CASE(comparators_with_a_state) {
  const auto by = [](int modulus) { return [modulus](int a, int b) { return a % modulus < b % modulus; }; };
  using order = decltype(by(1));
  tarn::set<int, order> by_seven(by(7)), by_three(by(3));
  for (int i = 0; i < 100; ++i) by_seven.insert(i), by_three.insert(i);
  BOOST_TEST(by_seven.size() == 7u);
  BOOST_TEST(by_three.size() == 3u);
  bool (*const descending)(int, int) = [](int a, int b) { return a > b; };
  tarn::multimap<int, int, bool (*)(int, int)> down(descending);
  for (int i = 0; i < 100; ++i) down.emplace(i / 2, i);
  BOOST_TEST(down.begin()->first == 49);
  BOOST_TEST(std::prev(down.end())->second == 1);
}

template <class String>
void hashes_as_views(called_from = {}) {
  using view = std::basic_string_view<typename String::value_type>;
  String text;
  for (int i = 0; i < 100; ++i) {
    CHECK(std::hash<String>()(text) == std::hash<view>()(view(text)));
    text.push_back(static_cast<typename String::value_type>('a' + i % 26));
  }
  static_assert(noexcept(std::hash<String>()(text)) && std::is_default_constructible_v<std::hash<String>>);
  static_assert(std::is_nothrow_move_constructible_v<std::hash<String>> && std::is_copy_assignable_v<std::hash<String>>);
}

BOOST_AUTO_TEST_CASE(strings_hash_as_the_standards_do) {
  hashes_as_views<tarn::string>();
  hashes_as_views<tarn::wstring>();
  hashes_as_views<tarn::u8string>();
  hashes_as_views<tarn::u16string>();
  hashes_as_views<tarn::u32string>();
  hashes_as_views<tarn::basic_string<char, traits, stl_allocator<char, no_locking>>>();
  BOOST_TEST(std::hash<tarn::string>()("tarn") == std::hash<std::string>()("tarn"));

  // What the standard doesn't hash, we don't either.
  struct no_character {
    char c;
  };
  using odd = std::basic_string<no_character, std::char_traits<no_character>, stl_allocator<no_character>>;
  static_assert(!std::is_default_constructible_v<std::hash<odd>>);

  tarn::unordered_map<tarn::string, int> counts;
  std::unordered_map<std::string, int> twin;
  dice d(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string word = std::to_string(d.below(3000)) + std::string(d.below(3) * 10, 'x');
    ++counts[tarn::string(word)];
    ++twin[word];
  }
  BOOST_TEST(counts.size() > 5000u);
  BOOST_TEST((sorted(counts) == sorted(twin)));
  tarn::unordered_set<tarn::u16string> wide;
  for (int i = 0; i < 1000; ++i) wide.emplace(static_cast<std::size_t>(i % 100), u'x');
  BOOST_TEST(wide.size() == 100u);
}

BOOST_AUTO_TEST_CASE(containers_in_containers) {
  tarn::map<tarn::string, tarn::map<int, tarn::vector<tarn::list<tarn::string>>>> nested;
  std::map<std::string, std::map<int, std::vector<std::list<std::string>>>> twin;
  dice d(9);
  for (int i = 0; i < 3000; ++i) {
    const std::string key = std::to_string(d.below(20));
    const int inner = static_cast<int>(d.below(10));
    const std::string text(d.below(60), 'q');
    auto& a = nested[tarn::string(key)][inner];
    auto& b = twin[key][inner];
    if (a.empty() || d.below(4) == 0) a.emplace_back(), b.emplace_back();
    a.back().emplace_back(text), b.back().emplace_back(text);
    if (d.below(10) == 0) nested.erase(tarn::string(key)), twin.erase(key);
  }
  const auto copy = nested;
  nested.clear();
  BOOST_TEST(copy.size() == twin.size());
  std::size_t strings = 0;
  for (const auto& [key, inner] : twin) {
    const auto found = copy.find(tarn::string(key));
    REQUIRE(found != copy.end() && found->second.size() == inner.size());
    for (const auto& [number, lists] : inner) {
      const auto& ours = found->second.at(number);
      REQUIRE(ours.size() == lists.size());
      for (std::size_t i = 0; i != lists.size(); ++i) {
        CHECK(same_sequence(ours[i], lists[i]));
        strings += lists[i].size();
      }
    }
  }
  BOOST_TEST(strings > 100u);
}

}  // namespace
}  // namespace tarn::test
