// Allocators made of allocators: what each template does that others don't, where they are used, and a block of a user's own.
// blocks_product_test.cc tries all of them over all that can be at the bottom.
#include <boost/test/unit_test.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/block_macros.h"
#include "tarn/allocator/blocks.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/resource_over.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/statistics/sampled_trace.h"
#include "tarn/policies/statistics/trace_ring.h"
#include "tarn/test/allocator/accounted_block.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

bool is_aligned(const void* block, std::size_t alignment) { return reinterpret_cast<std::uintptr_t>(block) % alignment == 0; }

// ---- what is a block, and what it takes ---------------------------------------------------------------------------------

using of_64 = pool<static_size<64>, counting_statistics>;
using static_64 = static_pool<struct blocks_test_tag, static_size<64>>;
using functions = xallocator<struct blocks_test_functions, no_locking>;

struct without_traits : heap_block {
  static constexpr int traits = 0;
};
struct promises_too_much : heap_block {
  static constexpr block_traits traits{.knows_own = true};
};
struct says_too_little : heap_block {
  static constexpr block_traits traits{};
  static void reset() noexcept {}
};
static_assert(allocator_block<heap_block> && allocator_block<buffer_block<10>> && allocator_block<buffer_block<>>);
static_assert(!allocator_block<int> && !allocator_block<of_64> && !allocator_block<without_traits> &&
              !allocator_block<promises_too_much> && !allocator_block<says_too_little>);
static_assert(allocator_block<block_of<of_64>> && allocator_block<block_of<of_64&>> && allocator_block<block_of<static_64>> &&
              allocator_block<block_of<functions>> && allocator_block<block_of<size_class_pool<>>> &&
              allocator_block<block_of<std::pmr::memory_resource&>> && allocator_block<block_of<buffer_block<10>&>>);

// Nothing is added where nothing has a state.
using stateless = counted<heap_block>;
static_assert(std::is_empty_v<segregate<64, static_64, heap_block>> && std::is_empty_v<segregate<64, static_64, functions>> &&
              std::is_empty_v<fall_back<static_64, heap_block>> && std::is_empty_v<prefix<int, heap_block>> &&
              std::is_empty_v<aligned_to<64, heap_block>> && std::is_empty_v<checked_bounds<heap_block>> &&
              std::is_empty_v<traced<trace_ring<>, heap_block>>);
static_assert(std::is_empty_v<checked_bounds<aligned_to<64, prefix<int, by_size<up_to<64, static_64>, heap_block>>>>>);
static_assert(sizeof(segregate<64, of_64, heap_block>) == sizeof(of_64));
static_assert(sizeof(block_of<of_64&>) == sizeof(void*));
static_assert(std::is_trivially_destructible_v<segregate<64, static_64, buffer_block<100>>>);

// What is said of threads, sizes and alignments.
static_assert(heap_block::traits.any_thread && !block_of<of_64>::traits.any_thread &&
              block_of<pool<static_size<64>, mutex_locking<>>>::traits.any_thread &&
              block_of<size_class_pool<thread_cached<>>>::traits.any_thread && !block_of<functions>::traits.any_thread &&
              block_of<xallocator<struct blocks_test_shared>>::traits.any_thread &&
              shared_between<mutex, of_64>::traits.any_thread && !fall_back<of_64, heap_block>::traits.any_thread);
static_assert(block_of<of_64>::traits.most_bytes == 64 && block_of<of_64>::traits.most_alignment == 16 &&
              block_of<pool<dynamic_size>>::traits.most_bytes == unlimited && prefix<int, of_64>::traits.most_bytes == 60 &&
              segregate<64, of_64, buffer_block<99>>::traits.most_bytes == 99);
static_assert(std::same_as<by_size<up_to<64, static_64>, up_to<100, functions>, heap_block>,
                           segregate<64, static_64, segregate<100, functions, heap_block>>>);
