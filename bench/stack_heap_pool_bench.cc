// Question ("Stack, Heap, Pool"): a thousand objects of 1 MB (1000 * 1024 bytes) from the stack, the heap and a pool. That
// text left steps out, differently for each way; here all four have figures of their own: allocation, construction (which
// clears the object, as there), destruction, release.
//
//   loop       one object after the other, all four steps; `loop_raw` leaves construction and destruction out
//   thousand   a thousand objects that live at once, each step timed. `setup` is what was paid before the first allocation
//              and after the last release: making and destroying the pool, for `objects made once` also the objects
//
// A figure is the time for one object.

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <vector>

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "stack_heap_pool";
constexpr std::size_t objects = 1000;

struct big_object {
  big_object() = default;
  ~big_object() { bytes[0] = 0; }  // an object that does something at its end, so that destruction is a step
  std::array<char, 1000 * 1024> bytes{};
};

void process(void* object) {
  static_cast<char*>(object)[0] = 'a';
  keep(object);
}

struct stack {
  static constexpr const char* name = "stack";
};

std::size_t count_of(std::size_t all) { return smoke ? (all + 9) / 10 : all; }

/// The pool of that text, shortened: the objects are made with the pool, and both calls search linearly.
template <std::size_t Objects>
struct first_free_array {
  static constexpr const char* name = "seed_pool";
  static constexpr bool made_once = true;
  first_free_array() {
    for (auto& object : available_) object = std::make_unique<big_object>();
  }
  void* take() { return move_first(available_, in_use_, nullptr); }
  void give(void* object) { move_first(in_use_, available_, object); }

 private:
  using slots = std::vector<std::unique_ptr<big_object>>;
  static void* move_first(slots& from, slots& to, void* wanted) {
    const auto found = std::find_if(
        from.begin(), from.end(), [&](const auto& slot) { return wanted == nullptr ? slot != nullptr : slot.get() == wanted; });
    const auto place = std::find(to.begin(), to.end(), nullptr);
    *place = std::move(*found);
    return place->get();
  }
  slots available_{count_of(Objects)};
  slots in_use_{count_of(Objects)};
};

/// Objects made once and used again. While a block is free its first word is the pool's, so the object stands behind it.
template <std::size_t Objects>
struct made_once_pool {
  static constexpr const char* name = "tarn_made_once";
  static constexpr bool made_once = true;
  made_once_pool() {
    std::vector<void*> blocks(count_of(Objects));
    for (void*& block : blocks) block = ::new (static_cast<char*>(pool_.take()) + header) big_object;
    for (void* const block : blocks) give(block);
  }
  void* take() { return static_cast<char*>(pool_.take()) + header; }
  void give(void* object) { pool_.give(static_cast<char*>(object) - header); }

 private:
  static constexpr std::size_t header = 16;
  tarn_lifo<sizeof(big_object) + header> pool_;
};

template <class Column>
concept makes_once = Column::made_once;

constexpr auto stack_loop = []<class>(benchmark::State& state) {
  for (auto _ : state) {
    for (std::size_t i = 0; i < objects; ++i) {
      big_object object;
      process(&object);
    }
  }
  report(state, objects);
};
constexpr auto stack_loop_raw = []<class>(benchmark::State& state) {
  for (auto _ : state) {
    for (std::size_t i = 0; i < objects; ++i) {
      alignas(big_object) std::byte room[sizeof(big_object)];
      process(room);
    }
  }
  report(state, objects);
};

constexpr auto loop = []<class Column>(benchmark::State& state) {
  Column column;
  for (auto _ : state) {
    for (std::size_t i = 0; i < objects; ++i) {
      big_object* const object = ::new (column.take()) big_object;
      process(object);
      object->~big_object();
      column.give(object);
    }
  }
  report(state, objects);
};
constexpr auto loop_raw = []<class Column>(benchmark::State& state) {
  Column column;
  for (auto _ : state) {
    for (std::size_t i = 0; i < objects; ++i) {
      void* const object = column.take();
      process(object);
      column.give(object);
    }
  }
  report(state, objects);
};

constexpr auto thousand = []<class Column>(benchmark::State& state) {
  const std::size_t count = count_of(objects);
  std::vector<void*> live(count);
  double setting_up = 0, allocating = 0, constructing = 0, destroying = 0, releasing = 0;
  const auto each = [&](double& sum, auto step) {
    stopwatch time{sum};
    for (void*& object : live) step(object);
    time.stop();
  };
  for (auto _ : state) {
    start_cold();
    const auto sum = [&] { return setting_up + allocating + constructing + destroying + releasing; };
    const double before = sum();
    stopwatch setup{setting_up};
    auto column = std::make_unique<Column>();
    setup.stop();
    each(allocating, [&](void*& object) { object = column->take(); });
    if constexpr (!makes_once<Column>) each(constructing, [](void*& object) { ::new (object) big_object; });
    for (void* const object : live) process(object);
    if constexpr (!makes_once<Column>)
      each(destroying, [](void*& object) { std::destroy_at(static_cast<big_object*>(object)); });
    each(releasing, [&](void*& object) { column->give(object); });
    stopwatch end{setting_up};
    column.reset();
    end.stop();
    state.SetIterationTime(sum() - before);
  }
  report(state, count);
  report_phase(state, "setup", setting_up, count);
  report_phase(state, "allocate", allocating, count);
  report_phase(state, "construct", constructing, count);
  report_phase(state, "destroy", destroying, count);
  report_phase(state, "release", releasing, count);
};

}  // namespace

void register_benchmarks() {
  constexpr std::size_t bytes = sizeof(big_object);
  using any =
      columns<new_delete<bytes>, boost_pool<bytes>, pmr_unsync<bytes>, list<bytes>, tarn_default<bytes>, tarn_lifo<bytes>>;
  using fewer = columns<new_delete<bytes>, boost_pool<bytes>, list<bytes>, tarn_default<bytes>>;  // a gigabyte each
  using one_once = columns<first_free_array<1>, made_once_pool<1>>;
  using all_once = columns<first_free_array<objects>, made_once_pool<objects>>;

  add(table, "loop", columns<stack>{}, stack_loop);
  add(table, "loop", any{}, loop);
  add(table, "loop_raw", columns<stack>{}, stack_loop_raw);
  add(table, "loop_raw", any{}, loop_raw);
  add(table, "loop_raw", one_once{}, loop_raw);
  add(table, "thousand", fewer{}, thousand, one_manual_pass);
  add(table, "thousand", all_once{}, thousand, one_manual_pass);
}

}  // namespace tarn_bench
