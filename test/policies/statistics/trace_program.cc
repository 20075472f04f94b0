// Traces what three threads do, and tells it: a line for each call, "thread kind address", in the order of the thread. Then
// writes the dump to the file named. check_trace.py compares both.
#include <cstddef>
#include <cstdio>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/statistics/trace_ring.h"

using ring = tarn::trace_ring<8192, 4, tarn::trace_times::each_event>;
tarn::pool<tarn::static_size<48>, tarn::mutex_locking<>, tarn::tracing_statistics<ring>> the_pool;

using calls = std::vector<std::pair<const char*, void*>>;

void work(unsigned seed, calls& done) {
  std::mt19937 random(seed);
  std::vector<void*> held;
  for (int i = 0; i != 2000; ++i) {
    if (random() % 2 == 0 || held.empty()) {
      held.push_back(the_pool.allocate());
      done.emplace_back("allocate", held.back());
    } else {
      done.emplace_back("free", held.back());
      the_pool.deallocate(held.back());
      held.pop_back();
    }
  }
  for (void* const block : held) {
    done.emplace_back("free", block);
    the_pool.deallocate(block);
  }
}

int main(int, char** arguments) {
  calls done[3];
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != 3; ++i) threads.emplace_back(work, i, std::ref(done[i]));
  for (auto& thread : threads) thread.join();
  for (int i = 0; i != 3; ++i)
    for (const auto& [kind, block] : done[i]) std::printf("%d %s %zu\n", i, kind, reinterpret_cast<std::size_t>(block));
  return ring::dump_trace(arguments[1]) ? 0 : 1;
}