static_assert(fall_back<of_64, block_of<of_64>>::traits.knows_own && !fall_back<of_64, heap_block>::traits.knows_own);
static_assert(!segregate<64, of_64, heap_block>::traits.can_reset && segregate<64, of_64, buffer_block<99>>::traits.can_reset);

BOOST_AUTO_TEST_CASE(blocks_are_constructed_with_an_argument_for_each_that_needs_one) {
  of_64 blocks;
  upstream elsewhere;
  segregate<64, of_64&, std::pmr::memory_resource&> both(blocks, elsewhere);
  both.deallocate(both.allocate(64, 8), 64, 8);
  both.deallocate(both.allocate(65, 8), 65, 8);
  BOOST_TEST(&both.first() == &blocks);
  BOOST_TEST(&both.second() == &elsewhere);
  BOOST_TEST(blocks.statistics().allocations == 1u);
  BOOST_TEST(elsewhere.calls() == 1u);
  BOOST_TEST(elsewhere.bytes() == 0u);

  stack_first<100, of_64&> second(blocks);
  fall_back<of_64&, heap_block> first(blocks);
  counted<checked_bounds<stack_first<10, std::pmr::memory_resource&>>> passed_on(elsewhere);
  passed_on.deallocate(passed_on.allocate(100), 100);
  BOOST_TEST(elsewhere.calls() == 2u);
  BOOST_TEST(&second.second() == &blocks);
  BOOST_TEST(&first.first() == &blocks);

  alignas(16) std::byte bytes[2000];
  fall_back<pool<static_size<64>, buffer_store>, heap_block> in_bytes(buffer_store{bytes});
  void* const block = in_bytes.allocate(64);
  BOOST_TEST((block >= bytes && block < bytes + sizeof bytes));
  in_bytes.deallocate(block, 64);

  buffer_block<> given{tarn::span<std::byte>(bytes)};
  block_of<buffer_block<>&> referred(given);
  BOOST_TEST(referred.owns(referred.allocate(10, 1)));
  BOOST_TEST(given.used() == 10u);
  static_assert(!std::default_initializable<block_of<pool<static_size<64>, buffer_store>>>);
  static_assert(!std::default_initializable<segregate<64, of_64&, heap_block>>);
}

// ---- which block serves what --------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(segregate_goes_by_size_and_by_what_alignment_the_small_ones_have) {
  segregate<48, of_64, counted<heap_block>> all;
  const auto comes_from_pool = [&](std::size_t bytes, std::size_t alignment) {
    void* const block = all.allocate(bytes, alignment);
    const bool pooled = all.first().owns(block);
    BOOST_TEST(all.second().statistics().in_use == (pooled ? 0u : 1u));
    all.deallocate(block, bytes, alignment);
    BOOST_TEST(all.first().statistics().in_use + all.second().statistics().in_use == 0u);
    return pooled;
  };
  BOOST_TEST(comes_from_pool(0, 1));
  BOOST_TEST(comes_from_pool(48, 16));
  BOOST_TEST(!comes_from_pool(49, 16));
  BOOST_TEST(!comes_from_pool(48, 32));
  BOOST_TEST(all.good_size(10) == 48u);  // of 64: those above 48 would go to the heap
  BOOST_TEST(all.good_size(49) == 49u);
}

