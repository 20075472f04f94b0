// Every locking policy under three workloads. In each, tens of thousands of blocks are given back by another thread than took
// them, while the pool grows and shrinks; the counts are printed, and asserted.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "tarn/test/stress/cases.h"

namespace tarn::test {
namespace {

/// Hand-overs in each run. TSan sees what is not ordered in any of many; ASan, what is gone, which needs fewer.
const std::size_t goal = (nightly() ? 10 : 1) * (under_asan ? 10'000 : 50'000);

const std::vector<std::size_t>& thread_counts() {
  static const std::vector<std::size_t> by_day{4}, by_night{2, 4, 8, 16};
  return nightly() ? by_night : by_day;
}

/// A pool with a workload: what it had before, what happened, and what is true of it afterwards.
class campaign {
 public:
  campaign(const char* name, const contender& c, std::size_t threads)
      : name_(name), contender_(c), threads_(threads), bytes_before_(books.bytes), pool_(c.make()) {
    regions_before_ = books.regions;
    beside_before_ = books.beside_others;
  }

  any_pool& pool() { return *pool_; }
  std::size_t growths() const { return books.regions - regions_before_; }
  std::size_t beside_others() const { return books.beside_others - beside_before_; }
  bool reached(std::size_t hand_overs) const { return counts.handed_over.load(std::memory_order_relaxed) >= hand_overs; }

  /// Prints and checks what holds after every workload, when its threads have ended: all blocks are there, each once.
  void finish(called_from = {}) {
    const std::size_t in_time = counts.handed_over;
    {
      worker last(*pool_, counts);
      left_over.empty([&](void* block) { last.give(block); });
    }
    const std::size_t capacity = pool_->capacity();
    const std::size_t at_hand = blocks_at_hand(*pool_, counts);
    std::printf(
        "%s, %s, %zu threads: %zu operations, %zu hand-overs (%zu of ended threads), %zu regions, beside others: %zu store "
        "calls, %zu trims; %zu blocks; shaken %zu times\n",
        name_, contender_.name, threads_, counts.operations.load(), in_time, counts.orphans.load(), growths(), beside_others(),
        counts.trims.load(), capacity, shaken::times() - shakes_before_);
    CHECK(in_time >= goal);
    CHECK(at_hand == capacity);
    check_integrity(counts);
    pool_->trim();
    if (contender_.trims) CHECK(pool_->capacity() == 0);
    pool_.reset();
    if (!contender_.is_static) CHECK(books.bytes == bytes_before_);
  }

  tally counts;
  boxes left_over;

 private:
  const char* name_;
  const contender& contender_;
  std::size_t threads_;
  std::size_t bytes_before_;
  std::size_t regions_before_ = 0;
  std::size_t beside_before_ = 0;
  std::size_t shakes_before_ = shaken::times();
  std::unique_ptr<any_pool> pool_;
};

void producer_consumer(const contender& c) {
  for (const std::size_t threads : thread_counts()) {
    campaign run("producer/consumer", c, threads);
    const std::size_t pairs = threads / 2;
    const std::size_t capacity_before = run.pool().capacity();
    std::vector<ring> rings(pairs);
    std::atomic<std::size_t> producing{pairs};
    in_threads(threads, [&](std::size_t t) {
      worker me(run.pool(), run.counts);
      ring& way = rings[t / 2];
      if (t % 2 == 0) {
        for (std::size_t i = 0; i < (goal + pairs - 1) / pairs; ++i)
          if (void* const block = me.take())
            while (!way.put(block)) std::this_thread::yield();
        producing.fetch_sub(1, std::memory_order_release);
      } else {
        for (;;) {
          const bool last = producing.load(std::memory_order_acquire) == 0;
          void* const block = way.get();
          if (block != nullptr) me.give(block);
          else if (last) break;
          else std::this_thread::yield();
        }
      }
    });
    // In flight; in two magazines of each consumer, in the one that each producer has filled last, in the chunk being carved.
    const std::size_t bound = pairs * (ring::room + 3 * c.magazine + 1) + chunk_blocks;
    CHECK(run.pool().capacity() <= std::max(bound, capacity_before));
    run.finish();
  }
}
const case_for_each producer_consumer_cases("producer_consumer", producer_consumer);

/// Threads that end soon, and leave blocks in use behind.
void churn(const contender& c) {
  for (const std::size_t threads : thread_counts()) {
    campaign run("churn", c, threads);
    std::atomic<std::size_t> lives{0};
    const auto enough = [&] { return run.reached(goal) && run.counts.orphans.load() >= goal / 50 && lives.load() >= 100; };
    in_threads(threads, [&](std::size_t) {
      while (!enough()) {
        std::thread([&] {
          const shaken disturbed;
          worker me(run.pool(), run.counts);
          std::vector<void*> mine;
          for (int i = 0; i < 150; ++i) mingle(me, run.left_over, mine, 50);
          me.give(mine);
        }).join();
        lives.fetch_add(1, std::memory_order_relaxed);
      }
    });
    std::printf("%zu threads came and went\n", lives.load());
    CHECK(enough());
    run.finish();
  }
}
const case_for_each churn_cases("churn", churn);

/// One thread takes far more than the others and gives it back, so that the pool grows and shrinks under them. The others hand
/// over among themselves, which needs two.
void tides(const contender& c) {
  for (const std::size_t count : thread_counts()) {
    const std::size_t threads = std::max<std::size_t>(count, 3);
    campaign run("tides", c, threads);
    std::atomic<std::size_t> working{threads - 1};
    // However fast they hand over: they go on until this much has happened beside them.
    const auto enough = [&] { return run.beside_others() >= 50 && (!c.trims || run.counts.trims.load() >= 5); };
    const std::size_t low = 2000 + run.pool().capacity();  // a static pool may be large already
    in_threads(threads, [&](std::size_t t) {
      worker me(run.pool(), run.counts);
      std::vector<void*> mine;
      if (t != 0) {
        while (!run.reached(goal) || !enough()) mingle(me, run.left_over, mine, 20);
        working.fetch_sub(1, std::memory_order_relaxed);
      } else {
        for (std::size_t height = low; working.load(std::memory_order_relaxed) != 0;
             height += !c.trims || height < 16000 ? 1000 : 0) {
          while (mine.size() < height) {
            std::array<void*, 50> some;
            const std::size_t got = me.random() % 2 == 0 ? me.take(some) : (some[0] = me.take(), some[0] != nullptr ? 1 : 0);
            mine.insert(mine.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(got));
          }
          me.give(mine);
          mine.clear();
          const std::size_t before = books.work.sum();
          const std::size_t bytes = run.pool().trim().value_or(0);
          if (bytes != 0 && books.work.sum() != before) run.counts.trims.fetch_add(1, std::memory_order_relaxed);
        }
      }
      me.give(mine);
    });
    CHECK(enough());
    run.finish();
  }
}
const case_for_each tide_cases("tides", tides);

}  // namespace
}  // namespace tarn::test
