// The program: `parts all|forks SECONDS HOW PATH...`. After so many seconds it ends itself. Each PATH is a library with a part,
// linked or to be opened as HOW says; with OWN_PART the program has one, too. What is right is silent; the last line is "done".
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tarn/test/libraries/part.h"

#if defined(OWN_PART)
extern "C" const tarn::test::part* part_functions();
#endif

namespace tarn::test {
namespace {

bool has_failed = false;
void check(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  has_failed = true;
}

int mode_of(const std::string& how) {
  if (how == "global") return RTLD_NOW | RTLD_GLOBAL;
  if (how == "deep") return RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  return RTLD_NOW | RTLD_LOCAL | (how == "linked" ? RTLD_NOLOAD : 0);
}
struct library {
  library(const char* path, const std::string& how) : handle(dlopen(path, mode_of(how))) {
    if (handle == nullptr) std::printf("wrong: no %s\n", path), std::exit(1);
    functions = reinterpret_cast<const part* (*)()>(dlsym(handle, "part_functions"))();
  }
  void* handle;
  const part* functions;
};
using parts = std::vector<const part*>;

void in_thread(auto action) { std::thread(action).join(); }

// ---- what the process has once ----------------------------------------------------------------------------------------------

void compare(const parts& all) {
  // Threads come to the parts in another order each time.
  for (std::size_t first = 0; first != all.size(); ++first) in_thread([&] { all[first]->thread_number(); });
  std::set<std::uint64_t> numbers{all[0]->thread_number()};
  for (std::size_t first = 0; first != all.size(); ++first) {
    in_thread([&] {
      const std::uint64_t number = all[first]->thread_number();
      for (const part* one : all) check(one->thread_number() == number, "a thread has two numbers");
      check(numbers.insert(number).second, "two threads have one number");
    });
  }
  std::set<std::uint64_t> chunks;
  for (int round = 0; round != 3; ++round)
    for (const part* one : all) check(chunks.insert(one->chunk_number()).second, "two chunks have one number");
  for (const part* one : all) {
    check(one->thread_number() == all[0]->thread_number(), "the first thread has two numbers");
    check(one->secret() == all[0]->secret(), "there are two secrets");
    check(one->things() == all[0]->things(), "there are two of one thing");
  }
}

// ---- pools that are passed from part to part

/// Each part allocates and frees; what one allocated another frees.
void pass_around(const parts& all, std::size_t kind, void* pool) {
  std::vector<void*> blocks;
  for (int round = 0; round != 3; ++round) {
    for (const part* one : all)
      for (int i = 0; i != 40; ++i) blocks.push_back(one->allocate(kind, pool));
    for (std::size_t i = 0; i != blocks.size(); ++i) all[(i + 1) % all.size()]->deallocate(kind, pool, blocks[i]);
    check(std::set<void*>(blocks.begin(), blocks.end()).size() == blocks.size(), "a block was handed out twice");
    blocks.clear();
  }
}
void pass_all_kinds(const parts& all) {
  std::size_t reports = 0;
  for (const part* one : all) one->count_reports(&reports);  // the last sets the handler of all
  for (std::size_t kind = 0; kind != kinds; ++kind) {
    for (std::size_t maker = 0; maker != all.size(); ++maker) {
      void* const pool = all[maker]->make(kind, all[(maker + 1) % all.size()]->resource());
      pass_around(all, kind, pool);
      if (kind >= first_shared) in_thread([&] { pass_around(all, kind, pool); });
      if (kind == checked_alone) all[0]->hand_over(pool), in_thread([&] { pass_around(all, kind, pool); });
      all[(maker + 1) % all.size()]->end(kind, pool);
    }
  }
  check(reports == 0, "a right program got a report");
}

/// What one part finds wrong is reported by the handler that another has set.
void misuse(const parts& all) {
  std::size_t reports = 0;
  all[0]->count_reports(&reports);
  void* const pool = all[1]->make(checked_alone, nullptr);
  void* const block = all[1]->allocate(checked_alone, pool);
  const std::size_t others = all[0]->report_in_use() - 1;
  check(reports != 0, "no part told what is in use in a pool of another");
  check(all.back()->report_in_use() == others + 1, "parts differ about what is in use");
  reports = 0;
  in_thread([&] { all[0]->deallocate(checked_alone, pool, block); });
  check(reports == 1, "a wrong thread wasn't found, or not told to the handler");
  all[0]->deallocate(checked_alone, pool, block);
  check(reports == 1, "the right thread was refused");
  all.back()->end(checked_alone, pool);
}

void reclaim(const parts& all) {
  for (const part* maker : all) {
    void* const pool = maker->make(asked, nullptr);
    maker->deallocate(asked, pool, maker->allocate(asked, pool));
    for (const part* one : all) {
      if (one == maker) continue;
      check(one->reclaim_all() != 0, "a part can't ask another's pool");
      one->deallocate(asked, pool, one->allocate(asked, pool));
    }
    maker->end(asked, pool);
    for (const part* one : all) one->reclaim_all();
  }
}

// ---- forks

std::atomic<int> forks_begun = 0;  // in a handler that comes before those of tarn

struct shared_pool {
  std::size_t kind;
  void* object;
};
std::vector<shared_pool> make_shared_pools(const parts& all) {
  std::vector<shared_pool> made;
  for (std::size_t i = 0; i != all.size(); ++i)
    for (std::size_t kind = first_shared; kind != kinds; ++kind)
      made.push_back({kind, all[i]->make(kind, all[(i + 1) % all.size()]->resource())});
  return made;
}
void use_once(const parts& all, const std::vector<shared_pool>& pools, std::size_t at) {
  const part* const taker = all[at % all.size()];
  const part* const giver = all[(at / all.size()) % all.size()];
  const auto& [kind, pool] = pools[at % pools.size()];
  void* blocks[3];
  for (void*& block : blocks) block = taker->allocate(kind, pool);
  for (void* block : blocks) giver->deallocate(kind, pool, block);
}
void fork_and_use(const parts& all, const std::vector<shared_pool>& pools) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (std::size_t at = 0; at != pools.size() * all.size(); ++at) use_once(all, pools, at);
    in_thread([&] { use_once(all, pools, 0); });
    for (const part* one : all)
      if (one->thread_number() != all[0]->thread_number()) _exit(2);
    _exit(0);
  }
  int status = 0;
  check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child couldn't go on");
}
void fork_under_use(const parts& all, int forks) {
  const std::vector<shared_pool> pools = make_shared_pools(all);
  std::atomic<bool> stop = false;
  std::latch begun(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t != 4; ++t) {
    threads.emplace_back([&, t] {
      use_once(all, pools, t);
      begun.count_down();
      for (std::size_t at = t; !stop.load(std::memory_order_relaxed); at += 5) {
        use_once(all, pools, at);
        if (at % 7 == 0) all[at % all.size()]->reclaim_all();
      }
    });
  }
  begun.wait();
  for (int i = 0; i != forks && !has_failed; ++i) fork_and_use(all, pools);
  stop = true;
  for (std::thread& one : threads) one.join();
  for (const shared_pool& one : pools) all[0]->end(one.kind, one.object);
}

