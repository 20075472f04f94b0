// expect: tarn: [P8] this checking policy lacks something that the pool uses
// It refuses calls, and no member says which.
#include "tarn/allocator/pool.h"

struct silent_checking : tarn::no_checking {
  static constexpr bool refuses = true;
};
struct idle_checking : tarn::no_checking {
  static constexpr bool refuses = false;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, idle_checking> right;
#else
tarn::pool<tarn::static_size<64>, silent_checking> wrong;
#endif
