// What a pool does when its store gives no further chunk: it asks a handler, waits, or takes another store.
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/checking.h"
#include "tarn/policies/statistics.h"
#include "tarn/policies/store/memory_budget.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/policies/store/processes.h"
#include "tarn/test/support/observed_thread.h"
#include "tarn/test/support/upstream.h"

namespace {

using namespace tarn;
using test::upstream;
using std::chrono::steady_clock;

// ---- retry_with ----------------------------------------------------------------------------------------------------------

/// Gives blocks of a pool back, one a call.
struct cache {
  std::vector<void*> blocks;
  void (*give)(void*) = nullptr;
  int calls = 0;
};
cache entries;

struct drop_an_entry {
  bool operator()(std::size_t bytes) const noexcept {
    ++entries.calls;
    if (entries.blocks.empty() || bytes != 64) return false;
    entries.give(entries.blocks.back());  // the handler runs with nothing held: the pool can be used
    entries.blocks.pop_back();
    return true;
  }
};

template <class Locking>
struct small {
  using pool = static_pool<small, static_size<64>, Locking, no_growth<50>, retry_with<drop_an_entry>>;
};
using lockings = std::tuple<no_locking, thread_cached<>>;  // others: stress/store_calls_test

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handler_frees_blocks_until_there_is_one, locking, lockings) {
  auto& pool = small<locking>::pool::instance();
  entries = {};
  entries.give = [](void* block) { small<locking>::pool::instance().deallocate(block); };
  while (entries.blocks.size() != 50) entries.blocks.push_back(pool.allocate());
  BOOST_TEST(entries.calls == 0);
  std::set<void*> got;
  for (int i = 0; i < 50; ++i) {
    void* const block = i % 2 == 0 ? pool.allocate() : pool.try_allocate();
    BOOST_REQUIRE(block != nullptr);
    got.insert(block);
  }
  BOOST_TEST(got.size() == 50u);
  BOOST_TEST(entries.blocks.empty());
  BOOST_TEST(entries.calls >= 50);
  const int calls = entries.calls;
  BOOST_TEST(pool.try_allocate() == nullptr);  // it gave up
  BOOST_TEST(entries.calls == calls + 1);
  BOOST_CHECK_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
  for (void* const block : got) pool.deallocate(block);
}

int asked = 0;
bool never(std::size_t) {
  ++asked;
  return false;
}

BOOST_AUTO_TEST_CASE(a_handler_can_be_a_value) {
  using handler = retry_with<bool (*)(std::size_t)>;
  upstream memory;
  pool<static_size<64>, resource_store, handler> pool{handler{&never}, resource_store{&memory}};
  memory.fail(1, test::failing::for_ever);
  BOOST_TEST(pool.try_allocate() == nullptr);
  BOOST_TEST(asked == 1);
  memory.fail(1, test::failing::never);
  void* const block = pool.try_allocate();
  BOOST_TEST(block != nullptr);
  BOOST_TEST(asked == 1);
  pool.deallocate(block);
}

/// A handler whose copy needs memory that isn't there.
struct dear_handler {
  static inline bool refuse = false;
  static inline int alive = 0;
  dear_handler() noexcept { ++alive; }
  dear_handler(const dear_handler&) {
    if (refuse) throw std::bad_alloc();
    ++alive;
  }
  ~dear_handler() { --alive; }
  bool operator()(std::size_t) const noexcept { return false; }
};

BOOST_AUTO_TEST_CASE(what_the_copy_of_a_handler_throws_the_constructor_throws) {
  using handler = retry_with<dear_handler>;
  using plain = pool<static_size<64>, handler>;
  using objects = object_pool<int, handler>;
  static_assert(!std::is_nothrow_constructible_v<plain, const handler&> && std::is_nothrow_default_constructible_v<plain>);
  static_assert(std::is_nothrow_constructible_v<pool<dynamic_size>, const dynamic_size&>);
  {
    const handler policy;
    dear_handler::refuse = true;
    BOOST_CHECK_THROW(plain{policy}, std::bad_alloc);
    BOOST_CHECK_THROW(objects{policy}, std::bad_alloc);
    dear_handler::refuse = false;
    plain pool{policy};
    pool.deallocate(pool.allocate());
    BOOST_TEST(dear_handler::alive == 2);
  }
  BOOST_TEST(dear_handler::alive == 0);
}

