// Question: what does a pool cost that many threads share, as their number grows; where each keeps to its own blocks, where
// one thread allocates and another frees, and where objects move between all of them? Blocks of 64 bytes.
//
// The malloc of the process is a column, too: glibc's, or the one that LD_PRELOAD put in its place. bench/processes.py runs
// this program once for each column, row and round.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tarn/bench/compositions.h"
#include "tarn/bench/heap.h"
#include "tarn/bench/loops.h"
#include "tarn/bench/team.h"
#include "tarn/bench/threads_reference.h"

namespace tarn_bench {
namespace {

struct arrays : bare_arrays<64> {
  static constexpr const char* name = "bare_arrays";
};
struct lists : bare_lists<64> {
  static constexpr const char* name = "bare_lists";
};
struct tarn_cached : pooled<tarn::pool<tarn::static_size<64>, tarn::thread_cached<>>> {
  static constexpr const char* name = "tarn_cached";
};
struct tarn_static_cached : static_column<64, tarn::thread_cached<>> {
  static constexpr const char* name = "tarn_static_cached";
};
struct tarn_lock_free : pooled<tarn::pool<tarn::static_size<64>, tarn::lock_free>> {
  static constexpr const char* name = "tarn_lock_free";
};
struct tarn_spin : pooled<tarn::pool<tarn::static_size<64>, tarn::mutex_locking<tarn::spin_mutex>>> {
  static constexpr const char* name = "tarn_spin";
};

using shared = columns<heap<64>, arrays, lists, tarn_cached, tarn_static_cached, tarn_lock_free, tarn_spin, tarn_mutex<64>>;

/// An allocation and a free, one after the other.
template <class Column>
struct pair_work {
  static constexpr std::size_t operations = 1;
  Column& column;

  explicit pair_work(Column& pool, unsigned) : column(pool) {}
  void begin(unsigned) {}
  void lap(unsigned, std::size_t count) { pairs(column, count); }
  void end(unsigned) {}
};

/// 10,000 live blocks a thread; bursts of 64 random frees and 64 allocations.
template <class Column>
struct churn_work {
  static constexpr std::size_t operations = 64;
  struct alignas(64) member {
    std::vector<void*> live;
    random_source random{42};
  };
  Column& column;
  std::vector<member> members;

  churn_work(Column& pool, unsigned threads) : column(pool), members(threads) {}
  void begin(unsigned me) {
    members[me].live.resize(10'000);
    members[me].random = random_source{42 + me};
    fill(column, members[me].live);
  }
  void lap(unsigned me, std::size_t bursts) { churn(column, members[me].live, members[me].random, bursts); }
  void end(unsigned me) { empty(column, members[me].live); }
};

/// Shelves of 1000 objects, one more than threads. A thread replaces 2000 times an object at random, puts its shelf on the
/// table and takes the one that lies there, which another thread put there: who comes too early waits. So with two threads
/// and more, two of five objects that are freed were allocated by another thread.
template <class Column>
struct migration_work {
  static constexpr std::size_t operations = 2000;
  struct alignas(64) shelf {
    std::vector<void*> objects;
    std::atomic<unsigned> last = 0;
  };
  struct alignas(64) member {
    shelf* own = nullptr;
    random_source random{42};
    std::size_t laps = 0;
    std::size_t visits = 0;
    std::size_t moves = 0;  // shelves that another thread had before
  };
  Column& column;
  std::vector<shelf> shelves;
  std::vector<member> members;
  alignas(64) std::atomic<shelf*> table;
  alignas(64) std::atomic<std::size_t> finished = 0;

  migration_work(Column& pool, unsigned threads) : column(pool), shelves(threads + 1), members(threads) {
    table = prepare(shelves.back(), threads);
  }
  ~migration_work() { empty(column, table.load()->objects); }
  shelf* prepare(shelf& one, unsigned owner) {
    one.objects.resize(1000);
    one.last = owner;
    fill(column, one.objects);
    return &one;
  }
  void begin(unsigned me) {
    members[me].own = prepare(shelves[me], me);
    members[me].random = random_source{42 + me};
  }
  void end(unsigned me) { empty(column, members[me].own->objects); }

