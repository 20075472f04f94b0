// decides    all that hardened finds, and writes around a block and into a free one, use by a second thread where nothing is locked,
//            use out of the pool's own call, and blocks still in use when the pool ends. Reports say which operation, of which thread,
//            handed the block out and took it back
// costs      32 bytes for each block in front of its chunk, and 40 and more around it; 5 to 15 ns a pair for small blocks, and the
//            time to write and read all of a large one. Under thread_cached and lock_free each call takes the pool's mutex
// conflicts  none
// use when   the program is tested: in debug builds
#ifndef TARN_POLICIES_CHECKING_CHECKED_H_
#define TARN_POLICIES_CHECKING_CHECKED_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking/detail/block_checks.h"
#include "tarn/policies/checking/detail/block_records.h"
#include "tarn/policies/checking/detail/guard_bytes.h"
#include "tarn/policies/checking/hardened.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn {

/// For checked_with: where each block was asked for, as far as that is said: by object_pool's here(), or by note_site(). 16 bytes
/// more for each block.
struct sites {};

/// \tparam Options  shuffled, sites
template <class... Options>
struct checked_with {
  using axis = tarn::axis::checking;
  static constexpr bool arguments_hold = (detail::one_of<Options, shuffled, sites> && ...);
  struct complaint {
    static_assert(arguments_hold, "tarn: [H2] checked_with was given something that is none of its options; they are shuffled and "
                                  "sites");
  };

  static constexpr bool refuses = true;
  static constexpr bool finds_chunks = true;
  static constexpr bool hides_links = true;
  static constexpr bool keeps_payload = true;  // lists lie in front of the blocks: a free one is all fill
  static constexpr bool shuffles = detail::one_of<shuffled, Options...>;
  static constexpr bool guards = true;
  static constexpr bool fills = true;
  static constexpr bool can_verify = true;
  static constexpr bool has_generations = true;
  static constexpr bool knows_owner = true;
  static constexpr bool lists_leaks = true;
  static constexpr bool tells_reentry = true;
  static constexpr bool has_sites = detail::one_of<sites, Options...>;
  static constexpr std::size_t prefix = detail::guard_words::bytes;
  static constexpr std::size_t suffix = detail::guard_words::bytes;
  using record = std::conditional_t<has_sites, detail::sited_record, detail::life_record>;

  template <class Environment>
  using per_chunk = detail::block_records<record>;
  template <class Environment>
  using part = detail::block_checks<Environment, checked_with>;

  const char* name = "";  // of the pool, in reports; it must outlive the pool
};

using checked = checked_with<>;

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_CHECKED_H_
