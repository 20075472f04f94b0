// decides    a block is checked when it leaves the front for its chunk's bitmap: double frees, foreign and interior pointers
//            are detected then, and dropped. Not at the wrong call but later, at the latest in trim() and when the pool ends
// costs      nothing on the hot path; about half a nanosecond for each block that leaves the front
// conflicts  reuse policies other than page_local_reuse
// use when   hardened costs too much. A block that is handed out again before it leaves the front isn't checked
#ifndef TARN_POLICIES_CHECKING_DEFERRED_CHECKING_H_
#define TARN_POLICIES_CHECKING_DEFERRED_CHECKING_H_

#include <cstddef>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/checking/traits.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/reuse/page_local_reuse.h"

namespace tarn {

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

#endif  // TARN_POLICIES_CHECKING_DEFERRED_CHECKING_H_
