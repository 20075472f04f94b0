// expect: tarn: [P2] this locking policy lacks something that the pool uses
// owns() and capacity() lock too, in a pool that is const.
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/protocol.h"

struct mutable_locking : tarn::no_locking {
  template <class Core>
  struct layer : tarn::no_locking::layer<Core> {
    using tarn::no_locking::layer<Core>::layer;
    tarn::detail::no_guard core_guard() noexcept { return {}; }
  };
};
struct const_locking : tarn::no_locking {
  template <class Core>
  struct layer : tarn::no_locking::layer<Core> {
    using tarn::no_locking::layer<Core>::layer;
    tarn::detail::no_guard core_guard() const noexcept { return {}; }
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, const_locking> right;
#else
tarn::pool<tarn::static_size<64>, mutable_locking> wrong;
bool use(const void* p) { return wrong.owns(p); }
#endif