/// A pool whose blocks have 48 bytes, aligned to 8, as is known at run time.
struct sized_at_run_time : block_of<pool<dynamic_size, counting_statistics>> {
  sized_at_run_time() : block_of(dynamic_size(48, 8)) {}
};
/// Requests that a pool refuses: one too large, one aligned to more. Others go to it.
template <template <class> class Around>
void routed_at_run_time(std::size_t most) {
  segregate<64, Around<accounted<sized_at_run_time>>, counted<accounted<heap_block>>> all;
  const auto goes_on = [&](std::size_t bytes, std::size_t alignment) {
    void* const block = all.allocate(bytes, alignment);
    BOOST_TEST(is_aligned(block, alignment));
    const bool is_in_heap = all.second().statistics().in_use != 0;
    BOOST_TEST(accounts::outstanding == 1u);
    all.deallocate(block, bytes, alignment);
    void* const other = all.try_allocate(bytes, alignment);
    BOOST_TEST(other != nullptr);
    all.deallocate(other, bytes, alignment);
    BOOST_TEST(accounts::outstanding == 0u);
    return is_in_heap;
  };
  BOOST_TEST(!goes_on(most, 8));
  BOOST_TEST(goes_on(most + 1, 8));
  BOOST_TEST(goes_on(64, 1));
  BOOST_TEST(goes_on(65, 1));
  BOOST_TEST(goes_on(8, 64));
  BOOST_TEST(goes_on(64, 4096));
}
template <class B>
using as_it_is = B;
template <class B>
using headed_by_8 = prefix<std::uint64_t, B>;
template <class B>
using to_16 = aligned_to<16, B>;  // 8 bytes and 15 more
template <class B>
using to_4 = aligned_to<4, B>;
template <class B>
using behind_none = fall_back<buffer_block<1>, B>;
template <class B>
using within = segregate<8, pool<static_size<8>>, B>;
template <class B>
using in_a_lock = shared_between<mutex, counted<traced<trace_ring<>, B>>>;
template <class B>
using in_bounds = checked_bounds<B>;  // 32 bytes

BOOST_AUTO_TEST_CASE(segregate_asks_a_pool_whose_size_is_known_at_run_time) {
  routed_at_run_time<as_it_is>(48);
  routed_at_run_time<headed_by_8>(40);
  routed_at_run_time<to_16>(25);
  routed_at_run_time<to_4>(48);
  routed_at_run_time<behind_none>(48);
  routed_at_run_time<within>(48);
  routed_at_run_time<in_a_lock>(48);
  routed_at_run_time<in_bounds>(16);

  pool<dynamic_size, counting_statistics> blocks(dynamic_size(48, 32));
  segregate<64, pool<dynamic_size, counting_statistics>&, heap_block> all(blocks);
  all.deallocate(all.allocate(40, 64), 40, 64);
  BOOST_TEST(blocks.statistics().allocations == 0u);
  void* const block = all.allocate(40, 32);
  BOOST_TEST(blocks.owns(block));
  BOOST_TEST((all.good_size(40, 32) == 48u && all.good_size(40, 64) == 40u));
  BOOST_TEST((all.fits(40, 64) && all.fits(1000, 64)));
  all.deallocate(block, 48, 32);
  BOOST_TEST(blocks.statistics().in_use == 0u);

  pool<dynamic_size> of_46(dynamic_size(46));  // aligned to 2
  aligned_to<16, pool<dynamic_size>&> to_16(of_46);
  BOOST_TEST((to_16.fits(23) && !to_16.fits(24)));
  void* const its = to_16.allocate(23);
  BOOST_TEST(is_aligned(its, 16));
  to_16.deallocate(its, 23);
}

BOOST_AUTO_TEST_CASE(fall_back_gives_each_block_back_to_where_it_came_from) {
  fall_back<pool<static_size<64>, static_array_store<3>, counting_statistics>, counted<heap_block>> all;
  std::vector<void*> blocks;
  for (int i = 0; i != 5; ++i) blocks.push_back(all.allocate(64));
  blocks.push_back(all.allocate(65));
  BOOST_TEST(all.first().statistics().in_use == 3u);
  BOOST_TEST(all.second().statistics().in_use == 3u);
  all.deallocate(blocks[0], 64);
  BOOST_TEST(all.first().statistics().in_use == 2u);
  BOOST_TEST(all.allocate(10) == blocks[0]);
  for (int i = 0; i != 6; ++i) all.deallocate(blocks[static_cast<std::size_t>(i)], i == 0 ? 10 : i == 5 ? 65 : 64);
  BOOST_TEST(all.first().statistics().in_use + all.second().statistics().in_use == 0u);
}

