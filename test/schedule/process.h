// What of a process thread_cached and forks use, for threads of the scheduler: a number, a record, the end of a thread, time.
#ifndef TARN_TEST_SCHEDULE_PROCESS_H_
#define TARN_TEST_SCHEDULE_PROCESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/test/schedule/scheduler.h"

namespace tarn::test {

template <class T>
using for_each_thread = std::array<T, scheduler::most>;

inline std::uint64_t number_of_thread() noexcept { return the_scheduler.current() + 1; }

/// Time goes on where somebody looks.
inline std::uint64_t clock_of_steps() noexcept {
  static std::uint64_t now = 0;
  return ++now;
}

/// Which of two domains (copies of tarn in shared libraries) a thread's code is of.
inline for_each_thread<unsigned char> domain_of_thread = {};

/// Thread ids that know who holds each, and fail where two do.
template <class Ids>
class watched_numbers : public Ids {
 public:
  static constexpr unsigned count = 32;  // a pool looks through so many slots

  unsigned take() noexcept {
    const unsigned id = Ids::take();
    if (id != 0) taken(id);
    return id;
  }
  bool take(unsigned id) noexcept {
    const bool free = Ids::take(id);
    if (free) taken(id);
    return free;
  }
  void give_back(unsigned id) noexcept {
    if (!is_mine(id)) the_scheduler.fail("a number is given back by who doesn't hold it");
    Ids::give_back(id);
    holders_[id] = scheduler::nobody;
  }
  bool is_mine(unsigned id) const noexcept { return holders_[id] == the_scheduler.current(); }
  unsigned holder(unsigned id) const noexcept { return holders_[id]; }

  static watched_numbers& of_thread() noexcept;
  static watched_numbers& of_domain(unsigned domain) noexcept;
  static const watched_numbers* find(const void* domain) noexcept;
  static void renew() noexcept;

 private:
  void taken(unsigned id) noexcept {
    if (holders_[id] != scheduler::nobody) the_scheduler.fail("two threads hold one number");
    holders_[id] = the_scheduler.current();
  }

  std::array<unsigned, count> holders_ = {};
};

template <class Ids>
inline std::array<watched_numbers<Ids>, 2> domains;

template <class Ids>
watched_numbers<Ids>& watched_numbers<Ids>::of_domain(unsigned domain) noexcept {
  return domains<Ids>[domain];
}
template <class Ids>
watched_numbers<Ids>& watched_numbers<Ids>::of_thread() noexcept {
  return of_domain(domain_of_thread[the_scheduler.current()]);
}
template <class Ids>
const watched_numbers<Ids>* watched_numbers<Ids>::find(const void* domain) noexcept {
  for (const watched_numbers& d : domains<Ids>)
    if (&d == domain) return &d;
  return nullptr;
}
template <class Ids>
void watched_numbers<Ids>::renew() noexcept {
  for (watched_numbers& d : domains<Ids>) {
    ::new (static_cast<void*>(&d)) watched_numbers;
    d.holders_.fill(scheduler::nobody);
  }
}

template <class Record>
inline for_each_thread<Record> thread_records;

template <class Record>
Record& record_of_thread() noexcept {
  return thread_records<Record>[the_scheduler.current()];
}

/// In the place of a thread_local variable.
template <class Record>
struct record_in_place {
  operator Record&() const noexcept { return record_of_thread<Record>(); }
};

/// In the places of what is for forks, which forks_test has, and for threads that don't tell of their end, which here all do.
struct no_fork {
  static constexpr int act = 0;
  static bool is_apart() noexcept { return false; }
  static void admits(int) noexcept {}
};
struct no_holders {
  static void note(unsigned) noexcept {}
  static void forget(unsigned) noexcept {}
  template <class Ids>
  static void look(const Ids&, unsigned) noexcept {}
};

/// In the place of `thread_local T x(argument)`: made once in a thread. T's destructor runs when the thread says so.
template <class T>
class local_to_thread {
 public:
  template <class Argument>
  explicit local_to_thread(Argument& argument) noexcept {
    place& mine = places_[the_scheduler.current()];
    if (mine.is != state::fresh) return;
    ::new (static_cast<void*>(mine.bytes)) T(argument);
    mine.is = state::alive;
  }
  static void end() noexcept {
    place& mine = places_[the_scheduler.current()];
    if (mine.is != state::alive) return;
    mine.is = state::ended;
    std::launder(reinterpret_cast<T*>(mine.bytes))->~T();
  }
  static void renew() noexcept {
    for (place& p : places_) p.is = state::fresh;
  }

 private:
  enum class state : unsigned char { fresh, alive, ended };
  struct place {
    state is = state::fresh;
    alignas(T) std::byte bytes[sizeof(T)] = {};
  };
  static inline for_each_thread<place> places_ = {};
};

/// In the place of thread_end, a key of the system: its destructor runs when the thread says so, after those of variables.
class thread_key {
 public:
  using handler = void (*)(void*);

  static void* told() noexcept { return nullptr; }
  static bool tell(handler act, void* argument) noexcept {
    place& mine = places_[the_scheduler.current()];
    if (!mine.has_ended) mine.act = act, mine.argument = argument;
    return true;
  }
  static void end() noexcept {
    place& mine = places_[the_scheduler.current()];
    if (mine.act == nullptr || mine.has_ended) return;
    mine.has_ended = true;
    mine.act(mine.argument);
  }
  static void renew() noexcept {
    for (place& p : places_) p = {nullptr, nullptr, false};
  }

 private:
  struct place {
    handler act;  // null: it wasn't asked
    void* argument;
    bool has_ended;
  };
  static inline for_each_thread<place> places_ = {};
};

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_PROCESS_H_
