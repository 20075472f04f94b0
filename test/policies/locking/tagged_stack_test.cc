// How long a tag tells one head from an earlier one: a pop that is interrupted notices every change, but that of a multiple of
// as many pops as the tag has values. For the 16 bits of a narrow head that is the limit that the documentation names.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <utility>

#include "tarn/policies/locking/lock_free.h"

namespace tarn::detail {
namespace {

/// What comes in between the next load and exchange.
std::function<void()> interruption;

template <class T>
class interrupted_word : public atomic_word<T> {
 public:
  using atomic_word<T>::atomic_word;
  bool compare_exchange_weak(T& expected, T value, memory_order order, memory_order failed) noexcept {
    if (const auto interrupt = std::exchange(interruption, nullptr)) interrupt();
    return atomic_word<T>::compare_exchange_weak(expected, value, order, failed);
  }
};

/// A pop of one of three numbers is interrupted by so many pops, after which the same number is on top and the one below it
/// is taken. Returns whether that one stays the interrupter's own.
template <class Head>
bool notices(std::uint32_t pops) {
  using stack_type = tagged_stack<interrupted_word, Head>;
  stack_type stack;
  typename stack_type::link links[4];
  const auto link_of = [&](std::uint32_t n) -> auto& { return links[n]; };
  for (typename stack_type::number n = 3; n != 0; --n) stack.push(n, links[n]);
  interruption = [&] {
    BOOST_REQUIRE(stack.pop(link_of) == 1);
    BOOST_REQUIRE(stack.pop(link_of) == 2);
    for (std::uint32_t i = 2; i != pops; ++i) {
      stack.push(1, links[1]);
      BOOST_REQUIRE(stack.pop(link_of) == 1);
    }
    stack.push(1, links[1]);
  };
  BOOST_REQUIRE(stack.pop(link_of) == 1);
  BOOST_REQUIRE(!interruption);
  return stack.pop(link_of) == 3;
}

static_assert(sizeof(tagged_stack<atomic_word, std::uint32_t>) == 4);
static_assert(sizeof(tagged_stack<atomic_word, std::uint32_t>::link) == 2);
static_assert(sizeof(tagged_stack<atomic_word, std::uint64_t>) == 8);

BOOST_AUTO_TEST_CASE(a_narrow_tag_tells_fewer_than_65536_pops) {
  for (const std::uint32_t pops : {2u, 3u, 4u, 255u, 256u, 257u, 4096u, 32'768u, 65'534u, 65'535u})
    BOOST_TEST(notices<std::uint32_t>(pops), pops << " pops");
}

BOOST_AUTO_TEST_CASE(a_narrow_tag_is_the_same_after_exactly_65536_pops) {
  BOOST_TEST(!notices<std::uint32_t>(65'536));
  BOOST_TEST(notices<std::uint32_t>(65'537));
  BOOST_TEST(!notices<std::uint32_t>(2 * 65'536));
}

BOOST_AUTO_TEST_CASE(a_wide_tag_goes_on) {
  for (const std::uint32_t pops : {2u, 65'535u, 65'536u, 65'537u, 2 * 65'536u, 1u << 20})
    BOOST_TEST(notices<std::uint64_t>(pops), pops << " pops");
}

/// Of a number, all bits are used; the tag never spills into it.
BOOST_AUTO_TEST_CASE(the_last_number_is_as_good_as_the_first) {
  using stack_type = tagged_stack<atomic_word, std::uint32_t>;
  stack_type stack;
  stack_type::link last = 0, first = 0;
  const auto link_of = [&](std::uint32_t n) -> auto& { return n == 0xFFFF ? last : first; };
  for (int i = 0; i != 70'000; ++i) {
    stack.push(1, first);
    stack.push(0xFFFF, last);
    BOOST_REQUIRE(stack.pop(link_of) == 0xFFFF);
    BOOST_REQUIRE(stack.pop(link_of) == 1);
    BOOST_REQUIRE(stack.pop(link_of) == 0);
  }
}

}  // namespace
}  // namespace tarn::detail
