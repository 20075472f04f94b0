// Sampled guard pages on top of pools: sampled blocks are blocks like others, and misuse of them is reported, or explained
// where it faults. (guarded_slots_test has the mechanism, byte by byte.)
#include <boost/test/unit_test.hpp>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/detail/call_frame.h"
#include "tarn/test/policies/checking/recording.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

template <class Then>
using each = sampled_guard_pages<1, Then>;
using pools = std::tuple<pool<static_size<60, 4>, each<checked>, counting_statistics>,
                         pool<static_size<64>, each<hardened>, thread_cached<>>,
                         pool<static_size<64>, each<no_checking>, lock_free>,
                         pool<static_size<5000>, each<no_checking>, static_array_store<100>>>;

/// Whether the address is readable, to the system: the sanitizers know of write() and would look by themselves.
bool is_accessible(const void* address, called_from = {}) {
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const bool could = syscall(SYS_write, ends[1], address, std::size_t{1}) == 1;
  close(ends[0]);
  close(ends[1]);
  return could;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_sampled_block_is_gone_when_it_is_free, Pool, pools) {
  const recording here;
  Pool pool;
  void* const block = pool.try_allocate();
  BOOST_TEST(is_accessible(block));
  pool.deallocate(block);
  BOOST_TEST(!is_accessible(block));

  pool.deallocate(block);
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].kind == misuse_kind::double_free));
  BOOST_TEST(told[0].allocated != 0u);
  BOOST_TEST(told[0].freed > told[0].allocated);

  void* const other = pool.try_allocate();
  pool.deallocate(static_cast<std::byte*>(other) + 8);
  BOOST_REQUIRE(told.size() == 2u);
  BOOST_TEST((told[1].kind == misuse_kind::interior_pointer));
  pool.deallocate(other);
  BOOST_TEST(told.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_write_that_stays_on_the_page_is_reported_at_the_free) {
  const recording here;
  pool<static_size<64>, each<hardened>> pool{each<hardened>{{"sampled"}}};
  std::size_t behind = 0, in_front = 0;
  for (int i = 0; i != 16; ++i) {
    auto* const block = static_cast<unsigned char*>(pool.try_allocate());
    const bool at_the_right = (detail::address_of(block) & 4095) != 0;
    if (at_the_right) block[-3] = 7;
    else block[66] = 7;
    pool.deallocate(block);
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST((told[0].kind == (at_the_right ? misuse_kind::write_in_front : misuse_kind::write_past_end)));
    BOOST_TEST(told[0].offset == (at_the_right ? -3 : 66));
    BOOST_TEST(told[0].value == 7u);
    BOOST_TEST(told[0].pool_name == "sampled");
    (at_the_right ? in_front : behind) += 1;
    told.clear();
  }
  BOOST_TEST(behind > 3u);
  BOOST_TEST(in_front > 3u);
}

// shows: FM-33
BOOST_AUTO_TEST_CASE_TEMPLATE(an_address_that_faults_is_explained, Pool, pools) {
  Pool pool;
  misuse what;
  int elsewhere = 0;
  BOOST_TEST(!pool.explain_fault(&elsewhere, what));
  auto* const block = static_cast<char*>(pool.try_allocate());
  const auto size = static_cast<std::ptrdiff_t>(pool.block_size());
  for (const std::ptrdiff_t inside : {std::ptrdiff_t{0}, size - 1}) BOOST_TEST(!pool.explain_fault(block + inside, what));
  what.line = 77;
  BOOST_TEST(!pool.explain_fault(nullptr, what));
  BOOST_TEST(what.line == 77u);
  const auto explained = [&](std::ptrdiff_t offset, bool freed) {
    what = {};
    BOOST_REQUIRE(pool.explain_fault(block + offset, what));
    BOOST_TEST((what.kind == misuse_kind::page_fault));
    BOOST_TEST(what.pool == &pool);
    BOOST_TEST(what.block_size == pool.block_size());
    BOOST_TEST(what.address == block);
    BOOST_TEST(what.offset == offset);
    BOOST_TEST(what.allocated != 0u);
    BOOST_TEST((what.freed != 0) == freed);
  };
  explained(size, false);
  explained(-1, false);
  pool.deallocate(block);
  explained(size, true);
  explained(0, true);
  explained(size - 1, true);
}

pool<static_size<64>, each<hardened>>* faulty = nullptr;
BOOST_AUTO_TEST_CASE(a_signal_handler_explains_a_fault) {
  const std::string me = std::to_string(detail::this_thread_number());  // and the child's: its thread is a copy of this one
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    pool<static_size<64>, each<hardened>> pool{each<hardened>{{"orders"}}};
    faulty = &pool;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      misuse what;
      if (!faulty->explain_fault(info->si_addr, what)) _exit(1);
      print_misuse(what);
      _exit(0);
    };
    for (const int s : {SIGSEGV, SIGBUS}) sigaction(s, &action, nullptr);
    auto* const block = static_cast<volatile char*>(pool.try_allocate());
    pool.deallocate(const_cast<char*>(block));
    block[9] = 1;
    _exit(2);
  }
  close(ends[1]);
  char text[1024];
  const ssize_t length = read(ends[0], text, sizeof text);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  const std::string words(text, static_cast<std::size_t>(length));
  BOOST_TEST(words.starts_with("tarn: page fault: pool \"orders\" <64 bytes>@0x"), words);
  BOOST_TEST(words.ends_with(": access at +9, after it was freed, allocated seq 1 thread " + me + "; freed seq 2 thread " +
                             me + "\n"),
             words);
}

