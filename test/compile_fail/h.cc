// H: parameters of checking policies.
#include "tarn/allocator/pool.h"
#include "tarn/policies/checking/switchable_checking.h"

// expect: tarn: [H1] hardened_with was given something that isn't one of its options;
// expect: they are shuffled, guard_bytes, generations, may_end_in_use and one reported_to<handler>
namespace h1_hardened_with_an_int {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::hardened_with<tarn::shuffled, tarn::guard_bytes>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::hardened_with<tarn::shuffled, int>> wrong;)
}  // namespace h1_hardened_with_an_int

// expect: tarn: [H2] checked_with was given something that isn't one of its options;
// expect: they are shuffled, sites, may_end_in_use and one reported_to<handler>
// It has guard bytes anyhow.
namespace h2_checked_with_guard_bytes {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::checked_with<tarn::shuffled>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::checked_with<tarn::guard_bytes>> wrong;)
}  // namespace h2_checked_with_guard_bytes

// expect: tarn: [H4] switchable_checking_with was given something that isn't one of its options;
// expect: they are guard_bytes and one reported_to<handler>
namespace h4_switchable_and_shuffled {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::named<"a">, tarn::switchable_checking_with<tarn::guard_bytes>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::named<"a">, tarn::switchable_checking_with<tarn::shuffled>> wrong;)
}  // namespace h4_switchable_and_shuffled

// expect: tarn: [H3] sampled_guard_pages was given a rate of 0, 0 slots, or something that isn't a checking policy for the
namespace h3_sampled_one_in_0 {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<1>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<0>> wrong;)
}  // namespace h3_sampled_one_in_0
