// Every product of objects, with the k-th call of its store failing, k = 1, 2, ..., until it makes no more calls.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/faults.h"
#include "tarn/test/support/product_trial.h"

namespace tarn::test {
namespace {

// ---- pools of objects ------------------------------------------------------------------------------------------------------

std::size_t alive = 0;  // objects
struct refused {};

/// An object that knows whether it was overwritten.
struct item {
  explicit item(std::size_t n = 7, bool throws = false) : number(n), check(~n) {
    if (throws) throw refused();
    ++alive;
  }
  item(const item&) = delete;
  ~item() {
    CHECK(intact());
    --alive;
  }
  bool intact() const { return number == ~check && content[20] == 'x'; }
  void reset() {}

  std::size_t number;
  char content[40] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
  std::size_t check;
};

template <class Object>
std::size_t count_intact(const std::vector<Object>& objects) {
  std::size_t n = 0;
  for (const auto& o : objects) n += o->intact();
  return n;
}

/// Keeps what make() makes. Returns whether it made something.
template <class Object, class Make>
bool took_one(std::vector<Object*>& objects, Make make) {
  try {
    Object* const o = make();
    if (o != nullptr) objects.push_back(o);
    return o != nullptr;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// \tparam Pool  with `construct`
/// \tparam Take  item*(Pool&, n): null or std::bad_alloc where there was no memory
template <class Pool, auto Take>
struct objects_of final : product {
  explicit objects_of(origin& from) : pool(injecting_store(&from)) {}
  ~objects_of() override {
    for (item* const o : objects)
      if constexpr (requires { pool.destroy(o); }) pool.destroy(o);
      else CHECK(pool.release(o));
  }
  bool take(std::size_t n) override {
    return took_one(objects, [&] { return Take(pool, n); });
  }
  void verify() override { CHECK(count_intact(objects) == objects.size()); }
  std::size_t things() override { return alive; }

  Pool pool;
  std::vector<item*> objects;
};
using items = object_pool<item, injecting_store, fixed_growth<4>>;
using mapped_items = object_pool<item, injecting_store, mutex_locking<>, geometric_growth<4, 16>, return_empty_chunks<>>;
using recycled = recycling_pool<item, injecting_store, fixed_growth<4>>;

item* construct(auto& pool, std::size_t n) { return pool.construct(n); }
item* try_construct(auto& pool, std::size_t n) { return pool.try_construct(n); }
item* make_unique(auto& pool, std::size_t n) { return pool.make_unique(n).release(); }
item* acquire(recycled& pool, std::size_t) { return pool.acquire(); }
/// Every second constructor throws first: the block goes back, and nothing is left of it.
item* construct_at_the_second_try(items& pool, std::size_t n) {
  if (n % 2 == 0) {
    const std::size_t before = alive;
    bool threw = false;
    try {
      static_cast<void>(pool.construct(n, true));
    } catch (const refused&) {
      threw = true;
    }
    CHECK(threw && alive == before);
  }
  return pool.construct(n);
}

struct wide_item : item {
  using item::item;
  char more[200] = "";
};
struct multipool_store;
struct multipool_items final : product {
  using store = static_injecting_store<multipool_store>;
  explicit multipool_items(origin& from) { store::from = &from; }
  ~multipool_items() override { pools->clear(); }
  bool take(std::size_t n) override {
    try {
      objects.push_back(n % 2 == 0 ? pools->construct<item>(n) : pools->construct<wide_item>(n));
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void verify() override { CHECK(count_intact(objects) == objects.size()); }
  std::size_t things() override { return alive; }

  using type = multipool<item, wide_item, store, fixed_growth<5>>;
  std::unique_ptr<type> pools = std::make_unique<type>();
  std::vector<item*> objects;
};

// ---- classes ---------------------------------------------------------------------------------------------------------------

struct class_store;
struct pooled : item {
  using item::item;
  DECLARE_MEMORY_POOL_WITH(pooled, tarn::test::static_injecting_store<class_store>, tarn::fixed_growth<4>)
};
struct quiet : item {
  using item::item;
  DECLARE_MEMORY_POOL_WITH__NOTHROW(quiet, tarn::test::static_injecting_store<class_store>, tarn::fixed_growth<4>)
};
template <class Class>
struct class_objects final : product {
  explicit class_objects(origin& from) { static_injecting_store<class_store>::from = &from; }
  ~class_objects() override {
    for (const Class* const o : objects) delete o;
    Class::memory_pool().release();
  }
  bool take(std::size_t n) override {
    return took_one(objects, [n] { return n % 2 == 0 ? new Class(n) : new (std::nothrow) Class(n); });
  }
  void verify() override { CHECK(count_intact(objects) == objects.size()); }
  std::size_t things() override { return alive; }
  std::vector<Class*> objects;
};

/// PREPARE_MEMORY_POOL: more and more room.
struct prepared final : product {
  explicit prepared(origin& from) { static_injecting_store<class_store>::from = &from; }
  ~prepared() override { pooled::memory_pool().release(); }
  bool take(std::size_t) override {
    try {
      PREPARE_MEMORY_POOL(pooled, (things() + 1) * 10);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void verify() override {}
  std::size_t things() override { return pooled::memory_pool().capacity() / 10; }
};

// ---- the list --------------------------------------------------------------------------------------------------------------

const entry products[] = {
    {"object_pool::construct", null_and_exception, make<objects_of<items, construct<items>>>},
    {"object_pool::construct, mapped chunks", null_and_exception, make<objects_of<mapped_items, construct<mapped_items>>>},
    {"object_pool::try_construct", null_and_exception, make<objects_of<items, try_construct<items>>>},
    {"object_pool::make_unique", null_and_exception, make<objects_of<items, make_unique<items>>>},
    {"object_pool, constructors throw", null_and_exception, make<objects_of<items, construct_at_the_second_try>>},
    {"recycling_pool::acquire", null_and_exception, make<objects_of<recycled, acquire>>},
    {"multipool::construct", null_and_exception, make<multipool_items>},
    {"class-level operator new", null_and_exception, make<class_objects<pooled>>},
    {"class-level operator new, no throw", null_and_exception, make<class_objects<quiet>>},
    {"PREPARE_MEMORY_POOL", null_and_exception, make<prepared>},
};

BOOST_AUTO_TEST_CASE(every_product_of_objects) {
  ledger book;
  for (const entry& e : products) try_product(book, e);
  book.print();
  BOOST_TEST(alive == 0u);
  BOOST_TEST(book.points() >= 200u);
}

}  // namespace
}  // namespace tarn::test
