// H: parameters of checking policies.
#include "tarn/allocator/pool.h"
#include "tarn/policies/checking/switchable_checking.h"

// case h1_hardened_with_an_int: tarn: [H1] hardened_with was given something that isn't one of its options;
// expect: they are shuffled, guard_bytes, generations, may_end_in_use and one reported_to<handler>
RIGHT(tarn::pool<tarn::static_size<64>, tarn::hardened_with<tarn::shuffled, tarn::guard_bytes>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::hardened_with<tarn::shuffled, int>> wrong;)

// case h2_checked_with_guard_bytes: tarn: [H2] checked_with was given something that isn't one of its options;
// expect: they are shuffled, sites, may_end_in_use and one reported_to<handler>
// It has guard bytes anyhow.
RIGHT(tarn::pool<tarn::static_size<64>, tarn::checked_with<tarn::shuffled>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::checked_with<tarn::guard_bytes>> wrong;)

// case h4_switchable_and_shuffled: tarn: [H4] switchable_checking_with was given something that isn't one of its options;
// expect: they are guard_bytes and one reported_to<handler>
RIGHT(tarn::pool<tarn::static_size<64>, tarn::named<"a">, tarn::switchable_checking_with<tarn::guard_bytes>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::named<"a">, tarn::switchable_checking_with<tarn::shuffled>> wrong;)

// case h3_sampled_one_in_0
// expect: tarn: [H3] sampled_guard_pages was given a rate of 0, 0 slots, or something that isn't a checking policy for the
RIGHT(tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<1>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<0>> wrong;)
