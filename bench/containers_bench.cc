// Question ("STL allocator"): ten thousand elements are inserted into a container, and it is cleared. Three runs, as there:
// the first gets its memory, the others find what the run before gave back. A figure is the time for one element, the
// container's own work included; making and destroying the container are inside.
//
//   list, map, unordered_map   of ints, in ascending order
//   string                     a list of strings: each is begun, grown to 211 characters and copied into the list, so that an
//                              element takes a node and an array, and another array comes and goes
//   map_random                 a map of a million ints in random order, second run

#include <array>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tarn/bench/container_columns.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "containers";
constexpr std::size_t elements = 10'000;
constexpr std::size_t million = 1'000'000;

// ---- the work: made with an allocator's column before the clock runs, run() is timed ----------------------------------

template <class Column>
struct lists {
  Column& column;
  explicit lists(Column& c, std::size_t) : column(c) {}
  TARN_BENCH_LOOP void run(std::size_t count) {
    std::list<int, typename Column::template allocator<int>> all(column.template get<int>());
    for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<int>(i));
    keep(&all);
    all.clear();
    keep(&all);
  }
};

using entry = std::pair<const int, int>;

template <class Column>
struct maps {
  Column& column;
  explicit maps(Column& c, std::size_t) : column(c) {}
  TARN_BENCH_LOOP void run(std::size_t count) {
    std::map<int, int, std::less<>, typename Column::template allocator<entry>> all(column.template get<entry>());
    for (std::size_t i = 0; i < count; ++i) all[static_cast<int>(i)] = 123;
    keep(&all);
    all.clear();
    keep(&all);
  }
};

template <class Column>
struct shuffled_maps {
  Column& column;
  std::vector<std::uint32_t> order;
  explicit shuffled_maps(Column& c, std::size_t count) : column(c), order(shuffled(count)) {}
  TARN_BENCH_LOOP void run(std::size_t) {
    std::map<int, int, std::less<>, typename Column::template allocator<entry>> all(column.template get<entry>());
    for (const std::uint32_t key : order) all[static_cast<int>(key)] = 123;
    keep(&all);
    all.clear();
    keep(&all);
  }
};

template <class Column>
struct unordered_maps {
  Column& column;
  explicit unordered_maps(Column& c, std::size_t) : column(c) {}
  TARN_BENCH_LOOP void run(std::size_t count) {
    std::unordered_map<int, int, std::hash<int>, std::equal_to<>, typename Column::template allocator<entry>> all(
        column.template get<entry>());
    for (std::size_t i = 0; i < count; ++i) all[static_cast<int>(i)] = 123;
    keep(&all);
    all.clear();
    keep(&all);
  }
};

template <class Column>
struct strings {
  using text = std::basic_string<char, std::char_traits<char>, typename Column::template allocator<char>>;
  Column& column;
  explicit strings(Column& c, std::size_t) : column(c) {}
  TARN_BENCH_LOOP void run(std::size_t count) {
    static constexpr char characters[200] = {};
    std::list<text, typename Column::template allocator<text>> all(column.template get<text>());
    for (std::size_t i = 0; i < count; ++i) {
      text one("a beginning", column.template get<char>());
      one.append(characters, sizeof characters);
      all.push_back(one);
    }
    keep(&all);
    all.clear();
    keep(&all);
  }
};

// ---- first runs ---------------------------------------------------------------------------------------------------------

/// What a container asks for is its own secret: this allocator lets it ask, once, and passes each type on to the column.
template <class Column>
struct forgetful {
  template <class T>
  struct allocator {
    using value_type = T;
    allocator() = default;
    template <class U>
    allocator(const allocator<U>&) noexcept {}
    T* allocate(std::size_t n) {
      Column::template forget<T>();
      return std::allocator<T>{}.allocate(n);
    }
    void deallocate(T* objects, std::size_t n) noexcept { std::allocator<T>{}.deallocate(objects, n); }
    template <class U>
    friend bool operator==(const allocator&, const allocator<U>&) noexcept {
      return true;
    }
  };
  template <class T>
  allocator<T> get() noexcept {
    return {};
  }
};

