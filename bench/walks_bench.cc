// Question: what does it cost to visit a million objects of 64 bytes that live among holes, and whose neighbours change?
// The holes were made at random. `first` is the first walk after that; a frame replaces some objects and visits all; clear()
// comes after a walk.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/bench/measure.h"

#if __has_include("tarn/bench/peers/plf_hive.h")
#include "tarn/bench/peers/plf_hive.h"
#endif

namespace tarn_bench {
namespace {

constexpr const char* table = "walks";

struct object {
  explicit object(std::uint64_t its) noexcept : value(its) {}
  ~object() { ended += value; }
  static inline std::uint64_t ended = 0;
  std::uint64_t value;
  std::size_t place = 0;  // in a vector of pointers
  std::array<std::uint64_t, 6> rest;
};

template <class... Policies>
struct pool_of_objects {
  using place = object*;
  place add(std::uint64_t value) { return pool_.construct(value); }
  void remove(place which) { pool_.destroy(which); }
  template <class F>
  void each(F f) {
    pool_.for_each(f);
  }
  void clear() { pool_.clear(); }

 private:
  tarn::object_pool<object, Policies...> pool_;
};
struct tarn_default : pool_of_objects<> {
  static constexpr const char* name = "tarn_default";
};
struct tarn_paged : pool_of_objects<tarn::page_local_reuse<>> {
  static constexpr const char* name = "tarn_paged";
};
/// What iterators cost.
struct tarn_iterators {
  using place = object*;
  static constexpr const char* name = "tarn_iterators";
  place add(std::uint64_t value) { return pool_.construct(value); }
  void remove(place which) { pool_.destroy(which); }
  template <class F>
  void each(F f) {
    for (object& one : pool_) f(one);
  }
  void clear() { pool_.clear(); }

 private:
  tarn::object_pool<object> pool_;
};

/// Objects of the heap and a vector of their addresses, whose order is lost as they are replaced.
struct new_delete {
  using place = object*;
  static constexpr const char* name = "new_delete";
  ~new_delete() { clear(); }
  place add(std::uint64_t value) {
    object* const made = new object(value);
    made->place = all_.size();
    all_.push_back(made);
    return made;
  }
  void remove(place which) {
    all_[which->place] = all_.back();
    all_.back()->place = which->place;
    all_.pop_back();
    delete which;
  }
  template <class F>
  void each(F f) {
    for (object* const one : all_) f(*one);
  }
  void clear() {
    for (const object* const one : all_) delete one;
    all_.clear();
  }

 private:
  std::vector<object*> all_;
};

#if __has_include("tarn/bench/peers/plf_hive.h")
struct plf_hive {
  using place = plf::hive<object>::iterator;
  static constexpr const char* name = "plf_hive";
  place add(std::uint64_t value) { return all_.emplace(value); }
  void remove(place which) { all_.erase(which); }
  template <class F>
  void each(F f) {
    for (object& one : all_) f(one);
  }
  void clear() { all_.clear(); }

 private:
  plf::hive<object> all_;
};
using peers = columns<new_delete, plf_hive, tarn_default, tarn_paged, tarn_iterators>;
#else
using peers = columns<new_delete, tarn_default, tarn_paged, tarn_iterators>;
#endif

template <class Column>
void visit(Column& column, std::uint64_t& sum) {
  column.each([&sum](object& one) { sum += ++one.value; });
}

/// Objects among holes.
template <class Column>
struct thinned {
  explicit thinned(std::size_t holes) {
    const std::size_t number = scaled(1'000'000);
    for (std::size_t i = 0; i != number; ++i) live.push_back(column.add(i));
    for (std::size_t i = number; i > 1; --i) std::swap(live[i - 1], live[random.below(i)]);
    for (std::size_t ends = number / 100 * holes; ends != 0; --ends, live.pop_back()) column.remove(live.back());
  }
  Column column;
  std::vector<typename Column::place> live;
  random_source random{5};
};

/// \tparam Holes  of a hundred
/// \tparam First  whether it is the first walk after they were made
template <std::size_t Holes, bool First>
constexpr auto walk = []<class Column>(benchmark::State& state) {
  std::size_t number = 1;
  std::uint64_t sum = 0;
  for (auto _ : state) {
    const auto its = std::make_unique<thinned<Column>>(Holes);
    number = its->live.size();
    if (!First) visit(its->column, sum);
    double seconds = 0;
    stopwatch walks{seconds};
    visit(its->column, sum);
    walks.stop();
    state.SetIterationTime(seconds);
  }
  benchmark::DoNotOptimize(sum);
  report(state, number);
};
/// Half are holes. One in `Parts` objects, at random, is replaced, and all are visited: a frame. For each object.
template <std::size_t Parts>
constexpr auto frames = []<class Column>(benchmark::State& state) {
  constexpr std::size_t rounds = 5;
  std::size_t number = 1;
  std::uint64_t sum = 0;
  for (auto _ : state) {
    const auto its = std::make_unique<thinned<Column>>(50);
    number = its->live.size();
    visit(its->column, sum);
    double seconds = 0;
    for (std::size_t round = 0; round != rounds; ++round) {
      std::vector<std::size_t> replaced(number / Parts);
      for (std::size_t i = 0; i != replaced.size(); ++i) replaced[i] = i * Parts + its->random.below(Parts);
      stopwatch frame{seconds};
      for (const std::size_t i : replaced) its->column.remove(its->live[i]);
      for (const std::size_t i : replaced) its->live[i] = its->column.add(i);
      visit(its->column, sum);
      frame.stop();
    }
    state.SetIterationTime(seconds / rounds);
  }
  benchmark::DoNotOptimize(sum);
  report(state, number);
};
template <std::size_t Holes>
constexpr auto clears = []<class Column>(benchmark::State& state) {
  std::size_t number = 1;
  for (auto _ : state) {
    const auto its = std::make_unique<thinned<Column>>(Holes);
    number = its->live.size();
    std::uint64_t sum = 0;
    visit(its->column, sum);
    benchmark::DoNotOptimize(sum);
    double seconds = 0;
    stopwatch clear{seconds};
    its->column.clear();
    clear.stop();
    state.SetIterationTime(seconds);
  }
  report(state, number);
};

}  // namespace

void register_benchmarks() {
  add(table, "walk_0", peers{}, walk<0, false>, one_manual_pass);
  add(table, "walk_50", peers{}, walk<50, false>, one_manual_pass);
  add(table, "walk_90", peers{}, walk<90, false>, one_manual_pass);
  add(table, "walk_99", peers{}, walk<99, false>, one_manual_pass);
  add(table, "first_50", peers{}, walk<50, true>, one_manual_pass);
  add(table, "first_90", peers{}, walk<90, true>, one_manual_pass);
  add(table, "frame_1", peers{}, frames<100>, one_manual_pass);
  add(table, "frame_10", peers{}, frames<10>, one_manual_pass);
  add(table, "clear_0", peers{}, clears<0>, one_manual_pass);
  add(table, "clear_50", peers{}, clears<50>, one_manual_pass);
  add(table, "clear_90", peers{}, clears<90>, one_manual_pass);
}

}  // namespace tarn_bench
