// Threads that end and still use pools; and what thread_cached promises beyond other policies. Its invariants, and where
// something would show that one is broken:
//
//   1 a slot is used by the holder of its number alone           numbers_change_hands, and every workload, under TSan
//   2 a number passes on with all that lies in its slots         numbers_change_hands, under TSan
//   3 a block is in one place                                    every workload: stamps, and all blocks are there at its end
//   4 a spare magazine is empty or full                          not visible from outside
//   5 a thread keeps two magazines of blocks at most             hand_over_test.cc: producer_consumer
//   6 a full magazine in the depot isn't changed                 every workload, under TSan
//   7 the slot of nobody isn't written                           threads_use_pools_while_they_end, more_threads_than_numbers
//   8 no lock is held over a store or handler                    store_calls_test.cc
//   9 memory for magazines goes back in trim()                   magazine_test.cc, in test/policies/locking
//  10 a free needs no memory                                     a_free_needs_no_memory
#include <pthread.h>

#include <array>
#include <barrier>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/test/stress/cases.h"

namespace tarn::test {
namespace {

bool caches(const contender& c) { return c.caches(); }
bool is_caching_object(const contender& c) { return c.caches() && !c.is_static; }

void check_all_there(any_pool& pool, tally& counts, called_from = {}) {
  const std::size_t capacity = pool.capacity();
  CHECK(blocks_at_hand(pool, counts) == capacity);
  check_integrity(counts);
}

// Threads that live on keep nothing that refers to a pool: the next may lie at the same place.
void pools_end_and_begin_under_living_threads(const contender& c) {
  constexpr std::size_t pools = 64;
  constexpr std::size_t threads = 4;
  const std::size_t rounds = nightly() ? 500 : 25;
  const std::size_t before = books.bytes;
  tally counts;
  std::vector<std::unique_ptr<any_pool>> all(pools);
  std::vector<any_pool*> last(pools);
  std::vector<std::array<void*, pools>> parcels(threads);
  std::size_t same_place = 0;
  std::barrier step(threads);
  in_threads(threads, [&](std::size_t t) {
    for (std::size_t round = 0; round < rounds; ++round) {
      if (t == 0) {
        for (std::size_t p = 0; p < pools; ++p) all[p].reset();
        CHECK(books.bytes == before);
        for (std::size_t p = 0; p < pools; ++p) {
          all[p] = c.make();
          for (any_pool* const old : last) same_place += old == all[p].get();
        }
        for (std::size_t p = 0; p < pools; ++p) last[p] = all[p].get();
      }
      step.arrive_and_wait();
      for (std::size_t p = 0; p < pools; ++p) {
        worker me(*all[p], counts);
        std::array<void*, 40> blocks;
        CHECK(me.take(blocks) == blocks.size());
        me.give(std::span(blocks).subspan(1 + round % 20));  // what isn't given back ends with the pool
        parcels[t][p] = blocks[0];
      }
      step.arrive_and_wait();
      for (std::size_t p = 0; p < pools; ++p) worker(*all[p], counts).give(parcels[(t + 1) % threads][p]);
      step.arrive_and_wait();
    }
  });
  all.clear();
  std::printf("%s: %zu pools came and went, %zu where one had been; %zu hand-overs\n", c.name, rounds * pools, same_place,
              counts.handed_over.load());
  if (!under_asan) CHECK(same_place >= rounds * pools / 10);  // it puts memory off
  CHECK(counts.handed_over.load() == rounds * pools * threads);
  CHECK(books.bytes == before);
  check_integrity(counts);
}
const case_for_each ends("pools_end_and_begin_under_living_threads", pools_end_and_begin_under_living_threads,
                         is_caching_object);

/// So many threads at once that each has a number of its own, if there are enough.
void in_a_crowd(const contender& c, std::size_t threads, std::size_t goal, called_from = {}) {
  tally counts;
  const auto pool = c.make();
  boxes shared;
  std::barrier all_are_here(static_cast<std::ptrdiff_t>(threads));
  in_threads(threads, [&](std::size_t) {
    worker me(*pool, counts);
    std::vector<void*> mine;
    mingle(me, shared, mine, 20);
    all_are_here.arrive_and_wait();
    do mingle(me, shared, mine, 20);
    while (counts.handed_over.load(std::memory_order_relaxed) < goal);
    me.give(mine);
    all_are_here.arrive_and_wait();  // nobody inherits a number
  });
  std::printf("%s: %zu threads at once, %zu operations, %zu hand-overs, %zu blocks\n", c.name, threads,
              counts.operations.load(), counts.handed_over.load(), pool->capacity());
  CHECK(counts.handed_over.load() >= goal);
  {
    worker me(*pool, counts);
    shared.empty([&](void* block) { me.give(block); });
  }
  check_all_there(*pool, counts);
  pool->trim();
  CHECK(pool->capacity() == 0);
}
void more_threads_than_slots(const contender& c) { in_a_crowd(c, nightly() ? 200 : 40, nightly() ? 1'000'000 : 50'000); }
const case_for_each slots("more_threads_than_slots", more_threads_than_slots, caches);
void more_threads_than_numbers(const contender& c) { in_a_crowd(c, 1100, nightly() ? 500'000 : 20'000); }
const case_for_each numbers("more_threads_than_numbers", more_threads_than_numbers, caches);

/// Threads that the system has of this process. No order of threads follows from having asked.
std::size_t living_threads() {
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// Nothing orders a thread's end and the next one's beginning but the number that passes from one to the other, and with it
// magazines in which blocks lie.
void numbers_change_hands(const contender& c) {
  const std::size_t threads = up_to(nightly() ? 20'000 : 4'000);
  constexpr std::size_t at_once = 6;
  tally counts;
  const auto pool = c.make();
  std::vector<std::thread> all;
  const std::size_t others = living_threads();
  for (std::size_t n = 0; n < threads; ++n) {
    while (living_threads() >= others + at_once) std::this_thread::yield();
    all.emplace_back([&] {
      const shaken disturbed;
      worker me(*pool, counts);
      for (int i = 0; i < 10; ++i) {
        std::array<void*, 10> blocks;
        CHECK(me.take(blocks) == blocks.size());
        for (void* const block : blocks) me.give(block);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  std::printf("%s: %zu threads, %zu blocks\n", c.name, threads, pool->capacity());
  // Were a number lost now and then, new slots would take blocks of their own.
  CHECK(pool->capacity() <= 4 * at_once * (2 * 14 + 10) + chunk_blocks);
  check_all_there(*pool, counts);
}
const case_for_each hands("numbers_change_hands", numbers_change_hands, caches);

void a_free_needs_no_memory(const contender& c) {
  constexpr std::size_t blocks = 5000;
  tally counts;
  const auto pool = c.make();
  pool->trim();  // a static pool may have blocks in this thread's magazines, since an earlier case
  std::vector<void*> all(blocks);
  std::thread([&] { CHECK(worker(*pool, counts).take(all) == blocks); }).join();
  std::size_t capacity = pool->capacity();
  std::size_t got = 0;
  books.refuses = true;
  std::thread([&] {  // it has nothing of the pool yet, and gets nothing
    worker me(*pool, counts);
    for (void* const block : all) me.give(block);
    all.clear();
    while (void* const block = me.take()) all.push_back(block);
    got = all.size();
    me.give(all);
  })
      .join();
  books.refuses = false;
  std::printf("%s: %zu of %zu blocks, while the store refused\n", c.name, got, capacity);
  CHECK(got == capacity);
  CHECK(counts.refused.load() == 1);
  counts.refused = 0;
  check_all_there(*pool, counts);
  pool->trim();
}
const case_for_each frees("a_free_needs_no_memory", a_free_needs_no_memory);

// ---- after a thread's pools have been told that it ends --------------------------------------------------------------------

struct late_user {
  any_pool* pool = nullptr;
  tally* counts = nullptr;
  std::atomic<std::size_t>* ran = nullptr;
  std::vector<void*> held;  // stamped

  /// Takes, gives back what was taken now and before, and ends with nothing.
  void use() {
    worker me(*pool, *counts);
    std::vector<void*> more(40);
    CHECK(me.take(more) == more.size());
    for (void* const block : held) CHECK(me.is_whole(block));
    me.give(held);
    held.clear();
    me.give(std::span(more).first(20));
    for (std::size_t i = 20; i < more.size(); ++i) me.give(more[i]);
    for (int i = 0; i < 20; ++i)
      if (void* const block = me.take()) me.give(block);
    ran->fetch_add(1, std::memory_order_relaxed);
  }
};
struct user_at_exit : late_user {
  ~user_at_exit() {
    if (pool != nullptr) use();
  }
};
/// Its destructor makes and uses another thread_local object, which ends later still.
struct nesting_user : late_user {
  ~nesting_user() {
    if (pool == nullptr) return;
    static thread_local user_at_exit nested;
    static_cast<late_user&>(nested) = static_cast<late_user&>(*this);
    use();
  }
};

pthread_key_t late_key() {  // destructors of keys run after those of thread_local objects
  static const pthread_key_t key = [] {
    pthread_key_t k{};
    pthread_key_create(&k, [](void* user) {
      const std::unique_ptr<late_user> mine(static_cast<late_user*>(user));
      mine->use();
    });
    return k;
  }();
  return key;
}

/// Bytes that so many threads can need at once beyond what they needed before: `each` blocks, which they may have held one
/// after the other then, and what their magazines keep from others: two of them in each thread, full, and the memory that
/// magazines lie in, which doubles as it grows.
std::size_t needed_by(const contender& c, std::size_t threads, std::size_t each) {
  const std::size_t magazines = c.caches() ? 2 * threads * (c.magazine + 2) * sizeof(void*) : 0;
  const std::size_t chunks = (threads * (each + 2 * c.magazine) / chunk_blocks + 2) * (chunk_blocks + 2);
  return chunks * block_bytes + 4 * magazines;
}

/// Objects that were made before the thread's first use of a pool end after whatever that use made; those made later, before.
void threads_use_pools_while_they_end(const contender& c) {
  constexpr std::size_t at_once = 4;
  const std::size_t threads = up_to(nightly() ? 10'000 : 1'000) / at_once * at_once;
  tally counts;
  const std::size_t before = books.bytes;
  const auto pool = c.make();
  std::atomic<std::size_t> ran{0};
  std::size_t baseline = 0;
  for (std::size_t n = 0; n < threads; n += at_once) {
    in_threads(at_once, [&](std::size_t) {
      static thread_local user_at_exit early;
      static thread_local nesting_user nesting;
      early = {};
      nesting = {};
      worker me(*pool, counts);
      const auto set_up = [&](late_user& user, std::size_t blocks) {
        std::vector<void*> held(blocks);
        CHECK(me.take(held) == blocks);
        user.pool = pool.get();
        user.counts = &counts;
        user.ran = &ran;
        user.held = std::move(held);
      };
      set_up(early, 30);
      set_up(nesting, 0);
      static thread_local user_at_exit late;
      set_up(late, 10);
      auto last = std::make_unique<late_user>();
      set_up(*last, 20);
      pthread_setspecific(late_key(), last.release());
    });
    if (n == at_once) baseline = books.bytes - before;
  }
  std::printf("%s: %zu threads, %zu uses of the pool while they ended, %zu bytes after the first, %zu at last\n", c.name,
              threads, ran.load(), baseline, books.bytes - before);
  CHECK(ran.load() == 5 * threads);
  CHECK(books.bytes - before <= baseline + needed_by(c, at_once, 100));
  const std::size_t capacity = pool->capacity();
  CHECK(blocks_at_hand(*pool, counts) == capacity);
  check_integrity(counts);
  pool->trim();
  if (c.trims) CHECK(pool->capacity() == 0);
}
const case_for_each late_cases("threads_use_pools_while_they_end", threads_use_pools_while_they_end);

}  // namespace
}  // namespace tarn::test
