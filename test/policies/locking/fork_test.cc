// Forks while a group_guard is held: what is wrong shows as a fork that never returns. And what ThreadSanitizer says of
// children.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <thread>

#include "tarn/allocator/pool.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/locking/group_guard.h"
#include "tarn/policies/store.h"
#include "tarn/test/policies/store/processes.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/observed_thread.h"

namespace {
int reports = 0;  // by ThreadSanitizer, of this process
}  // namespace
extern "C" void __tsan_on_report(void*) { ++reports; }  // NOLINT(bugprone-reserved-identifier)

namespace tarn::test {
namespace {

/// A child, and a child of that, use the pool, make others and end them. Returns whether nothing was reported.
template <class Use>
bool children_are_sound(Use use) {
  const auto use_here_and_in_a_thread = [&] {
    use();
    std::thread(use).join();
  };
  use_here_and_in_a_thread();
  const bool sound = in_child([&] {
                       reports = 0;
                       use_here_and_in_a_thread();
                       const int grandchild = in_child([&] {
                         use();
                         return reports;
                       });
                       use();
                       return reports + grandchild;
                     }) == 0;
  use();
  return sound;
}
template <class Pool>
bool children_use() {
  Pool pool;
  return children_are_sound([&pool] {
    pool.deallocate(pool.allocate());
    Pool fresh;  // enters the list of what a fork holds
    fresh.deallocate(fresh.allocate());
  });
}
BOOST_AUTO_TEST_CASE(a_child_holds_what_it_says_it_holds) {
  CHECK(children_use<pool<static_size<64>, mutex_locking<>>>());
  CHECK(children_use<pool<static_size<64>, mutex_locking<spin_mutex>, named<"forked">>>());
  CHECK(children_use<pool<static_size<64>, thread_cached<>>>());
  CHECK(children_use<pool<static_size<64>, lock_free, reclaim_and_retry<>>>());
}

std::atomic<bool> store_waits{false};
std::atomic<bool> at_store{false};

/// Its calls take as long as the test wants.
struct slow_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};

  template <class Traits>
  class source : heap_store::source<Traits> {
    using base = heap_store::source<Traits>;

   public:
    constexpr explicit source(const slow_store&) noexcept : base(heap_store{}) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      at_store = true;
      at_store.notify_all();
      store_waits.wait(true);
      return base::acquire(bytes, alignment);
    }
    using base::release;
  };
};

struct fast_group;
struct slow_group;
using fast_pool = pool<static_size<64>, grouped_locking<fast_group, mutex>>;
using slow_pool = pool<static_size<64>, grouped_locking<slow_group, mutex>, slow_store>;

/// Forks. Returns whether the child could use the pool, under its group's guard too.
template <class Group, class Pool>
bool forked_child_uses(Pool& pool) {
  return in_child([&] {
           store_waits = false;
           for (int i = 0; i != 2000; ++i)
             if (pool.allocate() == nullptr) return 1;
           const group_guard<Group, mutex> guard;
           return pool.allocate() != nullptr ? 0 : 1;
         }) == 0;
}

BOOST_AUTO_TEST_CASE(a_fork_passes_a_group_guard_that_is_held_at_a_store) {
  slow_pool pool;
  store_waits = true;
  at_store = false;
  observed_thread grower([&] {
    const group_guard<slow_group, mutex> guard;
    pool.deallocate(pool.allocate());
  });
  at_store.wait(false);
  CHECK(forked_child_uses<slow_group>(pool));
  store_waits = false;
  store_waits.notify_all();
  grower.join();
  CHECK(pool.allocate() != nullptr);
}

BOOST_AUTO_TEST_CASE(two_threads_fork_under_guards_of_their_own) {
  slow_pool pool;
  fast_pool other;
  std::atomic<int> ready{0};
  std::atomic<int> good{0};
  const auto fork_often = [&]<class Group>(auto& mine, const Group*) {
    ++ready;
    while (ready != 2) {
    }
    for (int i = 0; i != 5; ++i) {
      const group_guard<Group, mutex> guard;
      good += forked_child_uses<Group>(mine);
    }
  };
  observed_thread one([&] { fork_often(pool, static_cast<slow_group*>(nullptr)); });
  observed_thread two([&] { fork_often(other, static_cast<fast_group*>(nullptr)); });
  one.join();
  two.join();
  CHECK(good == 10);
}

}  // namespace
}  // namespace tarn::test
