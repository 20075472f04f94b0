// What one thread knows of another's accesses: vector clocks (Mattern, 1989), kept as FastTrack does (Flanagan and Freund,
// 2009). It finds
//
//   - data races: two accesses of which one writes and at least one isn't atomic, in no order by release and acquire
//   - what follows from a stale load: one that returns a value which was overwritten, by a store that the thread doesn't know
//
// So an order that is too weak shows, though the threads of the scheduler run one at a time. What it doesn't have: loads that
// return what is stored later, and stale values in a compare-exchange that fails. memory_order_seq_cst is taken for acq_rel.
#ifndef TARN_TEST_SCHEDULE_MEMORY_MODEL_H_
#define TARN_TEST_SCHEDULE_MEMORY_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/test/schedule/scheduler.h"

namespace tarn::test {

class memory_model {
 public:
  /// A schedule begins: what was done before is known to all.
  void renew() noexcept {
    ++generation_;
    used_cells_ = 0;
    for (unsigned i = 0; i != now_.size(); ++i) {
      now_[i].fill(ancient);
      now_[i][i] = ancient + 1;
    }
  }

  // ---- accesses that aren't atomic -----------------------------------------------------------------------------------

  void read(const void* p) noexcept {
    if (the_scheduler.active()) use(cell_of(p));
  }
  /// Also: an atomic is made there.
  void written(const void* p) noexcept {
    if (!the_scheduler.active()) return;
    cell& c = cell_of(p);
    for (unsigned i = 0; i != c.used.size(); ++i)
      if (c.used[i] > mine()[i]) the_scheduler.fail("a data race: written while another thread uses it");
    use(c);
    c.writer = the_scheduler.current();
    c.written = mine()[c.writer];
    c.versions = 0;
  }

  // ---- atomic accesses -----------------------------------------------------------------------------------------------

  /// Returns what is loaded: `newest`, or an older value.
  std::uint64_t load(const void* p, std::uint64_t newest, detail::memory_order order) noexcept {
    if (!the_scheduler.active()) return newest;
    cell& c = cell_of(p);
    unsigned ages = 1;
    while (ages < std::min(c.versions, kept) && !is_known(c.version_of(ages - 1))) ++ages;
    const unsigned age = the_scheduler.stale(ages);
    return load(c, age, order) ? c.version_of(age).value : newest;
  }
  /// By a compare-exchange that fails.
  void load_newest(const void* p, detail::memory_order order) noexcept {
    if (the_scheduler.active()) load(cell_of(p), 0, order);
  }
  void stored(const void* p, std::uint64_t old, std::uint64_t value, detail::memory_order order) noexcept {
    if (the_scheduler.active()) change(cell_of(p), old, value, order, false);
  }
  /// A read-modify-write: it reads the newest value, and whoever acquires what it wrote knows what was released before, too.
  void exchanged(const void* p, std::uint64_t old, std::uint64_t value, detail::memory_order order) noexcept {
    if (the_scheduler.active()) change(cell_of(p), old, value, order, true);
  }

 private:
  using clock = std::array<unsigned short, 8>;  // for each thread how often it released anything
  static constexpr unsigned short ancient = 1;
  static constexpr unsigned kept = 4;  // versions of an atomic

  struct version {
    std::uint64_t value;
    clock released;  // what is known to whoever acquires it
    clock known;     // when each thread first knew it; 0: it doesn't
  };
  struct cell {
    const void* address = nullptr;
    unsigned generation = 0;
    unsigned writer;
    unsigned short written;
    clock used;
    unsigned versions;
    std::array<version, kept> history;

    version& version_of(unsigned age) noexcept { return history[(versions - 1 - age) % kept]; }
    version& add() noexcept { return ++versions, version_of(0); }
  };
  static_assert(std::tuple_size_v<clock> >= scheduler::most);

