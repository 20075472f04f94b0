// Bad input that no other test shows: a case for each row of README.md that names it. What is reported changes nothing.
#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <forward_list>
#include <list>
#include <memory_resource>
#include <new>
#include <set>
#include <type_traits>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/misuse/one_header.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

// ---- at compile time -------------------------------------------------------------------------------------------------------

struct item {
  void reset() {}
  long value = 7;
};

template <class T>
constexpr bool stays_where_it_is = !std::is_copy_constructible_v<T> && !std::is_move_constructible_v<T> &&
                                   !std::is_copy_assignable_v<T> && !std::is_move_assignable_v<T>;

// Products are not copied or moved.
static_assert(stays_where_it_is<object_pool<item>> && stays_where_it_is<recycling_pool<item>>);
static_assert(stays_where_it_is<multipool<item, int>> && stays_where_it_is<size_class_pool<>>);
static_assert(stays_where_it_is<pmr::unsynchronized_pool_resource> && stays_where_it_is<pmr::synchronized_pool_resource>);

template <class Adaptor, class Pool>
constexpr bool wants_a_pool_that_stays = std::is_constructible_v<Adaptor, Pool&> && !std::is_constructible_v<Adaptor, Pool> &&
                                         !std::is_constructible_v<Adaptor, const Pool&>;

// No adaptor over a temporary.
using blocks = pool<static_size<64>>;
static_assert(wants_a_pool_that_stays<block_resource<blocks>, blocks>);
static_assert(wants_a_pool_that_stays<stl_allocator<int, size_class_pool<>>, size_class_pool<>>);
using resource = pmr::unsynchronized_pool_resource;
static_assert(wants_a_pool_that_stays<stl_allocator<int, resource>, resource>);

// A misuse handler cannot throw.
static_assert(std::is_convertible_v<void (*)(const misuse&) noexcept, misuse_handler>);
static_assert(!std::is_convertible_v<void (*)(const misuse&), misuse_handler>);

// ---- blocks ----------------------------------------------------------------------------------------------------------------

template <class Pool>
void free_null(called_from = {}) {
  const recorder recording;
  Pool pool;
  void* const block = pool.allocate();
  const std::size_t capacity = pool.capacity();
  pool.deallocate(nullptr);
  pool.deallocate(nullptr, 64);
  pool.deallocate(nullptr, 64, 16);
  pool.deallocate(nullptr, 65, 4096);
  BOOST_TEST(pool.capacity() == capacity);
  pool.deallocate(block);
  for (std::size_t i = 0; i != capacity; ++i) BOOST_REQUIRE(pool.try_allocate() != nullptr);
  BOOST_TEST(pool.capacity() == capacity);
  BOOST_TEST(recorder::seen().empty());
  pool.release();
}
BOOST_AUTO_TEST_CASE(null_is_no_misuse) {
  free_null<pool<static_size<64>, fixed_growth<100>, hardened>>();
  free_null<pool<static_size<64>, fixed_growth<100>, checked>>();
  free_null<pool<static_size<64>, lifo_reuse<>, mutex_locking<>, fixed_growth<100>, checked>>();
  free_null<pool<static_size<64>, page_local_reuse<>, fixed_growth<100>, hardened_with<guard_bytes>>>();
}

/// Nobody can tell a pool that its free block was read; who reads sees that it is none.
template <class Pool>
void read_free_block(called_from = {}) {
  Pool pool;
  auto* const block = static_cast<unsigned char*>(pool.allocate());
  std::memset(block, 0x5A, pool.block_size());
  pool.deallocate(block);
  const auto* const seen = static_cast<const unsigned char*>(hidden(block));
  BOOST_TEST(std::count(seen, seen + pool.block_size(), 0xDD) == static_cast<std::ptrdiff_t>(pool.block_size()));
}
BOOST_AUTO_TEST_CASE(a_free_block_does_not_look_like_one_in_use) {
  read_free_block<pool<static_size<8>, checked>>();
  read_free_block<pool<static_size<64>, checked>>();
  read_free_block<pool<static_size<300>, lifo_reuse<>, mutex_locking<>, checked>>();
  read_free_block<pool<static_size<64>, page_local_reuse<>, checked>>();
  read_free_block<pool<static_size<64>, static_array_store<8>, checked>>();
}

// ---- containers ------------------------------------------------------------------------------------------------------------

