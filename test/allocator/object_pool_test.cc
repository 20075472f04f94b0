// Pools of objects: what construct() makes of its arguments, what an exception leaves behind, and for_each() against a set of
// one's own. `defect_N` are defects of other libraries; xmalloc_test.cc lists them all.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

// ---- what construct() makes of its arguments ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(arguments_arrive_as_they_were_given) {
  struct seen {
    explicit seen(int&) : how('l') {}
    explicit seen(const int&) : how('c') {}
    explicit seen(int&&) : how('r') {}
    char how;
  };
  object_pool<seen> pool;
  int i = 1;
  const int c = 2;
  BOOST_TEST(pool.construct(i)->how == 'l');
  BOOST_TEST(pool.construct(c)->how == 'c');
  BOOST_TEST(pool.construct(3)->how == 'r');
  BOOST_TEST(pool.construct(std::move(i))->how == 'r');
  BOOST_TEST(pool.try_construct(i)->how == 'l');
  BOOST_TEST(pool.try_construct(c)->how == 'c');
  BOOST_TEST(pool.try_construct(3)->how == 'r');
  BOOST_TEST(pool.make_unique(i)->how == 'l');
  BOOST_TEST(pool.make_unique(3)->how == 'r');
  BOOST_TEST(pool.allocate_shared(c)->how == 'c');
  BOOST_TEST(pool.allocate_shared(3)->how == 'r');
}

BOOST_AUTO_TEST_CASE(move_only_arguments_and_more_than_three_of_them) {
  struct wide {
    wide(std::unique_ptr<int> one, const std::string& two, int& three, std::unique_ptr<int>&& four, double five, char six)
        : a(std::move(one)), b(two), c(three), d(std::move(four)), e(five), f(six) {}
    std::unique_ptr<int> a;
    std::string b;
    int& c;
    std::unique_ptr<int> d;
    double e;
    char f;
  };
  object_pool<wide> pool;
  int three = 3;
  auto four = std::make_unique<int>(4);
  wide* const w = pool.construct(std::make_unique<int>(1), "two", three, std::move(four), 5.0, '6');
  BOOST_TEST(*w->a == 1);
  BOOST_TEST(w->b == "two");
  BOOST_TEST(&w->c == &three);
  BOOST_TEST(*w->d == 4);
  BOOST_TEST(four == nullptr);
  BOOST_TEST(w->e == 5.0);
  BOOST_TEST(w->f == '6');
  pool.destroy(w);
  const auto u = pool.make_unique(std::make_unique<int>(7), "eight", three, std::make_unique<int>(9), 10.0, 'b');
  BOOST_TEST(*u->d == 9);
  const auto s = pool.allocate_shared(std::make_unique<int>(7), "eight", three, std::make_unique<int>(11), 10.0, 'b');
  BOOST_TEST(*s->d == 11);
}

BOOST_AUTO_TEST_CASE(members_of_an_aggregate_and_values_of_a_scalar) {
  struct point {
    int x;
    int& y;
    std::string name;
    double weight = 0.5;
  };
  int y = 2;
  object_pool<point> points;
  point* const p = points.construct(1, y, std::string("here"));
  BOOST_TEST(p->x == 1);
  BOOST_TEST(&p->y == &y);
  BOOST_TEST(p->name == "here");
  BOOST_TEST(p->weight == 0.5);
  BOOST_TEST(points.try_construct(1, y, std::string("there"), 0.25)->weight == 0.25);

  struct bare {
    int a, b;
  };
  object_pool<bare> bares;
  void* const dirty = bares.blocks().allocate();
  std::fill_n(static_cast<unsigned char*>(dirty), sizeof(bare), static_cast<unsigned char>(0xDD));
  bares.blocks().deallocate(dirty);
  BOOST_TEST(bares.construct()->b == 0);  // no arguments: value-initialised, as make_unique does
  object_pool<int> ints;
  BOOST_TEST(*ints.construct(7) == 7);
  object_pool<const int> constants;
  const int* const c = constants.construct(8);
  BOOST_TEST(*c == 8);
  constants.destroy(c);
}