BOOST_AUTO_TEST_CASE(buffer_gives_the_newest_bytes_again_and_all_when_all_are_free) {
  buffer_block<100> bytes;
  void* const first = bytes.allocate(40, 1);
  void* const second = bytes.allocate(40, 1);
  BOOST_TEST(bytes.try_allocate(40, 1) == nullptr);
  bytes.deallocate(second, 40, 1);
  BOOST_TEST(bytes.allocate(60, 1) == second);
  bytes.deallocate(first, 40, 1);
  BOOST_TEST(bytes.used() == 100u);  // not the newest
  BOOST_TEST(bytes.try_allocate(1, 1) == nullptr);
  bytes.deallocate(second, 60, 1);
  BOOST_TEST(bytes.used() == 0u);
  BOOST_TEST(bytes.allocate(100, 1) == first);
  bytes.reset();
  BOOST_TEST(bytes.allocate(100, 1) == first);
  BOOST_TEST(bytes.owns(static_cast<char*>(first) + 99));
  BOOST_TEST(!bytes.owns(static_cast<char*>(first) + 100));
  BOOST_TEST(!bytes.owns(static_cast<char*>(first) - 1));
  bytes.deallocate(first, 100, 1);
  BOOST_TEST(bytes.try_allocate(1, ~(~std::size_t{0} / 2)) == nullptr);  // no address is aligned so

  void* const one = bytes.allocate(10, 1);
  bytes.deallocate(bytes.allocate(0, 1), 0, 1);
  BOOST_TEST(bytes.used() == 10u);
  bytes.deallocate(one, 10, 1);
}

// ---- headers, alignments ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(prefix_has_a_header_in_front_of_each_block_whatever_its_alignment) {
  struct header {
    std::uint64_t number = 7;
    const char* name = "new";
  };
  using headed = prefix<header, accounted<heap_block>>;
  headed all;
  for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
    void* const block = all.allocate(10, alignment);
    BOOST_TEST(is_aligned(block, alignment));
    header& its = headed::header_of(block);
    BOOST_TEST(is_aligned(&its, alignof(header)));
    BOOST_TEST(its.number == 7u);
    BOOST_TEST(static_cast<void*>(&its + 1) == block);
    its = {alignment, "changed"};
    all.deallocate(block, 10, alignment);
  }
}

BOOST_AUTO_TEST_CASE(prefix_owns_a_block_of_no_bytes) {
  prefix<char, buffer_block<1>> too_small;
  BOOST_TEST(too_small.try_allocate(0, 1) == nullptr);
  prefix<char, buffer_block<2>> all;
  void* const block = all.allocate(0, 1);
  BOOST_TEST(all.owns(block));
  all.deallocate(block, 0, 1);
}

BOOST_AUTO_TEST_CASE(aligned_to_aligns_more_than_the_block_inside_can) {
  aligned_to<64, accounted<pool<static_size<200>>>> all;  // 8 bytes
  for (std::size_t alignment = 1; alignment <= 128; alignment *= 2) {
    void* const block = all.allocate(60, alignment);
    BOOST_TEST(is_aligned(block, alignment < 64 ? 64 : alignment));
    BOOST_TEST(all.owns(block));
    all.deallocate(block, 60, alignment);
  }
  BOOST_TEST(all.try_allocate(130, 8) == nullptr);  // with the room to align it, more than 200 bytes
  aligned_to<64, counted<pool<static_size<200, 64>>>> by_itself;
  void* const block = by_itself.allocate(200);
  BOOST_TEST(is_aligned(block, 64));
  by_itself.deallocate(block, 200);
}

