// Objects that are made once and used again and again. `defect_N` are defects of other libraries; xmalloc_test.cc lists them.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tarn/allocator/recycling_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

/// Counts what happens to it. Each test has a tag, and so counts of its own.
template <class Tag, std::size_t Align = alignof(long)>
struct alignas(Align) tool {
  tool() {
    if (throws_when_made) throw std::runtime_error("made");
    ++made;
  }
  tool(const tool&) = delete;
  tool& operator=(const tool&) = delete;
  ~tool() {
    ++destroyed;
    twice += ended;
    ended = true;
  }
  void reset() {
    if (throws_when_reset) throw std::runtime_error("reset");
    ++resets;
    content = 0;
  }
  long content = 0;
  long kept = 0;  // reset() leaves it alone
  bool ended = false;

  static long alive() { return made - destroyed; }
  static inline long made = 0;
  static inline long destroyed = 0;
  static inline long resets = 0;
  static inline long twice = 0;
  static inline bool throws_when_made = false;
  static inline bool throws_when_reset = false;
};

template <class Pool>
std::vector<typename Pool::value_type*> acquire_all(Pool& pool, called_from = {}) {
  std::vector<typename Pool::value_type*> all;
  while (auto* const o = pool.acquire()) {
    all.push_back(o);
    REQUIRE(all.size() < 100'000);  // a pool that comes to no end
  }
  return all;
}
template <class T>
bool distinct(std::vector<T*> all) {
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end(), [](T* a, T* b) { return a + 1 > b; }) == all.end();
}

// ---- the seed ---------------------------------------------------------------------------------------------------------------

/// As in "Stack, Heap, Pool".
struct big_object {
  void reset() {}
  std::array<char, 1000 * 1024> bytes{};
};

BOOST_AUTO_TEST_CASE(the_test_of_stack_heap_pool) {
  recycling_pool<big_object, no_growth<2>> pool;
  big_object* const obj1{pool.acquire()};
  BOOST_TEST(obj1 != nullptr);
  big_object* const obj2 = pool.acquire();
  BOOST_TEST(obj2 != nullptr);
  pool.release(obj1);
  big_object* const obj3 = pool.acquire();
  BOOST_TEST(obj3 == obj1);
  big_object* const obj4 = pool.acquire();
  BOOST_TEST(obj4 == nullptr);
  pool.release(obj2);
  big_object* const obj5 = pool.acquire();
  BOOST_TEST(obj5 == obj2);
}

// ---- made once --------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(objects_are_made_once) {
  struct tag;
  using T = tool<tag>;
  {
    recycling_pool<T, fixed_growth<7, 20>> pool;
    for (int round = 0; round < 20; ++round) {
      const auto all = acquire_all(pool);
      BOOST_TEST(all.size() == 20u);
      BOOST_TEST(distinct(all));
      BOOST_TEST(T::made == 20);
      for (T* const o : all) BOOST_TEST(pool.release(o));
      BOOST_TEST(T::resets == 20 * (round + 1));
    }
    BOOST_TEST(T::destroyed == 0);
    BOOST_TEST(pool.capacity() == 20u);
  }
  BOOST_TEST(T::destroyed == 20);
  BOOST_TEST(T::twice == 0);
}

BOOST_AUTO_TEST_CASE(content_stays_until_reset_and_what_reset_leaves_stays_for_good) {
  struct tag;
  recycling_pool<tool<tag>, static_array_store<1>> pool;
  tool<tag>* const o = pool.acquire();
  o->content = 7;
  o->kept = 8;
  BOOST_TEST(pool.release(o));
  BOOST_TEST(pool.acquire() == o);
  BOOST_TEST(o->content == 0);
  BOOST_TEST(o->kept == 8);
  o->kept = 9;
  pool.release(o);
  BOOST_TEST(pool.acquire()->kept == 9);
}

