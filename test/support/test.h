// What a test of pools starts with: Boost.Test, the checks, a rig that makes any pool, a model that watches one, and the list
// of tested compositions.
#ifndef TARN_TEST_SUPPORT_TEST_H_
#define TARN_TEST_SUPPORT_TEST_H_

#include <boost/test/unit_test.hpp>

#include "tarn/allocator/pool.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/compositions.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/rig.h"
#include "tarn/test/support/upstream.h"

#endif  // TARN_TEST_SUPPORT_TEST_H_
