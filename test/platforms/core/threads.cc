// Threads, and copies of the process, where there are any.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/test/platforms/core/parts.h"
#include "tarn/test/platforms/core/services.h"

#if TARN_TEST_STD_THREADS
#include <thread>

#include "tarn/allocator/maintenance_thread.h"
#elif TARN_TEST_THREADS && defined(_WIN32)
#include <windows.h>
#endif
#if TARN_TEST_FORK
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace tarn::test {
namespace {

/// A thread that runs a function, and is waited for when this ends; also where the standard library has none.
#if TARN_TEST_STD_THREADS
class worker {
 public:
  worker(void (*f)(void*), void* with) : thread_(f, with) {}
  ~worker() { thread_.join(); }

 private:
  std::thread thread_;
};
#elif TARN_TEST_THREADS && defined(_WIN32)
class worker {
 public:
  worker(void (*f)(void*), void* with) noexcept : f_(f), with_(with) {
    thread_ = CreateThread(nullptr, 0, start, this, 0, nullptr);
    CHECK(thread_ != nullptr);
  }
  ~worker() {
    WaitForSingleObject(thread_, INFINITE);
    CloseHandle(thread_);
  }
  worker(const worker&) = delete;

 private:
  static DWORD WINAPI start(void* self) {
    static_cast<worker*>(self)->f_(static_cast<worker*>(self)->with_);
    return 0;
  }
  void (*f_)(void*);
  void* with_;
  HANDLE thread_;
};
#endif

#if TARN_TEST_THREADS
/// Takes and gives blocks, with a stamp in each.
template <class Pool>
void churn(void* with) {
  Pool& pool = *static_cast<Pool*>(with);
  constexpr std::size_t held = 50;
  unsigned char* blocks[held] = {};
  unsigned state = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&state) >> 4);
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525u + 1013904223u;
    unsigned char*& block = blocks[(state >> 8) % held];
    const auto stamp = static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(block) >> 4);
    if (block == nullptr) {
      block = static_cast<unsigned char*>(pool.try_allocate());
      if (CHECK(block != nullptr))
        std::memset(block, static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(block) >> 4), pool.block_size());
    } else {
      CHECK(block[0] == stamp && block[pool.block_size() - 1] == stamp);
      pool.deallocate(block);
      block = nullptr;
    }
  }
  for (unsigned char* const block : blocks) pool.deallocate(block);
}

template <class Pool>
void four_threads() {
  Pool pool;
  for (int round = 0; round < 2; ++round) {
    worker a(churn<Pool>, &pool), b(churn<Pool>, &pool), c(churn<Pool>, &pool), d(churn<Pool>, &pool);
  }
  CHECK(pool.statistics().in_use == 0);
}
void threads_under_a_mutex() { four_threads<pool<static_size<48>, mutex_locking<>, counting_statistics>>(); }
void threads_under_a_spin_mutex() { four_threads<pool<static_size<48>, mutex_locking<spin_mutex>, counting_statistics>>(); }
void threads_lock_free() { four_threads<pool<static_size<48>, lock_free, counting_statistics>>(); }
void threads_with_checks() { four_threads<pool<static_size<48>, mutex_locking<>, checked, counting_statistics>>(); }
void threads_with_caches() { four_threads<pool<static_size<48>, thread_cached<>, counting_statistics>>(); }
void threads_with_caches_and_checks() {
  four_threads<pool<static_size<48>, thread_cached<>, hardened, return_empty_chunks<>, counting_statistics>>();
}

/// A pool whose blocks all come from its first chunk: what a thread doesn't hand back at its end is missing.
void a_thread_that_ends_hands_its_blocks_back() {
  using pool_type = pool<static_size<32>, thread_cached<>, fixed_growth<400, 400>>;
  pool_type pool;
  for (int i = 0; i < 20; ++i) {
    worker one(
        [](void* with) {
          auto& its = *static_cast<pool_type*>(with);
          void* blocks[100];
          for (void*& block : blocks) block = its.try_allocate();
          for (void* const block : blocks) its.deallocate(block);
        },
        &pool);
  }
  void* blocks[400];
  for (void*& block : blocks) CHECK((block = pool.try_allocate()) != nullptr);
  CHECK(pool.try_allocate() == nullptr);
  for (void* const block : blocks) pool.deallocate(block);
}

