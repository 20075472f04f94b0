// A header that two libraries include: each may get a static pool of its own.
#ifndef TARN_TEST_MISUSE_ONE_HEADER_H_
#define TARN_TEST_MISUSE_ONE_HEADER_H_

#include "tarn/allocator/static_pool.h"

namespace tarn::test {

using pool_of_header = static_pool<struct header_tag, static_size<64>, checked>;

}  // namespace tarn::test

#endif  // TARN_TEST_MISUSE_ONE_HEADER_H_
