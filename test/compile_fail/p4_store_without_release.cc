// expect: tarn: [P4] this store policy lacks something that the pool uses
// It takes nothing back.
#include <cstddef>
#include <cstdlib>

#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/protocol.h"

struct leaking_store {
  using axis = tarn::axis::store;
  static constexpr bool bounded = false;
  static constexpr bool sized_by_geometry = false;

  template <class Environment>
  struct source {
    constexpr explicit source(const leaking_store&) noexcept {}
    tarn::detail::memory acquire(std::size_t bytes, std::size_t) noexcept { return {std::malloc(bytes), bytes}; }
  };
};
struct malloc_store : leaking_store {
  template <class Environment>
  struct source : leaking_store::source<Environment> {
    using leaking_store::source<Environment>::source;
    void release(tarn::detail::memory region, std::size_t) noexcept { std::free(region.start); }
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, malloc_store> right;
#else
tarn::pool<tarn::static_size<64>, leaking_store> wrong;
#endif
