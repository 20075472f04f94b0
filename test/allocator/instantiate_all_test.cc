// Every member of every tested composition compiles, used or not: the compiler is told to make them all.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <tuple>
#include <type_traits>

#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/compositions.h"
#include "tarn/test/support/made.h"

namespace tarn::test {

/// The parts of a pool's machinery that are made below, where it has them.
struct parts {
  bool members = false;
  bool checked = false;  // where calls can be refused
  bool sampled = false;  // where blocks lie beside the chunks
  bool operator==(const parts&) const = default;
};
template <class Pool>
inline constexpr parts made{};

}  // namespace tarn::test

// What the first word of a row stands for, besides MAKE_ of made.h.
#define PARTS_plain {.members = true}
#define PARTS_checked {.members = true, .checked = true}
#define PARTS_sampled {.members = true, .sampled = true}
#define PARTS_checked_sampled {.members = true, .checked = true, .sampled = true}

#define ROW(path, ...)                                                     \
  template <>                                                              \
  inline constexpr test::parts test::made<pool<__VA_ARGS__>> PARTS_##path; \
  MAKE_members(pool<__VA_ARGS__>)                                          \
  MAKE_##path(pool<__VA_ARGS__>)

namespace tarn {
using namespace test;
#include "tarn/test/support/cover.inc"
#undef ROW
}  // namespace tarn

namespace tarn::test {
namespace {

template <class... Pools>
void look_at_each(std::type_identity<std::tuple<Pools...>>) {
  constexpr auto wanted = []<class Pool>(std::type_identity<Pool>) {
    return parts{true, anatomy<Pool>::checking::traits.refuses, anatomy<Pool>::checking::traits.samples};
  };
  const std::array<bool, sizeof...(Pools)> right{made<Pools> == wanted(std::type_identity<Pools>{})...};
  for (std::size_t row = 0; row != right.size(); ++row) BOOST_TEST(right[row], "row " << row << " of cover.inc");
  std::printf("%zu compositions\n", sizeof...(Pools));
}

BOOST_AUTO_TEST_CASE(every_part_of_every_composition_is_made) { look_at_each(std::type_identity<compositions>{}); }

}  // namespace
}  // namespace tarn::test
