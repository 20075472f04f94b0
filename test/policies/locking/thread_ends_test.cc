// Threads that end: in whatever order they use pools while they do, what they held is found again, and the next ones hold no
// more. The orders are generated: each subset of the places in which a thread can run code of its own near its end.
#include <boost/test/unit_test.hpp>

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/locking/thread_ids.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/statistics/trace_ring.h"

namespace tarn::test {
namespace {

// ---- pools: objects, static ones, of many sizes -----------------------------------------------------------------------------

struct user {
  void* (*take)();
  void (*give)(void*);
  std::size_t (*held)();  // in bytes, or blocks
  void (*trim)();
};
constinit pool<static_size<4096>, thread_cached<>> blocks;
constinit size_class_pool<thread_cached<>> sizes;
using of_tag = static_pool<struct ends, static_size<64>, thread_cached<16, 14>>;

std::size_t bytes_of_sizes() {
  std::size_t all = 0;
  sizes.each_pool([&](std::size_t, const auto& its) { all += its.capacity() * its.block_size(); });
  return all;
}
const user users[] = {
    {[] { return blocks.allocate(); }, [](void* b) { blocks.deallocate(b); }, [] { return blocks.capacity(); },
     [] { static_cast<void>(blocks.trim()); }},
    {[] { return sizes.allocate(100, 8); }, [](void* b) { sizes.deallocate(b, 100, 8); }, bytes_of_sizes,
     [] { static_cast<void>(sizes.trim()); }},
    {[] { return of_tag::instance().allocate(); }, [](void* b) { of_tag::instance().deallocate(b); },
     [] { return of_tag::instance().capacity(); }, [] { static_cast<void>(of_tag::instance().trim()); }},
};

// ---- where a thread uses them -----------------------------------------------------------------------------------------------

constexpr unsigned rounds = PTHREAD_DESTRUCTOR_ITERATIONS < 4 ? PTHREAD_DESTRUCTOR_ITERATIONS : 4;
constexpr unsigned places = 2 + rounds;  // in its function, in a destructor of a thread_local object, in each round of a key's

/// What a thread does: in each place of the set it frees a block that it was given, or takes two and frees them.
struct script {
  const user* its = nullptr;
  unsigned set = 0;
  bool frees = false;
  unsigned round = 0;
  std::vector<void*> given = {};

  void at(unsigned place) {
    if ((set & 1u << place) == 0) return;
    if (frees) {
      its->give(given.back());
      given.pop_back();
      return;
    }
    void* const first = its->take();
    its->give(its->take());
    its->give(first);
  }
};

struct local_use {
  script* what = nullptr;
  ~local_use() {
    if (what != nullptr) what->at(1);
  }
};
/// The key is older than tarn's own, or younger: so tarn's comes later in a round, or earlier.
pthread_key_t keys[2];
template <unsigned Which>
void in_round(void* its) {
  script& what = *static_cast<script*>(its);
  what.at(2 + what.round++);
  if (what.round != rounds) pthread_setspecific(keys[Which], its);
}

/// Returns when nothing of it is left, as far as the system says so.
void run_thread(script& what, unsigned key) {
  std::uintptr_t number = 0;
  what.round = 0;
  std::thread([&] {
    static thread_local local_use before;  // ends after what the first use makes
    number = platform::system::this_thread();
    before.what = &what;
    pthread_setspecific(keys[key], &what);
    what.at(0);
  }).join();
  if constexpr (platform::system::knows_threads)
    while (!platform::system::is_gone(number)) std::this_thread::yield();
}

/// So many threads one after the other. Returns the most that the pool ever had.
std::size_t most_held(const user& its, unsigned set, bool frees, unsigned key, unsigned threads) {
  std::size_t most = 0;
  for (unsigned n = 0; n != threads; ++n) {
    script what{.its = &its, .set = set, .frees = frees};
    for (unsigned i = 0; frees && i != places; ++i) what.given.push_back(its.take());
    run_thread(what, key);
    for (void* const b : what.given) its.give(b);  // in whose place it wasn't
    most = its.held() > most ? its.held() : most;
  }
  return most;
}

void make_keys() {
  [[maybe_unused]] static const bool made = [] {
    pthread_key_create(&keys[0], in_round<0>);
    std::thread([] { blocks.deallocate(blocks.allocate()); }).join();
    std::thread([b = blocks.allocate()] { blocks.deallocate(b); }).join();  // a first use that frees makes tarn's key
    pthread_key_create(&keys[1], in_round<1>);
    return true;
  }();
}

BOOST_AUTO_TEST_SUITE(thread_ends, *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
  return platform::system::knows_threads;
}))

