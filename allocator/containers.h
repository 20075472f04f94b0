// The standard's containers, strings and string streams with tarn's allocator: the same names, in namespace tarn.
//
//   tarn::map<tarn::string, int> count;
//   tarn::fixed_map<int, double, 20> table;      at most 20 elements, all in the object
//
// Each is an alias. You can still choose comparators, hashers and the underlying containers of adaptors; the allocator is the
// last argument: tarn::list<int, tarn::stl_allocator<int, tarn::no_locking>>.
#ifndef TARN_ALLOCATOR_CONTAINERS_H_
#define TARN_ALLOCATOR_CONTAINERS_H_

#include <cstddef>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tarn/allocator/fixed_container.h"
#include "tarn/allocator/stl_allocator.h"

namespace tarn {

// ---- sequences ----------------------------------------------------------------------------------------------------------

/// The standard's sequences over stl_allocator.
template <class T, class Allocator = stl_allocator<T>>
using vector = std::vector<T, Allocator>;
template <class T, class Allocator = stl_allocator<T>>
using deque = std::deque<T, Allocator>;
template <class T, class Allocator = stl_allocator<T>>
using list = std::list<T, Allocator>;
template <class T, class Allocator = stl_allocator<T>>
using forward_list = std::forward_list<T, Allocator>;

// ---- ordered ------------------------------------------------------------------------------------------------------------

/// The standard's ordered containers over stl_allocator.
template <class Key, class T, class Compare = std::less<Key>, class Allocator = stl_allocator<std::pair<const Key, T>>>
using map = std::map<Key, T, Compare, Allocator>;
template <class Key, class T, class Compare = std::less<Key>, class Allocator = stl_allocator<std::pair<const Key, T>>>
using multimap = std::multimap<Key, T, Compare, Allocator>;
template <class Key, class Compare = std::less<Key>, class Allocator = stl_allocator<Key>>
using set = std::set<Key, Compare, Allocator>;
template <class Key, class Compare = std::less<Key>, class Allocator = stl_allocator<Key>>
using multiset = std::multiset<Key, Compare, Allocator>;

// ---- hashed -------------------------------------------------------------------------------------------------------------

/// The standard's hashed containers over stl_allocator: nodes and buckets.
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class Allocator = stl_allocator<std::pair<const Key, T>>>
using unordered_map = std::unordered_map<Key, T, Hash, Equal, Allocator>;
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class Allocator = stl_allocator<std::pair<const Key, T>>>
using unordered_multimap = std::unordered_multimap<Key, T, Hash, Equal, Allocator>;
template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>, class Allocator = stl_allocator<Key>>
using unordered_set = std::unordered_set<Key, Hash, Equal, Allocator>;
template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>, class Allocator = stl_allocator<Key>>
using unordered_multiset = std::unordered_multiset<Key, Hash, Equal, Allocator>;

// ---- at most N elements, whose nodes lie in the container ------------------------------------------------------------------

/// Lists, maps and sets of at most N elements, without a heap: fixed_container.
template <class T, std::size_t N, class... Policies>
using fixed_list = fixed_container<std::list<T>, N, Policies...>;
template <class T, std::size_t N, class... Policies>
using fixed_forward_list = fixed_container<std::forward_list<T>, N, Policies...>;
template <class Key, class T, std::size_t N, class Compare = std::less<Key>, class... Policies>
using fixed_map = fixed_container<std::map<Key, T, Compare>, N, Policies...>;
template <class Key, class T, std::size_t N, class Compare = std::less<Key>, class... Policies>
using fixed_multimap = fixed_container<std::multimap<Key, T, Compare>, N, Policies...>;
template <class Key, std::size_t N, class Compare = std::less<Key>, class... Policies>
using fixed_set = fixed_container<std::set<Key, Compare>, N, Policies...>;
template <class Key, std::size_t N, class Compare = std::less<Key>, class... Policies>
using fixed_multiset = fixed_container<std::multiset<Key, Compare>, N, Policies...>;

// ---- adaptors -----------------------------------------------------------------------------------------------------------

/// The standard's adaptors over tarn's containers.
template <class T, class Container = deque<T>>
using queue = std::queue<T, Container>;
template <class T, class Container = vector<T>, class Compare = std::less<typename Container::value_type>>
using priority_queue = std::priority_queue<T, Container, Compare>;
template <class T, class Container = deque<T>>
using stack = std::stack<T, Container>;

// ---- strings and their streams ------------------------------------------------------------------------------------------

/// The standard's strings over stl_allocator. Short ones are stored in the string itself.
template <class Char, class Traits = std::char_traits<Char>, class Allocator = stl_allocator<Char>>
using basic_string = std::basic_string<Char, Traits, Allocator>;
using string = basic_string<char>;
using wstring = basic_string<wchar_t>;
using u8string = basic_string<char8_t>;
using u16string = basic_string<char16_t>;
using u32string = basic_string<char32_t>;

/// The standard's string streams and buffers over stl_allocator.
template <class Char, class Traits = std::char_traits<Char>, class Allocator = stl_allocator<Char>>
using basic_stringbuf = std::basic_stringbuf<Char, Traits, Allocator>;
template <class Char, class Traits = std::char_traits<Char>, class Allocator = stl_allocator<Char>>
using basic_stringstream = std::basic_stringstream<Char, Traits, Allocator>;
template <class Char, class Traits = std::char_traits<Char>, class Allocator = stl_allocator<Char>>
using basic_istringstream = std::basic_istringstream<Char, Traits, Allocator>;
template <class Char, class Traits = std::char_traits<Char>, class Allocator = stl_allocator<Char>>
using basic_ostringstream = std::basic_ostringstream<Char, Traits, Allocator>;
using stringbuf = basic_stringbuf<char>;
using wstringbuf = basic_stringbuf<wchar_t>;
using stringstream = basic_stringstream<char>;
using wstringstream = basic_stringstream<wchar_t>;
using istringstream = basic_istringstream<char>;
using wistringstream = basic_istringstream<wchar_t>;
using ostringstream = basic_ostringstream<char>;
using wostringstream = basic_ostringstream<wchar_t>;

}  // namespace tarn

namespace tarn::detail {

/// Any other allocator.
template <class T>
struct foreign_allocator {
  using value_type = T;
  T* allocate(std::size_t);
  void deallocate(T*, std::size_t);
};
/// Whether only strings with std::allocator have a hash. Since LWG 3705, strings with any allocator have one.
template <class Char>
concept lacks_string_hash =
    std::is_default_constructible_v<std::hash<std::basic_string_view<Char>>> &&
    !std::is_default_constructible_v<std::hash<std::basic_string<Char, std::char_traits<Char>, foreign_allocator<Char>>>>;

}  // namespace tarn::detail

/// The same hash as for a string with std::allocator, if the standard library has none.
template <tarn::detail::lacks_string_hash Char, class... Policies>
struct std::hash<std::basic_string<Char, std::char_traits<Char>, tarn::stl_allocator<Char, Policies...>>> {
  std::size_t operator()(
      const std::basic_string<Char, std::char_traits<Char>, tarn::stl_allocator<Char, Policies...>>& text) const noexcept {
    return std::hash<std::basic_string_view<Char>>{}(text);
  }
};

#endif  // TARN_ALLOCATOR_CONTAINERS_H_
