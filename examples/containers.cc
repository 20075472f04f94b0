// Counts words: standard containers with nodes from pools. Of the three ways to name the pools, each has its place.
//
//   1. tarn::set<...>                      pools of the process, for any thread, kept until it exits: the first thing to try
//   2. stl_allocator<T, policies...>       the same with other policies: here one thread, and no lock
//   3. stl_allocator<T, Source>            a pool of the program's own, an object: memory that is freed with its owner
//
// Prints:
//
//   16 different words
//   and: 2
//   dog: 2
//   fox: 2
//   over: 2
//   the: 5
//   the index is empty, and its memory went back
#include <cstddef>
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <string_view>
#include <utility>

#include "tarn/allocator/containers.h"
#include "tarn/allocator/size_class_pool.h"

constexpr std::string_view story =
    "the quick brown fox jumps over the lazy dog and the dog sleeps on while the fox runs over the hill and far away";

/// Calls f(word) for each.
template <class F>
void each_word(std::string_view all, F f) {
  while (!all.empty()) {
    const std::size_t end = all.find(' ');
    f(all.substr(0, end));
    all.remove_prefix(end == std::string_view::npos ? all.size() : end + 1);
  }
}

// 1. The namespace alone. Pools of the process, for any thread; they keep their memory until it ends.
std::size_t different_words() {
  tarn::set<tarn::string> seen;
  each_word(story, [&](std::string_view word) { seen.emplace(word); });
  return seen.size();
}

// 2. Policies. Pools of the process again, but all containers that name these policies belong to one thread: no lock.
using counts = tarn::map<std::string_view, int, std::less<>,
                         tarn::stl_allocator<std::pair<const std::string_view, int>, tarn::no_locking>>;

counts count_words() {
  counts n;
  each_word(story, [&](std::string_view word) { ++n[word]; });
  return n;
}

// 3. A pool of its own, which a member holds. Its memory goes when the index does, or when it says so.
class position_index {
 public:
  void add(std::string_view word, int position) {
    const auto [found, is_new] = by_word_.try_emplace(word, positions(pool_));
    found->second.push_back(position);
  }
  std::size_t count(std::string_view word) const {
    const auto found = by_word_.find(word);
    return found == by_word_.end() ? 0 : found->second.size();
  }
  /// Returns how many bytes went back.
  std::size_t clear() {
    by_word_.clear();
    return pool_.trim();
  }

 private:
  using pool = tarn::size_class_pool<tarn::lifo_reuse<>>;
  using positions = std::list<int, tarn::stl_allocator<int, pool>>;
  using entry = std::pair<const std::string_view, positions>;

  pool pool_;  // before what uses it
  std::map<std::string_view, positions, std::less<>, tarn::stl_allocator<entry, pool>> by_word_{pool_};
};

int main() {
  std::printf("%zu different words\n", different_words());

  const counts n = count_words();
  for (const auto& [word, times] : n)
    if (times > 1) std::printf("%.*s: %d\n", static_cast<int>(word.size()), word.data(), times);

  position_index index;
  int position = 0;
  each_word(story, [&](std::string_view word) { index.add(word, position++); });
  for (const auto& [word, times] : n)
    if (index.count(word) != static_cast<std::size_t>(times)) return 1;
  if (index.clear() == 0 || index.count("the") != 0) return 1;
  std::printf("the index is empty, and its memory went back\n");
}