BOOST_AUTO_TEST_CASE(a_constructor_that_nothing_else_may_call) {
  struct no_way_out {
    no_way_out() = default;
    no_way_out(const no_way_out&) = delete;
    no_way_out& operator=(const no_way_out&) = delete;
    static void* operator new(std::size_t) = delete;  // the pool's blocks are its own affair
    int value = 5;
  };
  object_pool<no_way_out> pool;
  no_way_out* const o = pool.construct();
  BOOST_TEST(o->value == 5);
  pool.destroy(o);
}

// ---- objects that count themselves ----------------------------------------------------------------------------------------

/// Bytes of them, aligned to Align, that all hold one mark.
template <std::size_t Bytes, std::size_t Align = 1>
struct alignas(Align) item {
  explicit item(unsigned char mark = 1) {
    if (reinterpret_cast<std::uintptr_t>(this) % Align != 0) ++misaligned;
    std::fill(std::begin(bytes), std::end(bytes), mark);
    ++alive;
  }
  item(const item&) = delete;
  item& operator=(const item&) = delete;
  ~item() {
    if (!whole()) ++spoiled;
    --alive;
  }
  bool whole() const { return std::count(std::begin(bytes), std::end(bytes), bytes[0]) == static_cast<std::ptrdiff_t>(Bytes); }

  unsigned char bytes[Bytes];
  static inline long alive = 0;
  static inline long spoiled = 0;
  static inline long misaligned = 0;
};

/// Throws on demand.
struct moody {
  explicit moody(bool throws) {
    ++tried;
    if (throws) throw std::runtime_error("moody");
    ++alive;
  }
  moody(const moody&) = delete;
  moody& operator=(const moody&) = delete;
  ~moody() { --alive; }
  long content[3] = {};
  static inline int tried = 0;
  static inline int alive = 0;
};

