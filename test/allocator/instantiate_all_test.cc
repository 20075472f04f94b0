// Every member of every tested composition compiles, used or not: the compiler is told to make them all.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <tuple>

#include "tarn/test/support/compositions.h"

namespace tarn::test {

template <class Pool>
struct traits_of;
template <class... NinePolicies>
struct traits_of<basic_pool<NinePolicies...>> {
  using type = detail::pool_traits<void, NinePolicies...>;
};
template <std::size_t Row>
using traits_of_row = typename traits_of<std::tuple_element_t<Row, compositions>>::type;
template <std::size_t Row>
using state_of_row = detail::pool_state<traits_of_row<Row>>;

}  // namespace tarn::test

namespace {

/// The rows that are named below.
std::array<int, std::tuple_size_v<tarn::test::compositions>> named{};
struct name_row {
  explicit name_row(std::size_t row) { ++named.at(row); }
};

}  // namespace

// clang 14 makes members, too, whose `requires` is false (mended in a later one). There the class itself must do, and what
// other tests use of it.
#if defined(__clang__) && __clang_major__ < 16
#define INSTANTIATE_CHECKED(row)                                                      \
  static_assert(sizeof(tarn::detail::checked_path<tarn::test::state_of_row<row>>) != 0); \
  INSTANTIATE(row)
#define INSTANTIATE_SAMPLED(row)                                                      \
  static_assert(sizeof(tarn::detail::sampled_path<tarn::test::state_of_row<row>>) != 0); \
  INSTANTIATE(row)
#define INSTANTIATE(row)                                                              \
  static_assert(sizeof(tarn::detail::pool_members<tarn::test::traits_of_row<row>>) != 0);   \
  const name_row row_##row(row)
#else
// Where calls can be refused.
#define INSTANTIATE_CHECKED(row)                                                  \
  template struct tarn::detail::admission<tarn::test::state_of_row<row>>;    \
  template struct tarn::detail::checked_path<tarn::test::state_of_row<row>>; \
  INSTANTIATE(row)
// Where blocks lie beside the chunks.
#define INSTANTIATE_SAMPLED(row)                                                  \
  template struct tarn::detail::sampled_path<tarn::test::state_of_row<row>>; \
  INSTANTIATE(row)
#define INSTANTIATE(row)                                                        \
  template class tarn::detail::pool_members<tarn::test::traits_of_row<row>>; \
  const name_row row_##row(row)
#endif
INSTANTIATE_CHECKED(0);
INSTANTIATE(1);
INSTANTIATE(2);
INSTANTIATE_SAMPLED(3);
INSTANTIATE(4);
INSTANTIATE(5);
INSTANTIATE(6);
INSTANTIATE(7);
INSTANTIATE_CHECKED(8);
INSTANTIATE(9);
INSTANTIATE_CHECKED(10);
INSTANTIATE(11);
INSTANTIATE(12);
INSTANTIATE(13);
INSTANTIATE(14);
INSTANTIATE(15);
INSTANTIATE(16);
INSTANTIATE(17);
INSTANTIATE_CHECKED(18);
INSTANTIATE_SAMPLED(19);
INSTANTIATE_SAMPLED(20);
INSTANTIATE(21);
INSTANTIATE(22);
INSTANTIATE(23);
INSTANTIATE_CHECKED(24);
INSTANTIATE_CHECKED(25);
INSTANTIATE(26);
INSTANTIATE_CHECKED(27);
INSTANTIATE(28);
INSTANTIATE(29);
INSTANTIATE(30);
INSTANTIATE_CHECKED(31);
INSTANTIATE_CHECKED(32);
INSTANTIATE_CHECKED(33);
INSTANTIATE_CHECKED(34);
INSTANTIATE(35);
INSTANTIATE(36);
INSTANTIATE_CHECKED(37);
INSTANTIATE(38);
INSTANTIATE(39);
INSTANTIATE(40);
INSTANTIATE(41);
INSTANTIATE_CHECKED(42);
INSTANTIATE(43);
INSTANTIATE(44);
INSTANTIATE_CHECKED(45);
INSTANTIATE_CHECKED(46);
INSTANTIATE(47);
INSTANTIATE_SAMPLED(48);
INSTANTIATE(49);
INSTANTIATE(50);
INSTANTIATE(51);
INSTANTIATE_SAMPLED(52);
INSTANTIATE(53);
INSTANTIATE(54);
INSTANTIATE(55);
INSTANTIATE_CHECKED(56);
INSTANTIATE_CHECKED(57);
INSTANTIATE_SAMPLED(58);
INSTANTIATE(59);
INSTANTIATE_CHECKED(60);
INSTANTIATE(61);
INSTANTIATE(62);
INSTANTIATE(63);
INSTANTIATE(64);
INSTANTIATE_CHECKED(65);
INSTANTIATE_CHECKED(66);
INSTANTIATE_CHECKED(67);
INSTANTIATE(68);
INSTANTIATE_CHECKED(69);
INSTANTIATE_CHECKED(70);
INSTANTIATE_CHECKED(71);
INSTANTIATE_CHECKED(72);
INSTANTIATE_CHECKED(73);
INSTANTIATE_CHECKED(74);
INSTANTIATE_CHECKED(75);
INSTANTIATE_CHECKED(76);
INSTANTIATE_CHECKED(77);
INSTANTIATE_CHECKED(78);
INSTANTIATE_CHECKED(79);
INSTANTIATE_CHECKED(80);
INSTANTIATE_CHECKED(81);
INSTANTIATE_CHECKED(82);
INSTANTIATE_CHECKED(83);
INSTANTIATE_CHECKED(84);
INSTANTIATE_CHECKED(85);
INSTANTIATE_CHECKED(86);
INSTANTIATE_CHECKED(87);
INSTANTIATE(88);
INSTANTIATE_SAMPLED(89);
INSTANTIATE_CHECKED(90);
INSTANTIATE_CHECKED(91);

BOOST_AUTO_TEST_CASE(every_row_of_the_list_is_instantiated) {
  BOOST_TEST(std::count(named.begin(), named.end(), 1) == std::ssize(named));  // one more row: one more line above
}
