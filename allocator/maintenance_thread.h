// A thread that maintains pools, any number of them:
//
//   tarn::pool<tarn::size_of<Order>, tarn::mutex_locking<>, tarn::grow_ahead<10000>> orders; tarn::maintenance_thread keeper;
//   // checks once a millisecond
//   const auto place = keeper.add(orders);          // until `place` is destroyed, which must be before the pool is
//
// The thread object may be destroyed before the places, or after them.
#ifndef TARN_ALLOCATOR_MAINTENANCE_THREAD_H_
#define TARN_ALLOCATOR_MAINTENANCE_THREAD_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <new>

#include "tarn/allocator/detail/pool/members.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/standard_library.h"
#include "tarn/policies/platform/waiting.h"

#if defined(TARN_STANDARD_THREADS)
#include <thread>
#endif

namespace tarn {

namespace detail {

template <class Traits>
constexpr bool is_for_one_thread(const pool_members<Traits>*) noexcept {
  return Traits::locking::traits.one_thread;
}
template <class T>
  requires(T::is_for_one_thread)
constexpr bool is_for_one_thread(const T*) noexcept {
  return true;
}
constexpr bool is_for_one_thread(const void*) noexcept { return false; }

/// Something that a maintenance_thread looks after, linked to the others.
struct maintained_place {
  using time = std::chrono::steady_clock::time_point;

  void* object;
  maintained (*maintain)(void* object, time until) noexcept;
  maintained_place* next = nullptr;
  maintained_place* previous = nullptr;
  // Order: relaxed; a number.
  atomic_word<maintained> last = maintained::unfinished;
};

/// What a maintenance_thread shares with its places. A fork holds its mutex, so that in the child the list is consistent; the
/// thread doesn't exist there.
class maintenance_rounds : fork_member {
  using clock = std::chrono::steady_clock;

 public:
  explicit maintenance_rounds(std::chrono::nanoseconds period) noexcept
      : period_(period.count() > 0 ? static_cast<std::uint64_t>(period.count()) : 1) {}
  ~maintenance_rounds() { leave(); }

  void lock() noexcept { (admits(act) ? mutex_ : mutex_of_forker<mutex>).lock(); }
  void unlock() noexcept { (process_forks().holds_all() ? mutex_of_forker<mutex> : mutex_).unlock(); }

  void add(maintained_place& place) noexcept {
    {
      const held<maintenance_rounds> lock(*this);
      place.next = first_;
      if (first_ != nullptr) first_->previous = &place;
      first_ = &place;
    }
    wake();
  }
  /// Waits while the thread is in this place's maintain(), and for no other.
  void remove(maintained_place& place) noexcept {
    lock();
    while (at_ == &place) {
      const unsigned seen = turns_.load(memory_order_relaxed);
      unlock();
      wait_while(turns_.address(), seen);
      lock();
    }
    (place.previous != nullptr ? place.previous->next : first_) = place.next;
    if (place.next != nullptr) place.next->previous = place.previous;
    unlock();
  }

  void wake() noexcept {
    bell_.fetch_add(1, memory_order_release);
    wake_all(bell_.address());
  }
  void stop() noexcept {
    stops_.store(true, memory_order_relaxed);
    wake();
  }
  /// Whether this is the child of a fork.
  bool has_lost_thread() noexcept {
    const held<maintenance_rounds> lock(*this);
    return is_child_;
  }

  void run() noexcept {
    while (!stops_.load(memory_order_relaxed)) {
      const unsigned seen = bell_.load(memory_order_acquire);
      if (!make_rounds() && !stops_.load(memory_order_relaxed)) wait_while(bell_.address(), seen, period_);
    }
  }

 private:
  /// Calls each place once. Returns whether one of them had no time to finish.
  bool make_rounds() noexcept {
    constexpr auto turn = std::chrono::milliseconds(1);
    bool is_short = false;
    lock();
    for (at_ = first_; at_ != nullptr && !stops_.load(memory_order_relaxed); at_ = at_->next) {
      maintained_place& place = *at_;
      unlock();
      const auto until = clock::now() + turn;
      const maintained answer = place.maintain(place.object, until);
      is_short = is_short || (answer == maintained::unfinished && clock::now() >= until);
      place.last.store(answer, memory_order_relaxed);
      lock();
      // A thread that waits in remove() takes the mutex after this, and finds that this thread is at another place.
      turns_.fetch_add(1, memory_order_relaxed);
      wake_all(turns_.address());
    }
    at_ = nullptr;
    unlock();
    return is_short;
  }
  static void act(fork_member& m, fork_step step) noexcept {
    auto& its = static_cast<maintenance_rounds&>(m);
    act_on_leaf(its.mutex_, step);
    if (step != fork_step::renew) return;
    its.at_ = nullptr;
    its.is_child_ = true;
  }

