// Freeing null does nothing in any product. The pools themselves: freeing_null_does_nothing in conformance_test.cc.
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/test.h"

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/allocator/handle.h"
#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/object_ptr.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

struct item {
  ~item() { ++ended; }
  void reset() {}
  long value = 0;
  static inline int ended = 0;
};
struct pooled {
  DECLARE_MEMORY_POOL(pooled);
  long value[3] = {};
};
struct pooled_aside {
  DECLARE_MEMORY_POOL(pooled_aside, lifo_reuse<>);
  long value[3] = {};
};

/// Sizes of every class, 0, and one that no class has; before and after there are pools.
template <class Free, class Use>
void free_null_of_each_size(Free free, Use use, called_from = {}) {
  for (int round = 0; round != 2; ++round) {
    for (const std::size_t bytes : {0u, 1u, 16u, 40u, 4096u, 100'000u})
      for (const std::size_t alignment : {1u, 16u, 64u}) free(bytes, alignment);
    use();
  }
}

template <class Pool>
void check_size_classes(called_from = {}) {
  upstream memory;
  Pool pool{resource_store{&memory}};
  free_null_of_each_size(
      [&](std::size_t bytes, std::size_t alignment) {
        const std::size_t calls = memory.calls();
        pool.deallocate(nullptr, bytes, alignment);
        pool.deallocate_large(nullptr);
        if constexpr (requires { pool.deallocate(nullptr); }) pool.deallocate(nullptr);
        if constexpr (requires { pool.deallocate_sized(nullptr, bytes, alignment); })
          pool.deallocate_sized(nullptr, bytes, alignment);
        CHECK(memory.calls() == calls);
        CHECK(memory.faults() == 0u);
      },
      [&] {
        void* const small = pool.try_allocate(40);
        void* const large = pool.try_allocate(100'000);
        REQUIRE(small != nullptr && large != nullptr);
        CHECK(pool.try_allocate(40) != small);
        pool.deallocate(small, 40);
        pool.deallocate(large, 100'000);
      });
}

/// memory_resource::deallocate() itself may not be called with null: libstdc++ declares that to the compiler.
template <class Resource>
struct opened : Resource {
  using Resource::do_deallocate;
  using Resource::Resource;
};

template <class Resource>
void check_resource(called_from = {}) {
  upstream memory;
  opened<Resource> resource(&memory);
  free_null_of_each_size(
      [&](std::size_t bytes, std::size_t alignment) {
        const std::size_t calls = memory.calls();
        resource.do_deallocate(nullptr, bytes, alignment);
        CHECK(memory.calls() == calls);
        CHECK(memory.faults() == 0u);  // nor does null go on to upstream
      },
      [&] { resource.deallocate(resource.allocate(40, 8), 40, 8); });
}

/// Nulls between blocks, alone and in batches, wherever blocks wait and move to: each block comes back once, no null does.
template <class... Policies>
void check_everywhere(called_from = {}) {
  constexpr std::size_t n = 3000;
  pool<Policies...> pool;
  std::vector<void*> blocks(n), others(n);
  for (int i = 0; i < 700; ++i) pool.deallocate(nullptr);
  pool.allocate_batch(blocks);
  REQUIRE(std::ranges::find(blocks, nullptr) == blocks.end());
  const std::size_t capacity = pool.capacity();
  for (const std::size_t step : {1u, 2u, 3u, 61u, 64u, 65u}) {
    for (std::size_t i = 0; i != n / 2; ++i) {
      pool.deallocate(blocks[i]);
      if (i % step == 0) pool.deallocate(nullptr);
    }
    std::vector<void*> rest(blocks.begin() + n / 2, blocks.end());
    for (std::size_t i = 0; i < rest.size(); i += step + 1) rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(i), nullptr);
    pool.deallocate_batch(rest);
    for (std::size_t i = 0; i != n / 2; ++i) REQUIRE((others[i] = pool.try_allocate()) != nullptr);
    REQUIRE(pool.try_allocate_batch(std::span(others).subspan(n / 2)) == n - n / 2);
    std::ranges::sort(others);
    CHECK(others.front() != nullptr);
    CHECK((std::ranges::adjacent_find(others) == others.end()));
    CHECK(std::ranges::all_of(others, [&](const void* block) { return pool.owns(block); }));
    CHECK(pool.capacity() == capacity);
    blocks = others;
    std::ranges::shuffle(blocks, std::mt19937(1));
  }
  for (std::size_t i = 0; i != n; ++i) {
    pool.deallocate(blocks[i]);
    if (i % 41 == 0) pool.deallocate(nullptr);  // so that some batches are packed with a null in them
  }
  if constexpr (requires { pool.statistics(); }) {
    CHECK(pool.statistics().in_use == 0u);
    CHECK(pool.statistics().allocations == 7 * n);  // nor is a null counted as one that came back
  }
  pool.trim();
  CHECK(pool.capacity() == 0u);
}

BOOST_AUTO_TEST_SUITE(null)

BOOST_AUTO_TEST_CASE(between_blocks) {
  check_everywhere<static_size<64>>();
  check_everywhere<static_size<64>, counting_statistics>();
  check_everywhere<static_size<16>, batch_reuse<prefetch::on_free, 128>>();
  check_everywhere<static_size<256>, page_local_reuse<>>();
  check_everywhere<static_size<64>, lifo_reuse<>>();
  check_everywhere<static_size<64>, thread_cached<>>();
  check_everywhere<static_size<64>, page_local_reuse<>, deferred_checking>();
}

BOOST_AUTO_TEST_CASE(pools_of_sizes) {
  check_size_classes<size_class_pool<resource_store>>();
  check_size_classes<size_class_pool<resource_store, lifo_reuse<>>>();
  check_size_classes<size_class_pool<resource_store, thread_cached<>>>();
  check_size_classes<size_class_pool<resource_store, checked>>();
}

BOOST_AUTO_TEST_CASE(resources) {
  check_resource<pmr::unsynchronized_pool_resource>();
  check_resource<pmr::synchronized_pool_resource>();
  upstream memory;
  pool<static_size<64>, lifo_reuse<>> blocks;
  opened<block_resource<decltype(blocks)>> resource(blocks, &memory);
  resource.do_deallocate(nullptr, 64, 8);
  resource.do_deallocate(nullptr, 6400, 8);
  CHECK(memory.calls() == 0u);
  CHECK(memory.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(what_stands_for_malloc) {
  free_null_of_each_size(
      [](std::size_t bytes, std::size_t alignment) {
        xfree(nullptr);
        xfree_sized(nullptr, bytes);
        xfree_aligned_sized(nullptr, alignment, bytes);
        CHECK(xmalloc_usable_size(nullptr) == 0u);
      },
      [] { xfree(xmalloc(40)); });
}

BOOST_AUTO_TEST_CASE(objects) {
  object_pool<item> items;
  items.destroy(nullptr);
  object_pool<item, lifo_reuse<>, counting_statistics> counted;
  counted.destroy(nullptr);
  multipool<item, long> several;
  several.destroy(static_cast<item*>(nullptr));
  several.destroy(static_cast<long*>(nullptr));
  recycling_pool<item> idle;
  CHECK(!idle.release(nullptr));
  object_pool<item>::unique_ptr none(nullptr);
  CHECK(item::ended == 0);
  CHECK(counted.blocks().statistics().in_use == 0u);
  items.destroy(items.construct());
  counted.destroy(counted.construct());
  CHECK(item::ended == 2);
}

template <class Class>
void check_class(called_from = {}) {
  for (int round = 0; round != 2; ++round) {
    Class::operator delete(nullptr, sizeof(Class));
    Class::operator delete(nullptr, 7 * sizeof(Class));
    Class::operator delete[](nullptr);
    delete static_cast<Class*>(nullptr);
    Class* const one = new Class;
    Class* const other = new Class;
    CHECK(one != other);
    delete one;
    delete other;
  }
}

BOOST_AUTO_TEST_CASE(classes_with_pools) {
  check_class<pooled>();
  check_class<pooled_aside>();
}

template <class Allocator>
void check_allocator(Allocator allocator = {}, called_from = {}) {
  for (int round = 0; round != 2; ++round) {
    for (const std::size_t n : {0u, 1u, 7u, 100'000u}) allocator.deallocate(nullptr, n);
    allocator.deallocate(allocator.allocate(7), 7);
    allocator.deallocate(allocator.allocate(1), 1);
  }
}

BOOST_AUTO_TEST_CASE(allocators) {
  check_allocator<stl_allocator<int>>();
  check_allocator<stl_allocator<int, lifo_reuse<>, no_locking>>();
  size_class_pool<> pool;
  check_allocator(stl_allocator<int, size_class_pool<>>(pool));
  using one = static_pool<struct null_tag, static_size<64>, lifo_reuse<>>;
  one::instance().deallocate(nullptr);
  CHECK(one::instance().capacity() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tarn::test
