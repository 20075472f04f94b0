// The policies that check every call: hardened, checked, and deferred_checking, which checks later.
#ifndef TARN_POLICIES_CHECKING_CHECKED_H_
#define TARN_POLICIES_CHECKING_CHECKED_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/checking.h"
#include "tarn/policies/checking/block_checks.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/reuse/page_local_reuse.h"

namespace tarn {

/// For hardened_with and checked_with: new blocks are allocated in an order that is hard to guess.
struct shuffled {};
/// For hardened_with: 16 guard bytes on each side of every block, checked when it is freed and when it is allocated again.
struct guard_bytes {};

/// For hardened_with: a count of each block's uses, so that object_pool can give handles. 4 bytes for each block instead of
/// one.
struct generations {};
/// For hardened_with and checked_with: blocks in use when their pool is destroyed are intended, and not reported.
struct may_end_in_use {};

// decides    a pointer that can't be freed is refused at the call, before anything is touched, and reported: double free,
//            foreign or interior pointer, another pool's block, wrong size. Links in free blocks are encoded, and checked
//            before they are followed
// costs      a byte for each block, at the front of its chunk, and in pools of many chunks a table of them; 1 to 4 ns a pair
//            over few chunks. Under thread_cached and lock_free each call takes the pool's mutex
// conflicts  none
// use when   the program runs where a corrupted heap costs more than a few nanoseconds: in release builds
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
                  "tarn: [H1] hardened_with was given something that isn't one of its options; they are shuffled, guard_bytes, "
                  "generations, may_end_in_use and one reported_to<handler>");
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

/// hardened_with without options.
using hardened = hardened_with<>;

/// For checked_with: where each block was allocated, if here() of an object_pool, or note_site(), says so. 16 bytes more for
/// each block.
struct sites {};

// decides    all that hardened detects, plus writes outside a block and into a free one, use by a second thread without a lock,
//            reentrant calls, and blocks still in use when the pool is destroyed. Reports list the operation and the thread
//            that allocated and freed the block
// costs      32 bytes for each block at the front of its chunk, and 40 or more around it; 5 to 15 ns a pair for small blocks,
//            and the time to write and read all of a large one. Under thread_cached and lock_free each call takes the pool's
//            mutex
// conflicts  recycling_pool
// use when   the program is being tested: debug builds
/// \tparam Options  shuffled, sites, may_end_in_use, reported_to<handler>
template <class... Options>
struct checked_with {
  using axis = tarn::axis::checking;
  static constexpr bool arguments_hold =
      ((detail::one_of<Options, shuffled, sites, may_end_in_use> || detail::handlers_in<Options> == 1) && ...) &&
      detail::handlers_among<Options...> <= 1;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [H2] checked_with was given something that isn't one of its options; they are shuffled, sites, "
                  "may_end_in_use and one reported_to<handler>");
  };

  static constexpr checking_traits traits{
      .refuses = true,
      .finds_chunks = true,
      .prefix = detail::guard_words::bytes,
      .suffix = detail::guard_words::bytes,
      .hides_links = true,
      .keeps_payload = true,  // links are in front of the blocks: a free block is all fill
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

/// checked_with without options.
using checked = checked_with<>;

/// Reports, as leaks, the blocks in use of all checked pools in the process, including those that are never destroyed. One
/// report for each pool (with sites, for each site), and for each block that is larger than any class of its pool. Returns the
/// number of blocks.
/// Precondition: no other thread uses a pool without a lock, destroys a pool or unloads a library.
inline std::size_t report_in_use() noexcept { return detail::named_pools().report_all(); }

// decides    a block is checked when it leaves the front for its chunk's bitmap: double frees, foreign and interior pointers
//            are detected at that time, and dropped. That is later than the wrong call, at the latest in trim() or when the
//            pool is destroyed
// costs      nothing on the hot path; about half a nanosecond for each block that leaves the front
// conflicts  reuse policies other than page_local_reuse
// use when   hardened costs too much. A block that is allocated again before it leaves the front isn't checked
struct deferred_checking {
  using axis = tarn::axis::checking;
  using implies = page_local_reuse<>;
  static constexpr checking_traits traits{.checks_leaving = true, .has_name = true};

  template <class Traits>
  using per_chunk = detail::no_column<axis>;

  template <class Traits>
  class state {
   public:
    constexpr explicit state(const deferred_checking& policy) noexcept
        : name_(*policy.name != '\0' ? policy.name : nullptr) {}
    void report(misuse& what) noexcept {
      what.pool_name = name_ != nullptr ? name_ : "";
      detail::report_misuse(what);
    }

   private:
    const char* name_;  // null: none. So a pool without a name is all zero
  };

  const char* name = "";  // of the pool, in reports; it must outlive the pool
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_CHECKED_H_
