// What a fork asks of pools, where the system can copy a process.
#ifndef TARN_POLICIES_DETAIL_FORKS_H_
#define TARN_POLICIES_DETAIL_FORKS_H_

#include "tarn/policies/platform/system.h"

#if defined(TARN_HAS_FORK)
#include "tarn/policies/detail/fork_handlers.h"
#include "tarn/policies/detail/gate_stays.h"
#else
#include "tarn/policies/detail/no_forks.h"
#endif

#endif  // TARN_POLICIES_DETAIL_FORKS_H_
