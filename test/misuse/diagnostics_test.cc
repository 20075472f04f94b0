// Reports: making one allocates nothing and holds nothing, wherever it happens; and what a handler may do. Their text is
// report_text_test's.
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/global_operators.h"

// Every way to memory leads here, and none may be used while a report is made.
namespace {
std::atomic<bool> no_memory_now = false;
std::atomic<std::size_t> allocations = 0;
void note_allocation() noexcept {
  if (!no_memory_now.load(std::memory_order_relaxed)) return;
  ++allocations;
}
}  // namespace
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) { return note_allocation(), __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t m) { return note_allocation(), __libc_calloc(n, m); }
void* realloc(void* p, std::size_t n) { return note_allocation(), __libc_realloc(p, n); }
void* aligned_alloc(std::size_t a, std::size_t n) { return note_allocation(), __libc_memalign(a, n); }
}

namespace tarn::test {

namespace {

using simple = pool<static_size<64>, checked>;

// ---- nothing is allocated, nothing is held ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_report_needs_no_memory) {
  // The control: the traps work.
  no_memory_now = true;
  std::free(seen(std::malloc(1)));
  ::operator delete(seen(::operator new(1)));
  no_memory_now = false;
  BOOST_TEST(allocations == 2u);
  allocations = 0;

  const int nowhere = open("/dev/null", O_WRONLY);
  const int stderr_before = dup(STDERR_FILENO);
  dup2(nowhere, STDERR_FILENO);
  static std::size_t reports;
  reports = 0;
  const misuse_handler before = set_misuse_handler([](const misuse& what) noexcept {
    ++reports;
    print_misuse(what);
  });
  const auto misuse_all = [](auto& pool, auto& other) {
    auto* const a = static_cast<std::byte*>(pool.allocate());
    auto* const b = static_cast<std::byte*>(pool.allocate());
    void* const c = other.allocate();
    pool.deallocate(b);
    no_memory_now = true;
    pool.deallocate(b);
    pool.deallocate(c);
    pool.deallocate(a + 1);
    pool.deallocate(a, 4096);
    pool.deallocate(&pool);
    a[64] = ~a[64];
    pool.deallocate(a);
    b[3] = std::byte{0};
    b[pool.block_size() - 1] = std::byte{0};
    pool.deallocate(pool.try_allocate());
    if constexpr (requires { pool.verify(); }) {
      a[-1] = ~a[-1];
      pool.verify();
    }
    std::destroy_at(&pool);
    pool.deallocate(a);
    no_memory_now = false;
  };
  const auto with = [&]<class Pool>(std::type_identity<Pool>) {
    alignas(Pool) std::byte place[sizeof(Pool)];
    Pool& pool = *::new (static_cast<void*>(place)) Pool;
    Pool other;
    misuse_all(pool, other);
  };
  with(std::type_identity<simple>());
  with(std::type_identity<pool<static_size<64>, mutex_locking<>, checked>>());
  with(std::type_identity<pool<static_size<64>, thread_cached<>, hardened_with<guard_bytes>>>());
  with(std::type_identity<pool<static_size<64>, lock_free, checked>>());
  set_misuse_handler(before);
  dup2(stderr_before, STDERR_FILENO);
  close(stderr_before);
  close(nowhere);
  std::printf("%zu reports, %zu allocations\n", reports, allocations.load());
  BOOST_TEST(allocations == 0u);
  BOOST_TEST(reports >= 4u * 7);
}

simple* pool_of_handler = nullptr;
void* block_of_handler = nullptr;

BOOST_AUTO_TEST_CASE(from_a_signal_handler) {
  const ending end = in_child([] {
    simple orders(checked{"orders"});
    block_of_handler = orders.allocate();
    pool_of_handler = &orders;
    orders.deallocate(block_of_handler);
    std::signal(SIGSEGV, [](int) {
      no_memory_now = true;
      pool_of_handler->deallocate(block_of_handler);
      _exit(1);
    });
    void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(page) = 1;
    return 2;
  });
  BOOST_TEST(end.status == -SIGABRT);
  BOOST_TEST(end.wrote_one_line());
  BOOST_TEST(end.words.starts_with("tarn: double free: pool \"orders\" <64 bytes>@0x"));
}

// ---- what a handler may do -------------------------------------------------------------------------------------------------

template <class Pool>
struct uses_the_pool {
  static inline Pool* pool = nullptr;
  static inline std::size_t told = 0;
  static inline std::size_t got = 0;
  static inline bool inside = false;

