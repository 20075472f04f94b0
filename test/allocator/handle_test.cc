// Handles of objects: what a stale one named is gone, and stays gone when its place is used again.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <map>
#include <memory_resource>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

struct order {
  explicit order(int n) : number(n) { ++alive; }
  ~order() { --alive; }
  order(const order&) = delete;
  order& operator=(const order&) = delete;
  int number;
  static inline int alive = 0;
};

using counted = hardened_with<generations>;
/// products_of_objects_test.cc has handles under every policy.
using pools = std::tuple<object_pool<order, counted, page_local_reuse<>>, object_pool<order, checked, lock_free>,
                         object_pool<order, counted, static_array_store<64>>>;

// shows: FM-48
BOOST_AUTO_TEST_CASE_TEMPLATE(a_stale_handle_is_refused_after_its_place_was_used_again, Pool, pools) {
  Pool pool;
  std::vector<handle<order>> stale;
  std::size_t again = 0;
  const order* first = nullptr;
  for (int i = 0; i != 1000; ++i) {
    order* const o = pool.construct(i);
    if (first == nullptr) first = o;
    again += o == first;
    for (const handle<order> h : stale) BOOST_REQUIRE(pool.get(h) == nullptr);
    const handle<order> h = pool.handle_to(o);
    BOOST_REQUIRE((h && pool.get(h) == o));
    BOOST_REQUIRE(pool.destroy(h));
    BOOST_REQUIRE(!pool.destroy(h));
    if (i % 20 == 0) stale.push_back(h);
  }
  BOOST_TEST(again > 10u);  // else nothing was shown
  BOOST_TEST(order::alive == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_no_object_of_the_pool_has_no_handle, Pool, pools) {
  Pool pool;
  Pool other;
  order* const mine = pool.construct(1);
  order* const its = other.construct(2);
  order local(3);
  BOOST_TEST(!pool.handle_to(its));
  BOOST_TEST(!pool.handle_to(&local));
  BOOST_TEST(!pool.handle_to(nullptr));
  BOOST_TEST(pool.get(other.handle_to(its)) == nullptr);
  BOOST_TEST(!pool.destroy(other.handle_to(its)));
  BOOST_TEST(pool.get(handle<order>()) == nullptr);
  BOOST_TEST(order::alive == 3);
  pool.destroy(mine);
  BOOST_TEST(!pool.handle_to(mine));
  other.destroy(its);
}

// ---- a chunk that goes back, and comes again at the same address ----------------------------------------------------------

/// Gives a region that came back, where one of that size did.
class same_place final : public std::pmr::memory_resource {
 public:
  ~same_place() override {
    for (const auto& [its, start] : free_) ::operator delete(start, std::align_val_t{its.second});
  }

 private:
  using extent = std::pair<std::size_t, std::size_t>;

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    auto kept = free_.extract(extent(bytes, alignment));
    return kept ? kept.mapped() : ::operator new(bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* start, std::size_t bytes, std::size_t alignment) override {
    free_.emplace(extent(bytes, alignment), start);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::multimap<extent, void*> free_;
};
template <class... Policies>
using placed = object_pool<order, Policies..., resource_store>;
using placed_pools = std::tuple<placed<checked>, placed<counted, return_empty_chunks<0, 0>>, placed<counted, no_growth<8>>>;

/// Uses the pool's first block that many times. Returns handles to what was there.
template <class Pool>
std::vector<handle<order>> used(Pool& pool, int times) {
  std::vector<handle<order>> all;
  for (int i = 0; i != times; ++i) {
    all.push_back(pool.handle_to(pool.construct(i)));
    if (i + 1 != times) pool.destroy(all.back());
  }
  return all;
}
/// Uses it again until another use would have the number of one before, if numbers began anew. None is found.
template <class Pool>
void check_that_all_are_gone(Pool& pool, const std::vector<handle<order>>& stale, const order* place, called_from = {}) {
  for (std::size_t i = 0; i != stale.size() + 2; ++i) {
    order* const other = pool.construct(0);
    REQUIRE(other == place);  // else nothing is shown
    for (const handle<order> h : stale) REQUIRE(pool.get(h) == nullptr);
    CHECK(pool.get(pool.handle_to(other)) == other);
    pool.destroy(other);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_stale_handle_is_refused_after_its_chunk_went_back, Pool, placed_pools) {
  same_place memory;
  Pool pool(resource_store{&memory});
  std::vector<handle<order>> stale = used(pool, 5);
  const order* const place = pool.get(stale.back());
  pool.destroy(stale.back());
  pool.blocks().trim();
  BOOST_TEST(pool.blocks().capacity() == 0u);
  check_that_all_are_gone(pool, stale, place);
  pool.blocks().trim();
  for (const handle<order> h : used(pool, 5)) stale.push_back(h);
  pool.release();  // with an object in it
  --order::alive;
  check_that_all_are_gone(pool, stale, place);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handle_of_another_pool_is_refused_even_at_the_same_place, Pool, placed_pools) {
  same_place memory;
  std::vector<handle<order>> stale;
  const order* place = nullptr;
  {
    Pool ended(resource_store{&memory});
    stale = used(ended, 5);
    place = ended.get(stale.back());
    ended.destroy(stale.back());
  }
  Pool pool(resource_store{&memory});
  check_that_all_are_gone(pool, stale, place);
}

BOOST_AUTO_TEST_CASE(an_empty_handle_equals_another) {
  BOOST_TEST((handle<order>() == handle<order>()));
  object_pool<order, counted> pool;
  const auto a = pool.handle_to(pool.construct(1));
  const auto b = pool.handle_to(pool.construct(2));
  BOOST_TEST(!(a == b));
  BOOST_TEST((a == pool.handle_to(pool.get(a))));
  BOOST_TEST(sizeof a == 16u);
}

BOOST_AUTO_TEST_CASE(without_generations_there_are_no_handles) {
  const auto gives_handles = []<class Pool>(std::type_identity<Pool>) {
    return requires(Pool& p, order* o) { p.handle_to(o); };
  };
  BOOST_TEST(!gives_handles(std::type_identity<object_pool<order>>()));
  BOOST_TEST(!gives_handles(std::type_identity<object_pool<order, hardened>>()));
  BOOST_TEST(gives_handles(std::type_identity<object_pool<order, checked>>()));
}

}  // namespace
}  // namespace tarn::test
