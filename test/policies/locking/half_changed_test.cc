// A fork stops a thread while it exchanges the magazines of its slot, between any two of its writes. In the child, the next
// thread under its number, or whoever collects or walks blocks, does the rest: no block is lost, none is there twice.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/test/policies/store/processes.h"

namespace tarn::test {
namespace {

std::barrier<>* stop = nullptr;  // where a thread that exchanges waits, twice
std::size_t stopped = 0;

/// A moment of an exchange: none of its writes was seen by then, or so many. The first says that it begins, the last that it
/// is over.
struct moment {
  detail::exchange_step in = detail::exchange_step::none;
  int writes = 0;
};
constexpr int all_writes = 8;
thread_local moment stops_at;  // the calling thread does, once

/// Stops a thread where it has changed its slot; what it hadn't written by then is as it was.
template <class T>
struct stopping_word : detail::atomic_word<T> {
  using detail::atomic_word<T>::atomic_word;
  void store(T value, detail::memory_order order) noexcept;
};
using slot = detail::thread_slot<stopping_word>;

/// The words that an exchange writes.
struct words {
  detail::magazine* current;
  void** bottom;
  void** limit;
  void** top;
  detail::magazine* spare;
  bool spare_is_full;

  explicit words(const slot& s)
      : current(s.current), bottom(s.bottom), limit(s.limit), top(s.top), spare(s.spare), spare_is_full(s.spare_is_full) {}
  /// Writes the first `n` of them.
  void write(slot& s, int n) const {
    if (n > 0) s.current = current;
    if (n > 1) s.bottom = bottom;
    if (n > 2) s.limit = limit;
    if (n > 3) s.top = top;
    if (n > 4) s.spare = spare;
    if (n > 5) s.spare_is_full = spare_is_full;
  }
};
thread_local const words* before = nullptr;

template <class T>
void stopping_word<T>::store(T value, detail::memory_order order) noexcept {
  if constexpr (std::is_same_v<T, detail::exchange_step>) {
    slot& s = *reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(this) - offsetof(slot, changing));
    if (value != T::none && value == stops_at.in) {
      static thread_local words its(s);
      its = words(s);
      before = &its;
    } else if (value == T::none && before != nullptr) {
      const words after(s);
      const T step = stops_at.in;
      const int n = stops_at.writes;
      stops_at = {};
      before->write(s, 6);
      after.write(s, n - 1);
      before = nullptr;
      detail::atomic_word<T>::store(n == 0 || n == all_writes ? T::none : step, order);
      ++stopped;
      stop->arrive_and_wait();
      stop->arrive_and_wait();
      after.write(s, 6);
    }
  }
  detail::atomic_word<T>::store(value, order);
}

struct stopping_process : detail::process_threads {
  template <class T>
  using atomic = stopping_word<T>;
};
struct stopping_cached : thread_cached<> {
  template <class Traits>
  using state = detail::magazine_calls<detail::mutex_pair<mutex>, stopping_process, 16, 5>;
};
using object = std::array<std::uint64_t, 8>;
constexpr std::size_t room = 5000;  // objects in a pool
using pool_type = object_pool<object, stopping_cached, fixed_growth<room, room>>;
/// The same, without for_each() but with trim().
struct plain_pool : pool<size_of<object>, stopping_cached, fixed_growth<room, room>> {
  object* construct() { return ::new (allocate()) object{}; }
  void destroy(object* one) noexcept { deallocate(one); }
};

bool all_apart(std::vector<object*> blocks) {
  std::sort(blocks.begin(), blocks.end());
  return std::adjacent_find(blocks.begin(), blocks.end()) == blocks.end() &&
         std::all_of(blocks.begin(), blocks.end(), [](object* b) { return reinterpret_cast<std::uintptr_t>(b) > 4096; });
}
/// Blocks are taken and written to twice; none is one of those in use.
template <class Pool>
bool can_use(Pool& pool, const std::vector<object*>& in_use) {
  for (int round = 0; round != 2; ++round) {
    std::vector<object*> mine(500);
    for (object*& b : mine) b = pool.construct();
    std::vector<object*> all = in_use;
    all.insert(all.end(), mine.begin(), mine.end());
    if (!all_apart(all)) return false;
    for (object* const b : mine) b->fill(1);
    for (object* const b : mine) pool.destroy(b);
  }
  return true;
}

/// What the parent's threads hold when the child is made.
struct holders {
  std::vector<object*> objects;  // of the thread that forks
  std::size_t others = 0;        // of the thread that is stopped: the block that it is giving back among them
};

/// All blocks but those that are held, each once.
template <class Pool>
bool has_all(Pool& pool, const holders& held) {
  std::vector<object*> all = held.objects;
  try {
    while (true) all.push_back(pool.construct());
  } catch (const std::bad_alloc&) {
  }
  return all_apart(all) && all.size() + held.others == room;
}

/// Forks while another thread is at that moment of an exchange. Returns whether use(pool, what is held) in the child does.
template <class Pool, class Use>
bool child_can(moment when, Use use) {
  Pool pool;
  std::barrier<> step(2);
  stop = &step;
  holders held{{pool.construct()}};
  std::array<object*, 40> blocks;
  const std::size_t stopped_before = stopped;
  std::thread other([&] {
    for (object*& b : blocks) b = pool.construct();
    for (object* const b : blocks) pool.destroy(b);
    stops_at = when;
    for (object*& b : blocks) b = pool.construct(), ++held.others;
    for (object* const b : blocks) pool.destroy(b), --held.others;
  });
  step.arrive_and_wait();
  const bool could = in_child([&] { return use(pool, held) ? 0 : 1; }) == 0;
  step.arrive_and_wait();
  other.join();
  BOOST_TEST(stopped == stopped_before + 1);
  pool.destroy(held.objects[0]);
  return could;
}
template <class Pool, class Use>
void at_each_moment(Use use) {
  for (const auto step : {detail::exchange_step::full_comes, detail::exchange_step::empty_comes})
    for (int writes = 0; writes <= all_writes; ++writes)
      BOOST_TEST(child_can<Pool>({step, writes}, use), "step " << int(step) << ", after " << writes << " writes");
}

BOOST_AUTO_TEST_CASE(the_next_thread_under_its_number_finishes_it) {
  at_each_moment<pool_type>([](pool_type& pool, const holders& held) {
    bool right = false;
    std::thread([&] { right = can_use(pool, held.objects); }).join();
    return right && can_use(pool, held.objects) && has_all(pool, held);
  });
}
BOOST_AUTO_TEST_CASE(so_does_the_next_thread_if_it_first_trims) {
  at_each_moment<plain_pool>([](plain_pool& pool, const holders& held) {
    bool right = false;
    std::thread([&] {
      pool.trim();
      right = can_use(pool, held.objects);
    }).join();
    return right && has_all(pool, held);
  });
}
BOOST_AUTO_TEST_CASE(so_does_who_collects_blocks) { at_each_moment<pool_type>(has_all<pool_type>); }
BOOST_AUTO_TEST_CASE(who_walks_all_meets_no_free_block) {
  at_each_moment<pool_type>([](pool_type& pool, const holders& held) {
    std::size_t visited = 0, kept = 0;
    pool.for_each([&](object& one) {
      ++visited;
      kept += &one == held.objects[0];
    });
    return kept == 1 && visited == 1 + held.others && has_all(pool, held);
  });
}

}  // namespace
}  // namespace tarn::test
