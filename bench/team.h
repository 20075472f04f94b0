// Threads that do the same work at the same time, and how long it takes them.
#ifndef TARN_BENCH_TEAM_H_
#define TARN_BENCH_TEAM_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

#include "tarn/bench/measure.h"

namespace tarn_bench {

/// Returns once `done()`: spins, and now and then lets another thread run, which may be the one that is waited for.
template <class Done>
void spin_until(Done done) {
  for (unsigned tries = 1; !done(); ++tries) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (tries % 64 == 0) std::this_thread::yield();
  }
}

/// Keeps threads on cores of their own, in turn: left alone, a thread that lives for milliseconds shares a core with the one
/// that started it, and nothing runs at the same time. At the end the calling thread may use what it could use before.
class cores {
 public:
  cores() {
    ::pthread_getaffinity_np(::pthread_self(), sizeof allowed_, &allowed_);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &allowed_)) numbers_.push_back(i);
  }
  ~cores() { ::pthread_setaffinity_np(::pthread_self(), sizeof allowed_, &allowed_); }
  cores(const cores&) = delete;
  cores& operator=(const cores&) = delete;

  std::size_t count() const { return numbers_.size(); }
  void move_to(std::size_t turn) const {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(numbers_[turn % numbers_.size()], &one);
    ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
  }

 private:
  cpu_set_t allowed_;
  std::vector<int> numbers_;
};

/// How long a lap took: wall time from the first thread's start to the last one's end, and the CPU time of all threads, less
/// what they waited for each other where the work tells that.
struct lap_time {
  double wall = 0;
  double cpu = 0;
};

/// Threads that live for many laps; the caller is the first of them. Work has begin(thread), lap(thread, count), end(thread),
/// and waited(thread), the seconds of the last lap, where its threads wait for each other and CPU time is the figure.
template <class Work>
class team {
 public:
  team(unsigned size, Work& work) : work_(work), times_(size) {
    for (unsigned i = 1; i < size; ++i) threads_.emplace_back([this, i] { live(i); });
    cores_.move_to(0);
    work_.begin(0);
    wait_for_others();
  }
  ~team() {
    over_ = true;
    start();
    work_.end(0);
    for (std::thread& thread : threads_) thread.join();
  }
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  lap_time lap(std::size_t count) {
    count_ = count;
    arrived_.store(0, std::memory_order_relaxed);
    start();
    run(0);
    wait_for_others();
    lap_time all;
    clock::time_point first = times_[0].start;
    clock::time_point last = times_[0].end;
    for (const times& each : times_) {
      first = std::min(first, each.start);
      last = std::max(last, each.end);
      all.cpu += each.cpu;
    }
    all.wall = std::chrono::duration<double>(last - first).count();
    return all;
  }

 private:
  using clock = std::chrono::steady_clock;
  struct alignas(64) times {
    clock::time_point start;
    clock::time_point end;
    double cpu = 0;
  };

  void start() {
    lap_.fetch_add(1, std::memory_order_release);
    lap_.notify_all();
  }
  void live(unsigned me) {
    cores_.move_to(me);
    work_.begin(me);
    for (unsigned lap = 0;; ++lap) {
      arrived_.fetch_add(1, std::memory_order_release);
      arrived_.notify_one();
      wait_while(lap_, lap);
      if (over_) break;
      run(me);
    }
    work_.end(me);
  }
  void run(unsigned me) {
    times& own = times_[me];
    own.cpu = 0;
    stopwatch cpu{own.cpu};
    own.start = clock::now();
    work_.lap(me, count_);
    own.end = clock::now();
    cpu.stop();
    if constexpr (requires { work_.waited(me); }) own.cpu -= work_.waited(me);
  }
  void wait_for_others() {
    for (unsigned seen = arrived_.load(std::memory_order_acquire); seen != threads_.size();
         seen = arrived_.load(std::memory_order_acquire)) {
      wait_while(arrived_, seen);
    }
  }
  /// Where each thread has a core, it spins a millisecond, so that all start at once. Where not, it leaves the core to others.
  void wait_while(const std::atomic<unsigned>& value, unsigned old) const {
    if (times_.size() <= cores_.count()) {
      for (int tries = 0; tries < 20'000; ++tries) {
        if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      }
    }
    value.wait(old, std::memory_order_acquire);
  }

  Work& work_;
  std::vector<times> times_;
  cores cores_;
  std::size_t count_ = 0;
  bool over_ = false;
  alignas(64) std::atomic<unsigned> lap_ = 0;
  alignas(64) std::atomic<unsigned> arrived_ = 0;
  std::vector<std::thread> threads_;
};

/// What the figure of a team is: a core's time for an operation, by the clock; or the CPU time of all threads, which no
/// neighbour on the machine adds to. Perfect scaling gives one figure for all sizes in both.
enum class team_figure { wall, cpu };

/// Measures a team: the best of a few laps of some milliseconds. A lap of `count` does count * Work::operations operations in
/// each of `busy` threads.
template <class Work>
void measure_team(benchmark::State& state, unsigned size, unsigned busy, Work& work, team_figure figure = team_figure::wall) {
  constexpr int laps = 30;
  const auto parallel = static_cast<double>(std::min<std::size_t>(busy, cores{}.count()));
  const bool by_cpu = figure == team_figure::cpu;
  const double enough = (smoke ? 2e-5 : 2e-3) * (by_cpu ? size : busy / parallel);  // 2 ms of each thread's time
  const auto length = [by_cpu](const lap_time& time) { return by_cpu ? time.cpu : time.wall; };
  for (auto _ : state) {
    lap_time best{1e9, 1e9};
    std::size_t count = 1;
    {
      team<Work> crew{size, work};
      // How much work that is; caches, magazines and the heap get warm by it.
      while (length(crew.lap(count)) < enough / 3) count *= 2;
      const double took = std::min(length(crew.lap(count)), length(crew.lap(count)));
      count = std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(count) * enough / took));
      for (int i = 0; i < (smoke ? 1 : laps); ++i) {
        const lap_time time = crew.lap(count);
        if (length(time) < length(best)) best = time;
      }
    }
    const double operations = static_cast<double>(count) * Work::operations * busy;
    state.SetIterationTime(best.wall);
    state.counters["s_per_op"] = (by_cpu ? best.cpu : best.wall * parallel) / operations;
    state.counters["cpu"] = best.cpu / operations;
    state.counters["per_second"] = operations / best.wall;
  }
}

}  // namespace tarn_bench

#endif  // TARN_BENCH_TEAM_H_
