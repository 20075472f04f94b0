// A store over another that knows how many bytes are out at once, and the most that were. It counts them while it has them: a
// region from before it is given until after it was taken back.
#ifndef TARN_TEST_POLICIES_STORE_EXACT_STORE_H_
#define TARN_TEST_POLICIES_STORE_EXACT_STORE_H_

#include <atomic>
#include <concepts>
#include <cstddef>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/store.h"

namespace tarn::test {

struct bytes_out {
  std::atomic<std::size_t> now = 0;
  std::atomic<std::size_t> most = 0;
  std::atomic<std::size_t> calls = 0;  // of acquire()

  void add(std::size_t bytes) noexcept {
    const std::size_t all = now.fetch_add(bytes) + bytes;
    std::size_t seen = most;
    while (seen < all && !most.compare_exchange_weak(seen, all)) {
    }
  }
};

/// \tparam Out  where it counts
template <class Inner, bytes_out& Out>
struct exact_store : Inner {
  static constexpr store_traits traits = Inner::traits.wrapped();

  constexpr exact_store()
    requires std::default_initializable<Inner>
  = default;
  constexpr explicit exact_store(const Inner& inner) noexcept : Inner(inner) {}

  template <class Traits>
  class source : public Inner::template source<Traits> {
    using inner = typename Inner::template source<Traits>;

   public:
    constexpr explicit source(const exact_store& store) noexcept : inner(store) {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      ++Out.calls;
      const detail::memory region = inner::acquire(bytes, alignment);
      if (region) Out.add(region.bytes);
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      inner::release(region, alignment);
      Out.now -= region.bytes;
    }
  };
};

}  // namespace tarn::test

#endif  // TARN_TEST_POLICIES_STORE_EXACT_STORE_H_
