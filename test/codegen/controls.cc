// What check_codegen.py must find out: pools that do more on the hot path than may be, the lines with ! in limits.txt; and what
// statics.cc must not have, a guard variable, an initialiser, a pool whose array lies in the program's file.
#include <atomic>
#include <cstddef>
#include <mutex>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"

#define OBJECT(name, ...)                                                                      \
  using name = tarn::pool<__VA_ARGS__>;                                                        \
  extern "C" void* name##_allocate(name& p) { return p.allocate(); }                           \
  extern "C" void* name##_try_allocate(name& p) noexcept { return p.try_allocate(); }          \
  extern "C" void name##_deallocate(name& p, void* block) noexcept { p.deallocate(block); }

namespace {

template <class Number>
struct counting {
  using axis = tarn::axis::statistics;
  static constexpr tarn::statistics_traits traits{};
  template <class Traits>
  struct state {
    constexpr explicit state(const counting&) noexcept {}
    void on_allocate(std::size_t n) noexcept { live += n; }
    void on_deallocate(std::size_t n) noexcept { live -= n; }
    void on_chunk(std::size_t) noexcept {}
    void off_chunk(std::size_t) noexcept {}
    Number live{0};
  };
};

// A second branch, in allocate() and in deallocate(), without a lock.
struct doubtful {
  using axis = tarn::axis::statistics;
  static constexpr tarn::statistics_traits traits{};
  template <class Traits>
  struct state : counting<std::size_t>::state<Traits> {
    constexpr explicit state(const doubtful&) noexcept : counting<std::size_t>::state<Traits>({}) {}
    void on_allocate(std::size_t n) noexcept { look(n); }
    void on_deallocate(std::size_t n) noexcept { look(n); }
    void look(std::size_t n) noexcept {
      if (n == this->live) __builtin_trap();
    }
  };
};

// The same from a policy that refuses.
struct wary : tarn::no_checking {
  static constexpr tarn::checking_traits traits{.refuses = true};
  template <class Traits>
  struct state : tarn::no_checking::state<Traits> {
    using tarn::no_checking::state<Traits>::state;
    template <class Core>
    tarn::detail::status on_allocate(Core&, void* block) noexcept {
      return block == forbidden ? tarn::detail::status::refused : tarn::detail::status::done;
    }
    template <class Core>
    tarn::detail::status on_deallocate(Core&, void* block) noexcept {
      return block == forbidden ? tarn::detail::status::refused : tarn::detail::status::done;
    }
    template <class Core>
    void describe_allocate(Core&, void*, tarn::detail::pending_report&) noexcept {}
    template <class Core>
    void describe_deallocate(Core&, void*, tarn::detail::pending_report&) noexcept {}
    void report(tarn::misuse&) noexcept {}
    void* forbidden = nullptr;
  };
};

using block = tarn::static_size<64>;

}  // namespace

OBJECT(control_counter, block, counting<std::size_t>)
OBJECT(control_lifo_counter, block, tarn::lifo_reuse<>, counting<std::size_t>)
OBJECT(control_atomic, block, counting<std::atomic<std::size_t>>)
OBJECT(control_mutex, block, tarn::mutex_locking<std::mutex>)
OBJECT(control_branch, block, wary)
OBJECT(control_cached_counter, block, tarn::thread_cached<>, counting<std::size_t>)
OBJECT(control_cached_branch, block, tarn::thread_cached<>, doubtful)

void* guarded() {
  static tarn::pool<block> pool;
  return pool.allocate();
}
void* reserved = (guarded(), nullptr);

// A cell that isn't zero at first.
struct counted_mutex {
  int free = 1;
  void lock() { --free; }
  void unlock() { ++free; }
};
using zeroed = tarn::static_pool<struct zeroed_tag, block, tarn::static_array_store<1000>, tarn::mutex_locking<counted_mutex>>;
void* use() { return zeroed::instance().allocate(); }
