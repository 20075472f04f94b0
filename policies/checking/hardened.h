// decides    a pointer that can't be freed is refused at the call, before anything is touched, and reported: double free,
//            foreign or interior pointer, another pool's block, wrong size. Links in free blocks are encoded, and checked
//            before they are followed
// costs      a byte for each block, at the front of its chunk, and in pools of many chunks a table of them; 1 to 4 ns a pair
//            over few chunks. Under thread_cached and lock_free each call takes the pool's mutex
// conflicts  none
// use when   the program runs where a corrupted heap costs more than a few nanoseconds: in release builds
#ifndef TARN_POLICIES_CHECKING_HARDENED_H_
#define TARN_POLICIES_CHECKING_HARDENED_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/checking/detail/block_checks.h"
#include "tarn/policies/checking/detail/block_records.h"
#include "tarn/policies/checking/detail/guard_bytes.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/checking/traits.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn {

/// For hardened_with and checked_with: blocks that were never handed out come in an order that is hard to guess.
struct shuffled {};
/// For hardened_with: 16 guard bytes on each side of every block, checked when it is freed and when it is handed out again.
struct guard_bytes {};

/// For hardened_with: a count of each block's uses, so that object_pool can give handles. 4 bytes for each block instead of
/// one.
struct generations {};
/// For hardened_with and checked_with: blocks that are in use when their pool ends are meant, and not reported.
struct may_end_in_use {};

/// \tparam Options  shuffled, guard_bytes, generations, may_end_in_use, reported_to<handler>
template <class... Options>
struct hardened_with {
  using axis = tarn::axis::checking;
  static constexpr bool arguments_hold =
      ((detail::one_of<Options, shuffled, guard_bytes, generations, may_end_in_use> || detail::handlers_in<Options> == 1) &&
       ...) &&
      detail::handlers_among<Options...> <= 1;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [H1] hardened_with was given something that is none of its options; they are shuffled, "
                  "guard_bytes, generations, may_end_in_use and one reported_to<handler>");
  };

  static constexpr bool guards = detail::one_of<guard_bytes, Options...>;
  static constexpr checking_traits traits{
      .refuses = true,
      .finds_chunks = true,
      .prefix = guards ? detail::guard_words::bytes : 0,
      .suffix = guards ? detail::guard_words::bytes : 0,
      .hides_links = true,
      .shuffles = detail::one_of<shuffled, Options...>,
      .has_generations = detail::one_of<generations, Options...>,
      .sees_end = true,
      .may_end_in_use = detail::one_of<may_end_in_use, Options...>,
      .has_name = true,
  };
  static constexpr bool lists_leaks = false;
  using record = std::conditional_t<traits.has_generations, detail::generation_mark, detail::live_mark>;
  using reporter = detail::reporter_among<Options...>;

  template <class Traits>
  using per_chunk = detail::block_records<record>;
  template <class Traits>
  using state = detail::block_checks<Traits, hardened_with>;

  const char* name = "";  // of the pool, in reports; it must outlive the pool
};

using hardened = hardened_with<>;

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_HARDENED_H_
