// The one source file that defines the shared pools: in a library of its own, in the plugin, or in the program.
#include "tarn/test/libraries/pools.h"

TARN_DEFINE_SHARED_POOL(tarn::test::locked);
TARN_DEFINE_SHARED_POOL(tarn::test::cached);
TARN_DEFINE_SHARED_POOL(tarn::test::in_array);
DEFINE_SHARED_MEMORY_POOL(tarn::test::node);
