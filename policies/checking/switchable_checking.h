// decides    wrong frees are refused and reported, as hardened does, while the pool's checks are on: from the start where the
//            environment variable TARN_CHECK names the pool, or from a call of switch_checks() on
// costs      a branch that the processor predicts for each call, while the checks are off; a byte for each block, at the front
//            of its chunk. With guard_bytes 32 bytes for each block. On: about what hardened costs
// conflicts  unnamed: nobody could name the pool
// use when   a release build should be able to look for a wrong free where it happens, without being built anew
#ifndef TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_
#define TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_

#include "tarn/policies/checking/detail/block_records.h"
#include "tarn/policies/checking/detail/guard_bytes.h"
#include "tarn/policies/checking/detail/switched_checks.h"
#include "tarn/policies/checking/hardened.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/checking/traits.h"

namespace tarn {

/// Checks that are off until somebody names the pool. TARN_CHECK holds names, with commas between them: the checks of these
/// pools are on from the start. `*` at the end of a name stands for any further characters; `:guard` behind it asks for guard
/// bytes, too:
///
///   TARN_CHECK=orders,messages:guard,cache_*
///
/// A double free, a foreign or an interior pointer is reported, and the call does nothing. Blocks that were handed out before
/// the checks were switched on pass once.
/// \tparam Options  guard_bytes, reported_to<handler>
template <class... Options>
struct switchable_checking_with {
  using axis = tarn::axis::checking;
  static constexpr bool arguments_hold =
      ((detail::one_of<Options, guard_bytes> || detail::handlers_in<Options> == 1) && ...) &&
      detail::handlers_among<Options...> <= 1;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [H4] switchable_checking_with was given something that is none of its options; they are guard_bytes "
                  "and one reported_to<handler>");
  };

  static constexpr bool guards = detail::one_of<guard_bytes, Options...>;
  static constexpr checking_traits traits{
      .switches = true,
      .prefix = guards ? detail::guard_words::bytes : 0,
      .suffix = guards ? detail::guard_words::bytes : 0,
  };
  using reporter = detail::reporter_among<Options...>;

  template <class Traits>
  using per_chunk = detail::block_records<detail::live_mark>;
  template <class Traits>
  using state = detail::switched_checks<Traits, switchable_checking_with>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_