/// How many more objects the pool has room for. They are destroyed again.
template <class Pool, class... Args>
std::size_t room_of(Pool& pool, called_from = {}, const Args&... args) {
  std::vector<typename Pool::value_type*> all;
  while (auto* const o = pool.try_construct(args...)) {
    all.push_back(o);
    REQUIRE(all.size() < 100'000);  // a pool that comes to no end
  }
  for (auto* const o : all) pool.destroy(o);
  return all.size();
}

BOOST_AUTO_TEST_CASE(null_is_left_alone) {
  object_pool<item<8>> pool;
  pool.destroy(nullptr);
  const item<8>* const none = nullptr;
  object_pool<const item<8>>().destroy(none);
  BOOST_TEST(pool.blocks().capacity() == 0u);
}

template <class Pool>
void throw_often(called_from = {}) {
  Pool pool;
  moody* const first = pool.construct(false);
  for (int i = 0; i < 100; ++i) {
    BOOST_CHECK_THROW((void)pool.construct(true), std::runtime_error);
    BOOST_CHECK_THROW((void)pool.try_construct(true), std::runtime_error);
    BOOST_CHECK_THROW((void)pool.make_unique(true), std::runtime_error);
    BOOST_CHECK_THROW((void)pool.allocate_shared(true), std::runtime_error);
  }
  BOOST_TEST(moody::alive == 1);
  BOOST_TEST(pool.blocks().capacity() == 5u);
  BOOST_TEST(room_of(pool, {}, false) == 4u);
  pool.destroy(first);
  BOOST_TEST(room_of(pool, {}, false) == 5u);
}

BOOST_AUTO_TEST_CASE(defect_19_a_constructor_that_throws_gives_its_block_back) {
  throw_often<object_pool<moody, static_array_store<5>>>();
  throw_often<object_pool<moody, no_growth<5>>>();
  throw_often<object_pool<moody, no_growth<5>, mutex_locking<>, batch_reuse<>>>();
  BOOST_TEST(moody::alive == 0);
}

BOOST_AUTO_TEST_CASE(no_constructor_runs_without_a_block) {
  object_pool<moody, static_array_store<2>> pool;
  std::vector<moody*> all{pool.construct(false), pool.construct(false)};
  const int tried = moody::tried;
  BOOST_TEST(pool.try_construct(false) == nullptr);
  BOOST_TEST(pool.try_construct(true) == nullptr);
  BOOST_CHECK_THROW((void)pool.construct(true), std::bad_alloc);
  BOOST_CHECK_THROW((void)pool.make_unique(true), std::bad_alloc);
  BOOST_CHECK_THROW((void)pool.allocate_shared(true), std::bad_alloc);
  BOOST_TEST(moody::tried == tried);
  pool.destroy(all[0]);
  BOOST_TEST(pool.try_construct(false) == all[0]);
}

BOOST_AUTO_TEST_CASE(a_failing_store_changes_nothing) {
  test::upstream upstream;
  {
    object_pool<item<40>, resource_store, fixed_growth<3>> pool{resource_store{&upstream}};
    for (int i = 0; i < 3; ++i) BOOST_TEST(pool.try_construct() != nullptr);
    upstream.fail(1, failing::once);
    BOOST_CHECK_THROW((void)pool.construct(), std::bad_alloc);
    BOOST_TEST(item<40>::alive == 3);
    BOOST_TEST(pool.construct() != nullptr);
    upstream.fail(1, failing::never);
  }
  BOOST_TEST(item<40>::alive == 0);
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

// ---- smart pointers ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_unique_ptr_ends_its_object_in_its_pool) {
  using pool_type = object_pool<item<24>, static_array_store<2>>;
  pool_type pool;
  pool_type::unique_ptr none;
  BOOST_TEST(none.get() == nullptr);
  {
    auto a = pool.make_unique(static_cast<unsigned char>(3));
    auto b = pool.make_unique();
    BOOST_TEST(a->bytes[23] == 3);
    BOOST_TEST(room_of(pool) == 0u);
    b.reset();
    BOOST_TEST(room_of(pool) == 1u);
    none = std::move(a);
    BOOST_TEST(room_of(pool) == 1u);
  }
  BOOST_TEST(item<24>::alive == 1);
  none.reset();
  BOOST_TEST(item<24>::alive == 0);
  BOOST_TEST(room_of(pool) == 2u);
}

BOOST_AUTO_TEST_CASE(a_shared_object_ends_with_its_last_owner) {
  object_pool<item<24>, static_array_store<2>> pool;
  std::weak_ptr<item<24>> weak;
  {
    auto first = pool.allocate_shared(static_cast<unsigned char>(3));
    weak = first;
    auto second = first;
    BOOST_TEST(room_of(pool) == 1u);
    first.reset();
    BOOST_TEST(room_of(pool) == 1u);
    BOOST_TEST(weak.lock()->bytes[23] == 3);
  }
  BOOST_TEST(weak.expired());
  BOOST_TEST(item<24>::alive == 0);
  BOOST_TEST(room_of(pool) == 2u);  // while the weak_ptr still looks at what the owners shared
  weak.reset();
}

BOOST_AUTO_TEST_CASE(a_weak_ptr_may_outlive_the_pool) {
  std::weak_ptr<item<24>> weak;
  {
    object_pool<item<24>> pool;
    const auto shared = pool.allocate_shared();
    weak = shared;
  }
  BOOST_TEST(weak.expired());
  BOOST_TEST(weak.lock() == nullptr);
}

// ---- for_each ---------------------------------------------------------------------------------------------------------------

/// Beside a pool: what ought to be in it.
template <class Pool>
class shadow {
  using T = typename Pool::value_type;

 public:
  explicit shadow(Pool& pool) : pool_(pool) {}

  bool add(called_from = {}) {
    const auto mark = static_cast<unsigned char>(++marks_ % 251 + 1);
    T* const o = pool_.try_construct(mark);
    if (o == nullptr) return false;
    REQUIRE(live_.emplace(o, mark).second);
    return true;
  }
  void remove(std::mt19937_64& random, called_from = {}) {
    if (live_.empty()) return;
    const auto at = std::next(live_.begin(), static_cast<std::ptrdiff_t>(random() % live_.size()));
    REQUIRE(at->first->bytes[0] == at->second);
    T* const o = at->first;
    live_.erase(at);
    pool_.destroy(o);
  }
  void remove_if(auto wanted) {
    for (auto at = live_.begin(); at != live_.end();) {
      const auto here = at++;
      if (!wanted()) continue;
      pool_.destroy(here->first);
      live_.erase(here);
    }
  }
  /// Every live object once, by ascending address, and nothing else.
  void compare(called_from = {}) const {
    auto expected = live_.begin();
    std::size_t seen = 0;
    bool same = true;
    pool_.for_each([&](T& o) {
      ++seen;
      same = same && expected != live_.end() && &o == expected->first && o.bytes[0] == expected->second && o.whole();
      if (expected != live_.end()) ++expected;
    });
    CHECK(seen == live_.size());
    CHECK(same);
  }
  void forget() { live_.clear(); }
  std::size_t live() const { return live_.size(); }

 private:
  Pool& pool_;
  std::map<T*, unsigned char> live_;
  unsigned marks_ = 0;
};

constexpr std::size_t many = 900;  // several chunks, several runs of coloured blocks, several batches

template <class Pool>
void visit_in_many_states(Pool& pool) {
  using T = typename Pool::value_type;
  const long alive = T::alive;
  std::mt19937_64 random(seed());
  shadow<Pool> all(pool);
  all.compare();  // nothing was ever constructed

  CHECK(all.add());
  all.compare();
  all.remove_if([] { return true; });
  all.compare();  // one free block

  for (std::size_t n = 0; n < many && all.add(); ++n)
    if (n < 40 || n % 61 == 0) all.compare();  // while it is carved
  all.compare();

  all.remove_if([&] { return random() % 2 == 0; });
  all.compare();
  all.remove_if([i = 0]() mutable { return ++i % 3 == 0; });
  all.compare();
  while (all.live() < many / 2 && all.add()) {
  }
  all.compare();

  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 50; ++i)
      if (random() % 2 == 0) all.add();
      else all.remove(random);
    all.compare();
  }

  all.remove_if([&] { return random() % 10 != 0; });
  all.compare();
  pool.blocks().trim();
  all.compare();
  while (all.live() < many && all.add()) {
  }
  all.compare();

  pool.clear();
  all.forget();
  all.compare();
  CHECK(T::alive == alive);
  while (all.live() < many && all.add()) {
  }
  all.compare();
  pool.clear();
  pool.release();
  all.forget();
  all.compare();
  while (all.live() < many / 3 && all.add()) {
  }
  all.compare();
}

