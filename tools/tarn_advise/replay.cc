// Does the steps that replay_convert.cc wrote, once, as the program did them, and prints one line of JSON.
//
//   replay STEPS [own|check] COLUMN=NUMBER...
//
// COLUMN=NUMBER: blocks of that column come from the composition of that number (replay_columns.h); the others from malloc.
// own: the time of each column's steps, too, which makes the whole slower.
// check: no times, but how many calls went to each column.

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tarn_record/resident.h"
#include "replay_columns.h"
#include "replay_file.h"

namespace {

using namespace tarn_advise;
using tarn_record::is_written;

const char* name_of_malloc() {
  const auto is_here = [](const char* symbol) { return dlsym(RTLD_DEFAULT, symbol) != nullptr; };
  Dl_info of_malloc{};
  if (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0 && of_malloc.dli_fname != nullptr &&
      std::strstr(of_malloc.dli_fname, "libtarn_malloc.so") != nullptr) {
    return "libtarn_malloc";
  }
  return is_here("mallctl") ? "jemalloc" : is_here("tc_version") ? "tcmalloc" : is_here("mi_version") ? "mimalloc" : "malloc";
}

double seconds_of(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
std::uint64_t page_faults() {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_minflt);
}
[[gnu::always_inline]] inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000 + static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

/// Of a call: another process had the core, and the call doesn't count. 50 us at 2 GHz.
constexpr std::uint64_t longest = 100'000;

/// Memory that is there from the start.
template <class T>
T* memory_of(std::size_t count) {
  void* const found = ::mmap(nullptr, std::max<std::size_t>(count * sizeof(T), 1), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (found == MAP_FAILED) std::abort();
  return static_cast<T*>(found);
}

struct alignas(64) table {
  std::array<column, most_columns> all;
};

class worker;
struct work {
  const char* file = nullptr;
  const replay_header* header = nullptr;
  void** blocks = nullptr;
  table columns;
  std::vector<worker*> workers;

  template <class T>
  const T* at(std::uint64_t place) const {
    return reinterpret_cast<const T*>(file + place);
  }
};

/// One of the program's threads.
class alignas(64) worker {
 public:
  worker(const work& all, const replay_thread& its)
      : all_(all), steps_(all.at<step>(its.steps)), hold_(all.at<hold>(its.holds)), last_hold_(hold_ + its.hold_count) {}

  /// Does the steps of numbers [from, to).
  template <bool Own>
  void run(std::uint64_t from, std::uint64_t to) {
    const double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (std::uint64_t at = from; at != to; ++at) {
      while (hold_ != last_hold_ && hold_->before == at) wait(*hold_++);
      const step& it = steps_[at];
      if constexpr (Own) {
        const std::uint64_t begin = ticks();
        lost += do_step(all_, it);
        const std::uint64_t took = ticks() - begin;
        own[it.column] += took < longest ? took : 0;
        calls[it.column] += took < longest;
      } else {
        lost += do_step(all_, it);
      }
      done.store(at + 1, std::memory_order_release);
    }
    seconds += seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
  }

  /// Returns how many blocks had lost what was written to them.
  [[gnu::always_inline]] static std::size_t do_step(const work& all, const step& it) {
    const column& its = all.columns.all[it.column];
    void*& block = all.blocks[it.place];
    std::size_t lost = 0;
    switch (it.what) {
      case step_kind::take:
        block = its.take(its.self, it.bytes, std::size_t{1} << it.alignment);
        tarn_record::write(block, 0, it);
        break;
      case step_kind::take_zeroed:
        block = its.zeroed(its.self, it.bytes, std::size_t{1} << it.alignment);
        tarn_record::write(block, 0, it);
        break;
      case step_kind::resize:
        block = std::realloc(block, it.bytes);
        tarn_record::write(block, it.old_bytes < sizeof(std::uint64_t) ? 0 : it.old_bytes, it);
        break;
      case step_kind::give:
        lost = !is_written(block, it);
        its.give(its.self, block, it.bytes, std::size_t{1} << it.alignment);
        break;
    }
    asm volatile("" : : : "memory");
    return lost;
  }

  std::atomic<std::uint64_t> done = 0;
  std::size_t lost = 0;
  double seconds = 0;
  std::array<std::uint64_t, most_columns> own{}, calls{};

 private:
  /// The time doesn't count: what the program did meanwhile isn't known.
  void wait(const hold& its) {
    const std::atomic<std::uint64_t>& other = all_.workers[its.thread]->done;
    if (other.load(std::memory_order_acquire) >= its.until) return;
    const double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    while (other.load(std::memory_order_acquire) < its.until) ::sched_yield();
    seconds -= seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
  }

  const work& all_;
  const step* const steps_;
  const hold* hold_;
  const hold* const last_hold_;
};

/// Counts the calls of another column.
struct counted {
  column its;
  std::atomic<std::uint64_t> taken{0}, given{0};

  static void* take(void* self, std::size_t bytes, std::size_t alignment) {
    auto& [its, taken, given] = *static_cast<counted*>(self);
    ++taken;
    return its.take(its.self, bytes, alignment);
  }
  static void* zeroed(void* self, std::size_t bytes, std::size_t alignment) {
    auto& [its, taken, given] = *static_cast<counted*>(self);
    ++taken;
    return its.zeroed(its.self, bytes, alignment);
  }
  static void give(void* self, void* block, std::size_t bytes, std::size_t alignment) {
    auto& [its, taken, given] = *static_cast<counted*>(self);
    ++given;
    its.give(its.self, block, bytes, alignment);
  }
};

template <std::size_t... Columns>
void fill(table& to, std::uint64_t operators, std::index_sequence<Columns...>) {
  ((to.all[Columns] = (operators >> Columns & 1) != 0 ? operator_column<Columns>::make() : heap_column<Columns>::make()), ...);
}

/// Null, or what is wrong with a COLUMN=NUMBER.
const char* choose(work& to, const char* words) {
  char* end = nullptr;
  const std::uint64_t column = std::strtoull(words, &end, 10);
  if (*end != '=' || column == 0 || column >= to.header->column_count) return "there is no such column";
  const std::uint64_t number = std::strtoull(end + 1, &end, 10);
  for (std::size_t at = 0; at != choice_count; ++at) {
    const choice& its = choices[at];
    if (its.of != column || its.number != number) continue;
    if ((to.header->resized_columns >> column & 1) != 0) return "blocks of this site are reallocated, which a pool can't do";
    if ((to.header->shared_columns >> column & 1) != 0 && !its.is_for_threads) {
      return "several threads use this site, and the composition has no locking policy";
    }
    to.columns.all[column] = its.make();
    return nullptr;
  }
  return "there is no such composition";
}

/// How many functions there are behind the pointers.
std::size_t targets_of(const work& all) {
  std::set<void*> found;
  for (std::size_t at = 0; at != all.header->column_count; ++at) {
    const column& its = all.columns.all[at];
    found.insert(reinterpret_cast<void*>(its.take));
    found.insert(reinterpret_cast<void*>(its.give));
  }
  return found.size();
}

struct outcome {
  double seconds = 0;
  std::size_t held = 0, lost = 0;
  std::uint64_t faults = 0;
};

/// Up to the step after which the program has the most bytes; then the rest.
template <bool Own>
outcome run(work& all) {
  outcome found;
  std::vector<std::uint64_t> ends;
  const std::size_t before = tarn_record::resident_bytes();
  for (std::uint64_t at = 0; at != all.header->prelude_count; ++at) {
    worker::do_step(all, all.at<step>(all.header->prelude)[at]);
  }
  const std::size_t count = all.workers.size();
  std::barrier together{static_cast<std::ptrdiff_t>(count)};
  const auto do_part = [&](std::size_t number) {
    const replay_thread& its = all.header->threads[number];
    all.workers[number]->run<Own>(0, its.fullest);
    together.arrive_and_wait();
    if (number == 0) {
      const std::size_t now = tarn_record::resident_bytes();
      found.held = now - std::min(now, before);
    }
    together.arrive_and_wait();
    all.workers[number]->run<Own>(its.fullest, its.step_count);
  };
  std::vector<std::thread> others;
  others.reserve(count);
  const std::uint64_t faults = page_faults();
  for (std::size_t at = 1; at != count; ++at) others.emplace_back(do_part, at);
  do_part(0);
  for (std::thread& one : others) one.join();
  found.faults = page_faults() - faults;
  for (const worker* const one : all.workers) {
    found.seconds += one->seconds;
    found.lost += one->lost;
  }
  for (std::uint64_t at = 0; at != all.header->left_count; ++at) {
    found.lost += worker::do_step(all, all.at<step>(all.header->left)[at]);
  }
  return found;
}

/// Nanoseconds of a tick, and the ticks between two readings.
std::pair<double, double> measure_ticks() {
  const double start = seconds_of(CLOCK_MONOTONIC);
  const std::uint64_t begin = ticks();
  std::uint64_t least = ~std::uint64_t{0};
  while (seconds_of(CLOCK_MONOTONIC) - start < 0.01) {
    for (int i = 0; i != 100; ++i) {
      const std::uint64_t one = ticks();
      least = std::min(least, ticks() - one);
    }
  }
  const double all = static_cast<double>(ticks() - begin);
  return {(seconds_of(CLOCK_MONOTONIC) - start) * 1e9 / all, static_cast<double>(least)};
}

void* take_nothing(void*, std::size_t, std::size_t) { return nullptr; }

/// Nanoseconds of a call through a pointer, as each step has one. A program that was changed as advised has the pool's code in
/// place instead. The least of some rounds.
double measure_call() {
  constexpr int calls = 20'000;
  void* (*volatile given)(void*, std::size_t, std::size_t) = take_nothing;
  const auto take = given;
  double least = 1e9;
  for (int round = 0; round != 50; ++round) {
    const auto begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i != calls; ++i) asm volatile("" : : "r"(i));
    const auto between = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i != calls; ++i) asm volatile("" : : "r"(take(nullptr, static_cast<std::size_t>(i), 16)));
    const auto end = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    least = std::min(least, ((end - between) - (between - begin)) * 1e9 / calls);
  }
  return std::max(least, 0.0);
}

