// expect: tarn: [P9] this statistics policy lacks something that the pool uses
// What counts must have read().
#include "tarn/allocator/pool.h"

struct secretive : tarn::no_statistics {
  template <class Environment>
  struct part : tarn::no_statistics::part<Environment> {
    using tarn::no_statistics::part<Environment>::part;
    static constexpr bool counts = true;
  };
};
struct open_book : tarn::no_statistics {
  template <class Environment>
  struct part : secretive::part<Environment> {
    constexpr explicit part(const open_book&) noexcept : secretive::part<Environment>(secretive{}) {}
    constexpr int read() const noexcept { return 0; }
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, open_book> right;
#else
tarn::pool<tarn::static_size<64>, secretive> wrong;
void use() { static_cast<void>(wrong.statistics()); }
#endif
