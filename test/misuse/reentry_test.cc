// A pool that is used out of its own call: by its store, and by signal handlers that interrupt it at any instruction. What a
// store may do is store_comes_back_test's; here it does what it may not.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory_resource>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

/// Memory of the heap, and one that asks for it out of every call.
class meddler final : public std::pmr::memory_resource {
 public:
  void (*meddle)() = nullptr;
  std::size_t calls = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ask();
    return ::operator new(bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* block, std::size_t, std::size_t alignment) override {
    ask();
    ::operator delete(block, std::align_val_t{alignment});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  void ask() {
    ++calls;
    if (meddle != nullptr) meddle();
  }
};

template <class Pool>
struct use {
  static inline Pool* pool = nullptr;
  static inline void* block = nullptr;  // in use
  static inline std::size_t refused = 0, obeyed = 0;

  /// Everything for which the store would have to be called within its own call. Only release() has no answer that says no: it
  /// is reported.
  static void all() {
    bool refuses = !pool->try_reserve(10'000'000);
    if constexpr (releases) {
      refuses = refuses && pool->trim() == 0;
      const std::size_t blocks = pool->capacity();
      pool->release();
      refuses = refuses && pool->capacity() == blocks;
    }
    ++(refuses ? refused : obeyed);
  }
  static constexpr bool releases = requires(Pool& p) { p.release(); };
};

template <class... Policies>
void store_meddles(const char* name, called_from = {}) {
  using Pool = pool<static_size<64>, resource_store, fixed_growth<50>, Policies...>;
  using used = use<Pool>;
  const ending end = in_child([] {
    const recorder recording;
    meddler upstream;
    Pool pool{resource_store(&upstream)};
    used::pool = &pool;
    used::block = pool.allocate();  // nobody meddles yet
    std::memset(used::block, 7, 64);
    upstream.meddle = used::all;
    const std::size_t calls_before = upstream.calls;
    std::array<void*, 200> more;
    for (void*& one : more) one = pool.allocate();  // the store is at work at least three times
    if (used::refused < 3 || used::obeyed != 0 || used::refused != upstream.calls - calls_before) return 1;
    // Told once for each call that was interrupted: an allocation can ask the store for a chunk, and for memory of the pool's
    // own.
    if (recorder::seen().size() < (used::releases ? 3 : 0) || recorder::seen().size() > used::refused) return 2;
    if (!used::releases && !recorder::seen().empty()) return 2;
    for (const report& r : recorder::seen())
      if (r.what.kind != misuse_kind::reentry || r.what.pool != &pool || r.what.thread == 0) return 3;
    // Nothing happened to the pool: the block is in use, its bytes are as they were.
    for (int i = 0; i != 64; ++i)
      if (static_cast<const char*>(used::block)[i] != 7) return 4;
    for (void* const one : more) pool.deallocate(one);
    recorder::seen().clear();
    const std::size_t calls_until_now = upstream.calls;
    used::refused = 0;
    if constexpr (requires { pool.trim(); }) {
      pool.trim();  // the store takes chunks back
      if (upstream.calls == calls_until_now || used::refused != upstream.calls - calls_until_now || used::obeyed != 0) return 5;
      if (recorder::seen().size() != 1) return 6;
    }
    upstream.meddle = nullptr;
    recorder::seen().clear();
    pool.deallocate(used::block);
    void* const one = pool.allocate();
    pool.deallocate(one);
    if (one == nullptr || pool.verify() != 0 || !recorder::seen().empty()) return 7;
    return 0;
  });
  BOOST_TEST(end.status == 0, name << ": the child ended with " << end.status << ": " << end.words);
}

// shows: FM-26
BOOST_AUTO_TEST_CASE(a_store_that_calls_itself_through_its_pool_is_refused) {
  store_meddles<checked>("no_locking");
  store_meddles<checked, mutex_locking<>>("mutex");
  store_meddles<checked, thread_cached<>>("thread_cached");
  store_meddles<checked, lock_free>("lock_free");
  store_meddles<checked, page_local_reuse<>, return_empty_chunks<>>("page_local, return_empty_chunks");
  store_meddles<sampled_guard_pages<1, checked>, mutex_locking<>>("sampled");
}

// Who doesn't look refuses it, too, and says nothing. And a store may use another pool.
BOOST_AUTO_TEST_CASE(without_checks_it_is_refused_in_silence) {
  using Pool = pool<static_size<64>, resource_store, mutex_locking<>, hardened>;
  static Pool* one;
  const ending end = in_child([] {
    alarm(300);  // a hang
    meddler upstream;
    Pool pool{resource_store(&upstream)};
    one = &pool;
    void* const block = pool.allocate();
    upstream.meddle = [] {
      one->release();
      if (one->try_reserve(100'000)) _exit(1);
    };
    if (!pool.try_reserve(1000) || pool.capacity() < 1000) return 2;
    upstream.meddle = nullptr;
    pool.deallocate(block);
    return 0;
  });
  BOOST_TEST(end.status == 0);
}

BOOST_AUTO_TEST_CASE(a_store_may_use_another_pool) {
  const recorder recording;
  using Pool = pool<static_size<64>, resource_store, mutex_locking<>, checked>;
  static Pool* inner;
  static std::size_t got;
  meddler upstream, plain;
  Pool second{resource_store(&plain)};
  inner = &second;
  got = 0;
  upstream.meddle = [] {
    void* const block = inner->allocate();
    got += block != nullptr;
    inner->deallocate(block);
  };
  Pool first{resource_store(&upstream)};
  first.deallocate(first.allocate());
  BOOST_TEST(got != 0u);
  BOOST_TEST(recorder::seen().empty());
}

// ---- signal handlers -------------------------------------------------------------------------------------------------------

/// Signals as often as the system sends them, which goes by the processor time of the child. It may use as much as it needs
/// until it saw enough of them.
class storm {
 public:
  explicit storm(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    const itimerval often{{0, 100}, {0, 100}};
    setitimer(ITIMER_PROF, &often, nullptr);
    const rlimit patience{600, 600};
    setrlimit(RLIMIT_CPU, &patience);
    alarm(600);
  }
  ~storm() { setitimer(ITIMER_PROF, nullptr, nullptr); }
  storm(const storm&) = delete;
  storm& operator=(const storm&) = delete;
};

template <class Pool>
struct interrupted {
  static inline Pool* pool = nullptr;
  static inline std::atomic<std::size_t> got = 0, refused = 0, told = 0, wrong = 0;

  static void handle(int) {
    void* const block = pool->try_allocate();
    if (block == nullptr) {
      refused.fetch_add(1, std::memory_order_relaxed);
      pool->verify();
    } else {
      got.fetch_add(1, std::memory_order_relaxed);
      std::memset(block, 1, 64);
      pool->deallocate(block);
    }
  }
  static void note(const misuse& what) noexcept {
    if (what.kind == misuse_kind::reentry) ++told;
    else if (what.kind != misuse_kind::double_free) ++wrong;
  }
};

struct herd;

/// Signals arrive at any instruction of a thread that uses the pool, and their handler uses it, too.
template <class... Policies>
void handler_meddles(const char* name, called_from = {}) {
  using Pool = pool<static_size<64>, Policies...>;
  using here = interrupted<Pool>;
  constexpr std::size_t enough = 30;
  const ending end = in_child([] {
    set_misuse_handler(here::note);
    static Pool pool;
    here::pool = &pool;
    pool.deallocate(pool.allocate());
    std::array<void*, 100> blocks;
    std::size_t met = 0;  // calls in which the handler was refused, however often
    const auto watched = [&](auto call) {
      const std::size_t before = here::refused;
      call();
      met += here::refused != before;
    };
    for (const storm signals(here::handle); here::refused < enough || here::got < enough;) {
      for (void*& block : blocks) {
        watched([&] { block = pool.allocate(); });
        std::memset(block, 2, 64);
      }
      for (void* const block : blocks) watched([&] { pool.deallocate(block); });
      // Refused, and looked at once more for the report.
      for (void* const block : blocks) watched([&] { pool.deallocate(block); });
      static std::array<volatile char, 4096> elsewhere;
      for (volatile char& one : elsewhere) one = 1;
    }
    std::fprintf(stderr, "%zu refused, in %zu calls, %zu told, %zu served", here::refused.load(), met, here::told.load(),
                 here::got.load());
    // A call that is interrupted twice is told of once; a free that is refused looks at the pool in two of them.
    if (here::told < met || here::told > here::refused || here::wrong != 0) return 2;
    if (pool.verify() != 0 || here::wrong != 0) return 3;
    return 0;
  });
  BOOST_TEST(end.status == 0, name << ": the child ended with " << end.status);
  std::printf("%s: %s\n", name, end.words.c_str());
}

// shows: FM-27
BOOST_AUTO_TEST_CASE(a_signal_handler_that_interrupts_the_pool_is_refused) {
  handler_meddles<checked>("no_locking");
  handler_meddles<checked, mutex_locking<>>("mutex");
  handler_meddles<checked, grouped_locking<herd, std::mutex>>("grouped with a mutex");
  handler_meddles<checked, thread_cached<>>("thread_cached");
  handler_meddles<checked, lock_free>("lock_free");
}

using stack_pool = pool<static_size<64>, lock_free>;
stack_pool* stack_of_handler = nullptr;
std::atomic<std::size_t> served = 0, blocks_kept = 0;

// The way without checks: no lock, so nobody waits, as long as no chunk is needed. (That a pop which was interrupted notices is
// //test/schedule's: signals seldom hit that instruction.)
// shows: FM-27
BOOST_AUTO_TEST_CASE(lock_free_serves_signal_handlers) {
  constexpr std::size_t enough = 100;
  const ending end = in_child([] {
    stack_pool pool;
    pool.reserve(1000);
    stack_of_handler = &pool;
    const auto handle = [](int) {
      // The first block comes back, the second stays away until the next time: who was interrupted finds the same first block,
      // and another behind it.
      static void* kept = nullptr;
      if (kept != nullptr) stack_of_handler->deallocate(std::exchange(kept, nullptr));
      void* const one = stack_of_handler->try_allocate();
      kept = stack_of_handler->try_allocate();
      if (one == nullptr || kept == nullptr || one == kept) _exit(1);
      std::memset(one, 1, 64);
      std::memset(kept, 1, 64);
      stack_of_handler->deallocate(one);
      blocks_kept = 1;
      served.fetch_add(1, std::memory_order_relaxed);
    };
    std::array<unsigned char*, 100> blocks;
    unsigned char mark = 2;
    for (const storm signals(handle); served < enough;) {
      if (++mark < 2) mark = 2;
      for (unsigned char*& block : blocks) std::memset(block = static_cast<unsigned char*>(pool.allocate()), mark, 64);
      for (unsigned char* const block : blocks) {
        for (int i = 0; i != 64; ++i)
          if (block[i] != mark) return 2;  // the handler was given it, too
        pool.deallocate(block);
      }
    }
    std::set<void*> all;
    const std::size_t capacity = pool.capacity();
    while (all.size() < capacity - blocks_kept && all.insert(pool.allocate()).second) {
    }
    return all.size() == capacity - blocks_kept && pool.capacity() == capacity ? 0 : 4;
  });
  BOOST_TEST(end.status == 0, "the child ended with " << end.status);
}

}  // namespace
}  // namespace tarn::test
