// The names of containers.h: what each is, and that it is one to work with.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/test/support/check.h"

// A standard library that hashes strings of every allocator (LWG 3705: libstdc++ from 13 on, libc++ too): its hash is that of
// our strings. An older libstdc++ is made such a library here, for one type of characters.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < 13
template <class Allocator>
struct std::hash<std::basic_string<char32_t, std::char_traits<char32_t>, Allocator>> {
  std::size_t operator()(const std::basic_string<char32_t, std::char_traits<char32_t>, Allocator>& text) const noexcept {
    return std::hash<std::u32string_view>{}(text);
  }
};
#endif

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

// ---- containers and strings ---------------------------------------------------------------------------------------------

/// Elements of several kinds: small, and such that hold memory themselves.
template <class Value>
Value make(std::size_t n) {
  if constexpr (std::is_arithmetic_v<Value>) return static_cast<Value>(n);
  else if constexpr (requires(Value v) { v.first; })
    return Value(make<std::remove_const_t<typename Value::first_type>>(n), make<typename Value::second_type>(n));
  else return Value(n % 40 + 1, static_cast<typename Value::value_type>('a' + n % 26));
}
template <class C>
void put(C& c, std::size_t n) {
  using value = typename C::value_type;
  if constexpr (requires { typename C::key_type; }) c.insert(make<value>(n));
  else if constexpr (requires { c.push_back(make<value>(n)); }) c.push_back(make<value>(n));
  else c.push_front(make<value>(n));
}

/// What is put in is in it, however it is copied and moved. stl_allocator_test.cc goes through the calls of the allocator.
template <class C>
void fill_copy_and_move(called_from = {}) {
  C c;
  for (std::size_t n = 0; n != 3000; ++n) put(c, n * 7919 % 3000);
  const C copy(c);
  C moved(std::move(c));
  c = C();
  CHECK(c.empty() && moved == copy);
  swap(c, moved);
  CHECK(c == copy && std::distance(c.begin(), c.end()) > 30);
  for (int i = 0; i != 1000 && !c.empty(); ++i) {
    if constexpr (requires { c.erase(c.begin()); }) c.erase(c.begin());
    else c.pop_front();
  }
  CHECK(c != copy);
  c = copy;
  CHECK(c == copy);
}

BOOST_AUTO_TEST_CASE(containers_hold_what_they_are_given) {
  fill_copy_and_move<tarn::vector<tarn::string>>();
  fill_copy_and_move<tarn::vector<bool>>();
  fill_copy_and_move<tarn::deque<tarn::string>>();
  fill_copy_and_move<tarn::list<int, stl_allocator<int, no_locking>>>();
  fill_copy_and_move<tarn::forward_list<tarn::string>>();
  fill_copy_and_move<tarn::map<int, long, by_remainder>>();
  fill_copy_and_move<tarn::multiset<tarn::string>>();
  fill_copy_and_move<tarn::unordered_map<tarn::string, tarn::string>>();
  fill_copy_and_move<tarn::unordered_set<int, by_digits, same_remainder>>();
  fill_copy_and_move<tarn::string>();
  fill_copy_and_move<tarn::u16string>();
}

BOOST_AUTO_TEST_CASE(adaptors) {
  tarn::queue<int> queue;
  tarn::queue<int, tarn::list<int>> listed;
  tarn::stack<tarn::string> stack;
  tarn::priority_queue<int> heap;
  for (std::size_t i = 0; i != 3000; ++i) {
    const auto n = static_cast<int>(i * 7919 % 3000);
    queue.push(n), listed.push(n), stack.push(make<tarn::string>(i)), heap.push(n);
  }
  const tarn::queue<int> copy(queue), with_allocator(queue, stl_allocator<int>());
  BOOST_TEST((copy == queue && with_allocator == queue));
  for (std::size_t i = 3000; i-- != 0;) {
    CHECK(queue.front() == listed.front() && heap.top() == static_cast<int>(i) && stack.top() == make<tarn::string>(i));
    queue.pop(), listed.pop(), stack.pop(), heap.pop();
  }
  BOOST_TEST((queue.empty() && listed.empty() && stack.empty() && heap.empty()));
}

