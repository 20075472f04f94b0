// decides    chunks come from a std::pmr::memory_resource
// costs      a virtual call for each chunk
// conflicts  none
// use when   the caller decides where memory comes from: an arena, a monotonic buffer, a counting resource
#ifndef TARN_POLICIES_STORE_RESOURCE_STORE_H_
#define TARN_POLICIES_STORE_RESOURCE_STORE_H_

#include <cstddef>
#include <memory_resource>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/store.h"

namespace tarn {

class resource_store {
 public:
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};

  /// \param resource  not null; must outlive the pool. If it throws, the pool is exhausted
  constexpr explicit resource_store(std::pmr::memory_resource* resource) noexcept : resource_(resource) {}

  /// Returns the constructor's argument.
  constexpr std::pmr::memory_resource* resource() const noexcept { return resource_; }

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const resource_store& store) noexcept : resource_(store.resource()) {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const detail::uncancelled whole;
#if TARN_EXCEPTIONS
      try {
        return of(resource_->allocate(bytes, alignment), bytes);
      } catch (...) {
        return {};
      }
#else
      return of(resource_->allocate(bytes, alignment), bytes);
#endif
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      const detail::uncancelled whole;
      resource_->deallocate(region.start, region.bytes, alignment);
    }

   private:
    /// The standard library promises the compiler that a resource returns neither null nor a misaligned address, so checks for
    /// that are optimised away. A user's resource may return such addresses.
    static detail::memory of(void* start, std::size_t bytes) noexcept {
      start = detail::launder_address(start);
      return {start, start == nullptr ? 0 : bytes};
    }

    std::pmr::memory_resource* resource_;
  };

 private:
  std::pmr::memory_resource* resource_;
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_RESOURCE_STORE_H_
