// A store that comes back: code of the program runs inside a pool's store call, as a new-handler does, and uses that pool.
// Every product and every locking policy, and what that code may do: free, trim, ask for figures, allocate. Nothing waits (an
// alarm ends what does), the store isn't called within its own call, and the pool is right afterwards.
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/checking/switchable_checking.h"
#include "tarn/policies/locking/group_guard.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/observed_thread.h"

namespace {

/// The heap: what it calls, once, before it answers.
thread_local void (*calls)() = nullptr;       // when it is asked for memory
thread_local void (*calls_back)() = nullptr;  // when it gets some back
thread_local bool refuses = false;
thread_local bool answers = false;          // it is in a call
thread_local std::size_t calls_within = 0;  // that came meanwhile

/// Returns whether it called.
bool call(void (*&what)()) {
  if (answers) ++calls_within;
  if (what == nullptr || answers) return false;
  const auto once = std::exchange(what, nullptr);
  answers = true;
  once();
  answers = false;
  return true;
}
void* ask(std::size_t bytes, std::size_t alignment) {
  if (call(calls) && refuses) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}
void take_back(void* block) {
  if (block != nullptr) call(calls_back);
  std::free(block);
}

}  // namespace

// NOLINTBEGIN(misc-new-delete-overloads)
void* operator new(std::size_t bytes) {
  void* const block = ask(bytes, 16);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return ask(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const block = ask(bytes, static_cast<std::size_t>(alignment));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return ask(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { take_back(block); }
void operator delete(void* block, std::size_t) noexcept { take_back(block); }
void operator delete(void* block, std::align_val_t) noexcept { take_back(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { take_back(block); }
// NOLINTEND(misc-new-delete-overloads)

namespace tarn::test {
namespace {

/// What a pool can be asked for. Null: it hasn't that.
struct product {
  void (*make)();
  void (*end)();
  void* (*take)();
  void (*give)(void* block);
  void (*trim)();
  void (*ask)();
  bool (*reserve)();  // many more blocks than there are. Returns whether it could
};

std::size_t misuses = 0;  // that were reported
struct watched {
  watched() {
    alarm(60);  // a hang
    misuses = 0;
    set_misuse_handler([](const misuse& what) noexcept { misuses += what.kind != misuse_kind::leak; });
  }
  ~watched() {
    BOOST_TEST(misuses == 0u);
    set_misuse_handler(nullptr);
    alarm(0);
  }
};

const product* used = nullptr;
void* spare = nullptr;           // in use
std::vector<void*> taken;        // room for all of them: reserved before
std::size_t nulls_with_free = 0;

/// What the code does that the store runs.
using act = void (*)();
void frees() { used->give(std::exchange(spare, nullptr)); }
void trims() {
  used->trim();
  used->trim();
}
void asks() { used->ask(); }
void takes_the_free_one() {
  used->give(spare);
  spare = used->take();
  nulls_with_free += spare == nullptr;
}
void takes_all() {
  while (void* const block = used->take()) taken.push_back(block);
}
void frees_and_trims_and_takes() {
  used->give(std::exchange(spare, nullptr));
  used->trim();
  takes_all();
  used->trim();
}
void reserves() {
  if (used->reserve != nullptr && used->reserve()) ++nulls_with_free;  // it can't have
}

constexpr struct {
  const char* name;
  act what;
  bool asks_heap;  // by itself
} acts[] = {{"frees", frees, false},
            {"trims", trims, false},
            {"asks", asks, true},
            {"takes the free one", takes_the_free_one, false},
            {"takes all", takes_all, false},
            {"frees, trims, takes all", frees_and_trims_and_takes, false},
            {"reserves", reserves, false}};

void is_sound(std::size_t at_least) {
  BOOST_TEST(taken.size() >= at_least);
  std::vector<void*> sorted = taken;
  std::sort(sorted.begin(), sorted.end());
  BOOST_TEST((std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()));
  for (std::size_t i = 0; i != taken.size(); ++i) std::memset(taken[i], static_cast<int>(i), 48);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i != taken.size(); ++i)
    for (std::size_t b = 0; b != 48; ++b) wrong += static_cast<unsigned char*>(taken[i])[b] != static_cast<unsigned char>(i);
  BOOST_TEST(wrong == 0u);
}

/// The same while a chunk goes back.
void give_back(const product& tried, act what, bool asks_heap) {
  spare = std::exchange(taken.back(), tried.take());
  for (int i = 0; i != 6000; ++i) taken.push_back(tried.take());  // several chunks of any product
  calls_within = 0;
  calls_back = what;
  for (void* const block : taken) tried.give(block);
  taken.clear();
  if (tried.trim != nullptr) {
    tried.trim();
    BOOST_TEST((calls_back == nullptr));
  }
  calls_back = nullptr;
  BOOST_TEST(nulls_with_free == 0u);
  if (!asks_heap) BOOST_TEST(calls_within == 0u);
  is_sound(0);
  for (void* const block : taken) tried.give(block);
  if (spare != nullptr) tried.give(std::exchange(spare, nullptr));
  taken.clear();
  if (tried.trim != nullptr) tried.trim();
}

void try_act(const product& tried, act what, bool asks_heap, bool then_refuses) {
  const watched now;
  tried.make();
  used = &tried;
  nulls_with_free = calls_within = 0;
  spare = tried.take();
  BOOST_REQUIRE(spare != nullptr);
  calls = what;
  refuses = then_refuses;
  bool refused = false;
  const auto has_called = [] { return calls == nullptr; };
  for (int i = 0; i != 5000 && !has_called(); ++i) {
    void* const block = tried.take();
    if (block != nullptr) taken.push_back(block);
    else refused = true;
  }
  BOOST_TEST(has_called());
  BOOST_TEST(refused <= then_refuses);
  BOOST_TEST(nulls_with_free == 0u);
  if (!asks_heap) BOOST_TEST(calls_within == 0u);
  calls = nullptr;
  refuses = false;
  for (int i = 0; i != 300; ++i) {  // it goes on as if nothing had been
    void* const block = tried.take();
    if (block == nullptr) BOOST_FAIL("no block afterwards");
    taken.push_back(block);
  }
  if (spare != nullptr) taken.push_back(std::exchange(spare, nullptr));
  is_sound(300);
  give_back(tried, what, asks_heap);
  tried.end();
}

void all_acts(const char* name, const product& tried, called_from = {}) {
  taken.reserve(400000);
  for (const auto& one : acts) {
    if (tried.trim == nullptr && (one.what == trims || one.what == frees_and_trims_and_takes)) continue;
    for (const bool then_refuses : {false, true}) {
      BOOST_TEST_CONTEXT(name << " " << one.name << (then_refuses ? ", then the store refuses" : "")) {
        try_act(tried, one.what, one.asks_heap, then_refuses);
      }
    }
  }
}

// ---- products --------------------------------------------------------------------------------------------------------------

/// The one of its type that is tried.
template <class Pool>
std::optional<Pool> its;
template <class Pool>
void begin() {
  its<Pool>.emplace();
}
template <class Pool>
void end() {
  its<Pool>.reset();
}

template <class Pool>
constexpr product of_blocks() {
  product all{begin<Pool>,
              end<Pool>,
              [] { return its<Pool>->try_allocate(); },
              [](void* block) { its<Pool>->deallocate(block); },
              nullptr,
              [] {
                Pool& pool = *its<Pool>;
                BOOST_TEST(pool.capacity() != 0u);
                BOOST_TEST(pool.owns(spare));
                if constexpr (requires { pool.statistics(); }) BOOST_TEST(pool.statistics().in_use != 0u);
                if constexpr (requires { pool.verify(); }) BOOST_TEST(pool.verify() == 0u);
                static_cast<void>(snapshot());
                static_cast<void>(reclaim_all());
              },
              [] { return its<Pool>->try_reserve(1'000'000); }};
  if constexpr (requires(Pool& p) { p.trim(); }) all.trim = [] { its<Pool>->trim(); };
  return all;
}

template <class... Policies>
void blocks(const char* name, called_from = {}) {
  static constexpr product tried = of_blocks<pool<static_size<64>, Policies...>>();
  all_acts(name, tried);
}

struct herd;

struct counted_mask {
  using state = int;
  static int save_and_mask() noexcept { return depth++; }
  static void restore(int before) noexcept { depth = before; }
  static inline int depth = 0;
};
struct only_lockable {  // no try_lock()
  void lock() { own.lock(); }
  void unlock() { own.unlock(); }
  std::mutex own;
};
/// A user's policy, which says nothing about a second growth guard.
struct own_locking {
  using axis = tarn::axis::locking;
  static constexpr locking_traits traits{};
  template <class T>
  using cell = T;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  class guards {
   public:
    static constexpr bool can_try = false;
    std::lock_guard<std::mutex> hot() const { return std::lock_guard<std::mutex>(hot_); }
    std::lock_guard<std::mutex> growth() const { return std::lock_guard<std::mutex>(growth_); }
    static void end() noexcept {}

   private:
    mutable std::mutex hot_, growth_;
  };
  template <class Traits>
  using state = detail::direct_calls<guards>;
};

BOOST_AUTO_TEST_CASE(under_every_lock) {
  blocks<fixed_growth<10>>("no_locking");
  blocks<fixed_growth<10>, interrupt_locking<counted_mask>>("interrupts");
  blocks<fixed_growth<10>, mutex_locking<>>("mutex");
  blocks<fixed_growth<10>, mutex_locking<only_lockable>>("lockable");
  blocks<fixed_growth<10>, grouped_locking<herd, std::mutex>>("grouped with a mutex");
  blocks<fixed_growth<10>, thread_cached<>>("thread_cached");
  blocks<fixed_growth<10>, lock_free>("lock_free");
  blocks<fixed_growth<10>, own_locking>("a user's");
  BOOST_TEST(counted_mask::depth == 0);
}

BOOST_AUTO_TEST_CASE(under_a_group_guard) {
  const group_guard<herd> guard;
  blocks<fixed_growth<10>, grouped_locking<herd, std::mutex>>("guarded");
}

struct never {
  bool operator()(std::size_t) const { return false; }
};
struct hears {
  static void on_event(const trace_event&) noexcept {}
};

BOOST_AUTO_TEST_CASE(under_other_policies) {
  blocks<thread_cached<>, grow_ahead<20>, reclaim_and_retry<>, checked, counting_statistics, named<"c">>("ahead, checked");
  blocks<no_locking, hardened, page_local_reuse<>, return_empty_chunks<>>("hardened, chunks go back");
  blocks<mutex_locking<>, switchable_checking, named<"s">, geometric_growth<4, 64>>("switchable");
  blocks<no_locking, fall_back_to<heap_store>, no_growth<20>>("falls back");
  blocks<lock_free, tracing_statistics<hears, counting_statistics>, retry_with<never>>("traced, retries");
}

template <class... Policies>
inline constexpr bool is_lock_free = (std::is_same_v<Policies, lock_free> || ...);

/// While one thread is at the store, whose code uses the pool, another that finds no block waits, and is served.
template <class... Policies>
void another_waits(const char* name, called_from = {}) {
  using Pool = pool<static_size<64>, fixed_growth<10>, Policies...>;
  static Pool* all;
  static std::optional<observed_thread> other;
  static void* got;
  static bool has_waited;
  const watched now;
  Pool pool;
  all = &pool;
  got = nullptr;
  std::vector<void*> all_blocks;
  calls = [] {
    other.emplace([] { got = all->try_allocate(); });
    has_waited = other->comes_to_wait();
    BOOST_TEST(all->try_allocate() == nullptr);
    if constexpr (requires(Pool& p) { p.trim(); }) BOOST_TEST(all->trim() == 0u);
    BOOST_TEST(!all->try_reserve(1000));
  };
  while (calls != nullptr) all_blocks.push_back(pool.allocate());
  other->join();
  BOOST_TEST_CONTEXT(name) {
    BOOST_TEST(has_waited);
    BOOST_TEST(got != nullptr);
  }
  pool.deallocate(got);
  for (void* const block : all_blocks) pool.deallocate(block);
  other.reset();
}
BOOST_AUTO_TEST_CASE(another_thread_waits_for_the_store) {
  another_waits<mutex_locking<>>("mutex");
  another_waits<mutex_locking<only_lockable>>("lockable");
  another_waits<grouped_locking<herd, std::mutex>>("grouped with a mutex");
  another_waits<thread_cached<>>("thread_cached");
  another_waits<lock_free>("lock_free");
  another_waits<own_locking>("a user's");
}

/// Two threads, each at the store of its own pool, trim the other's: neither waits.
template <class Pool>
void trim_each_other() {
  static std::barrier<>* both;
  static thread_local Pool* not_mine;
  const watched now;
  Pool first, second;
  std::barrier meet(2);
  both = &meet;
  const auto grow = [](Pool& mine, Pool& its) {
    not_mine = &its;
    calls = [] {
      both->arrive_and_wait();
      static_cast<void>(not_mine->trim());
      both->arrive_and_wait();
    };
    mine.deallocate(mine.allocate());
  };
  std::thread beside([&] { grow(first, second); });
  grow(second, first);
  beside.join();
}
BOOST_AUTO_TEST_CASE(two_stores_that_trim_each_others_pool_dont_wait) {
  trim_each_other<pool<static_size<64>, mutex_locking<>>>();
  trim_each_other<pool<static_size<64>, thread_cached<>>>();
}

/// At its cap, a pool refuses at once, though another thread holds the growth guard, as if it were at the store.
template <class... Policies>
void refuses_at_once(const char* name, called_from = {}) {
  using Pool = pool<static_size<64>, Policies...>;
  const watched now;
  Pool pool;
  std::vector<void*> all;
  while (void* const block = pool.try_allocate()) all.push_back(block);
  BOOST_TEST_CONTEXT(name) {
    BOOST_TEST(all.size() >= 10u);
    pool.deallocate(all.back());
    all.back() = pool.try_allocate();
    BOOST_TEST(pool.try_allocate() == nullptr);
  }
  auto& state = detail::inspector::drained(pool);
  BOOST_TEST(pool.try_allocate() == nullptr);
  std::barrier meet(2);
  std::thread other([&] {
    const auto growing = state.locking.growth_guard();
    [[maybe_unused]] const auto guard = [&] {
      if constexpr (is_lock_free<Policies...>) return state.locking.core_guard();
      else return detail::no_guard();
    }();
    meet.arrive_and_wait();
    meet.arrive_and_wait();
  });
  meet.arrive_and_wait();
  BOOST_TEST(pool.try_allocate() == nullptr);  // waits for ever if it asks for the guard
  std::array<void*, 3> out;
  BOOST_TEST(pool.try_allocate_batch(out) == 0u);
  if constexpr (!is_lock_free<Policies...>) BOOST_TEST(!pool.try_reserve(all.size() + 1));
  meet.arrive_and_wait();
  other.join();
  pool.deallocate_batch(all);
}
BOOST_AUTO_TEST_CASE(a_refusal_at_the_cap_waits_for_no_thread) {
  refuses_at_once<lock_free, static_array_store<10>>("lock_free array");
  refuses_at_once<lock_free, fixed_growth<10, 40>, named<"l">>("lock_free of several chunks");
  refuses_at_once<mutex_locking<>, fixed_growth<10, 40>, checked>("mutex, checked");
  refuses_at_once<thread_cached<>, fixed_growth<10, 40>>("thread_cached");
  refuses_at_once<own_locking, fixed_growth<10, 40>>("a user's");
}

// ---- other products --------------------------------------------------------------------------------------------------------

struct reset_item {
  char bytes[64];
  void reset() noexcept {}
};

/// The registry's figures.
void ask_registry() {
  static_cast<void>(snapshot());
  static_cast<void>(reclaim_all());
  static_cast<void>(report_in_use());
}

template <class Sizes>
constexpr product of_sizes() {
  return {begin<Sizes>,
          end<Sizes>,
          [] { return its<Sizes>->try_allocate(64); },
          [](void* block) { its<Sizes>->deallocate(block, 64); },
          [] { its<Sizes>->trim(); },
          [] {
            ask_registry();
            static_cast<void>(its<Sizes>->large());
            for (const std::size_t bytes : {200u, 1u << 20})  // another class, and a region of its own: what there is
              if (void* const other = its<Sizes>->try_allocate(bytes)) its<Sizes>->deallocate(other, bytes);
          },
          nullptr};
}

template <class Functions>
constexpr product of_functions() {
  return {[] {},
          [] {},
          [] {
            errno = 0;
            void* const block = Functions::allocate(64);
            if (block == nullptr) BOOST_TEST(errno == ENOMEM);
            return block;
          },
          [](void* block) { Functions::deallocate(block); },
          [] { Functions::trim(); },
          [] {
            ask_registry();
            for (const std::size_t bytes : {200u, 1u << 20}) Functions::deallocate(Functions::allocate(bytes));
          },
          nullptr};
}

BOOST_AUTO_TEST_CASE(of_objects) {
  using objects = object_pool<reset_item, mutex_locking<>, fixed_growth<10>>;
  static constexpr product constructed{begin<objects>, end<objects>, []() -> void* { return its<objects>->try_construct(); },
                                       [](void* one) { its<objects>->destroy(static_cast<reset_item*>(one)); }, nullptr,
                                       ask_registry, nullptr};
  all_acts("object_pool", constructed);
  using idle = recycling_pool<reset_item, mutex_locking<>, fixed_growth<10>>;
  static constexpr product recycled{begin<idle>, end<idle>, []() -> void* { return its<idle>->acquire(); },
                                    [](void* one) { its<idle>->release(static_cast<reset_item*>(one)); }, nullptr,
                                    ask_registry, nullptr};
  all_acts("recycling_pool", recycled);
}

/// One thread is at the store for a class, another waits there for its class. The first asks for a block of that class, too.
template <class Sizes>
void another_class_isnt_waited_for() {
  static Sizes* all;
  static std::optional<observed_thread> other;
  static void* got;
  const watched now;
  Sizes pool;
  all = &pool;
  void* const first = pool.try_allocate(200);
  got = nullptr;
  std::vector<void*> blocks;
  calls = [] {
    other.emplace([] { got = all->try_allocate(3000); });
    static_cast<void>(other->comes_to_wait());
    if (void* const block = all->try_allocate(3000)) all->deallocate(block, 3000);
    static_cast<void>(all->trim());
  };
  while (calls != nullptr) blocks.push_back(pool.try_allocate(64));
  other->join();
  BOOST_TEST(got != nullptr);
  pool.deallocate(got, 3000);
  pool.deallocate(first, 200);
  for (void* const block : blocks) pool.deallocate(block, 64);
  other.reset();
}
BOOST_AUTO_TEST_CASE(a_store_of_many_sizes_waits_for_no_class) {
  another_class_isnt_waited_for<size_class_pool<mutex_locking<>>>();
  another_class_isnt_waited_for<size_class_pool<thread_cached<>, fixed_growth<10>>>();
}
BOOST_AUTO_TEST_CASE(of_many_sizes) {
  static constexpr product sizes = of_sizes<size_class_pool<fixed_growth<10>>>();
  all_acts("size_class_pool", sizes);
  static constexpr product locked = of_sizes<size_class_pool<mutex_locking<>, checked>>();
  all_acts("size_class_pool, locked", locked);
  static constexpr product functions = of_functions<xmalloc_heap>();
  all_acts("xmalloc", functions);
  using resource = pmr::synchronized_pool_resource;
  static constexpr product resources{begin<resource>, end<resource>,
                                     []() -> void* {
                                       try {
                                         return its<resource>->allocate(64, 8);
                                       } catch (const std::bad_alloc&) {
                                         return nullptr;
                                       }
                                     },
                                     [](void* block) { its<resource>->deallocate(block, 64, 8); },
                                     [] { its<resource>->trim(); }, ask_registry, nullptr};
  all_acts("resource", resources);
}

}  // namespace
}  // namespace tarn::test