// ---- fall_back_to --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(blocks_beyond_the_array_come_from_elsewhere_and_go_back_there) {
  upstream memory;
  using second = fall_back_to<resource_store, fixed_growth<10, 40>>;
  using whole = pool<static_size<64>, static_array_store<100>, second>;
  {
    const auto pool = std::make_unique<whole>(second{resource_store{&memory}});
    std::vector<void*> blocks;
    for (int round = 0; round < 3; ++round) {
      while (void* const block = pool->try_allocate()) blocks.push_back(block);
      BOOST_TEST(blocks.size() == 140u);  // both caps are exact
      BOOST_TEST(memory.regions() == 4u);
      std::size_t inside = 0;
      for (void* const block : blocks)
        inside += block >= static_cast<void*>(pool.get()) && block < static_cast<void*>(pool.get() + 1);
      BOOST_TEST(inside == 100u);
      for (void* const block : blocks) pool->deallocate(block);
      blocks.clear();
      pool->trim();
      BOOST_TEST(memory.regions() == 0u);
    }
    BOOST_TEST(pool->try_reserve(140));
    BOOST_TEST(!pool->try_reserve(141));
    BOOST_TEST(pool->capacity() == 140u);
  }
  BOOST_TEST(memory.regions() == 0u);
  BOOST_TEST(memory.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(it_is_asked_where_the_first_store_fails_and_only_there) {
  upstream first;
  upstream second;
  using other = fall_back_to<resource_store, fixed_growth<100>>;
  {
    pool<static_size<64>, resource_store, fixed_growth<100>, other> pool{resource_store{&first},
                                                                         other{resource_store{&second}}};
    std::vector<void*> blocks(400);
    first.fail(2, test::failing::every_second);
    pool.allocate_batch(blocks);
    BOOST_TEST(first.regions() == 2u);
    BOOST_TEST(second.regions() == 2u);
    second.fail(1, test::failing::for_ever);
    first.fail(1, test::failing::for_ever);
    BOOST_TEST(pool.try_allocate() == nullptr);
    BOOST_TEST(pool.capacity() == 400u);
    pool.deallocate_batch(blocks);
    pool.release();
    BOOST_TEST(first.bytes() + second.bytes() == 0u);
  }
  BOOST_TEST(first.faults() + second.faults() == 0u);
}

// ---- wait_for_block ------------------------------------------------------------------------------------------------------

/// Milliseconds, far more than is needed: only who waits in vain ever sees the end of them.
constexpr std::size_t for_ever = 600'000;
constexpr std::chrono::milliseconds long_enough(for_ever);

BOOST_AUTO_TEST_CASE(threads_with_fewer_blocks_than_they_want_all_get_on) {
  pool<static_size<64>, mutex_locking<>, static_array_store<5>, wait_for_block<>> pool;
  constexpr int threads = 4;
  constexpr int rounds = 1'000;
  std::atomic<int> failed = 0;
  std::atomic<int> together = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        void* const a = pool.allocate_within(long_enough);  // one each can always be had, and two by one of them
        if (i % 20 == 0) std::this_thread::yield();  // on a busy machine each takes long
        void* const b = pool.allocate_within(long_enough);
        failed += (a == nullptr) + (b == nullptr);
        const int now = together += 2;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
        if (i % 20 == 10) std::this_thread::yield();
        together -= 2;
        std::array<void*, 2> both{a, b};
        if (i % 2 == 0) pool.deallocate_batch(both);
        else for (void* const block : both) pool.deallocate(block);
      }
    });
  for (std::thread& thread : all) thread.join();
  BOOST_TEST(failed == 0);
  BOOST_TEST(most <= 4);  // five blocks: two threads at most have two, and the others wait
}

/// Threads that each wait for some blocks of a pool. One begins once the one before waits.
template <class Pool>
class queue {
 public:
  explicit queue(Pool& pool) : pool_(pool) {}
  ~queue() {
    for (auto& one : threads_) one->join();
  }

