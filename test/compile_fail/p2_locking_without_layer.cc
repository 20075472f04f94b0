// expect: tarn: [P2] this locking policy lacks something that the pool uses
#include "tarn/allocator/pool.h"

struct unlayered {
  using axis = tarn::axis::locking;
  static constexpr bool may_return_chunks = true;
  static constexpr bool needs_identity = false;
  template <class T>
  using cell = T;
  template <class Environment>
  using per_chunk = tarn::no_locking::per_chunk<Environment>;
};
struct layered : unlayered {
  template <class Core>
  using layer = tarn::no_locking::layer<Core>;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, layered> right;
#else
tarn::pool<tarn::static_size<64>, unlayered> wrong;
#endif
