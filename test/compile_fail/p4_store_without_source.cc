// expect: tarn: [P4] this store policy lacks something that the pool uses
#include "tarn/allocator/pool.h"

struct sourceless {
  using axis = tarn::axis::store;
  static constexpr bool bounded = false;
  static constexpr bool sized_by_geometry = false;
};
struct sourced : sourceless {
  template <class Environment>
  using source = tarn::heap_store::source<Environment>;
  operator tarn::heap_store() const noexcept { return {}; }
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, sourced> right;
#else
tarn::pool<tarn::static_size<64>, sourceless> wrong;
#endif
