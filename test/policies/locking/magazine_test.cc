// How much memory rests in the magazines of threads, and how others get it back.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <deque>
#include <functional>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

using detail::magazine;

BOOST_AUTO_TEST_CASE(a_magazine_grows_up_to_32_kib_and_has_14_blocks_at_least) {
  constexpr std::size_t largest = 5;  // 510 blocks
  for (const std::size_t stride : {16u, 64u, 1000u, 1028u, 1029u, 4096u, 10'000u, 37'449u}) {
    const std::size_t n = magazine::sizes_for(stride, largest);
    BOOST_TEST_REQUIRE(n != 0u);
    BOOST_TEST(magazine::capacity(n - 1) * stride <= (n == 1 ? magazine::most_bytes : magazine::grown_bytes));
    if (n <= largest) BOOST_TEST(magazine::capacity(n) * stride > magazine::grown_bytes);
  }
  BOOST_TEST(magazine::sizes_for(64, largest) == largest + 1);
  BOOST_TEST(magazine::sizes_for(65, largest) == largest);
  BOOST_TEST(magazine::sizes_for(129, largest) == largest);  // 254 of them are 32 KiB less two bytes
  BOOST_TEST(magazine::sizes_for(130, largest) == largest - 1);
  BOOST_TEST(magazine::sizes_for(1024, largest) == 2u);
  BOOST_TEST(magazine::sizes_for(37'449, largest) == 1u);
  BOOST_TEST(magazine::sizes_for(64, 0) == 1u);
  BOOST_TEST(magazine::sizes_for(37'450, largest) == 0u);
  BOOST_TEST(magazine::sizes_for(std::size_t{1} << 60, largest) == 0u);
}

/// A thread that does something, then waits for what it is told, until the test ends.
class idle_thread {
 public:
  explicit idle_thread(std::function<void()> first) : next_(std::move(first)), thread_([this] { run(); }) {
    step_.arrive_and_wait();
  }
  ~idle_thread() {
    next_ = nullptr;
    step_.arrive_and_wait();
    thread_.join();
  }
  idle_thread(const idle_thread&) = delete;
  idle_thread& operator=(const idle_thread&) = delete;

  void call(std::function<void()> next) {
    next_ = std::move(next);
    step_.arrive_and_wait();
    step_.arrive_and_wait();
  }

 private:
  void run() {
    while (next_) {
      next_();
      step_.arrive_and_wait();  // idle from here
      step_.arrive_and_wait();
    }
  }
  std::barrier<> step_{2};
  std::function<void()> next_;
  std::thread thread_;
};

template <class Pool>
void take_all(Pool& pool, std::vector<void*>& blocks) {
  for (void*& b : blocks) b = pool.allocate();
}
template <class Pool>
void give_all(Pool& pool, const std::vector<void*>& blocks) {
  for (void* const b : blocks) pool.deallocate(b);
}

/// Free blocks that the calling thread can't have.
template <class Pool>
std::size_t out_of_reach(Pool& pool) {
  const std::size_t before = pool.capacity();
  std::vector<void*> blocks;
  while (pool.capacity() == before) blocks.push_back(pool.allocate());
  for (void* const b : blocks) pool.deallocate(b);
  return before - (blocks.size() - 1);
}

BOOST_AUTO_TEST_CASE(an_idle_thread_keeps_at_most_two_magazines) {
  for (const std::size_t bytes : {64u, 1000u, 4096u, 30'000u, 65'536u}) {
    pool<dynamic_size, thread_cached<>, fixed_growth<1000>, page_store<>> pool{dynamic_size(bytes)};
    pool.reserve(5000);
    std::vector<void*> blocks(4500);
    take_all(pool, blocks);
    const idle_thread other([&] { give_all(pool, blocks); });
    const std::size_t kept = out_of_reach(pool);
    const std::size_t grown = magazine::grown_bytes / bytes;  // blocks
    BOOST_TEST(kept <= 2 * std::max(grown, magazine::capacity(0)));
    BOOST_TEST((kept == 0) == (bytes > 37'449));
  }
}

BOOST_AUTO_TEST_CASE(a_magazine_has_at_most_a_quarter_of_the_blocks) {
  pool<static_size<64>, thread_cached<>, fixed_growth<100>> pool;
  pool.reserve(400);
  const idle_thread other([&] {
    std::vector<void*> blocks(400);
    for (int round = 0; round != 10; ++round) {  // with so much use, magazines of 510 are wanted
      take_all(pool, blocks);
      give_all(pool, blocks);
    }
  });
  BOOST_TEST(pool.capacity() == 400u);
  const std::size_t kept = out_of_reach(pool);
  BOOST_TEST(kept != 0u);
  BOOST_TEST(kept <= 200u);  // in two magazines
}

using small = pool<static_size<64>, thread_cached<>, fixed_growth<64>>;

BOOST_AUTO_TEST_CASE(an_idle_thread_is_asked_by_trim_and_gives_at_its_next_call) {
  small pool;
  std::vector<void*> blocks(6400);
  take_all(pool, blocks);
  void* const last = blocks.back();
  blocks.pop_back();
  idle_thread other([&] { give_all(pool, blocks); });
  pool.trim();
  BOOST_TEST(pool.capacity() > 64u);
  other.call([&] { pool.deallocate(last); });
  pool.trim();
  BOOST_TEST(pool.capacity() <= 64u);  // the chunk of the block that it freed last
}

BOOST_AUTO_TEST_CASE(a_thread_that_was_asked_and_ends_leaves_its_blocks_to_others) {
  small pool;
  std::vector<void*> blocks(6400);
  take_all(pool, blocks);
  {
    const idle_thread other([&] { give_all(pool, blocks); });
    pool.trim();
  }
  pool.trim();
  BOOST_TEST(pool.capacity() == 0u);
}

using own = pool<static_size<64>, thread_cached<>, fixed_growth<5000>, resource_store>;

BOOST_AUTO_TEST_CASE(trim_gives_the_magazines_memory_back_where_nobody_has_any) {
  test::upstream upstream;
  own pool{resource_store{&upstream}};
  std::vector<void*> blocks(2000);
  for (int round = 0; round != 3; ++round) {
    take_all(pool, blocks);
    std::thread([&] { give_all(pool, blocks); }).join();
    const std::size_t held = upstream.bytes();
    const std::size_t chunks = pool.trim();
    BOOST_TEST(chunks > 2000 * 64u);
    BOOST_TEST(chunks < held);  // what the magazines took isn't counted
    BOOST_TEST(upstream.bytes() == 0u);
    BOOST_TEST(pool.trim() == 0u);
  }
  blocks[0] = pool.allocate();
  BOOST_TEST(pool.trim() == 0u);  // a block in use keeps all
  pool.deallocate(blocks[0]);
}
BOOST_AUTO_TEST_CASE(trim_leaves_the_magazines_memory_where_another_thread_has_some) {
  for (const std::size_t threads : {1u, 20u}) {  // 20: the pool has no room for the slots of all
    test::upstream upstream;
    own pool{resource_store{&upstream}};
    std::vector<void*> taken(magazine::capacity(0));  // all of a first magazine, so that an empty one stays
    std::deque<idle_thread> others;
    for (std::size_t i = 0; i != threads; ++i) {
      others.emplace_back([&] { take_all(pool, taken); });
      give_all(pool, taken);
    }
    pool.trim();
    if (threads == 1) BOOST_TEST(pool.capacity() == 0u);  // the chunk goes: what stays is the magazines'
    BOOST_TEST(upstream.bytes() > 0u);
    for (idle_thread& other : others) other.call([&] { pool.deallocate(pool.allocate()); });
    pool.trim();
    BOOST_TEST(upstream.bytes() > 0u);
    others.clear();
    pool.trim();
    BOOST_TEST(pool.capacity() == 0u);
    pool.release();
    BOOST_TEST(upstream.bytes() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_thread_that_was_asked_takes_few_blocks_again) {
  small pool;
  pool.reserve(6400);
  idle_thread other([&] {
    std::vector<void*> blocks(6400);
    take_all(pool, blocks);
    give_all(pool, blocks);
  });
  pool.trim();
  other.call([&] { pool.deallocate(pool.allocate()); });
  pool.trim();
  BOOST_TEST(pool.capacity() <= 14 * 64u);  // 14 blocks, at worst each of another chunk
  BOOST_TEST(out_of_reach(pool) <= 14u);
}

BOOST_AUTO_TEST_CASE(threads_that_come_and_go_leave_their_magazines_to_others) {
  upstream memory;
  pool<static_size<64>, thread_cached<>, fixed_growth<1000>, resource_store> pool{resource_store{&memory}};
  std::size_t held = 0;
  for (int round = 0; round != 200; ++round) {
    std::thread([&pool] {
      std::vector<void*> blocks(100);  // more than one magazine
      take_all(pool, blocks);
      give_all(pool, blocks);
    }).join();
    pool.trim();
    if (round == 10) held = memory.bytes();  // memory for magazines: all blocks went back
  }
  BOOST_TEST(pool.capacity() == 0u);
  BOOST_TEST(memory.bytes() == held);
}

// A thread's first frees: the store isn't asked, so there is memory for a few magazines only. What doesn't fit goes to the
// list, the oldest first and a magazine at once: block by block would be the newest first, each under the lock.
BOOST_AUTO_TEST_CASE(without_memory_for_magazines_the_oldest_blocks_leave_them) {
  upstream memory;
  pool<static_size<64>, thread_cached<>, fixed_growth<10'000>, resource_store> pool{resource_store{&memory}};
  std::vector<void*> blocks(10'000);
  for (void*& b : blocks) b = pool.allocate();
  memory.fail(1, test::failing::for_ever);
  for (int round = 0; round != 3; ++round) {
    const std::size_t calls = memory.calls();
    for (void* const b : blocks) pool.deallocate(b);
    BOOST_TEST(memory.calls() == calls);
    void* const newest = pool.allocate();
    BOOST_TEST(newest == blocks.back());
    pool.deallocate(newest);
    for (void*& b : blocks) b = pool.try_allocate();
    BOOST_TEST(std::count(blocks.begin(), blocks.end(), nullptr) == 0);
    std::sort(blocks.begin(), blocks.end());
    BOOST_TEST((std::unique(blocks.begin(), blocks.end()) == blocks.end()));
  }
}

/// How many of a full magazine's blocks an exchange writes to.
template <std::size_t Bytes>
std::size_t written() {
  alignas(64) std::array<std::byte, 128> place;
  std::vector<std::byte> memory(14 * Bytes, std::byte{7});
  auto* const m = ::new (static_cast<void*>(place.data())) magazine{nullptr, 0};
  for (std::size_t i = 0; i != 14; ++i) m->bottom()[i] = memory.data() + i * Bytes;
  detail::write_each(*m, detail::geometry<static_size<Bytes, 1>, detail::block_shape{}>());
  detail::memory_tools::unpoison(memory.data(), memory.size());
  return static_cast<std::size_t>(std::count_if(memory.begin(), memory.end(), [](std::byte b) { return b != std::byte{7}; }));
}

// Before main(), where the process has one thread.
const bool was_alone = detail::is_single_threaded();
const std::size_t written_alone = written<64>();

BOOST_AUTO_TEST_CASE(an_exchange_writes_to_blocks_of_less_than_a_page_and_where_there_are_threads) {
  std::thread([] {}).join();
  BOOST_TEST(written<64>() == 14u);
  BOOST_TEST(written<4095>() == 14u);
  BOOST_TEST(written<4096>() == 0u);
  BOOST_TEST(written<30'000>() == 0u);
  BOOST_TEST(written_alone == (was_alone ? 0u : 14u));
}

}  // namespace
}  // namespace tarn::test
