// Pools of objects: what construct() makes of its arguments, what an exception leaves behind, and what ends them.
// `defect_N` are defects of other libraries; xmalloc_test.cc lists them all.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/allocator/counted_objects.h"
#include "tarn/test/support/check.h"
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

}  // namespace
}  // namespace tarn::test