BOOST_AUTO_TEST_CASE(every_byte_of_a_free_object_stays) {  // the free list is none of its business
  struct page {
    void reset() {}
    std::array<unsigned char, 300> bytes;
  };
  recycling_pool<page, fixed_growth<9>> pool;
  std::vector<page*> all;
  for (unsigned i = 0; i < 100; ++i) {
    all.push_back(pool.acquire());
    all.back()->bytes.fill(static_cast<unsigned char>(i));
  }
  std::mt19937_64 random(seed());
  for (int round = 0; round < 10; ++round) {
    std::shuffle(all.begin(), all.end(), random);
    for (page* const p : all) BOOST_TEST(pool.release(p));
    all.clear();
    std::array<bool, 100> seen{};
    for (int i = 0; i < 100; ++i) {
      page* const p = pool.acquire();
      all.push_back(p);
      BOOST_REQUIRE(p->bytes[0] < 100);
      BOOST_TEST(!seen[p->bytes[0]]);
      seen[p->bytes[0]] = true;
      BOOST_TEST(std::count(p->bytes.begin(), p->bytes.end(), p->bytes[0]) == 300);
    }
  }
}

// ---- what is refused --------------------------------------------------------------------------------------------------------

template <class Pool>
void refuse(called_from = {}) {
  using T = typename Pool::value_type;
  const long alive = T::alive();
  {
    const auto held = std::make_unique<Pool>(), other = std::make_unique<Pool>();
    Pool& pool = *held;
    T* const a = pool.acquire();
    T* const b = pool.acquire();
    const long resets = T::resets;
    T* const strange = other->acquire();

    BOOST_TEST(!pool.release(nullptr));
    alignas(T) std::byte on_stack[2 * sizeof(T)] = {};
    BOOST_TEST(!pool.release(reinterpret_cast<T*>(on_stack + sizeof(T))));
    const auto on_heap = std::make_unique<T>();
    BOOST_TEST(!pool.release(on_heap.get()));
    BOOST_TEST(!pool.release(strange));
    const std::size_t size = sizeof(T);
    for (std::size_t offset = 1; offset < size; ++offset) {
      BOOST_TEST(!pool.release(reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(a) + offset)));
      BOOST_TEST(!pool.release(reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(a) - offset)));
    }
    BOOST_TEST(!pool.release(reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(a) + (std::size_t{1} << 40))));
    BOOST_TEST(!pool.release(reinterpret_cast<T*>(static_cast<std::uintptr_t>(-64))));
    BOOST_TEST(!pool.release(reinterpret_cast<T*>(std::uintptr_t{64})));
    BOOST_TEST(T::resets == resets);

    BOOST_TEST(pool.release(a));
    for (int i = 0; i < 3; ++i) BOOST_TEST(!pool.release(a));  // defect 15, 19: twice
    BOOST_TEST(T::resets == resets + 1);
    BOOST_TEST(pool.acquire() == a);
    BOOST_TEST(pool.acquire() != a);
    BOOST_TEST(pool.release(b));

    BOOST_TEST(pool.owns(a));
    BOOST_TEST(pool.owns(b));  // free, but one of the pool's
    BOOST_TEST(!pool.owns(nullptr));
    BOOST_TEST(!pool.owns(on_heap.get()));
    BOOST_TEST(!pool.owns(strange));
    BOOST_TEST(!pool.owns(reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(a) + 1)));
    BOOST_TEST(other->release(strange));
  }
  BOOST_TEST(T::alive() == alive);
  BOOST_TEST(T::twice == 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_out_is_refused) {
  struct tag;
  refuse<recycling_pool<tool<tag>, static_array_store<10>>>();
  refuse<recycling_pool<tool<tag>, fixed_growth<1>>>();
  refuse<recycling_pool<tool<tag, 64>, mutex_locking<>, geometric_growth<2, 8>>>();  // coloured
}

BOOST_AUTO_TEST_CASE(a_slot_that_was_never_acquired_is_refused) {
  struct tag;
  using T = tool<tag>;
  recycling_pool<T, static_array_store<30>> pool;
  const T* const first = pool.acquire();
  const T* const second = pool.acquire();
  const auto stride = reinterpret_cast<std::uintptr_t>(second) - reinterpret_cast<std::uintptr_t>(first);
  for (std::size_t i = 2; i < 40; ++i)
    BOOST_TEST(!pool.release(reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(first) + i * stride)));
  BOOST_TEST(
      !pool.owns(reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(first) + 29 * stride)));  // nothing was made there
  BOOST_TEST(T::resets == 0);
  BOOST_TEST(acquire_all(pool).size() == 28u);
}

