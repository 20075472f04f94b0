// A: parameters of name policies.
#include "tarn/allocator/pool.h"

// case a1_no_name: tarn: [A1] named was given no text, or more than the 63 characters that the registry keeps
RIGHT(tarn::pool<tarn::static_size<64>, tarn::named<"a">> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::named<"">> wrong;)
