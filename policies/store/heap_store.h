// decides    chunks come from the global operator new and go back to operator delete
// costs      nothing beyond operator new, once for each chunk
// conflicts  none
// use when   there is a heap and no reason not to use it (the default)
#ifndef TARN_POLICIES_STORE_HEAP_STORE_H_
#define TARN_POLICIES_STORE_HEAP_STORE_H_

#include <cstddef>
#include <new>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/store/traits.h"

namespace tarn {

struct heap_store {
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};

  template <class Traits>
  struct source {
    constexpr explicit source(const heap_store&) noexcept {}

    // The plain forms if their alignment suffices, since a program that replaces operator new usually replaces only that one.
    // The unsized form of delete, because clang before 19 has no sized aligned one by default.
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      void* start = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                        ? ::operator new(bytes, std::nothrow)
                        : ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
      return {start, start == nullptr ? 0 : bytes};
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__)
        ::operator delete(region.start);
      else
        ::operator delete(region.start, std::align_val_t{alignment});
    }
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_HEAP_STORE_H_
