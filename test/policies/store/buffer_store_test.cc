// What a buffer may be: bytes by any of their names, in whatever holds them.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "tarn/allocator/pool.h"

namespace {

using blocks_in_buffer = tarn::pool<tarn::static_size<64>, tarn::buffer_store>;

constexpr std::size_t bytes = 16 * 64;

template <class Bytes>
void check_is_a_buffer(Bytes&& buffer) {
  blocks_in_buffer pool{tarn::buffer_store(buffer)};
  const auto* const start = reinterpret_cast<const std::byte*>(std::span(buffer).data());
  BOOST_TEST(pool.capacity() == 16u);
  for (void* block = pool.try_allocate(); block != nullptr; block = pool.try_allocate()) {
    *static_cast<char*>(block) = 1;
    BOOST_TEST((static_cast<const std::byte*>(block) >= start && static_cast<const std::byte*>(block) < start + bytes));
  }
}

template <class Bytes>
constexpr bool is_buffer = std::is_constructible_v<tarn::buffer_store, Bytes>;

}  // namespace

BOOST_AUTO_TEST_SUITE(buffer_store)

BOOST_AUTO_TEST_CASE(bytes_may_be_of_any_type_for_bytes) {
  alignas(64) std::byte a[bytes];
  alignas(64) unsigned char b[bytes];
  alignas(64) char c[bytes];
  alignas(64) std::array<unsigned char, bytes> d;
  check_is_a_buffer(a);
  check_is_a_buffer(b);
  check_is_a_buffer(c);
  check_is_a_buffer(d);
  check_is_a_buffer(std::span<unsigned char>(b));
  const std::span<char, bytes> fixed(c);
  check_is_a_buffer(fixed);
  std::vector<unsigned char> e(bytes + 64);
  blocks_in_buffer pool{tarn::buffer_store(e)};
  BOOST_TEST(pool.capacity() >= 16u);
}

// What can't be written, isn't bytes, or is gone when the pool uses it.
static_assert(!is_buffer<const unsigned char (&)[64]>);
static_assert(!is_buffer<std::span<const std::byte>>);
static_assert(!is_buffer<int (&)[64]>);
static_assert(!is_buffer<std::vector<unsigned char>>);
static_assert(!is_buffer<std::size_t>);
// Only std::byte costs no conversion that constants can't have.
constexpr bool in_a_constant = [] {
  std::byte buffer[64] = {};
  return tarn::buffer_store(buffer).bytes().size() == 64;
}();
static_assert(in_a_constant);

BOOST_AUTO_TEST_SUITE_END()