  void lap(unsigned me, std::size_t count) {
    member& own = members[me];
    own.visits += count;
    const std::size_t alone = ++own.laps * members.size() - 1;  // all others are through with this lap
    for (; count != 0; --count) {
      own.own->last.store(me, std::memory_order_relaxed);
      replace(column, own.own->objects, own.random, operations);
      spin_until([&] { return table.load(std::memory_order_acquire)->last != me || finished == alone; });
      own.own = table.exchange(own.own, std::memory_order_acq_rel);
      own.moves += own.own->last.load(std::memory_order_relaxed) != me;
    }
    ++finished;
  }
  double moved() const {
    std::size_t visits = 0;
    std::size_t moves = 0;
    for (const member& each : members) {
      visits += each.visits;
      moves += each.moves;
    }
    return static_cast<double>(moves) / static_cast<double>(visits);
  }
};

/// One thread allocates and writes, the other reads and frees; 1024 objects at most are on their way. Both publish their
/// progress after `Batch` objects, and who finds nothing to do waits until there is work for `Wait`.
template <class Column, std::size_t Batch, std::size_t Wait>
struct queue_work {
  static constexpr std::size_t operations = 64;
  static constexpr std::size_t places = 1024;
  Column& column;
  alignas(64) std::array<void*, places> ring;
  alignas(64) std::atomic<std::size_t> written = 0;
  std::size_t known_read = 0;  // the producer's
  alignas(64) std::atomic<std::size_t> read = 0;
  std::size_t known_written = 0;  // the consumer's
  std::size_t faults = 0;

  queue_work(Column& pool, unsigned) : column(pool) {}
  void begin(unsigned) {}
  void end(unsigned) {}
  void lap(unsigned me, std::size_t count) { me == 0 ? produce(count * operations) : consume(count * operations); }

  TARN_BENCH_LOOP void produce(std::size_t count) {
    std::size_t at = written.load(std::memory_order_relaxed);
    for (const std::size_t end = at + count; at != end;) {
      if (at + Batch - known_read > places) {
        spin_until([&] { return at + Wait - (known_read = read.load(std::memory_order_acquire)) <= places; });
      }
      for (std::size_t i = 0; i < Batch; ++i, ++at) ring[at % places] = take_block(column, at);
      written.store(at, std::memory_order_release);
    }
  }
  TARN_BENCH_LOOP void consume(std::size_t count) {
    std::size_t at = read.load(std::memory_order_relaxed);
    for (const std::size_t end = at + count; at != end;) {
      if (at == known_written) {
        const std::size_t wanted = std::min(Wait, end - at);
        spin_until([&] { return (known_written = written.load(std::memory_order_acquire)) - at >= wanted; });
      }
      for (std::size_t i = 0; i < Batch; ++i, ++at) {
        void* const block = ring[at % places];
        faults += *static_cast<std::size_t*>(block) != at;
        free_block(column, block);
      }
      read.store(at, std::memory_order_release);
    }
  }
};
template <class Column>
struct batch_work : queue_work<Column, 64, 64> {
  using batch_work::queue_work::queue_work;
};
template <class Column>
struct item_work : queue_work<Column, 1, 32> {
  using item_work::queue_work::queue_work;
};

/// A row; a queue keeps two threads busy with one object, which counts once.
template <template <class> class Work>
void add_row(const char* row, unsigned threads, unsigned busy) {
  const auto body = [threads, busy]<class Column>(benchmark::State& state) {
    alignas(64) Column column;
    alignas(64) Work<Column> work{column, threads};
    measure_team(state, threads, busy, work);
    if constexpr (requires { work.moved(); }) state.counters["moved"] = work.moved();
    if constexpr (requires { work.faults; }) {
      if (work.faults != 0) state.SkipWithError("an object arrived with another's content");
    }
  };
  add("threads", row, shared{}, body, [](auto* benchmark) { benchmark->Iterations(1)->UseManualTime(); });
}

}  // namespace

void register_benchmarks() {
  for (const unsigned threads : {1U, 2U, 4U, 8U}) {
    const std::string suffix = "_" + std::to_string(threads);
    add_row<pair_work>(("pair" + suffix).c_str(), threads, threads);
    add_row<churn_work>(("churn" + suffix).c_str(), threads, threads);
    add_row<migration_work>(("migrate" + suffix).c_str(), threads, threads);
  }
  add_row<batch_work>("batches", 2, 1);
  add_row<item_work>("items", 2, 1);
}

}  // namespace tarn_bench