void print_own(const work& all) {
  const auto [rate, empty] = measure_ticks();
  const char* comma = ", \"own_ns\": [";
  for (std::size_t at = 0; at != all.header->column_count; ++at, comma = ", ") {
    double sum = 0, calls = 0;
    for (const worker* const one : all.workers) {
      sum += static_cast<double>(one->own[at]);
      calls += static_cast<double>(one->calls[at]);
    }
    std::printf("%s%.1f", comma, std::max(0.0, sum - calls * empty) * rate);
  }
  std::printf("]");
}

void print_counts(const std::array<counted, most_columns>& counts, std::size_t columns) {
  const char* comma = ", \"calls\": [";
  for (std::size_t at = 0; at != columns; ++at, comma = ", ") {
    std::printf("%s[%" PRIu64 ", %" PRIu64 "]", comma, counts[at].taken.load(), counts[at].given.load());
  }
  std::printf("]");
}

/// The steps, all of which are in memory. Null: they can't be read.
const char* mapped(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat about{};
  if (file < 0 || ::fstat(file, &about) != 0 || static_cast<std::size_t>(about.st_size) < sizeof(replay_header)) return nullptr;
  void* const found = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  ::close(file);
  if (found == MAP_FAILED) return nullptr;
  const auto& header = *static_cast<const replay_header*>(found);
  const bool is_whole = header.magic == replay_magic && header.bytes == static_cast<std::uint64_t>(about.st_size);
  return is_whole ? static_cast<const char*>(found) : nullptr;
}

