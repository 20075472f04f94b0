// The array front alone, against a vector.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <random>
#include <tuple>
#include <vector>

#include "tarn/policies/reuse.h"

namespace {

/// With addresses, and with places that are counted from its own null.
using fronts = std::tuple<tarn::detail::array_front<8>, tarn::detail::array_front<8, true>>;

void* number(std::size_t n) { return reinterpret_cast<void*>((n + 1) * 16); }

BOOST_AUTO_TEST_CASE_TEMPLATE(a_new_front_is_empty_and_takes_one, front_type, fronts) {
  front_type front;
  BOOST_TEST(front.closed());
  BOOST_TEST(front.pop() == nullptr);
  BOOST_TEST(front.pop() == nullptr);  // a miss changes nothing
  BOOST_TEST(!front.push(number(1)));  // and there is no room for another
  front.open();
  BOOST_TEST(!front.closed());
  BOOST_TEST(front.size() == 1u);
  BOOST_TEST(front.pop() == number(1));
  BOOST_TEST(front.pop() == nullptr);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(it_agrees_with_a_vector, front_type, fronts) {
  front_type front;
  std::vector<void*> model;
  std::vector<void*> storage(33);
  std::mt19937 random(1);
  front.open();
  for (std::size_t i = 0; i < 200000; ++i) {
    if (i == 100000) front.move_to(storage.data(), storage.size());
    if (random() % 100 < 52) {
      model.push_back(number(i));
      if (!front.push(number(i))) {
        BOOST_REQUIRE(front.size() == front.capacity());
        const std::size_t dropped = front.capacity() / 2;
        for (std::size_t d = 0; d < dropped; ++d)
          BOOST_REQUIRE(front.entries()[front.size() - 1 - d] == model[d]);
        front.drop_oldest(dropped);
        model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(dropped));
      }
    } else {
      void* const expected = model.empty() ? nullptr : model.back();
      BOOST_REQUIRE(front.pop() == expected);
      if (!model.empty()) model.pop_back();
    }
    BOOST_REQUIRE(front.size() == model.size());
    BOOST_REQUIRE(front.room() + front.size() == front.capacity());
    BOOST_REQUIRE(front.room() >= 1u);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(it_can_be_filled_directly, front_type, fronts) {
  front_type front;
  front.open();
  void** const out = front.fill(5);
  for (std::size_t i = 0; i < 3; ++i) out[i] = number(i);
  front.filled(5, 3);  // fewer came than there was room made for
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(front.pop() == number(i));
  BOOST_TEST(front.pop() == nullptr);
}

/// As page_local_reuse uses it: it is told of every few entries, drops some of the oldest in their place, and packs the others
/// where there is no more room.
BOOST_AUTO_TEST_CASE_TEMPLATE(it_drops_the_oldest_in_slices, front_type, fronts) {
  front_type front;
  std::vector<void*> model;
  std::mt19937 random(2);
  front.open();
  front.tell_after(4);
  std::size_t packed = 0, told = 0;
  for (std::size_t i = 0; i < 200000; ++i) {
    if (random() % 100 < 52) {
      model.push_back(number(i));
      if (!front.push(number(i))) {
        ++told;
        const std::size_t n = front.size() / 2;
        for (std::size_t d = 0; d < n; ++d) BOOST_REQUIRE(front.entries()[front.size() - 1 - d] == model[d]);
        front.retire(n);
        model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(n));
        if (front.room_in_place() < 4) {
          ++packed;
          front.pack();
          BOOST_REQUIRE(front.room_in_place() >= 4u);
        }
        front.tell_after(4);
        BOOST_REQUIRE(front.room() == 4u);
      }
    } else {
      void* const expected = model.empty() ? nullptr : model.back();
      BOOST_REQUIRE(front.pop() == expected);
      if (!model.empty()) model.pop_back();
    }
    BOOST_REQUIRE(front.size() == model.size());
  }
  BOOST_TEST(packed > 1000u);
  BOOST_TEST(told > packed);
  for (; !model.empty(); model.pop_back()) BOOST_REQUIRE(front.pop() == model.back());
  BOOST_TEST(front.pop() == nullptr);
}

}  // namespace