/// Static pools can't be made anew for each repetition. They give all chunks back to the heap, and the heap gives its free
/// pages back to the system: as at the program's start.
template <class Column, template <class> class Work>
void start_afresh() {
  forgetful<Column> each;
  Work<forgetful<Column>>(each, 1).run(1);
  start_cold();
}

/// Bytes that the heap has handed out.
std::size_t heap_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

/// Whether a first run asked the heap for what its elements need. The nodes of std::allocator and of a
/// container's own pool are back in the heap by then.
template <class Column>
bool was_first(std::size_t before, std::size_t count) {
  constexpr bool ends_with_it = std::is_same_v<Column, std_allocator> || std::is_same_v<Column, own_column>;
  return ends_with_it || heap_bytes() - before >= count * 16;
}

template <template <class> class Work>
constexpr auto three_runs = []<class Column>(benchmark::State& state) {
  const std::size_t count = scaled(elements);
  std::array<double, 3> seconds{};
  for (auto _ : state) {
    start_afresh<Column, Work>();
    const double third = seconds[2];
    Column column;
    Work<Column> work(column, count);
    const std::size_t before = heap_bytes();
    for (double& sum : seconds) {
      stopwatch watch{sum};
      work.run(count);
      watch.stop();
      if (&sum == &seconds[0] && !was_first<Column>(before, count)) return state.SkipWithError("the first run was none");
    }
    state.SetIterationTime(seconds[2] - third);
  }
  report(state, count);
  constexpr std::array names{"first", "second", "third"};
  for (std::size_t i = 0; i < 3; ++i) report_phase(state, names[i], seconds[i], count);
};

/// Two runs only: each takes most of a second.
constexpr auto million_at_random = []<class Column>(benchmark::State& state) {
  const std::size_t count = scaled(million);
  double first = 0;
  double second = 0;
  for (auto _ : state) {
    start_afresh<Column, maps>();
    const double before = second;
    Column column;
    shuffled_maps<Column> work(column, count);
    stopwatch first_run{first};
    work.run(count);
    first_run.stop();
    stopwatch second_run{second};
    work.run(count);
    second_run.stop();
    state.SetIterationTime(second - before);
  }
  report(state, count);
  report_phase(state, "first", first, count);
  report_phase(state, "second", second, count);
};

using of_nodes = columns<std_allocator, hand_allocator, boost_allocator, std_resource, tarn_resource, stl_default, stl_unlocked,
                         stl_batch, own_column>;
/// Without batch_reuse: it needs elements of 16 bytes, and arrays of smaller ones, as strings and hash tables have, don't
/// compile.
using of_arrays =
    columns<std_allocator, hand_allocator, boost_allocator, std_resource, tarn_resource, stl_default, stl_unlocked, own_column>;
/// Nor with a pool of its own for each string.
using of_strings =
    columns<std_allocator, hand_allocator, boost_allocator, std_resource, tarn_resource, stl_default, stl_unlocked>;
using of_a_million = columns<std_allocator, hand_allocator, stl_unlocked, stl_batch, own_column>;

}  // namespace

void register_benchmarks() {
  fix_heap_thresholds();
  const auto manual_passes = [](auto* benchmark) { benchmark->UseManualTime()->Iterations(smoke ? 1 : 10); };
  add(table, "list", of_nodes{}, three_runs<lists>, manual_passes);
  add(table, "map", of_nodes{}, three_runs<maps>, manual_passes);
  add(table, "unordered_map", of_arrays{}, three_runs<unordered_maps>, manual_passes);
  add(table, "string", of_strings{}, three_runs<strings>, manual_passes);
  add(table, "map_random", of_a_million{}, million_at_random,
      [](auto* benchmark) { benchmark->UseManualTime()->Iterations(1); });
}

}  // namespace tarn_bench
