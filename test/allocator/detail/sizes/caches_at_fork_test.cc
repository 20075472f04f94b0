// A process forks while another thread is inside the caches. Whoever would wait for ever is ended by a signal, and seen.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>

#include "tarn/test/allocator/detail/sizes/noted_core.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using caches_type = detail::size_caches<noted_core>;
constexpr caches_type::plan usual{detail::cache_limits{}};

noted_core* core = nullptr;
caches_type* caches = nullptr;
std::atomic<bool> is_inside = false, has_forked = false;

/// Inside until the fork is over, or, where that waits for us, for a while.
void stay() {
  is_inside = true;
  for (int i = 0; i != 300 && !has_forked; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
void use(caches_type::part* mine) {
  for (unsigned c = 1; c != 20; ++c) {
    void* const block = mine != nullptr ? caches->take(*mine, c) : caches->take_alone(c);
    if (block == nullptr) ::_exit(2);
    if (mine != nullptr && detail::give_to(mine->top[c], block)) continue;
    caches->give_alone(c, block);
  }
}

// Handlers of the program, registered before tarn's: the first runs while a fork holds all locks, and uses what is locked.
std::atomic<bool> handler_uses = false;
[[maybe_unused]] const int registered = ::pthread_atfork(
    [] {
      if (handler_uses) use(nullptr);
    },
    nullptr, nullptr);

/// Forks, and returns the status of a child that uses all.
template <class InChild>
int fork_and(InChild in_child) {
  const pid_t child = ::fork();
  has_forked = true;
  if (child == 0) {
    ::alarm(20);
    in_child();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

struct rig {
  rig() {
    core = &its_core;
    caches = &its_caches;
    is_inside = has_forked = handler_uses = false;
    its_caches.leave(*its_caches.enrol(nullptr));  // is known to forks
  }
  ~rig() { its_caches.end(); }
  noted_core its_core{};
  caches_type its_caches{its_core, usual};
};

#if __has_include(<sys/single_threaded.h>) && !defined(TARN_TSAN)
/// As if a signal handler forked. The first case, since then the process has one thread.
BOOST_AUTO_TEST_CASE(one_thread_forks_while_it_holds_a_class) {
  rig r;
  REQUIRE(detail::is_single_threaded());
  static pid_t child = -1;
  ::alarm(60);
  core->in_fill = [] { child = ::fork(); };
  void* const block = caches->take_alone(3);
  core->in_fill = nullptr;
  for (const bool in_thread : {false, true}) {
    caches->give_alone(3, block);
    if (in_thread) std::thread([] { use(nullptr); }).join();
    else use(nullptr);
    caches->take_alone(3);
  }
  if (child == 0) ::_exit(0);
  ::alarm(0);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

BOOST_AUTO_TEST_CASE(a_fork_waits_for_a_thread_that_holds_a_class) {
  rig r;
  core->in_fill = stay;
  std::thread other([] { caches->give_alone(3, caches->take_alone(3)); });
  while (!is_inside) std::this_thread::yield();
  core->in_fill = nullptr;
  const int status = fork_and([] { use(caches->enrol(nullptr)); });
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  other.join();
}

BOOST_AUTO_TEST_CASE(a_fork_waits_for_a_thread_that_holds_the_parts) {
  rig r;
  auto* const full = caches->enrol(nullptr);
  void* const block = caches->take(*full, 5);
  caches->leave(*full);
  core->in_drain = stay;
  std::thread other([] { caches->sweep(nullptr); });  // flushes the part that waits, under the lock of the parts
  while (!is_inside) std::this_thread::yield();
  core->in_drain = nullptr;
  const int status = fork_and([] { use(caches->enrol(nullptr)); });
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  other.join();
  caches->give_alone(5, block);
}

BOOST_AUTO_TEST_CASE(a_fork_waits_for_a_thread_that_asks_the_core_for_memory) {
  rig r;
  auto* const mine = caches->enrol(nullptr);  // the part that waits: the next one needs memory
  core->in_own = stay;
  std::thread other([] { caches->leave(*caches->enrol(nullptr)); });
  while (!is_inside) std::this_thread::yield();
  core->in_own = nullptr;
  const int status = fork_and([mine] { use(mine); });
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  other.join();
  caches->leave(*mine);
}

BOOST_AUTO_TEST_CASE(a_programs_handler_uses_them_while_all_is_locked) {
  rig r;
  ::alarm(60);
  handler_uses = true;
  const int status = fork_and([] { use(caches->enrol(nullptr)); });
  handler_uses = false;
  ::alarm(0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

BOOST_AUTO_TEST_CASE(a_child_of_a_child_has_them) {
  rig r;
  auto* const mine = caches->enrol(nullptr);
  const int status = fork_and([mine] {
    use(mine);
    const int of_grandchild = fork_and([mine] { use(mine); });
    if (of_grandchild != 0) ::_exit(3);
    caches->leave(*mine);
    use(caches->enrol(nullptr));
  });
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  caches->leave(*mine);
}

BOOST_AUTO_TEST_CASE(caches_that_ended_are_forgotten) {
  {
    rig r;
  }
  {
    rig r;
  }
  const int status = fork_and([] {});
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace tarn::test