/// Does `mix` with two containers on pools of their own, and ends both.
/// \param moved  nodes that are in the wrong container then
template <class Container, class Checking, class Mix>
void mix_containers(std::size_t moved, Mix mix, called_from = {}) {
  const recorder recording;
  pool<static_size<64>, Checking> orders(Checking{"orders"});
  pool<static_size<64>, Checking> invoices(Checking{"invoices"});
  {
    block_resource of_orders(orders);
    block_resource of_invoices(invoices);
    Container a({1, 2, 3}, &of_orders);
    Container b({4, 5}, &of_invoices);
    mix(a, b);
    BOOST_TEST(recorder::seen().empty());
  }
  BOOST_TEST(recorder::seen().size() == moved);
  for (const report& r : recorder::seen()) {
    const bool named = std::is_same_v<Checking, checked>;
    BOOST_TEST((r.what.kind == (named ? misuse_kind::other_pool : misuse_kind::foreign_pointer)), r.text);
    BOOST_TEST((named || r.other_name.empty()));
    if (named) BOOST_TEST(r.other_name == (r.pool_name == "orders" ? "invoices" : "orders"));
    BOOST_TEST((r.pool_name == "orders" ? invoices.owns(r.what.address) : orders.owns(r.what.address)), r.text);
  }
  orders.release();  // what the containers couldn't give back is no leak of this test's
  invoices.release();
}
template <class Checking>
void mix_all() {
  const auto swap = [](auto& a, auto& b) { a.swap(b); };
  mix_containers<std::pmr::list<int>, Checking>(5, swap);
  mix_containers<std::pmr::set<int>, Checking>(5, swap);
  mix_containers<std::pmr::forward_list<int>, Checking>(5, swap);
  mix_containers<std::pmr::forward_list<int>, Checking>(3, [](auto& a, auto& b) { b.splice_after(b.before_begin(), a); });
}
BOOST_AUTO_TEST_CASE(containers_of_two_pools_are_mixed) {
  mix_all<hardened>();
  mix_all<checked>();
}

// ---- numbers ---------------------------------------------------------------------------------------------------------------

/// Address space, as much as is asked for, and no memory.
class address_space final : public std::pmr::memory_resource {
 public:
  std::size_t regions = 0;
  std::size_t asked = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    ++asked;
    void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    ++regions;
    return start;
  }
  void do_deallocate(void* start, std::size_t bytes, std::size_t) override {
    --regions;
    munmap(start, bytes);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// lock_free numbers its blocks in 32 bits.
BOOST_AUTO_TEST_CASE(more_blocks_than_lock_free_has_numbers_for) {
  constexpr std::size_t all = std::size_t{1} << 32;
  address_space memory;
  {
    pool<static_size<8>, lock_free, no_growth<all>, resource_store> pool{resource_store{&memory}};
    BOOST_TEST(pool.try_allocate() == nullptr);
    BOOST_CHECK_THROW((void)pool.allocate(), std::bad_alloc);
    BOOST_TEST(pool.capacity() == 0u);
    BOOST_TEST(memory.asked >= 1u);
    BOOST_TEST(memory.regions == 0u);
  }
  {
    pool<static_size<8>, lock_free, fixed_growth<all / 4>, resource_store> pool{resource_store{&memory}};
    void* const block = pool.allocate();  // reserve() would write a link for each
    const std::size_t regions = memory.regions;
    const std::size_t asked = memory.asked;
    BOOST_TEST(!pool.try_reserve(all));
    BOOST_TEST(memory.asked > asked);
    BOOST_TEST(pool.capacity() == all / 4);
    BOOST_TEST(memory.regions == regions);
    pool.deallocate(block);
    BOOST_TEST(pool.allocate() == block);
  }
  BOOST_TEST(memory.regions == 0u);
}

// ---- libraries -------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(one_header_in_two_libraries) {
  void* const library = dlopen("./test/misuse/other_library.so", RTLD_NOW | RTLD_LOCAL);
  BOOST_REQUIRE_MESSAGE(library != nullptr, dlerror());
  const auto function = [&]<class F>(const char* name, F*) {
    F* const found = reinterpret_cast<F*>(dlsym(library, name));
    BOOST_REQUIRE(found != nullptr);
    return found;
  };
  using taker = void*();
  using giver = void(void*);
  auto& mine = pool_of_header::instance();
  const void* const theirs = function("other_library_pool", static_cast<taker*>(nullptr))();
  BOOST_REQUIRE(theirs != &mine);  // there are two
  void* const block = function("other_library_take", static_cast<taker*>(nullptr))();
  std::memset(block, 0x5A, 64);
  {
    const recorder recording;
    mine.deallocate(mine.allocate());
    BOOST_TEST(recorder::seen().empty());
    mine.deallocate(block);
    BOOST_REQUIRE(recorder::seen().size() == 1u);
    const misuse& what = recorder::seen()[0].what;
    // A program that shows its symbols (-rdynamic) knows the library's pools, too.
    const bool known = what.other_pool != nullptr;
    BOOST_TEST((what.kind == (known ? misuse_kind::other_pool : misuse_kind::foreign_pointer)));
    BOOST_TEST((!known || what.other_pool == theirs));
    BOOST_TEST(what.address == block);
    BOOST_TEST((what.pool == &mine));
  }
  BOOST_TEST(std::count(static_cast<unsigned char*>(block), static_cast<unsigned char*>(block) + 64, 0x5A) == 64);
  function("other_library_give", static_cast<giver*>(nullptr))(block);  // whose handler would end the program
}

}  // namespace
}  // namespace tarn::test