  void add(std::size_t blocks) {
    const std::size_t me = threads_.size();
    threads_.push_back(std::make_unique<test::observed_thread>([this, me, blocks] {
      std::array<void*, 8> some;
      const std::size_t got = pool_.allocate_batch_within(long_enough, span<void*>(some.data(), blocks));
      if (got == blocks) order_[served_++] = static_cast<int>(me) + 1;
      for (std::size_t i = 0; i != got; ++i) kept_[me][i] = some[i];
    }));
    BOOST_TEST(threads_.back()->comes_to_wait());
  }
  /// The first `n` who were served, in their order, once there are that many.
  std::vector<int> served(std::size_t n) {
    std::vector<int> order;
    for (std::size_t i = 0; i != n; ++i) {
      while (order_[i] == 0) std::this_thread::yield();
      order.push_back(order_[i] - 1);
    }
    return order;
  }
  void* block_of(std::size_t thread, std::size_t i = 0) {
    while (kept_[thread][i] == nullptr) std::this_thread::yield();
    return kept_[thread][i];
  }

 private:
  Pool& pool_;
  std::array<std::array<std::atomic<void*>, 8>, 8> kept_{};
  std::array<std::atomic<int>, 8> order_{};  // and 1; 0: nobody yet
  std::atomic<std::size_t> served_ = 0;
  std::vector<std::unique_ptr<test::observed_thread>> threads_;
};

template <class... Policies>
using two_blocks = pool<static_size<64>, no_growth<2>, wait_for_block<>, Policies...>;
using orderly = std::tuple<two_blocks<mutex_locking<spin_mutex>, lifo_reuse<>, checked>,
                           two_blocks<grouped_locking<struct orderly_crew, std::mutex>, page_local_reuse<>>,
                           pool<static_size<64>, static_array_store<2>, wait_for_block<>, mutex_locking<>>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(first_come_first_served, pool_type, orderly) {
  pool_type pool;
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  queue<pool_type> all(pool);
  for (int i = 0; i != 4; ++i) all.add(1);
  pool.deallocate(a);
  BOOST_TEST(pool.try_allocate() == nullptr);  // who comes later doesn't take it, even at once
  BOOST_TEST(all.served(1) == std::vector<int>({0}));
  pool.deallocate_batch(std::array<void*, 1>{b});
  BOOST_TEST(pool.try_allocate() == nullptr);
  BOOST_TEST(all.served(2) == std::vector<int>({0, 1}));
  pool.deallocate(all.block_of(0));
  pool.deallocate(all.block_of(1));
  BOOST_TEST(all.served(4).size() == 4u);
  void* const last[] = {all.block_of(2), all.block_of(3)};
  BOOST_TEST(last[0] != last[1]);
  pool.deallocate_batch(last);
  std::array<void*, 2> both;
  BOOST_TEST(pool.try_allocate_batch(both) == 2u);
  pool.deallocate_batch(both);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_batch_gets_its_turn_whole, pool_type, orderly) {
  pool_type pool;
  std::array<void*, 2> both;
  pool.allocate_batch(both);
  queue<pool_type> all(pool);
  for (const std::size_t blocks : {2u, 1u}) all.add(blocks);
  pool.deallocate(both[0]);
  BOOST_TEST(pool.try_allocate() == nullptr);  // it waits for the second
  BOOST_TEST(pool.allocate_within(std::chrono::milliseconds(1)) == nullptr);  // behind the others
  pool.deallocate(both[1]);
  BOOST_TEST(all.served(1) == std::vector<int>({0}));
  for (const std::size_t i : {0u, 1u}) both[i] = all.block_of(0, i);
  pool.deallocate_batch(both);
  BOOST_TEST(all.served(2) == std::vector<int>({0, 1}));
  void* const one = all.block_of(1);
  void* const other = pool.try_allocate();
  BOOST_TEST(other != nullptr);
  pool.deallocate(one);
  pool.deallocate(other);
}

