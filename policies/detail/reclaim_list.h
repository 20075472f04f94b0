// The pools of the process that can be asked to trim, because one of them ran out of memory, or the program wants memory back.
//
// A pool that another thread keeps busy is left alone after a moment, and so are pools at whose store this thread is.
#ifndef TARN_POLICIES_DETAIL_RECLAIM_LIST_H_
#define TARN_POLICIES_DETAIL_RECLAIM_LIST_H_

#include <cstddef>
#include <cstdlib>

#include "tarn/policies/detail/asked_list.h"
#include "tarn/policies/detail/reclaim_member.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"

namespace tarn::detail {

/// One walk through the list.
struct reclaim_round : asked_round {
  bool met_busy = false;  // since the last priority that gave something back
};

/// One for the process.
class reclaim_list : public asked_list<reclaim_member> {
 public:
  /// Asks the pools of the next priority. Returns how many bytes they gave back.
  std::size_t ask_next(reclaim_round& round) noexcept {
    std::size_t bytes = 0;
    asked_list::ask_next(round, [&](reclaim_member& m) {
      const trimmed answer = m.ask();
      bytes += answer.bytes;
      round.met_busy |= answer.busy;
    });
    return bytes;
  }
};

TARN_FOUND_IN_PROCESS inline constinit reclaim_list library_reclaimable;
inline reclaim_list& reclaimable_pools() noexcept { return one_in_process<library_reclaimable, 0x108>::get(); }
/// A template, so that only programs with such pools have it. Found at load: later a thread holds what the loader may wait for.
template <class>
[[maybe_unused]] static reclaim_list& reclaimable_at_load = reclaimable_pools();

TARN_ONE_IN_LIBRARY void begin_of_reclaim() noexcept;
TARN_ONE_IN_LIBRARY inline constinit asked_library library_reclaim{.at_first = begin_of_reclaim};
TARN_ONE_IN_LIBRARY inline void end_of_reclaim() noexcept {
  library_reclaim.now.store(asked_library::phase::over, memory_order_relaxed);
  reclaimable_pools().remove_library(library_reclaim);
}
TARN_ONE_IN_LIBRARY inline void begin_of_reclaim() noexcept { std::atexit(end_of_reclaim); }

// What a member does in the list.
constexpr reclaim_member::reclaim_member(int priority) noexcept : asked_member(library_reclaim), priority_(priority) {}
inline void reclaim_member::enter_now(void* pool, handler trim) noexcept {
  if (!begins(library_reclaim)) return;
  reclaimable_pools().add(*this, [=](reclaim_member& m) {
    m.pool_ = pool;
    m.trim_ = trim;
  });
}
inline void reclaim_member::leave() noexcept {
  if (has_entered()) reclaimable_pools().remove(*this);
}
inline void reclaim_member::pause() noexcept { reclaimable_pools().pause(*this); }
inline void reclaim_member::resume() noexcept { reclaimable_pools().resume(*this); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_RECLAIM_LIST_H_