  static bool acquires(detail::memory_order order) noexcept {
    return order != detail::memory_order_relaxed && order != detail::memory_order_release;
  }
  static bool releases(detail::memory_order order) noexcept {
    return order != detail::memory_order_relaxed && order != detail::memory_order_acquire;
  }
  static void join(clock& to, const clock& from) noexcept {
    for (unsigned i = 0; i != to.size(); ++i) to[i] = std::max(to[i], from[i]);
  }
  static clock known_to_all() noexcept {
    clock c;
    c.fill(ancient);
    return c;
  }

  clock& mine() noexcept { return now_[the_scheduler.current()]; }
  bool is_known(const version& v) noexcept {
    for (unsigned i = 0; i != v.known.size(); ++i)
      if (v.known[i] != 0 && v.known[i] <= mine()[i]) return true;
    return false;
  }
  void use(cell& c) noexcept {
    if (c.written > mine()[c.writer]) the_scheduler.fail("a data race: used while another thread writes it");
    c.used[the_scheduler.current()] = mine()[the_scheduler.current()];
  }
  /// Returns false where nobody changed it.
  bool load(cell& c, unsigned age, detail::memory_order order) noexcept {
    use(c);
    if (c.versions == 0) return false;
    version& v = c.version_of(age);
    unsigned short& known = v.known[the_scheduler.current()];
    if (known == 0) known = mine()[the_scheduler.current()];
    if (acquires(order)) join(mine(), v.released);
    return true;
  }
  void change(cell& c, std::uint64_t old, std::uint64_t value, detail::memory_order order, bool reads) noexcept {
    use(c);
    if (c.versions == 0) c.add() = {old, {}, known_to_all()};
    clock released = {};
    if (reads) {
      released = c.version_of(0).released;
      if (acquires(order)) join(mine(), released);
    }
    if (releases(order)) join(released, mine());
    version& v = c.add();
    v = {value, released, {}};
    unsigned short& time = mine()[the_scheduler.current()];
    v.known[the_scheduler.current()] = time;
    if (releases(order)) ++time;
  }

  cell& cell_of(const void* p) noexcept {
    for (std::size_t i = reinterpret_cast<std::uintptr_t>(p) * 0x9E3779B97F4A7C15u >> 54;; i = (i + 1) % cells_.size()) {
      cell& c = cells_[i];
      if (c.generation == generation_ && c.address == p) return c;
      if (c.generation == generation_) continue;
      if (++used_cells_ == cells_.size()) the_scheduler.fail("more memory is used than the model has room for");
      c.address = p;
      c.generation = generation_;
      c.writer = 0;
      c.written = 0;
      c.used = {};
      c.versions = 0;
      return c;
    }
  }

  unsigned generation_ = 0;
  std::size_t used_cells_ = 0;
  std::array<clock, scheduler::most> now_ = {};
  std::array<cell, 1024> cells_;
};

inline memory_model the_memory;

/// A variable that isn't atomic, in the place of one of tarn's.
template <class T>
class watched {
 public:
  constexpr watched() noexcept = default;
  constexpr watched(T value) noexcept : value_(value) {
    if (!std::is_constant_evaluated()) the_memory.written(this);
  }
  watched(const watched& other) noexcept : watched(static_cast<T>(other)) {}
  watched& operator=(const watched& other) noexcept { return *this = static_cast<T>(other); }
  watched& operator=(T value) noexcept {
    the_memory.written(this);
    value_ = value;
    return *this;
  }
  operator T() const noexcept {
    the_memory.read(this);
    return value_;
  }
  T operator->() const noexcept { return *this; }
  T operator++() noexcept { return the_memory.written(this), ++value_; }
  T operator--() noexcept { return the_memory.written(this), --value_; }
  T operator++(int) noexcept { return the_memory.written(this), value_++; }

 private:
  T value_{};
};

/// As those of platform/atomic_word.h: for a fork, and for who looks at a slot from outside, which no schedule does.
template <class T>
T load_relaxed(const watched<T>& word) noexcept {
  return word;
}
template <class T>
void store_relaxed(watched<T>& word, std::type_identity_t<T> value) noexcept {
  word = value;
}
template <class T>
void store_release(watched<T>& word, std::type_identity_t<T> value) noexcept {
  word = value;
}

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_MEMORY_MODEL_H_