BOOST_AUTO_TEST_CASE(one_in_so_many_is_sampled) {
  pool<static_size<64>, sampled_guard_pages<50>> pool;
  std::size_t sampled = 0;
  for (int i = 0; i != 100'000; ++i) {
    void* const block = pool.try_allocate();
    pool.deallocate(block);
    sampled += !is_accessible(block);
    if (i == 2000) i = 98'000;  // a pipe takes its time
  }
  BOOST_TEST(sampled > 20u);
  BOOST_TEST(sampled < 200u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(release_ends_sampled_blocks_too, Pool, pools) {
  if constexpr (requires(Pool& p) { p.release(); }) {
    const recording here;
    Pool pool;
    void* const block = pool.try_allocate();
    pool.release();
    BOOST_TEST(!pool.owns(block));
    void* const other = pool.try_allocate();
    BOOST_TEST(other != nullptr);
    pool.deallocate(other);
    BOOST_TEST(told.empty());
  }
}

struct named {
  std::string name = "a name that doesn't fit into the string itself";
  named() { ++alive; }
  ~named() { --alive; }
  static inline int alive = 0;
};

template <class Then>
std::vector<misuse> told_at_the_end(int sampled, int others) {
  const recording here;
  {
    pool<static_size<64>, each<Then>> pool;
    for (int i = 0; i != sampled; ++i) (void)pool.try_allocate();
    std::vector<void*> batch(static_cast<std::size_t>(others));  // blocks of batches aren't sampled
    (void)pool.try_allocate_batch(batch);
  }
  return told;
}
BOOST_AUTO_TEST_CASE(a_sampled_block_that_is_left_is_a_leak) {
  for (const int sampled : {0, 1, 3})
    for (const int others : {0, 1, 20}) {
      const auto left = static_cast<std::size_t>(sampled + others);
      for (const bool lists : {false, true}) {
        const std::vector<misuse> seen =
            lists ? told_at_the_end<checked>(sampled, others) : told_at_the_end<hardened>(sampled, others);
        BOOST_REQUIRE(seen.size() == (left != 0));
        if (left == 0) continue;
        BOOST_TEST((seen[0].kind == misuse_kind::leak));
        BOOST_TEST(seen[0].leaked == left);
        BOOST_TEST(seen[0].leaks.size() == (lists ? std::min<std::size_t>(left, 16) : 0));
      }
    }
  BOOST_TEST(told_at_the_end<no_checking>(2, 2).empty());
  BOOST_TEST(told_at_the_end<checked_with<may_end_in_use>>(2, 2).empty());
  BOOST_TEST(told_at_the_end<hardened_with<may_end_in_use>>(2, 2).empty());
}

using unchecked_or_not = std::tuple<no_checking, hardened>;
BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_in_use_are_counted_wherever_they_lie, Then, unchecked_or_not) {
  pool<static_size<64>, each<Then>, counting_statistics> pool;
  void* const block = pool.allocate();
  void* batch[1];
  pool.allocate_batch(batch);
  pool.deallocate_batch(batch);
  pool.trim();
  BOOST_TEST(pool.statistics().in_use == 1u);
  BOOST_TEST(pool.statistics().chunks == 0u);
  pool.deallocate(block);
  BOOST_TEST(pool.statistics().in_use == 0u);
  (void)pool.try_allocate();
  pool.release();
  BOOST_TEST(pool.statistics().in_use == 0u);
}

BOOST_AUTO_TEST_CASE(release_that_is_refused_keeps_sampled_blocks) {
  const recording here;
  pool<static_size<64>, each<checked>> pool;
  void* const block = pool.allocate();
  std::thread([&] { pool.release(); }).join();
  BOOST_TEST(told.size() == 1u);
  BOOST_TEST(pool.owns(block));
  pool.deallocate(block);
}

BOOST_AUTO_TEST_CASE(object_pools_know_their_sampled_objects) {
  const recording here;
  {
    object_pool<named, sampled_guard_pages<3, hardened>> pool;
    for (int i = 0; i != 100; ++i) static_cast<void>(pool.construct());
    int seen = 0;
    pool.for_each([&](named& n) { seen += n.name.size() > 40; });
    BOOST_TEST(seen == 100);
    named* const one = pool.construct();
    pool.destroy(one);
    pool.destroy(one);
    BOOST_TEST(named::alive == 100);
    BOOST_TEST(told.size() == 1u);
  }
  BOOST_TEST(named::alive == 0);
}

BOOST_AUTO_TEST_CASE(threads_share_a_pool_that_samples) {
  const recording here;
  {
    pool<static_size<64>, sampled_guard_pages<20, hardened>, mutex_locking<>> pool;
    std::vector<std::thread> threads;
    for (int t = 0; t != 4; ++t)
      threads.emplace_back([&pool, t] {
        for (int i = 0; i != 20'000; ++i) {
          void* const block = pool.try_allocate();
          std::memset(block, t, 64);
          pool.deallocate(block);
        }
      });
    for (std::thread& t : threads) t.join();
  }
  BOOST_TEST(told.empty());
}

}  // namespace
}  // namespace tarn::test
