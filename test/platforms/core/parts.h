// The parts of the core; main.cc runs them.
#ifndef TARN_TEST_PLATFORMS_CORE_PARTS_H_
#define TARN_TEST_PLATFORMS_CORE_PARTS_H_

#include "tarn/test/platforms/core/check.h"

namespace tarn::test {

extern const part compositions_part_0, compositions_part_1, compositions_part_2, compositions_part_3, compositions_part_4,
    compositions_part_5, products_part, threads_part;

}  // namespace tarn::test

#endif  // TARN_TEST_PLATFORMS_CORE_PARTS_H_
