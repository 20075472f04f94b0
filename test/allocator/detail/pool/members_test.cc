// Which members a composition has, and what they promise.
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"

namespace {

using block = tarn::static_size<64>;
using standard = tarn::pool<block>;
using lifo = tarn::pool<block, tarn::lifo_reuse<>>;
using locked = tarn::pool<block, tarn::mutex_locking<>>;
using array = tarn::pool<block, tarn::static_array_store<8>>;
using dynamic = tarn::pool<tarn::dynamic_size>;
using buffer = tarn::pool<block, tarn::buffer_store>;
using body = tarn::static_pool<struct tag, block>::body;

// Policies of the kinds that come later.
struct unlocked_readers : tarn::no_locking {
  static constexpr tarn::locking_traits traits{.may_return_chunks = false, .one_thread = true};
};
using lock_free_like = tarn::pool<block, unlocked_readers>;

struct counting {
  using axis = tarn::axis::statistics;
  static constexpr tarn::statistics_traits traits{.counts = true};
  template <class Traits>
  struct state {
    constexpr explicit state(const counting&) noexcept {}
    void on_allocate(std::size_t blocks) noexcept { live += blocks; }
    void on_deallocate(std::size_t blocks) noexcept { live -= blocks; }
    void on_chunk(std::size_t) noexcept {}
    void off_chunk(std::size_t) noexcept {}
    std::size_t read() const noexcept { return live; }
    std::size_t live = 0;
  };
};
using counted = tarn::pool<block, counting>;

template <class P>
concept releases = requires(P& p) { p.release(); };
template <class P>
concept trims = requires(P& p) {
  { p.trim() } noexcept -> std::same_as<std::size_t>;
};
template <class P>
concept counts = requires(const P& p) { p.statistics(); };
template <class P>
concept knows_its_size_at_compile_time = requires { typename std::integral_constant<std::size_t, P::block_size()>; };

BOOST_AUTO_TEST_SUITE(members)

// Release and trim need chunks that may go.
static_assert(releases<standard> && releases<locked> && releases<array> && releases<body>);
static_assert(trims<standard> && trims<locked> && trims<array> && trims<body>);
static_assert(!releases<lock_free_like> && !trims<lock_free_like>);

BOOST_AUTO_TEST_CASE(statistics_needs_a_policy_that_counts) {
  static_assert(!counts<standard> && !counts<lifo> && !counts<body> && counts<counted>);
  counted pool;
  void* const a = pool.allocate();
  void* batch[5];
  BOOST_TEST(pool.allocate_batch(batch) == 5);
  BOOST_TEST(pool.statistics() == 6);
  pool.deallocate(a);
  pool.deallocate_batch(batch);
  BOOST_TEST(pool.statistics() == 0);
}
// shows: FM-29
BOOST_AUTO_TEST_CASE(the_size_is_a_constant_where_it_can_be) {
  static_assert(knows_its_size_at_compile_time<standard> && !knows_its_size_at_compile_time<dynamic>);
  static_assert(standard::block_size() == 64 && standard::block_alignment() == 16);
  static_assert(tarn::pool<tarn::static_size<100, 4096>>::block_alignment() == 4096);
  static_assert(body::block_size() == 64);
  const dynamic pool{tarn::dynamic_size{48, 32}};
  BOOST_TEST(pool.block_size() == 48);
  BOOST_TEST(pool.block_alignment() == 32);
}
template <class P>
constexpr bool promises() {
  return noexcept(std::declval<P&>().try_allocate()) && noexcept(std::declval<P&>().deallocate(nullptr)) &&
         noexcept(std::declval<P&>().try_allocate_batch(std::declval<std::span<void*>>())) &&
         noexcept(std::declval<P&>().deallocate_batch(std::declval<std::span<void* const>>())) &&
         noexcept(std::declval<P&>().try_reserve(1)) && noexcept(std::declval<P&>().release()) &&
         noexcept(std::declval<P&>().trim()) && noexcept(std::declval<const P&>().owns(nullptr)) &&
         noexcept(std::declval<const P&>().block_size()) && noexcept(std::declval<const P&>().block_alignment()) &&
         noexcept(std::declval<const P&>().capacity()) && !noexcept(std::declval<P&>().allocate()) &&
         !noexcept(std::declval<P&>().allocate_batch(std::declval<std::span<void*>>())) &&
         !noexcept(std::declval<P&>().reserve(1));
}

// All but three are noexcept.
static_assert(promises<standard>() && promises<lifo>() && promises<locked>() && promises<array>() && promises<dynamic>());
static_assert(promises<buffer>() && promises<body>());
static_assert(promises<tarn::pool<block, tarn::grouped_locking<struct group, std::mutex>>>());

template <class P>
constexpr bool stays_where_it_is = !std::is_copy_constructible_v<P> && !std::is_move_constructible_v<P> &&
                                   !std::is_copy_assignable_v<P> && !std::is_move_assignable_v<P>;

// Pools are not copied or moved.
static_assert(stays_where_it_is<standard> && stays_where_it_is<locked> && stays_where_it_is<array>);
static_assert(stays_where_it_is<dynamic> && stays_where_it_is<buffer> && stays_where_it_is<body>);
static_assert(!std::is_constructible_v<standard, standard&>);  // not taken by the constructor for policy objects

// Construction is noexcept and explicit for one object.
static_assert(std::is_nothrow_default_constructible_v<standard> && std::is_nothrow_default_constructible_v<locked>);
static_assert(std::is_nothrow_constructible_v<dynamic, tarn::dynamic_size>);
static_assert(!std::is_convertible_v<tarn::dynamic_size, dynamic>);
static_assert(std::is_nothrow_destructible_v<standard> && std::is_nothrow_destructible_v<locked>);

// A static pool is a constant without end.
static_assert(std::is_trivially_destructible_v<body>);
static_assert(std::is_trivially_destructible_v<tarn::static_pool<struct tag, block, tarn::mutex_locking<>>::body>);
static_assert(std::is_trivially_destructible_v<tarn::static_pool<struct tag, block, tarn::static_array_store<8>>::body>);
static_assert(!std::is_trivially_destructible_v<standard>);
static_assert(!std::is_default_constructible_v<tarn::static_pool<struct tag, block>>);
static_assert(noexcept(tarn::static_pool<struct tag, block>::instance()));

BOOST_AUTO_TEST_CASE(pools_can_be_constants_too) {
  static constinit standard a{};
  static constinit array b{};
  static constinit locked c{};
  for (void* one : {a.allocate(), b.allocate(), c.allocate()}) BOOST_TEST(one != nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
