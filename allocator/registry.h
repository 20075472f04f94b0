// The pools of the process that can be asked for memory: those whose exhaustion policy is reclaim_and_retry.
//
//   std::size_t bytes = tarn::reclaim_all();
//
// A pool is registered from its first chunk on until it is destroyed; pools of classes and static pools until the process ends,
// or their library is unloaded. Libraries built with hidden visibility have their own registries.
#ifndef TARN_ALLOCATOR_REGISTRY_H_
#define TARN_ALLOCATOR_REGISTRY_H_

#include <cstddef>

#include "tarn/policies/detail/reclaim_list.h"

namespace tarn {

/// Asks every registered pool to trim, those of a low priority first. Returns the bytes that went back to their stores. It
/// waits for no pool: it skips one whose store another thread is calling, and one without a lock that another thread used last.
/// It may be called from anywhere, also by several threads at once; stores and locking policies run with nothing else held.
inline std::size_t reclaim_all() noexcept {
  std::size_t bytes = 0;
  for (detail::reclaim_round round; !round.ended;) bytes += detail::reclaimable_pools().ask_next(round);
  return bytes;
}

}  // namespace tarn

#endif  // TARN_ALLOCATOR_REGISTRY_H_
