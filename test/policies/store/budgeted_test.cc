// memory_budget and budgeted: what is charged, over every store, by every product; what a refusal leaves; when the handler of
// the soft limit is called, and that nothing is held then.
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <memory_resource>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/policies/store/exact_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/faults.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

constinit bytes_out out;
template <class Inner>
using exact = exact_store<Inner, out>;

template <class Pool>
std::vector<void*> take_all(Pool& pool) {
  std::vector<void*> blocks;
  while (void* const block = pool.try_allocate()) blocks.push_back(block);
  return blocks;
}

BOOST_AUTO_TEST_SUITE(budgeted_stores)

// ---- the limit -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(pools_share_one_limit) {
  memory_budget budget(100'000);
  {
    using store = budgeted<exact<heap_store>>;
    pool<static_size<64>, store> one{store{budget}};
    pool<static_size<640>, store, mutex_locking<>> other{store{budget}};
    out.most = 0;
    auto blocks = take_all(one);
    CHECK(blocks.size() > 1000);
    const std::size_t of_one = budget.used();
    CHECK(of_one <= 100'000);
    CHECK(out.now == of_one);
    const std::size_t refused = budget.refused();
    CHECK(refused != 0);

    const auto others = take_all(other);  // what the first has left, if that is a chunk
    CHECK(budget.refused() > refused);
    CHECK(out.most <= 100'000);
    CHECK(budget.left() < 640 + 640);

    for (void* const block : blocks) one.deallocate(block);
    one.trim();
    const auto more = take_all(other);
    CHECK(more.size() > 100);
    CHECK(out.most <= 100'000);
    CHECK(budget.peak() == out.most);

    budget.set_limit(10);  // what there is stays
    CHECK(budget.used() == out.now);
    CHECK(budget.left() == 0);
    CHECK(one.try_allocate() == nullptr);
    budget.set_limit(unlimited);
    CHECK(one.try_allocate() != nullptr);
  }
  CHECK(budget.used() == 0);
  CHECK(out.now == 0);
}

/// Takes blocks until the budget refuses, gives them back, and ends.
template <class Inner>
void check_over(std::size_t limit, const Inner& inner, called_from = {}) {
  memory_budget budget(limit);
  {
    using store = budgeted<exact<Inner>>;
    pool<static_size<64>, store> one{store{budget, exact<Inner>{inner}}};
    CHECK(&one.store().budget() == &budget);
    out.most = 0;
    const auto blocks = take_all(one);
    CHECK(!blocks.empty());
    CHECK(budget.used() == out.now);
    CHECK(out.most <= limit);
    CHECK(budget.peak() == out.most);
    CHECK(budget.left() == limit - out.now);
    for (void* const block : blocks) one.deallocate(block);
    one.trim();
    CHECK(budget.used() == out.now);
  }
  CHECK(budget.used() == 0);
  CHECK(budget.left() == limit);
  CHECK(out.now == 0);
}

alignas(64) std::array<std::byte, 64 * 100> buffer;

BOOST_AUTO_TEST_CASE(each_store_is_charged_with_what_it_gives) {
  check_over(1'000'000, heap_store{});
  check_over(1'000'000, page_store<>{});
  check_over(1'000'001, page_store<guard_pages>{});
  check_over(8'000'000, page_store<huge_pages>{});
  check_over(100'000, static_array_store<100>{});
  check_over(100'000, buffer_store{buffer});
  check_over(1'000'000, resource_store{std::pmr::new_delete_resource()});
  check_over(30'000'001, heap_store{});  // whole huge pages
}

BOOST_AUTO_TEST_CASE(a_region_that_would_be_too_large_is_not_requested) {
  memory_budget budget(4095);
  using store = budgeted<exact<page_store<>>>;
  pool<static_size<64>, store, fixed_growth<32>> one{store{budget}};
  const std::size_t calls = out.calls;
  CHECK(one.try_allocate() == nullptr);
  CHECK(out.calls == calls);
  budget.set_limit(4096);
  CHECK(one.try_allocate() != nullptr);
  CHECK(budget.used() == 4096);
}

BOOST_AUTO_TEST_CASE(nor_one_that_would_be_made_of_huge_pages) {
  using huge = detail::huge_pages_of_system;
  if (!huge::exist) return;
  memory_budget budget(unlimited);
  using store = budgeted<exact<page_store<huge_pages>>>;
  pool<static_size<4096>, store, fixed_growth<1400>> one{store{budget}};
  one.reserve(1400);
  const std::size_t used = budget.used(), calls = out.calls;
  const std::size_t next = 3 * huge::bytes;  // less than an eighth of it is wasted
  CHECK(used == next);
  budget.set_limit(used + next - 1);
  CHECK(!one.try_reserve(2 * 1400));
  CHECK(out.calls == calls);
  budget.set_limit(used + next);
  CHECK(one.try_reserve(2 * 1400));
  CHECK(budget.used() == used + next);
}

BOOST_AUTO_TEST_CASE(a_bounded_store_is_had_as_a_whole_or_not_at_all) {
  memory_budget budget(64 * 100 - 1);
  using store = budgeted<exact<static_array_store<100>>>;
  pool<static_size<64>, store, mutex_locking<>> array{store{budget}};
  const std::size_t calls = out.calls;
  CHECK(array.capacity() == 0);
  CHECK(array.try_allocate() == nullptr);
  CHECK(out.calls == calls);
  budget.set_limit(64 * 101);
  CHECK(array.try_allocate() != nullptr);
  CHECK(array.capacity() == 100);
}

/// Gives more than it is asked for, and doesn't say so before.
struct generous_store : heap_store {
  static constexpr store_traits traits{};
  template <class Traits>
  struct source : heap_store::source<Traits> {
    using heap_store::source<Traits>::source;
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      return heap_store::source<Traits>::acquire(bytes + 100, alignment);
    }
  };
};

BOOST_AUTO_TEST_CASE(what_a_store_gives_unexpectedly_is_charged_or_goes_back) {
  memory_budget budget(10'000);
  using store = budgeted<exact<generous_store>>;
  pool<static_size<64>, store, fixed_growth<10>> one{store{budget}};
  const std::size_t bytes_before = out.now;
  CHECK(one.try_allocate() != nullptr);
  const std::size_t chunk = budget.used();
  CHECK(chunk == out.now - bytes_before);
  CHECK(chunk > 740);
  budget.set_limit(2 * chunk - 1);
  while (one.capacity() > 10 || one.try_allocate() != nullptr) REQUIRE(one.capacity() <= 11);
  CHECK(budget.used() == chunk);
  CHECK(budget.left() == chunk - 1);
  CHECK(out.now - bytes_before == chunk);
  budget.set_limit(2 * chunk);
  CHECK(one.try_allocate() != nullptr);
  CHECK(budget.left() == 0);
}

/// What pools need for themselves is had apart.
int own_regions = 0;
struct apart_store : heap_store {
  static constexpr store_traits traits{.own_apart = true};
  template <class Traits>
  struct source : heap_store::source<Traits> {
    using heap_store::source<Traits>::source;
    detail::memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept {
      const detail::memory region = heap_store::source<Traits>::acquire(bytes, alignment);
      own_regions += region ? 1 : 0;
      return region;
    }
    void release_own(detail::memory region, std::size_t alignment) noexcept {
      --own_regions;
      heap_store::source<Traits>::release(region, alignment);
    }
  };
};

BOOST_AUTO_TEST_CASE(what_a_pool_needs_for_itself_is_charged) {
  memory_budget budget(unlimited);
  {
    using store = budgeted<exact<heap_store>>;
    pool<static_size<64>, store, fixed_growth<10>> plain{store{budget}};
    plain.deallocate(plain.allocate());
    const std::size_t of_chunk = budget.used();
    pool<static_size<64>, store, thread_cached<>, fixed_growth<10>> one{store{budget}};
    one.deallocate(one.allocate());
    CHECK(budget.used() == out.now);
    CHECK(budget.used() > 2 * of_chunk + 500);  // magazines
  }
  {
    using store = budgeted<apart_store>;
    pool<static_size<64>, store, thread_cached<>, fixed_growth<10>> one{store{budget}};
    one.deallocate(one.allocate());
    CHECK(own_regions != 0);
    CHECK(budget.used() > 10 * 64 + 500);
    const std::size_t used = budget.used();
    budget.set_limit(used);
    CHECK(!one.try_reserve(1000));
    CHECK(budget.used() == used);
  }
  CHECK(own_regions == 0);
  CHECK(budget.used() == 0);
}

BOOST_AUTO_TEST_CASE(budgets_nest) {
  memory_budget process(50'000), subsystem(30'000);
  {
    using in_process = budgeted<exact<page_store<>>>;
    using in_subsystem = budgeted<in_process>;
    const std::size_t before = out.now;
    pool<static_size<64>, in_subsystem, fixed_growth<32>> a{in_subsystem{subsystem, in_process{process}}};
    pool<static_size<64>, in_process, fixed_growth<32>> b{in_process{process}};
    const auto blocks = take_all(a);
    CHECK(subsystem.used() == 28'672);  // seven pages
    CHECK(process.used() == 28'672);
    CHECK(process.refused() == 0);
    CHECK(&a.store().budget() == &subsystem);
    static_cast<void>(take_all(b));
    CHECK(process.used() == 49'152);
    CHECK(subsystem.used() == 28'672);
    // The inner one refuses: the outer is as before.
    a.release();
    static_cast<void>(take_all(b));
    const std::size_t refused = process.refused(), outer_refused = subsystem.refused();
    CHECK(a.try_allocate() == nullptr);
    CHECK(process.refused() > refused);
    CHECK(subsystem.refused() == outer_refused);
    CHECK(subsystem.left() == 30'000);
    CHECK(out.now - before == process.used());
  }
  CHECK(process.used() == 0);
}

BOOST_AUTO_TEST_CASE(memory_that_is_in_no_pool_is_charged_by_hand) {
  memory_budget budget(100);
  CHECK(budget.take(60));
  CHECK(!budget.take(41));
  CHECK(!budget.take(unlimited));  // no sum overflows
  CHECK(budget.take(40));
  CHECK(budget.used() == 100);
  CHECK(budget.refused() == 2);
  CHECK(budget.take(0));
  budget.give_back(60);
  CHECK(budget.left() == 60);
  CHECK(budget.peak() == 100);
}

// ---- refusals ------------------------------------------------------------------------------------------------------------

template <class... Policies>
void check_refusals(called_from = {}) {
  using store = budgeted<budgeted<injecting_store>>;
  for (std::size_t k = 1;; ++k) {
    REQUIRE(k < 1000);
    origin from;
    memory_budget inner(400'000), outer(unlimited);
    {
      pool<static_size<64>, store, fixed_growth<100>, Policies...> one{
          store{outer, budgeted<injecting_store>{inner, injecting_store{&from}}}};
      one.deallocate(one.allocate());
      const std::size_t capacity = one.capacity();
      from.upstream.fail(k, failing::once);
      const bool done = one.try_reserve(capacity + 1000);
      const bool failed = from.upstream.failures() != 0;
      CHECK(inner.left() == 400'000 - from.upstream.bytes());
      CHECK(outer.left() == unlimited - from.upstream.bytes());
      if (!done) CHECK(one.capacity() == capacity);
      if (failed && !done) continue;
      CHECK(done);
      CHECK(!one.try_reserve(100'000));  // more than the inner limit
      CHECK(one.capacity() < 100'000);
      CHECK(inner.used() == from.upstream.bytes());
    }
    CHECK(inner.used() == 0);
    CHECK(outer.used() == 0);
    CHECK(from.upstream.bytes() == 0);
    if (from.upstream.failures() == 0) break;
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_at_any_call_leaves_the_budgets_as_they_were) {
  check_refusals<mutex_locking<>, hardened>();
  check_refusals<thread_cached<>, page_local_reuse<>>();
}

// ---- the soft limit ------------------------------------------------------------------------------------------------------

struct calls {
  int told = 0;
  std::function<void()> then = [] {};
  static void note(memory_budget&, void* context) noexcept {
    calls& its = *static_cast<calls*>(context);
    ++its.told;
    its.then();
  }
};

BOOST_AUTO_TEST_CASE(the_handler_is_called_once_for_each_time_that_the_soft_limit_is_crossed) {
  calls seen;
  memory_budget budget(unlimited, 10'000, calls::note, &seen);
  using store = budgeted<page_store<>>;
  pool<static_size<4096>, store, fixed_growth<1>, batch_reuse<>> one{store{budget}};
  std::vector<void*> blocks;
  const auto grow = [&](std::size_t pages) {
    while (budget.used() < pages * 4096) blocks.push_back(one.allocate());
  };
  const auto shrink = [&] {
    for (void* const block : blocks) one.deallocate(block);
    blocks.clear();
    one.trim();
    CHECK(budget.used() == 0);
  };
  grow(2);
  CHECK(seen.told == 0);
  grow(4);
  CHECK(seen.told == 1);
  grow(20);
  shrink();
  CHECK(seen.told == 1);
  grow(6);
  CHECK(seen.told == 2);
  shrink();
  budget.set_soft_limit(50'000);
  grow(12);
  budget.set_soft_limit(40'000);
  grow(14);
  CHECK(seen.told == 2);  // it was above already
  shrink();
  // Not by what is refused.
  budget.set_limit(39'000);
  CHECK(!one.try_reserve(30));
  CHECK(seen.told == 2);
  CHECK(budget.used() == 0);
  // By a reservation, and by a batch.
  budget.set_limit(unlimited);
  one.reserve(30);
  CHECK(seen.told == 3);
  one.trim();
  std::array<void*, 20> batch;
  CHECK(one.try_allocate_batch(batch) == 20);
  CHECK(seen.told == 4);
  one.deallocate_batch(batch);
  // Exactly at it: not yet.
  one.trim();
  budget.set_soft_limit(8192);
  grow(2);
  CHECK(budget.used() == 8192);
  CHECK(seen.told == 4);
  grow(3);
  CHECK(seen.told == 5);
}

// The pool is at its cap when the reservation begins, so nobody need wait for the store; but the policy gives a chunk back.
std::function<std::size_t()> trim_once;
struct trims_once {
  bool operator()(std::size_t) const noexcept { return std::exchange(trim_once, [] { return std::size_t{0}; })() != 0; }
};
BOOST_AUTO_TEST_CASE(a_reservation_that_begins_at_the_cap_tells_what_the_store_was_asked_then) {
  calls seen;
  memory_budget budget(unlimited, 1000, calls::note, &seen);
  pool<static_size<64>, mutex_locking<>, fixed_growth<16, 32>, budgeted<heap_store>, retry_with<trims_once>> one(
      budgeted<heap_store>{budget});
  one.reserve(32);
  CHECK(seen.told == 1);
  trim_once = [&] { return one.trim(); };
  CHECK(!one.try_reserve(40));
  CHECK(budget.peak() > 1000);
  CHECK(seen.told == 2);
}

BOOST_AUTO_TEST_CASE(nested_budgets_both_call) {
  calls inner_calls, outer_calls;
  memory_budget inner(unlimited, 100, calls::note, &inner_calls), outer(unlimited, 100, calls::note, &outer_calls);
  using in_one = budgeted<heap_store>;
  pool<static_size<64>, budgeted<in_one>> both{budgeted<in_one>{outer, in_one{inner}}};
  static_cast<void>(both.allocate());
  CHECK(inner_calls.told == 1);
  CHECK(outer_calls.told == 1);
}

/// Called by the handler: the memory is used by another thread, for which the caller waits, then by the caller.
class use_meanwhile {
 public:
  /// \param use   calls the store again, if it is called for the first time
  /// \param trim  gives back what is empty
  use_meanwhile(memory_budget& budget, calls& seen, std::function<void()> use, std::function<void()> trim, bool confined)
      : budget_(budget), seen_(seen), use_(std::move(use)), trim_(std::move(trim)), confined_(confined) {
    seen_.then = [this] { now(); };
  }
  ~use_meanwhile() {
    seen_.then = [] {};
    if (other_.joinable()) other_.join();
    CHECK(done_);
  }
  use_meanwhile(const use_meanwhile&) = delete;
  use_meanwhile& operator=(const use_meanwhile&) = delete;

 private:
  void now() {
    budget_.set_soft_limit(unlimited);
    if (!confined_) {
      std::promise<void> used;
      auto is_used = used.get_future();
      other_ = std::thread([this, used = std::move(used)]() mutable {
        use_();
        used.set_value();
      });
      if (is_used.wait_for(std::chrono::seconds(60)) != std::future_status::ready) return;  // something is held
    }
    use_();
    trim_();
    done_ = true;
  }

  memory_budget& budget_;
  calls& seen_;
  std::function<void()> use_;
  std::function<void()> trim_;
  bool confined_;
  bool done_ = false;
  std::thread other_;
};

template <class Locking, class... Policies>
void check_pool_while_told(called_from = {}) {
  calls seen;
  memory_budget budget(unlimited, 0, calls::note, &seen);
  {
    using store = budgeted<heap_store>;
    pool<static_size<64>, store, Locking, fixed_growth<100>, Policies...> one{store{budget}};
    const auto use = [&] {
      std::array<void*, 250> blocks;
      REQUIRE(one.try_allocate_batch(blocks) == 250);
      one.deallocate_batch(blocks);
      REQUIRE(one.try_reserve(one.capacity() + 1));
    };
    const auto trim = [&] {
      if constexpr (requires { one.trim(); }) one.trim();
    };
    {
      const use_meanwhile check(budget, seen, use, trim, Locking::traits.one_thread);
      one.deallocate(one.allocate());
      CHECK(seen.told == 1);
    }
    budget.set_soft_limit(budget.used());
    const use_meanwhile check(budget, seen, use, trim, Locking::traits.one_thread);
    CHECK(one.try_reserve(one.capacity() + 1));
    CHECK(seen.told == 2);
  }
  CHECK(budget.used() == 0);
}

BOOST_AUTO_TEST_CASE(a_pool_can_be_used_while_the_handler_runs) {
  check_pool_while_told<no_locking, checked>();
  check_pool_while_told<mutex_locking<>, return_empty_chunks<0, 0>, page_local_reuse<>, reclaim_and_retry<>>();
  check_pool_while_told<thread_cached<>>();
  check_pool_while_told<lock_free>();
}

BOOST_AUTO_TEST_CASE(a_second_store_tells_as_well) {
  calls seen;
  memory_budget budget(unlimited, 0, calls::note, &seen);
  using fallback = fall_back_to<budgeted<heap_store>, fixed_growth<10>>;
  pool<static_size<64>, static_array_store<8>, fallback, mutex_locking<>> one{fallback{budgeted<heap_store>{budget}}};
  CHECK(one.try_reserve(8));
  CHECK(seen.told == 0);
  const auto use = [&] { REQUIRE(one.try_reserve(one.capacity() + 1)); };
  const use_meanwhile check(budget, seen, use, [&] { one.trim(); }, false);
  CHECK(one.try_reserve(9));
  CHECK(seen.told == 1);
}

/// A thread cache that has found a block, and needs a larger magazine.
BOOST_AUTO_TEST_CASE(magazines_tell_as_well) {
  calls seen;
  memory_budget budget(unlimited, unlimited, calls::note, &seen);
  using store = budgeted<heap_store>;
  pool<static_size<64>, store, thread_cached<>, fixed_growth<20'000>> one{store{budget}};
  one.deallocate(one.allocate());
  const std::size_t before = budget.used();
  budget.set_soft_limit(before);
  const auto use = [&] { REQUIRE(one.try_reserve(one.capacity() + 1)); };
  {
    const use_meanwhile check(budget, seen, use, [] {}, false);
    for (int i = 0; i != 10'000 && budget.used() == before; ++i) static_cast<void>(one.allocate());
  }
  CHECK(one.capacity() == 60'000);  // 20,000, and what the handler reserved
  CHECK(seen.told == 1);
}

// ---- products ------------------------------------------------------------------------------------------------------------

calls named_calls;
constinit memory_budget named{unlimited, unlimited, calls::note, &named_calls};
using in_named = budgeted<heap_store, &named>;
static_assert(std::is_empty_v<in_named>);
static_assert(sizeof(pool<static_size<64>, in_named>) == sizeof(pool<static_size<64>>));

/// \param use    takes so many pieces and gives them back
/// \param first  how many need the store
template <class Use, class Trim>
void check_told_by(Use use, Trim trim, bool confined, std::size_t first = 1, called_from = {}) {
  named.set_soft_limit(named.used());
  const int before = named_calls.told;
  std::size_t blocks = 40;
  {
    const use_meanwhile check(named, named_calls, [&] { use(blocks *= 10); }, trim, confined);
    use(first);
    CHECK(named_calls.told == before + 1);
  }
  named.set_soft_limit(unlimited);
}

struct item {
  int numbers[20] = {};
};

/// Takes `n` of what take() gives, and gives all back.
template <class Take, class Give>
auto taken_and_given(Take take, Give give) {
  return [=](std::size_t n) {
    std::vector<decltype(take())> all;
    for (; n != 0; --n) all.push_back(take());
    for (const auto one : all) give(one);
  };
}

BOOST_AUTO_TEST_CASE(products_of_objects_are_charged) {
  CHECK(named.used() == 0);
  {
    object_pool<item, in_named, mutex_locking<>> objects;
    check_told_by(taken_and_given([&] { return objects.construct(); }, [&](item* one) { objects.destroy(one); }),
                  [&] { objects.blocks().trim(); }, false);
  }
  CHECK(named.used() == 0);
  struct tag;
  auto& blocks = static_pool<tag, static_size<64>, in_named, thread_cached<>>::instance();
  check_told_by(taken_and_given([&] { return blocks.allocate(); }, [&](void* one) { blocks.deallocate(one); }),
                [&] { blocks.trim(); }, false);
  blocks.release();
  CHECK(named.used() == 0);
}

/// Blocks of a class, then one without a class.
template <class... Policies>
void check_sizes(bool confined, std::size_t first = 1, called_from = {}) {
  {
    size_class_pool<Policies...> sizes;
    const auto trim = [&] { sizes.trim(); };
    check_told_by(
        taken_and_given([&] { return sizes.allocate(100); }, [&](void* one) { sizes.deallocate(one, 100); }), trim, confined,
        first);
    if constexpr (!(detail::bounded_store<Policies> || ...)) {
      const auto use = [&](std::size_t) { sizes.deallocate(sizes.allocate(100'000), 100'000); };
      check_told_by(use, trim, confined);
    }
  }
  CHECK(named.used() == 0);
}

BOOST_AUTO_TEST_CASE(products_of_many_sizes_are_charged) {
  check_sizes<in_named, thread_cached<>>(false);
  check_sizes<budgeted<static_array_store<64>, &named>, no_locking>(true);
  check_sizes<static_array_store<1>, fall_back_to<in_named>, mutex_locking<>>(false, 200);
}

BOOST_AUTO_TEST_CASE(a_memory_resource_charges_what_its_upstream_gives) {
  memory_budget budget(1'000'000);
  test::upstream upstream;
  const std::size_t before = named.used();
  {
    pool_resource<budgeted<resource_store>, mutex_locking<>> given({}, &upstream, budget);
    std::pmr::vector<int> numbers(100'000, &given);
    std::pmr::list<int> list(100, &given);
    CHECK(budget.used() > 400'000);
    CHECK(budget.used() == upstream.bytes());
    BOOST_CHECK_THROW(numbers.reserve(1'000'000), std::bad_alloc);
    CHECK(budget.used() == upstream.bytes());
  }
  CHECK(budget.used() == 0);
  CHECK(named.used() == before);
  {
    pool_resource<budgeted<resource_store, &named>, mutex_locking<>> resource;
    check_told_by(taken_and_given([&] { return resource.allocate(100); }, [&](void* one) { resource.deallocate(one, 100); }),
                  [&] { resource.trim(); }, false);
    check_told_by([&](std::size_t) { resource.deallocate(resource.allocate(100'000), 100'000); }, [&] { resource.trim(); },
                  false);
  }
  CHECK(named.used() == before);
}

BOOST_AUTO_TEST_CASE(allocators_without_a_value_are_charged) {
  using heap = xallocator<struct heap_tag, in_named>;
  const std::size_t before = named.used();
  check_told_by(taken_and_given([] { return heap::allocate(100); }, [](void* one) { heap::deallocate(one); }),
                [] { heap::trim(); }, false);
  check_told_by([](std::size_t) { heap::deallocate(heap::allocate(500'000)); }, [] { heap::trim(); }, false);
  heap::trim();
  CHECK(named.used() == before);
  {
    std::list<item, stl_allocator<item, in_named>> items(10);
    CHECK(named.used() > before);
    std::vector<int, stl_allocator<int, in_named>> numbers(100'000);
    CHECK(named.used() > before + 400'000);
    const std::size_t used = named.used();
    named.set_limit(used);
    BOOST_CHECK_THROW(numbers.reserve(1'000'000), std::bad_alloc);
    CHECK(named.used() == used);
    named.set_limit(unlimited);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tarn::test
