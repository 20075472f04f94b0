// A fork stops a thread while it exchanges the magazines of its slot. In the child, neither the next thread under its number
// nor whoever collects blocks goes on with what is half changed.
#include <sys/wait.h>
#include <unistd.h>

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

namespace tarn::test {
namespace {

std::barrier<>* stop = nullptr;        // where a thread that exchanges waits, twice
thread_local bool stops_here = false;  // the calling thread does
std::size_t stopped = 0;

/// Stops a thread where it has changed its slot, and is about to say that the slot is whole.
template <class T>
struct stopping_word : detail::atomic_word<T> {
  using detail::atomic_word<T>::atomic_word;
  void store(T value, detail::memory_order order) noexcept;
};
using slot = detail::thread_slot<stopping_word>;

/// As if the new bottom hadn't been written yet.
void stop_half_changed(slot& s) {
  stops_here = false;
  ++stopped;
  void** const bottom = s.bottom;
  s.bottom -= 2;  // the magazine's header: no blocks
  stop->arrive_and_wait();
  stop->arrive_and_wait();
  s.bottom = bottom;
}
template <class T>
void stopping_word<T>::store(T value, detail::memory_order order) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    if (!value && stops_here)
      stop_half_changed(*reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(this) - offsetof(slot, is_changing)));
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
using pool_type = object_pool<object, stopping_cached, fixed_growth<5000, 5000>>;

bool all_apart(std::vector<object*> blocks) {
  std::sort(blocks.begin(), blocks.end());
  return std::adjacent_find(blocks.begin(), blocks.end()) == blocks.end() &&
         std::all_of(blocks.begin(), blocks.end(), [](object* b) { return reinterpret_cast<std::uintptr_t>(b) > 4096; });
}
/// Blocks are taken and written to twice; none is one of those in use.
bool can_use(pool_type& pool, const std::vector<object*>& in_use) {
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

/// Forks while another thread is within an exchange. Returns whether use(pool, blocks in use) in the child does.
template <class Use>
bool child_can(Use use) {
  pool_type pool;
  std::barrier<> step(2);
  stop = &step;
  std::vector<object*> kept{pool.construct()};
  std::array<object*, 40> blocks;
  const std::size_t before = stopped;
  std::thread other([&] {
    for (object*& b : blocks) b = pool.construct();
    for (object* const b : blocks) pool.destroy(b);
    stops_here = true;
    for (object*& b : blocks) b = pool.construct();
    for (object* const b : blocks) pool.destroy(b);
  });
  step.arrive_and_wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(use(pool, kept) ? 0 : 1);
  }
  step.arrive_and_wait();
  other.join();
  BOOST_TEST(stopped == before + 1);
  int status = -1;
  BOOST_TEST_REQUIRE(waitpid(child, &status, 0) == child);
  pool.destroy(kept[0]);
  return status == 0;
}

BOOST_AUTO_TEST_CASE(the_next_thread_under_its_number_begins_anew) {
  BOOST_TEST(child_can([](pool_type& pool, const std::vector<object*>& in_use) {
    bool right = false;
    std::thread([&] { right = can_use(pool, in_use); }).join();
    return right && can_use(pool, in_use);
  }));
}
BOOST_AUTO_TEST_CASE(who_collects_blocks_leaves_them) {
  BOOST_TEST(child_can([](pool_type& pool, std::vector<object*> all) {
    try {
      while (true) all.push_back(pool.construct());
    } catch (const std::bad_alloc&) {
    }
    return all_apart(all) && all.size() > 4900;  // but for those that are lost
  }));
}
BOOST_AUTO_TEST_CASE(so_does_who_walks_all) {
  BOOST_TEST(child_can([](pool_type& pool, const std::vector<object*>& in_use) {
    std::size_t kept = 0;
    pool.for_each([&](object& one) { kept += &one == in_use[0]; });
    return kept == 1 && can_use(pool, in_use);
  }));
}

}  // namespace
}  // namespace tarn::test
