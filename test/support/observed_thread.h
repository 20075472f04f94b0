// A thread of which a test can see that it waits: nobody has to guess how long that takes it.
#ifndef TARN_TEST_SUPPORT_OBSERVED_THREAD_H_
#define TARN_TEST_SUPPORT_OBSERVED_THREAD_H_

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

namespace tarn::test {

/// Whether a thread of this process sleeps: it waits for a mutex, a semaphore, a child or a time. Linux.
inline bool is_asleep(pid_t thread) {
  char text[512];
  std::snprintf(text, sizeof text, "/proc/self/task/%d/stat", thread);
  const int file = open(text, O_RDONLY);
  if (file < 0) return false;
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  if (got <= 0) return false;
  text[got] = '\0';
  const char* const name_ends = std::strrchr(text, ')');
  return name_ends != nullptr && std::strncmp(name_ends, ") S", 3) == 0;
}

class observed_thread {
 public:
  template <class Body>
  explicit observed_thread(Body body)
      : thread_([this, body = std::move(body)]() mutable {
          number_ = gettid();
          body();
          ended_ = true;
        }) {}
  ~observed_thread() {
    if (thread_.joinable()) thread_.join();
  }
  observed_thread(const observed_thread&) = delete;
  observed_thread& operator=(const observed_thread&) = delete;

  /// Returns when the thread waits: true; or when its body has ended: false. Where it does neither, it never returns.
  bool comes_to_wait() const {
    for (; !ended_; std::this_thread::yield())
      if (const pid_t number = number_; number != 0 && is_asleep(number)) return !ended_;
    return false;
  }
  void join() { thread_.join(); }

 private:
  std::atomic<pid_t> number_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_OBSERVED_THREAD_H_
