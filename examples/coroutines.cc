// Many small tasks at once: each is a coroutine, whose frame lies in a pool of the program and not on the heap.
//
// A frame has a size that only the compiler knows, so the pool has many sizes: size_class_pool. DECLARE_MEMORY_POOL in the
// promise doesn't do it: a class's pool has blocks of the class's size, and a frame is larger than its promise. An
// optimising compiler may put the frame of a coroutine into its caller's; here tasks are kept in a queue, so each has a
// frame of its own.
//
// Prints:
//
//   10001 tasks wait
//   sum 550000, mean 91
//   0 frames in use
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <exception>
#include <utility>

#include "tarn/allocator/size_class_pool.h"

// Frames have a size for each coroutine, which only the compiler knows: so there is a pool for each class of sizes.
// One thread runs all tasks here; where several do, name thread_cached<>.
static tarn::size_class_pool<tarn::counting_statistics> frames;

/// A coroutine that runs when it is resumed, until its next co_await. The owner of the task ends its frame.
class task {
 public:
  struct promise_type {
    // The compiler calls these for the frame, because they are the promise's.
    static void* operator new(std::size_t bytes) { return frames.allocate(bytes); }
    static void operator delete(void* frame, std::size_t bytes) { frames.deallocate(frame, bytes); }

    task get_return_object() { return task(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }
  };

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~task() {
    if (handle_) handle_.destroy();
  }

  /// Goes on to the next co_await. Returns whether there is more to do.
  bool resume() {
    handle_.resume();
    return !handle_.done();
  }

 private:
  using handle = std::coroutine_handle<promise_type>;
  explicit task(handle h) : handle_(h) {}

  handle handle_;
};

/// Runs tasks in turns, each until its next co_await.
class scheduler {
 public:
  void add(task t) { ready_.push_back(std::move(t)); }
  void run() {
    while (!ready_.empty()) {
      task t = std::move(ready_.front());
      ready_.pop_front();
      if (t.resume()) ready_.push_back(std::move(t));
    }
  }

 private:
  std::deque<task> ready_;
};

/// Adds up 1 to n, a number in each turn.
task add_up(int n, long& sum) {
  for (int i = 1; i <= n; ++i) {
    sum += i;
    co_await std::suspend_always();
  }
}

/// Another size of frame: it has an array in it.
task average(int n, long& result) {
  long last[16] = {};
  for (int i = 0; i < n; ++i) {
    last[i % 16] = i;
    co_await std::suspend_always();
  }
  for (const long value : last) result += value;
  result /= 16;
}

/// Frames in use, of all sizes.
std::size_t frames_in_use() {
  std::size_t n = 0;
  frames.each_pool([&](std::size_t, const auto& pool) { n += pool.statistics().in_use; });
  return n;
}

int main() {
  scheduler all;
  long sum = 0, mean = 0;
  for (int i = 0; i != 10'000; ++i) all.add(add_up(10, sum));
  all.add(average(100, mean));
  std::printf("%zu tasks wait\n", frames_in_use());

  all.run();
  std::printf("sum %ld, mean %ld\n", sum, mean);
  std::printf("%zu frames in use\n", frames_in_use());
  return sum == 550'000 && mean == 91 && frames_in_use() == 0 ? 0 : 1;
}