BOOST_AUTO_TEST_CASE(more_blocks_than_there_are_are_not_waited_for) {
  two_blocks<mutex_locking<>> pool;
  std::array<void*, 3> three;
  BOOST_CHECK_THROW(pool.allocate_batch(three), std::bad_alloc);
  BOOST_TEST(pool.allocate_batch_within(long_enough, three) == 2u);
  pool.deallocate_batch(span<void*>(three.data(), 2));
}

BOOST_AUTO_TEST_CASE(who_gives_up_leaves_the_line) {
  two_blocks<mutex_locking<>> pool;
  std::array<void*, 2> both;
  pool.allocate_batch(both);
  BOOST_TEST(pool.allocate_within(std::chrono::microseconds(1)) == nullptr);
  pool.deallocate(both[0]);
  std::array<void*, 2> other;
  BOOST_TEST(pool.allocate_batch_within(std::chrono::microseconds(1), other) == 1u);  // what came until then
  BOOST_TEST(pool.try_allocate() == nullptr);
  pool.deallocate(other[0]);
  BOOST_TEST((both[0] = pool.try_allocate()) != nullptr);
  pool.deallocate_batch(both);
}

BOOST_AUTO_TEST_CASE(times_of_every_kind) {
  two_blocks<mutex_locking<>> pool;
  std::array<void*, 2> both;
  pool.allocate_batch(both);
  for (const auto now : {std::chrono::seconds(0), std::chrono::seconds(-1), std::chrono::seconds::min()})
    BOOST_TEST(pool.allocate_within(now) == nullptr);
  BOOST_TEST(pool.allocate_within(std::chrono::duration<double, std::milli>(.5)) == nullptr);
  BOOST_TEST(pool.allocate_within(std::chrono::duration<float>(-1)) == nullptr);
  static_assert(detail::nanoseconds_of(std::chrono::hours::max()) == UINT64_MAX);
  static_assert(detail::nanoseconds_of(std::chrono::duration<double>(1e30)) == UINT64_MAX);
  static_assert(detail::nanoseconds_of(std::chrono::milliseconds(3)) == 3'000'000);
  static_assert(detail::nanoseconds_of(std::chrono::duration<int, std::pico>(1)) == 1);
  static_assert(detail::nanoseconds_of(std::chrono::duration<int, std::ratio<1, 3>>(1)) == 333'333'334);
  test::observed_thread waiter([&] { both[1] = pool.allocate_within(std::chrono::hours::max()); });
  BOOST_TEST(waiter.comes_to_wait());
  pool.deallocate(both[0]);
  waiter.join();
  BOOST_TEST(both[1] == both[0]);
  pool.deallocate(both[1]);
}

BOOST_AUTO_TEST_CASE(a_chunk_that_another_thread_gets_serves_those_who_wait) {
  memory_budget budget(1 << 20);
  pool<static_size<64>, mutex_locking<>, budgeted<heap_store>, fixed_growth<2>, wait_for_block<for_ever>> pool{
      budgeted<heap_store>{budget}};
  std::array<void*, 2> both;
  pool.allocate_batch(both);
  budget.set_limit(0);
  std::atomic<void*> got = nullptr;
  test::observed_thread waiter([&] { got = pool.allocate(); });
  BOOST_TEST(waiter.comes_to_wait());
  budget.set_limit(1 << 20);
  BOOST_TEST(pool.try_reserve(4));
  waiter.join();
  pool.deallocate(got);
  pool.deallocate_batch(both);
}

BOOST_AUTO_TEST_CASE(the_child_of_a_fork_serves_none_of_the_parents_threads) {
  two_blocks<mutex_locking<>> pool;
  std::array<void*, 2> both;
  pool.allocate_batch(both);
  queue<two_blocks<mutex_locking<>>> all(pool);
  all.add(1);
  BOOST_TEST(test::in_child([&] {
               pool.deallocate(both[0]);
               bool good = pool.try_allocate() == both[0];
               pool.deallocate_batch(both);
               good = pool.allocate_batch_within(long_enough, both) == 2 && good;
               return good && pool.allocate_within(std::chrono::microseconds(1)) == nullptr ? 7 : 8;
             }) == 7);
  pool.deallocate_batch(both);
  BOOST_TEST(all.served(1).size() == 1u);
  pool.deallocate(all.block_of(0));
}

