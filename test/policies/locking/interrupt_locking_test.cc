// interrupt_locking with a signal for an interrupt: a handler that allocates and frees comes only where nothing is masked, and
// what was masked before a call is masked after it.
#include <boost/test/unit_test.hpp>

#include <pthread.h>
#include <signal.h>

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "tarn/allocator/pool.h"

namespace tarn::test {
namespace {

constexpr int interrupt = SIGUSR1;

/// Masks the signal. In between, one is raised: it waits until the mask goes.
struct signal_mask {
  struct state {
    bool was_masked;
  };
  static state save_and_mask() noexcept {
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, interrupt);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    ++masked;
    deepest = deepest < ++depth ? depth : deepest;
    if (raises) raise(interrupt);
    return {sigismember(&before, interrupt) == 1};
  }
  static void restore(state before) noexcept {
    --depth;
    if (before.was_masked) return;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, interrupt);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  }

  static inline std::size_t masked = 0;
  static inline int depth = 0;
  static inline int deepest = 0;
  static inline bool raises = false;
};

bool is_masked() {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, interrupt) == 1;
}

/// A store that notes whether the signal was masked when it was called.
struct watched_heap {
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};
  template <class Traits>
  struct source : heap_store::source<Traits> {
    using base = heap_store::source<Traits>;
    explicit source(const watched_heap&) noexcept : base(heap_store{}) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      ++calls;
      unmasked += is_masked() ? 0 : 1;
      return base::acquire(bytes, alignment);
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      ++calls;
      unmasked += is_masked() ? 0 : 1;
      base::release(region, alignment);
    }
  };
  static inline int calls = 0;
  static inline int unmasked = 0;
};

template <class... Policies>
using interrupted_pool = tarn::pool<static_size<64>, interrupt_locking<signal_mask>, Policies...>;

/// The handler's blocks, of the pool that is tried.
template <class Pool>
class handler {
 public:
  explicit handler(Pool& pool) {
    of = &pool;
    struct sigaction action = {};
    action.sa_handler = handle;
    sigaction(interrupt, &action, &before_);
    signal_mask::raises = true;
  }
  ~handler() {
    signal_mask::raises = false;
    sigaction(interrupt, &before_, nullptr);
    for (unsigned char* const block : kept) free(block);
    kept.clear();
  }
  handler(const handler&) = delete;
  handler& operator=(const handler&) = delete;

  static inline std::size_t came = 0;
  static inline std::size_t damaged = 0;

 private:
  static void handle(int) {
    ++came;
    signal_mask::raises = false;  // not in its own calls
    if (kept.size() == most) {
      free(kept.front());
      kept.erase(kept.begin());
    }
    if (auto* const block = static_cast<unsigned char*>(of->try_allocate())) {
      for (int i = 0; i != 64; ++i) block[i] = 0xAA;
      kept.push_back(block);
    }
    signal_mask::raises = true;
  }
  static void free(unsigned char* block) {
    for (int i = 0; i != 64; ++i) damaged += block[i] != 0xAA;
    of->deallocate(block);
  }

  static constexpr std::size_t most = 5;
  static inline Pool* of = nullptr;
  static inline std::vector<unsigned char*> kept = [] {
    std::vector<unsigned char*> room;
    room.reserve(most);
    return room;
  }();
  struct sigaction before_;
};

template <class Pool>
void expect_served(Pool& pool) {
  using its_handler = handler<Pool>;
  its_handler::came = its_handler::damaged = 0;
  std::size_t damaged = 0;
  {
    const its_handler comes(pool);
    for (int round = 0; round != 200; ++round) {
      std::vector<unsigned char*> blocks;
      for (int i = 0; i != 20; ++i)
        if (auto* const block = static_cast<unsigned char*>(pool.try_allocate())) {
          for (int b = 0; b != 64; ++b) block[b] = 0x55;
          blocks.push_back(block);
        }
      BOOST_TEST(blocks.size() == 20u);
      for (unsigned char* const block : blocks) {
        for (int b = 0; b != 64; ++b) damaged += block[b] != 0x55;
        pool.deallocate(block);
      }
    }
  }
  BOOST_TEST(damaged == 0u);
  BOOST_TEST(its_handler::damaged == 0u);
  BOOST_TEST(its_handler::came >= 8000u);  // after each call
  BOOST_TEST(!is_masked());
  BOOST_TEST(signal_mask::depth == 0);
}

// shows: FM-17
BOOST_AUTO_TEST_CASE(a_handler_allocates_and_frees_between_the_calls_of_the_program) {
  interrupted_pool<static_array_store<32>> array;
  expect_served(array);
  std::set<void*> all;
  while (void* const block = array.try_allocate()) all.insert(block);
  BOOST_TEST(all.size() == 32u);
  for (void* const block : all) array.deallocate(block);

  interrupted_pool<fixed_growth<4>> growing;
  expect_served(growing);
  interrupted_pool<return_empty_chunks<0, 0>, fixed_growth<4>> shrinking;
  expect_served(shrinking);
  interrupted_pool<hardened, counting_statistics, fixed_growth<4>> hard;
  expect_served(hard);
  BOOST_TEST(hard.statistics().in_use == 0u);
}

BOOST_AUTO_TEST_CASE(the_store_is_called_under_the_mask) {
  {
    interrupted_pool<watched_heap, fixed_growth<4>> pool;
    watched_heap::calls = watched_heap::unmasked = signal_mask::deepest = 0;
    void* const block = pool.allocate();
    BOOST_TEST(watched_heap::calls == 1);
    BOOST_TEST(signal_mask::deepest == 2);  // a guard in a guard: the inner one must not let anything in
    pool.deallocate(block);
    BOOST_TEST(pool.trim() != 0u);
    BOOST_TEST(watched_heap::calls == 2);
  }
  BOOST_TEST(watched_heap::unmasked == 0);
}

BOOST_AUTO_TEST_CASE(a_call_masks_once_and_a_pool_without_growth_nothing_else) {
  interrupted_pool<static_array_store<8>> pool;
  signal_mask::masked = 0;
  signal_mask::deepest = 0;
  void* const block = pool.allocate();
  BOOST_TEST(signal_mask::masked == 2u);  // the first block is carved
  pool.deallocate(block);
  signal_mask::masked = 0;
  pool.deallocate(pool.allocate());
  BOOST_TEST(signal_mask::masked == 2u);
  BOOST_TEST(signal_mask::deepest == 1);
  BOOST_TEST(sizeof(pool) == sizeof(tarn::pool<static_size<64>, static_array_store<8>>));
}

BOOST_AUTO_TEST_CASE(what_was_masked_stays_masked) {
  interrupted_pool<fixed_growth<4>> pool;
  const signal_mask::state before = signal_mask::save_and_mask();
  std::array<void*, 9> blocks;
  for (void*& block : blocks) BOOST_TEST((block = pool.allocate()) != nullptr);
  for (void* const block : blocks) pool.deallocate(block);
  pool.trim();
  BOOST_TEST(is_masked());
  signal_mask::restore(before);
  BOOST_TEST(!is_masked());
}

}  // namespace
}  // namespace tarn::test
