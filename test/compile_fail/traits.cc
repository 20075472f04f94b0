// What policies say of themselves. A word that isn't there is the compiler's own error, which names it; what is said and not
// there, or there and not said, is the rule's.
#include <cstddef>
#include <cstdlib>

#include "tarn/allocator/pool.h"

// case traits_mistyped: refusess
struct careful : tarn::no_checking {
RIGHT(static constexpr tarn::checking_traits traits{.prefix = 8};)
WRONG(static constexpr tarn::checking_traits traits{.refusess = true};)
};

// case traits_member_not_said: tarn: [P4] this store policy lacks a member that the pool uses
// It has an end() that nobody would call.
template <bool Says>
struct closing_store : tarn::heap_store {
  static constexpr tarn::store_traits traits{.has_end = Says};
  template <class Traits>
  struct source : tarn::heap_store::source<Traits> {
    using tarn::heap_store::source<Traits>::source;
    void end() noexcept {}
  };
};

RIGHT(tarn::pool<tarn::static_size<64>, closing_store<true>> right;)
WRONG(tarn::pool<tarn::static_size<64>, closing_store<false>> wrong;)

// case traits_of_another_axis: tarn: [P9] this statistics policy lacks a member that the pool uses
// It is another axis' object.
struct confused : tarn::no_statistics {
RIGHT(static constexpr tarn::statistics_traits traits{};)
WRONG(static constexpr tarn::store_traits traits{};)
};
tarn::pool<tarn::static_size<64>, confused> one;
