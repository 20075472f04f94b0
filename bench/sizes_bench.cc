// Question: what do blocks of mixed sizes cost that many threads allocate, 16 to 1024 bytes at random; where each thread frees
// at once, where it keeps some thousand, and where another thread frees? The figure is CPU time.
//
// The malloc of the process is a column, too: bench/processes.py runs this program once for each column, row and round.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tarn/bench/loops.h"
#include "tarn/bench/sized_columns.h"
#include "tarn/bench/team.h"

namespace tarn_bench {
namespace {

using shared = columns<heap_of_sizes, std_sync, tarn_classes_cached, tarn_sync, tarn_xmalloc>;

// ---- sizes --------------------------------------------------------------------------------------------------------------

/// More sizes than a branch predictor learns; drawn before the clock starts.
const std::vector<std::uint16_t>& all_sizes() {
  static const std::vector<std::uint16_t> all = [] {
    random_source random{7};
    std::vector<std::uint16_t> drawn(std::size_t{1} << 20);
    for (std::uint16_t& size : drawn) size = static_cast<std::uint16_t>(16 + random.below(1024 - 16 + 1));
    return drawn;
  }();
  return all;
}

/// The sizes in turn; each thread starts elsewhere.
class size_source {
 public:
  explicit size_source(unsigned thread) : at_(thread * all_sizes().size() / 8) {}
  std::size_t next() { return sizes_[at_++ % count]; }

 private:
  static constexpr std::size_t count = std::size_t{1} << 20;
  const std::uint16_t* sizes_ = all_sizes().data();
  std::size_t at_;
};

struct sized_block {
  void* address;
  std::size_t bytes;
};
template <class Column>
[[gnu::always_inline]] inline sized_block take_sized(Column& column, size_source& sizes, std::size_t value) {
  const std::size_t bytes = sizes.next();
  void* const block = column.take(bytes);
  *static_cast<std::size_t*>(block) = value;
  keep(block);
  return {block, bytes};
}
/// The compiler forgets all memory after it, as free_block() says.
template <class Column>
[[gnu::always_inline]] inline void free_sized(Column& column, sized_block block) {
  column.give(block.address, block.bytes);
  benchmark::ClobberMemory();
}

// ---- the loads ----------------------------------------------------------------------------------------------------------
// The loops have copies of the sources in registers: in memory, which is forgotten after each call, counting alone would cost
// as much as a fast allocation.

/// What each thread has for itself.
struct alignas(64) member {
  size_source sizes;
  random_source random;
  std::vector<sized_block> live;

  explicit member(unsigned me) : sizes(me), random(42 + me) {}
};
std::vector<member> members_of(unsigned threads) {
  std::vector<member> all;
  for (unsigned i = 0; i < threads; ++i) all.emplace_back(i);
  return all;
}

/// An allocation and a free, one after the other.
template <class Column>
struct pair_work {
  static constexpr std::size_t operations = 64;
  Column& column;
  std::vector<member> members;

  pair_work(Column& pool, unsigned threads) : column(pool), members(members_of(threads)) {}
  void begin(unsigned) {}
  void lap(unsigned me, std::size_t count) { run(column, members[me], count * operations); }
  void end(unsigned) {}

  TARN_BENCH_LOOP static void run(Column& column, member& own, std::size_t count) {
    size_source sizes = own.sizes;
    for (; count != 0; --count) free_sized(column, take_sized(column, sizes, count));
    own.sizes = sizes;
  }
};

/// 4096 live blocks a thread: one at random is freed, and one of another size allocated in its place.
template <class Column>
struct churn_work {
  static constexpr std::size_t operations = 64;
  static constexpr std::size_t live_blocks = 4096;
  Column& column;
  std::vector<member> members;

  churn_work(Column& pool, unsigned threads) : column(pool), members(members_of(threads)) {}
  void begin(unsigned me) {
    members[me].live.resize(live_blocks);
    for (sized_block& block : members[me].live) block = take_sized(column, members[me].sizes, me);
  }
  void lap(unsigned me, std::size_t count) { run(column, members[me], count * operations); }
  void end(unsigned me) {
    for (const sized_block block : members[me].live) free_sized(column, block);
  }

