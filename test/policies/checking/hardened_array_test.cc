// hardened over an array of blocks, as firmware uses it: what it finds, and whom it tells. The pool has no machinery but the
// array.
#include <cstddef>
#include <cstring>
#include <set>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/platform/secret.h"
#include "tarn/test/policies/checking/recording.h"
#include "tarn/test/support/test.h"

namespace tarn::test {
namespace {

std::vector<misuse> own;
void keep(const misuse& what) noexcept { own.push_back(what); }

using block = static_size<48>;
using array = static_array_store<32>;
using quiet = hardened_with<reported_to<keep>>;
using array_pool = pool<block, array, quiet>;

// No source, no growth: only then is it small.
template <class Pool>
concept has_source = requires(const Pool& p) { p.store(); };
static_assert(!has_source<array_pool>);
static_assert(!has_source<pool<block, array, hardened_with<generations>>>);
static_assert(has_source<pool<block, array, checked>>);

/// Takes every block, and looks at them.
template <class Pool>
std::vector<void*> take_all(Pool& p) {
  std::vector<void*> blocks;
  while (void* const b = p.try_allocate()) {
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(b) % 16 == 0u);
    std::memset(b, 0x5A, 48);
    blocks.push_back(b);
  }
  BOOST_TEST(std::set<void*>(blocks.begin(), blocks.end()).size() == 32u);
  BOOST_TEST(p.try_allocate() == nullptr);
  return blocks;
}

/// The only report of `pool`, about that address.
template <class Pool>
void expect(const Pool& p, misuse_kind kind, const void* address) {
  BOOST_REQUIRE(own.size() == 1u);
  BOOST_TEST(static_cast<int>(own[0].kind) == static_cast<int>(kind));
  BOOST_TEST(own[0].address == address);
  BOOST_TEST(own[0].pool == &p);
  BOOST_TEST(own[0].block_size == 48u);
  own.clear();
}

template <class Pool>
void check_misuse(Pool& p) {
  own.clear();
  int foreign = 0;
  p.deallocate(&foreign);  // before the first block was taken
  expect(p, misuse_kind::foreign_pointer, &foreign);
  const std::vector<void*> blocks = take_all(p);
  auto* const middle = static_cast<std::byte*>(blocks[7]);
  p.deallocate(middle + 8);
  BOOST_TEST(own.back().block == middle);
  BOOST_TEST(own.back().number == 7u);
  expect(p, misuse_kind::interior_pointer, middle + 8);
  p.deallocate(static_cast<std::byte*>(blocks.back()) + 48);
  expect(p, misuse_kind::foreign_pointer, static_cast<std::byte*>(blocks.back()) + 48);
  p.deallocate(static_cast<std::byte*>(blocks.front()) - 48);
  expect(p, misuse_kind::foreign_pointer, static_cast<std::byte*>(blocks.front()) - 48);
  p.deallocate(middle);
  p.deallocate(middle);
  BOOST_TEST(own.back().number == 7u);
  expect(p, misuse_kind::double_free, middle);
  BOOST_TEST(p.try_allocate() == middle);
  p.deallocate(middle, 49);
  expect(p, misuse_kind::wrong_size, middle);
  for (void* const b : blocks) p.deallocate(b);
  p.deallocate(nullptr);
  BOOST_TEST(own.empty());
}

/// Of no block. The compiler doesn't know what is there: else it warns of what a free would write.
void* foreign_address() {
  static int foreign = 0;
  static void* volatile address = &foreign;
  return address;
}

BOOST_AUTO_TEST_CASE(misuse_of_an_array_goes_to_the_handler_that_is_named) {
  const recording others;
  array_pool p;
  check_misuse(p);
  BOOST_TEST(told.empty());
  BOOST_TEST(p.capacity() == 32u);
}

BOOST_AUTO_TEST_CASE(an_array_that_was_not_used_yet_knows_its_slots) {
  array_pool p;
  own.clear();
  auto* const inside = reinterpret_cast<std::byte*>(&p) + sizeof p / 2;
  BOOST_TEST(p.owns(inside));
  p.deallocate(inside);
  BOOST_REQUIRE(own.size() == 1u);
  BOOST_TEST(own[0].number < 32u);
  BOOST_TEST((own[0].block <= inside && inside < static_cast<const std::byte*>(own[0].block) + 48));
  own.clear();
}

BOOST_AUTO_TEST_CASE(a_static_pool_has_its_array_elsewhere_and_does_the_same) {
  using tagged = static_pool<struct messages, block, array, quiet>;
  static_assert(sizeof(typename tagged::body) < 32 * 48);
  check_misuse(tagged::instance());
  tagged::instance().deallocate(foreign_address());
  BOOST_REQUIRE(own.size() == 1u);
  BOOST_TEST(std::strstr(own[0].pool_name, "messages") != nullptr);
  own.clear();
  using other = static_pool<struct replies, block, array, quiet>;
  void* const one = other::instance().allocate();
  BOOST_TEST(other::instance().owns(one));
  BOOST_TEST(!tagged::instance().owns(one));
  tagged::instance().deallocate(one);
  expect(tagged::instance(), misuse_kind::foreign_pointer, one);
  other::instance().deallocate(one);
}

BOOST_AUTO_TEST_CASE(trim_and_release_make_the_array_as_new) {
  array_pool p;
  own.clear();
  BOOST_TEST(p.trim() == 0u);
  void* const one = p.allocate();
  BOOST_TEST(p.trim() == 0u);
  p.deallocate(one);
  BOOST_TEST(p.trim() == 32 * 48u);
  BOOST_TEST(p.allocate() == one);
  p.release();
  p.deallocate(one);  // it is in use no more
  expect(p, misuse_kind::double_free, one);
  BOOST_TEST(take_all(p).size() == 32u);
  p.release();
}

BOOST_AUTO_TEST_CASE(a_pool_of_many_chunks_and_a_checked_one_name_a_handler_too) {
  const recording others;
  own.clear();
  void* const foreign = foreign_address();
  pool<block, quiet> hard;
  hard.deallocate(foreign);
  expect(hard, misuse_kind::foreign_pointer, foreign);
  pool<block, checked_with<sites, reported_to<keep>>> all;
  all.deallocate(foreign);
  expect(all, misuse_kind::foreign_pointer, foreign);
  BOOST_TEST(told.empty());
  pool<block, hardened> usual;
  usual.deallocate(foreign);
  BOOST_TEST(told.size() == 1u);
  BOOST_TEST(own.empty());
}

/// The first call that needs the process's secret creates it: the same each time.
template <class Pool>
void expect_drawn_by_reserve() {
  detail::secret_of_process.store(0, detail::memory_order_relaxed);
  Pool p;
  BOOST_TEST(detail::secret_of_process.load(detail::memory_order_relaxed) == 0u);
  BOOST_TEST(p.try_reserve(32));
  BOOST_TEST(detail::secret_of_process.load(detail::memory_order_relaxed) != 0u);
}
BOOST_AUTO_TEST_CASE(reserve_draws_the_secret_before_the_first_call) {
  expect_drawn_by_reserve<array_pool>();
  expect_drawn_by_reserve<pool<block, array, hardened_with<generations>>>();
  expect_drawn_by_reserve<pool<block, array, checked>>();
  expect_drawn_by_reserve<pool<block, hardened>>();
}

}  // namespace
}  // namespace tarn::test
