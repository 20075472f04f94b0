// Which services the target's row in targets.txt says it has: -DTARN_TEST_THREADS=1 and so on, from the runner. What the
// library believes must be the same: a service that it overlooks is one that is never tested.
#ifndef TARN_TEST_PLATFORMS_CORE_SERVICES_H_
#define TARN_TEST_PLATFORMS_CORE_SERVICES_H_

#include "tarn/policies/platform/standard_library.h"
#include "tarn/policies/platform/system.h"

#if !defined(TARN_TEST_THREADS) || !defined(TARN_TEST_PAGES) || !defined(TARN_TEST_FORK) || !defined(TARN_TEST_CAS) || \
    !defined(TARN_TEST_BARE) || !defined(TARN_TEST_LIBRARY)
#error "test/platforms/run says which services the target has"
#endif

namespace tarn::test {

static_assert(platform::system::has_threads == (TARN_TEST_THREADS != 0), "targets.txt, service threads");
static_assert(platform::system::has_clock == (TARN_TEST_THREADS != 0), "a clock is needed by who waits for threads");
static_assert(platform::system::has_pages == (TARN_TEST_PAGES != 0), "targets.txt, service pages");
static_assert(platform::system::has_fork == (TARN_TEST_FORK != 0), "targets.txt, service fork");
static_assert(platform::has_atomics == (TARN_TEST_CAS != 0), "targets.txt, service cas: compare-and-swap of a pointer");
#if defined(TARN_STANDARD_THREADS)
static_assert(TARN_TEST_STD_THREADS != 0, "targets.txt, service std_threads");
#else
static_assert(TARN_TEST_STD_THREADS == 0, "targets.txt, service std_threads");
#endif

}  // namespace tarn::test

#endif  // TARN_TEST_PLATFORMS_CORE_SERVICES_H_
