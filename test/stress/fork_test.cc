// A process forks while its other threads use pools, hold their locks or wait in their stores. The child has one thread, and
// can use every pool.
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tarn/test/stress/cases.h"
#include "tarn/test/support/observed_thread.h"

namespace tarn::test {
namespace {

/// What became of a child.
struct outcomes {
  std::size_t good = 0;
  std::size_t hung = 0;  // until its alarm
  std::size_t bad = 0;  // another status, or signal

  void wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++good;
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) ++hung;
    else ++bad, std::printf("a child ended with status %#x\n", static_cast<unsigned>(status));
  }
};

/// Forks, and runs the body in the child, whose result is its status.
template <class Body>
pid_t fork_and(Body body, std::chrono::milliseconds patience) {
  const pid_t child = fork();
  if (child != 0) return child;
  const auto microseconds = patience.count() * 1000;
  const itimerval alarm{{0, 0}, {microseconds / 1'000'000, microseconds % 1'000'000}};
  setitimer(ITIMER_REAL, &alarm, nullptr);
  _exit(body());
}
constexpr std::chrono::milliseconds long_enough{300'000};

/// A pool with threads that use it until it ends.
class hammered {
 public:
  explicit hammered(const contender& c, std::size_t threads = 2) : pool_(c.make()), me_(*pool_, counts_) {
    held_.resize(50);
    me_.take(held_);
    for (std::size_t t = 0; t < threads; ++t)
      threads_.emplace_back([this] {
        const shaken disturbed;
        worker he(*pool_, counts_);
        std::vector<void*> mine;
        while (!over_.load(std::memory_order_relaxed)) {
          while (paused_.load(std::memory_order_relaxed) && !over_) std::this_thread::sleep_for(std::chrono::microseconds(200));
          mingle(he, shared_, mine, 100);
          ++rounds_;
        }
        he.give(mine);
      });
  }
  ~hammered() {
    over_ = true;
    for (std::thread& t : threads_) t.join();
    CHECK(std::ranges::all_of(held_, [&](void* block) { return me_.is_whole(block); }));
    me_.give(held_);
    shared_.empty([&](void* block) { me_.give(block); });
    const std::size_t capacity = pool_->capacity();
    CHECK(blocks_at_hand(*pool_, counts_) == capacity);
    check_integrity(counts_);
    pool_->trim();
  }
  hammered(const hammered&) = delete;
  hammered& operator=(const hammered&) = delete;

  any_pool& pool() { return *pool_; }
  std::size_t rounds() const { return rounds_; }
  /// The children have the processor for themselves; what they find is what there was when the fork came.
  void pause() { paused_ = true; }
  void go_on() {
    seen_ = rounds_;
    paused_ = false;
  }
  void wait_for_rounds() {
    while (rounds_ < seen_ + 8) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  /// In the child: what the parent holds is whole, and goes back; everything that a pool can do still works. No block comes
  /// that is in use, by this thread or by those that are gone. Returns what went wrong, 0: nothing.
  int use_in_child(bool with_thread) {
    books.closed = false;
    books.alone = true;
    bool whole = std::ranges::all_of(held_, [&](void* block) { return me_.is_whole(block); });
    me_.give(held_);
    use_all(me_);
    if (with_thread)
      std::thread([this] {
        worker second(*pool_, counts_);
        use_all(second);
      }).join();
    pool_->trim();
    use_all(me_);
    whole &= pool_->try_reserve(pool_->capacity() + 1);
    const bool grown = counts_.refused == 0;
    return (whole ? 0 : 1) | (counts_.twice == 0 ? 0 : 2) | (counts_.spoiled == 0 ? 0 : 4) | (grown ? 0 : 8);
  }

 private:
  static void use_all(worker& me) {
    std::vector<void*> blocks(150);
    for (void*& block : blocks) block = me.take();
    std::vector<void*> batch(50);
    batch.resize(me.take(batch));
    for (void* const block : blocks)
      if (block != nullptr) me.give(block);
    me.give(batch);
  }

  std::unique_ptr<any_pool> pool_;
  tally counts_;
  boxes shared_;
  worker me_;
  std::vector<void*> held_;
  std::atomic<bool> over_{false};
  std::atomic<bool> paused_{false};
  std::atomic<std::size_t> rounds_{0};
  std::size_t seen_ = 0;
  std::vector<std::thread> threads_;
};

constexpr std::size_t forks = up_to(300);

void children_can_use_the_pool(const contender& c) {
  outcomes seen;
  std::size_t rounds = 0;
  {
    hammered pool(c);
    for (std::size_t i = 0; i < forks && seen.hung + seen.bad < 3; ++i) {
      pool.go_on();
      pool.wait_for_rounds();
      const pid_t child = fork_and([&] { return pool.use_in_child(i % 10 == 0); }, long_enough);
      pool.pause();
      seen.wait_for(child);
    }
    rounds = pool.rounds();
  }
  std::printf("%s: %zu children used the pool, %zu hung, %zu failed; %zu rounds of others meanwhile\n", c.name, seen.good,
              seen.hung, seen.bad, rounds);
  CHECK(seen.good == forks);
  CHECK(rounds >= forks);
}
const case_for_each single_cases("children_can_use_the_pool", children_can_use_the_pool);

BOOST_AUTO_TEST_CASE(children_can_use_every_pool_of_the_process) {
  const deadline limit("children_can_use_every_pool_of_the_process");
  std::vector<std::unique_ptr<hammered>> all;
  for (const contender& c : contenders()) all.push_back(std::make_unique<hammered>(c, 1));
  std::atomic<bool> over{false};
  std::atomic<bool> paused{false};
  std::atomic<std::size_t> made{0};
  std::thread maker([&] {  // pools come and go, too
    while (!over) {
      while (paused && !over) std::this_thread::sleep_for(std::chrono::microseconds(200));
      for (const contender& c : contenders()) {
        if (c.is_static) continue;
        const auto pool = c.make();
        if (void* const block = pool->try_allocate()) pool->deallocate(block);
        ++made;
      }
    }
  });
  outcomes seen;
  const std::size_t times = nightly() ? forks : up_to(30);
  std::chrono::steady_clock::duration slowest{};
  for (std::size_t i = 0; i < times && seen.hung + seen.bad < 3; ++i) {
    paused = false;
    for (auto& pool : all) pool->go_on();
    for (auto& pool : all) pool->wait_for_rounds();
    for (const std::size_t before = made; made < before + 20;) std::this_thread::yield();
    const auto use_all = [&] {
      int wrong = 0;
      for (auto& pool : all) wrong |= pool->use_in_child(false);
      for (const contender& c : contenders()) {
        const auto pool = c.make();
        if (void* const block = pool->try_allocate()) pool->deallocate(block);
      }
      return wrong;
    };
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork_and(use_all, long_enough);
    slowest = std::max(slowest, std::chrono::steady_clock::now() - start);
    paused = true;
    for (auto& pool : all) pool->pause();
    seen.wait_for(child);
  }
  over = true;
  maker.join();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(slowest).count();
  std::printf(
      "%zu children used %zu pools each, %zu hung, %zu failed; %zu pools came and went; the slowest fork took %lld ms\n",
      seen.good, all.size(), seen.hung, seen.bad, made.load(), static_cast<long long>(milliseconds));
  CHECK(seen.good == times);
  CHECK(made >= 20 * times);
}

/// The thread that is in the store holds what keeps others out of it.
void children_can_grow_a_pool_whose_store_was_at_work(const contender& c) {
  constexpr std::size_t times = up_to(30);
  outcomes seen;
  const std::size_t waited = books.waited;
  {
    hammered pool(c);
    for (std::size_t i = 0; i < times && seen.hung + seen.bad < 3; ++i) {
      books.closed = true;
      const std::size_t before = books.waited;
      std::thread grower([&] { pool.pool().try_reserve(pool.pool().capacity() + 1); });
      while (books.waited == before) std::this_thread::yield();
      std::thread opener([forker = gettid()] {
        while (!is_asleep(forker)) std::this_thread::yield();  // it waits for the store's call, or for its child
        books.closed = false;
      });
      seen.wait_for(fork_and([&] { return pool.use_in_child(false); }, long_enough));
      grower.join();
      opener.join();
    }
    books.closed = false;
  }
  std::printf("%s: %zu children grew the pool, %zu hung, %zu failed; %zu store calls had to wait\n", c.name, seen.good,
              seen.hung, seen.bad, books.waited - waited);
  CHECK(seen.good == times);
  CHECK(books.waited - waited >= times);
}
const case_for_each store_cases("children_can_grow_a_pool_whose_store_was_at_work",
                                children_can_grow_a_pool_whose_store_was_at_work);

// The detector on something broken: a mutex that nobody takes care of, and another thread that holds it.
BOOST_AUTO_TEST_CASE(children_of_a_careless_mutex_hang) {
  std::mutex mutex;
  std::barrier step(2);
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    step.arrive_and_wait();
    step.arrive_and_wait();
  });
  step.arrive_and_wait();
  outcomes seen;
  const auto take_it = [&] {
    const std::lock_guard lock(mutex);
    return 0;
  };
  seen.wait_for(fork_and(take_it, std::chrono::milliseconds(1000)));
  step.arrive_and_wait();
  other.join();
  CHECK(seen.hung == 1);
}

}  // namespace
}  // namespace tarn::test