struct part {
  int value = 0;
  void reset() {}
};
// A call that waited would take ten minutes.
// shows: FM-49
BOOST_AUTO_TEST_CASE(what_is_named_try_waits_in_no_product) {
  using few = static_array_store<2>;
  using waits = wait_for_block<for_ever>;
  constexpr std::chrono::microseconds moment(1);
  object_pool<part, few, waits, mutex_locking<>> objects;
  BOOST_TEST((objects.construct() != nullptr && objects.construct_within(long_enough) != nullptr));
  BOOST_TEST(objects.try_construct() == nullptr);
  BOOST_TEST(objects.here().try_construct() == nullptr);
  BOOST_TEST(objects.construct_within(moment) == nullptr);
  BOOST_TEST(objects.here().construct_within(moment) == nullptr);
  std::array<part*, 2> parts;
  BOOST_TEST(objects.try_construct_n(parts) == 0u);
  BOOST_TEST(objects.construct_n_within(moment, parts) == 0u);
  BOOST_TEST(!objects.blocks().try_reserve(3));

  recycling_pool<part, few, waits, mutex_locking<>> used;
  BOOST_TEST((used.acquire() != nullptr && used.acquire_within(long_enough) != nullptr));
  BOOST_TEST(used.try_acquire() == nullptr);
  BOOST_TEST(used.acquire_within(moment) == nullptr);

  multipool<part, few, waits, mutex_locking<>> several;
  BOOST_TEST((several.construct<part>() != nullptr && several.construct_within<part>(long_enough) != nullptr));
  BOOST_TEST(several.try_construct<part>() == nullptr);
  BOOST_TEST(several.construct_within<part>(moment) == nullptr);

  size_class_pool<static_array_store<1>, waits, mutex_locking<>> sizes;
  std::vector<void*> blocks;
  while (void* const block = sizes.try_allocate(100)) blocks.push_back(block);
  BOOST_TEST(!blocks.empty());
  BOOST_TEST(sizes.allocate_within(moment, 100) == nullptr);
  test::observed_thread waiter([&] { blocks.push_back(sizes.allocate(100)); });
  BOOST_TEST(waiter.comes_to_wait());
  void* const last = blocks.front();
  sizes.deallocate(last, 100);
  waiter.join();
  BOOST_TEST(blocks.back() == last);
}

// ---- a locking policy whose push() leaves the block to the slow half -----------------------------------------------------

struct late_locking {
  using base = mutex_locking<>;
  using axis = tarn::axis::locking;
  static constexpr locking_traits traits = base::traits;
  template <class T>
  using cell = T;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  template <class Traits>
  struct state : base::state<Traits> {
    template <class Pool>
    detail::status push(Pool&, void*) noexcept {
      return detail::status::full;
    }
    template <class Pool>
    detail::status push_slow(Pool& pool, void* block) noexcept {
      return base::state<Traits>::push(pool, block);
    }
  };
};
/// Where a free were heard of before its block can be had, who waits would find none, and wait on.
BOOST_AUTO_TEST_CASE(who_waits_gets_what_the_slow_half_takes) {
  pool<static_size<64>, late_locking, no_growth<1>, lifo_reuse<>, wait_for_block<for_ever>> pool;
  void* block = pool.allocate();
  for (int i = 0; i != 20; ++i) {
    void* got = nullptr;
    test::observed_thread waiter([&] { got = pool.allocate(); });
    if (i % 2 == 0) BOOST_TEST(waiter.comes_to_wait());
    pool.deallocate(block);
    waiter.join();
    BOOST_TEST(got == block);
  }
  pool.deallocate(block);
}

// shows: FM-8
BOOST_AUTO_TEST_CASE(after_the_time_it_fails) {
  using short_wait = static_pool<struct impatient, static_size<64>, mutex_locking<>, static_array_store<2>, wait_for_block<50>>;
  auto& pool = short_wait::instance();
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  for (int round = 0; round < 2; ++round) {
    const auto start = steady_clock::now();
    BOOST_CHECK_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
    BOOST_TEST((steady_clock::now() - start >= std::chrono::milliseconds(50)));
    BOOST_TEST(pool.allocate_within(std::chrono::milliseconds(10)) == nullptr);
    BOOST_TEST((steady_clock::now() - start >= std::chrono::milliseconds(60)));
  }
  pool.deallocate(a);
  pool.deallocate(b);
}

