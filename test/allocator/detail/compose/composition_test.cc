// From the policies named to the type: the order doesn't matter, equal layouts are one type, and what isn't named is chosen.
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <mutex>
#include <type_traits>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/anatomy.h"

namespace {

using block = tarn::static_size<64>;

template <class A, class B>
constexpr bool same = std::is_same_v<A, B>;

// What became of each axis.
template <class... Ps>
using axes_of = tarn::test::anatomy<tarn::pool<Ps...>>;

BOOST_AUTO_TEST_SUITE(composition)

template <class A, class B, class C, class D>
constexpr bool any_order() {
  using one = tarn::pool<A, B, C, D>;
  return same<one, tarn::pool<B, A, C, D>> && same<one, tarn::pool<A, C, B, D>> && same<one, tarn::pool<A, B, D, C>> &&
         same<one, tarn::pool<D, C, B, A>> && same<one, tarn::pool<C, D, A, B>>;
}

// The order of policies does not matter.
static_assert(any_order<block, tarn::mutex_locking<>, tarn::fixed_growth<32>, tarn::heap_store>());
static_assert(any_order<tarn::size_of<double>, tarn::no_statistics, tarn::no_checking, tarn::report_exhaustion>());
static_assert(same<tarn::static_pool<struct tag, block, tarn::lifo_reuse<>, tarn::page_store<>>::body,
                   tarn::static_pool<struct tag, tarn::page_store<>, tarn::lifo_reuse<>, block>::body>);

// A store of one's own that has an end, and doesn't say what follows: one chunk, and no growth to drop.
struct bytes_of_ones_own {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{.bounded = true};
  template <class Traits>
  struct source {
    constexpr explicit source(const bytes_of_ones_own&) noexcept {}
    std::size_t room(std::size_t) const noexcept { return 0; }
    tarn::detail::memory acquire(std::size_t, std::size_t) noexcept { return {}; }
    void release(tarn::detail::memory, std::size_t) noexcept {}
  };
};
static_assert(same<axes_of<block, bytes_of_ones_own>::growth, tarn::no_growth<>>);
static_assert(same<axes_of<block, bytes_of_ones_own>::reuse, tarn::lifo_reuse<>>);

// Naming a default changes nothing.
static_assert(same<tarn::pool<block>,
                   tarn::pool<tarn::no_statistics, block, tarn::no_checking, tarn::report_exhaustion, tarn::keep_chunks,
                              tarn::batch_reuse<>, tarn::heap_store, tarn::geometric_growth<>, tarn::no_locking>>);
static_assert(same<tarn::pool<block>,
                   tarn::basic_pool<tarn::static_size<64, 16>, tarn::no_locking, tarn::geometric_growth<>, tarn::heap_store,
                                    tarn::batch_reuse<>, tarn::keep_chunks, tarn::report_exhaustion, tarn::no_checking,
                                    tarn::no_statistics>>);

struct point {
  double x, y;
};
struct span {
  double from;
  long to;
};
struct alignas(64) wide {
  char byte;
};

// Equal layouts are one type.
static_assert(same<tarn::pool<tarn::size_of<point>>, tarn::pool<tarn::size_of<span>>>);
static_assert(same<tarn::pool<tarn::size_of<point>>, tarn::pool<tarn::static_size<16, 8>>>);
static_assert(same<tarn::pool<tarn::static_size<64>>, tarn::pool<tarn::static_size<64, 16>>>);
static_assert(same<tarn::pool<tarn::size_of<wide>>, tarn::pool<tarn::static_size<64, 64>>>);
static_assert(same<tarn::pool<tarn::size_of<const point>>, tarn::pool<tarn::size_of<point>>>);
static_assert(same<tarn::pool<tarn::size_of<point[3]>>, tarn::pool<tarn::static_size<48, 8>>>);
static_assert(!same<tarn::pool<tarn::static_size<64>>, tarn::pool<tarn::static_size<64, 8>>>);
static_assert(!same<tarn::pool<tarn::static_size<64>>, tarn::pool<tarn::static_size<65>>>);

BOOST_AUTO_TEST_CASE(the_natural_alignment_divides_the_size) {
  static_assert(tarn::static_size<1>::alignment() == 1 && tarn::static_size<2>::alignment() == 2);
  static_assert(tarn::static_size<3>::alignment() == 1 && tarn::static_size<12>::alignment() == 4);
  static_assert(tarn::static_size<24>::alignment() == 8 && tarn::static_size<48>::alignment() == 16);
  static_assert(tarn::static_size<4096>::alignment() == alignof(std::max_align_t));
  for (std::size_t bytes = 1; bytes <= 512; ++bytes) {
    const std::size_t alignment = tarn::dynamic_size(bytes).alignment();
    BOOST_TEST((bytes % alignment == 0 && alignment <= alignof(std::max_align_t)));
    BOOST_TEST((alignment == alignof(std::max_align_t) || bytes % (2 * alignment) != 0));
  }
}

// A store implies its growth.
static_assert(same<axes_of<block, tarn::static_array_store<8>>::growth, tarn::no_growth<8>>);
static_assert(same<axes_of<block, tarn::buffer_store>::growth, tarn::no_growth<>>);
static_assert(same<axes_of<block, tarn::buffer_store, tarn::no_growth<5>>::growth, tarn::no_growth<5>>);
static_assert(same<axes_of<block, tarn::resource_store>::growth, tarn::geometric_growth<>>);
static_assert(same<axes_of<block, tarn::page_store<>>::growth, tarn::geometric_growth<>>);

// A retention policy that implies a reuse policy, as return_empty_chunks will.
struct observed : tarn::lifo_reuse<tarn::prefetch::on_free> {};
struct returning : tarn::keep_chunks {
  using implies = observed;
};

// What is named, then what is implied, then the default.
static_assert(same<axes_of<block, returning>::reuse, observed>);
static_assert(same<axes_of<block, returning, tarn::static_array_store<8>>::reuse, observed>);
static_assert(same<axes_of<block, returning, tarn::lifo_reuse<>>::reuse, tarn::lifo_reuse<>>);
static_assert(same<tarn::pool<returning, block>, tarn::pool<block, returning>>);

// Small blocks and bounded stores have a plain list.
static_assert(same<axes_of<tarn::static_size<1>>::reuse, tarn::lifo_reuse<>>);
static_assert(same<axes_of<tarn::static_size<15>>::reuse, tarn::lifo_reuse<>>);
static_assert(same<axes_of<tarn::static_size<16>>::reuse, tarn::batch_reuse<>>);
static_assert(same<axes_of<tarn::static_size<16, 1>>::reuse, tarn::batch_reuse<>>);
static_assert(same<axes_of<tarn::size_of<int>>::reuse, tarn::lifo_reuse<>>);
static_assert(same<axes_of<tarn::dynamic_size>::reuse, tarn::batch_reuse<>>);
static_assert(same<axes_of<block, tarn::static_array_store<8>>::reuse, tarn::lifo_reuse<>>);
static_assert(same<axes_of<block, tarn::buffer_store>::reuse, tarn::lifo_reuse<>>);
static_assert(same<axes_of<tarn::dynamic_size, tarn::buffer_store>::reuse, tarn::lifo_reuse<>>);
static_assert(same<axes_of<block, tarn::no_growth<100>>::reuse, tarn::batch_reuse<>>);
static_assert(same<axes_of<block, tarn::static_array_store<8>, tarn::batch_reuse<>>::reuse, tarn::batch_reuse<>>);

// Groups keep pools apart.
static_assert(
    !same<tarn::pool<block, tarn::grouped_locking<struct audio>>, tarn::pool<block, tarn::grouped_locking<struct video>>>);
static_assert(!same<tarn::pool<block, tarn::grouped_locking<audio>>, tarn::pool<block>>);
static_assert(
    !same<tarn::pool<block, tarn::grouped_locking<audio>>, tarn::pool<block, tarn::grouped_locking<audio, std::mutex>>>);

// Numbers in the rules. Each rule is broken, and kept by a neighbour, in test/compile_fail.
BOOST_AUTO_TEST_CASE(what_is_larger_than_an_address_space) {
  using namespace tarn::detail;
  tarn::detail::composition c;
  BOOST_TEST((first_broken(c) == rule::none));
  c.bytes = size_limit + 1;
  BOOST_TEST((first_broken(c) == rule::r7));
  c.bytes = 1;
  c.first_chunk = size_max;
  BOOST_TEST((first_broken(c) == rule::r7));
}

BOOST_AUTO_TEST_CASE(growth_past_what_can_be_told_apart) {
  using tarn::detail::outgrows;
  constexpr std::size_t most = 65'535;
  BOOST_TEST((outgrows<tarn::fixed_growth<100>, 64, most>()));
  BOOST_TEST((!outgrows<tarn::fixed_growth<100, most>, 64, most>()));
  BOOST_TEST((outgrows<tarn::fixed_growth<100, most + 1>, 64, most>()));
  BOOST_TEST((outgrows<tarn::geometric_growth<>, 64, most>()));
  BOOST_TEST((!outgrows<tarn::geometric_growth<64, 1024, 2, most>, 64, most>()));
  BOOST_TEST((!outgrows<tarn::geometric_growth<64, 1024, 2, tarn::unlimited, most * 64 + 63>, 64, most>()));
  BOOST_TEST((outgrows<tarn::geometric_growth<64, 1024, 2, tarn::unlimited, most * 64 + 64>, 64, most>()));
  BOOST_TEST((!outgrows<tarn::no_growth<most>, 64, most>()));
  BOOST_TEST((outgrows<tarn::no_growth<most + 1>, 64, most>()));
  BOOST_TEST((!outgrows<tarn::no_growth<>, 64, most>()));
  BOOST_TEST((!outgrows<tarn::fixed_growth<100>, 64, tarn::unlimited>()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
