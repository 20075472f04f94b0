// expect: tarn: [P8] this checking policy lacks something that the pool uses
// on_deallocate() says nothing of the block.
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/protocol.h"

struct mute_checking : tarn::no_checking {
  template <class Environment>
  struct part : tarn::no_checking::part<Environment> {
    using tarn::no_checking::part<Environment>::part;
    template <class Core>
    constexpr void on_deallocate(Core&, void*) noexcept {}
  };
};
struct frank_checking : tarn::no_checking {
  template <class Environment>
  struct part : tarn::no_checking::part<Environment> {
    using tarn::no_checking::part<Environment>::part;
    template <class Core>
    constexpr tarn::detail::outcome on_deallocate(Core&, void*) noexcept {
      return tarn::detail::outcome::done;
    }
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, frank_checking> right;
#else
tarn::pool<tarn::static_size<64>, mute_checking> wrong;
#endif