// ---- exceptions -------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_constructor_that_throws_leaves_the_pool_as_it_was) {
  struct tag;
  using T = tool<tag>;
  {
    recycling_pool<T, static_array_store<5>> pool;
    T* const first = pool.acquire();
    T::throws_when_made = true;
    for (int i = 0; i < 20; ++i) BOOST_CHECK_THROW((void)pool.acquire(), std::runtime_error);
    BOOST_TEST(pool.release(first));
    BOOST_TEST(pool.acquire() == first);  // none has to be made
    T::throws_when_made = false;
    BOOST_TEST(acquire_all(pool).size() == 4u);
    BOOST_TEST(T::made == 5);
  }
  BOOST_TEST(T::destroyed == 5);
}

BOOST_AUTO_TEST_CASE(an_object_whose_reset_throws_is_replaced) {
  struct tag;
  using T = tool<tag>;
  {
    recycling_pool<T, static_array_store<3>> pool;
    const auto all = acquire_all(pool);
    all[1]->kept = 5;
    T::throws_when_reset = true;
    BOOST_CHECK_THROW(pool.release(all[1]), std::runtime_error);
    T::throws_when_reset = false;
    BOOST_TEST(T::made == 3);
    BOOST_TEST(T::destroyed == 1);
    BOOST_TEST(!pool.release(all[1]));
    T* const fresh = pool.acquire();
    BOOST_TEST(fresh == all[1]);
    BOOST_TEST(T::made == 4);
    BOOST_TEST(fresh->kept == 0);
    BOOST_TEST(!fresh->ended);
    BOOST_TEST(pool.acquire() == nullptr);
    T::throws_when_reset = true;
    BOOST_CHECK_THROW(pool.release(all[0]), std::runtime_error);
    T::throws_when_reset = false;
  }
  BOOST_TEST(T::made == 4);
  BOOST_TEST(T::destroyed == 4);
  BOOST_TEST(T::twice == 0);
}

// ---- compositions -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(reserve_is_room_and_makes_nothing) {
  struct tag;
  using T = tool<tag>;
  recycling_pool<T, fixed_growth<10, 50>> pool;
  BOOST_TEST(pool.capacity() == 0u);
  BOOST_TEST(pool.try_reserve(45));
  BOOST_TEST(pool.capacity() == 50u);
  BOOST_TEST(T::made == 0);
  BOOST_TEST(!pool.try_reserve(51));
  BOOST_TEST(acquire_all(pool).size() == 50u);
}

BOOST_AUTO_TEST_CASE(defect_15_objects_are_aligned) {
  struct tag;
  recycling_pool<tool<tag, 4096>, fixed_growth<5>> pool;
  recycling_pool<tool<tag, 64>, static_array_store<8>> inside;
  for (int i = 0; i < 20; ++i) BOOST_TEST(reinterpret_cast<std::uintptr_t>(pool.acquire()) % 4096 == 0);
  for (int i = 0; i < 8; ++i) BOOST_TEST(reinterpret_cast<std::uintptr_t>(inside.acquire()) % 64 == 0);
  struct tiny {
    void reset() {}
    char c = 'x';
  };
  recycling_pool<tiny, static_array_store<100>> tinies;
  const auto all = acquire_all(tinies);
  BOOST_TEST(all.size() == 100u);
  BOOST_TEST(std::all_of(all.begin(), all.end(), [](const tiny* t) { return t->c == 'x'; }));
}

// ---- threads ----------------------------------------------------------------------------------------------------------------

/// Written without atomics: whoever holds it has it alone.
struct parcel {
  void reset() { sender = 0; }
  int sender = 0;
  int resets_seen = 0;
};

