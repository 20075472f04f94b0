// G: parameters of growth policies.
#include "tarn/allocator/pool.h"

// case g1_chunks_of_no_blocks: tarn: [G1] fixed_growth<0> was given, but a chunk needs blocks
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<1>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<0>> wrong;)

// case g2_fixed_cap_of_zero: tarn: [G2] a growth policy was given a cap of 0 blocks, so the pool could never allocate one
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32, 100>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32, 0>> wrong;)

// case g3_factor_of_one: tarn: [G3] geometric_growth with a factor under 2 doesn't grow
RIGHT(tarn::pool<tarn::static_size<64>, tarn::geometric_growth<8, 64, 2>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::geometric_growth<8, 64, 1>> wrong;)

// case g4_first_above_largest: tarn: [G4] geometric_growth was given a first chunk that is larger than the largest
RIGHT(tarn::pool<tarn::static_size<64>, tarn::geometric_growth<64, 4096>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::geometric_growth<4096, 64>> wrong;)

// case g5_nothing_ahead: tarn: [G5] grow_ahead was given no number of blocks
RIGHT(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<1>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<0>> wrong; void use() { wrong.maintain(); })

// case g6_ahead_of_one_chunk: tarn: [G6] grow_ahead was combined with no_growth
RIGHT(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<100, tarn::fixed_growth<100>>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<100, tarn::no_growth<100>>> wrong;)
