// Pools of different sizes share their code where the size makes none of it faster.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/allocator/all.h"
#include "tarn/test/support/anatomy.h"

namespace tarn {
namespace {

using test::machinery_of;

template <std::size_t A, std::size_t B, class... Policies>
inline constexpr bool share =
    std::is_same_v<machinery_of<pool<static_size<A>, Policies...>>, machinery_of<pool<static_size<B>, Policies...>>>;

// Blocks of more than eight pointers: one code for all. Of fewer: one for each number of pointers.
static_assert(share<72, 80> && share<80, 4096> && share<100, 1000>);
static_assert(!share<16, 24> && !share<64, 72> && share<24, 28>);
static_assert(share<80, 160, mutex_locking<>> && share<80, 160, thread_cached<>> && share<80, 160, lifo_reuse<>>);
static_assert(share<80, 160, page_store<>> && share<80, 160, counting_statistics> && share<80, 160, fixed_growth<10>>);
static_assert(std::is_same_v<machinery_of<pool<static_size<80, 16>>>, machinery_of<pool<static_size<80, 8>>>>);

// Where blocks are looked up, or an array is sized, the size is a constant.
static_assert(!share<80, 160, page_local_reuse<>> && !share<80, 160, hardened> && !share<80, 160, checked>);
static_assert(!share<80, 160, lock_free> && !share<80, 160, static_array_store<8>> && !share<80, 160, buffer_store>);
static_assert(!share<80, 160, fall_back_to<static_array_store<8>>>);

template <std::size_t Bytes, std::size_t Align = natural>
void check_blocks() {
  pool<static_size<Bytes, Align>> p;
  static_assert(decltype(p)::block_size() == Bytes && decltype(p)::block_alignment() >= (Align == natural ? 1 : Align));
  std::array<std::uintptr_t, 1000> blocks{};
  for (auto& b : blocks) b = reinterpret_cast<std::uintptr_t>(p.allocate());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i != blocks.size(); ++i) {
    wrong += blocks[i] % p.block_alignment() != 0;
    for (std::size_t j = 0; j != i; ++j) wrong += blocks[i] - blocks[j] < Bytes || blocks[j] - blocks[i] < Bytes;
  }
  BOOST_TEST(wrong == 0u, wrong << " blocks of " << Bytes << " bytes misaligned or overlapping");
  for (const auto b : blocks) p.deallocate(reinterpret_cast<void*>(b));
}

BOOST_AUTO_TEST_CASE(pools_that_share_code_have_blocks_of_their_own_size) {
  check_blocks<72>();
  check_blocks<80>();
  check_blocks<100>();
  check_blocks<128, 128>();
  check_blocks<256>();
  check_blocks<4000, 8>();
}
BOOST_AUTO_TEST_CASE(static_pools_that_share_code_too) {
  using small = static_pool<struct small_tag, static_size<72>>;
  using large = static_pool<struct large_tag, static_size<200, 64>>;
  static_assert(std::is_same_v<machinery_of<small::body>, machinery_of<large::body>>);
  static_assert(!std::is_same_v<small::body, large::body>);
  static_assert(small::body::block_size() == 72 && large::body::block_size() == 200);
  for (int i = 0; i != 100; ++i) {
    void* const a = small::instance().allocate();
    void* const b = large::instance().allocate();
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(b) % 64 == 0u);
    BOOST_TEST((small::instance().owns(a) && !small::instance().owns(b) && large::instance().owns(b)));
  }
}

}  // namespace
}  // namespace tarn
