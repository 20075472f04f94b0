// Every product that hands out bytes, with the k-th call of its store failing, k = 1, 2, ..., until it makes no more calls.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/faults.h"
#include "tarn/test/support/product_trial.h"

namespace tarn::test {
namespace {

// ---- blocks of many sizes --------------------------------------------------------------------------------------------------

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
constexpr request large_requests[] = {{50'000, 16}, {70'000, 64}, {90'000, 16}, {4097, 256}};
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

template <class Pool>
std::size_t pools_in(Pool& blocks) {
  std::size_t n = 0;
  blocks.each_pool([&](std::size_t, auto&) { ++n; });
  return n;
}

using classes = size_class_pool<injecting_store, fixed_growth<4>, lifo_reuse<>>;
struct size_classes final : blocks_product {
  size_classes(origin& from, std::span<const request> r) : blocks_product(r), pool(injecting_store(&from)) {}
  ~size_classes() override {
    for (const auto& b : all.blocks) pool.deallocate(b.start, b.bytes, b.alignment);
    pool.trim();
  }
  void* get(std::size_t n, std::size_t bytes, std::size_t alignment) override {
    return n % 2 == 0 ? pool.allocate(bytes, alignment) : pool.try_allocate(bytes, alignment);
  }
  void verify() override {
    blocks_product::verify();
    std::size_t large = 0;
    for (const auto& b : all.blocks) large += pool.class_size(b.bytes, b.alignment) == 0;
    CHECK(pool.large().blocks == large);
  }
  std::size_t kept() override { return pools_in(pool); }
  classes pool;
};

template <class Resource>
struct resource_blocks final : blocks_product {
  resource_blocks(origin& from, std::span<const request> r)
      : blocks_product(r),
        upstream(from.upstream),
        resource(std::pmr::pool_options{.max_blocks_per_chunk = 4, .largest_required_pool_block = 0}, &from.upstream) {}
  ~resource_blocks() override {
    for (const auto& b : all.blocks) resource.deallocate(b.start, b.bytes, b.alignment);
  }
  void* get(std::size_t, std::size_t bytes, std::size_t alignment) override { return resource.allocate(bytes, alignment); }
  /// With magazines: perhaps all, since memory for them is got before a chunk is.
  std::size_t kept() override {
    return std::is_base_of_v<pmr::synchronized_pool_resource, Resource> ? upstream.regions() : pools_in(resource.blocks());
  }
  test::upstream& upstream;
  Resource resource;
};

struct one_size_resource final : blocks_product {
  explicit one_size_resource(origin& from)
      : blocks_product(small_requests), pool(injecting_store(&from)), resource(pool, &from.upstream) {}
  ~one_size_resource() override {
    for (const auto& b : all.blocks) resource.deallocate(b.start, b.bytes, b.alignment);
  }
  void* get(std::size_t, std::size_t bytes, std::size_t alignment) override { return resource.allocate(bytes, alignment); }
  using pool_type = tarn::pool<static_size<64>, injecting_store, fixed_growth<3>>;
  pool_type pool;
  block_resource<pool_type> resource;
};

/// malloc's functions. They have granules of 64 KiB.
enum class form { plain, aligned, zeroed };
template <form Form, class Locking = mutex_locking<thread_aware_mutex>>
struct xallocated final : blocks_product {
  using store = static_injecting_store<xallocated>;
  using x = xallocator<xallocated, store, fixed_growth<1>, Locking>;
  explicit xallocated(origin& from, std::span<const request> r) : blocks_product(r) { store::from = &from; }
  std::size_t kept() override { return Locking::traits.keeps_blocks ? store::from->upstream.regions() : 0; }
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

// ---- containers ------------------------------------------------------------------------------------------------------------

/// Containers over a source.
struct contained final : product {
  using allocator = stl_allocator<int, classes>;
  explicit contained(origin& from) : pool(injecting_store(&from)), list(allocator(pool)), map(allocator(pool)) {}
  bool take(std::size_t n) override {
    try {
      if (n % 2 == 0) list.push_back(static_cast<int>(n));
      else map.emplace(static_cast<int>(n), 'x');
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void verify() override {
    for (const int n : list) CHECK(n % 2 == 0);
    for (const auto& [n, letter] : map) CHECK(n % 2 == 1 && letter == 'x');
  }
  std::size_t things() override { return list.size() + map.size(); }
  std::size_t kept() override { return pools_in(pool); }

  classes pool;
  std::list<int, allocator> list;
  std::map<int, char, std::less<>, stl_allocator<std::pair<const int, char>, classes>> map;
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

// ---- the list --------------------------------------------------------------------------------------------------------------

using unsynchronized = pmr::unsynchronized_pool_resource;
using synchronized = pmr::synchronized_pool_resource;
constexpr std::span<const refusal> both = null_and_exception;
constexpr std::span<const refusal> exception = exception_only;  // a memory resource can't return null

const entry products[] = {
    {"size_class_pool, small", both, make<size_classes, small_requests>},
    {"size_class_pool, large", both, make<size_classes, large_requests>},
    {"unsynchronized_pool_resource, small", exception, make<resource_blocks<unsynchronized>, small_requests>},
    {"unsynchronized_pool_resource, large", exception, make<resource_blocks<unsynchronized>, large_requests>},
    {"synchronized_pool_resource, small", exception, make<resource_blocks<synchronized>, small_requests>},
    {"synchronized_pool_resource, large", exception, make<resource_blocks<synchronized>, large_requests>},
    {"block_resource", both, make<one_size_resource>},
    {"xmalloc, small", both, make<xallocated<form::plain>, small_unaligned>},
    {"xmalloc with magazines, small", both, make<xallocated<form::plain, shared_locking>, small_unaligned>},
    {"xmalloc, large", both, make<xallocated<form::plain>, large_unaligned>},
    {"xaligned_alloc", both, make<xallocated<form::aligned>, small_requests>},
    {"xcalloc", both, make<xallocated<form::zeroed>, large_unaligned>},
    {"xrealloc", both, make<xreallocated<>>},
    {"xrealloc with magazines", both, make<xreallocated<shared_locking>>},
    {"stl_allocator over a source", both, make<contained>},
    {"static_pool", both, make<static_blocks>},
};

BOOST_AUTO_TEST_CASE(every_product_of_bytes) {
  ledger book;
  for (const entry& e : products) try_product(book, e);
  book.print();
  BOOST_TEST(book.points() >= 200u);
}

BOOST_AUTO_TEST_CASE(containers_over_static_pools) {
  static origin from;
  statically_contained::store::from = &from;
  const entry e{"stl_allocator over static pools", null_and_exception, make<statically_contained>};
  ledger book;
  fail_each_call(book, "product", e.name, e.refusals, [&](const attempt& a) { return try_once(e, from, a); });
  statically_contained::list().clear();
  BOOST_TEST(from.upstream.faults() == 0u);
  BOOST_TEST(book.points(e.name) >= 6u);
  book.print();
}

}  // namespace
}  // namespace tarn::test
