// What a memory resource over pools asks instead of its upstream: the same, but what upstream throws is noted. A pool calls its
// store where nothing may be thrown, so the exception waits here for the thread whose request failed.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_NOTED_UPSTREAM_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_NOTED_UPSTREAM_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <utility>

#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"

namespace tarn::detail {

class noted_upstream final : public std::pmr::memory_resource {
 public:
  explicit noted_upstream(std::pmr::memory_resource* upstream) noexcept : upstream_(upstream) {}

  std::pmr::memory_resource* get() const noexcept { return upstream_; }

  /// Returns what upstream threw last, if this thread had asked, and forgets it; null otherwise.
  std::exception_ptr take() noexcept {
    const tried lock(mutex_);
    if (!lock || asker_ != this_thread_number()) return nullptr;
    asker_ = 0;
    return std::exchange(thrown_, nullptr);
  }
  /// Throws that, if there is any.
  void rethrow() {
#if TARN_EXCEPTIONS
    if (std::exception_ptr thrown = take()) std::rethrow_exception(std::exchange(thrown, nullptr));
#endif
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
#if TARN_EXCEPTIONS
    try {
      return upstream_->allocate(bytes, alignment);
    } catch (...) {
      note(std::current_exception());
      throw;
    }
#else
    return upstream_->allocate(bytes, alignment);
#endif
  }
  void do_deallocate(void* region, std::size_t bytes, std::size_t alignment) override {
    upstream_->deallocate(region, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  void note(std::exception_ptr thrown) noexcept {
    const tried lock(mutex_);
    if (!lock) return;
    asker_ = this_thread_number();
    std::swap(thrown_, thrown);  // the earlier one ends when nothing is held
  }

  std::pmr::memory_resource* upstream_;
  std::exception_ptr thrown_;
  std::uint64_t asker_ = 0;  // a thread's number
  mutex mutex_;              // never waited for: it may be held by a thread that a fork left behind
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_NOTED_UPSTREAM_H_
