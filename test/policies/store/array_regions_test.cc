// static_array_store is sized at compile time: the region of each layout, sizes 1 to 64, some up to 512 and alignments 1 to
// 4096, is made and measured there. Apart from layout_test.cc, in test/allocator, because it takes long to compile; compiled
// once, by one compiler.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <utility>

#include "tarn/allocator/pool.h"

namespace tarn::test {
namespace {

constexpr std::size_t alignments = 13;  // 1, 2, 4 ... 4096

/// Each returns how many regions there were.
template <std::size_t Size, std::size_t Align>
constexpr std::size_t check_array_region() {
  using env = detail::pool_traits<void, static_size<Size, Align>, no_locking, no_growth<3>, static_array_store<3>, lifo_reuse<>,
                                  keep_chunks, report_exhaustion, no_checking, no_statistics, unnamed>;
  constexpr typename env::geometry g;
  constexpr std::size_t bytes = env::layout::bytes(3, g);
  static_assert(g.stride() >= Size && g.stride() % Align == 0 && g.alignment() % Align == 0);
  static_assert(env::chunk_alignment(g) % g.alignment() == 0);
  static_assert(env::layout::first_offset(3, g) % g.alignment() == 0);
  static_assert(env::layout::blocks_in(bytes, 3, g) == 3 && env::layout::blocks_in(bytes - 1, 3, g) == 2);
  static_assert(bytes >= env::layout::first_offset(3, g) + g.distance(2) + Size);
  return 1;
}
template <std::size_t Size, std::size_t... A>
constexpr std::size_t check_array_regions(std::index_sequence<A...>) {
  return (check_array_region<Size, (std::size_t{1} << A)>() + ...);
}
template <std::size_t First, std::size_t Step, std::size_t... S>
constexpr std::size_t check_array_sizes(std::index_sequence<S...>) {
  return (check_array_regions<First + Step * S>(std::make_index_sequence<alignments>{}) + ...);
}

BOOST_AUTO_TEST_CASE(over_a_static_array_every_region_is_exact) {
  std::size_t regions = check_array_sizes<1, 1>(std::make_index_sequence<64>{});
  regions += check_array_sizes<71, 7>(std::make_index_sequence<64>{});
  BOOST_TEST(regions == 128 * alignments);
}

}  // namespace
}  // namespace tarn::test
