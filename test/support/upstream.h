// A memory resource that records what is asked of it, checks what comes back, and fails on demand.
#ifndef TARN_TEST_SUPPORT_UPSTREAM_H_
#define TARN_TEST_SUPPORT_UPSTREAM_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <new>

namespace tarn::test {

enum class failing { never, once, for_ever, every_second };

class upstream final : public std::pmr::memory_resource {
 public:
  ~upstream() override {
    for (const auto& [start, region] : live_) ::operator delete(start, std::align_val_t{region.alignment});
  }

  /// From the k-th call on (1 is the next) calls fail, as `mode` says.
  void fail(std::size_t k, failing mode) noexcept {
    fail_at_ = calls_ + k;
    mode_ = mode;
  }

  std::size_t calls() const noexcept { return calls_; }
  std::size_t failures() const noexcept { return failures_; }  // calls that were made to fail
  std::size_t bytes() const noexcept { return bytes_; }        // outstanding
  std::size_t regions() const noexcept { return live_.size(); }
  std::size_t faults() const noexcept { return faults_; }      // regions given back that were never given, or given otherwise

  /// Calls visit(start, bytes) for each region that is outstanding, by address.
  template <class Visit>
  void each_region(Visit visit) const {
    for (const auto& [start, region] : live_) visit(start, region.bytes);
  }

  /// As allocate(), but returns null where the call fails.
  void* try_allocate(std::size_t bytes, std::size_t alignment) {
    ++calls_;
    const bool fails = mode_ == failing::once           ? calls_ == fail_at_
                       : mode_ == failing::for_ever     ? calls_ >= fail_at_
                       : mode_ == failing::every_second ? calls_ >= fail_at_ && (calls_ - fail_at_) % 2 == 0
                                                        : false;
    if (fails) {
      ++failures_;
      return nullptr;
    }
    void* const start = ::operator new(bytes, std::align_val_t{alignment});
    live_[start] = {bytes, alignment};
    bytes_ += bytes;
    return start;
  }

 private:
  struct extent {
    std::size_t bytes;
    std::size_t alignment;
  };

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const start = try_allocate(bytes, alignment);
    if (start == nullptr) throw std::bad_alloc();
    return start;
  }
  void do_deallocate(void* start, std::size_t bytes, std::size_t alignment) override {
    const auto found = live_.find(start);
    if (found == live_.end() || found->second.bytes != bytes || found->second.alignment != alignment) {
      ++faults_;
      return;
    }
    bytes_ -= bytes;
    live_.erase(found);
    ::operator delete(start, std::align_val_t{alignment});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::map<void*, extent> live_;
  std::size_t calls_ = 0;
  std::size_t failures_ = 0;
  std::size_t bytes_ = 0;
  std::size_t faults_ = 0;
  std::size_t fail_at_ = 0;
  failing mode_ = failing::never;
};

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_UPSTREAM_H_