BOOST_AUTO_TEST_CASE(threads_one_after_the_other_hold_what_a_few_hold) {
  make_keys();
  for (const user& its : users)
    for (unsigned set = 1; set != 1u << places; ++set)
      for (const bool frees : {false, true})
        for (const unsigned key : {0u, 1u}) {
          const std::size_t first = most_held(its, set, frees, key, 10);
          const std::size_t then = most_held(its, set, frees, key, 20);
          its.trim();
          const bool well = then <= first && its.held() == 0;
          BOOST_TEST(well, "pool " << &its - users << ", places " << set << (frees ? ", frees" : ", takes") << ", key " << key
                                   << ": " << first << " held by 10, " << then << " by 20; after trim() " << its.held());
          if (!well) return;
        }
}
BOOST_AUTO_TEST_CASE(three_thousand_threads_hold_what_ten_hold) {
  make_keys();
  const unsigned last_round = 1u << (places - 1);
  const std::size_t first = most_held(users[0], last_round, false, 0, 10);
  BOOST_TEST(most_held(users[0], last_round, false, 0, 3000) <= first);
}
BOOST_AUTO_TEST_CASE(many_threads_at_once_leave_nothing_that_a_trim_does_not_find) {
  make_keys();
  std::vector<std::thread> threads(50);
  std::vector<script> whats(threads.size());
  std::vector<std::uintptr_t> numbers(threads.size());
  for (std::size_t i = 0; i != threads.size(); ++i) {
    whats[i] = {.its = &users[0], .set = 1u << (places - 1)};
    threads[i] = std::thread([&, i] {
      numbers[i] = platform::system::this_thread();
      pthread_setspecific(keys[0], &whats[i]);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::uintptr_t number : numbers)
    while (!platform::system::is_gone(number)) std::this_thread::yield();
  blocks.trim();
  BOOST_TEST(blocks.capacity() == 0u);
}
BOOST_AUTO_TEST_CASE(a_ring_of_a_thread_that_is_gone_is_taken_again) {
  using rings = trace_ring<64, 4>;
  static pthread_key_t key;
  std::thread([] { rings::on_event(trace_event{}); }).join();  // makes the rings' own key, which is older so
  pthread_key_create(&key, [](void* round) {
    const auto n = reinterpret_cast<std::uintptr_t>(round);
    if (n != rounds) pthread_setspecific(key, reinterpret_cast<void*>(n + 1));
    else rings::on_event(trace_event{});
  });
  for (int i = 0; i != 4; ++i) {
    std::uintptr_t number = 0;
    std::thread([&] {
      number = platform::system::this_thread();
      pthread_setspecific(key, reinterpret_cast<void*>(std::uintptr_t{1}));
    }).join();
    while (!platform::system::is_gone(number)) std::this_thread::yield();
  }
  for (int i = 0; i != 100; ++i) rings::on_event(trace_event{});
  BOOST_TEST(rings::lost() < 100u);
  pthread_key_delete(key);
}


/// Counts the steps of a look.
template <class T>
struct counted : detail::atomic_word<T> {
  using detail::atomic_word<T>::atomic_word;
  T fetch_add(T more, detail::memory_order order) noexcept {
    ++steps;
    return detail::atomic_word<T>::fetch_add(more, order);
  }
  static inline unsigned steps = 0;
};
struct no_ids {
  static void give_back(unsigned) noexcept { BOOST_ERROR("this thread is gone"); }
};
BOOST_AUTO_TEST_CASE(only_numbers_that_were_taken_are_looked_at) {
  detail::number_holders<counted> holders;
  no_ids ids;
  const auto steps = [&](unsigned numbers) {
    counted<unsigned>::steps = 0;
    holders.look(ids, numbers);
    return counted<unsigned>::steps;
  };
  BOOST_TEST(steps(1023) == 0u);
  holders.note(5);
  holders.note(2);
  BOOST_TEST(steps(1023) == 6u);  // 0 to 5
  BOOST_TEST(steps(2) <= 6u);
  holders.forget(5);
  holders.forget(2);
  BOOST_TEST(steps(2) == 6u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tarn::test
