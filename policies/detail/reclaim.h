// The pools of the process that can be asked to trim, because one of them ran out of memory, or the program wants memory back.
//
// A pool that another thread keeps busy is left alone after a moment, and so are pools at whose store this thread is.
#ifndef TARN_POLICIES_DETAIL_RECLAIM_H_
#define TARN_POLICIES_DETAIL_RECLAIM_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/waiting.h"

// A pool that other pools can ask to trim (see reclaim_list.h): which thread may ask it when, and how it says that a thread is
// at its store. What a member does in the list is defined there.

namespace tarn::detail {

/// What a pool that was asked gave back. `busy`: another thread is at its store.
struct trimmed {
  std::size_t bytes = 0;
  bool busy = false;
};

class reclaim_list;

/// A pool in the list. Constant-initialised, without a destructor, so that static pools have none: an owner that ends before
/// the process calls leave().
class reclaim_member : public asked_member<reclaim_member> {
 public:
  using handler = trimmed (*)(void* pool) noexcept;

  constexpr explicit reclaim_member(int priority) noexcept;

  /// Called before the pool gets its first chunk, or any other. `confined`: no lock keeps threads apart, so only the thread
  /// that was here last may ask the pool.
  void enter(void* pool, handler trim, bool confined) noexcept {
    if (confined) owner_.store(this_thread_number(), memory_order_relaxed);
    if (!has_entered()) [[unlikely]]
      enter_now(pool, trim);
  }
  /// Waits for threads that are asking the pool.
  void leave() noexcept;

  /// Nobody asks the pool, this thread included, until resume(): its owner looks through its blocks. Waits for threads that are
  /// asking it.
  void pause() noexcept;
  void resume() noexcept;

  /// Held while this thread is at the pool's store, together with the guard that tells other threads so.
  template <class Guard>
  class at_store {
   public:
    template <class Make>
    at_store(reclaim_member& m, Make make) : guard_(make()), member_(m), before_(m.visitor_.load(memory_order_relaxed)) {
      if (*this) member_.visitor_.store(this_thread_number(), memory_order_relaxed);
    }
    ~at_store() {
      if (*this) member_.visitor_.store(before_, memory_order_relaxed);
    }
    at_store(const at_store&) = delete;
    at_store& operator=(const at_store&) = delete;
    /// Whether the guard is held: an attempt to lock it may have failed.
    explicit operator bool() const noexcept { return detail::is_held(guard_); }

   private:
    Guard guard_;
    reclaim_member& member_;
    std::uint64_t before_;
  };

 private:
  friend class reclaim_list;
  friend class asked_list<reclaim_member>;
  friend class ranked_list<reclaim_member>;
  int rank() const noexcept { return priority_; }
  TARN_ONE_IN_LIBRARY void enter_now(void* pool, handler trim) noexcept;
  /// Asks the pool, and retries for a moment if it is busy: perhaps another thread is asking it.
  trimmed ask() noexcept {
    const thread_number me = this_thread_number();
    const thread_number owner = owner_.load(memory_order_relaxed);
    if (visitor_.load(memory_order_relaxed) == me || (owner != 0 && owner != me)) return {};
    constexpr int patience = 100;
    for (int tries = 0;; ++tries) {
      const trimmed answer = trim_(pool_);
      if (!answer.busy || tries == patience) return answer;
      yield_thread();
    }
  }

  const int priority_;
  atomic_word<thread_number> owner_ = 0;    // if confined: the thread that was here last
  atomic_word<thread_number> visitor_ = 0;  // the thread that is at the store
  handler trim_ = nullptr;
  void* pool_ = nullptr;
};

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

#endif  // TARN_POLICIES_DETAIL_RECLAIM_H_