/// A thread holds a group_guard of one part, which keeps a fork waiting, and then uses pools that other parts have listed.
void fork_past_group_guard(const parts& all) {
  const std::vector<shared_pool> pools = make_shared_pools(all);
  for (std::size_t at = 0; at != pools.size() * all.size(); ++at) use_once(all, pools, at);
  struct shared {
    const parts& all;
    const std::vector<shared_pool>& pools;
    std::latch held{1};
    const int before = forks_begun;
  };
  for (const part* holder : all) {
    shared s{all, pools};
    std::thread user([&] {
      const auto under_guard = [](void* argument) {
        shared& its = *static_cast<shared*>(argument);
        its.held.count_down();
        while (forks_begun == its.before) std::this_thread::yield();
        const auto enough = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);  // the fork waits meanwhile
        for (std::size_t at = 0; std::chrono::steady_clock::now() < enough; ++at) use_once(its.all, its.pools, at);
      };
      holder->under_group_guard(under_guard, &s);
    });
    s.held.wait();
    fork_and_use(all, pools);
    user.join();
  }
  // A thread that forks while it holds one: the child holds it still.
  for (const part* holder : all) {
    shared s{all, pools};
    holder->under_group_guard([](void* argument) {
      const shared& its = *static_cast<shared*>(argument);
      fork_and_use(its.all, its.pools);
    }, &s);
  }
  for (const shared_pool& one : pools) all[0]->end(one.kind, one.object);
}

void use(const parts& all, int forks, bool only_forks) {
  if (!only_forks) {
    compare(all);
    pass_all_kinds(all);
    misuse(all);
    reclaim(all);
    if (has_failed) return;
  }
  fork_past_group_guard(all);
  fork_under_use(all, forks);
}

/// Opens the libraries, uses them, closes all but the last and uses what is left, and opens them again.
void run(bool only_forks, const std::string& how, const std::vector<const char*>& paths) {
  for (int life = 0; life != (how == "linked" ? 1 : 2); ++life) {
    parts all;
#if defined(OWN_PART)
    all.push_back(part_functions());
#endif
    std::vector<library> libraries;
    in_thread([&] {
      for (const char* path : paths) libraries.emplace_back(path, how);
    });
    for (const library& one : libraries) all.push_back(one.functions);
    pthread_atfork([] { forks_begun.fetch_add(1); }, nullptr, nullptr);
    // Not in this thread: it keeps the libraries loaded through which it uses thread_cached pools.
    in_thread([&] { use(all, life == 0 ? 100 : 10, only_forks); });
    if (how == "linked") continue;
    for (std::size_t i = 0; i + 1 != libraries.size(); ++i) in_thread([&] { dlclose(libraries[i].handle); });
    in_thread([&] { use({all.front() == libraries[0].functions ? all.back() : all.front(), all.back()}, 10, only_forks); });
    in_thread([&] { dlclose(libraries.back().handle); });
  }
}

}  // namespace
}  // namespace tarn::test

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  alarm(static_cast<unsigned>(std::atoi(words[2])));  // a fork that waits for ever
  tarn::test::run(std::strcmp(words[1], "forks") == 0, words[3], {words + 4, words + count});
  std::puts(tarn::test::has_failed ? "failed" : "done");
}
