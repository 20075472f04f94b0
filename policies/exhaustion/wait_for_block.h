// decides    a thread that finds no block and gets no further chunk sleeps until another thread frees a block, or until a
//            timeout. First come, first served
// costs      a load and a branch for each block freed. While threads wait, each free wakes one, which costs some microseconds
// conflicts  locking policies under which no other thread can free a block (no_locking), or under which a block stays with the
//            thread that freed it (thread_cached); lock_free
// use when   the number of blocks is the intended limit: buffers of a device, jobs in flight
#ifndef TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_
#define TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"

// Threads that wait for blocks, first come, first served: a freed block goes to the first of them, and not into the list, from
// which a thread that came later would take it.
//
//   join     [guard: the last of the line]
//   give     [guard: a block to the first; it leaves the line once it has all]      after it: it is woken
//   leave    [guard: the time is over]
//
// [guard: …] under the pool's own guard, which synchronises the thread that frees a block with the one that waits.

namespace tarn::detail {

/// One that waits. It is on that thread's stack, and must not be destroyed before is_served() is true or leave() returned true.
class waiting_thread {
 public:
  /// \param out  where its blocks are stored: it waits for all of them
  explicit waiting_thread(span<void*> out) noexcept : out_(out) {}
  waiting_thread(const waiting_thread&) = delete;
  waiting_thread& operator=(const waiting_thread&) = delete;

  bool is_served() const noexcept { return served_.load(memory_order_acquire) != 0; }
  /// Returns whether it was served before the time, by steady_nanoseconds().
  bool wait_until(std::uint64_t deadline) noexcept {
    const uncancelled whole;
    while (!is_served()) {
      const std::uint64_t now = steady_nanoseconds();
      if (now >= deadline) return false;
      wait_while(served_.address(), 0, deadline == UINT64_MAX ? 0 : deadline - now);
    }
    return true;
  }
  /// The blocks that it was given, from the first of `out` on. Precondition: it is served, or has left.
  std::size_t got() const noexcept { return got_; }

 private:
  friend class waiting_line;
  friend class served_threads;

  span<void*> out_;
  std::size_t got_ = 0;
  waiting_thread* next_ = nullptr;
  waiting_thread* previous_ = nullptr;
  // Order: store release, load acquire. It is written last, under the pool's mutex. After that, the record of the waiting
  // thread may be gone.
  atomic_word<unsigned> served_ = 0;
};

/// Those that have all they wait for. Its destructor wakes them, so it must outlive the guard.
class served_threads {
 public:
  served_threads() noexcept = default;
  ~served_threads() {
    while (first_ != nullptr) {
      waiting_thread& one = *first_;
      first_ = one.next_;
      const unsigned* const word = one.served_.address();
      one.served_.store(1, memory_order_release);  // from now on it may be gone: what is woken is an address
      wake_one(word);
    }
  }
  served_threads(const served_threads&) = delete;
  served_threads& operator=(const served_threads&) = delete;

 private:
  friend class waiting_line;
  waiting_thread* first_ = nullptr;
};

/// All members are called under the pool's guard.
class waiting_line {
 public:
  /// Also true in the child of a fork, for threads that don't exist there: see has_first().
  TARN_STEP bool is_awaited() const noexcept { return first_ != nullptr; }
  /// Whether a thread of this process waits.
  bool has_first() noexcept {
    if (first_ != nullptr && process_ != platform::system::this_process()) first_ = last_ = nullptr;
    return first_ != nullptr;
  }

  /// While all objects of a pool are destroyed, no other thread can free a block.
  void close() noexcept { is_closed_ = true; }
  void open() noexcept { is_closed_ = false; }
  bool is_closed() const noexcept { return is_closed_; }

  void join(waiting_thread& one) noexcept {
    if (!has_first()) process_ = platform::system::this_process();
    one.previous_ = last_;
    one.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &one;
    last_ = &one;
  }
  /// Gives the first one a block. Precondition: has_first().
  void give(void* block, served_threads& served) noexcept {
    waiting_thread& one = *first_;
    one.out_[one.got_++] = block;
    if (one.got_ != one.out_.size()) return;
    unlink(one);
    one.next_ = served.first_;
    served.first_ = &one;
  }
  /// Returns false if it is no longer in the line, because it is about to be served.
  bool leave(waiting_thread& one) noexcept {
    if (one.got_ == one.out_.size()) return false;
    unlink(one);
    return true;
  }

 private:
  void unlink(waiting_thread& one) noexcept {
    (one.previous_ != nullptr ? one.previous_->next_ : first_) = one.next_;
    (one.next_ != nullptr ? one.next_->previous_ : last_) = one.previous_;
  }

  waiting_thread* first_ = nullptr;
  waiting_thread* last_ = nullptr;
  bool is_closed_ = false;
  unsigned process_ = 0;  // that the threads belong to: another process's have no stack here
};

}  // namespace tarn::detail

namespace tarn {

/// \tparam Milliseconds  time until an allocation fails as with report_exhaustion, counted from its first failed attempt.
///                       A call named try_… doesn't wait, and one named …_within waits for its own time
template <std::size_t Milliseconds = 1000>
struct wait_for_block {
  using axis = tarn::axis::exhaustion;
  static constexpr bool arguments_hold =  // evaluated where it is used: sizeof depends on the parameter
      sizeof(wait_for_block*) != 0 && platform::system::has_threads && platform::system::has_clock;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [Y6] wait_for_block was used, but this target has no other thread that could free a block, or no "
                  "clock; use report_exhaustion or retry_with<Handler>, or provide a platform header (docs/platforms.md)");
  };
  static constexpr exhaustion_traits traits{.waits = true};

  template <class Traits>
  class state : public detail::no_second_store {
   public:
    constexpr explicit state(const wait_for_block&) noexcept {}

    static constexpr bool retry(std::size_t) noexcept { return false; }
    /// The waiting threads, under the pool's guard.
    TARN_STEP detail::waiting_line& line() noexcept { return line_; }
    /// How long a call without a time waits.
    static constexpr std::uint64_t nanoseconds() noexcept {
      constexpr std::uint64_t in_one = 1'000'000;  // in a millisecond
      return Milliseconds < UINT64_MAX / in_one ? Milliseconds * in_one : UINT64_MAX;
    }

   private:
    detail::waiting_line line_;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_WAIT_FOR_BLOCK_H_
