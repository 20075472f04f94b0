// expect: tarn: [P7] this exhaustion policy lacks something that the pool uses
// retry() isn't noexcept; a handler that throws would leave a call half done.
#include <cstddef>

#include "tarn/allocator/pool.h"

struct throwing_handler : tarn::report_exhaustion {
  template <class Environment>
  struct part : tarn::report_exhaustion::part<Environment> {
    using tarn::report_exhaustion::part<Environment>::part;
    bool retry(std::size_t) { throw 1; }
  };
};
struct quiet_handler : tarn::report_exhaustion {
  template <class Environment>
  struct part : tarn::report_exhaustion::part<Environment> {
    using tarn::report_exhaustion::part<Environment>::part;
    bool retry(std::size_t) noexcept { return false; }
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, quiet_handler> right;
#else
tarn::pool<tarn::static_size<64>, throwing_handler> wrong;
#endif
