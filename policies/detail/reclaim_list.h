// The pools of the process that can be asked to trim, because one of them ran out of memory, or the program wants memory back.
//
// Nothing here waits while it holds something: the list's mutex is never held while a pool is asked. A pool that another thread
// keeps busy is left alone after a moment, and so are pools at whose store this thread is.
#ifndef TARN_POLICIES_DETAIL_RECLAIM_LIST_H_
#define TARN_POLICIES_DETAIL_RECLAIM_LIST_H_

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <type_traits>

#include "tarn/policies/detail/fork_list.h"
#include "tarn/policies/detail/ranked_list.h"
#include "tarn/policies/detail/reclaim_member.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// One walk through the list: one priority after the other, from the lowest.
struct reclaim_round {
  int from = INT_MIN;
  bool ended = false;
  bool met_busy = false;  // since the last priority that gave something back
};

/// One for the process, if libraries share their variables.
class reclaim_list : fork_member {
 public:
  /// Asks the pools of the next priority. Returns how many bytes they gave back.
  std::size_t ask_next(reclaim_round& round) noexcept {
    std::size_t bytes = 0;
    for (reclaim_member* m = first_of(round); m != nullptr; m = next_of(*m, round)) {
      const trimmed answer = m->ask();
      bytes += answer.bytes;
      round.met_busy |= answer.busy;
    }
    return bytes;
  }

  void add(reclaim_member& m, void* pool, reclaim_member::handler trim) noexcept {
    const auto lock = hold();
    if (m.entered_.load(memory_order_relaxed)) return;
    m.pool_ = pool;
    m.trim_ = trim;
    members_.enter(m);
    m.entered_.store(true, memory_order_release);
  }
  void remove(reclaim_member& m) noexcept {
    pause(m);
    const auto lock = hold();
    if (m.entered_.load(memory_order_relaxed)) take_out(m);  // its library may have removed it meanwhile
    --m.paused_;
  }
  /// The library is unloaded, or the process ends.
  void remove_library(const reclaim_library& library) noexcept {
    enter(act);
    mutex_.lock();
    for (reclaim_member* m = members_.first(); m != nullptr;) {
      reclaim_member& here = *m;
      m = here.links.after;
      if (here.library_.load(memory_order_relaxed) != &library) continue;
      if (here.asked_by_ == 0) {
        take_out(here);
      } else {
        wait_a_moment();
        m = members_.first();  // any may have come or gone
      }
    }
    mutex_.unlock();
  }

  /// From now on nobody asks the member. Waits for threads that are asking it.
  void pause(reclaim_member& m) noexcept {
    enter(act);
    mutex_.lock();
    ++m.paused_;
    while (m.asked_by_ != 0) wait_a_moment();
    mutex_.unlock();
  }
  void resume(reclaim_member& m) noexcept {
    const auto lock = hold();
    --m.paused_;
  }

 private:
  held<tarn::mutex> hold() noexcept {
    enter(act);
    return held(mutex_);
  }
  /// A fork also waits until no pool is being asked: in the child, nothing would ever finish that.
  static bool act(fork_member& m, action what) noexcept {
    auto& list = static_cast<reclaim_list&>(m);
    if (what == action::unlock) return list.mutex_.unlock(), true;
    if (!list.mutex_.try_lock()) return false;
    if (list.asked_ == 0) return true;
    return list.mutex_.unlock(), false;
  }

  reclaim_member* first_of(reclaim_round& round) noexcept {
    const auto lock = hold();
    reclaim_member* m = members_.first();
    while (m != nullptr && (m->priority_ < round.from || m->paused_ != 0)) m = m->links.after;
    round.ended = m == nullptr;
    if (m != nullptr) round.from = m->priority_;
    return pinned(m);
  }
  reclaim_member* next_of(reclaim_member& last, reclaim_round& round) noexcept {
    const auto lock = hold();
    --last.asked_by_;
    --asked_;
    reclaim_member* m = last.links.after;
    while (m != nullptr && m->paused_ != 0) m = m->links.after;
    if (m != nullptr && m->priority_ == round.from) return pinned(m);
    round.ended = m == nullptr;
    if (m != nullptr) round.from = m->priority_;
    return nullptr;
  }
  reclaim_member* pinned(reclaim_member* m) noexcept {
    if (m != nullptr) {
      ++m->asked_by_;
      ++asked_;
    }
    return m;
  }

  void wait_a_moment() noexcept {
    mutex_.unlock();
    sleep_microseconds(20);
    mutex_.lock();
  }
  void take_out(reclaim_member& m) noexcept {
    members_.leave(m);
    m.forget_library();
    m.entered_.store(false, memory_order_release);
  }

  tarn::mutex mutex_;
  ranked_list<reclaim_member> members_;  // by ascending priority, then in the order they came
  int asked_ = 0;                        // members that are being asked
};

TARN_ONE_IN_PROCESS inline constinit reclaim_list reclaimable_pools;

/// A library whose pools are in the list. They are removed when it ends, and none enters after that.
struct reclaim_library {
  enum class phase { before_any, some, over };
  atomic_word<phase> now = phase::before_any;
  void (*const at_first)() noexcept;  // the library's own function, whichever library calls

  /// Returns whether pools may still enter.
  bool begin() noexcept {
    phase before = phase::before_any;
    if (now.compare_exchange_strong(before, phase::some, memory_order_relaxed)) at_first();
    return before != phase::over;
  }
};
TARN_ONE_IN_LIBRARY void begin_of_reclaim() noexcept;
TARN_ONE_IN_LIBRARY inline constinit reclaim_library library_reclaim{.at_first = begin_of_reclaim};
TARN_ONE_IN_LIBRARY inline void end_of_reclaim() noexcept {
  library_reclaim.now.store(reclaim_library::phase::over, memory_order_relaxed);
  reclaimable_pools.remove_library(library_reclaim);
}
TARN_ONE_IN_LIBRARY inline void begin_of_reclaim() noexcept { std::atexit(end_of_reclaim); }

// What a member does in the list.
constexpr reclaim_member::reclaim_member(int priority) noexcept
    : priority_(priority), is_static_(std::is_constant_evaluated()), library_(is_static_ ? &library_reclaim : nullptr) {}
inline void reclaim_member::enter_now(void* pool, handler trim) noexcept {
  reclaim_library* library = nullptr;
  if (library_.compare_exchange_strong(library, &library_reclaim, memory_order_relaxed)) library = &library_reclaim;
  if (library->begin()) reclaimable_pools.add(*this, pool, trim);
  else forget_library();
}
inline void reclaim_member::leave() noexcept {
  if (entered_.load(memory_order_acquire)) reclaimable_pools.remove(*this);
}
inline void reclaim_member::pause() noexcept { reclaimable_pools.pause(*this); }
inline void reclaim_member::resume() noexcept { reclaimable_pools.resume(*this); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_RECLAIM_LIST_H_
