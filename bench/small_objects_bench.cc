// Question ("Simple memory pools"): what do a million small objects cost, allocated one after the other and then freed?
// As in that text, making the pool, its growth and its destruction are inside; phases show the parts. `again` is a second
// round of the same pool, which has nothing left to grow. `mixed` allocates and frees four sizes in a random order.

#include <array>
#include <optional>
#include <utility>

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "small_objects";

template <std::size_t Bytes>
using any = decltype(columns<new_delete<Bytes>, boost_pool<Bytes>, pmr_unsync<Bytes>, list<Bytes>, front<Bytes>,
                             front_huge<Bytes>, tarn_default<Bytes>, tarn_lifo<Bytes>, tarn_default_huge<Bytes>>{} +
                     header_peers<Bytes>{});

/// Four pools, one for each size: a multipool by hand.
template <template <std::size_t> class Column>
struct four {
  static constexpr const char* name = Column<16>::name;
  void* take(std::size_t kind) {
    switch (kind) {
      case 0:
        return a_.take();
      case 1:
        return b_.take();
      case 2:
        return c_.take();
      default:
        return d_.take();
    }
  }
  void give(std::size_t kind, void* block) {
    switch (kind) {
      case 0:
        return a_.give(block);
      case 1:
        return b_.give(block);
      case 2:
        return c_.give(block);
      default:
        return d_.give(block);
    }
  }

 private:
  Column<16> a_;
  Column<40> b_;
  Column<72> c_;
  Column<136> d_;
};
using any_four = columns<four<new_delete>, four<boost_pool>, four<pmr_unsync>, four<list>, four<front>, four<front_huge>,
                         four<tarn_default>, four<tarn_lifo>, four<tarn_default_huge>>;

/// Runs body(column) between the making and the destruction of a column, all of it timed; returns the seconds.
template <class Column, class Body>
double with_new(Body body) {
  double whole = 0;
  start_cold();
  std::optional<Column> column;
  stopwatch all{whole};
  body(column.emplace());
  column.reset();
  all.stop();
  return whole;
}

constexpr auto million = []<class Column>(benchmark::State& state) {
  std::vector<void*> live(scaled(1'000'000));
  double taking = 0;
  double freeing = 0;
  double again = 0;
  for (auto _ : state) {
    double extra = 0;  // the second round belongs to no seed: it is not part of the whole
    const double whole = with_new<Column>([&](Column& column) {
      stopwatch takes{taking};
      fill(column, live);
      takes.stop();
      stopwatch frees{freeing};
      empty(column, live);
      frees.stop();
      stopwatch second{extra};
      fill(column, live);
      empty(column, live);
      second.stop();
    });
    again += extra;
    state.SetIterationTime(whole - extra);
  }
  report(state, live.size());
  report_phase(state, "take", taking, live.size());
  report_phase(state, "free", freeing, live.size());
  report_phase(state, "again", again, live.size());
};

/// Five of eight steps allocate; the others free a random object of a random kind. What is left is freed at the end.
template <class Column>
TARN_BENCH_LOOP std::size_t mix(Column& column, std::array<std::vector<void*>, 4>& live, std::size_t steps) {
  random_source random{3};
  std::size_t made = 0;
  for (; steps != 0; --steps) {
    const std::size_t dice = random.below(32);
    std::vector<void*>& mine = live[dice % 4];
    if (dice / 4 < 5 || mine.empty()) {
      void* const block = column.take(dice % 4);
      *static_cast<std::size_t*>(block) = steps;
      keep(block);
      mine.push_back(block);
      ++made;
    } else {
      std::swap(mine[random.below(mine.size())], mine.back());
      column.give(dice % 4, mine.back());
      mine.pop_back();
    }
  }
  for (std::size_t kind = 0; kind < 4; ++kind)
    for (void* const block : live[kind]) column.give(kind, block);
  return made;
}

constexpr auto mixed = []<class Column>(benchmark::State& state) {
  const std::size_t steps = scaled(2'000'000);
  std::array<std::vector<void*>, 4> live;
  std::size_t made = 0;
  for (auto _ : state) {
    for (std::vector<void*>& each : live) {
      each.clear();
      each.resize(steps / 2);  // its pages are there before the clock runs
      each.clear();
    }
    state.SetIterationTime(with_new<Column>([&](Column& column) { made = mix(column, live, steps); }));
  }
  report(state, made);
};

}  // namespace

void register_benchmarks() {
  fix_heap_thresholds();
  add(table, "size_16", any<16>{}, million, one_manual_pass);
  add(table, "size_40", any<40>{}, million, one_manual_pass);
  add(table, "size_72", any<72>{}, million, one_manual_pass);
  add(table, "size_136", any<136>{}, million, one_manual_pass);
  add(table, "mixed", any_four{}, mixed, one_manual_pass);
}

}  // namespace tarn_bench
