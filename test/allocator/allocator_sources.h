// A source for an stl_allocator that keeps account, and objects that are aligned.
#ifndef TARN_TEST_ALLOCATOR_ALLOCATOR_SOURCES_H_
#define TARN_TEST_ALLOCATOR_ALLOCATOR_SOURCES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>

namespace tarn::test {

/// A source that knows every block that it gave, and counts as a fault what comes back otherwise.
class ledger {
 public:
  ledger() = default;
  ledger(const ledger&) = delete;
  ~ledger() {
    for (const auto& [start, block] : live_) ::operator delete(start, std::align_val_t{block.alignment});
  }

  void* allocate(std::size_t bytes, std::size_t alignment) {
    ++calls_;
    if (calls_ > limit_) throw std::bad_alloc();
    void* const start = ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{alignment});
    live_[start] = {bytes, alignment};
    return start;
  }
  void deallocate(void* start, std::size_t bytes, std::size_t alignment) {
    const auto found = live_.find(start);
    if (found == live_.end() || found->second.bytes != bytes || found->second.alignment != alignment) {
      ++faults_;
      return;
    }
    live_.erase(found);
    ::operator delete(start, std::align_val_t{alignment});
  }

  void refuse_after(std::size_t more) noexcept { limit_ = more == no_limit ? no_limit : calls_ + more; }
  static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

  std::size_t calls() const noexcept { return calls_; }
  std::size_t blocks() const noexcept { return live_.size(); }
  std::size_t faults() const noexcept { return faults_; }
  /// Whether the address lies in a block that is out.
  bool holds(const void* address) const noexcept {
    auto next = live_.upper_bound(const_cast<void*>(address));
    if (next == live_.begin()) return false;
    --next;
    return static_cast<const std::byte*>(address) < static_cast<const std::byte*>(next->first) + next->second.bytes;
  }

 private:
  struct extent {
    std::size_t bytes;
    std::size_t alignment;
  };
  std::map<void*, extent> live_;
  std::size_t calls_ = 0;
  std::size_t limit_ = no_limit;
  std::size_t faults_ = 0;
};

template <std::size_t Align>
struct alignas(Align) aligned {
  long value = 0;
};

template <class T>
bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

}  // namespace tarn::test

#endif  // TARN_TEST_ALLOCATOR_ALLOCATOR_SOURCES_H_
