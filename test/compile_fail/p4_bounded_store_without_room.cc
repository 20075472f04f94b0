// expect: tarn: [P4] this store policy lacks something that the pool uses
// A store with an end has to say how much it can still give.
#include <cstddef>

#include "tarn/allocator/pool.h"

struct bottomless : tarn::heap_store {
  using implies = tarn::no_growth<>;
  static constexpr bool bounded = true;
};
struct bottomed : bottomless {
  template <class Environment>
  struct source : tarn::heap_store::source<Environment> {
    using tarn::heap_store::source<Environment>::source;
    std::size_t room(std::size_t) const noexcept { return 4096; }
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, bottomed> right;
#else
tarn::pool<tarn::static_size<64>, bottomless> wrong;
std::size_t use() { return wrong.capacity(); }
#endif
