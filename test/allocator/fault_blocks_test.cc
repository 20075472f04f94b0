// Products of bytes over static pools, with the k-th call of their store failing, k = 1, 2, ..., until they make no more calls.
// The same of others: size_class_pool_test.cc, memory_resource_test.cc, block_resource_test.cc.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <list>
#include <new>
#include <span>
#include <utility>
#include <vector>

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

constexpr std::span<const refusal> both = null_and_exception;

const entry products[] = {
    {"xmalloc, small", both, make<xallocated<form::plain>, small_unaligned>},
    {"xmalloc with magazines, small", both, make<xallocated<form::plain, shared_locking>, small_unaligned>},
    {"xmalloc, large", both, make<xallocated<form::plain>, large_unaligned>},
    {"xaligned_alloc", both, make<xallocated<form::aligned>, small_requests>},
    {"xcalloc", both, make<xallocated<form::zeroed>, large_unaligned>},
    {"xrealloc", both, make<xreallocated<>>},
    {"xrealloc with magazines", both, make<xreallocated<shared_locking>>},
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