// ---- what is seen -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(counted_counts_blocks_and_bytes) {
  counted<stack_first<200, block_of<size_class_pool<>>>> all;
  void* const one = all.allocate(100);
  void* const other = all.allocate(100);
  BOOST_CHECK_THROW(static_cast<void>(all.allocate(~std::size_t{0} / 4)), std::bad_alloc);
  BOOST_TEST(all.try_allocate(~std::size_t{0} / 4) == nullptr);
  pool_counts now = all.statistics();
  BOOST_TEST(now.in_use == 2u);
  BOOST_TEST(now.bytes == 200u);
  all.deallocate(one, 100);
  all.deallocate(nullptr, 100);
  now = all.statistics();
  BOOST_TEST(now.in_use == 1u);
  BOOST_TEST(now.peak == 2u);
  BOOST_TEST(now.allocations == 2u);
  BOOST_TEST(now.bytes == 100u);
  all.deallocate(other, 100);
  BOOST_TEST(all.statistics().bytes == 0u);

  counted<of_64> of_pool;
  static_cast<void>(of_pool.allocate(10));
  BOOST_TEST(of_pool.statistics().bytes == 64u);  // what a block has
  BOOST_TEST(of_pool.inner().statistics().in_use == 1u);
  of_pool.reset();
  BOOST_TEST(of_pool.statistics().in_use + of_pool.statistics().bytes == 0u);
  BOOST_TEST(of_pool.statistics().allocations == 1u);
}

struct remembering {
  static void on_event(const trace_event& event) noexcept { events.push_back(event); }
  static inline std::vector<trace_event> events;
};

BOOST_AUTO_TEST_CASE(traced_tells_each_event_with_its_bytes) {
  remembering::events.clear();
  traced<remembering, buffer_block<100>> all;
  void* const block = all.allocate(60);
  BOOST_TEST(all.try_allocate(60) == nullptr);
  BOOST_CHECK_THROW(static_cast<void>(all.allocate(70)), std::bad_alloc);
  all.deallocate(block, 60);
  all.deallocate(nullptr, 60);
  all.reset();
  const auto is = [&](std::size_t i, trace_kind kind, const void* address, std::size_t bytes) {
    const trace_event& event = remembering::events.at(i);
    return event.kind == kind && event.pool == &all && event.address == address && event.bytes == bytes;
  };
  BOOST_TEST(remembering::events.size() == 5u);
  BOOST_TEST(is(0, trace_kind::allocate, block, 60));
  BOOST_TEST(is(1, trace_kind::refuse, nullptr, 60));
  BOOST_TEST(is(2, trace_kind::refuse, nullptr, 70));
  BOOST_TEST(is(3, trace_kind::free, block, 60));
  BOOST_TEST(is(4, trace_kind::release, nullptr, 0));

  remembering::events.clear();
  traced<sampled_trace<remembering, 1>, heap_block> sampled;  // has a state of its own
  sampled.deallocate(sampled.allocate(1000), 1000);
  BOOST_TEST(remembering::events.size() == 2u);
}

