// What a pool says when its maintain() returns.
#ifndef TARN_POLICIES_GROWTH_MAINTAINED_H_
#define TARN_POLICIES_GROWTH_MAINTAINED_H_

#include "tarn/policies/platform/standard.h"

namespace tarn {

/// What came of a pool's maintain().
enum class maintained : unsigned char {
  done,        // as many blocks are ready as are wanted, and no surplus is left
  unfinished,  // the deadline passed, or another thread fills the last pages; there may be more to do
  refused,     // the store, a cap of the growth policy, or the system's memory: fewer blocks are ready than are wanted
};

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_MAINTAINED_H_