template <class Pool, class... Given>
void visit(called_from = {}, const Given&... given) {
  using T = typename Pool::value_type;
  {
    const auto pool = std::make_unique<Pool>(given...);
    visit_in_many_states(*pool);
  }
  CHECK(T::alive == 0);  // the destructor destroyed what was left
  CHECK(T::spoiled == 0);
  CHECK(T::misaligned == 0);
}

BOOST_AUTO_TEST_CASE(for_each_visits_the_live_objects) {
  visit<object_pool<item<40>>>();
  visit<object_pool<item<40>, fixed_growth<37>>>();
  visit<object_pool<item<40>, fixed_growth<37>, lifo_reuse<>>>();
  visit<object_pool<item<40>, geometric_growth<1, 100>, batch_reuse<prefetch::none, 128>>>();
  visit<object_pool<item<40>, fixed_growth<1>>>();
  visit<object_pool<item<40>, mutex_locking<>, fixed_growth<100>>>();
  visit<object_pool<item<40>, shared_locking, counting_statistics>>();
  visit<object_pool<item<40>, page_store<>>>();
}
BOOST_AUTO_TEST_CASE(for_each_in_bounded_stores) {
  visit<object_pool<item<40>, static_array_store<700>>>();
  visit<object_pool<item<40>, static_array_store<700>, batch_reuse<>>>();
  visit<object_pool<item<40>, static_array_store<many>, batch_reuse<prefetch::none, 128>>>();
  std::vector<std::byte> bytes(40'003);
  visit<object_pool<item<40>, buffer_store>>({}, buffer_store{std::span(bytes).subspan(3)});
  visit<object_pool<item<40>, buffer_store, batch_reuse<>>>({}, buffer_store{std::span(bytes).subspan(3)});
}
BOOST_AUTO_TEST_CASE(for_each_over_coloured_blocks) {
  visit<object_pool<item<256>, fixed_growth<800>>>();
  visit<object_pool<item<256, 64>, fixed_growth<600>, lifo_reuse<>>>();
  visit<object_pool<item<256>, static_array_store<850>>>();
  visit<object_pool<item<4096>, fixed_growth<50>>>();
}
BOOST_AUTO_TEST_CASE(for_each_over_the_smallest_and_the_most_aligned_objects) {
  visit<object_pool<item<1>>>();
  visit<object_pool<item<1>, static_array_store<500>>>();
  visit<object_pool<item<1>, mutex_locking<>, fixed_growth<7>>>();
  visit<object_pool<item<128, 128>>>();
  visit<object_pool<item<64, 64>, fixed_growth<9>, lifo_reuse<>>>();
  visit<object_pool<item<4096, 4096>, fixed_growth<100>>>();
}

BOOST_AUTO_TEST_CASE(the_current_object_may_be_destroyed) {
  const auto every_third = []<class Pool>(std::type_identity<Pool>) {
    Pool pool;
    for (int i = 0; i < 300; ++i) REQUIRE(pool.try_construct(static_cast<unsigned char>(i % 200)) != nullptr);
    std::size_t visits = 0;
    pool.for_each([&](auto& o) {
      if (++visits % 3 == 0) pool.destroy(&o);
    });
    CHECK(visits == 300);
    visits = 0;
    pool.for_each([&](auto& o) {
      ++visits;
      CHECK(o.whole());
    });
    CHECK(visits == 200);
    CHECK(Pool::value_type::alive == 200);
    // The hundred blocks are free again, each once.
    const std::size_t capacity = pool.blocks().capacity();
    std::set<const void*> distinct;
    for (std::size_t i = 200; i < capacity; ++i) REQUIRE(distinct.insert(pool.try_construct()).second);
    CHECK(pool.blocks().capacity() == capacity);
    pool.for_each([&](auto& o) { pool.destroy(&o); });
    CHECK(Pool::value_type::alive == 0);
  };
  every_third(std::type_identity<object_pool<item<32>>>{});
  every_third(std::type_identity<object_pool<item<32>, fixed_growth<11>, lifo_reuse<>>>{});
  every_third(std::type_identity<object_pool<item<256>, static_array_store<300>>>{});
  every_third(std::type_identity<object_pool<item<256>, no_growth<300>, batch_reuse<prefetch::none, 128>>>{});
}

BOOST_AUTO_TEST_CASE(a_callback_may_construct) {
  const auto replace = []<class Pool>(std::type_identity<Pool>) {
    Pool pool;
    std::set<const void*> before;
    for (int i = 0; i < 500; ++i) before.insert(pool.construct(static_cast<unsigned char>(1)));
    for (int i = 0; i < 100; ++i) {  // and some free blocks
      const auto at = std::next(before.begin(), i);
      pool.destroy(static_cast<typename Pool::value_type*>(const_cast<void*>(*at)));
      before.erase(at);
    }
    std::set<const void*> visited, made;
    pool.for_each([&](auto& o) {
      if (o.bytes[0] != 1) return;  // one of those that were made meanwhile
      REQUIRE(visited.insert(&o).second);
      if (visited.size() % 2 == 0) {
        pool.destroy(&o);
        made.erase(&o);
      }
      for (int i = 0; i < 3; ++i) {
        const auto* const fresh = pool.construct(static_cast<unsigned char>(2));
        REQUIRE(made.insert(fresh).second);
      }
    });
    CHECK(visited == before);
    CHECK(made.size() == 1200);
    std::size_t live = 0;
    pool.for_each([&](auto& o) {
      ++live;
      CHECK(o.whole());
      CHECK((o.bytes[0] == 2) == made.contains(&o));
    });
    CHECK(live == 1200 + 200);
    pool.clear();
    CHECK(Pool::value_type::alive == 0);
  };
  replace(std::type_identity<object_pool<item<32>>>{});
  replace(std::type_identity<object_pool<item<32>, fixed_growth<50>, lifo_reuse<>>>{});
  replace(std::type_identity<object_pool<item<256>, batch_reuse<prefetch::none, 128>, fixed_growth<300>>>{});
  replace(std::type_identity<object_pool<item<1>, mutex_locking<>>>{});
}

template <class Pool>
void throw_in_every_place(called_from = {}) {
  constexpr std::size_t blocks = 150;
  for (std::size_t place : {1u, 2u, 50u, 74u, 75u}) {
    for (const bool destroys : {false, true}) {
      Pool pool;
      std::vector<item<48>*> all;
      while (auto* const o = pool.try_construct()) all.push_back(o);
      REQUIRE(all.size() == blocks);
      for (std::size_t i = 0; i < blocks; i += 2) pool.destroy(all[i]);
      std::size_t visits = 0;
      const auto call = [&](item<48>& o) {
        ++visits;
        if (destroys) pool.destroy(&o);
        if (visits == place) throw std::runtime_error("enough");
      };
      BOOST_CHECK_THROW(pool.for_each(call), std::runtime_error);
      CHECK(visits == place);
      const std::size_t left = blocks / 2 - (destroys ? place : 0);
      CHECK(item<48>::alive == static_cast<long>(left));
      std::size_t seen = 0;
      pool.for_each([&](item<48>& o) {
        ++seen;
        CHECK(o.whole());
      });
      CHECK(seen == left);
      CHECK(room_of(pool) == blocks - left);
      CHECK(room_of(pool) == blocks - left);
      CHECK(pool.blocks().capacity() == blocks);
    }
    CHECK(item<48>::alive == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_callback_that_throws_leaves_the_pool_whole) {
  throw_in_every_place<object_pool<item<48>, static_array_store<150>>>();
  throw_in_every_place<object_pool<item<48>, static_array_store<150>, batch_reuse<>>>();
  throw_in_every_place<object_pool<item<48>, fixed_growth<20, 150>, batch_reuse<prefetch::none, 128>>>();
  throw_in_every_place<object_pool<item<48>, geometric_growth<2, 64, 2, 150>, lifo_reuse<>>>();
}

BOOST_AUTO_TEST_CASE(
    for_each_gives_the_blocks_back_lowest_first) {  // so that a pool that was looked at carves no more than before
  object_pool<item<64>> pool;
  std::vector<item<64>*> all;
  for (int i = 0; i < 60; ++i) all.push_back(pool.construct());
  std::sort(all.begin(), all.end());
  for (item<64>* const o : all) pool.destroy(o);
  pool.for_each([](auto&) {});
  for (item<64>* const o : all) BOOST_TEST(pool.construct() == o);
}

// ---- all of it ----------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(clear_destroys_and_keeps_the_blocks) {
  object_pool<item<24>, fixed_growth<10>> pool;
  for (int i = 0; i < 95; ++i) BOOST_TEST(pool.try_construct() != nullptr);
  const std::size_t capacity = pool.blocks().capacity();
  for (int round = 0; round < 5; ++round) {
    pool.clear();
    BOOST_TEST(item<24>::alive == 0);
    for (std::size_t i = 0; i < capacity; ++i) BOOST_TEST(pool.try_construct() != nullptr);
    BOOST_TEST(pool.blocks().capacity() == capacity);
  }
  pool.clear();
  pool.clear();
}

BOOST_AUTO_TEST_CASE(release_runs_no_destructor) {
  struct loud {
    explicit loud(int& where) : ended(where) {}
    ~loud() { ++ended; }
    int& ended;
  };
  int ended = 0;
  test::upstream upstream;
  {
    object_pool<loud, resource_store> pool{resource_store{&upstream}};
    for (int i = 0; i < 500; ++i) BOOST_TEST(pool.try_construct(ended) != nullptr);
    pool.release();
    BOOST_TEST(ended == 0);
    BOOST_TEST(upstream.bytes() == 0u);
    pool.for_each([](loud&) { BOOST_ERROR("an object after release()"); });
    for (int i = 0; i < 7; ++i) BOOST_TEST(pool.try_construct(ended) != nullptr);
  }
  BOOST_TEST(ended == 7);
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(the_destructor_destroys_each_object_once) {
  for (const std::size_t n : {0u, 1u, 63u, 64u, 65u, 1000u}) {
    std::vector<int> ended(n);
    struct loud {
      explicit loud(int& where) : once(where) {}
      ~loud() { ++once; }
      int& once;
    };
    {
      object_pool<loud, fixed_growth<30>> pool;
      std::vector<loud*> all;
      for (std::size_t i = 0; i < n; ++i) all.push_back(pool.construct(ended[i]));
      for (std::size_t i = 0; i < n; i += 5) pool.destroy(all[i]);
    }
    BOOST_TEST(std::all_of(ended.begin(), ended.end(), [](int times) { return times == 1; }));
  }
}

BOOST_AUTO_TEST_CASE(objects_of_a_hierarchy) {
  struct shape {
    virtual ~shape() = default;
    virtual int corners() const { return 0; }
  };
  struct square final : shape {
    explicit square(int& where) : ended(where) {}
    ~square() override { ++ended; }
    int corners() const override { return 4; }
    int& ended;
  };
  struct second {
    virtual ~second() = default;
    long padding = 0;
  };
  struct both final : second, shape {  // a shape that doesn't start where its object does
    int corners() const override { return 2; }
  };
  int ended = 0;
  object_pool<square> squares;
  const shape* const s = squares.construct(ended);
  BOOST_TEST(s->corners() == 4);
  squares.destroy(static_cast<square*>(const_cast<shape*>(s)));
  BOOST_TEST(ended == 1);
  object_pool<both> boths;
  const shape* const b = boths.construct();
  BOOST_TEST(b->corners() == 2);
  std::size_t corners = 0;
  boths.for_each([&](const shape& some) { corners += static_cast<std::size_t>(some.corners()); });
  BOOST_TEST(corners == 2u);
  const std::shared_ptr<shape> owner = squares.allocate_shared(ended);
  BOOST_TEST(owner->corners() == 4);
}

// ---- defects of other libraries -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(defect_11_every_object_of_one_byte_lies_inside_the_pool) {
  using pool_type = object_pool<item<1>, static_array_store<100>>;
  pool_type pool;
  const auto start = reinterpret_cast<std::uintptr_t>(&pool);
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 100; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(pool.construct());
    BOOST_TEST((at >= start && at < start + sizeof(pool)));
    places.insert(at);
  }
  BOOST_TEST(places.size() == 100u);
  BOOST_TEST(pool.try_construct() == nullptr);
  BOOST_TEST(sizeof(pool) <= 100 * sizeof(void*) + 256);  // a free block holds a link; and nothing is reserved eight times (10)
}

BOOST_AUTO_TEST_CASE(defect_12_what_was_not_had_is_not_counted) {
  object_pool<item<24>, static_array_store<3>, counting_statistics> pool;
  for (int i = 0; i < 3; ++i) BOOST_TEST(pool.try_construct() != nullptr);
  for (int i = 0; i < 5; ++i) {
    BOOST_TEST(pool.try_construct() == nullptr);
    BOOST_CHECK_THROW((void)pool.construct(), std::bad_alloc);
  }
  const pool_counts counts = pool.blocks().statistics();
  BOOST_TEST(counts.in_use == 3u);
  BOOST_TEST(counts.peak == 3u);
  BOOST_TEST(counts.allocations == 3u);
  BOOST_TEST(counts.chunks == 1u);
  BOOST_TEST(counts.bytes >= 3 * 24u);
}

BOOST_AUTO_TEST_CASE(defect_13_release_and_fill_does_not_grow_each_time) {
  test::upstream upstream;
  object_pool<long, resource_store> pool{resource_store{&upstream}};
  (void)pool.construct(1);
  const std::size_t first = upstream.bytes();
  for (int i = 0; i < 50; ++i) {
    pool.release();
    BOOST_TEST(upstream.bytes() == 0u);
    (void)pool.construct(1);
    BOOST_TEST(upstream.bytes() == first);
  }
}

/// The time of one destruction, ns, among n in random order.
template <class Pool, class Destroy>
double destruction(std::size_t n, Destroy destroy) {
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    Pool pool;
    auto all = destroy.fill(pool, n);
    std::shuffle(all.begin(), all.end(), std::mt19937_64(7));
    const std::clock_t start = std::clock();  // of the processor: others don't count
    for (auto* const o : all) destroy(pool, o);
    const double took = static_cast<double>(std::clock() - start) * 1e9 / CLOCKS_PER_SEC;
    best = std::min(best, took / static_cast<double>(n));
  }
  return best;
}
struct by_destroy {
  template <class Pool>
  static auto fill(Pool& pool, std::size_t n) {
    std::vector<typename Pool::value_type*> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(pool.construct());
    return all;
  }
  void operator()(auto& pool, auto* o) const { pool.destroy(o); }
};