template <class Sizes>
void sizes_first() {
  fall_back<Sizes, accounted<heap_block>> all;
  Sizes& sizes = all.first();
  void* const small = all.allocate(40, 8);
  void* const large = all.allocate(300'000, 8);
  void* const newer = all.allocate(200'000, 8);
  int local = 0;
  BOOST_TEST((sizes.owns(small) && sizes.owns(static_cast<std::byte*>(large) + 299'999) && sizes.owns(newer)));
  BOOST_TEST((!sizes.owns(static_cast<std::byte*>(large) - 1) && !sizes.owns(&local) && !sizes.owns(nullptr)));
  void* const other = all.second().allocate(40, 8);
  BOOST_TEST(!sizes.owns(other));
  all.deallocate(other, 40, 8);
  BOOST_TEST(accounts::outstanding == 0u);
  all.deallocate(newer, 200'000, 8);
  all.deallocate(large, 300'000, 8);
  all.deallocate(small, 40, 8);
  BOOST_TEST((sizes.large().blocks == 0u && !sizes.owns(large)));
}
BOOST_AUTO_TEST_CASE(a_pool_of_sizes_knows_its_own_blocks) {
  sizes_first<size_class_pool<>>();
  sizes_first<size_class_pool<checked>>();
  sizes_first<size_class_pool<mutex_locking<>>>();
  fall_back<size_class_pool<static_array_store<2>>, accounted<heap_block>> all;  // an array, and then the heap
  std::vector<void*> blocks;
  for (int i = 0; i != 100; ++i) blocks.push_back(all.allocate(1000, 8));
  const std::size_t outside = accounts::outstanding;
  BOOST_TEST((outside > 60u && outside < 90u));
  for (void* const block : blocks) all.deallocate(block, 1000, 8);
  BOOST_TEST(accounts::outstanding == 0u);
}

misuse last_misuse;
int misuses = 0;
void note_misuse(const misuse& what) noexcept {
  last_misuse = what;
  ++misuses;
}

template <std::size_t Bytes>
struct writes_into_freed : buffer_block<200> {  // as malloc does
  static void deallocate(void* block, std::size_t, std::size_t) noexcept { std::memset(block, 0xAB, Bytes); }
};
template <std::size_t Bytes>
void free_twice() {
  checked_bounds<writes_into_freed<Bytes>, reported_to<note_misuse>> all;
  void* const block = all.allocate(10);
  misuses = 0;
  all.deallocate(block, 10);
  BOOST_TEST(misuses == 0);
  for (int i = 1; i != 3; ++i) {  // nothing is repaired
    all.deallocate(block, 10);
    BOOST_TEST((misuses == i && last_misuse.kind == misuse_kind::double_free && last_misuse.damaged == 0));
  }
}
BOOST_AUTO_TEST_CASE(checked_bounds_reports_a_second_free_also_where_a_heap_has_written) {
  free_twice<8>();
  free_twice<16>();
}
BOOST_AUTO_TEST_CASE(checked_bounds_reports_what_was_written_around_a_block) {
  misuses = 0;
  checked_bounds<accounted<heap_block>, reported_to<note_misuse>> all;
  auto* const block = static_cast<unsigned char*>(all.allocate(21, 32));
  const auto found = [&](misuse_kind kind, std::ptrdiff_t offset, unsigned char value) {
    all.deallocate(block, 21, 32);
    const bool as_told = misuses == 1 && last_misuse.kind == kind && last_misuse.offset == offset &&
                         last_misuse.value == value && last_misuse.damaged == 1 && last_misuse.pool == &all &&
                         last_misuse.block == block && last_misuse.block_size == 21;
    misuses = 0;
    return as_told && accounts::outstanding == 1;  // it stays in use
  };
  for (std::size_t i = 0; i != 16; ++i) {
    block[21 + i] ^= 0x55;
    const unsigned char behind = block[21 + i];
    BOOST_TEST(found(misuse_kind::write_past_end, static_cast<std::ptrdiff_t>(21 + i), behind));
    unsigned char* const in_front = block - 16 + i;
    *in_front ^= 0x55;
    const unsigned char damage = *in_front;
    if (i >= 8) BOOST_TEST(found(misuse_kind::write_in_front, -16 + static_cast<std::ptrdiff_t>(i), damage));
    else *in_front ^= 0x55;  // where the size is kept: reported as another size
  }
  all.deallocate(block, 20, 32);
  BOOST_TEST(
      (misuses == 1 && last_misuse.kind == misuse_kind::wrong_size && last_misuse.block_size == 21 && last_misuse.size == 20));
  for (const std::size_t other : {std::size_t{16}, std::size_t{64}}) {
    misuses = 0;
    all.deallocate(block, 21, other);
    BOOST_TEST((misuses == 1 && last_misuse.kind == misuse_kind::wrong_size && last_misuse.block_size == 21 &&
                last_misuse.size == 21 && last_misuse.alignment == other));
  }
  all.deallocate(block, 21, 32);
  BOOST_TEST(misuses == 1);
  BOOST_TEST(accounts::outstanding == 0u);

  buffer_block<200> bytes;  // whose memory is there after the block
  checked_bounds<buffer_block<200>&, reported_to<note_misuse>> over(bytes);
  void* const first = over.allocate(10);
  void* const second = over.allocate(10);
  over.deallocate(first, 10);
  BOOST_TEST(misuses == 1);
  over.deallocate(first, 10);
  BOOST_TEST((misuses == 2 && last_misuse.kind == misuse_kind::double_free && last_misuse.address == first));
  over.deallocate(second, 10);
  BOOST_TEST(misuses == 2);
}

// ---- threads ------------------------------------------------------------------------------------------------------------

template <class Block>
void use_from_threads(Block& all) {
  std::vector<std::thread> threads;
  for (unsigned char mark = 1; mark != 4; ++mark)
    threads.emplace_back([&all, mark] {
      for (int i = 0; i != 3000; ++i) {
        const std::size_t bytes = 1 + static_cast<std::size_t>(i) % 200;
        auto* const block = static_cast<unsigned char*>(all.allocate(bytes));
        block[0] = block[bytes - 1] = mark;
        check_that(block[0] == mark && block[bytes - 1] == mark, "a block of two threads");
        all.deallocate(block, bytes);
      }
    });
  for (std::thread& one : threads) one.join();
}

BOOST_AUTO_TEST_CASE(shared_between_and_what_lies_around_it_are_for_any_thread) {
  counted<shared_between<mutex, by_size<up_to<64, of_64>, up_to<100, buffer_block<100'000>>, heap_block>>> all;
  use_from_threads(all);
  BOOST_TEST(all.statistics().in_use + all.statistics().bytes == 0u);
  BOOST_TEST(all.statistics().allocations == 9000u);
  shared_between<thread_aware_mutex, counted<stack_first<500, size_class_pool<>>>> inside;
  use_from_threads(inside);
  BOOST_TEST(inside.inner().statistics().allocations == 9000u);
}

// ---- where blocks are used ----------------------------------------------------------------------------------------------

using small_and_large = segregate<64, accounted<of_64>, accounted<heap_block>>;

BOOST_AUTO_TEST_CASE(a_block_is_a_memory_resource) {
  tarn::pmr::resource_over<stack_first<300, counted<heap_block>>> memory;
  {
    std::pmr::map<int, std::pmr::string> names(&memory);
    for (int i = 0; i != 50; ++i) names[i] = std::string(static_cast<std::size_t>(i), 'x');
    BOOST_TEST(names[49].size() == 49u);
    BOOST_TEST(memory.block().second().statistics().in_use > 0u);
    BOOST_TEST(memory.block().first().used() > 0u);
    BOOST_TEST((memory.is_equal(memory) && !memory.is_equal(*std::pmr::new_delete_resource())));
  }
  BOOST_TEST(memory.block().second().statistics().in_use == 0u);
  BOOST_TEST(memory.block().first().used() == 0u);

  tarn::pmr::resource_over<buffer_block<100>> small;
  static_cast<void>(small.allocate(60));
  BOOST_CHECK_THROW(static_cast<void>(small.allocate(60)), std::bad_alloc);
  small.reset();
  static_cast<void>(small.allocate(100, 1));

  of_64 blocks;
  tarn::pmr::resource_over<of_64&> over_pool(blocks);
  over_pool.deallocate(over_pool.allocate(64), 64);
  BOOST_TEST(&over_pool.block() == &blocks);
  BOOST_TEST(blocks.statistics().allocations == 1u);
}

BOOST_AUTO_TEST_CASE(a_block_is_a_source_of_stl_allocator) {
  using allocator = stl_allocator<int, small_and_large>;
  static_assert(!allocator::propagate_on_container_copy_assignment::value &&
                allocator::propagate_on_container_move_assignment::value && allocator::propagate_on_container_swap::value);
  small_and_large one, other;
  {
    std::list<int, allocator> numbers{{1, 2, 3}, allocator(one)}, others{{4}, allocator(other)};
    std::vector<int, allocator> many(1000, 7, allocator(one));
    BOOST_TEST(accounts::outstanding == 5u);
    numbers.swap(others);
    BOOST_TEST(&numbers.get_allocator().source() == &other);
    others = std::move(numbers);
    BOOST_TEST(others.size() == 1u);
    BOOST_TEST(&others.get_allocator().source() == &other);
    std::list<int, allocator> third(allocator{one});
    third = others;
    BOOST_TEST(&third.get_allocator().source() == &one);
  }
  BOOST_TEST(accounts::outstanding == 0u);
}

struct node {
  explicit node(bool throws = false) : next(nullptr) {
    if (throws) throw std::runtime_error("node");
  }
  node* next;
  char name[20] = {};
  DECLARE_MEMORY_BLOCK(
      node, counted<fall_back<static_pool<struct node_tag, static_size<32>, static_array_store<4>>, buffer_block<200>>>)
};
struct larger_node : node {
  using node::node;
  char more[100] = {};
};
struct alignas(64) last_node final {
  explicit last_node(bool throws = false) {
    if (throws) throw std::runtime_error("node");
  }
  char name[20] = {};
  DECLARE_MEMORY_BLOCK__NOTHROW(last_node, counted<heap_block>)
};

BOOST_AUTO_TEST_CASE(a_class_has_a_block_of_its_own) {
  auto& all = node::memory_pool().block();
  std::vector<node*> nodes;
  for (int i = 0; i != 8; ++i) nodes.push_back(new node);
  BOOST_TEST(all.statistics().in_use == 8u);
  BOOST_TEST(all.inner().second().used() > 0u);
  for (int i = 0; i != 4; ++i)
    if (node* const more = new (std::nothrow) node) nodes.push_back(more);
  BOOST_CHECK_THROW(for (int i = 0; i != 10; ++i) nodes.push_back(new node), std::bad_alloc);
  const std::size_t had = all.statistics().in_use;
  BOOST_TEST(had == nodes.size());
  delete nodes.back();
  nodes.pop_back();
  BOOST_CHECK_THROW(new node(true), std::runtime_error);
  BOOST_CHECK_THROW(new (std::nothrow) node(true), std::runtime_error);
  BOOST_TEST(all.statistics().in_use == had - 1);
  delete new larger_node;
  BOOST_CHECK_THROW(new (std::nothrow) larger_node(true), std::runtime_error);
  delete[] new node[3];
  BOOST_TEST(all.statistics().in_use == had - 1);
  for (node* const one : nodes) delete one;
  BOOST_TEST(all.statistics().in_use == 0u);

  delete new last_node;
  BOOST_CHECK_THROW(new (std::nothrow) last_node(true), std::runtime_error);
  last_node* const one = new last_node;
  BOOST_TEST(is_aligned(one, 64));
  BOOST_TEST(last_node::memory_pool().block().statistics().in_use == 1u);
  delete one;
}

// ---- a block of a user's own, as docs/products/blocks.md shows one ------------------------------------------------------

template <class Inner>
class at_most_10 {  // blocks at a time
 public:
  static constexpr block_traits traits{.most_bytes = Inner::traits.most_bytes, .most_alignment = Inner::traits.most_alignment};

  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const block = count_ == 10 ? nullptr : inner_.try_allocate(bytes, alignment);
    count_ += block != nullptr;
    return block;
  }
  void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const block = try_allocate(bytes, alignment);
    return block != nullptr ? block : throw std::bad_alloc();
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    count_ -= block != nullptr;
    inner_.deallocate(block, bytes, alignment);
  }

 private:
  Inner inner_;
  int count_ = 0;
};

BOOST_AUTO_TEST_CASE(a_block_of_a_users_own_stands_where_any_does) {
  checked_bounds<fall_back<pool<static_size<96>, static_array_store<5>>, at_most_10<heap_block>>> all;
  std::vector<void*> blocks;
  while (void* const block = all.try_allocate(60)) blocks.push_back(block);
  BOOST_TEST(blocks.size() == 15u);
  for (void* const block : blocks) all.deallocate(block, 60);
}

}  // namespace
}  // namespace tarn::test
