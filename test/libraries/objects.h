// Pools that are objects, used by the program and the plugin at once, over forks, and when the plugin is gone.
#ifndef TARN_TEST_LIBRARIES_OBJECTS_H_
#define TARN_TEST_LIBRARIES_OBJECTS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/test/libraries/loaded.h"

namespace tarn::test {
namespace {

std::size_t handed_over = 0, forks = 0, collected = 0, kept_apart = 0;

void check(board& b) {
  if (b.faults != 0) fail("a block had two holders");
  handed_over += b.handed_over;
}

/// What is left of all threads: no block twice. The first half goes back by one side, the rest by the other.
void collect(board& b, std::size_t kind, void* pool, const side& one, const side& other) {
  for (board::place& p : b.places)
    if (p.held.at != nullptr) b.left.push_back(std::exchange(p.held, {}));
  std::vector<void*> blocks;
  for (const held_block& held : b.left) {
    if (!has_stamp(held.at, held.salt)) fail("a block that was left was written to");
    blocks.push_back(held.at);
  }
  b.left.clear();
  collected += blocks.size();
  std::sort(blocks.begin(), blocks.end());
  if (std::adjacent_find(blocks.begin(), blocks.end()) != blocks.end()) fail("a block was left twice");
  const std::span<void* const> all(blocks);
  one.give_back(kind, pool, all.first(all.size() / 2));
  std::thread([&] { other.give_back(kind, pool, all.subspan(all.size() / 2)); }).join();
  check(b);
}

/// A thread for each of the sides given. They begin at one time: else the first is done when the last begins.
std::vector<std::thread> start(std::vector<const side*> sides, std::size_t kind, void* pool, board& b, std::uint64_t first) {
  std::vector<std::thread> threads;
  b.begun = false;
  for (const side* s : sides) {
    threads.emplace_back([=, &b] {
      b.begun.wait(false);
      s->churn(kind, pool, b, first);
    });
    ++first;
  }
  b.begun = true;
  b.begun.notify_all();
  return threads;
}
void join(std::vector<std::thread>& threads) {
  for (std::thread& t : threads) t.join();
}

/// The child uses the pool with the one thread that it has, and with another.
void fork_and_use(std::size_t kind, void* pool, const std::vector<const side*>& sides) {
  std::fflush(stdout);
  alarm(300);  // a handler that waits for itself
  const pid_t child = fork();
  if (child == 0) {
    alarm(200);  // a mutex that stays locked
    board b;
    b.rounds = 500;
    sides[0]->churn(kind, pool, b, 90);
    std::vector<std::thread> more = start(sides, kind, pool, b, 91);
    join(more);
    collect(b, kind, pool, *sides[0], *sides.back());
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) fail("no child");
  if (status != 0) {
    std::printf("child ended with status %#x\n", static_cast<unsigned>(status));
    fail("the child of a fork could not use the pool");
  }
  alarm(0);
  ++forks;
}
void fork_under_use(std::size_t kind, void* pool, const std::vector<const side*>& sides, int times) {
  board b;
  std::vector<std::thread> busy = start(sides, kind, pool, b, 70);
  for (int i = 0; i != times; ++i) fork_and_use(kind, pool, sides);
  b.stop = true;
  join(busy);
  collect(b, kind, pool, *sides[0], *sides.back());
}

/// What threads of the side whose pool it is freed last is what they get next, and never what threads of the other side get
/// meanwhile, whose numbers are the same where the two sides count threads each for itself.
void keep_apart(std::size_t kind, void* pool, const side& one, const side& other) {
  constexpr std::size_t threads = 3, each = 10;
  std::array<std::array<void*, each>, threads> theirs, others;
  std::barrier step(2 * threads + 1);
  std::atomic<std::size_t> lost = 0;
  std::vector<std::thread> all;
  for (std::size_t t = 0; t != threads; ++t) {
    all.emplace_back([&, t] {
      one.take(kind, pool, theirs[t]);
      one.give_back(kind, pool, theirs[t]);
      step.arrive_and_wait();
      step.arrive_and_wait();
      std::array<void*, each> again;
      one.take(kind, pool, again);
      for (void* block : again) lost += std::ranges::count(theirs[t], block) != 1;
      one.give_back(kind, pool, again);
      step.arrive_and_wait();
    });
    all.emplace_back([&, t] {
      step.arrive_and_wait();
      other.take(kind, pool, others[t]);
      step.arrive_and_wait();
      step.arrive_and_wait();
      other.give_back(kind, pool, others[t]);
    });
  }
  for (int i = 0; i != 3; ++i) step.arrive_and_wait();
  for (std::thread& t : all) t.join();
  for (const auto& mine : theirs)
    for (void* block : mine)
      for (const auto& foreign : others) lost += static_cast<std::size_t>(std::ranges::count(foreign, block));
  if (lost != 0) fail("a thread got what another one keeps");
  kept_apart += threads * each;
}

template <class Pool>
int one_life(std::size_t kind, const char* path, const char* how, bool plugin_first) {
  const side mine = this_side();
  library* plugin = nullptr;
  std::thread([&] { plugin = new library(path, how); }).join();
  const side& other = *plugin->functions;
  auto* const pool = new Pool;
  board b;
  b.rounds = 100;
  std::thread([&] { (plugin_first ? other : mine).churn(kind, pool, b, 1); }).join();

  b.at_least = 200;
  b.rounds = 20'000;  // both at once; and one thread that goes from side to side
  std::vector<std::thread> threads = start({&mine, &other, &mine, &other}, kind, pool, b, 2);
  std::thread both([&] { mine.churn(kind, pool, b, 6), other.churn(kind, pool, b, 7), mine.churn(kind, pool, b, 8); });
  join(threads);
  both.join();
  collect(b, kind, pool, mine, other);
  if (kind == kind_of_cached) keep_apart(kind, pool, plugin_first ? other : mine, plugin_first ? mine : other);
  fork_under_use(kind, pool, {&mine, &other}, 2);

  bool gone = false;
  std::thread([&] { gone = plugin->close(); }).join();
  delete plugin;
  threads = start({&mine, &mine}, kind, pool, b, 10);
  join(threads);
  collect(b, kind, pool, mine, mine);
  fork_under_use(kind, pool, {&mine, &mine}, 2);
  mine.churn(kind, pool, b, 20);
  collect(b, kind, pool, mine, mine);
  if constexpr (requires { pool->trim(); }) {
    pool->trim();
    mine.churn(kind, pool, b, 21);
    collect(b, kind, pool, mine, mine);
  }
  delete pool;
  return gone;
}

void use_objects(const char* path, const char* how, bool plugin_first) {
  int lives = 0, gone = 0;
  for (int i = 0; i != 2; ++i) {  // the second time it is loaded anew
    [&]<std::size_t... Kind>(std::index_sequence<Kind...>) {
      ((gone += one_life<std::tuple_element_t<Kind, object_pools>>(Kind, path, how, plugin_first), ++lives), ...);
    }(std::make_index_sequence<std::tuple_size_v<object_pools>>());
  }
  std::printf("lives %d\ngone %d\nforks %zu\nhanded over %zu\ncollected %zu\nkept apart %zu\n", lives, gone, forks,
              handed_over, collected, kept_apart);
}

}  // namespace
}  // namespace tarn::test

#endif  // TARN_TEST_LIBRARIES_OBJECTS_H_
