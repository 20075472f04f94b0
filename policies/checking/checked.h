// decides    all that hardened detects, plus writes outside a block and into a free one, use by a second thread where nothing
//            is locked, reentrant calls, and blocks still in use when the pool ends. Reports say which operation of which
//            thread allocated and freed the block
// costs      32 bytes for each block at the front of its chunk, and 40 or more around it; 5 to 15 ns a pair for small blocks,
//            and the time to write and read all of a large one. Under thread_cached and lock_free each call takes the pool's
//            mutex
// conflicts  recycling_pool
// use when   the program is being tested: debug builds
#ifndef TARN_POLICIES_CHECKING_CHECKED_H_
#define TARN_POLICIES_CHECKING_CHECKED_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/checking/detail/block_checks.h"
#include "tarn/policies/checking/detail/block_records.h"
#include "tarn/policies/checking/detail/guard_bytes.h"
#include "tarn/policies/checking/detail/pool_names.h"
#include "tarn/policies/checking/hardened.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/checking/traits.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn {

/// For checked_with: where each block was allocated, if object_pool's here() or note_site() says so. 16 bytes more for each
/// block.
struct sites {};

/// \tparam Options  shuffled, sites, may_end_in_use, reported_to<handler>
template <class... Options>
struct checked_with {
  using axis = tarn::axis::checking;
  static constexpr bool arguments_hold =
      ((detail::one_of<Options, shuffled, sites, may_end_in_use> || detail::handlers_in<Options> == 1) && ...) &&
      detail::handlers_among<Options...> <= 1;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [H2] checked_with was given something that is none of its options; they are shuffled, "
                  "sites, may_end_in_use and one reported_to<handler>");
  };

  static constexpr checking_traits traits{
      .refuses = true,
      .finds_chunks = true,
      .prefix = detail::guard_words::bytes,
      .suffix = detail::guard_words::bytes,
      .hides_links = true,
      .keeps_payload = true,  // links lie in front of the blocks: a free block is all fill
      .fills = true,
      .shuffles = detail::one_of<shuffled, Options...>,
      .has_generations = true,
      .has_sites = detail::one_of<sites, Options...>,
      .knows_owner = true,
      .sees_end = true,
      .may_end_in_use = detail::one_of<may_end_in_use, Options...>,
      .tells_in_use = true,
      .can_verify = true,
      .tells_reentry = true,
      .has_name = true,
  };
  static constexpr bool guards = true;
  static constexpr bool lists_leaks = true;
  using record = std::conditional_t<traits.has_sites, detail::sited_record, detail::life_record>;
  using reporter = detail::reporter_among<Options...>;

  template <class Traits>
  using per_chunk = detail::block_records<record>;
  template <class Traits>
  using state = detail::block_checks<Traits, checked_with>;

  const char* name = "";  // of the pool, in reports; it must outlive the pool
};

using checked = checked_with<>;

/// Reports, as leaks, the blocks in use of every pool of the process whose checking policy is checked: also of static pools, of
/// classes and of containers, which never end. One report for each pool; with sites, for each of its sites; for each block
/// that is larger than any class of its pool. Returns how many blocks. Precondition: no other thread uses a pool without a
/// lock, ends a pool or unloads a library meanwhile.
inline std::size_t report_in_use() noexcept { return detail::named_pools().tell_all(); }

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_CHECKED_H_
