// Runs of units, against a model, over pages that are real or only addresses; and blocks of classes in them.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tarn/allocator/detail/sizes/class_spans.h"
#include "tarn/allocator/detail/sizes/span_heap.h"
#include "tarn/policies/size.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using detail::span_record;
using detail::span_unit;

/// The system's pages, of which any request may be refused. Each Number is a system of its own, for a heap of its own.
template <int Number>
struct choosy_pages : detail::heap_calls {
  static inline unsigned asked = 0, refuses_at = 0;  // 0: none; counts what is mapped and opened
  static inline bool refuses_all = false, refuses_advice = false;
  static inline unsigned advised = 0;
  static inline void (*in_advice)() = nullptr;
  static inline const void* locked = nullptr;
  static inline std::size_t limit = ~std::size_t{0}, reserved = 0;

  static std::size_t address_limit() noexcept { return limit; }
  static void unmap_pages(void* start, std::size_t bytes) noexcept { heap_calls::unmap_pages(start, bytes), reserved -= bytes; }
  static bool refuse() noexcept {
    ++asked;
    return refuses_at != 0 && (refuses_all ? asked >= refuses_at : asked == refuses_at);
  }
  static void* map_pages(std::size_t bytes, std::size_t alignment, std::size_t offset, bool open) noexcept {
    if (refuse()) return nullptr;
    if (!open) reserved += bytes;
    return heap_calls::map_pages(bytes, alignment, offset, open);
  }
  static bool open_pages(void* start, std::size_t bytes) noexcept { return !refuse() && heap_calls::open_pages(start, bytes); }
  static int advise(void* start, std::size_t bytes, int advice) noexcept {
    ++advised;
    if (in_advice != nullptr) in_advice();
    if (refuses_advice || start == locked) return errno = EINVAL, -1;
    return heap_calls::advise(start, bytes, advice);
  }
  static long advise_all(const void*, std::size_t, int) noexcept { return errno = ENOSYS, -1; }

  enum refusal { none, at_once, after_unmapping };
  static inline refusal of_moves = none;
  static inline void* taken = nullptr;  // the last place that another thread's mapping took
  static inline bool takes_places = false;
  static bool move_pages(void* from, std::size_t bytes, void* to, std::size_t bytes_there) noexcept {
    if (of_moves == after_unmapping) ::munmap(to, bytes_there);
    if (of_moves == after_unmapping && bytes > bytes_there)  // as Linux does
      ::munmap(static_cast<char*>(from) + bytes_there, bytes - bytes_there);
    return of_moves == none && !refuse() && heap_calls::move_pages(from, bytes, to, bytes_there);
  }
  static bool map_pages_at(void* start, std::size_t bytes, bool over) noexcept {
    if (refuse()) return false;
    if (takes_places && !over && heap_calls::map_pages_at(start, 4096, false)) std::memset(taken = start, 77, 4096);
    return heap_calls::map_pages_at(start, bytes, over);
  }
};

/// Addresses that nobody touches, from a list; then none. What the heap keeps for itself is real.
template <int Number>
struct paper_pages : detail::heap_calls {
  static inline std::vector<std::pair<std::uintptr_t, std::size_t>> regions;  // and units
  static inline std::vector<std::uintptr_t> unmapped;

  static void* map_pages(std::size_t bytes, std::size_t alignment, std::size_t offset, bool open) noexcept {
    if (open) return heap_calls::map_pages(bytes, alignment, offset, open);
    if (regions.empty() || regions.front().second * span_unit < bytes) return nullptr;
    const std::uintptr_t start = regions.front().first;
    regions.erase(regions.begin());
    return reinterpret_cast<void*>(start);
  }
  static void unmap_pages(void* start, std::size_t) noexcept { unmapped.push_back(reinterpret_cast<std::uintptr_t>(start)); }
  static bool open_pages(void*, std::size_t) noexcept { return true; }
  static bool move_pages(void*, std::size_t, void*, std::size_t) noexcept { return true; }
  static bool map_pages_at(void*, std::size_t, bool) noexcept { return true; }
  static int advise(void*, std::size_t, int) noexcept { return 0; }
  static long advise_all(const void*, std::size_t, int) noexcept { return errno = ENOSYS, -1; }
};

