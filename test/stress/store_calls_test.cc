// What runs while a pool asks its store, or its exhaustion handler: everything else. A store may take its time, since it is
// called by one thread at a time and no other thread waits for it that doesn't need it.
#include <chrono>
#include <cstdio>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "tarn/test/stress/cases.h"

namespace tarn::test {
namespace {

using namespace std::chrono_literals;

/// Whether it came true in time: long enough for a busy machine, and short of the case's own deadline.
template <class Condition>
bool soon(Condition holds) {
  for (const auto end = std::chrono::steady_clock::now() + 300s; !holds();) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// A pool of which three threads hold blocks: one took them itself, one got them from another and never used the pool.
struct scene {
  static constexpr std::size_t held = 3000;

  explicit scene(const contender& c) : pool(c.make()), foreign(held) {
    worker me(*pool, counts);
    CHECK(me.take(foreign) == held);
  }
  ~scene() {
    const std::size_t capacity = pool->capacity();
    CHECK(blocks_at_hand(*pool, counts) == capacity);
    check_integrity(counts);
    pool->trim();
  }

  /// Two threads give their blocks back, and take those that are there then. Returns whether both got to their end before
  /// `until` is called.
  template <class Until>
  bool others_go_on(Until until, called_from = {}) {
    std::atomic<std::size_t> done{0};
    std::thread of_old([&] {
      worker me(*pool, counts);
      std::vector<void*> own(held);
      CHECK(me.take(own) == held);
      ready = true;
      while (!waiting) std::this_thread::yield();
      give_and_take(me, own);
      ++done;
      CHECK(soon([&] { return over.load(); }));
    });
    std::thread newcomer([&] {
      while (!waiting) std::this_thread::yield();
      worker me(*pool, counts);
      give_and_take(me, foreign);
      ++done;
      CHECK(soon([&] { return over.load(); }));
    });
    const bool in_time = soon([&] { return done == 2; });
    until();
    over = true;
    of_old.join();
    newcomer.join();
    return in_time;
  }

  tally counts;
  std::unique_ptr<any_pool> pool;
  std::vector<void*> foreign;
  std::atomic<bool> ready{false};  // the threads hold what they shall hold
  std::atomic<bool> waiting{false};  // a thread is inside the store or handler
  std::atomic<bool> over{false};

 private:
  static void give_and_take(worker& me, std::span<void*> blocks) {
    for (int round = 0; round < 3; ++round) {
      for (void* const block : blocks) me.give(block);
      for (void*& block : blocks.first(500)) block = me.take();
      me.give(blocks.first(500));
      if (me.take(blocks.first(700)) != 700) return;
      me.give(blocks.first(100));
      blocks = blocks.subspan(100, 600);
    }
    me.give(blocks);
  }
};

/// One thread runs `call`, which gets into the store and finds the gate closed.
template <class Call>
void beside_a_waiting_store(const contender& c, const char* what, Call call, called_from = {}) {
  scene s(c);
  const std::size_t waited = books.waited;
  std::thread slow([&] {
    while (!s.ready) std::this_thread::yield();
    worker me(*s.pool, s.counts);
    call(me, s);
  });
  std::thread opener([&] {
    CHECK(soon([&] { return books.waited != waited; }));
    s.waiting = true;
  });
  const bool in_time = s.others_go_on([] { books.closed = false; });
  slow.join();
  opener.join();
  std::printf("%s, %s: %zu calls waited, %zu operations\n", c.name, what, books.waited - waited, s.counts.operations.load());
  CHECK(books.waited != waited);
  CHECK(in_time);
}

void growth_blocks_nobody_else(const contender& c) {
  beside_a_waiting_store(c, "growing", [](worker& me, scene&) {
    books.closed = true;
    std::vector<void*> blocks;
    while (books.closed) blocks.push_back(me.take());  // at last in the store
    me.give(blocks);
  });
}
const case_for_each growths("growth_blocks_nobody_else", growth_blocks_nobody_else);

void a_trim_blocks_nobody_else(const contender& c) {
  beside_a_waiting_store(c, "trimming", [](worker& me, scene&) {
    std::vector<void*> blocks(20 * chunk_blocks);
    CHECK(me.take(blocks) == blocks.size());
    me.give(blocks);
    books.closed = true;
    CHECK(me.pool().trim() != 0);
  });
}
const case_for_each trims("a_trim_blocks_nobody_else", a_trim_blocks_nobody_else, [](const contender& c) { return c.trims; });

// The handler of an exhausted pool: more than the hot lock must be free, since others may grow the pool meanwhile, and ask it.
scene* exhausted = nullptr;
worker* asking = nullptr;
std::vector<void*>* hoard = nullptr;

void a_handler_runs_with_nothing_held(const contender& c) {
  scene s(c);
  exhausted = &s;
  std::size_t got = 0;
  std::thread slow([&] {
    while (!s.ready) std::this_thread::yield();
    worker me(*s.pool, s.counts);
    std::vector<void*> own(100);
    CHECK(me.take(own) == own.size());
    asking = &me;
    hoard = &own;
    books.refuses = true;
    asking_exhaustion::handler = []() noexcept {
      exhausted->waiting = true;
      if (!soon([] { return exhausted->over.load(); }) || hoard->empty()) return false;
      asking->give(*hoard);
      hoard->clear();
      books.refuses = true;
      return true;
    };
    std::vector<void*> blocks;
    while (!s.over) blocks.push_back(me.take());
    CHECK(hoard->empty());
    CHECK(blocks.back() != nullptr);
    got = blocks.size();
    me.give(blocks);
  });
  const bool in_time = s.others_go_on([&] {
    books.refuses = false;
    const std::size_t before = s.pool->capacity();
    CHECK(s.pool->try_reserve(before + 1000));  // the growth guard is free as well
    CHECK(!s.pool->owns(&s));
    s.pool->trim();
  });
  slow.join();
  asking_exhaustion::handler = nullptr;
  books.refuses = false;
  std::printf("%s: %zu blocks until the handler was asked, and one after it\n", c.name, got - 1);
  CHECK(in_time);
}
const case_for_each handlers("a_handler_runs_with_nothing_held", a_handler_runs_with_nothing_held);

// The detector on something broken: two calls of a store at once. ThreadSanitizer would say so itself.
BOOST_AUTO_TEST_CASE(calls_of_a_store_that_overlap_are_seen, *boost::unit_test::enable_if<!under_tsan>()) {
  const std::size_t overlaps = books.overlaps;
  const std::size_t waited = books.waited;
  struct no_pool {};
  ledger_store::source<no_pool> store{ledger_store{}};
  const auto call = [&store] { store.release(store.acquire(64, 64), 64); };
  books.closed = true;
  std::thread one(call);
  std::thread other(call);
  const bool met = soon([&] { return books.waited == waited + 2; });
  books.closed = false;
  one.join();
  other.join();
  CHECK(met);
  CHECK(books.overlaps != overlaps);
  books.overlaps = overlaps;
}

}  // namespace
}  // namespace tarn::test
