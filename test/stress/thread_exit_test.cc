// Threads end: what they held is used again, and what runs in them afterwards may still use pools.
#include <pthread.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/test/stress/cases.h"

namespace tarn::test {
namespace {

/// A pool that keeps nothing in threads needs no such crowd.
std::size_t short_threads_for(const contender& c) { return up_to(nightly() ? 100'000 : c.caches() ? 10'000 : 2'000); }

/// Bytes that so many threads can need at once beyond what they needed before: `each` blocks, which they may have held one
/// after the other then, and what their magazines keep from others: two of them in each thread, full, and the memory that
/// magazines lie in, which doubles as it grows.
std::size_t needed_by(const contender& c, std::size_t threads, std::size_t each) {
  const std::size_t magazines = c.caches() ? 2 * threads * (c.magazine + 2) * sizeof(void*) : 0;
  const std::size_t chunks = (threads * (each + 2 * c.magazine) / any_pool::chunk_blocks + 2) * (any_pool::chunk_blocks + 2);
  return chunks * any_pool::block_size + 4 * magazines;
}

void short_threads_leave_no_memory_behind(const contender& c) {
  constexpr std::size_t at_once = 4;
  constexpr std::size_t each = 100;
  const std::size_t short_threads = short_threads_for(c);
  tally counts;
  const std::size_t before = books.bytes;
  const auto pool = c.make();
  std::mutex mutex;
  std::vector<void*> inherited;  // the blocks of threads that ended
  std::size_t baseline = 0;
  std::size_t most = 0;
  const auto live = [&] {
    worker me(*pool, counts);
    std::vector<void*> mine(each);
    CHECK(me.take(mine) == each);
    me.give(std::span(mine).first(each / 2));
    mine.erase(mine.begin(), mine.begin() + each / 2);
    {
      const std::lock_guard lock(mutex);
      std::swap(mine, inherited);
    }
    me.give(mine);
  };
  for (std::size_t n = 0; n < short_threads; n += at_once) {
    in_threads(at_once, [&](std::size_t) { live(); });
    most = std::max<std::size_t>(most, books.bytes - before);
    if (n == at_once) baseline = most;
  }
  std::printf(
      "%s: %zu threads, %zu bytes after the first, %zu at most; %zu blocks were given back by another "
      "thread, %zu of them after their own had ended\n",
      c.name, short_threads, baseline, most, counts.handed_over.load(), counts.orphans.load());
  CHECK(counts.handed_over.load() >= short_threads * each / 2 / 10 * 8);
  CHECK(counts.orphans.load() >= short_threads * each / 2 / 10);
  CHECK(most <= baseline + needed_by(c, at_once, 100));
  worker(*pool, counts).give(inherited);
  const std::size_t capacity = pool->capacity();
  CHECK(blocks_at_hand(*pool, counts) == capacity);
  check_integrity(counts);
  pool->trim();
  if (c.trims) CHECK(pool->capacity() == 0);
}
const case_for_each short_cases("short_threads_leave_no_memory_behind", short_threads_leave_no_memory_behind);

// ---- after a thread's pools have been told that it ends --------------------------------------------------------------------

struct late_user {
  any_pool* pool = nullptr;
  tally* counts = nullptr;
  std::atomic<std::size_t>* ran = nullptr;
  std::vector<void*> held;  // stamped

  /// Takes, gives back what was taken now and before, and ends with nothing.
  void use() {
    worker me(*pool, *counts);
    std::vector<void*> more(40);
    CHECK(me.take(more) == more.size());
    for (void* const block : held) CHECK(me.is_whole(block));
    me.give(held);
    held.clear();
    me.give(std::span(more).first(20));
    for (std::size_t i = 20; i < more.size(); ++i) me.give(more[i]);
    for (int i = 0; i < 20; ++i)
      if (void* const block = me.take()) me.give(block);
    ran->fetch_add(1, std::memory_order_relaxed);
  }
};
struct user_at_exit : late_user {
  ~user_at_exit() {
    if (pool != nullptr) use();
  }
};
/// Its destructor makes and uses another thread_local object, which ends later still.
struct nesting_user : late_user {
  ~nesting_user() {
    if (pool == nullptr) return;
    static thread_local user_at_exit nested;
    static_cast<late_user&>(nested) = static_cast<late_user&>(*this);
    use();
  }
};

pthread_key_t late_key() {  // destructors of keys run after those of thread_local objects
  static const pthread_key_t key = [] {
    pthread_key_t k{};
    pthread_key_create(&k, [](void* user) {
      const std::unique_ptr<late_user> mine(static_cast<late_user*>(user));
      mine->use();
    });
    return k;
  }();
  return key;
}

/// Objects that were made before the thread's first use of a pool end after whatever that use made; those made later, before.
void threads_use_pools_while_they_end(const contender& c) {
  constexpr std::size_t at_once = 4;
  const std::size_t threads = up_to(nightly() ? 10'000 : 1'000) / at_once * at_once;
  tally counts;
  const std::size_t before = books.bytes;
  const auto pool = c.make();
  std::atomic<std::size_t> ran{0};
  std::size_t baseline = 0;
  for (std::size_t n = 0; n < threads; n += at_once) {
    in_threads(at_once, [&](std::size_t) {
      static thread_local user_at_exit early;
      static thread_local nesting_user nesting;
      early = {};
      nesting = {};
      worker me(*pool, counts);
      const auto set_up = [&](late_user& user, std::size_t blocks) {
        std::vector<void*> held(blocks);
        CHECK(me.take(held) == blocks);
        user.pool = pool.get();
        user.counts = &counts;
        user.ran = &ran;
        user.held = std::move(held);
      };
      set_up(early, 30);
      set_up(nesting, 0);
      static thread_local user_at_exit late;
      set_up(late, 10);
      auto last = std::make_unique<late_user>();
      set_up(*last, 20);
      pthread_setspecific(late_key(), last.release());
    });
    if (n == at_once) baseline = books.bytes - before;
  }
  std::printf("%s: %zu threads, %zu uses of the pool while they ended, %zu bytes after the first, %zu at last\n", c.name,
              threads, ran.load(), baseline, books.bytes - before);
  CHECK(ran.load() == 5 * threads);
  CHECK(books.bytes - before <= baseline + needed_by(c, at_once, 100));
  const std::size_t capacity = pool->capacity();
  CHECK(blocks_at_hand(*pool, counts) == capacity);
  check_integrity(counts);
  pool->trim();
  if (c.trims) CHECK(pool->capacity() == 0);
}
const case_for_each late_cases("threads_use_pools_while_they_end", threads_use_pools_while_they_end);

}  // namespace
}  // namespace tarn::test