/// A store that is asked until it is told to go on.
struct patient_store {
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};
  static inline std::atomic<bool> is_asked = false;
  static inline std::atomic<bool> goes_on = false;
  template <class Traits>
  struct source {
    constexpr explicit source(const patient_store&) noexcept {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      is_asked = true;
      is_asked.notify_all();
      goes_on.wait(false);
      return {::operator new(bytes, std::align_val_t(alignment), std::nothrow), bytes};
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      ::operator delete(region.start, std::align_val_t(alignment));
    }
  };
};

/// Two pools share their locks. One that can't grow waits for nobody who is at the store of the other.
BOOST_AUTO_TEST_CASE(at_its_cap_a_pool_waits_for_no_store) {
  using locking = grouped_locking<patient_store, tarn::mutex>;
  pool<static_size<64>, locking, no_growth<2>, wait_for_block<>> full;
  pool<static_size<64>, locking, no_growth<2>, patient_store> growing;
  void* const blocks[] = {full.allocate(), full.allocate()};
  std::thread grower([&] { growing.deallocate(growing.allocate()); });
  patient_store::is_asked.wait(false);
  BOOST_TEST(full.allocate_within(std::chrono::milliseconds(0)) == nullptr);
  BOOST_TEST(full.allocate_within(std::chrono::milliseconds(1)) == nullptr);
  patient_store::goes_on = true;
  patient_store::goes_on.notify_all();
  grower.join();
  for (void* const block : blocks) full.deallocate(block);
}

/// A mutex that calls a function, once, before it is locked for the n-th time.
struct counted_mutex {
  static inline int until = 0;
  static inline void (*call)(void*) = nullptr;
  static inline void* argument = nullptr;
  void lock() {
    if (until != 0 && --until == 0) call(argument);
    its.lock();
  }
  bool try_lock() { return its.try_lock(); }
  void unlock() { its.unlock(); }
  std::mutex its;
};

/// Chunks that go while a batch is looked for come again: it isn't refused as larger than the pool.
BOOST_AUTO_TEST_CASE(a_batch_is_served_although_chunks_went_meanwhile) {
  using one = pool<static_size<64>, mutex_locking<counted_mutex>, fixed_growth<4, 8>, wait_for_block<300>>;
  bool was_called = true;
  for (int at = 1; was_called; ++at) {
    one its;
    struct others {
      one* from;
      void* blocks[8];
      bool are_gone;
    } they{&its, {}, false};
    its.allocate_batch(they.blocks);
    counted_mutex::argument = &they;
    counted_mutex::call = [](void* argument) {
      others& all = *static_cast<others*>(argument);
      all.from->deallocate_batch(all.blocks);
      static_cast<void>(all.from->trim());
      all.are_gone = true;
    };
    counted_mutex::until = at;
    void* mine[6];
    const std::size_t got = its.allocate_batch_within(std::chrono::milliseconds(0), mine);
    counted_mutex::until = 0;
    was_called = they.are_gone;
    BOOST_TEST(got == (was_called ? 6u : 0u), "before lock " << at);
    if (!was_called) its.deallocate_batch(they.blocks);
    its.deallocate_batch(span<void* const>(mine, got));
  }
}

/// Nobody could free a block meanwhile: a walk within a walk doesn't change that when it ends.
BOOST_AUTO_TEST_CASE(no_call_waits_within_a_walk) {
  object_pool<int, mutex_locking<>, no_growth<2>, wait_for_block<>> pool;
  int* const first = pool.construct();
  int* const second = pool.construct();
  std::size_t visited = 0;
  pool.for_each([&](int&) {
    pool.for_each([&](int&) { ++visited; });
    BOOST_TEST(pool.construct_within(std::chrono::hours(1)) == nullptr);
  });
  BOOST_TEST(visited == 4u);
  pool.destroy(first);
  pool.destroy(second);
}

}  // namespace