BOOST_AUTO_TEST_CASE(defect_14_destruction_in_random_order_is_not_quadratic) {
  // 40 times as many: quadratic would be 40 times as long each. Caches account for some of it.
  const double few = destruction<object_pool<long>>(2'000, by_destroy{});
  const double lots = destruction<object_pool<long>>(80'000, by_destroy{});
  std::printf("a destruction in random order: %.1f ns of 2,000, %.1f ns of 80,000\n", few, lots);
  BOOST_TEST(lots < 20 * few + 200);
}

BOOST_AUTO_TEST_CASE(defect_15_objects_are_aligned_as_their_type_asks) {
  object_pool<item<64, 64>> few;
  object_pool<item<8192, 4096>> large;
  object_pool<item<32, 32>, static_array_store<50>> inside;
  object_pool<item<64, 64>, lifo_reuse<>> list;
  for (int i = 0; i < 50; ++i) {
    (void)few.construct();
    (void)large.construct();
    (void)inside.construct();
    (void)list.construct();
  }
  BOOST_TEST((item<64, 64>::misaligned) == 0);
  BOOST_TEST((item<8192, 4096>::misaligned) == 0);
  BOOST_TEST((item<32, 32>::misaligned) == 0);
}

BOOST_AUTO_TEST_CASE(defect_24_every_block_goes_back_to_the_store) {
  test::upstream upstream;
  object_pool<item<40>, resource_store, batch_reuse<prefetch::none, 128>> pool{resource_store{&upstream}};
  std::vector<item<40>*> all;
  for (int i = 0; i < 5000; ++i) all.push_back(pool.construct());
  for (item<40>* const o : all) pool.destroy(o);
  const std::size_t held = upstream.bytes();
  BOOST_TEST(pool.blocks().trim() == held);
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(defect_25_release_twice_makes_no_block_twice) {
  object_pool<long, static_array_store<40>> pool;
  for (int round = 0; round < 10; ++round) {
    std::set<long*> all;
    while (long* const o = pool.try_construct(round)) all.insert(o);
    BOOST_TEST(all.size() == 40u);
    for (int i = 0; i < round; ++i) {  // a free list that is not empty
      pool.destroy(*all.begin());
      all.erase(all.begin());
    }
    pool.release();
    if (round % 2 == 0) pool.release();
  }
  BOOST_TEST(room_of(pool, {}, 1) == 40u);
}

// ---- a long walk --------------------------------------------------------------------------------------------------------------

template <class Pool, class... Given>
void walk(std::size_t operations, std::size_t most, called_from = {}, const Given&... given) {
  using T = typename Pool::value_type;
  {
    const auto held = std::make_unique<Pool>(given...);
    Pool& pool = *held;
    std::mt19937_64 random(seed());
    std::map<T*, unsigned char> live;
    std::vector<T*> order;
    std::size_t aim = most / 2;
    for (std::size_t i = 0; i < operations; ++i) {
      if (i % 5000 == 0) aim = random() % (most + 1);
      const std::uint64_t dice = random() % 100;
      if (dice < (live.size() < aim ? 70 : 30)) {
        const auto mark = static_cast<unsigned char>(random());
        T* const o = pool.try_construct(mark);
        if (o == nullptr) {
          REQUIRE(live.size() == pool.blocks().capacity());
          continue;
        }
        const auto [at, fresh] = live.emplace(o, mark);
        REQUIRE(fresh);
        REQUIRE(at == live.begin() || std::prev(at)->first + 1 <= o);
        REQUIRE(std::next(at) == live.end() || o + 1 <= std::next(at)->first);
        order.push_back(o);
      } else if (!order.empty()) {
        std::swap(order[random() % order.size()], order.back());
        T* const o = order.back();
        REQUIRE(o->whole());
        REQUIRE(o->bytes[0] == live.at(o));
        live.erase(o);
        order.pop_back();
        pool.destroy(o);
      }
      if (i % 10'000 == 9'999) {
        auto expected = live.begin();
        pool.for_each([&](T& o) { REQUIRE(expected != live.end() && (expected++)->first == &o && o.whole()); });
        REQUIRE(expected == live.end());
        REQUIRE(T::alive == static_cast<long>(live.size()));
      }
      if (i % 40'000 == 39'999) pool.blocks().trim();
    }
  }
  CHECK(T::alive == 0);
  CHECK(T::spoiled == 0);
}

BOOST_AUTO_TEST_CASE(two_hundred_thousand_operations_agree_with_a_map) {
  const std::size_t n = 50'000 * patience();
  walk<object_pool<item<40>>>(n, 4000);
  walk<object_pool<item<256>, fixed_growth<700>, lifo_reuse<>>>(n, 2000);
  walk<object_pool<item<24, 8>, static_array_store<1000>, batch_reuse<prefetch::none, 128>>>(n, 1500);
  test::upstream upstream;
  walk<object_pool<item<1>, mutex_locking<>, resource_store, geometric_growth<3, 50, 3>>>(n, 3000, {}, resource_store{&upstream});
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

}  // namespace
}  // namespace tarn::test