int complain(const char* about, const char* what) {
  std::fprintf(stderr, "%s: %s\n", about, what);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return complain("usage", "replay STEPS [own|check] COLUMN=NUMBER...");
  static work all;
  all.file = mapped(argv[1]);
  if (all.file == nullptr) return complain(argv[1], "no steps of a replay, or not all of them");
  all.header = all.at<replay_header>(0);
  fill(all.columns, all.header->operator_columns, std::make_index_sequence<most_columns>{});
  const std::string_view mode = argc > 2 ? argv[2] : "";
  const bool is_own = mode == "own", is_check = mode == "check";
  for (int at = is_own || is_check ? 3 : 2; at < argc; ++at) {
    if (const char* const wrong = choose(all, argv[at]); wrong != nullptr) return complain(argv[at], wrong);
  }
  const std::size_t targets = targets_of(all);
  static std::array<counted, most_columns> counts;
  for (std::size_t at = 0; is_check && at != most_columns; ++at) {
    counts[at].its = all.columns.all[at];
    all.columns.all[at] = {counted::take, counted::zeroed, counted::give, &counts[at]};
  }
  all.blocks = memory_of<void*>(all.header->place_count);
  auto* const workers = memory_of<worker>(all.header->thread_count);
  for (std::size_t at = 0; at != all.header->thread_count; ++at) {
    all.workers.push_back(new (&workers[at]) worker{all, all.header->threads[at]});
  }
  const outcome found = is_own ? run<true>(all) : run<false>(all);
  std::printf("{\"malloc\": \"%s\", \"targets\": %zu, \"lost\": %zu", name_of_malloc(), targets, found.lost);
  if (is_check) {
    print_counts(counts, all.header->column_count);
  } else {
    std::printf(", \"seconds\": %.9f, \"faults\": %" PRIu64 ", \"held\": %zu", found.seconds, found.faults, found.held);
    std::printf(", \"call_ns\": %.4f", measure_call());
  }
  if (is_own) print_own(all);
  std::puts("}");
  return 0;
}
