// One layout, however the code that uses the pool was compiled; and nothing in it for policies that do nothing.
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/static/layout.h"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>

#include "tarn/allocator/pool.h"
#include "tarn/test/support/check.h"

namespace {

using tarn_test::size_and_alignment;

void compare(std::span<const size_and_alignment> one, std::span<const size_and_alignment> other, tarn::test::called_from = {}) {
  BOOST_REQUIRE_EQUAL(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    BOOST_TEST_CONTEXT(one[i].name) {
      BOOST_TEST(std::string(one[i].name) == other[i].name);
      BOOST_TEST(one[i].bytes == other[i].bytes);
      BOOST_TEST(one[i].alignment == other[i].alignment);
    }
  }
}

BOOST_AUTO_TEST_SUITE(layout)

BOOST_AUTO_TEST_CASE(is_the_same_without_assert_exceptions_and_rtti) {
  compare(tarn_test::with_assert(), tarn_test::without_assert());
  compare(tarn_test::with_assert(), tarn_test::without_exceptions());
  compare(tarn_test::with_assert(), tarn_test::without_rtti());
}

using block = tarn::static_size<64>;
using lifo = tarn::lifo_reuse<>;
using plain = tarn::pool<block, lifo>;

BOOST_AUTO_TEST_CASE(has_nothing_for_policies_that_do_nothing) {
  BOOST_TEST(sizeof(tarn::pool<block, lifo, tarn::grouped_locking<struct group>>) == sizeof(plain));
  BOOST_TEST(sizeof(tarn::pool<block, lifo, tarn::fixed_growth<32>>) == sizeof(plain));
  BOOST_TEST(sizeof(tarn::pool<block, tarn::lifo_reuse<tarn::prefetch::on_allocate>>) == sizeof(plain));
  BOOST_TEST(sizeof(tarn::pool<tarn::static_size<100, 4096>, lifo>) == sizeof(plain));
  BOOST_TEST(sizeof(tarn::pool<block, lifo, tarn::grouped_locking<struct group, std::mutex>>) == sizeof(plain));
}
BOOST_AUTO_TEST_CASE(of_a_plain_list_is_eight_words) {
  // The list, chunks to carve, the map, two numbers of blocks; two words of what pools that share code know of their size; and
  // how much the heap gave.
  BOOST_TEST(sizeof(plain) == 8 * sizeof(void*));
  BOOST_TEST(sizeof(tarn::pool<block, lifo, tarn::page_store<>>) == sizeof(plain) - sizeof(void*));
}
BOOST_AUTO_TEST_CASE(grows_by_what_a_policy_keeps) {
  struct locks : tarn::detail::fork_member {
    tarn::mutex hot;
    tarn::detail::store_mutex<tarn::mutex> growth;
  };
  BOOST_TEST(sizeof(tarn::pool<block, lifo, tarn::mutex_locking<>>) == sizeof(plain) + sizeof(locks));
  BOOST_TEST(sizeof(tarn::pool<block, lifo, tarn::resource_store>) == sizeof(plain));  // a pointer instead
  BOOST_TEST(sizeof(tarn::pool<tarn::dynamic_size, lifo>) == sizeof(plain));
}
template <class Pool>
void has_little_more_than(std::size_t pointers, tarn::test::called_from = {}) {
  const std::size_t front = (pointers + 1) * sizeof(void*);
  BOOST_TEST(sizeof(Pool) >= sizeof(plain) + front);
  BOOST_TEST(sizeof(Pool) <= sizeof(plain) + front + 8 * sizeof(void*));
}
BOOST_AUTO_TEST_CASE(of_the_standard_pool_is_little_more_than_its_front) {
  has_little_more_than<tarn::pool<block>>(256);
  has_little_more_than<tarn::pool<block, tarn::batch_reuse<tarn::prefetch::none, 128>>>(128);
}
BOOST_AUTO_TEST_CASE(of_an_array_is_its_blocks_and_a_few_words) {
  using array = tarn::pool<block, tarn::static_array_store<100>>;
  BOOST_TEST(alignof(array) == 64);
  BOOST_TEST(sizeof(array) >= 100 * 64);
  BOOST_TEST(sizeof(array) - 100 * 64 <= 4 * 64);
  BOOST_TEST(alignof(tarn::pool<tarn::static_size<24, 4096>, tarn::static_array_store<3>>) == 4096);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
