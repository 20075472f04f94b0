// A: parameters of name policies.
#include "tarn/allocator/pool.h"

// expect: tarn: [A1] named with no text, or with more than 63 characters
namespace a1_no_name {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::named<"a">> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::named<"">> wrong;)
}  // namespace a1_no_name
