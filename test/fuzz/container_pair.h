// Containers with an allocator of ours, and beside them the same containers with the standard's, on which all is done too.
#ifndef TARN_TEST_FUZZ_CONTAINER_PAIR_H_
#define TARN_TEST_FUZZ_CONTAINER_PAIR_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tarn/test/fuzz/input.h"

namespace tarn::test {

/// One of each, and what is done with it. No function is called with more than a value and a place: each step is the same
/// text for both allocators.
template <class Allocator>
class containers {
  template <class T>
  using of = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;

 public:
  using string = std::basic_string<char, std::char_traits<char>, of<char>>;

  explicit containers(const Allocator& a) : list(a), map(a), text(a), array(a), row(a), set(a) {}

  void step(int what, int value, std::size_t n) {
    const auto at = [n](auto& container) {
      return std::next(container.begin(), static_cast<std::ptrdiff_t>(n % (container.size() + 1)));
    };
    switch (what) {
      case 0: list.push_back(value); break;
      case 1: list.insert(at(list), 1 + n % 8, value); break;
      case 2: if (!list.empty()) list.erase(at(list) == list.end() ? list.begin() : at(list)); break;
      case 3: list.remove(value); break;
      case 4: list.sort(), list.reverse(); break;
      case 5: {
        std::list<int, of<int>> other(list.get_allocator());
        other.splice(other.begin(), list, list.begin(), at(list));
        other.push_front(value);
        list.swap(other);
        break;
      }
      case 6: map.emplace(value, words(n)); break;
      case 7: map.erase(value); break;
      case 8: if (!map.empty()) map.erase(map.begin(), map.upper_bound(value)); break;
      case 9: for (auto& [key, word] : map) word.append(n % 9, 'm'); break;
      case 10: text += words(n); break;
      case 11: text.insert(n % (text.size() + 1), words(n / 3)); break;
      case 12: text.erase(n % (text.size() + 1), 1 + n % 40), text.shrink_to_fit(); break;
      case 13: array.insert(at(array), 1 + n % 50, value); break;
      case 14: array.resize(n % 700), array.shrink_to_fit(); break;
      case 15: row.push_front(value), row.insert(row.end(), n % 100, value); break;
      case 16: if (!row.empty()) row.pop_back(), row.erase(row.begin(), at(row)); break;
      case 17: set.insert(value), set.rehash(n % 300); break;
      case 18: set.erase(value); break;
      case 19: {
        containers other(*this);  // copied, and moved back
        clear();
        *this = std::move(other);
        break;
      }
      case 20: if (n % 4 == 0) clear(); break;
    }
  }
  static constexpr int steps = 21;

  std::size_t size() const { return list.size() + map.size() + text.size() + array.size() + row.size() + set.size(); }
  void clear() {
    list.clear(), map.clear(), text.clear(), array.clear(), row.clear(), set.clear();
  }

  std::list<int, of<int>> list;
  std::map<int, string, std::less<int>, of<std::pair<const int, string>>> map;
  string text;
  std::vector<int, of<int>> array;
  std::deque<int, of<int>> row;
  std::unordered_set<int, std::hash<int>, std::equal_to<int>, of<int>> set;

 private:
  string words(std::size_t n) const { return string(n % 300, static_cast<char>('a' + n % 26), text.get_allocator()); }
};

template <class Allocator>
class container_pair {
 public:
  explicit container_pair(const Allocator& a) : ours_(a), theirs_(std::allocator<int>{}) {}

  void run(input& in) {
    while (!in.ended()) {
      const int what = static_cast<int>(in.below(containers<Allocator>::steps));
      const int value = in.byte();
      const std::size_t n = in.below(1000);
      if (ours_.size() > most) ours_.clear(), theirs_.clear();
      ours_.step(what, value, n);
      theirs_.step(what, value, n);
      must(ours_.size() == theirs_.size(), "containers with another number of elements");
    }
    must(std::ranges::equal(ours_.list, theirs_.list), "a list with other elements");
    must(std::ranges::equal(ours_.map, theirs_.map, same), "a map with other elements");
    must(std::ranges::equal(ours_.text, theirs_.text), "a string with other characters");
    must(std::ranges::equal(ours_.array, theirs_.array), "a vector with other elements");
    must(std::ranges::equal(ours_.row, theirs_.row), "a deque with other elements");
    for (const int one : theirs_.set) must(ours_.set.contains(one), "a set without one of its elements");
  }

 private:
  static constexpr std::size_t most = 20'000;
  static constexpr auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && std::ranges::equal(a.second, b.second);
  };

  containers<Allocator> ours_;
  containers<std::allocator<int>> theirs_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_FUZZ_CONTAINER_PAIR_H_
