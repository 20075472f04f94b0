// The stores that the classes of a pool of many sizes share: second stores, handlers, pools that are asked to trim; a region
// that goes back waits for no thread that is at a store.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/registry.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/test.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

/// A store that counts, and has a limit. While it is called, something may happen; calls may not overlap.
template <class Tag>
struct watched_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  static inline std::size_t limit = static_cast<std::size_t>(-1);  // bytes
  static inline std::size_t bytes = 0;  // outstanding
  static inline void (*visit)() noexcept = nullptr;  // once
  static inline bool inside = false;
  static inline int overlaps = 0;

  template <class Traits>
  struct source : heap_store::source<Traits> {
    using base = heap_store::source<Traits>;
    constexpr explicit source(const watched_store&) noexcept : base(heap_store{}) {}
    detail::memory acquire(std::size_t wanted, std::size_t alignment) noexcept {
      overlaps += std::exchange(inside, true);
      if (const auto now = std::exchange(visit, nullptr)) now();
      const detail::memory region = wanted > limit - bytes ? detail::memory{} : base::acquire(wanted, alignment);
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

/// An xallocator with the members of a size_class_pool.
template <class Allocator>
struct as_pool {
  void* try_allocate(std::size_t bytes) { return Allocator::allocate(bytes); }
  void deallocate(void* block, std::size_t) { Allocator::deallocate(block); }
  void trim() { Allocator::trim(); }
};

// ---- a second store --------------------------------------------------------------------------------------------------------

constexpr std::size_t sizes[] = {16, 100, 1000, 4000};

/// Takes blocks of all classes, each its own bytes, and frees them. Returns how many there were, up to `most`.
template <class Pool>
std::size_t fill(Pool& pool, std::size_t most) {
  std::vector<std::pair<unsigned char*, std::size_t>> all;
  for (std::size_t i = 0; i != most; ++i) {
    const std::size_t bytes = sizes[i % std::size(sizes)];
    auto* const block = static_cast<unsigned char*>(pool.try_allocate(bytes));
    if (block == nullptr) break;
    std::memset(block, static_cast<int>(i % 251), bytes);
    all.emplace_back(block, bytes);
  }
  for (std::size_t i = 0; i != all.size(); ++i) {
    unsigned char* const block = all[i].first;
    const std::size_t bytes = all[i].second;
    REQUIRE((block[0] == i % 251 && block[bytes - 1] == i % 251));
    if constexpr (requires { pool.usable_size(block); }) REQUIRE(pool.usable_size(block) >= bytes);
    if constexpr (requires { pool.deallocate(block); }) {
      if (i % 2 == 0) {
        pool.deallocate(block);
        continue;
      }
    }
    pool.deallocate(block, bytes);
  }
  return all.size();
}
template <class Pool>
void use_second_store(Pool& pool, std::size_t& second_bytes, called_from = {}) {
  for (int round = 0; round != 2; ++round) {
    CHECK(fill(pool, 400) == 400u);
    void* const large = pool.try_allocate(100'000);  // no block of any class
    REQUIRE(large != nullptr);
    std::memset(large, 1, 100'000);
    const std::size_t most = second_bytes;
    CHECK(most >= 100'000u);
    pool.deallocate(large, 100'000);
    pool.trim();
    CHECK(second_bytes <= most - 100'000);
  }
}

struct second_of_buffer;
struct second_of_endless;
struct first_of_endless;
struct second_of_heap;
struct spilling;

BOOST_AUTO_TEST_CASE(behind_a_buffer_a_second_store_serves_all_sizes) {
  using second = watched_store<second_of_buffer>;
  std::vector<std::byte> bytes(70'000);
  {
    size_class_pool<buffer_store, fall_back_to<second>, mutex_locking<>, checked> pool(buffer_store{bytes});
    use_second_store(pool, second::bytes);
    pool.release();
    BOOST_TEST(second::bytes == 0u);
    use_second_store(pool, second::bytes);
  }
  BOOST_TEST(second::bytes == 0u);
}
BOOST_AUTO_TEST_CASE(behind_an_endless_store_a_second_one_serves_all_sizes) {
  using first = watched_store<first_of_endless>;
  using second = watched_store<second_of_endless>;
  {
    size_class_pool<first, fall_back_to<second>> pool;
    BOOST_TEST(fill(pool, 100) == 100u);
    BOOST_TEST(second::bytes == 0u);
    first::limit = first::bytes;  // not even for the pools of new classes
    void* const block = pool.try_allocate(2000);
    BOOST_TEST(block != nullptr);
    pool.deallocate(block, 2000);
    use_second_store(pool, second::bytes);
  }
  BOOST_TEST(first::bytes == 0u);
  BOOST_TEST(second::bytes == 0u);
}
BOOST_AUTO_TEST_CASE(behind_an_array_of_mallocs_functions_a_second_store_serves_all_sizes) {
  using second = watched_store<second_of_heap>;
  using heap = xallocator<spilling, static_array_store<3>, fall_back_to<second>>;
  as_pool<heap> pool;
  use_second_store(pool, second::bytes);
  void* const block = heap::allocate(50);
  BOOST_TEST(heap::usable_size(block) == 64u);
  heap::deallocate(block);
  heap::trim();
  BOOST_TEST(second::bytes == 0u);
}
BOOST_AUTO_TEST_CASE(a_bounded_second_store_is_a_reserve_for_all_classes) {
  struct spent;
  using first = watched_store<spent>;
  first::limit = 0;
  const auto pool = std::make_unique<size_class_pool<first, fall_back_to<static_array_store<4>>>>();
  BOOST_TEST(fill(*pool, 400) >= 12u);  // a granule for each of the four classes: three blocks of the largest
  BOOST_TEST(pool->try_allocate(100'000) == nullptr);
  first::limit = 1'000'000;
  BOOST_TEST(fill(*pool, 400) == 400u);
}

// ---- policy objects reach the classes --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_handler_given_to_the_owner_is_asked_by_its_classes) {
  static int asked = 0;
  using handler = retry_with<bool (*)(std::size_t)>;
  size_class_pool<static_array_store<1>, handler> pool(handler([](std::size_t) { return ++asked < 3; }));
  while (pool.try_allocate(100) != nullptr) {}
  BOOST_TEST(asked == 3);
}
BOOST_AUTO_TEST_CASE(a_second_store_given_to_the_owner_is_the_one_that_is_used) {
  test::upstream upstream;
  {
    using second = fall_back_to<resource_store>;
    const auto pool = std::make_unique<size_class_pool<static_array_store<1>, second>>(second(resource_store{&upstream}));
    BOOST_TEST(fill(*pool, 400) == 400u);
    BOOST_TEST(upstream.bytes() > 0u);
  }
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

// ---- pools that are asked to trim ------------------------------------------------------------------------------------------

struct shared_with_all;
struct reclaiming;

BOOST_AUTO_TEST_CASE(what_mallocs_functions_are_asked_for_goes_back_to_the_store) {
  using store = watched_store<shared_with_all>;
  using heap = xallocator<reclaiming, store, reclaim_and_retry<>>;
  std::vector<void*> all;
  for (int i = 0; i != 2000; ++i) all.push_back(heap::allocate(100));
  for (void* const block : all) heap::deallocate(block);
  const std::size_t before = store::bytes;
  BOOST_TEST(before > 200'000u);
  const std::size_t got = reclaim_all();
  BOOST_TEST(store::bytes == 0u);
  BOOST_TEST(got % (64 * 1024) == 0u);    // granules
  BOOST_TEST(before - got < 16 * 1024u);  // and what the class needed for magazines, which isn't counted

  // Another pool gets memory that lies in free granules.
  all.clear();
  for (int i = 0; i != 2000; ++i) all.push_back(heap::allocate(100));
  for (void* const block : all) heap::deallocate(block);
  store::limit = store::bytes;
  pool<static_size<64>, store, reclaim_and_retry<>> other;
  BOOST_TEST(other.try_allocate() != nullptr);
  store::limit = static_cast<std::size_t>(-1);
}
BOOST_AUTO_TEST_CASE(a_class_that_finds_nothing_gets_what_its_siblings_do_not_use) {
  const auto pool = std::make_unique<size_class_pool<static_array_store<2>, reclaim_and_retry<>>>();
  void* const a = pool->try_allocate(100);
  void* const b = pool->try_allocate(200);
  BOOST_TEST(pool->try_allocate(300) == nullptr);
  pool->deallocate(a, 100);
  BOOST_TEST(pool->try_allocate(300) != nullptr);
  pool->deallocate(b, 200);
}

// ---- what goes back waits for nobody ------------------------------------------------------------------------------------

std::atomic<bool> at_store = false;
std::atomic<bool> freed = false;
struct waits;

BOOST_AUTO_TEST_CASE(a_free_with_a_surplus_does_not_wait_for_the_store) {
  using store = watched_store<waits>;
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
  ask_while_at_the_store<watched_store<asks_back>, no_locking>();
  ask_while_at_the_store<watched_store<asks_back_locked>, mutex_locking<>>();
}

}  // namespace
}  // namespace tarn::test
