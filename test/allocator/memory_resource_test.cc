// The pool resources against the standard's clauses [mem.res.pool.overview], [.options], [.ctor] and [.mem], requirement by
// requirement, and against the defects that were found in libstdc++ 12's. Where upstream fails: fault_products_test.cc.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <memory_resource>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/test/allocator/live_blocks.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

using resources = std::tuple<tarn::pmr::unsynchronized_pool_resource, tarn::pmr::synchronized_pool_resource>;
/// And some others: with classes whose sizes are multiples of no alignment, and with such that end early.
using more_resources =
    std::tuple<tarn::pmr::unsynchronized_pool_resource, tarn::pmr::synchronized_pool_resource,
               pool_resource<listed_classes<24, 40, 104, 1000>, mutex_locking<>>,
               pool_resource<geometric_classes<64, 1024>, lifo_reuse<>>>;

/// Whether the threads keep blocks in magazines, for which memory comes from upstream, too.
template <class Resource>
constexpr bool keeps_magazines = std::is_base_of_v<tarn::pmr::synchronized_pool_resource, Resource>;

constexpr std::size_t huge = static_cast<std::size_t>(-1);
constexpr std::size_t record_bytes =
    512;  // more than what the library keeps beside the blocks of a chunk, or beside a large block
constexpr std::size_t pool_bytes = 6 * 1024;  // more than a pool itself takes, and its first magazines

std::pmr::pool_options options(std::size_t blocks, std::size_t bytes) {
  std::pmr::pool_options o;
  o.max_blocks_per_chunk = blocks;
  o.largest_required_pool_block = bytes;
  return o;
}

/// Blocks of many classes, two of them larger than any, some aligned beyond all classes.
void take_all_kinds(live_blocks& tenant) {
  for (const std::size_t bytes : {0u, 1u, 16u, 17u, 40u, 100u, 1000u, 4096u, 33'000u, 70'000u})
    for (const std::size_t alignment : {1u, 16u, 64u, 128u, 4096u})
      for (int i = 0; i < 3; ++i) tenant.take(bytes, alignment);
}

template <class Resource>
constexpr bool is_as_the_standard_s =
    std::is_base_of_v<std::pmr::memory_resource, Resource> && std::is_convertible_v<Resource*, std::pmr::memory_resource*> &&
    std::is_default_constructible_v<Resource> && std::is_constructible_v<Resource, std::pmr::memory_resource*> &&
    std::is_constructible_v<Resource, const std::pmr::pool_options&> &&
    std::is_constructible_v<Resource, const std::pmr::pool_options&, std::pmr::memory_resource*> &&
    !std::is_convertible_v<std::pmr::memory_resource*, Resource> &&
    !std::is_convertible_v<const std::pmr::pool_options&, Resource> && !std::is_copy_constructible_v<Resource> &&
    !std::is_move_constructible_v<Resource> && !std::is_copy_assignable_v<Resource> && !std::is_move_assignable_v<Resource> &&
    std::has_virtual_destructor_v<Resource> && requires(Resource& r, const Resource& c) {
      r.release();
      { c.upstream_resource() } -> std::same_as<std::pmr::memory_resource*>;
      { c.options() } -> std::same_as<std::pmr::pool_options>;
    };
static_assert(is_as_the_standard_s<tarn::pmr::unsynchronized_pool_resource>);
static_assert(is_as_the_standard_s<tarn::pmr::synchronized_pool_resource>);
static_assert(is_as_the_standard_s<std::pmr::unsynchronized_pool_resource>, "or the question is wrong");

