// expect: tarn: [P9] this statistics policy lacks something that the pool uses
// It wasn't told that chunks come and go.
#include <cstddef>

#include "tarn/allocator/pool.h"

struct block_counter {
  using axis = tarn::axis::statistics;
  template <class Environment>
  struct part {
    static constexpr bool counts = false;
    constexpr explicit part(const block_counter&) noexcept {}
    constexpr void on_allocate(std::size_t) noexcept {}
    constexpr void on_deallocate(std::size_t) noexcept {}
  };
};
struct full_counter : block_counter {
  template <class Environment>
  struct part : block_counter::part<Environment> {
    using block_counter::part<Environment>::part;
    constexpr void on_chunk(std::size_t) noexcept {}
    constexpr void off_chunk(std::size_t) noexcept {}
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, full_counter> right;
#else
tarn::pool<tarn::static_size<64>, block_counter> wrong;
#endif