  mutex mutex_;
  maintained_place* first_ = nullptr;
  maintained_place* at_ = nullptr;  // the thread is in its maintain(), or is moving to the next
  bool is_child_ = false;
  const std::uint64_t period_;  // nanoseconds
  // Order: relaxed; mutex.
  atomic_word<unsigned> turns_ = 0;  // of all places
  // Order: add release, load acquire. stops_ is set before the bell rings, and checked after it.
  atomic_word<unsigned> bell_ = 0;  // changes when the thread should check immediately
  // Order: relaxed; see bell_.
  atomic_word<bool> stops_ = false;
};

}  // namespace detail

#if defined(TARN_STANDARD_THREADS)

/// A thread that calls maintain() of pools once a period, and again immediately if a pool needs more than a millisecond. The
/// child of a fork has no such thread: the object may be destroyed there, and another created.
class maintenance_thread {
 public:
  class place;

  /// \param period  between two checks. A pool should keep as many blocks ready as its threads allocate in that time and while
  ///                a chunk is fetched
  /// Throws: std::system_error, std::bad_alloc.
  explicit maintenance_thread(std::chrono::nanoseconds period = std::chrono::milliseconds(1))
      : rounds_(std::make_shared<detail::maintenance_rounds>(period)) {
    ::new (static_cast<void*>(&thread_)) std::thread([rounds = rounds_.get()]() noexcept { rounds->run(); });
  }
  maintenance_thread(const maintenance_thread&) = delete;
  maintenance_thread& operator=(const maintenance_thread&) = delete;
  /// Waits for the thread's current step: a millisecond, or a call of a store. Precondition: not called by a store.
  ~maintenance_thread() {
    if (rounds_->has_lost_thread()) return;
    rounds_->stop();
    thread_.join();
    thread_.~thread();
  }

  /// Maintains a pool, or any object with a maintain(until) that any thread may call. Returns a place; the pool is maintained
  /// as long as the place exists.
  template <class Pool>
  [[nodiscard("tarn: the pool is maintained only while this object exists")]] place add(Pool& pool) noexcept;

  /// Makes the thread check immediately, by a system call.
  void wake() noexcept { rounds_->wake(); }

 private:
  std::shared_ptr<detail::maintenance_rounds> rounds_;
  union {
    std::thread thread_;  // not destroyed in the child of a fork, where it can't be joined
  };
};

/// A pool's place with a maintenance_thread. It must be destroyed before the pool.
class maintenance_thread::place {
 public:
  /// Adds the pool, as maintenance_thread::add() does.
  template <class Pool>
  place(maintenance_thread& thread, Pool& pool) noexcept
      : rounds_(thread.rounds_), its_{detail::pointer_to(pool), maintain<Pool>} {
    static_assert(!detail::is_for_one_thread(static_cast<const Pool*>(nullptr)),
                  "tarn: [U1] maintenance_thread was given a pool that only one thread may use (no_locking, grouped_locking "
                  "without a mutex); call its maintain() yourself, or use mutex_locking or thread_cached");
    static_assert(can_maintain<Pool>,
                  "tarn: [U2] maintenance_thread was given something without maintain(), such as a pool that has nothing to do "
                  "ahead of time; add grow_ahead<Blocks> or return_empty_chunks<> to it");
    rounds_->add(its_);
  }
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  /// Waits if the thread is maintaining this pool, as ~maintenance_thread() does.
  ~place() { rounds_->remove(its_); }

  /// Returns the result of the last maintain(); unfinished: none so far.
  maintained last() const noexcept { return its_.last.load(detail::memory_order_relaxed); }

 private:
  using time = detail::maintained_place::time;
  template <class Pool>
  static constexpr bool can_maintain = requires(Pool& pool, time until) {
    { pool.maintain(until) } noexcept -> std::same_as<maintained>;
  };
  template <class Pool>
  static maintained maintain(void* pool, time until) noexcept {
    if constexpr (can_maintain<Pool>) return static_cast<Pool*>(pool)->maintain(until);
    else return maintained::refused;
  }

  std::shared_ptr<detail::maintenance_rounds> rounds_;
  detail::maintained_place its_;
};

template <class Pool>
maintenance_thread::place maintenance_thread::add(Pool& pool) noexcept {
  return place(*this, pool);
}

#else  // the standard library has no threads

class maintenance_thread {
 public:
  template <class... Period>
  explicit maintenance_thread(const Period&...) {
    static_assert(sizeof...(Period) > 1,
                  "tarn: [Y8] maintenance_thread was used, but this standard library has no std::thread to run it; call "
                  "maintain() of the pools yourself, or from your own thread");
  }
  template <class Pool>
  [[nodiscard]] int add(Pool&) noexcept;
  void wake() noexcept;
};

#endif

}  // namespace tarn

#endif  // TARN_ALLOCATOR_MAINTENANCE_THREAD_H_
