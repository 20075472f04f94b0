// A region that goes back waits for no thread that is at the store, and for no call of it.
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/registry.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/test/support/test.h"

namespace tarn::test {
namespace {

/// While it is called, something happens. Calls may not overlap.
template <class Tag>
struct visited_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  static inline void (*visit)() noexcept = nullptr;  // once
  static inline std::size_t bytes = 0;  // outstanding
  static inline bool inside = false;
  static inline int overlaps = 0;

  template <class Traits>
  struct source : heap_store::source<Traits> {
    using base = heap_store::source<Traits>;
    constexpr explicit source(const visited_store&) noexcept : base(heap_store{}) {}
    detail::memory acquire(std::size_t wanted, std::size_t alignment) noexcept {
      overlaps += std::exchange(inside, true);
      if (const auto now = std::exchange(visit, nullptr)) now();
      const detail::memory region = base::acquire(wanted, alignment);
      bytes += region.bytes;
      inside = false;
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      overlaps += std::exchange(inside, true);
      bytes -= region.bytes;
      base::release(region, alignment);
      inside = false;
    }
  };
};

std::atomic<bool> at_store = false;
std::atomic<bool> freed = false;
struct waits;

BOOST_AUTO_TEST_CASE(a_free_with_a_surplus_does_not_wait_for_the_store) {
  using store = visited_store<waits>;
  {
    size_class_pool<store, mutex_locking<>, return_empty_chunks<0, 0>> pool;
    std::vector<void*> blocks;
    for (int i = 0; i != 2000; ++i) blocks.push_back(pool.allocate(100));
    const std::size_t before = store::bytes;
    store::visit = []() noexcept {
      at_store = true;
      at_store.notify_all();
      freed.wait(false);
    };
    std::thread other([&pool] { pool.deallocate(pool.allocate(100'000), 100'000); });
    at_store.wait(false);
    for (void* const block : blocks) pool.deallocate(block, 100);  // empty chunks, which go back later
    freed = true;
    freed.notify_all();
    other.join();
    BOOST_TEST(store::bytes < before);
  }
  BOOST_TEST(store::bytes == 0u);
  BOOST_TEST(store::overlaps == 0);
}

struct asks_back;
struct asks_back_locked;

template <class Store, class Locking>
void ask_while_at_the_store(called_from = {}) {
  {
    size_class_pool<Store, Locking, reclaim_and_retry<>> pool;
    pool.deallocate(pool.allocate(100), 100);
    Store::visit = []() noexcept { reclaim_all(); };
    void* const other = pool.allocate(200);
    CHECK(other != nullptr);
    pool.deallocate(other, 200);
  }
  CHECK(Store::bytes == 0u);
  CHECK(Store::overlaps == 0);
}
BOOST_AUTO_TEST_CASE(a_store_may_ask_all_pools_to_trim) {
  ask_while_at_the_store<visited_store<asks_back>, no_locking>();
  ask_while_at_the_store<visited_store<asks_back_locked>, mutex_locking<>>();
}

}  // namespace
}  // namespace tarn::test