struct counter {
  mutex lock;
  long count = 0;
};
void mutexes_keep_threads_apart() {
  counter shared;
  {
    const auto add = [](void* with) {
      auto& its = *static_cast<counter*>(with);
      for (int i = 0; i < 20000; ++i) {
        its.lock.lock();
        ++its.count;
        its.lock.unlock();
      }
    };
    worker a(add, &shared), b(add, &shared), c(add, &shared);
  }
  CHECK(shared.count == 60000);
}

template <std::size_t Milliseconds>
using waiting_pool = pool<static_size<32>, mutex_locking<>, static_array_store<1>, wait_for_block<Milliseconds>>;
template <std::intmax_t Milliseconds>
struct milliseconds {  // no <chrono>: not every target has it
  struct period {
    static constexpr std::intmax_t num = 1, den = 1000;
  };
  static constexpr std::intmax_t count() noexcept { return Milliseconds; }
};
using a_millisecond = milliseconds<1>;
using ten_minutes = milliseconds<600'000>;
void waiting_for_a_block() {
  waiting_pool<1> in_vain;
  void* const only = in_vain.try_allocate();
  CHECK(only != nullptr && in_vain.try_allocate() == nullptr && in_vain.allocate_within(a_millisecond()) == nullptr);
  in_vain.deallocate(only);

  using patient = waiting_pool<600'000>;
  patient pool;
  void* block = pool.try_allocate();
  CHECK(block != nullptr);
  {
    worker taker(
        [](void* with) {
          auto& its = *static_cast<patient*>(with);
          void* const got = its.allocate_within(ten_minutes());  // waits for the free below, or comes after it
          CHECK(got != nullptr);
          its.deallocate(got);
        },
        &pool);
    pool.deallocate(block);
  }
  CHECK((block = pool.try_allocate()) != nullptr);
  pool.deallocate(block);
}
#endif

#if TARN_TEST_STD_THREADS
void a_maintenance_thread_grows_ahead() {
  using pool_type = pool<static_size<64>, mutex_locking<>, grow_ahead<300, fixed_growth<100>>>;
  pool_type pool;
  maintenance_thread keeper;
  const auto place = keeper.add(pool);
  void* const block = pool.try_allocate();
  CHECK(block != nullptr);
  // It has as long as it takes; the runner stops a program that never ends.
  while (pool.capacity() < 300) std::this_thread::yield();
  pool.deallocate(block);
}
#endif

#if TARN_TEST_FORK
struct forked;
template <class Locking>
void child_of_a_fork() {
  auto& pool = static_pool<forked, static_size<56>, Locking>::instance();
  void* const before = pool.try_allocate();
  const pid_t child = fork();
  if (child == 0) {
    bool good = before != nullptr;
    pool.deallocate(before);
    for (int i = 0; i < 200; ++i) good = pool.try_allocate() != nullptr && good;
    _exit(good ? 7 : 8);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  pool.deallocate(before);
}
void forks_under_a_mutex() { child_of_a_fork<mutex_locking<>>(); }
void forks_with_caches() { child_of_a_fork<thread_cached<>>(); }
void forks_lock_free() { child_of_a_fork<lock_free>(); }
#endif

constexpr entry cases[] = {
#if TARN_TEST_THREADS
    CASE(threads_under_a_mutex),
    CASE(threads_under_a_spin_mutex),
    CASE(threads_lock_free),
    CASE(threads_with_checks),
    CASE(threads_with_caches),
    CASE(threads_with_caches_and_checks),
    CASE(a_thread_that_ends_hands_its_blocks_back),
    CASE(mutexes_keep_threads_apart),
    CASE(waiting_for_a_block),
#else
    {"threads", nullptr},
#endif
#if TARN_TEST_STD_THREADS
    CASE(a_maintenance_thread_grows_ahead),
#else
    {"maintenance_thread", nullptr},
#endif
#if TARN_TEST_FORK
    CASE(forks_under_a_mutex),
    CASE(forks_with_caches),
    CASE(forks_lock_free),
#else
    {"forks", nullptr},
#endif
};

}  // namespace

const part threads_part = make_part("threads", cases);

}  // namespace tarn::test
