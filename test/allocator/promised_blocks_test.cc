// What a store was given for users is theirs: a pool's own memory is never taken from a bounded store, a pool that can't have
// any works without, and a free neither asks a store nor waits for one.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/calling_memory.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace {

using namespace tarn;
using block = static_size<64>;

/// It has regions of one size only.
class of_one_size final : public std::pmr::memory_resource {
 public:
  std::size_t only = 0;  // bytes; 0: any
  std::size_t refused = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (only != 0 && bytes != only) {
      ++refused;
      throw std::bad_alloc();
    }
    return ::operator new(bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* start, std::size_t, std::size_t alignment) override {
    ::operator delete(start, std::align_val_t{alignment});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// Takes all blocks that there are, gives them back, and does so again. Returns how many the second time.
template <class Pool>
std::size_t all_of(Pool& pool) {
  std::vector<void*> blocks;
  for (int round = 0; round != 2; ++round) {
    for (void* const b : blocks) pool.deallocate(b);
    blocks.clear();
    while (void* const b = pool.try_allocate()) blocks.push_back(b);
  }
  for (void* const b : blocks) pool.deallocate(b);
  return blocks.size();
}

template <class... Policies>
struct with {
  using before_another_resource = pool<block, resource_store, fall_back_to<resource_store>, Policies...>;
  using before_a_buffer = pool<block, resource_store, fall_back_to<buffer_store>, Policies...>;
};
// fault_injection_test.cc asks every composition with a second store for all blocks that it was promised.
using with_a_buffer_behind = std::tuple<with<mutex_locking<>>, with<thread_cached<>>, with<lock_free>, with<hardened>>;
BOOST_AUTO_TEST_CASE_TEMPLATE(a_reserve_in_a_buffer_serves_what_its_bytes_are_for, policies, with_a_buffer_behind) {
  using pool = typename policies::before_a_buffer;
  static_assert(pool::bytes_for(50, 64) > 50 * 64);  // the record of its chunk, too
  alignas(128) std::byte bytes[pool::bytes_for(50) + 64];
  for (const std::size_t offset : {0u, 1u, 16u}) {
    const std::size_t alignment = offset == 0 ? 128 : detail::lowest_bit(offset);
    BOOST_TEST(pool::blocks_in(pool::bytes_for(50, alignment), alignment) == 50u);
    for (const std::size_t fewer : {0u, 1u}) {
      test::upstream first;
      first.fail(1, test::failing::for_ever);
      using second = fall_back_to<buffer_store>;
      const buffer_store buffer{std::span(bytes).subspan(offset, pool::bytes_for(50, alignment) - fewer)};
      pool tested{resource_store{&first}, second{buffer}};
      BOOST_TEST(all_of(tested) == 50 - fewer);
    }
  }
}
BOOST_AUTO_TEST_CASE(a_reserve_smaller_than_its_limit_serves_what_it_has) {
  pool<block, no_growth<1>, fall_back_to<static_array_store<10>, no_growth<100>>> pool;
  BOOST_TEST(all_of(pool) == 11u);
}
BOOST_AUTO_TEST_CASE(lock_free_has_a_reserve_of_any_size_behind_any_number_of_chunks) {
  constexpr std::size_t reserved = 10'000;  // numbers of three runs, and more bytes than a hundred of the other chunks
  test::upstream first;
  pool<block, lock_free, resource_store, fixed_growth<10>, fall_back_to<static_array_store<reserved>>> pool{
      resource_store{&first}};
  pool.reserve(1000);
  first.fail(1, test::failing::for_ever);
  BOOST_TEST(all_of(pool) == 1000 + reserved);
  first.fail(1, test::failing::never);
  pool.reserve(12'000);
  BOOST_TEST(pool.capacity() == 12'000u);
  first.fail(1, test::failing::for_ever);
  BOOST_TEST(all_of(pool) == 12'000u);
}
BOOST_AUTO_TEST_CASE(lock_free_takes_from_its_reserve_when_its_store_has_a_chunk_but_no_table) {
  test::upstream first;
  first.fail(2, test::failing::for_ever);
  pool<block, lock_free, resource_store, fall_back_to<static_array_store<500>>> pool{resource_store{&first}};
  pool.deallocate(pool.allocate());  // the first call, too
  BOOST_TEST(all_of(pool) == 500u);
  BOOST_TEST(first.bytes() == 0u);
}
using that_need_tables = std::tuple<with<thread_cached<>>, with<lock_free>, with<hardened>, with<page_local_reuse<>>>;
BOOST_AUTO_TEST_CASE_TEMPLATE(tables_go_back_to_the_store_that_gave_them, policies, that_need_tables) {
  test::upstream first, second;
  first.fail(1, test::failing::for_ever);
  {
    using fall = fall_back_to<resource_store>;
    typename policies::before_another_resource pool{resource_store{&first}, fall{resource_store{&second}}};
    BOOST_REQUIRE(pool.try_reserve(1000));
    pool.deallocate(pool.allocate());
    first.fail(1, test::failing::never);
    BOOST_REQUIRE(pool.try_reserve(100'000));  // those of the first store are larger
  }
  BOOST_TEST(first.faults() + second.faults() == 0u);
  BOOST_TEST(first.bytes() + second.bytes() == 0u);
}
BOOST_AUTO_TEST_CASE(a_second_store_grows_as_if_a_call_that_failed_had_not_been) {
  test::upstream first, second;
  first.fail(1, test::failing::for_ever);
  using fall = fall_back_to<resource_store, geometric_growth<10, 10'000>>;
  pool<block, resource_store, fall> pool{resource_store{&first}, fall{resource_store{&second}}};
  pool.reserve(1);
  BOOST_TEST(pool.capacity() == 10u);
  second.fail(3, test::failing::for_ever);  // after chunks of 20 and 40 blocks
  BOOST_TEST(!pool.try_reserve(1000));
  BOOST_TEST(pool.capacity() == 10u);
  second.fail(1, test::failing::never);
  pool.reserve(11);
  BOOST_TEST(pool.capacity() == 30u);
}
BOOST_AUTO_TEST_CASE(an_array_is_used_again_while_a_block_of_the_second_store_is_in_use) {
  pool<block, static_array_store<100>, fall_back_to<heap_store>> pool;
  const auto lies_inside = [&](void* b) { return b >= static_cast<void*>(&pool) && b < static_cast<void*>(&pool + 1); };
  std::vector<void*> blocks(101);
  for (void*& b : blocks) b = pool.allocate();
  void* kept = nullptr;
  for (void* const b : blocks)
    if (lies_inside(b)) pool.deallocate(b);
    else kept = b;
  BOOST_REQUIRE(kept != nullptr);
  pool.trim();
  std::size_t inside = 0;
  blocks.resize(1000);
  for (void*& b : blocks) inside += lies_inside(b = pool.allocate());
  BOOST_TEST(inside == 100u);
  for (void* const b : blocks) pool.deallocate(b);
  pool.deallocate(kept);
}
BOOST_AUTO_TEST_CASE(a_cap_counts_the_blocks_of_its_own_store) {
  test::upstream first, second;
  using fall = fall_back_to<resource_store, fixed_growth<100>>;
  pool<block, fixed_growth<100, 1000>, resource_store, fall> pool{resource_store{&first}, fall{resource_store{&second}}};
  first.fail(1, test::failing::for_ever);
  pool.reserve(1000);
  BOOST_TEST(second.calls() == 10u);
  first.fail(1, test::failing::never);
  const std::size_t before = first.calls();
  pool.reserve(2000);
  BOOST_TEST(first.calls() - before == 10u);
}

/// Chunks can be had, and nothing else; later all.
template <class Policies>
struct of_many_chunks;
template <class... Policies>
struct of_many_chunks<with<Policies...>> {
  using type = pool<block, resource_store, fixed_growth<10>, Policies...>;
};
using that_look_up = std::tuple<with<hardened>, with<page_local_reuse<>>>;
BOOST_AUTO_TEST_CASE_TEMPLATE(a_pool_without_memory_for_its_table_finds_its_chunks, policies, that_look_up) {
  of_one_size memory;
  typename of_many_chunks<policies>::type pool{resource_store{&memory}};
  std::vector<void*> blocks(500);
  {
    of_one_size one;
    typename of_many_chunks<policies>::type other{resource_store{&one}};
    std::size_t bytes = 0;
    for (std::size_t size = 600; bytes == 0; ++size) {
      one.only = size;
      if (void* const b = other.try_allocate()) other.deallocate(b), bytes = size;
    }
    memory.only = bytes;  // of a chunk
  }
  for (void*& b : blocks) b = pool.allocate();
  BOOST_TEST(memory.refused != 0u);
  for (void* const b : blocks) BOOST_TEST(pool.owns(b));
  for (std::size_t i = 0; i < blocks.size(); i += 2) pool.deallocate(blocks[i]);
  memory.only = 0;
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i] = pool.allocate();
  for (int i = 0; i != 100; ++i) blocks.push_back(pool.allocate());
  for (void* const b : blocks) BOOST_TEST(pool.owns(b));
  int other = 0;
  BOOST_TEST(!pool.owns(&other));
  for (void* const b : blocks) pool.deallocate(b);
  pool.trim();
  BOOST_TEST(pool.capacity() <= 600u);
}

// ---- frees ------------------------------------------------------------------------------------------------------

/// A mutex that can only be locked.
class stubborn {
 public:
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};
using lockings = std::tuple<mutex_locking<stubborn>, mutex_locking<>, thread_cached<>>;
BOOST_AUTO_TEST_CASE_TEMPLATE(a_free_waits_for_no_thread_at_the_store, locking, lockings) {
  test::budget memory(1 << 20);
  std::atomic<bool> waits = false, is_asked = false;
  memory.on_allocate = [&] {
    is_asked = true;
    while (waits) std::this_thread::yield();
  };
  pool<block, locking, resource_store, fixed_growth<10>, return_empty_chunks<0, 0>> pool{resource_store{&memory}};
  std::vector<void*> blocks(1000);
  for (void*& b : blocks) b = pool.allocate();
  is_asked = false;
  waits = true;
  std::thread grower([&] { pool.reserve(pool.capacity() + 1); });
  while (!is_asked) std::this_thread::yield();
  for (void* const b : blocks) pool.deallocate(b);
  waits = false;
  grower.join();
  const std::size_t before = pool.capacity();
  blocks.resize(before + 1);
  for (void*& b : blocks) b = pool.allocate();  // the last finds none: what the frees left goes back
  BOOST_TEST(pool.capacity() >= blocks.size());
  for (void* const b : blocks) pool.deallocate(b);
}

}  // namespace
