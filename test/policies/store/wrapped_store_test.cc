// A store over a store, as a user would write one: it works in the place of each, and pool.store() reads what it and the store
// in it report. budgeted, a store over a store, is tried with every policy and product: products_cover_test.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

struct store_calls {
  std::size_t regions = 0;  // that are out
  std::size_t given = 0;    // ever
  std::size_t bytes = 0;    // in those that are out
};
store_calls everywhere;  // of all pools, also when they have ended
int ended = 0;

/// Counts what any other store gives.
template <class Inner>
struct counting_store : Inner {
  static constexpr store_traits traits = [] {
    store_traits t = Inner::traits.wrapped();
    t.has_end = true;
    return t;
  }();

  constexpr counting_store()
    requires std::default_initializable<Inner>
  = default;
  constexpr explicit counting_store(const Inner& inner) noexcept : Inner(inner) {}

  template <class Traits>
  class source : public Inner::template source<Traits> {
    using inner = typename Inner::template source<Traits>;

   public:
    constexpr explicit source(const counting_store& store) noexcept : inner(store) {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const detail::memory region = inner::acquire(bytes, alignment);
      if (region) note(region.bytes, 1);
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      note(region.bytes, -1);
      inner::release(region, alignment);
    }
    void end() noexcept {
      if constexpr (Inner::traits.has_end) inner::end();
      ++ended;
    }

    const store_calls& calls() const noexcept { return calls_; }

   private:
    void note(std::size_t bytes, int sign) noexcept {
      for (store_calls* one : {&calls_, &everywhere}) {
        one->regions += static_cast<std::size_t>(sign);
        one->bytes += static_cast<std::size_t>(sign) * bytes;
        one->given += sign > 0;
      }
    }
    store_calls calls_;
  };
};

using twice = counting_store<counting_store<heap_store>>;
static_assert(counting_store<page_store<huge_pages>>::traits.reports_pages && counting_store<buffer_store>::traits.bounded);
static_assert(counting_store<static_array_store<8>>::traits.sized_by_geometry);
static_assert(!counting_store<static_array_store<8>>::traits.in_place);

alignas(64) std::array<std::byte, 64 * 100> buffer;

/// The value that a pool over it needs.
template <class Store>
counting_store<Store> store_value() {
  if constexpr (std::same_as<Store, buffer_store>) return counting_store<Store>{buffer_store{buffer}};
  else if constexpr (std::same_as<Store, resource_store>)
    return counting_store<Store>{resource_store{std::pmr::new_delete_resource()}};
  else return {};
}

/// Takes all blocks of a bounded store, or 100, gives them back, and lets the pool go.
template <class Store>
void check_over(called_from = {}) {
  const store_calls before = everywhere;
  const int ended_before = ended;
  {
    pool<static_size<64>, counting_store<Store>> pool{store_value<Store>()};
    std::vector<void*> blocks(Store::traits.bounded ? pool.capacity() : 100);
    for (void*& block : blocks) REQUIRE((block = pool.try_allocate()) != nullptr);
    CHECK(blocks.size() > 40);
    const store_calls& calls = pool.store().calls();
    CHECK(calls.regions != 0);
    CHECK(calls.regions == everywhere.regions - before.regions);
    CHECK(calls.bytes >= 64 * blocks.size());
    if constexpr (Store::traits.bounded) CHECK(pool.try_allocate() == nullptr);
    for (void* const block : blocks) pool.deallocate(block);
    pool.release();
    CHECK(calls.regions == 0);
    CHECK(calls.bytes == 0);
  }
  CHECK(everywhere.regions == before.regions);
  CHECK(everywhere.bytes == before.bytes);
  CHECK(ended == ended_before + 1);
}

BOOST_AUTO_TEST_SUITE(wrapped_store)

BOOST_AUTO_TEST_CASE(works_in_the_place_of_each_store) {
  check_over<heap_store>();
  check_over<page_store<guard_pages>>();
  check_over<page_store<huge_pages>>();
  check_over<static_array_store<100>>();
  check_over<buffer_store>();
  check_over<resource_store>();
}

BOOST_AUTO_TEST_CASE(works_over_another_of_its_kind) {
  const int ended_before = ended;
  {
    pool<static_size<64>, twice> pool;
    pool.deallocate(pool.allocate());
    CHECK(pool.store().calls().given == 1);
    CHECK(everywhere.regions == 2);  // counted by both
  }
  CHECK(everywhere.regions == 0);
  CHECK(ended == ended_before + 2);
}

BOOST_AUTO_TEST_CASE(is_asked_for_what_the_store_in_it_reports) {
  pool<static_size<64>, counting_store<page_store<huge_pages>>> pool;
  CHECK(pool.pages().mapped == 0);
  pool.deallocate(pool.allocate());
  CHECK(pool.pages().mapped == pool.store().calls().bytes);
  CHECK(pool.store().report().mapped == pool.pages().mapped);
}

BOOST_AUTO_TEST_CASE(implies_what_the_store_in_it_implies) {
  pool<static_size<64>, counting_store<static_array_store<8>>> array;  // no_growth<8> and lifo_reuse<>
  CHECK(array.capacity() == 8);
  pool<static_size<64>, counting_store<buffer_store>> in_buffer{counting_store<buffer_store>{buffer_store{buffer}}};
  CHECK(in_buffer.capacity() == 100);
}

BOOST_AUTO_TEST_CASE(is_a_second_store) {
  const int ended_before = ended;
  {
    pool<static_size<64>, static_array_store<8>, fall_back_to<counting_store<heap_store>>> pool;
    std::array<void*, 9> blocks;
    CHECK(pool.try_allocate_batch(blocks) == 9);
    CHECK(everywhere.regions == 1);
    pool.deallocate_batch(blocks);
  }
  CHECK(everywhere.regions == 0);
  CHECK(ended == ended_before + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tarn::test
