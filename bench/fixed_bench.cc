// Question: what do containers cost whose nodes are in the container itself? Up to a thousand ints, in a list, a map and a set;
// each row is the time for one element. Beside those of the heap, and EASTL's if --peers brought it.
//
//   list, map, set     inserted, at random where the container sorts them, and erased one by one: a list's from the front,
//                      others by key, in another order
//   *_churn            with a thousand inside: one erased, one inserted
//   map_find           found among a thousand

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/bench/loops.h"

#if __has_include("EASTL/fixed_map.h")
#include "EASTL/fixed_list.h"
#include "EASTL/fixed_map.h"
#include "EASTL/fixed_set.h"
#endif

namespace tarn_bench {
namespace {

constexpr const char* table = "fixed";
constexpr std::size_t elements = 1000;

struct of_heap {
  static constexpr const char* name = "std_allocator";
  using list = std::list<int>;
  using map = std::map<int, int>;
  using set = std::set<int>;
};
struct tarn_fixed {
  static constexpr const char* name = "tarn_fixed";
  using list = tarn::fixed_list<int, elements>;
  using map = tarn::fixed_map<int, int, elements>;
  using set = tarn::fixed_set<int, elements>;
};
#if __has_include("EASTL/fixed_map.h")
struct eastl_fixed {
  static constexpr const char* name = "eastl_fixed";
  using list = eastl::fixed_list<int, elements, false>;
  using map = eastl::fixed_map<int, int, elements, false>;
  using set = eastl::fixed_set<int, elements, false>;
};
using all_columns = columns<of_heap, tarn_fixed, eastl_fixed>;
#else
using all_columns = columns<of_heap, tarn_fixed>;
#endif

struct lists {
  template <class Column>
  using container = typename Column::list;
  static constexpr auto insert = [](auto& all, int key) { all.push_back(key); };
  static constexpr auto erase = [](auto& all, int) { all.pop_front(); };
};
struct maps {
  template <class Column>
  using container = typename Column::map;
  static constexpr auto insert = [](auto& all, int key) { all.insert({key, key}); };
  static constexpr auto erase = [](auto& all, int key) { all.erase(key); };
};
struct sets {
  template <class Column>
  using container = typename Column::set;
  static constexpr auto insert = [](auto& all, int key) { all.insert(key); };
  static constexpr auto erase = [](auto& all, int key) { all.erase(key); };
};

/// Keys in a random order, and in another.
struct orders {
  std::vector<std::uint32_t> first = shuffled(elements);
  std::vector<std::uint32_t> second = first;
  orders() {
    random_source random{7};
    for (std::size_t i = elements; i > 1; --i) std::swap(second[i - 1], second[random.below(i)]);
  }
};

template <class Work, class Container>
TARN_BENCH_LOOP void fill(Container& all, const std::vector<std::uint32_t>& keys) {
  for (const std::uint32_t key : keys) Work::insert(all, static_cast<int>(key)), keep(&all);
}
template <class Work, class Container>
TARN_BENCH_LOOP void empty(Container& all, const std::vector<std::uint32_t>& keys) {
  for (const std::uint32_t key : keys) Work::erase(all, static_cast<int>(key)), keep(&all);
}
template <class Work, class Container>
TARN_BENCH_LOOP void churn_in(Container& all, const std::vector<std::uint32_t>& keys) {
  for (const std::uint32_t key : keys) {
    Work::erase(all, static_cast<int>(key)), keep(&all);
    Work::insert(all, static_cast<int>(key)), keep(&all);
  }
}
template <class Container>
TARN_BENCH_LOOP std::size_t find_in(Container& all, const std::vector<std::uint32_t>& keys) {
  std::size_t found = 0;
  for (const std::uint32_t key : keys) found += all.find(static_cast<int>(key)) != all.end(), keep(&all);
  return found;
}

template <class Work>
constexpr auto filled = []<class Column>(benchmark::State& state) {
  const orders keys;
  const auto all = std::make_unique<typename Work::template container<Column>>();
  for (auto _ : state) {
    fill<Work>(*all, keys.first);
    if (all->size() != elements) std::abort();
    empty<Work>(*all, keys.second);
  }
  report(state, elements);
};
template <class Work>
constexpr auto churned = []<class Column>(benchmark::State& state) {
  const orders keys;
  const auto all = std::make_unique<typename Work::template container<Column>>();
  fill<Work>(*all, keys.first);
  for (auto _ : state) churn_in<Work>(*all, keys.second);
  if (all->size() != elements) std::abort();
  report(state, elements);
};
constexpr auto found = []<class Column>(benchmark::State& state) {
  const orders keys;
  const auto all = std::make_unique<typename Column::map>();
  fill<maps>(*all, keys.first);
  for (auto _ : state)
    if (find_in(*all, keys.second) != elements) std::abort();
  report(state, elements);
};

}  // namespace

void register_benchmarks() {
  add(table, "list", all_columns{}, filled<lists>);
  add(table, "list_churn", all_columns{}, churned<lists>);
  add(table, "map", all_columns{}, filled<maps>);
  add(table, "map_churn", all_columns{}, churned<maps>);
  add(table, "map_find", all_columns{}, found);
  add(table, "set", all_columns{}, filled<sets>);
}

}  // namespace tarn_bench
