// Walks through object pools whose free blocks lie elsewhere: with threads, under checks, in arrays, in a list of the user's.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/policies/checking/switchable_checking.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/allocator/walked_pools.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

BOOST_AUTO_TEST_CASE(walks_of_locked_pools_agree_with_a_map) {
  walk_beside_a_map<object_pool<owner<40>, mutex_locking<>, counting_statistics, named<"walked">>>(3000);
  walk_beside_a_map<object_pool<owner<40>, thread_cached<>>>(3000);
  walk_beside_a_map<object_pool<owner<40>, thread_cached<>, return_empty_chunks<>, fixed_growth<60>>>(3000);
  walk_beside_a_map<object_pool<owner<40>, lock_free>>(3000);
}
BOOST_AUTO_TEST_CASE(walks_over_coloured_and_much_aligned_blocks_agree_with_a_map) {
  walk_beside_a_map<object_pool<owner<230>, fixed_growth<800>, lifo_reuse<>>>(1500);
  walk_beside_a_map<object_pool<owner<170, 64>, static_array_store<850>>>(900);
  walk_beside_a_map<object_pool<owner<40, 64>, fixed_growth<9>, lifo_reuse<>>>(500);
  walk_beside_a_map<object_pool<owner<4000, 4096>, fixed_growth<100>>>(400);
}
BOOST_AUTO_TEST_CASE(walks_of_checked_pools_agree_with_a_map) {
  walk_beside_a_map<object_pool<owner<40>, checked>>(2000);
  walk_beside_a_map<object_pool<owner<40>, hardened>>(2000);
  walk_beside_a_map<object_pool<owner<40>, hardened, page_local_reuse<>>>(2000);
  walk_beside_a_map<object_pool<owner<40>, switchable_checking, named<"switched">>>(2000);
}
BOOST_AUTO_TEST_CASE(walks_of_bounded_pools_agree_with_a_map) {
  walk_beside_a_map<object_pool<owner<40>, static_array_store<700>>>(800);
  walk_beside_a_map<object_pool<owner<40>, static_array_store<700>, hardened>>(800);
  walk_beside_a_map<object_pool<owner<3>, static_array_store<33'000>>>(3000);  // too many for the stack
  walk_beside_a_map<object_pool<owner<40>, static_array_store<700>, page_local_reuse<>>>(800);
  walk_beside_a_map<object_pool<owner<40>, no_growth<300>, fall_back_to<heap_store>>>(2000);
  walk_beside_a_map<object_pool<owner<40>, static_array_store<700>, batch_reuse<prefetch::none, 128>>>(800);
  walk_beside_a_map<object_pool<owner<40>, static_array_store<400>, wait_for_block<1>, mutex_locking<>>>(390);
  walk_beside_a_map<object_pool<owner<40>, fixed_growth<20, 150>>>(200);
  walk_beside_a_map<object_pool<owner<40>, geometric_growth<2, 64, 2, 150>, lifo_reuse<>>>(200);
  std::vector<std::byte> bytes(40'003);
  walk_beside_a_map<object_pool<owner<40>, buffer_store>>(800, {}, buffer_store{std::span(bytes).subspan(3)});
  test::upstream upstream;
  walk_beside_a_map<object_pool<owner<3>, mutex_locking<>, resource_store, geometric_growth<3, 50, 3>>>(
      3000, {}, resource_store{&upstream});
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(objects_on_pages_of_their_own_that_are_made_meanwhile_are_not_visited) {
  object_pool<long, sampled_guard_pages<1, no_checking, 16>> pool;  // the first 16 are sampled
  std::set<long*> before, visited;
  for (int i = 0; i != 12; ++i) before.insert(pool.construct());
  pool.destroy(before.extract(before.begin()).value());
  pool.for_each([&](long& o) {
    REQUIRE(visited.insert(&o).second);
    if (visited.size() % 2 == 0) pool.destroy(&o);
    REQUIRE(pool.construct() != nullptr);
    REQUIRE(visited.size() <= before.size());
  });
  CHECK(visited == before);
}

/// A list that can't say whether it is empty.
struct plain_list_reuse {
  using axis = tarn::axis::reuse;
  static constexpr reuse_traits traits{.min_block = sizeof(void*), .min_alignment = alignof(void*)};
  template <class Traits>
  using per_chunk = detail::no_column<axis>;

  template <class Traits>
  class list {
    using chunks = typename Traits::chunks;
    using words = detail::free_words<chunks>;

   public:
    void* pop(chunks& of) noexcept {
      void* const block = first_;
      if (block != nullptr) first_ = words(of).read(block, 0);
      return block;
    }
    void* pop_slow(chunks& of) noexcept {
      void* block = pop(of);
      if (block == nullptr) of.carve(&block, 1);
      return block;
    }
    detail::status push(chunks& of, void* block) noexcept {
      words(of).write(block, 0, std::exchange(first_, block));
      return detail::status::done;
    }
    detail::status make_room(chunks&) noexcept { return detail::status::done; }
    std::size_t pop_batch(chunks& of, void** out, std::size_t n) noexcept {
      std::size_t got = 0;
      while (got != n && first_ != nullptr) out[got++] = pop(of);
      return got + of.carve(out + got, n - got);
    }
    detail::status push_batch(chunks& of, void* const* in, std::size_t n) noexcept {
      while (n != 0) push(of, in[--n]);
      return detail::status::done;
    }
    void adopted(typename Traits::chunk&) noexcept {}
    template <class Take>
    void drain(chunks& of, Take take) noexcept {
      while (void* const block = pop(of)) take(block);
    }
    void restore(chunks& of, void* block) noexcept { push(of, block); }
    void forget() noexcept { first_ = nullptr; }

   private:
    void* first_ = nullptr;
  };
};

BOOST_AUTO_TEST_CASE(walks_over_a_list_of_ones_own_agree_with_a_map) {
  using pool = object_pool<owner<40>, plain_list_reuse, fixed_growth<90>>;
  static_assert(!pool::has_iterators);
  walk_beside_a_map<pool>(3000);
}

BOOST_AUTO_TEST_CASE(what_has_iterators) {
  static_assert(object_pool<long>::has_iterators);
  static_assert(object_pool<long, checked, page_local_reuse<>>::has_iterators);
  static_assert(object_pool<long, static_array_store<9>, page_local_reuse<>>::has_iterators);
  static_assert(!object_pool<long, static_array_store<9>>::has_iterators);
  static_assert(!object_pool<long, thread_cached<>>::has_iterators);
  static_assert(!object_pool<long, lock_free>::has_iterators);
  static_assert(!object_pool<long, sampled_guard_pages<9>>::has_iterators);
  object_pool<long, sampled_guard_pages<1, no_checking, 8>> pool;
  for (long i = 0; i != 12; ++i) (void)pool.construct(i);
  BOOST_TEST(pool.count() == 12u);
}

}  // namespace
}  // namespace tarn::test
