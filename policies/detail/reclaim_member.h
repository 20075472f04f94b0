// A pool that other pools can ask to trim (see reclaim_list.h): which thread may ask it when, and how it says that a thread is
// at its store. What a member does in the list is defined there.
#ifndef TARN_POLICIES_DETAIL_RECLAIM_MEMBER_H_
#define TARN_POLICIES_DETAIL_RECLAIM_MEMBER_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/asked_member.h"
#include "tarn/policies/detail/ranked_list.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/platform/waiting.h"

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

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_RECLAIM_MEMBER_H_
