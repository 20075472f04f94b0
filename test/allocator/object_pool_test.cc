// Pools of objects: what construct() makes of its arguments, what an exception leaves behind, what ends them; and bursts.
// `defect_N` are defects of other libraries; xmalloc_test.cc lists them all.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

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
  ~item() { --alive; }

  unsigned char bytes[Bytes];
  static inline long alive = 0;
  static inline long misaligned = 0;
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
  for (seen* const one : {pool.construct(i), pool.try_construct(i)}) BOOST_TEST(one->how == 'l');
  for (seen* const one : {pool.construct(c), pool.try_construct(c)}) BOOST_TEST(one->how == 'c');
  for (seen* const one : {pool.construct(3), pool.try_construct(std::move(i))}) BOOST_TEST(one->how == 'r');
  BOOST_TEST(pool.make_unique(i)->how == 'l');
  BOOST_TEST(pool.make_unique(3)->how == 'r');
  BOOST_TEST(pool.allocate_shared(c)->how == 'c');
  BOOST_TEST(pool.allocate_shared(3)->how == 'r');
}

BOOST_AUTO_TEST_CASE(members_of_an_aggregate_and_values_of_a_scalar) {
  struct point {
    int x;
    int& y;
    std::unique_ptr<int> only_moved;
    std::string name;
    double weight = 0.5;
  };
  int y = 2;
  object_pool<point> points;
  const point* const p = points.construct(1, y, std::make_unique<int>(3), std::string("here"));
  BOOST_TEST((p->x == 1 && &p->y == &y && *p->only_moved == 3 && p->name == "here" && p->weight == 0.5));
  BOOST_TEST(points.try_construct(1, y, nullptr, std::string("there"), 0.25)->weight == 0.25);
  BOOST_TEST(*points.make_unique(1, y, std::make_unique<int>(4), std::string("here"))->only_moved == 4);

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

/// Throws on demand.
struct moody {
  explicit moody(bool throws) {
    ++tried;
    if (throws) throw std::runtime_error("moody");
    ++alive;
  }
  moody(const moody&) = delete;
  moody& operator=(const moody&) = delete;
  static void* operator new(std::size_t) = delete;  // the pool's blocks are its own affair
  ~moody() { --alive; }
  long content[3] = {};
  static inline int tried = 0;
  static inline int alive = 0;
};

// shows: FM-41
BOOST_AUTO_TEST_CASE(null_is_left_alone) {
  object_pool<item<8>> pool;
  pool.destroy(nullptr);
  const item<8>* const none = nullptr;
  object_pool<const item<8>>().destroy(none);
  BOOST_TEST(pool.blocks().capacity() == 0u);
}

// shows: FM-42
BOOST_AUTO_TEST_CASE(defect_19_a_constructor_that_throws_gives_its_block_back) {
  object_pool<moody, no_growth<5>, mutex_locking<>> pool;
  moody* const first = pool.construct(false);
  for (int i = 0; i < 100; ++i) {
    BOOST_CHECK_THROW((void)pool.construct(true), std::runtime_error);
    BOOST_CHECK_THROW((void)pool.try_construct(true), std::runtime_error);
    BOOST_CHECK_THROW((void)pool.make_unique(true), std::runtime_error);
    BOOST_CHECK_THROW((void)pool.allocate_shared(true), std::runtime_error);
  }
  BOOST_TEST(moody::alive == 1);
  BOOST_TEST(room_of(pool, {}, false) == 4u);
  pool.destroy(first);
  BOOST_TEST(room_of(pool, {}, false) == 5u);
}

// shows: FM-40
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

struct link : item<8> {
  object_ptr<link, no_growth<8>> next;  // of a pool of its own type, which is incomplete here
};
static_assert(std::is_same_v<object_ptr<link, no_growth<8>>, object_pool<link, no_growth<8>>::unique_ptr>);

BOOST_AUTO_TEST_CASE(an_object_owns_the_next_of_its_pool) {
  object_pool<link, no_growth<8>> pool;
  object_ptr<link, no_growth<8>> first;
  for (int i = 0; i < 8; ++i) {
    auto one = pool.make_unique();
    one->next = std::move(first);
    first = std::move(one);
  }
  BOOST_TEST(pool.try_construct() == nullptr);
  BOOST_TEST(item<8>::alive == 8);
  first->next->next.reset();
  BOOST_TEST(item<8>::alive == 2);
  first.reset();
  BOOST_TEST(item<8>::alive == 0);
}

BOOST_AUTO_TEST_CASE(a_shared_object_ends_with_its_last_owner) {
  std::weak_ptr<item<24>> weak;  // may outlive the pool
  object_pool<item<24>, static_array_store<2>> pool;
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
}

// ---- all of it --------------------------------------------------------------------------------------------------------------

// shows: FM-47
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

BOOST_AUTO_TEST_CASE(defect_15_objects_are_aligned_as_their_type_asks) {
  object_pool<item<8192, 4096>> large;
  object_pool<item<32, 32>, static_array_store<50>> inside;
  for (int i = 0; i < 50; ++i) {
    (void)large.construct();
    (void)inside.construct();
  }
  BOOST_TEST((item<8192, 4096>::misaligned) == 0);
  BOOST_TEST((item<32, 32>::misaligned) == 0);
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

// ---- bursts: many objects made and destroyed by one call, all or none ---------------------------------------------------

/// Counts what is alive; the constructor throws when `until` more were made.
struct spark {
  explicit spark(int its = 1, const std::string& text = {}) : number(its), name(text) {
    if (until-- == 0) throw std::runtime_error("no more sparks");
    ++alive;
  }
  ~spark() {
    --alive;
    ends.push_back(this);
  }
  int number;
  std::string name;
  static inline int alive = 0;
  static inline int until = -1;
  static inline std::vector<spark*> ends;
};

template <class Pool>
std::size_t seen_in(Pool& pool) {
  std::size_t n = 0;
  pool.for_each([&](const auto&) { ++n; });
  return n;
}

template <class Pool>
void make_and_end(called_from = {}) {
  Pool pool;
  for (const std::size_t n : std::array<std::size_t, 5>{0, 1, 63, 64, 200}) {
    std::vector<spark*> some(n);
    pool.construct_n(some, 7, "a name that is too long to lie in the string itself");
    CHECK(spark::alive == static_cast<int>(n));
    CHECK(std::set<spark*>(some.begin(), some.end()).size() == n);
    for (const spark* const one : some) CHECK(one->number == 7 && one->name.size() > 30);
    CHECK(seen_in(pool) == n);
    if (n > 2) some[2] = nullptr;
    pool.destroy_n(some);  // null is ignored
    CHECK(spark::alive == (n > 2 ? 1 : 0));
    pool.clear();
  }
  CHECK(spark::alive == 0);
  spark::ends.clear();
}

BOOST_AUTO_TEST_CASE(bursts_of_every_length) {
  make_and_end<object_pool<spark, lifo_reuse<>, fixed_growth<30>>>();
  make_and_end<object_pool<spark, page_local_reuse<>, mutex_locking<>>>();
  make_and_end<object_pool<spark, checked>>();
  make_and_end<object_pool<spark, static_array_store<200>>>();
}

// shows: FM-42
BOOST_AUTO_TEST_CASE(what_a_constructor_throws_leaves_none) {
  object_pool<spark, no_growth<100>, counting_statistics, mutex_locking<>> pool;
  std::vector<spark*> some(90);
  for (const bool all : {true, false})
    for (const int until : {0, 1, 70, 89}) {
      spark::until = until;
      spark::ends.clear();
      BOOST_CHECK_THROW(all ? pool.construct_n(some, 1) : static_cast<void>(pool.try_construct_n(some, 1)), std::runtime_error);
      spark::until = -1;
      CHECK(spark::alive == 0);
      CHECK(spark::ends.size() == static_cast<std::size_t>(until));
      for (std::size_t i = 0; i != spark::ends.size(); ++i)  // the newest first
        CHECK(spark::ends[i] == some[static_cast<std::size_t>(until) - 1 - i]);
      CHECK(pool.blocks().statistics().in_use == 0);
    }
  std::vector<spark*> every(100);
  pool.construct_n(every);  // all blocks came back
  CHECK(std::set<spark*>(every.begin(), every.end()).size() == 100);
  CHECK(pool.try_construct() == nullptr);
  pool.destroy_n(every);
}

BOOST_AUTO_TEST_CASE(without_room_for_all_there_is_none) {
  object_pool<spark, static_array_store<100>> pool;
  std::array<spark*, 101> some{};
  BOOST_CHECK_THROW(pool.construct_n(some, 1), std::bad_alloc);
  CHECK(spark::alive == 0);
  some = {};
  CHECK(pool.try_construct_n(some, 1) == 100);
  CHECK(some[100] == nullptr);
  CHECK(spark::alive == 100);
  CHECK(pool.try_construct_n(some, 1) == 0);
  pool.destroy_n(std::span(some).first(0));
  pool.destroy_n(std::span(some).first(100));
  CHECK(spark::alive == 0);
}

/// Destroys a burst of others at its end.
struct emitter {
  using pool_type = object_pool<emitter>;
  emitter() { ++alive; }
  ~emitter() {
    --alive;
    if (!children.empty()) pool->destroy_n(children);
  }
  std::vector<emitter*> children;
  static inline pool_type* pool = nullptr;
  static inline int alive = 0;
};

BOOST_AUTO_TEST_CASE(a_burst_that_a_destructor_ends) {
  emitter::pool_type pool;
  emitter::pool = &pool;
  std::vector<emitter*> roots(10);
  for (const bool by_clear : {true, false}) {
    std::vector<emitter*> leaves(500);
    pool.construct_n(leaves);
    pool.construct_n(roots);
    for (std::size_t i = 0; i != leaves.size(); ++i) roots[i % 10]->children.push_back(leaves[i]);
    if (by_clear) pool.clear();
    else pool.destroy_n(roots);
    BOOST_TEST(emitter::alive == 0);
    BOOST_TEST(seen_in(pool) == 0u);
  }
}

}  // namespace
}  // namespace tarn::test
