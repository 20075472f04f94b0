// Types of users stand in the names of the library's own, so that an unqualified call or an operator on one of these looks into
// their namespaces, and completes their classes. Here are a namespace whose templates take every operator, and a class that
// nobody can complete, in every place where a product or a policy takes a type.
#include <boost/test/unit_test.hpp>
#include <compare>
#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "tarn/allocator/all.h"
#include "tarn/policies/statistics.h"

namespace takes_all {

class never_defined;
template <class T>
struct holder {
  T its;
};
using of_nobody = holder<never_defined>;  // to complete it is an error

// As in libraries for expressions, but whoever is taken in sees it at once.
#define TAKES(op)         \
  template <class A>      \
  void operator op(const A&) = delete;
#define TAKES_TWO(op)              \
  template <class A, class B>      \
  void operator op(const A&, const B&) = delete;
TAKES(&) TAKES(*) TAKES(+) TAKES(-) TAKES(!) TAKES(~)
TAKES_TWO(+) TAKES_TWO(-) TAKES_TWO(*) TAKES_TWO(/) TAKES_TWO(%) TAKES_TWO(^) TAKES_TWO(&) TAKES_TWO(|) TAKES_TWO(<<)
TAKES_TWO(>>) TAKES_TWO(<) TAKES_TWO(>) TAKES_TWO(<=) TAKES_TWO(>=) TAKES_TWO(==) TAKES_TWO(!=) TAKES_TWO(&&) TAKES_TWO(||)
#undef TAKES
#undef TAKES_TWO
template <class A, class B>
void operator,(const A&, const B&) = delete;
template <class A, class B>
void operator<=>(const A&, const B&) = delete;
template <class A, class B>
void operator->*(const A&, const B&) = delete;

// Everything is a template of X, which is of_nobody.
template <class X>
struct value {
  long number = 0;
  value() = default;
  explicit value(long n) : number(n) {}
  ~value() { number = -1; }
  void reset() { number = 0; }
};
template <class X>
struct group {};
template <class X>
struct mutex {
  void lock() noexcept {}
  void unlock() noexcept {}
  bool try_lock() noexcept { return true; }
};
template <class X>
struct mask {
  static int save_and_mask() noexcept { return 0; }
  static void restore(int) noexcept {}
};
template <class X>
struct sink {
  static void on_event(const tarn::trace_event&) noexcept {}
};
template <class X>
struct handler {
  bool operator()(std::size_t) const noexcept { return false; }
};
// A policy of each axis that is a user's own.
template <class X>
struct size : tarn::static_size<64> {};
template <class X>
struct locking : tarn::mutex_locking<mutex<X>> {};
template <class X>
struct growth : tarn::geometric_growth<4, 16> {};
template <class X>
struct store : tarn::heap_store {};
template <class X>
struct reuse : tarn::lifo_reuse<> {};
template <class X>
struct retention : tarn::keep_chunks {};
template <class X>
struct exhaustion : tarn::retry_with<handler<X>> {};
template <class X>
struct checking : tarn::checked {};
template <class X>
struct statistics : tarn::counting_statistics {};
template <class X>
struct name : tarn::named<"users"> {};
template <class X>
struct cost {};

/// For what the standard library looks up itself, which completes every class in sight.
struct plain {
  int number = 0;
  ~plain() { number = -1; }
  void reset() { number = 0; }
};

template <class X>
struct pooled {
  long number = 0;
  DECLARE_MEMORY_POOL_WITH(pooled, takes_all::locking<X>, takes_all::name<X>)
};

}  // namespace takes_all

