// A pool's own memory: what lies behind a region's record belongs to the pool, all of it and no byte more, and each region goes
// back to where it came from.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tarn/allocator/detail/pool/upstream.h"

namespace tarn::test {
namespace {

using detail::memory;

/// Gives more than it is asked for.
struct store {
  explicit store(std::byte* at) : next(at) {}
  memory acquire(std::size_t bytes, std::size_t alignment) {
    const memory region{next, bytes + 192};
    next += region.bytes + 64 + (alignment - (region.bytes + 64) % alignment) % alignment;
    given.push_back(region);
    return region;
  }
  void release(memory region, std::size_t) {
    std::erase_if(given, [&](memory one) { return one.start == region.start && one.bytes == region.bytes; });
  }
  std::byte* next;
  std::vector<memory> given;
};
struct nothing {};
constexpr auto is_sound = [](memory, std::size_t) { return true; };

}  // namespace

BOOST_AUTO_TEST_SUITE(metadata_memory)

BOOST_AUTO_TEST_CASE(all_that_lies_behind_the_record) {
  alignas(64) static std::byte bytes[20000], others[20000];
  store first(bytes), second(others);
  detail::metadata_memory own;
  for (const std::size_t wanted : {1000u, 64u, 1u}) {
    for (const bool is_second : {false, true}) {
      store& from = is_second ? second : first;
      const memory got = own.fetch<nothing>(from, wanted, is_sound, is_second);
      const memory region = from.given.back();
      BOOST_REQUIRE(got.start != nullptr);
      BOOST_TEST(got.bytes >= wanted);
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(got.start) % 64 == 0u);
      BOOST_TEST((static_cast<std::byte*>(got.start) + got.bytes == static_cast<std::byte*>(region.start) + region.bytes));
      std::memset(got.start, 0xA5, got.bytes);
      BOOST_TEST(own.overlaps({static_cast<std::byte*>(got.start) + got.bytes - 1, 100}));
      BOOST_TEST(!own.overlaps({static_cast<std::byte*>(got.start) + got.bytes, 1}));
    }
  }
  own.drop<nothing>(first, second);
  BOOST_TEST(first.given.empty());
  BOOST_TEST(second.given.empty());
}

BOOST_AUTO_TEST_CASE(what_is_not_sound_is_not_used) {
  alignas(64) static std::byte bytes[4000];
  store from(bytes);
  detail::metadata_memory own;
  BOOST_TEST((own.fetch<nothing>(from, 1000, [](memory, std::size_t) { return false; }).start == nullptr));
  BOOST_TEST(!own.overlaps({bytes, sizeof bytes}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tarn::test