  TARN_BENCH_LOOP static void run(Column& column, member& own, std::size_t count) {
    size_source sizes = own.sizes;
    random_source random = own.random;
    sized_block* const live = own.live.data();
    for (; count != 0; --count) {
      sized_block& place = live[random.below(live_blocks)];
      free_sized(column, place);
      place = take_sized(column, sizes, count);
    }
    own.sizes = sizes;
    own.random = random;
  }
};

/// 1024 blocks on their way from the thread that allocates and writes to the one that reads and frees. Both publish their
/// progress after 64 blocks; who finds nothing to do waits for half of the places, so seldom, and counts how long.
template <class Column>
class queue {
 public:
  static constexpr std::size_t places = 1024;
  static constexpr std::size_t batch = 64;

  TARN_BENCH_LOOP void produce(Column& column, member& own, std::size_t count) {
    size_source sizes = own.sizes;
    producer_waited = 0;
    std::size_t at = written_.load(std::memory_order_relaxed);
    for (const std::size_t end = at + count; at != end;) {
      if (at + batch - known_read_ > places) {
        wait(producer_waited, [&] { return at + half - (known_read_ = read_.load(std::memory_order_acquire)) <= places; });
      }
      for (std::size_t i = 0; i < batch; ++i, ++at) ring_[at % places] = take_sized(column, sizes, at);
      written_.store(at, std::memory_order_release);
    }
    own.sizes = sizes;
  }
  TARN_BENCH_LOOP void consume(Column& column, std::size_t count) {
    consumer_waited = 0;
    std::size_t at = read_.load(std::memory_order_relaxed);
    for (const std::size_t end = at + count; at != end;) {
      if (at == known_written_) {
        const std::size_t wanted = std::min(half, end - at);
        wait(consumer_waited, [&] { return (known_written_ = written_.load(std::memory_order_acquire)) - at >= wanted; });
      }
      for (std::size_t i = 0; i < batch; ++i, ++at) {
        const sized_block block = ring_[at % places];
        faults += *static_cast<std::size_t*>(block.address) != at;
        free_sized(column, block);
      }
      read_.store(at, std::memory_order_release);
    }
  }

  alignas(64) double producer_waited = 0;
  alignas(64) double consumer_waited = 0;
  std::size_t faults = 0;

 private:
  static constexpr std::size_t half = places / 2;

  template <class Done>
  [[gnu::noinline]] static void wait(double& sum, Done done) {
    if (done()) return;  // no clock, where there is something to do
    stopwatch time{sum};
    spin_until(done);
    time.stop();
  }

  alignas(64) std::array<sized_block, places> ring_;
  alignas(64) std::atomic<std::size_t> written_ = 0;
  std::size_t known_read_ = 0;  // the producer's
  alignas(64) std::atomic<std::size_t> read_ = 0;
  std::size_t known_written_ = 0;  // the consumer's
};

/// Every two threads have a queue. One thread alone fills its queue, then empties it.
template <class Column>
struct queue_work {
  static constexpr std::size_t operations = queue<Column>::places;
  Column& column;
  std::vector<member> members;
  std::vector<queue<Column>> queues;

  queue_work(Column& pool, unsigned threads) : column(pool), members(members_of(threads)), queues((threads + 1) / 2) {}
  void begin(unsigned) {}
  void end(unsigned) {}
  void lap(unsigned me, std::size_t count) {
    queue<Column>& own = queues[me / 2];
    if (members.size() > 1) {
      return me % 2 == 0 ? own.produce(column, members[me], count * operations) : own.consume(column, count * operations);
    }
    for (; count != 0; --count) {
      own.produce(column, members[me], operations);
      own.consume(column, operations);
    }
  }
  double waited(unsigned me) const { return me % 2 == 0 ? queues[me / 2].producer_waited : queues[me / 2].consumer_waited; }
  std::size_t faults() const {
    std::size_t all = 0;
    for (const queue<Column>& each : queues) all += each.faults;
    return all;
  }
};

/// A row. Of a queue's two threads, one counts.
template <template <class> class Work>
void add_row(const std::string& load, unsigned threads, unsigned busy) {
  const auto body = [threads, busy]<class Column>(benchmark::State& state) {
    alignas(64) Column column;
    alignas(64) Work<Column> work{column, threads};
    measure_team(state, threads, busy, work, team_figure::cpu);
    if constexpr (requires { work.faults(); }) {
      if (work.faults() != 0) state.SkipWithError("a block arrived with another's content");
    }
  };
  add("sizes", load + "_" + std::to_string(threads), shared{}, body, one_manual_pass);
}

}  // namespace

void register_benchmarks() {
  for (const unsigned threads : {1U, 2U, 4U}) {
    add_row<pair_work>("pair", threads, threads);
    add_row<churn_work>("churn", threads, threads);
    add_row<queue_work>("queue", threads, (threads + 1) / 2);
  }
}

}  // namespace tarn_bench
