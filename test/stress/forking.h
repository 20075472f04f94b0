// Processes that fork: what becomes of their children, and a pool that other threads use meanwhile.
#ifndef TARN_TEST_STRESS_FORKING_H_
#define TARN_TEST_STRESS_FORKING_H_

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "tarn/test/stress/cases.h"

namespace tarn::test {

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
inline constexpr std::chrono::milliseconds long_enough{300'000};

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
    whole &= pool_->reserve(pool_->capacity() + 1);
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

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_FORKING_H_