  static void handle(const misuse& what) noexcept {
    if (what.pool != static_cast<const void*>(pool)) return;
    ++told;
    if (std::exchange(inside, true)) return;
    std::array<void*, 100> blocks;
    const std::size_t n = pool->try_allocate_batch(blocks);
    for (void* const block : std::span(blocks).first(n)) std::memset(block, 1, pool->block_size());
    pool->deallocate_batch(std::span<void* const>(blocks).first(n));
    void* const one = pool->try_allocate();
    if (one != nullptr) pool->deallocate(one, pool->block_size());
    got += n + (one != nullptr) + pool->owns(one) + (pool->capacity() != 0);
    got += pool->try_reserve(pool->capacity() + 1);
    if constexpr (requires { pool->trim(); }) pool->trim();
    if constexpr (requires { pool->verify(); }) pool->verify();
    pool->deallocate(one);  // misuse in a handler
    inside = false;
  }
};

template <class Pool>
void use_in_handler(const char* name, called_from = {}) {
  const ending end = in_child([] {
    using uses = uses_the_pool<Pool>;
    set_misuse_handler(uses::handle);
    Pool pool;
    uses::pool = &pool;
    std::vector<std::byte*> blocks;
    for (int i = 0; i != 500; ++i) blocks.push_back(static_cast<std::byte*>(pool.allocate()));
    std::size_t expected = 0;
    const auto reported = [&](std::size_t n) {  // and one of the handler's own for each
      expected += 2 * n;
      if (uses::told != expected) _exit(10 + static_cast<int>(uses::told));
    };
    for (int i = 0; i != 300; ++i) pool.deallocate(blocks[static_cast<std::size_t>(i)]);
    pool.deallocate(blocks[0]);
    reported(1);
    pool.deallocate(blocks[400] + 1);
    reported(1);
    pool.deallocate(blocks[400], 10'000);
    reported(1);
    if constexpr (requires { pool.verify(); }) {
      blocks[400][pool.block_size()] = ~blocks[400][pool.block_size()];
      pool.deallocate(blocks[400]);
      reported(1);
      blocks[299][0] = std::byte{1};  // whoever takes it next is told, in take()
      while (pool.allocate() != blocks[299]) {}
      reported(1);
      blocks[401][pool.block_size()] = ~blocks[401][pool.block_size()];
      pool.verify();
      reported(1);
    }
    if (uses::got == 0) return 3;
    set_misuse_handler([](const misuse&) noexcept {});
    return 0;
  });
  BOOST_TEST(end.status == 0, name << ": the child ended with " << end.status << ": " << end.words);
}

BOOST_AUTO_TEST_CASE(a_handler_uses_the_pool) {
  use_in_handler<pool<static_size<64>, checked>>("no_locking, checked");
  use_in_handler<pool<static_size<64>, mutex_locking<>, hardened>>("mutex, hardened");
  use_in_handler<pool<static_size<64>, thread_cached<>, checked>>("thread_cached, checked");
  use_in_handler<pool<static_size<64>, lock_free, checked>>("lock_free, checked");
}

BOOST_AUTO_TEST_CASE(a_handler_is_replaced_meanwhile) {
  static std::atomic<std::size_t> first, second;
  first = second = 0;
  const misuse_handler before = set_misuse_handler([](const misuse&) noexcept { ++first; });
  BOOST_TEST((before == print_and_abort));
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) {
      set_misuse_handler([](const misuse&) noexcept { ++first; });
      set_misuse_handler([](const misuse&) noexcept { ++second; });
    }
  });
  constexpr std::size_t times = 200'000;
  {
    pool<static_size<64>, mutex_locking<>, hardened> orders;
    void* const a = orders.allocate();
    orders.deallocate(a);
    for (std::size_t i = 0; i != times; ++i) orders.deallocate(a);
  }
  stop = true;
  other.join();
  std::printf("told one handler %zu times, the other %zu times\n", first.load(), second.load());
  BOOST_TEST(first + second == times);
  BOOST_TEST((set_misuse_handler(nullptr) != print_and_abort));
  BOOST_TEST((set_misuse_handler(before) == print_and_abort));
}

// ---- verify() --------------------------------------------------------------------------------------------------------------

template <class Pool>
void verify_many(const char* name, called_from = {}) {
  const recorder recording;
  std::size_t reported = 0;
  {
    Pool pool;
    std::vector<std::byte*> all;
    for (int i = 0; i != 700; ++i) all.push_back(static_cast<std::byte*>(pool.allocate()));
    const std::size_t size = pool.block_size();
    std::vector<std::byte*> freed;
    for (std::size_t i = 0; i < all.size(); i += 2) {
      pool.deallocate(all[i]);
      freed.push_back(all[i]);
    }
    BOOST_TEST(pool.verify() == 0u, name);
    std::map<const void*, misuse_kind> damaged;
    for (std::size_t i = 0; i < all.size(); i += 7) {
      const bool is_free = i % 2 == 0;
      switch (i / 7 % 3) {
        case 0: all[i][size] = ~all[i][size]; damaged[all[i]] = misuse_kind::write_past_end; break;
        case 1: all[i][-1] = ~all[i][-1]; damaged[all[i]] = misuse_kind::write_in_front; break;
        default:
          if (!is_free) break;
          all[i][size / 2] = ~all[i][size / 2];
          damaged[all[i]] = misuse_kind::write_after_free;
      }
    }
    BOOST_TEST(pool.verify() == damaged.size(), name);
    reported = recorder::seen().size();
    for (const report& r : recorder::seen()) {
      const auto found = damaged.find(r.what.block);
      if (found == damaged.end() || found->second != r.what.kind || r.what.damaged != 1) BOOST_ERROR(name << ": " << r.text);
      else damaged.erase(found);
    }
    BOOST_TEST(damaged.empty(), name);
    recorder::seen().clear();
    BOOST_TEST(pool.verify() == 0u, name);
    BOOST_TEST(recorder::seen().empty(), name);
    for (std::size_t i = 1; i < all.size(); i += 2) pool.deallocate(all[i]);
  }
  BOOST_TEST(recorder::seen().empty(), name);
  std::printf("verify() of %s: %zu blocks\n", name, reported);
}

// shows: FM-31
BOOST_AUTO_TEST_CASE(verify_tells_of_each_damage_once) {
  verify_many<pool<static_size<64>, checked>>("batch");
  verify_many<pool<static_size<64>, lifo_reuse<>, fixed_growth<64>, checked>>("lifo");
  verify_many<pool<static_size<24>, page_local_reuse<>, checked>>("page_local");
  verify_many<pool<static_size<256, 64>, checked_with<shuffled>>>("shuffled");
  verify_many<pool<static_size<64>, thread_cached<>, checked>>("thread_cached");
  verify_many<pool<static_size<64>, lock_free, checked>>("lock_free");
}

}  // namespace
}  // namespace tarn::test