BOOST_AUTO_TEST_CASE(objects_change_hands) {
  recycling_pool<parcel, mutex_locking<>, static_array_store<10>> pool;
  constexpr unsigned threads = 4;
  constexpr int rounds = 4000;
  std::vector<std::atomic<parcel*>> slots(16);
  std::atomic<int> faults{0};
  std::atomic<std::size_t> acquired{0}, released{0};
  const auto work = [&](unsigned who) {
    std::mt19937_64 random(who);
    std::size_t got = 0, gave = 0;
    for (int i = 0; i < rounds; ++i) {
      parcel* p = pool.acquire();
      if (p != nullptr) {
        ++got;
        if (p->sender != 0) ++faults;  // released without a reset, or out twice
        p->sender = static_cast<int>(who) + 1;
      }
      p = slots[random() % slots.size()].exchange(p);  // somebody else will release it
      if (p != nullptr) {
        if (p->sender == 0) ++faults;
        if (pool.release(p)) ++gave;
        else ++faults;
      }
    }
    acquired += got;
    released += gave;
  };
  {
    std::vector<std::thread> all;
    for (unsigned who = 0; who < threads; ++who) all.emplace_back(work, who);
    for (std::thread& t : all) t.join();
  }
  for (auto& slot : slots)
    if (parcel* const p = slot.exchange(nullptr)) released += pool.release(p);
  BOOST_TEST(faults == 0);
  BOOST_TEST(acquired > 0u);
  BOOST_TEST(acquired == released);
  BOOST_TEST(acquire_all(pool).size() == 10u);
}

// ---- objects that own others, and the end -----------------------------------------------------------------------------------

/// Owns others, which it releases when it is reset, and when it ends: as often as it likes.
template <class... Policies>
struct owner {
  using pool_type = recycling_pool<owner, Policies...>;
  owner() { ++made; }
  ~owner() {
    if (canary != 4711) ++faults;
    let_go();
    if (acquires) took += pool->acquire() != nullptr;
    faults += pool->release(this);  // it isn't in use any more
    canary = 0;
    ++destroyed;
  }
  void reset() {
    if (canary != 4711) ++faults;
    faults += pool->release(this);
    let_go();
  }
  void let_go() {
    for (owner*& one : owned)
      if (owner* const its = std::exchange(one, nullptr)) pool->release(its), pool->release(its);
  }
  std::array<owner*, 2> owned = {};
  int canary = 4711;
  bool acquires = false;
  static inline pool_type* pool = nullptr;
  static inline int made = 0, destroyed = 0, faults = 0, took = 0;
};
int reports = 0;

using owners = std::tuple<owner<>, owner<hardened, thread_cached<>>, owner<hardened, lock_free>,
                          owner<hardened_with<generations, guard_bytes>, static_array_store<64>>,
                          owner<mutex_locking<>, static_array_store<64>, wait_for_block<600'000>>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(objects_that_own_others_end_once, T, owners) {
  const misuse_handler before = set_misuse_handler([](const misuse&) noexcept { ++reports; });
  std::mt19937 random(7);
  for (const bool acquires : {false, true}) {
    T::made = T::destroyed = T::faults = T::took = reports = 0;
    {
      const auto held = std::make_unique<typename T::pool_type>();
      T::pool = held.get();
      const auto own = [&](std::size_t n) {
        std::vector<T*> all;
        while (all.size() != n) all.push_back(T::pool->acquire());
        for (T* const one : all) one->acquires = acquires;
        std::shuffle(all.begin(), all.end(), random);
        for (std::size_t i = 0; i != n; ++i)  // each is owned, the first ones by the last
          for (std::size_t child = 0; child != 2; ++child) all[i]->owned[child] = all[(2 * i + 2 + child) % n];
        return all;
      };
      const std::vector<T*> all = own(60);
      BOOST_TEST(T::pool->release(all[40]));
      for (T* const one : all) BOOST_TEST(!T::pool->release(one));  // all went with it
      own(50);
    }
    BOOST_TEST(T::destroyed == T::made);
    BOOST_TEST(T::made == 60);  // the end makes none
    BOOST_TEST(T::faults == 0);
    BOOST_TEST(reports == 0);  // what is left is no leak
  }
  set_misuse_handler(before);
}

}  // namespace
}  // namespace tarn::test
