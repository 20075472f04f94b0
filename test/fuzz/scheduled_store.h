// A store whose calls fail as the input says.
#ifndef TARN_TEST_FUZZ_SCHEDULED_STORE_H_
#define TARN_TEST_FUZZ_SCHEDULED_STORE_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/fuzz/input.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {

/// Where the memory comes from, and which of the next calls fail.
struct scheduled_memory {
  test::upstream upstream;
  std::size_t grain = 1;  // regions are multiples of so many bytes, as page_store's are

  /// Of the next 16 calls those fail whose bit is set; then again, or none.
  void schedule(input& in) {
    calls_ = static_cast<std::uint16_t>(in.byte() | in.byte() << 8);
    const std::uint8_t how = in.byte();
    again_ = (how & 1) != 0;
    throws_ = (how & 2) != 0;
    call_ = 0;
  }
  void fail_for_ever() {
    calls_ = 0xFFFF;
    again_ = true;
    call_ = 0;
  }

  detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
    bytes = detail::round_up(bytes, grain);
    upstream.fail(1, next_fails() ? failing::once : failing::never);
    if (throws_) return resource().acquire(bytes, alignment);
    void* const start = upstream.try_allocate(bytes, alignment);
    return {start, start == nullptr ? 0 : bytes};
  }
  void release(detail::memory region, std::size_t alignment) noexcept { resource().release(region, alignment); }

 private:
  struct nothing {};
  resource_store::source<nothing> resource() noexcept { return resource_store::source<nothing>(resource_store{&upstream}); }
  bool next_fails() noexcept {
    if (call_ == 16) {
      if (!again_) return false;
      call_ = 0;
    }
    return (calls_ >> call_++ & 1) != 0;
  }

  std::uint16_t calls_ = 0;
  unsigned call_ = 0;
  bool again_ = false;
  bool throws_ = false;  // what fails throws, through resource_store; else it returns null
};

class scheduled_store {
 public:
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};

  constexpr explicit scheduled_store(scheduled_memory* from) noexcept : from_(from) {}

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const scheduled_store& store) noexcept : from_(store.from_) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept { return from_->acquire(bytes, alignment); }
    void release(detail::memory region, std::size_t alignment) noexcept { from_->release(region, alignment); }

   private:
    scheduled_memory* from_;
  };

 private:
  scheduled_memory* from_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_FUZZ_SCHEDULED_STORE_H_