constexpr std::size_t mib = 1024 * 1024;
std::byte* at(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

/// Uses a heap at random, and knows what it should say.
template <class Heap>
class model {
 public:
  model(Heap& heap, unsigned seed, bool is_real) : heap_(heap), dice_(seed), is_real_(is_real) {}
  ~model() {
    while (!runs_.empty()) give(runs_.begin());
  }

  void step() {
    const unsigned what = static_cast<unsigned>(dice_() % 10);
    if (what < 4 || runs_.empty()) return take();
    const auto one = std::next(runs_.begin(), static_cast<std::ptrdiff_t>(dice_() % runs_.size()));
    if (what < 7) give(one);
    else if (what < 9) resize(one);
    else heap_.clean(dice_() % 4 * mib);
  }
  unsigned refused = 0;
  std::size_t units() const {
    std::size_t sum = 0;
    for (const auto& [start, run] : runs_) sum += run.record->units;
    return sum;
  }

 private:
  struct known {
    span_record* record;
    std::size_t units;
    unsigned char stamp;
  };
  using place = typename std::map<std::byte*, known>::iterator;

  std::size_t some_units() { return 1 + (dice_() % 20 == 0 ? dice_() % 300 : dice_() % 9); }
  void take() {
    const std::size_t units = some_units(), alignment = dice_() % 6 == 0 ? std::size_t{1} << dice_() % 5 : 1;
    span_record* const run = heap_.take(units, span_record::large, alignment);
    if (run == nullptr) {
      ++refused;
      return;
    }
    CHECK(run->units == units && run->is == span_record::large);
    CHECK(detail::address_of(run->start) % (alignment * span_unit) == 0);
    CHECK(is_apart(run->start, units));
    if (is_real_ && !run->is_dirty) CHECK(all_are(run->start, units, 0));
    const auto [one, is_new] = runs_.emplace(run->start, known{run, units, static_cast<unsigned char>(1 + dice_() % 255)});
    CHECK(is_new);
    stamp(one);
    CHECK(heap_.span_of(run->start) == run);
    CHECK(heap_.span_of(run->start + units * span_unit - 1) == run || units > 1);
  }
  void give(place one) {
    check(one);
    std::byte* const start = one->first;
    if (one->second.units > 1) CHECK(heap_.give_at(start + span_unit) == detail::run_verdict::not_a_start);
    CHECK(heap_.give_at(start + 16) == detail::run_verdict::not_a_start);
    CHECK(heap_.give_at(start) == detail::run_verdict::done);
    CHECK(heap_.give_at(start) != detail::run_verdict::done);
    runs_.erase(one);
  }
  void resize(place one) {
    check(one);
    const std::size_t units = some_units();
    if (!heap_.resize(*one->second.record, units)) return move(one, units);
    CHECK(one->second.record->bytes_to_use() == units * span_unit);
    if (is_real_) CHECK(all_are(one->first, std::min(units, one->second.units), one->second.stamp));
    one->second.units = 0;
    CHECK(is_apart(one->first, units));
    one->second.units = units;
    stamp(one);
  }
  void move(place one, std::size_t units) {
    span_record* const to = heap_.relocate(*one->second.record, units);
    if (to == nullptr) return check(one);
    CHECK(to->bytes_to_use() == units * span_unit && to->units >= units && to->is == span_record::large);
    if (is_real_) CHECK(all_are(to->start, std::min(units, one->second.units), one->second.stamp));
    const known moved{to, units, one->second.stamp};
    runs_.erase(one);
    CHECK(is_apart(to->start, to->units));
    stamp(runs_.emplace(to->start, moved).first);
  }

  void stamp(place one) {
    if (!is_real_) return;
    for (std::size_t i = 0; i != one->second.units; ++i)
      std::memset(one->first + i * span_unit + dice_() % 3 * 4096, one->second.stamp, 1);
    for (std::size_t i = 0; i != one->second.units; ++i) one->first[i * span_unit] = std::byte{one->second.stamp};
  }
  void check(place one) {
    if (is_real_) CHECK(all_are(one->first, one->second.units, one->second.stamp));
  }
  static bool all_are(const std::byte* start, std::size_t units, unsigned char stamp) {
    for (std::size_t i = 0; i != units; ++i)
      if (start[i * span_unit] != std::byte{stamp}) return false;
    return true;
  }
  bool is_apart(std::byte* start, std::size_t units) {
    for (const auto& [other, run] : runs_)
      if (start < other + run.units * span_unit && other < start + units * span_unit) return false;
    return true;
  }

  Heap& heap_;
  std::mt19937 dice_;
  bool is_real_;
  std::map<std::byte*, known> runs_;
};

BOOST_AUTO_TEST_CASE(bins_ascend) {
  unsigned before = 0;
  for (std::size_t units = 1; units < 2'000'000; units += 1 + units / 50) {
    const unsigned bin = detail::run_bins::of(units);
    CHECK(bin >= before && bin < detail::run_bins::count && bin >= 1);
    before = bin;
  }
  CHECK(detail::run_bins::of(63) == 63 && detail::run_bins::of(64) == 64 && detail::run_bins::of(79) == 64);
  CHECK(detail::run_bins::of(80) == 65 && detail::run_bins::of(128) == 68);
}

BOOST_AUTO_TEST_CASE(runs_are_what_the_model_says) {
  using pages = choosy_pages<1>;
  static constinit detail::span_heap<pages> heap;
  heap.use({.kept_bytes = 2 * mib});
  for (unsigned seed = 1; seed != 4; ++seed) {
    model m(heap, seed, true);
    for (int i = 0; i != 3000; ++i) {
      m.step();
      CHECK(heap.counts().in_use == m.units() * span_unit);
    }
    CHECK(m.refused == 0);
  }
  CHECK(heap.counts().in_use == 0);
  CHECK(pages::advised != 0);
}

BOOST_AUTO_TEST_CASE(free_runs_are_joined) {
  using pages = paper_pages<1>;
  static constinit detail::span_heap<pages> heap;
  pages::regions = {{0x5000'1000'0000, 4096}};
  heap.use({.kept_bytes = 1024 * mib});
  {
    model m(heap, 5, false);
    for (int i = 0; i != 5000; ++i) m.step();
  }
  heap.clean(0);
  // All is one run again: where there was a piece, the largest that is open fits.
  const std::size_t open = heap.counts().open / span_unit;
  span_record* const all = heap.take(open, span_record::large);
  REQUIRE(all != nullptr);
  CHECK(heap.counts().open == open * span_unit);
  heap.give(*all);
}

BOOST_AUTO_TEST_CASE(a_heap_takes_the_run_that_fits_and_leaves_the_rest) {
  using pages = paper_pages<2>;
  static constinit detail::span_heap<pages> heap;
  pages::regions = {{0x5000'1000'0000, 4096}};
  heap.use({});
  span_record* const a = heap.take(4, span_record::large);
  span_record* const wall = heap.take(1, span_record::large);
  span_record* const b = heap.take(3, span_record::large);
  span_record* const other_wall = heap.take(1, span_record::large);
  std::byte* const place_of_b = b->start;
  heap.give(*a);
  heap.give(*b);
  span_record* const three = heap.take(3, span_record::large);
  CHECK(three->start == place_of_b);
  CHECK(three->is_dirty);
  heap.give(*three);
  heap.give(*wall);  // joins both
  span_record* const eight = heap.take(8, span_record::large);
  CHECK(eight->start == at(0x5000'1000'0000));
  heap.give(*eight);
  heap.give(*other_wall);
}

BOOST_AUTO_TEST_CASE(a_run_grows_where_it_lies) {
  using pages = paper_pages<3>;
  static constinit detail::span_heap<pages> heap;
  pages::regions = {{0x5000'1000'0000, 1024}};
  heap.use({});
  span_record* const a = heap.take(4, span_record::large);
  CHECK(heap.resize(*a, 500));  // into what isn't open yet
  CHECK(a->units == 500 && heap.counts().in_use == 500 * span_unit);
  CHECK(heap.resize(*a, 2));
  span_record* const b = heap.take(1, span_record::large);
  CHECK(b->start == a->end());
  CHECK(!heap.resize(*a, 3));
  heap.give(*b);
  CHECK(heap.resize(*a, 1024));
  CHECK(!heap.resize(*a, 1025));
  CHECK(a->units == 1024);
  heap.give(*a);
  CHECK(heap.counts().in_use == 0);
}

BOOST_AUTO_TEST_CASE(units_that_would_share_a_byte_of_the_map_are_refused) {
  using pages = paper_pages<4>;
  static constinit detail::span_heap<pages> heap;
  constexpr std::uintptr_t window = std::uintptr_t{1} << 40;
  constexpr std::uintptr_t first = 0x5000'1000'0000;
  heap.use({});
  pages::regions = {{first, 1024}};
  span_record* const a = heap.take(1024, span_record::large);
  REQUIRE(a != nullptr);
  pages::regions = {{first + window, 1024},
                    {first - 3 * window, 1024},
                    {first + window + 1023 * span_unit, 1024},
                    {first + window - 992 * span_unit, 1024},  // only its last units would
                    {window * 5 - 512 * span_unit, 1024},
                    {window * 3, 1024}};
  CHECK(heap.take(1024, span_record::large) == nullptr);
  for (int i = 0; i != 10; ++i) heap.take(1024, span_record::large);
  CHECK(pages::unmapped.size() == 6);
  CHECK(heap.counts().open == 1024 * span_unit);
  // As long as the system offers these, they are held.
  pages::regions = {{first + window, 1024}, {first + 2 * window, 1024}, {first + 1024 * span_unit, 1024}};
  pages::unmapped.clear();
  span_record* const b = heap.take(1024, span_record::large);
  REQUIRE(b != nullptr);
  CHECK(b->start == at(first + 1024 * span_unit) && pages::unmapped.size() == 2);
  heap.give(*a);
  heap.give(*b);
  span_record* const both = heap.take(2048, span_record::large);  // of two regions
  REQUIRE(both != nullptr);
  CHECK(both->start == at(first));
}

BOOST_AUTO_TEST_CASE(what_isnt_the_heaps_is_known_as_such) {
  using pages = paper_pages<5>;
  static constinit detail::span_heap<pages> heap;
  pages::regions = {{0x5000'1000'0000, 1024}};
  heap.use({});
  int local = 0;
  CHECK(heap.span_of(&local) == nullptr && heap.span_of(nullptr) == nullptr);
  span_record* const a = heap.take(4, span_record::blocks);
  heap.set_class(*a, 7);
  for (std::size_t i = 0; i != 4; ++i) {
    CHECK(heap.class_at(a->start + i * span_unit + 99) == 7);
    CHECK(heap.span_of(a->start + i * span_unit + 99) == a);
  }
  CHECK(heap.class_at(a->end()) == 0 && heap.class_at(nullptr) == 0 && heap.class_at(&local) == 0);
  CHECK(heap.span_of(a->start + (std::uintptr_t{1} << 40)) == nullptr);  // the same byte of the map
  CHECK(heap.give_at(&local) == detail::run_verdict::not_ours);
  CHECK(heap.give_at(a->start) == detail::run_verdict::not_a_start);
  heap.set_class(*a, 0);
  CHECK(heap.class_at(a->start) == 0 && heap.class_at(a->end() - 1) == 0);
  heap.give(*a);
  CHECK(heap.give_at(at(0x5000'1000'0000)) == detail::run_verdict::is_free);
}

BOOST_AUTO_TEST_CASE(memory_beyond_the_bound_goes_back) {
  using pages = choosy_pages<2>;
  static constinit detail::span_heap<pages> heap;
  heap.use({.kept_bytes = 4 * mib});
  std::vector<span_record*> runs;
  for (int i = 0; i != 20; ++i) {
    runs.push_back(heap.take(16, span_record::large));
    std::memset(runs.back()->start, 1, mib);
  }
  for (int i = 0; i != 3; ++i) heap.give(*runs[static_cast<std::size_t>(i)]);
  CHECK(!heap.is_dirty());
  for (std::size_t i = 3; i != 20; ++i) heap.give(*runs[i]);
  CHECK(heap.is_dirty());
  CHECK(heap.counts().kept == 20 * mib);
  CHECK(heap.clean_some() >= 16 * mib);
  CHECK(heap.counts().kept <= 4 * mib && !heap.is_dirty());
  CHECK(heap.clean(0) == 20 * mib - 20 * mib || heap.counts().kept == 0);
  span_record* const again = heap.take(16, span_record::large);
  CHECK(!again->is_dirty && again->start[12345] == std::byte{0});
}

/// What settle() of libtarn_malloc does.
template <class Heap>
void settle(Heap& heap) {
  if (heap.is_dirty()) heap.clean_some();
}
template <class Heap>
void breathe(Heap& heap, std::size_t blocks, std::size_t units) {
  std::vector<span_record*> runs(blocks);
  for (span_record*& run : runs) run = heap.take(units, span_record::large);
  for (span_record* const run : runs) heap.give(*run), settle(heap);
}

BOOST_AUTO_TEST_CASE(memory_that_is_wanted_again_is_kept_until_it_no_longer_is) {
  using pages = choosy_pages<7>;
  static constinit detail::span_heap<pages> heap;
  heap.use({.kept_bytes = 4 * mib});
  for (const auto& [blocks, units] : {std::pair<std::size_t, std::size_t>{1, 320}, {20, 16}, {300, 2}, {100, 16}}) {
    for (int i = 0; i != 4; ++i) breathe(heap, blocks, units);
    const unsigned before = pages::advised;
    for (int i = 0; i != 100; ++i) breathe(heap, blocks, units);
    CHECK(pages::advised <= before + 3);  // a little that was kept too long
    CHECK(heap.counts().kept <= 125 * mib);
  }
  CHECK(heap.counts().kept >= 100 * mib);
  const unsigned before = pages::advised;
  for (int i = 0; i != 40'000; ++i) breathe(heap, 1, 16);  // all that is used of it is 1 MiB
  CHECK(heap.counts().kept <= 4 * mib);
  CHECK(pages::advised < before + 200);
}

BOOST_AUTO_TEST_CASE(memory_that_isnt_wanted_again_goes_back) {
  using pages = choosy_pages<8>;
  static constinit detail::span_heap<pages> heap;
  heap.use({.kept_bytes = 4 * mib});
  breathe(heap, 100, 16);
  CHECK(heap.counts().kept <= 4 * mib);
  breathe(heap, 8, 16);  // a part of it was
  CHECK(heap.counts().kept <= 12 * mib);
}

BOOST_AUTO_TEST_CASE(large_runs_of_ever_different_sizes_have_memory) {
  using pages = choosy_pages<12>;
  static constinit detail::span_heap<pages> heap;
  heap.use({.kept_bytes = 16 * mib});
  std::mt19937 dice(1);
  std::vector<span_record*> live(20);
  std::size_t all = 0, fresh = 0, most = 0;
  for (int i = 0; i != 2000; ++i) {
    span_record*& old = live[dice() % live.size()];
    span_record* const run = heap.take(80 + dice() % 320, span_record::large);
    all += run->units;
    if (!run->is_dirty) fresh += run->units;
    most = std::max(most, heap.counts().in_use);
    if (old != nullptr) heap.give(*old), settle(heap);
    old = run;
    CHECK(heap.counts().in_use + heap.counts().kept <= std::max(most + 16 * mib, most + most * 3 / 4));
  }
  CHECK(fresh < all / 25);
}

BOOST_AUTO_TEST_CASE(memory_that_the_system_keeps_is_never_taken_for_zero) {
  using pages = choosy_pages<3>;
  static constinit detail::span_heap<pages> heap;
  heap.use({.kept_bytes = 0});
  pages::refuses_advice = true;
  span_record* run = heap.take(16, span_record::large);
  std::memset(run->start, 1, mib);
  heap.give(*run);
  CHECK(heap.is_dirty());
  CHECK(heap.clean(0) == 0);
  CHECK(!heap.is_dirty());  // it isn't asked again
  const unsigned before = pages::advised;
  CHECK(heap.clean(0) == 0);
  CHECK(pages::advised == before);
  run = heap.take(16, span_record::large);
  CHECK(run->is_dirty && run->start[0] == std::byte{1});
}

BOOST_AUTO_TEST_CASE(one_run_that_the_system_keeps_holds_no_other_back) {
  using pages = choosy_pages<11>;
  static constinit detail::span_heap<pages> heap;
  heap.use({.kept_bytes = 0});
  std::vector<span_record*> runs;
  for (int i = 0; i != 21; ++i) runs.push_back(heap.take(16, span_record::large));
  pages::locked = runs[10]->start;
  for (std::size_t i = 0; i < 21; i += 2) heap.give(*runs[i]);  // apart from each other
  CHECK(heap.clean(0) == 10 * mib);
  CHECK(heap.counts().kept == mib && !heap.is_dirty());
  const unsigned before = pages::advised;
  CHECK(heap.clean(0) == 0);
  CHECK(pages::advised == before);
  heap.give(*runs[1]);
  CHECK(heap.clean(0) == mib && pages::advised == before + 1);
  pages::locked = nullptr;
  CHECK(heap.trim() == mib);
  CHECK(heap.counts().kept == 0);
  span_record* const run = heap.take(16, span_record::large);
  heap.give(*run);
  CHECK(heap.clean(0) == mib);
}

BOOST_AUTO_TEST_CASE(whatever_the_system_refuses_leaves_the_heap_whole) {
  using pages = choosy_pages<4>;
  static constinit detail::span_heap<pages> heap;
  heap.use({.kept_bytes = mib});
  unsigned refused = 0;
  for (const bool all : {false, true})
    for (unsigned at = 1; at != 30; ++at) {
      pages::asked = 0;
      pages::refuses_at = at;
      pages::refuses_all = all;
      model m(heap, at, true);
      for (int i = 0; i != 60; ++i) m.step();
      if (span_record* const large = heap.take((all ? 90'000u : 20'000u) + at * 10, span_record::large)) heap.give(*large);
      else ++refused;
      refused += m.refused;
      pages::refuses_at = 0;
    }
  CHECK(refused != 0);
  CHECK(heap.counts().in_use == 0);
  model m(heap, 1, true);
  for (int i = 0; i != 500; ++i) m.step();
  CHECK(m.refused == 0);
}

// ---- moves ------------------------------------------------------------------------------------------------------------------

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t n = 0;
  for (std::string line; std::getline(maps, line);) ++n;
  return n;
}
bool all_are(const std::byte* start, std::size_t units, unsigned char stamp) {
  return std::all_of(start, start + units * span_unit, [=](std::byte one) { return one == std::byte{stamp}; });
}

BOOST_AUTO_TEST_CASE(a_run_moves_with_its_memory) {
  using pages = choosy_pages<13>;
  static constinit detail::span_heap<pages> heap;
  heap.use({});
  span_record* const a = heap.take(20, span_record::large);
  span_record* const wall = heap.take(1, span_record::large);
  std::byte* const place = a->start;
  std::memset(place, 7, 20 * span_unit);
  CHECK(!heap.resize(*a, 64));
  span_record* const b = heap.relocate(*a, 64);
  REQUIRE(b != nullptr);
  CHECK(all_are(b->start, 20, 7) && all_are(b->start + 20 * span_unit, 60, 0));
  CHECK(b->units == 80 && b->bytes_to_use() == 64 * span_unit && detail::address_of(b->start) % (2 * mib) == 0);
  CHECK(heap.counts().in_use == 81 * span_unit && heap.counts().kept == 0);
  CHECK(heap.give_at(place) == detail::run_verdict::is_free);
  std::memset(b->start, 8, 64 * span_unit);
  CHECK(heap.resize(*b, 80) && b->bytes_to_use() == 80 * span_unit);
  CHECK(!heap.resize(*b, 81));
  CHECK(heap.resize(*b, 40) && all_are(b->start, 40, 8) && all_are(b->start + 40 * span_unit, 40, 0));
  CHECK(b->units == 80 && heap.resize(*b, 32) && b->units == 40 && b->bytes_to_use() == 32 * span_unit);
  CHECK(all_are(b->start, 32, 8) && all_are(b->start + 32 * span_unit, 8, 0));
  CHECK(heap.counts().in_use == 41 * span_unit && heap.counts().kept == 0);
  CHECK(heap.span_of(b->start + 40 * span_unit)->is == span_record::unused);
  CHECK(!heap.resize(*b, 15));
  span_record* const again = heap.take(20, span_record::large);
  CHECK(again->start == place && !again->is_dirty && all_are(place, 20, 0));
  heap.give(*again);
  CHECK(heap.give_at(b->start + span_unit) == detail::run_verdict::not_a_start);
  CHECK(heap.give_at(b->start) == detail::run_verdict::done);
  heap.give(*wall);
  CHECK(heap.counts().in_use == 0 && heap.counts().kept == 21 * span_unit);
}

BOOST_AUTO_TEST_CASE(moves_leave_no_mappings) {
  using pages = choosy_pages<14>;
  static constinit detail::span_heap<pages> heap;
  heap.use({});
  std::vector<span_record*> runs(50);
  heap.give(*heap.take(50 * 300, span_record::large));
  heap.clean(0);
  const std::size_t before = mappings();
  for (span_record*& run : runs) run = heap.take(16, span_record::large);
  for (std::size_t units = 20; units != 220; units += 20)
    for (span_record*& run : runs) {
      if (heap.resize(*run, units)) continue;
      run = heap.relocate(*run, units);
      REQUIRE(run != nullptr);
      std::memset(run->start, 1, run->bytes_to_use());
    }
  CHECK(mappings() <= before + 2 * runs.size() + 2);
  for (span_record* const run : runs) CHECK(heap.give_at(run->start) == detail::run_verdict::done);
  CHECK(mappings() <= before + 4);  // of the library's own memory, too
  CHECK(heap.counts().in_use == 0 && heap.counts().kept == 0);
}

BOOST_AUTO_TEST_CASE(a_run_stays_if_it_cant_move) {
  using pages = choosy_pages<15>;
  static constinit detail::span_heap<pages> heap;
  heap.use({});
  span_record* const small = heap.take(15, span_record::large);
  span_record* const run = heap.take(16, span_record::large);
  std::memset(run->start, 9, 16 * span_unit);
  CHECK(heap.relocate(*small, 64) == nullptr);
  CHECK(heap.relocate(*run, ~std::size_t{0} / span_unit) == nullptr);
  for (const auto refusal : {pages::at_once, pages::after_unmapping}) {
    pages::of_moves = refusal;
    for (int i = 0; i != 20; ++i) {
      CHECK(heap.relocate(*run, 64) == nullptr && heap.relocate(*run, 1) == nullptr);
      CHECK(all_are(run->start, 16, 9) && run->is == span_record::large && heap.counts().in_use == 31 * span_unit);
    }
    heap.trim();
  }
  pages::of_moves = pages::none;
  pages::limit = 320 * mib;
  heap.trim();
  CHECK(heap.relocate(*run, 64) == nullptr);
  CHECK(heap.give_at(run->start) == detail::run_verdict::done);
}

BOOST_AUTO_TEST_CASE(what_another_thread_maps_meanwhile_is_its_own) {
  using pages = choosy_pages<16>;
  static constinit detail::span_heap<pages> heap;
  heap.use({});
  span_record* run = heap.take(16, span_record::large);
  pages::takes_places = true;
  std::vector<const std::byte*> theirs;
  for (int i = 0; i != 40; ++i)
    if (span_record* const to = heap.relocate(*run, run->units)) {
      run = to;
      theirs.push_back(static_cast<std::byte*>(pages::taken));
    }
  CHECK(theirs.size() == 16);  // then it moves no more
  for (unsigned seed = 1; seed != 4; ++seed) {
    model m(heap, seed, true);
    for (int i = 0; i != 500; ++i) m.step();
  }
  for (const std::byte* const page : theirs) {
    CHECK(std::all_of(page, page + 4096, [](std::byte one) { return one == std::byte{77}; }));
    CHECK(heap.give_at(const_cast<std::byte*>(page)) != detail::run_verdict::done);
  }
}

BOOST_AUTO_TEST_CASE(too_much_is_refused) {
  using pages = choosy_pages<5>;
  static constinit detail::span_heap<pages> heap;
  heap.use({});
  CHECK(heap.take(0, span_record::large) == nullptr);
  CHECK(heap.take(~std::size_t{0}, span_record::large) == nullptr);
  CHECK(heap.take(heap.most_units + 1, span_record::large) == nullptr);
  CHECK(heap.take(1, span_record::large, ~std::size_t{0}) == nullptr);
  span_record* const run = heap.take(1, span_record::large);
  CHECK(!heap.resize(*run, ~std::size_t{0}));
  heap.give(*run);
}

BOOST_AUTO_TEST_CASE(where_addresses_are_limited_others_have_what_is_free) {
  using pages = choosy_pages<9>;
  static constinit detail::span_heap<pages> heap;
  pages::limit = 320 * mib;
  heap.use({});
  span_record* const first = heap.take(1, span_record::large);
  CHECK(pages::reserved <= 2 * mib);
  heap.give(*first);
  for (int i = 0; i != 3; ++i) {
    breathe(heap, 200, 16);
    CHECK(pages::reserved <= 24 * mib);
    breathe(heap, 1500, 2);
    CHECK(pages::reserved <= 24 * mib);
  }
  {
    model m(heap, 3, true);
    for (int i = 0; i != 3000; ++i) m.step();
    CHECK(m.refused == 0 && heap.counts().in_use == m.units() * span_unit);
  }
  heap.trim();
  CHECK(pages::reserved == 0 && heap.counts().open == 0);
  span_record* const again = heap.take(100, span_record::large);
  REQUIRE(again != nullptr);
  std::byte* const start = again->start;
  heap.give(*again);
  heap.trim();
  CHECK(heap.give_at(start) != detail::run_verdict::done);
}

BOOST_AUTO_TEST_CASE(a_limit_that_comes_later_counts) {
  using pages = choosy_pages<10>;
  static constinit detail::span_heap<pages> heap;
  heap.use({});
  breathe(heap, 100, 16);
  pages::limit = 320 * mib;
  heap.trim();
  CHECK(pages::reserved < mib);  // what was left of the first region
}

using forked_pages = choosy_pages<6>;
constinit detail::span_heap<forked_pages> forked_heap;
int status_of_child = -1;

void fork_and_use() {
  forked_heap.act_at_fork(detail::fork_step::lock);
  const pid_t child = ::fork();
  if (child != 0) {
    forked_heap.act_at_fork(detail::fork_step::unlock);
    ::waitpid(child, &status_of_child, 0);
    return;
  }
  forked_heap.act_at_fork(detail::fork_step::renew);
  span_record* const again = forked_heap.take(16, span_record::large);
  const bool is_same = again != nullptr && again->is_dirty && again->start[5] == std::byte{1};
  if (is_same) forked_heap.give(*again);
  ::_exit(is_same && forked_heap.clean(0) == mib ? 0 : 1);
}

BOOST_AUTO_TEST_CASE(a_child_has_the_runs_that_were_being_cleaned) {
  forked_heap.use({.kept_bytes = 0});
  span_record* const run = forked_heap.take(16, span_record::large);
  std::memset(run->start, 1, mib);
  forked_heap.give(*run);
  forked_pages::in_advice = [] {
    forked_pages::in_advice = nullptr;
    std::thread(fork_and_use).join();
  };
  CHECK(forked_heap.clean(0) == mib);
  CHECK(WIFEXITED(status_of_child) && WEXITSTATUS(status_of_child) == 0);
  CHECK(forked_heap.counts().kept == 0);
}

/// As if a signal handler forked: in the child, the call that cleans goes on.
BOOST_AUTO_TEST_CASE(a_child_goes_on_cleaning) {
  static pid_t child = -1;
  span_record* const run = forked_heap.take(16, span_record::large);
  std::memset(run->start, 1, mib);
  forked_heap.give(*run);
  forked_pages::in_advice = [] {
    forked_pages::in_advice = nullptr;
    forked_heap.act_at_fork(detail::fork_step::lock);
    child = ::fork();
    forked_heap.act_at_fork(child != 0 ? detail::fork_step::unlock : detail::fork_step::renew);
  };
  const bool is_clean = forked_heap.clean(0) == mib && forked_heap.counts().kept == 0;
  if (child == 0) {
    span_record* const one = forked_heap.take(16, span_record::large);
    span_record* const other = forked_heap.take(16, span_record::large);
    ::_exit(is_clean && one != nullptr && other != nullptr && one != other && !one->is_dirty ? 0 : 1);
  }
  CHECK(is_clean);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// ---- blocks of classes ------------------------------------------------------------------------------------------------------

template <int Number>
struct blocks_rig {
  using heap_type = detail::span_heap<paper_pages<100 + Number>>;
  using spans_type = detail::class_spans<geometric_classes<16, 32768>, heap_type>;
  using table = typename spans_type::table;

  blocks_rig() {
    paper_pages<100 + Number>::regions = {{0x5000'1000'0000, 4096}};
    heap.use({.notes_use = true});
  }
  static inline constinit heap_type heap;
  spans_type spans{heap};
};

BOOST_AUTO_TEST_CASE(blocks_of_a_class_are_apart_and_come_in_order) {
  using rig = blocks_rig<1>;
  rig r;
  for (unsigned c = 1; c != rig::table::count; ++c) {
    std::vector<detail::cache_word> got(1000);
    CHECK(r.spans.fill(c, got.data(), 1000) == 1000);
    CHECK(r.spans.handed_out(c) == 1000);
    if (c == 1) CHECK(std::is_sorted(got.begin(), got.end()));  // later, spans are used again
    std::vector<detail::cache_word> sorted = got;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 1; i != got.size(); ++i) CHECK(sorted[i] >= sorted[i - 1] + rig::table::bytes(c));
    for (const detail::cache_word block : got) {
      const std::byte* const last = at(block) + rig::table::bytes(c) - 1;
      CHECK(r.heap.class_at(at(block)) == c && r.heap.class_at(last) == c);
    }
    CHECK(r.spans.units(c) * span_unit >= 1000 * rig::table::bytes(c));
    std::shuffle(got.begin(), got.end(), std::mt19937(c));
    r.spans.drain(c, got.data(), 1000);
    CHECK(r.spans.handed_out(c) == 0);
    CHECK(r.spans.units(c) == (rig::table::bytes(c) <= 8192 ? 1 : 4));  // the last span is kept
    CHECK(r.spans.suspect() == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(no_block_is_handed_out_while_it_is_in_use) {
  using rig = blocks_rig<2>;
  rig r;
  std::mt19937 dice(3);
  std::vector<detail::cache_word> held;
  const unsigned c = rig::table::of(48);
  for (int round = 0; round != 2000; ++round) {
    detail::cache_word some[64];
    const auto n = static_cast<std::uint32_t>(1 + dice() % 64);
    if (dice() % 2 == 0 || held.size() < n) {
      REQUIRE(r.spans.fill(c, some, n) == n);
      held.insert(held.end(), some, some + n);
    } else {
      std::shuffle(held.begin(), held.end(), dice);
      r.spans.drain(c, held.data() + held.size() - n, n);
      held.resize(held.size() - n);
    }
    if (round % 100 == 0) {
      std::vector<detail::cache_word> sorted = held;
      std::sort(sorted.begin(), sorted.end());
      CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
      CHECK(r.spans.handed_out(c) == held.size());
    }
  }
  CHECK(r.spans.suspect() == nullptr);
}

BOOST_AUTO_TEST_CASE(what_a_drain_finds_wrong_changes_nothing) {
  using rig = blocks_rig<3>;
  rig r;
  const unsigned c = rig::table::of(64), other = rig::table::of(128);
  detail::cache_word blocks[4], others[1];
  r.spans.fill(c, blocks, 4);
  r.spans.fill(other, others, 1);
  r.spans.drain(c, blocks, 1);
  const detail::cache_word wrong[] = {blocks[0], blocks[1] + 16, others[0], 0x1234'5678'0000, blocks[3] + 64, blocks[3] + 8};
  for (const detail::cache_word block : wrong) {
    r.spans.drain(c, &block, 1);
    CHECK(r.spans.suspect() == at(block));
    CHECK(r.spans.suspect() == nullptr);
    CHECK(r.spans.handed_out(c) == 3);
  }
  const detail::cache_word mixed[] = {blocks[1], wrong[3], blocks[2]};
  r.spans.drain(c, mixed, 3);
  CHECK(r.spans.handed_out(c) == 1);
  detail::cache_word again[3];
  CHECK(r.spans.fill(c, again, 3) == 3);
  CHECK(std::equal(again, again + 3, blocks));
}

BOOST_AUTO_TEST_CASE(a_bit_says_whether_a_block_is_in_use) {
  using rig = blocks_rig<4>;
  rig r;
  const unsigned c = rig::table::of(16);
  detail::cache_word blocks[200];
  r.spans.fill(c, blocks, 200);
  const span_record* const span = r.heap.span_of(at(blocks[0]));
  for (std::uint32_t i = 0; i != 200; ++i) {
    CHECK(!r.heap.note_use(*span, i, false));
    CHECK(r.heap.note_use(*span, i, true));
    CHECK(!r.heap.note_use(*span, i, true));
  }
  for (std::uint32_t i = 0; i != 200; ++i) {
    CHECK(r.heap.note_use(*span, i, false));
    CHECK(!r.heap.note_use(*span, i, false));
  }
}

BOOST_AUTO_TEST_CASE(growth_is_told) {
  using rig = blocks_rig<5>;
  rig r;
  CHECK(!r.heap.has_grown());
  std::vector<span_record*> runs;
  for (int i = 0; i != 15; ++i) runs.push_back(r.heap.take(1, span_record::large));
  CHECK(!r.heap.has_grown());
  r.heap.give(*runs.back());
  runs.back() = r.heap.take(1, span_record::large);  // has memory: no growth
  CHECK(!r.heap.has_grown());
  for (int i = 0; i != 2; ++i) runs.push_back(r.heap.take(1, span_record::large));  // the first was joined to one with memory
  CHECK(r.heap.has_grown());
  r.heap.forget_growth();
  CHECK(!r.heap.has_grown());
}

}  // namespace
}  // namespace tarn::test
