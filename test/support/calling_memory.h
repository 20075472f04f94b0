// Memory that calls the test back, and a limit for tests in which threads wait for each other.
#ifndef TARN_TEST_SUPPORT_CALLING_MEMORY_H_
#define TARN_TEST_SUPPORT_CALLING_MEMORY_H_

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <new>

namespace tarn::test {

/// Memory that is short, for many threads. It can be told to call something whenever it gives or takes a region.
class budget final : public std::pmr::memory_resource {
 public:
  explicit budget(std::size_t bytes) : left_(static_cast<long>(bytes)) {}
  std::size_t refused() const noexcept { return refused_; }
  std::size_t given_back() const noexcept { return given_back_; }
  long left() const noexcept { return left_; }
  void add(long bytes) noexcept { left_ += bytes; }

  std::function<void()> on_allocate;
  std::function<void(std::size_t)> on_deallocate;  // bytes

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (on_allocate) on_allocate();
    const long size = static_cast<long>(bytes);
    if (left_.fetch_sub(size) < size) {
      left_ += size;
      ++refused_;
      throw std::bad_alloc();
    }
    return ::operator new(bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* start, std::size_t bytes, std::size_t alignment) override {
    ::operator delete(start, std::align_val_t{alignment});
    ++given_back_;
    left_ += static_cast<long>(bytes);
    if (on_deallocate) on_deallocate(bytes);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::atomic<long> left_;
  std::atomic<std::size_t> refused_ = 0;
  std::atomic<std::size_t> given_back_ = 0;
};

/// Ends the program where something waits for ever: each case needs seconds.
class alarm_clock {
 public:
  explicit alarm_clock(unsigned seconds) { alarm(seconds); }
  ~alarm_clock() { alarm(0); }
  alarm_clock(const alarm_clock&) = delete;
  alarm_clock& operator=(const alarm_clock&) = delete;
};

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_CALLING_MEMORY_H_
