// expect: tarn: [P8] this checking policy lacks something that the pool uses
// on_deallocate() says nothing of the block.
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/protocol.h"

template <class Verdict>
struct checking_of : tarn::no_checking {
  static constexpr bool refuses = true;
  template <class Environment>
  struct part {
    using core = typename Environment::core;
    constexpr explicit part(const checking_of&) noexcept {}
    tarn::detail::outcome on_allocate(core&, void*) noexcept { return tarn::detail::outcome::done; }
    Verdict on_deallocate(core&, void*) noexcept { return Verdict(); }
    void describe_allocate(core&, void*, tarn::detail::incident&) noexcept {}
    void describe_deallocate(core&, void*, tarn::detail::incident&) noexcept {}
    void report(tarn::misuse&) noexcept {}
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, checking_of<tarn::detail::outcome>> right;
#else
tarn::pool<tarn::static_size<64>, checking_of<void>> wrong;
#endif
