// expect: tarn: [P5] this reuse policy lacks something that the pool uses
// A column that is never opened.
#include <cstddef>

#include "tarn/allocator/pool.h"

struct half_column : tarn::lifo_reuse<> {
  template <class Environment>
  struct per_chunk {
    template <class Geometry>
    static constexpr std::size_t column_bytes(std::size_t blocks, const Geometry&) noexcept {
      return blocks;
    }
  };
};
struct whole_column : tarn::lifo_reuse<> {
  template <class Environment>
  struct per_chunk : half_column::per_chunk<Environment> {
    template <class Geometry>
    void open(std::byte*, std::size_t, const Geometry&) noexcept {}
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, whole_column> right;
#else
tarn::pool<tarn::static_size<64>, half_column> wrong;
#endif
