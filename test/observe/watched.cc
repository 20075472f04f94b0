// A program that is watched: named pools, and a thread that answers at the path that it is given. It does what its input says,
// a line at a time, and prints "done" after each:
//
//   take NAME N     N more blocks of the pool NAME are in use
//   free NAME N     N fewer
//
// With a second word it has a pool, too, whose name is hard to write.
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tarn/allocator/observing_thread.h"
#include "tarn/allocator/pool.h"

namespace {

struct watched_pool {
  using type = tarn::pool<tarn::dynamic_size, tarn::mutex_locking<>, tarn::fixed_growth<100>, tarn::run_time_name>;

  watched_pool(std::string name, std::size_t bytes)
      : called(std::move(name)), pool(tarn::dynamic_size(bytes), tarn::run_time_name(called.c_str())) {}
  ~watched_pool() { free(blocks.size()); }
  watched_pool(const watched_pool&) = delete;
  watched_pool& operator=(const watched_pool&) = delete;

  void take(std::size_t n) {
    while (n-- != 0) blocks.push_back(pool.allocate());
  }
  void free(std::size_t n) {
    for (; n-- != 0; blocks.pop_back()) pool.deallocate(blocks.back());
  }

  std::string called;
  type pool;
  std::vector<void*> blocks;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<std::unique_ptr<watched_pool>> pools;
  pools.push_back(std::make_unique<watched_pool>("orders", 64));
  pools.push_back(std::make_unique<watched_pool>("messages", 256));
  if (argc > 2) pools.push_back(std::make_unique<watched_pool>("a \"quoted\\ name\"\n\xE2\x82\xAC\xFF", 32));
  tarn::pool<tarn::static_size<48>, tarn::mutex_locking<>, tarn::no_growth<8>, tarn::named<"limited">> limited;
  void* block = nullptr;
  for (int i = 0; i != 9; ++i)
    if (void* const next = limited.try_allocate()) block = next;
  const tarn::observing_thread watched(argv[1]);
  std::cout << "answers" << std::endl;
  std::string what, name;
  std::size_t n = 0;
  while (std::cin >> what) {
    std::cin >> name >> n;
    for (const auto& one : pools)
      if (one->called == name) what == "take" ? one->take(n) : one->free(n);
    std::cout << "done" << std::endl;
  }
  return block != nullptr ? 0 : 1;
}