namespace {

using X = takes_all::of_nobody;
using value = takes_all::value<X>;
using one_store = takes_all::store<X>;

template <class Pool>
void use_blocks(Pool& p) {
  void* const block = p.allocate();
  void* const other = p.try_allocate();
  if constexpr (requires { p.owns(block); }) BOOST_TEST(p.owns(block));
  p.deallocate(block);
  void* some[3];
  if constexpr (requires { p.allocate_batch(some); }) p.allocate_batch(some);
  p.deallocate_batch(some);
  p.deallocate(other);
  p.reserve(100);
  static_cast<void>(p.try_reserve(100));
  BOOST_TEST(p.capacity() >= 100u);
  if constexpr (requires { p.trim(); }) p.trim();
  if constexpr (requires { p.statistics(); }) static_cast<void>(p.statistics());
  if constexpr (requires { p.name(); }) static_cast<void>(p.name());
  if constexpr (requires { p.maintain(); }) static_cast<void>(p.maintain());
  if constexpr (requires { p.verify(); }) static_cast<void>(p.verify());
  if constexpr (requires { p.report_in_use(); }) static_cast<void>(p.report_in_use());
  if constexpr (requires { p.is_at_most(1); }) static_cast<void>(p.is_at_most(1));
}

template <class Pool>
void use_objects() {
  Pool p;
  auto* const first = p.construct();
  if constexpr (Pool::has_generations) {
    const auto handle = p.handle_to(first);
    BOOST_TEST((p.get(handle) != nullptr));
    BOOST_TEST(p.destroy(handle));
  } else {
    p.destroy(first);
  }
  {
    auto own = p.make_unique();
    auto other = p.here().make_unique();
    BOOST_TEST((own.get() != nullptr && other.get() != nullptr));
    own = std::move(other);
  }
  typename Pool::value_type* some[3];
  p.construct_n(some);
  p.destroy_n(some);
  BOOST_TEST(p.try_construct_n(some) == 3u);
  std::size_t n = 0;
  p.for_each([&n](auto&) { ++n; });
  BOOST_TEST(n == 3u);
  p.clear();
  static_cast<void>(p.here().construct());
  ::use_blocks(p.blocks());
}

template <class... Policies>
void use_pools() {
  use_objects<tarn::object_pool<value, Policies...>>();
}

template <class Arena>
void use_arena(Arena& a) {
  static_cast<void>(a.allocate(10));
  a.deallocate(a.template allocate<24>(), 24);
  BOOST_TEST(a.owns(a.template create<value>()));
  BOOST_TEST(a.template make_span<takes_all::plain>(3).size() == 3u);
  static_cast<void>(a.try_allocate(10'000));
  if constexpr (requires { a.mark(); }) {
    const auto mark = a.mark();
    { typename Arena::scope inner(a); }
    a.rewind(mark);
  }
  a.trim();
  a.reset(5'000);
  BOOST_TEST(a.in_use() == 0u);
  a.release();
}
BOOST_AUTO_TEST_CASE(arenas) {
  tarn::arena<takes_all::checking<X>, takes_all::growth<X>, takes_all::store<X>, takes_all::exhaustion<X>, takes_all::name<X>>
      one;
  ::use_arena(one);
  tarn::arena<takes_all::locking<X>, takes_all::store<X>, tarn::fall_back_to<takes_all::store<X>>> locked;
  ::use_arena(locked);
  ::use_arena(tarn::static_arena<X*, takes_all::store<X>>::instance());
  tarn::arena<> own;
  tarn::arena_allocator<value> values(own);
  values.deallocate(values.allocate(1), 1);
}

BOOST_AUTO_TEST_CASE(objects_of_every_product) {
  use_pools<>();
  use_objects<tarn::object_pool<std::shared_ptr<X>>>();
  tarn::object_pool<takes_all::plain> plain;
  BOOST_TEST((plain.allocate_shared().get() != nullptr));
  tarn::multipool<value, std::shared_ptr<X>, int, tarn::grouped_locking<X>> several;
  several.destroy(several.construct<value>(3));
  static_cast<void>(several.construct<std::shared_ptr<X>>());
  several.clear();
  several.release_all();
  tarn::recycling_pool<value> used_again;
  value* const one = used_again.acquire();
  BOOST_TEST(used_again.release(one));
  BOOST_TEST(used_again.owns(one));
  BOOST_TEST(used_again.try_reserve(10));
}

// With a policy that is a user's own, so that all machinery is of his types.
using mine = takes_all::growth<X>;
using events = tarn::tracing_statistics<takes_all::sink<X>, takes_all::statistics<X>>;
constinit tarn::memory_budget budget{tarn::unlimited};

// Each of the library's policies, and one of a user's own on each axis: as many in one pool as can stand there.
BOOST_AUTO_TEST_CASE(every_policy) {
  use_pools<mine, tarn::thread_cached<>, tarn::return_empty_chunks<>, events, tarn::checked>();
  use_pools<mine, tarn::lock_free, tarn::hardened, events, tarn::retry_with<takes_all::handler<X>>,
            tarn::budgeted<takes_all::store<X>, &budget>>();
  use_pools<mine, tarn::mutex_locking<takes_all::mutex<X>>, tarn::page_store<>, tarn::return_empty_pages<>,
            tarn::page_local_reuse<>, tarn::reclaim_and_retry<>>();
  use_pools<takes_all::store<X>, tarn::grouped_locking<takes_all::group<X>, takes_all::mutex<X>>,
            tarn::grow_ahead<100, takes_all::growth<X>>, tarn::switchable_checking, takes_all::name<X>>();
  use_pools<tarn::no_growth<200>, tarn::mutex_locking<>, tarn::sampled_guard_pages<1>, tarn::wait_for_block<1>,
            takes_all::statistics<X>>();
  use_pools<mine, tarn::grouped_locking<X>, tarn::deferred_checking, tarn::return_empty_chunks<>>();
  use_pools<tarn::no_growth<200>, tarn::interrupt_locking<takes_all::mask<X>>,
            tarn::fall_back_to<takes_all::store<X>, takes_all::growth<X>>>();
  use_pools<tarn::static_array_store<200>, takes_all::locking<X>, tarn::fall_back_to<takes_all::store<X>>>();
  use_pools<takes_all::store<X>, takes_all::reuse<X>, takes_all::retention<X>, takes_all::exhaustion<X>, takes_all::checking<X>,
            takes_all::statistics<X>, takes_all::name<X>>();
  const tarn::group_guard<takes_all::group<X>, takes_all::mutex<X>> all;
}

BOOST_AUTO_TEST_CASE(blocks_of_a_users_size_and_reservations_of_them) {
  tarn::pool<takes_all::size<X>, mine> p;
  ::use_blocks(p);
  auto some = p.reserve_blocks(10);
  auto other = std::move(some);
  some = std::move(other);
  p.deallocate(some.allocate());
  BOOST_TEST(some.remaining() == 9u);
  some = {};
  p.release();
}

// A user's flags see what our headers construct: this file is compiled with -Wextra.
struct message {
  long number;
  char text[40];
};

BOOST_AUTO_TEST_CASE(an_aggregate_from_fewer_arguments_than_members) {
  tarn::object_pool<message> messages;
  message* const one = messages.construct(7);
  BOOST_TEST(one->number == 7);
  BOOST_TEST(one->text[39] == 0);
  message* some[2];
  messages.construct_n(some, 8);
  BOOST_TEST(some[1]->number == 8);
  messages.destroy_n(some);
  messages.destroy(messages.try_construct());
  messages.destroy(one);
}

template <class Sizes>
void use_sizes(Sizes& all) {
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{100'000}}) {
    void* const block = all.try_allocate(bytes);
    BOOST_TEST((block != nullptr));
    all.deallocate(block, bytes);
  }
  all.trim();
}

template <class... Policies>
void use_classes() {
  tarn::size_class_pool<mine, takes_all::store<X>, Policies...> p;
  ::use_sizes(p);
  tarn::pool_resource<Policies...> resource;
  resource.deallocate(resource.allocate(40), 40);
  resource.deallocate(resource.allocate(100'000), 100'000);
  if constexpr (requires { resource.release(); }) resource.release();
}

BOOST_AUTO_TEST_CASE(products_of_many_sizes) {
  use_classes<tarn::grouped_locking<X>, tarn::retry_with<takes_all::handler<X>>>();
  use_classes<tarn::mutex_locking<takes_all::mutex<X>>, tarn::checked, tarn::tracing_statistics<takes_all::sink<X>>,
              tarn::return_empty_chunks<>>();
  use_classes<tarn::thread_cached<>, tarn::hardened, takes_all::name<X>>();
}

BOOST_AUTO_TEST_CASE(static_products) {
  auto& blocks = tarn::static_pool<X, takes_all::size<X>, mine>::instance();
  ::use_blocks(blocks);
  auto& array = tarn::static_pool<X, takes_all::size<X>, tarn::static_array_store<200>, takes_all::name<X>>::instance();
  array.deallocate(array.allocate());
  PREPARE_MEMORY_POOL(takes_all::pooled<X>, 3);
  delete new takes_all::pooled<X>;
  using heap = tarn::xallocator<X, mine, tarn::checked>;
  heap::deallocate(heap::reallocate(heap::allocate(40), 100'000));
  heap::trim();
  using nodes = tarn::stl_allocator<value, mine>;
  std::vector<value, nodes> several(3);
  nodes alone;
  alone.deallocate(alone.allocate(1), 1);
  std::list<takes_all::plain, tarn::stl_allocator<takes_all::plain, mine>> list(3);
  list.pop_back();
  tarn::size_class_pool<mine> source;
  using from = tarn::stl_allocator<value, decltype(source)>;
  from of_source(source);
  of_source.deallocate(of_source.allocate(1), 1);
  tarn::pool<takes_all::size<X>, mine> pool;
  tarn::block_resource<decltype(pool)> upstream(pool);
  upstream.deallocate(upstream.allocate(8), 8);
}

}  // namespace
