// G: parameters of growth policies.
#include "tarn/allocator/pool.h"

// expect: tarn: [G1] fixed_growth<0> was given, but a chunk needs blocks
namespace g1_chunks_of_no_blocks {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<1>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<0>> wrong;)
}  // namespace g1_chunks_of_no_blocks

// expect: tarn: [G2] a growth policy was given a cap of 0 blocks, so the pool could never allocate one
namespace g2_fixed_cap_of_zero {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32, 100>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32, 0>> wrong;)
}  // namespace g2_fixed_cap_of_zero

// expect: tarn: [G3] geometric_growth with a factor under 2 doesn't grow
namespace g3_factor_of_one {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::geometric_growth<8, 64, 2>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::geometric_growth<8, 64, 1>> wrong;)
}  // namespace g3_factor_of_one

// expect: tarn: [G4] geometric_growth was given a first chunk that is larger than the largest
namespace g4_first_above_largest {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::geometric_growth<64, 4096>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::geometric_growth<4096, 64>> wrong;)
}  // namespace g4_first_above_largest

// expect: tarn: [G5] grow_ahead was given no number of blocks
namespace g5_nothing_ahead {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<1>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<0>> wrong; void use() { wrong.maintain(); })
}  // namespace g5_nothing_ahead

// expect: tarn: [G6] grow_ahead was combined with no_growth
namespace g6_ahead_of_one_chunk {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<100, tarn::fixed_growth<100>>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<100, tarn::no_growth<100>>> wrong;)
}  // namespace g6_ahead_of_one_chunk
