// Atomics, a mutex and a pool's guards whose every operation is a switch point.
#ifndef TARN_TEST_SCHEDULE_SCHEDULED_H_
#define TARN_TEST_SCHEDULE_SCHEDULED_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <type_traits>
#include <utility>

#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduler.h"

namespace tarn::test {

/// Atomics that nobody changes while threads run, so that who loads one needs no switch point: this saves nearly all schedules
/// where a pool looks through slots that no thread of the test has. That nobody changes them is checked.
struct still_region {
  const void* begin = nullptr;
  const void* end = nullptr;
  bool holds(const void* p) const noexcept { return std::less_equal<>()(begin, p) && std::less<>()(p, end); }
};
inline still_region still;

/// What of std::atomic tarn uses.
template <class T>
class scheduled_atomic {
  using memory_order = detail::memory_order;
  static constexpr memory_order strongest = detail::memory_order_seq_cst;

 public:
  constexpr scheduled_atomic() noexcept : scheduled_atomic(T{}) {}
  constexpr scheduled_atomic(T value) noexcept : value_(value) {
    if (!std::is_constant_evaluated()) the_memory.written(this);
  }
  scheduled_atomic(const scheduled_atomic&) = delete;
  scheduled_atomic& operator=(const scheduled_atomic&) = delete;

  T load(memory_order order = strongest) const noexcept {
    if (still.holds(this)) return value_;
    the_scheduler.point();
    return value_of(the_memory.load(this, word_of(value_), order));
  }
  void store(T value, memory_order order = strongest) noexcept {
    changes();
    the_memory.stored(this, word_of(value_), word_of(value), order);
    value_ = value;
  }
  T exchange(T value, memory_order order = strongest) noexcept { return changes(), change(value, order); }
  T fetch_or(T bits, memory_order order = strongest) noexcept { return changes(), change(value_ | bits, order); }
  T fetch_and(T bits, memory_order order = strongest) noexcept { return changes(), change(value_ & bits, order); }
  T fetch_add(T more, memory_order order = strongest) noexcept {
    return changes(), change(static_cast<T>(value_ + more), order);
  }
  T fetch_sub(T less, memory_order order = strongest) noexcept {
    return changes(), change(static_cast<T>(value_ - less), order);
  }
  bool compare_exchange_strong(T& expected, T desired, memory_order order = strongest) noexcept {
    return compare_exchange_strong(expected, desired, order, order);
  }
  bool compare_exchange_strong(T& expected, T desired, memory_order order, memory_order failed) noexcept {
    changes();
    return compare_exchange(expected, desired, order, failed);
  }
  bool compare_exchange_weak(T& expected, T desired, memory_order order = strongest) noexcept {
    return compare_exchange_weak(expected, desired, order, order);
  }
  bool compare_exchange_weak(T& expected, T desired, memory_order order, memory_order failed) noexcept {
    changes();
    if (value_ == expected && the_scheduler.fails_for_no_reason()) return the_memory.load_newest(this, failed), false;
    return compare_exchange(expected, desired, order, failed);
  }

  const scheduled_atomic& address() const noexcept { return *this; }
  /// For the test itself.
  T peek() const noexcept { return value_; }

 private:
  static std::uint64_t word_of(T value) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
  }
  static T value_of(std::uint64_t word) noexcept {
    T value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }

  void changes() noexcept {
    the_scheduler.point();
    the_scheduler.changed();
    if (still.holds(this) && the_scheduler.active()) the_scheduler.fail("an atomic was changed that was taken for still");
  }
  T change(T value, memory_order order) noexcept {
    the_memory.exchanged(this, word_of(value_), word_of(value), order);
    return std::exchange(value_, value);
  }
  bool compare_exchange(T& expected, T desired, memory_order order, memory_order failed) noexcept {
    if (value_ == expected) return change(desired, order), true;
    the_memory.load_newest(this, failed);
    expected = value_;
    return false;
  }

  T value_{};
};

/// As those of platform/waiting.h. Who isn't woken waits for ever; who waits for a time waits for a step.
template <class T>
void wait_while(const scheduled_atomic<T>& word, std::type_identity_t<T> value) noexcept {
  the_scheduler.point();
  if (word.peek() == value) the_scheduler.wait_for(&word);
}
template <class T>
void wait_while(const scheduled_atomic<T>&, std::type_identity_t<T>, std::uint64_t) noexcept {
  the_scheduler.point();
}
template <class T>
void wake_all(const scheduled_atomic<T>& word) noexcept {
  the_scheduler.point();
  the_scheduler.wake(&word);
}

class scheduled_mutex {
 public:
  void lock() noexcept {
    the_scheduler.point();
    while (holder_ != scheduler::nobody) {
      if (!the_scheduler.active()) return the_scheduler.fail("a mutex is locked that should be free");
      the_scheduler.wait_for(this);
    }
    locked();
  }
  bool try_lock() noexcept {
    the_scheduler.point();
    if (holder_ != scheduler::nobody) return false;
    locked();
    return true;
  }
  void unlock() noexcept {
    the_scheduler.point();
    the_memory.stored(this, 0, 0, detail::memory_order_release);
    holder_ = scheduler::nobody;
    the_scheduler.wake(this);
    the_scheduler.changed();
  }
  bool is_mine() const noexcept { return holder_ == the_scheduler.current(); }

 private:
  void locked() noexcept {
    the_memory.exchanged(this, 0, 0, detail::memory_order_acquire);
    holder_ = the_scheduler.current();
  }

  unsigned holder_ = scheduler::nobody;
};

/// The guards of a pool, as mutex_pair.
class scheduled_guards {
 public:
  auto hot() const noexcept { return std::lock_guard(hot_); }
  auto growth() const noexcept { return std::lock_guard(growth_); }
  auto try_growth() const noexcept { return std::unique_lock(growth_, std::try_to_lock); }
  void end() noexcept {}
  const scheduled_mutex& hot_mutex() const noexcept { return hot_; }
  /// For a mistake: the guard is given up for a moment.
  void let_others_in() noexcept {
    hot_.unlock();
    hot_.lock();
  }

 private:
  mutable scheduled_mutex hot_;
  mutable scheduled_mutex growth_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_SCHEDULED_H_