template <class Char, class Stream, class Out, class In, class Buffer>
void write_and_read(called_from = {}) {
  using string = tarn::basic_string<Char>;
  using view = std::basic_string_view<Char>;
  std::basic_stringstream<Char> twin;
  Stream stream;
  Out out;
  Buffer buffer;
  using ostream = std::basic_ostream<Char>;
  ostream over_buffer(&buffer);
  for (int i = 0; i < 2000; ++i)
    for (ostream* const to : std::initializer_list<ostream*>{&twin, &stream, &out, &over_buffer})
      *to << i * 7919 << static_cast<Char>(i % 5 == 0 ? '\n' : ' ') << i / 7.0 << static_cast<Char>(' ');
  const auto expected = twin.str();
  const string text = stream.str();
  CHECK(expected.size() > 20000);
  CHECK(view(text) == view(expected) && view(out.str()) == view(expected) && view(buffer.str()) == view(expected));
  CHECK(stream.view() == view(expected) && out.view() == view(expected) && buffer.view() == view(expected));

  In in(text);
  int number = 0, numbers = 0;
  for (double fraction = 0; in >> number >> fraction; ++numbers) CHECK(number == numbers * 7919);
  CHECK(numbers == 2000);
  // Lines, into strings with our allocator; a stream that is moved; one that starts with a text.
  int lines = 0;
  for (string line; std::getline(stream, line);) ++lines;
  CHECK(lines == 401);
  Stream second(text, std::ios::in | std::ios::out | std::ios::ate);
  second << static_cast<Char>('!');
  Stream third(std::move(second));
  CHECK(view(third.str()) == view(expected + static_cast<Char>('!')));
  third.str(string());
  third.swap(stream);
  CHECK(view(third.str()) == view(text) && stream.str().empty());
  static_assert(std::is_same_v<decltype(third.str()), string>);
}

BOOST_AUTO_TEST_CASE(string_streams) {
  write_and_read<char, tarn::stringstream, tarn::ostringstream, tarn::istringstream, tarn::stringbuf>();
  write_and_read<wchar_t, tarn::wstringstream, tarn::wostringstream, tarn::wistringstream, tarn::wstringbuf>();
}

// ---- comparing, hashing -----------------------------------------------------------------------------------------------------

struct any_string_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

BOOST_AUTO_TEST_CASE(transparent_comparators_find_without_making_a_string) {
  tarn::map<tarn::string, int, std::less<>> map;
  tarn::unordered_map<tarn::string, int, any_string_hash, std::equal_to<>> hashed;
  const auto name = [](int i) { return "a name that is too long to be stored inside its string: " + std::to_string(i); };
  for (int i = 0; i < 100; ++i) map.emplace(name(i), i), hashed.emplace(name(i), i);
  for (int i = 0; i < 100; ++i) {
    const std::string n = name(i);
    CHECK(map.find(std::string_view(n))->second == i && map.find(n.c_str())->second == i);
    CHECK(hashed.find(std::string_view(n))->second == i);
  }
  CHECK(!hashed.contains("nobody") && !map.contains("nobody"));
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
  hashes_as_views<tarn::u32string>();  // by the library's own hash
  hashes_as_views<tarn::basic_string<char, traits, stl_allocator<char, no_locking>>>();
  BOOST_TEST(std::hash<tarn::string>()("tarn") == std::hash<std::string>()("tarn"));

  // What the standard doesn't hash, we don't either.
  struct no_character {
    char c;
  };
  using odd = std::basic_string<no_character, std::char_traits<no_character>, stl_allocator<no_character>>;
  static_assert(!std::is_default_constructible_v<std::hash<odd>>);

  tarn::unordered_set<tarn::u16string> wide;
  for (int i = 0; i < 1000; ++i) wide.emplace(static_cast<std::size_t>(i % 100), u'x');
  BOOST_TEST(wide.size() == 100u);
}

}  // namespace
}  // namespace tarn::test