// ---- [mem.res.pool.overview] ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_overview_the_pool_of_the_smallest_blocks_that_fit_serves_a_request, Resource,
                              resources) {
  for (const std::size_t bytes : {1u, 16u, 24u, 100u, 129u, 700u, 1025u, 4096u}) {
    Resource resource;
    live_blocks tenant(resource);
    std::vector<std::uintptr_t> at;
    for (int i = 0; i < 60; ++i) at.push_back(reinterpret_cast<std::uintptr_t>(tenant.take(bytes, 1)));
    std::sort(at.begin(), at.end());
    std::size_t nearest = huge;
    for (std::size_t i = 1; i < at.size(); ++i) nearest = std::min(nearest, at[i] - at[i - 1]);
    BOOST_TEST(nearest <= std::max<std::size_t>(bytes + 15, bytes * 5 / 4), "blocks of " << nearest << " for " << bytes);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_overview_an_exhausted_pool_takes_one_chunk_each_larger_than_the_last, Resource,
                              resources) {
  upstream upstream;
  Resource resource(&upstream);
  live_blocks tenant(resource);
  tenant.take(64, 8);
  BOOST_TEST(upstream.regions() <= 3u);  // a chunk, and what the pool itself needs: its place, and room for magazines
  const auto capacity = [&resource] {
    std::size_t blocks = 0;
    resource.blocks().each_pool([&](std::size_t, auto& pool) { blocks += pool.capacity(); });
    return blocks;
  };
  std::vector<std::size_t> chunks;  // in blocks
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t regions = upstream.regions();
    const std::size_t blocks = capacity();
    tenant.take(64, 8);
    REQUIRE(upstream.regions() - regions <= 1 + std::size_t{keeps_magazines<Resource>});
    if (capacity() != blocks) chunks.push_back(capacity() - blocks);
  }
  BOOST_TEST(chunks.size() >= 6u);
  for (std::size_t i = 1; i < chunks.size(); ++i)
    BOOST_TEST(static_cast<double>(chunks[i]) >= 1.5 * static_cast<double>(chunks[i - 1]));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_overview_larger_requests_go_to_upstream_at_once_and_come_back_at_once, Resource,
                              resources) {
  upstream upstream;
  Resource resource(options(0, 1000), &upstream);
  live_blocks tenant(resource);
  for (const std::size_t bytes :
       {resource.options().largest_required_pool_block + 1, std::size_t{5000}, std::size_t{65'537}, std::size_t{1'000'000}})
    for (const std::size_t alignment : {1u, 16u, 256u, 4096u}) {
      const std::size_t calls = upstream.calls();
      const std::size_t held = upstream.bytes();
      void* const block = tenant.take(bytes, alignment);
      CHECK(upstream.calls() == calls + 1);
      CHECK(upstream.bytes() - held >= bytes);
      CHECK(upstream.bytes() - held <= bytes + alignment + record_bytes);
      tenant.give(block);
      CHECK(upstream.bytes() == held);
      CHECK(upstream.faults() == 0);
    }
  BOOST_TEST(upstream.regions() == 0u);
}

/// What upstream gave for the first block.
template <class Resource>
std::size_t bytes_of_first() {
  upstream upstream;
  Resource resource(&upstream);
  resource.deallocate(resource.allocate(64), 64);
  return upstream.bytes();
}
BOOST_AUTO_TEST_CASE(the_pool_of_a_class_takes_two_kilobytes_more_than_with_lifo_reuse) {
  const std::size_t least = bytes_of_first<pool_resource<no_locking, lifo_reuse<>>>();
  const std::size_t more = bytes_of_first<tarn::pmr::unsynchronized_pool_resource>() - least;
  BOOST_TEST(more > 256 * sizeof(void*));
  BOOST_TEST(more < 272 * sizeof(void*));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(over_the_heap_some_large_blocks_stay_until_trim, Resource, resources) {
  upstream named;
  for (const bool is_heap : {true, false}) {
    Resource resource(is_heap ? std::pmr::new_delete_resource() : &named);
    for (int round = 0; round != 2; ++round) {
      resource.deallocate(resource.allocate(200'000), 200'000);
      BOOST_TEST((resource.trim() >= 200'000) == is_heap);
      BOOST_TEST(resource.trim() == 0u);
      resource.release();  // what is said to stay or not is so after it, too
    }
  }
  BOOST_TEST(named.bytes() == 0u);
}

// ---- [mem.res.pool.options] -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_options_have_defaults_and_limits, Resource, resources) {
  const auto become = [](std::size_t blocks, std::size_t bytes) {
    const std::pmr::pool_options got = Resource(options(blocks, bytes)).options();
    return std::pair(got.max_blocks_per_chunk, got.largest_required_pool_block);
  };
  using both = std::pair<std::size_t, std::size_t>;
  CHECK(become(0, 0) == both(65'536, 32'768));
  CHECK(Resource().options().max_blocks_per_chunk == 65'536 && Resource().options().largest_required_pool_block == 32'768);
  CHECK(become(10, 0) == both(10, 32'768));
  CHECK(become(0, 64) == both(65'536, 64));
  for (const std::size_t much : {std::size_t{65'537}, huge / 2, huge}) CHECK(become(much, much) == both(65'536, 65'536));
  using small = pool_resource<geometric_classes<16, 1024>>;
  CHECK(small().options().largest_required_pool_block == 1024);
  CHECK(small(options(0, huge)).options().largest_required_pool_block == 1024);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_options_are_rounded_up_once, Resource, more_resources) {
  const std::size_t limit = Resource(options(0, huge)).options().largest_required_pool_block;
  for (std::size_t n = 1; n <= 70'000; n += 1 + n / 50) {
    const std::pmr::pool_options got = Resource(options(n, n)).options();
    CHECK(got.max_blocks_per_chunk == std::min<std::size_t>(n, 65'536));
    CHECK(got.largest_required_pool_block >= std::min(n, limit));
    CHECK(got.largest_required_pool_block <= limit);
    const std::pmr::pool_options again = Resource(got).options();
    CHECK(again.max_blocks_per_chunk == got.max_blocks_per_chunk);
    CHECK(again.largest_required_pool_block == got.largest_required_pool_block);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_options_max_blocks_per_chunk_is_honoured, Resource, resources) {
  for (const std::size_t most : {1u, 2u, 3u, 7u, 64u, 300u})
    for (const std::size_t bytes : {16u, 112u, 1024u, 4096u}) {  // each the size of a class
      upstream upstream;
      Resource resource(options(most, 0), &upstream);
      live_blocks tenant(resource);
      // Chunks of many large blocks set these a little apart, so that they don't meet in the cache.
      const std::size_t largest = most * bytes + most * bytes / 32 + record_bytes;
      tenant.take(bytes, 1);
      CHECK(upstream.bytes() <= largest + pool_bytes);
      std::size_t chunks = 1;
      std::size_t of_this_chunk = 1;
      for (std::size_t taken = 1; taken < 4 * most + 20; ++taken) {
        const std::size_t regions = upstream.regions();
        const std::size_t held = upstream.bytes();
        tenant.take(bytes, 1);
        ++of_this_chunk;
        if (upstream.regions() != regions) {
          REQUIRE(upstream.regions() == regions + 1);
          REQUIRE(upstream.bytes() - held <= largest);
          ++chunks;
          of_this_chunk = 1;
        }
        REQUIRE(of_this_chunk <= most);
      }
      if (most <= 7) CHECK(chunks <= 4 + 20 / most + 4);  // nor much smaller, once they have grown
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_options_largest_required_pool_block_is_honoured, Resource, resources) {
  for (const std::size_t largest : {1u, 16u, 100u, 1000u, 4096u, 65'536u}) {
    upstream upstream;
    Resource resource(options(0, largest), &upstream);
    live_blocks tenant(resource);
    for (const std::size_t bytes : {largest, resource.options().largest_required_pool_block}) {
      const std::size_t calls = upstream.calls();
      for (int i = 0; i < 100; ++i) tenant.take(bytes, 1);
      BOOST_TEST(upstream.calls() - calls <= 12u, "blocks of " << bytes << " are not pooled where the largest is " << largest);
    }
    const std::size_t calls = upstream.calls();
    for (int i = 0; i < 10; ++i) tenant.take(resource.options().largest_required_pool_block + 1, 1);
    BOOST_TEST(upstream.calls() - calls == 10u);
  }
}

// ---- [mem.res.pool.ctor] --------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_ctor_each_takes_what_it_is_given_and_allocates_nothing, Resource, resources) {
  upstream given, standing;
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&standing);
  const auto plain = std::make_unique<Resource>();
  const auto over = std::make_unique<Resource>(&given);
  const auto tuned = std::make_unique<Resource>(options(10, 64));
  const auto both = std::make_unique<Resource>(options(10, 64), &given);
  std::pmr::set_default_resource(before);  // the resources keep the one they found
  BOOST_TEST(over->options().max_blocks_per_chunk == plain->options().max_blocks_per_chunk);
  for (const Resource* const r : {tuned.get(), both.get()}) {
    BOOST_TEST(r->options().max_blocks_per_chunk == 10u);
    BOOST_TEST(r->options().largest_required_pool_block == 64u);
  }
  BOOST_TEST(standing.calls() + given.calls() == 0u);
  for (const auto& [resource, from] : {std::pair(plain.get(), &standing), std::pair(over.get(), &given),
                                       std::pair(tuned.get(), &standing), std::pair(both.get(), &given)}) {
    BOOST_TEST(resource->upstream_resource() == from);
    const std::size_t calls = from->calls();
    resource->deallocate(resource->allocate(24), 24);
    BOOST_TEST(from->calls() > calls);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_ctor_two_thousand_resources_at_once, Resource, resources) {
  upstream upstream;
  std::vector<std::unique_ptr<Resource>> many(2000);  // libstdc++'s #1025 throws
  for (auto& resource : many) {
    resource = std::make_unique<Resource>(&upstream);
    live_blocks(*resource).take(48, 16);
  }
  many.clear();
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

// ---- [mem.res.pool.mem] ---------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_mem_release_and_the_destructor_return_everything_even_blocks_in_use, Resource,
                              more_resources) {
  upstream upstream;
  {
    Resource resource(&upstream);
    live_blocks tenant(resource);
    resource.release();  // of nothing
    for (int round = 0; round < 3; ++round) {
      take_all_kinds(tenant);  // it works after a release as a new one
      tenant.verify();
      if (round == 1) tenant.give_all();
      BOOST_TEST(upstream.bytes() > 0u);
      resource.release();
      BOOST_TEST(upstream.bytes() == 0u);
      BOOST_TEST(upstream.regions() == 0u);
      tenant.forget();
      resource.release();
    }
    BOOST_TEST(resource.options().max_blocks_per_chunk == Resource().options().max_blocks_per_chunk);
    BOOST_TEST(resource.upstream_resource() == &upstream);
    take_all_kinds(tenant);
  }
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_mem_do_allocate_aligns_every_size_to_every_power_of_two, Resource, more_resources) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    Resource resource(options(0, 8192));
    live_blocks tenant(resource);
    for (std::size_t bytes = 0; bytes <= 5000; bytes += alignment > 64 ? 7 : bytes > 1200 ? 3 : 1) {
      std::array<void*, 3> blocks;  // several: libstdc++ 12 aligns the first of 24 bytes to 16, and not the second
      for (void*& block : blocks) block = tenant.take(bytes, alignment);
      for (void* const block : blocks) tenant.give(block);
    }
  }
}

struct arena_full : std::bad_alloc {
  explicit arena_full(int n) noexcept : arena(n) {}
  int arena;
};

/// Throws another exception each time, and knows the largest request.
class peculiar final : public std::pmr::memory_resource {
 public:
  int good_calls = 0;  // before the first that throws
  int thrown = 0;
  bool as_number = false;
  std::size_t largest = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (good_calls-- > 0) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    largest = std::max(largest, bytes);
    if (++thrown, as_number) throw thrown;
    throw arena_full(thrown);
  }
  void do_deallocate(void* region, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(region, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// The arena or the number that was thrown; 0: nothing was, -1: std::bad_alloc itself.
int thrown_by_allocate(std::pmr::memory_resource& resource, std::size_t bytes) {
  try {
    static_cast<void>(resource.allocate(bytes));
    return 0;
  } catch (const arena_full& e) {
    return e.arena;
  } catch (const std::bad_alloc&) {
    return -1;
  } catch (int number) {
    return number;
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_mem_do_allocate_throws_what_upstream_threw, Resource, resources) {
  peculiar upstream;
  Resource resource(options(2, 0), &upstream);
  for (const bool as_number : {false, true}) {
    upstream.as_number = as_number;
    for (const std::size_t bytes : {8u, 100u, 100'000u}) {  // pools that don't exist yet, and a region of its own
      CHECK(thrown_by_allocate(resource, bytes) == upstream.thrown);
      CHECK(thrown_by_allocate(resource, bytes) == upstream.thrown);
    }
  }
  upstream.good_calls = 2 + int{keeps_magazines<Resource>};  // a pool and its first chunk, of two blocks
  CHECK(thrown_by_allocate(resource, 8) == 0 && thrown_by_allocate(resource, 8) == 0);
  CHECK(thrown_by_allocate(resource, 8) == upstream.thrown);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_mem_do_allocate_asks_upstream_for_all_that_no_memory_has_room_for, Resource,
                              resources) {
  peculiar upstream;
  Resource resource(options(2, 0), &upstream);
  for (const std::size_t bytes : {std::size_t{1} << 40, huge / 8 - 40, huge / 2 - 4096, huge / 2, huge / 2 + 1, huge}) {
    CHECK(thrown_by_allocate(resource, bytes) == upstream.thrown && upstream.thrown != 0);
    CHECK(std::exchange(upstream.largest, 0) >= bytes);
    for (const std::size_t alignment : {1u, 128u, 4096u}) {
      BOOST_CHECK_THROW(static_cast<void>(resource.allocate(bytes, alignment)), arena_full);
      CHECK(std::exchange(upstream.largest, 0) >= bytes);
    }
  }
  const int before = upstream.thrown;
  std::size_t half = huge / 2 + 1;  // not a constant: clang 14 warns of one
  BOOST_CHECK_THROW(static_cast<void>(resource.allocate(16, half)), arena_full);
  CHECK(upstream.thrown == before + 1);
  // One that gives it all the same gets it back.
  struct generous : std::pmr::memory_resource {
    alignas(std::max_align_t) std::byte place[64];
    int out = 0;
    void* do_allocate(std::size_t, std::size_t) override { return ++out, place; }
    void do_deallocate(void*, std::size_t, std::size_t) override { --out; }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  } gives;
  Resource over_it(&gives);
  CHECK(thrown_by_allocate(over_it, huge) == -1);
  CHECK(gives.out == 0);
  pool<static_size<64>> blocks;  // and the resource of blocks of one size
  block_resource over_blocks(blocks, &upstream);
  CHECK(thrown_by_allocate(over_blocks, huge) == upstream.thrown);
}

BOOST_AUTO_TEST_CASE(mem_res_pool_mem_do_allocate_forgets_what_a_request_that_was_met_threw) {
  bool met = false;
  for (int good = 0; !met; ++good) {
    REQUIRE(good < 100);
    peculiar upstream;
    pool_resource<thread_cached<>> resource(options(64, 0), &upstream);  // a magazine is memory that it can do without
    upstream.good_calls = good;
    int thrown = 0;
    while (upstream.thrown == 0) thrown = thrown_by_allocate(resource, 8);
    met = thrown == 0;
    const int before = upstream.thrown;
    CHECK(thrown_by_allocate(resource, huge) == before + 1);  // what it threw for that, and nothing older
  }
}

// A class that is derived from one of them inherits its constructors as from the standard's.
struct own_resource : tarn::pmr::unsynchronized_pool_resource {
  using unsynchronized_pool_resource::unsynchronized_pool_resource;
};
struct own_synchronized_resource : tarn::pmr::synchronized_pool_resource {
  using synchronized_pool_resource::synchronized_pool_resource;
};
static_assert(is_as_the_standard_s<own_resource> && is_as_the_standard_s<own_synchronized_resource>);

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_mem_do_allocate_that_fails_often_holds_no_more_memory, Resource, resources) {
  upstream upstream;
  Resource resource(options(3, 0), &upstream);
  live_blocks tenant(resource);
  for (const std::size_t bytes : {40u, 100'000u}) {
    std::size_t held = 0;
    for (int i = 0; i < 500; ++i) {
      upstream.fail(i == 0 ? 2 : 1, failing::for_ever);  // first behind the pool, then the chunk each time
      if (throws_bad_alloc([&] { tenant.take(bytes, 8); })) {
        if (held == 0) held = upstream.bytes();
        REQUIRE(upstream.bytes() == held);
      }
    }
    upstream.fail(1, failing::never);
    tenant.take(bytes, 8);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_mem_do_deallocate_returns_the_memory_to_the_pool, Resource, resources) {
  upstream upstream;
  Resource resource(&upstream);
  live_blocks tenant(resource);
  std::size_t calls = 0;
  const int settled = keeps_magazines<Resource> ? 10 : 0;  // until then magazines grow with use
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < 1000; ++i) tenant.take(8 + i % 90, 8);
    tenant.give_all();
    if (round == settled) calls = upstream.calls();
  }
  BOOST_TEST(upstream.calls() == calls);  // what was freed serves again
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_mem_trim_returns_wholly_free_chunks, Resource, resources) {
  upstream upstream;
  Resource resource(options(100, 0), &upstream);
  live_blocks tenant(resource);
  BOOST_TEST(resource.trim() == 0u);
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 10'000; ++i) blocks.push_back(tenant.take(i % 2 == 0 ? 40 : 500, 8));
  const std::size_t full = upstream.bytes();
  for (std::size_t i = 300; i < blocks.size(); ++i) tenant.give(blocks[i]);
  BOOST_TEST(upstream.bytes() == full);
  std::size_t gone = resource.trim();
  BOOST_TEST(upstream.bytes() == full - gone);
  BOOST_TEST(upstream.bytes() < full / 10);
  tenant.verify();
  tenant.give_all();
  gone += resource.trim();
  BOOST_TEST(upstream.bytes() == full - gone);
  BOOST_TEST(upstream.bytes() <= 2 * pool_bytes);  // the two pools themselves stay
  BOOST_TEST(upstream.regions() <= 2u);
  for (int i = 0; i < 1000; ++i) tenant.take(40, 8);
  tenant.verify();
  BOOST_TEST(upstream.faults() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(mem_res_pool_mem_do_is_equal_is_identity, Resource, resources) {
  upstream upstream;
  const Resource one(&upstream), other(&upstream);
  const std::pmr::unsynchronized_pool_resource standard(&upstream);
  const pool_resource<mutex_locking<>> of_another_type(&upstream);
  const std::pmr::memory_resource& base = one;
  BOOST_TEST((one.is_equal(one) && one.is_equal(base) && base == one));
  for (const std::pmr::memory_resource* const its : std::initializer_list<const std::pmr::memory_resource*>{
           &other, &upstream, &standard, &of_another_type})
    BOOST_TEST((!one.is_equal(*its) && !its->is_equal(one) && base != *its));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(reset_forgets_all_blocks_and_keeps_what_they_lay_in, Resource, more_resources) {
  upstream upstream;
  {
    Resource resource(&upstream);
    live_blocks tenant(resource);
    std::size_t held = 0;
    for (int round = 0; round != 4; ++round) {
      for (int i = 0; i != 40; ++i) take_all_kinds(tenant);
      tenant.verify();
      tenant.forget();
      resource.reset();
      if (round == 1) held = upstream.bytes();  // by then there is room for magazines
      if (round > 1) BOOST_TEST(upstream.bytes() == held);
    }
    BOOST_TEST(held != 0u);
    BOOST_TEST(resource.trim() != 0u);
  }
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

}  // namespace
}  // namespace tarn::test
