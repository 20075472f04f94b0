// Every product, with the k-th call of its store failing, k = 1, 2, ..., until it makes no more calls. A resource over a pool
// over a resource: block_resource_test.cc.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <list>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/faults.h"

namespace tarn::test {
namespace {

/// A product in use. All that it has comes from one origin.
struct product {
  virtual ~product() = default;
  /// One more of the n-th kind. Returns false where there was no memory; then nothing has changed.
  virtual bool take(std::size_t n) = 0;
  /// What was taken is intact.
  virtual void verify() = 0;
  /// Things taken, as the product itself counts them.
  virtual std::size_t things() = 0;
  /// Regions that a call may have got for itself though it failed: the pools of size classes.
  virtual std::size_t kept() { return 0; }
  /// Whether a call that the store refuses gives back what nobody uses.
  virtual bool gives_back() { return false; }
};

struct entry {
  const char* name;
  std::unique_ptr<product> (*make)(origin&);
};

verdict try_once(const entry& e, origin& from, const attempt& a) {
  from.how = a.how;
  const auto p = e.make(from);
  std::size_t n = 0;
  for (; n != 3; ++n) REQUIRE(p->take(n));
  const upstream& memory = from.upstream;
  const std::size_t failures = memory.failures();
  std::size_t failed = 0;
  from.upstream.fail(a.k, a.mode);
  for (; n != 33; ++n) {
    const std::size_t things = p->things();
    const std::size_t regions = memory.regions() - p->kept();
    const std::size_t bytes = memory.bytes();
    const std::size_t kept = p->kept();
    const std::size_t before = memory.failures();
    if (p->take(n)) {
      CHECK(p->things() == things + 1);
      continue;
    }
    ++failed;
    CHECK(memory.failures() != before);
    CHECK(p->things() == things);
    CHECK(memory.regions() - p->kept() == regions || (p->gives_back() && memory.regions() - p->kept() < regions));
    if (p->kept() == kept) CHECK(memory.bytes() == bytes || (p->gives_back() && memory.bytes() < bytes));
    if (a.mode != failing::for_ever) p->verify();
  }
  p->verify();
  const verdict is{failed == 0, memory.failures() != failures};
  if (a.mode == failing::once) CHECK(failed <= 1);
  from.upstream.fail(1, failing::never);
  for (const std::size_t last = n + 12; n != last; ++n) REQUIRE(p->take(n));  // the next calls work
  p->verify();
  return is;
}

void try_product(ledger& book, const entry& e, called_from = {}) {
  fail_each_call(book, "product", e.name, null_and_exception, [&](const attempt& a) {
    origin from;
    const verdict is = try_once(e, from, a);
    CHECK(from.upstream.bytes() == 0);
    CHECK(from.upstream.faults() == 0);
    return is;
  });
  CHECK(book.points(e.name) >= 3 * std::size(null_and_exception));  // in three modes
}

template <class Product, auto&... Args>
std::unique_ptr<product> make(origin& from) {
  return std::make_unique<Product>(from, Args...);
}

// ---- blocks ----------------------------------------------------------------------------------------------------------------

/// Blocks, each full of a byte of its own.
struct filled_blocks {
  struct block {
    std::byte* start;
    std::size_t bytes;
    std::size_t alignment;
    std::byte stamp;
  };
  bool add(void* start, std::size_t bytes, std::size_t alignment) {
    if (start == nullptr) return false;
    CHECK(detail::address_of(start) % alignment == 0);
    const auto stamp = static_cast<std::byte>(blocks.size() + 1);
    std::memset(start, static_cast<int>(stamp), bytes);
    blocks.push_back({static_cast<std::byte*>(start), bytes, alignment, stamp});
    return true;
  }
  void verify() const {
    for (const block& b : blocks)
      for (std::size_t i = 0; i < b.bytes; i += b.bytes < 1000 ? 1 : 499) REQUIRE(b.start[i] == b.stamp);
  }
  std::vector<block> blocks;
};
struct request {
  std::size_t bytes;
  std::size_t alignment;
};
constexpr request small_requests[] = {{40, 8}, {500, 16}, {1000, 16}, {4096, 16}, {24, 8}, {64, 64}};
constexpr request small_unaligned[] = {{40, 16}, {500, 16}, {1000, 16}, {4096, 16}, {24, 16}};
constexpr request large_unaligned[] = {{50'000, 16}, {70'000, 16}, {90'000, 16}};

struct blocks_product : product {
  explicit blocks_product(std::span<const request> r) : requests(r) {}
  bool take(std::size_t n) override {
    const auto [bytes, alignment] = requests[n % requests.size()];
    try {
      return all.add(get(n, bytes, alignment), bytes, alignment);
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void verify() override { all.verify(); }
  std::size_t things() override { return all.blocks.size(); }
  virtual void* get(std::size_t n, std::size_t bytes, std::size_t alignment) = 0;

  std::span<const request> requests;
  filled_blocks all;
};

/// malloc's functions. They have granules of 64 KiB.
enum class form { plain, aligned, zeroed };
template <form Form>
struct xallocated final : blocks_product {
  using store = static_injecting_store<xallocated>;
  using x = xallocator<xallocated, store, fixed_growth<1>, mutex_locking<thread_aware_mutex>>;
  explicit xallocated(origin& from, std::span<const request> r) : blocks_product(r) { store::from = &from; }
  bool gives_back() override { return true; }
  ~xallocated() override {
    for (const auto& b : all.blocks) x::deallocate(b.start);
    x::trim();
  }
  void* get(std::size_t n, std::size_t bytes, std::size_t alignment) override {
    if constexpr (Form == form::aligned) return x::allocate_aligned(alignment, bytes);
    if constexpr (Form == form::zeroed) {
      const auto* const block = static_cast<std::byte*>(x::allocate_zeroed(bytes, 1));
      for (std::size_t i = 0; block != nullptr && i != bytes; ++i) REQUIRE(block[i] == std::byte{});
      return const_cast<std::byte*>(block);
    }
    return n % 2 == 0 ? x::allocate(bytes) : x::reallocate(nullptr, bytes);
  }
};

/// A block that gets larger and smaller. Where it can't, it is as it was.
template <class Locking = mutex_locking<thread_aware_mutex>>
struct xreallocated final : product {
  using store = static_injecting_store<xreallocated>;
  using x = xallocator<xreallocated, store, fixed_growth<1>, Locking>;
  explicit xreallocated(origin& from) { store::from = &from; }
  std::size_t kept() override { return Locking::traits.keeps_blocks ? store::from->upstream.regions() : 0; }
  bool gives_back() override { return true; }
  ~xreallocated() override {
    x::deallocate(block);
    x::trim();
  }
  bool take(std::size_t n) override {
    constexpr std::size_t sizes[] = {40, 5000, 500, 20'000, 1000, 70'000, 4096, 24, 9000, 128, 16'000, 2000};
    const std::size_t wanted = sizes[n % std::size(sizes)];
    auto* const other = static_cast<std::byte*>(x::reallocate(block, wanted));
    if (other == nullptr) return false;
    block = other;
    bytes = std::min(bytes, wanted);
    verify();
    bytes = wanted;
    std::memset(block, static_cast<int>(stamp = static_cast<std::byte>(n + 1)), bytes);
    ++moves;
    return true;
  }
  void verify() override {
    for (std::size_t i = 0; i != bytes; ++i) REQUIRE(block[i] == stamp);
  }
  std::size_t things() override { return moves; }

  std::byte* block = nullptr;
  std::size_t bytes = 0;
  std::byte stamp{};
  std::size_t moves = 0;
};

/// Products of many sizes. The pools of their classes stay, and what threads' magazines took.
template <class Sizes, bool HasMagazines = false>
struct sized final : blocks_product {
  explicit sized(origin& from, std::span<const request> r) : blocks_product(r), memory(from.upstream), sizes(made(from)) {}
  static Sizes made(origin& from) {
    if constexpr (!std::is_base_of_v<std::pmr::memory_resource, Sizes>) return Sizes(injecting_store(&from));
    else return Sizes(std::pmr::pool_options{.max_blocks_per_chunk = 3}, &from.upstream);
  }
  void* get(std::size_t n, std::size_t bytes, std::size_t alignment) override {
    if constexpr (requires { sizes.try_allocate(bytes, alignment); })
      if (n % 2 == 0) return sizes.try_allocate(bytes, alignment);
    return sizes.allocate(bytes, alignment);
  }
  std::size_t kept() override {
    std::size_t pools = 0;
    const auto count = [&](std::size_t, auto&) { ++pools; };
    if constexpr (HasMagazines) pools = memory.regions();
    else if constexpr (requires { sizes.blocks(); }) sizes.blocks().each_pool(count);
    else sizes.each_pool(count);
    return pools;
  }

  const upstream& memory;
  Sizes sizes;
};
constexpr request requests_of_all_kinds[] = {{40, 16}, {0, 16}, {500, 64}, {70'000, 16}, {4096, 16}, {3000, 512}, {24, 8}};

struct static_blocks final : blocks_product {
  using store = static_injecting_store<static_blocks>;
  using whole = static_pool<static_blocks, static_size<128>, store, mutex_locking<>, fixed_growth<4>>;
  static constexpr request requests_of_one_size[] = {{128, 16}};
  explicit static_blocks(origin& from) : blocks_product(requests_of_one_size) { store::from = &from; }
  ~static_blocks() override {
    for (const auto& b : all.blocks) whole::instance().deallocate(b.start);
    whole::instance().release();
  }
  void* get(std::size_t n, std::size_t, std::size_t) override {
    return n % 2 == 0 ? whole::instance().allocate() : whole::instance().try_allocate();
  }
};

/// A container over static pools: they stay, and so does the origin. All elements of all rounds are kept, so that the next
/// round finds no free node.
struct statically_contained final : product {
  using store = static_injecting_store<statically_contained>;
  static constexpr std::size_t chunk = 10;
  using allocator = stl_allocator<int, store, no_locking, fixed_growth<chunk>>;

  explicit statically_contained(origin&) {}
  bool take(std::size_t n) override {
    try {
      list().push_back(static_cast<int>(n));
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void verify() override { CHECK(store::from->upstream.regions() == (list().size() + chunk - 1) / chunk); }
  std::size_t things() override { return list().size(); }
  static std::list<int, allocator>& list() {
    static std::list<int, allocator> elements;
    return elements;
  }
};

// ---- objects ---------------------------------------------------------------------------------------------------------------

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

item* construct(mapped_items& pool, std::size_t n) { return pool.construct(n); }
item* try_construct(items& pool, std::size_t n) { return pool.try_construct(n); }
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

// ---- the list --------------------------------------------------------------------------------------------------------------

const entry products[] = {
    {"xmalloc, small", make<xallocated<form::plain>, small_unaligned>},
    {"xmalloc, large", make<xallocated<form::plain>, large_unaligned>},
    {"xaligned_alloc", make<xallocated<form::aligned>, small_requests>},
    {"xcalloc", make<xallocated<form::zeroed>, large_unaligned>},
    {"xrealloc", make<xreallocated<>>},
    {"xrealloc with magazines", make<xreallocated<shared_locking>>},
    {"size_class_pool", make<sized<size_class_pool<injecting_store>>, requests_of_all_kinds>},
    {"size_class_pool, locked",
     make<sized<size_class_pool<injecting_store, mutex_locking<>, fixed_growth<3>>>, requests_of_all_kinds>},
    {"size_class_pool, few classes",
     make<sized<size_class_pool<injecting_store, listed_classes<24, 40, 100, 5000>>>, requests_of_all_kinds>},
    {"unsynchronized_pool_resource", make<sized<pmr::unsynchronized_pool_resource>, requests_of_all_kinds>},
    {"synchronized_pool_resource", make<sized<pmr::synchronized_pool_resource, true>, requests_of_all_kinds>},
    {"pool_resource, few classes",
     make<sized<pool_resource<listed_classes<24, 40, 104, 1000>, mutex_locking<>>>, requests_of_all_kinds>},
    {"pool_resource, lists", make<sized<pool_resource<geometric_classes<64, 1024>, lifo_reuse<>>>, requests_of_all_kinds>},
    {"static_pool", make<static_blocks>},
    {"object_pool::construct, mapped chunks", make<objects_of<mapped_items, construct>>},
    {"object_pool::try_construct", make<objects_of<items, try_construct>>},
    {"object_pool, constructors throw", make<objects_of<items, construct_at_the_second_try>>},
    {"recycling_pool::acquire", make<objects_of<recycled, acquire>>},
    {"multipool::construct", make<multipool_items>},
    {"class-level operator new", make<class_objects<pooled>>},
    {"class-level operator new, no throw", make<class_objects<quiet>>},
};

BOOST_AUTO_TEST_CASE(every_product) {
  ledger book;
  for (const entry& e : products) try_product(book, e);
  book.print();
  BOOST_TEST(alive == 0u);
  BOOST_TEST(book.points() >= 400u);
}

BOOST_AUTO_TEST_CASE(containers_over_static_pools) {
  static origin from;
  statically_contained::store::from = &from;
  const entry e{"stl_allocator over static pools", make<statically_contained>};
  ledger book;
  fail_each_call(book, "product", e.name, null_and_exception, [&](const attempt& a) { return try_once(e, from, a); });
  statically_contained::list().clear();
  BOOST_TEST(from.upstream.faults() == 0u);
  BOOST_TEST(book.points(e.name) >= 6u);
}

}  // namespace
}  // namespace tarn::test
