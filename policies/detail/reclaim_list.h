// The pools of the process that can be asked to trim, because one of them ran out of memory, or the program wants memory back.
//
// Nothing here waits while it holds something: the list's mutex is never held while a pool is asked. A pool that another thread
// keeps busy is left alone after a moment, and so are pools at whose store this thread is.
#ifndef TARN_POLICIES_DETAIL_RECLAIM_LIST_H_
#define TARN_POLICIES_DETAIL_RECLAIM_LIST_H_

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "tarn/policies/detail/ranked_list.h"
#include "tarn/policies/detail/reclaim_member.h"
#include "tarn/policies/detail/store_mutex.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// One walk through the list: one priority after the other, from the lowest.
struct reclaim_round {
  int from = INT_MIN;
  bool ended = false;
  bool met_busy = false;  // since the last priority that gave something back
};

/// What a thread asks now.
struct asking {
  reclaim_member* pool = nullptr;
  asking* next = nullptr;
  const thread_number thread = this_thread_number();
};

/// One for the process.
class reclaim_list : fork_member {
 public:
  /// Asks the pools of the next priority. Returns how many bytes they gave back.
  std::size_t ask_next(reclaim_round& round) noexcept {
    const inside_gate inside;
    std::size_t bytes = 0;
    asking now;
    for (begin(now, round); now.pool != nullptr; next(now, round)) {
      const trimmed answer = now.pool->ask();
      bytes += answer.bytes;
      round.met_busy |= answer.busy;
    }
    return bytes;
  }

  void add(reclaim_member& m, void* pool, reclaim_member::handler trim) noexcept {
    const held lock(mutex());
    if (m.entered_.load(memory_order_relaxed)) return;
    m.pool_ = pool;
    m.trim_ = trim;
    members_.enter(m);
    m.entered_.store(true, memory_order_release);
  }
  void remove(reclaim_member& m) noexcept {
    pause(m);
    const held lock(mutex());
    if (m.entered_.load(memory_order_relaxed)) take_out(m);  // its library may have removed it meanwhile
    --m.paused_;
  }
  /// The library is unloaded, or the process ends.
  void remove_library(const reclaim_library& library) noexcept {
    tarn::mutex& held_one = mutex();
    const held lock(held_one);
    for (reclaim_member* m = members_.first(); m != nullptr;) {
      reclaim_member& here = *m;
      m = here.links.after;
      if (here.library_.load(memory_order_relaxed) != &library) continue;
      if (here.asked_by_ == 0) {
        take_out(here);
      } else {
        wait_a_moment(held_one);
        m = members_.first();  // any may have come or gone
      }
    }
  }

  /// From now on nobody asks the member. Waits for threads that are asking it.
  void pause(reclaim_member& m) noexcept {
    tarn::mutex& held_one = mutex();
    const held lock(held_one);
    ++m.paused_;
    while (m.asked_by_ != 0) wait_a_moment(held_one);
  }
  void resume(reclaim_member& m) noexcept {
    const held lock(mutex());
    --m.paused_;
  }

 private:
  tarn::mutex& mutex() noexcept { return admits(act) ? mutex_ : mutex_of_forker<tarn::mutex>; }
  /// In the child, threads that asked are gone.
  static void act(fork_member& m, fork_step step) noexcept {
    auto& list = static_cast<reclaim_list&>(m);
    act_on_leaf(list.mutex_, step);
    if (step != fork_step::renew) return;
    for (asking** at = &list.asking_; *at != nullptr;) {
      asking& other = **at;
      if (other.thread == this_thread_number()) {
        at = &other.next;
      } else {
        if (other.pool != nullptr) --other.pool->asked_by_;
        *at = other.next;
      }
    }
  }

  void begin(asking& now, reclaim_round& round) noexcept {
    const held lock(mutex());
    reclaim_member* m = members_.first();
    while (m != nullptr && (m->priority_ < round.from || m->paused_ != 0)) m = m->links.after;
    round.ended = m == nullptr;
    if (m == nullptr) return;
    round.from = m->priority_;
    ++m->asked_by_;
    now.pool = m;
    now.next = asking_;
    asking_ = &now;
  }
  void next(asking& now, reclaim_round& round) noexcept {
    const held lock(mutex());
    --now.pool->asked_by_;
    reclaim_member* m = now.pool->links.after;
    while (m != nullptr && m->paused_ != 0) m = m->links.after;
    if (m != nullptr && m->priority_ == round.from) {
      ++m->asked_by_;
      now.pool = m;
      return;
    }
    round.ended = m == nullptr;
    if (m != nullptr) round.from = m->priority_;
    now.pool = nullptr;
    asking** at = &asking_;
    while (*at != &now) at = &(*at)->next;
    *at = now.next;
  }

  static void wait_a_moment(tarn::mutex& held_one) noexcept {
    held_one.unlock();
    sleep_microseconds(20);
    held_one.lock();
  }
  void take_out(reclaim_member& m) noexcept {
    members_.leave(m);
    m.forget_library();
    m.entered_.store(false, memory_order_release);
  }

  tarn::mutex mutex_;
  ranked_list<reclaim_member> members_;  // by ascending priority, then in the order they came
  asking* asking_ = nullptr;             // by other threads, and by those at whose stores they are
};

TARN_FOUND_IN_PROCESS inline constinit reclaim_list library_reclaimable;
inline reclaim_list& reclaimable_pools() noexcept { return one_in_process<library_reclaimable, 0x103>::get(); }
/// A template, so that only programs with such pools have it. Found at load: later a thread holds what the loader may wait for.
template <class>
[[maybe_unused]] static reclaim_list& reclaimable_at_load = reclaimable_pools();

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
  reclaimable_pools().remove_library(library_reclaim);
}
TARN_ONE_IN_LIBRARY inline void begin_of_reclaim() noexcept { std::atexit(end_of_reclaim); }

// What a member does in the list.
constexpr reclaim_member::reclaim_member(int priority) noexcept
    : priority_(priority), is_static_(std::is_constant_evaluated()), library_(is_static_ ? &library_reclaim : nullptr) {}
inline void reclaim_member::enter_now(void* pool, handler trim) noexcept {
  reclaim_library* library = nullptr;
  if (library_.compare_exchange_strong(library, &library_reclaim, memory_order_relaxed)) library = &library_reclaim;
  if (library->begin()) reclaimable_pools().add(*this, pool, trim);
  else forget_library();
}
inline void reclaim_member::leave() noexcept {
  if (entered_.load(memory_order_acquire)) reclaimable_pools().remove(*this);
}
inline void reclaim_member::pause() noexcept { reclaimable_pools().pause(*this); }
inline void reclaim_member::resume() noexcept { reclaimable_pools().resume(*this); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_RECLAIM_LIST_H_
