// What went wrong in other libraries' macros for class-level operator new, and must not in ours. The numbers are those of the
// study of these libraries.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/policies/statistics.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

struct alignas(64) vector_of_8 {
  double values[8] = {};
  DECLARE_MEMORY_POOL(vector_of_8)
};

BOOST_AUTO_TEST_CASE(defect_5_nvwa_overaligned_class_misaligned) {
  std::vector<std::unique_ptr<vector_of_8>> objects(8);
  for (auto& object : objects) {
    object = std::make_unique<vector_of_8>();
    CHECK(reinterpret_cast<std::uintptr_t>(object.get()) % 64 == 0);
  }
}

struct of_24_bytes {
  virtual ~of_24_bytes() = default;
  long content[2] = {1, 2};
  DECLARE_MEMORY_POOL(of_24_bytes)
};
struct of_88_bytes : of_24_bytes {
  long more[8] = {3, 4, 5, 6, 7, 8, 9, 10};
};

BOOST_AUTO_TEST_CASE(defect_5_nvwa_larger_derived_class_in_a_small_block) {
  static_assert(sizeof(of_24_bytes) == 24 && sizeof(of_88_bytes) == 88);
  const auto before = std::make_unique<of_24_bytes>();
  const std::unique_ptr<of_24_bytes> large = std::make_unique<of_88_bytes>();
  const auto after = std::make_unique<of_24_bytes>();
  CHECK(!of_24_bytes::memory_pool().owns(large.get()));
  CHECK(before->content[1] == 2 && after->content[0] == 1 && static_cast<of_88_bytes&>(*large).more[7] == 10);
}

struct refused {};
struct small {
  explicit small(int v) : value(v) {
    if (v < 0) throw refused();
  }
  int value;
  int more = 0;
  DECLARE_MEMORY_POOL_WITH(small, tarn::static_array_store<1>)
};

BOOST_AUTO_TEST_CASE(defect_5_nvwa_placement_new_hidden) {
  alignas(small) char chars[sizeof(small)];
  alignas(small) unsigned char unsigned_chars[sizeof(small)];
  alignas(small) std::byte bytes[2 * sizeof(small)];
  const std::unique_ptr<small> held(new small(1));  // the pool's only block
  void* const anywhere = bytes + sizeof(small);
  const auto at = [](auto&& place, const void* address, int value) {
    small* const object = new (place) small(value);
    return static_cast<void*>(object) == address && object->value == value;
  };
  CHECK(at(chars, chars, 2));
  CHECK(at(unsigned_chars, unsigned_chars, 3));
  CHECK(at(bytes, bytes, 4));
  CHECK(at(anywhere, anywhere, 5));
  CHECK(at(&bytes[0], bytes, 6));
  CHECK(at(held.get(), held.get(), 7));
  CHECK(::new (anywhere) small(8) == anywhere&& std::construct_at(held.get(), 9) == held.get());
  static_assert(noexcept(small::operator new(1, anywhere)));

  bool caught = false;
  try {
    new (chars) small(-1);
  } catch (const refused&) {
    caught = true;
  }
  CHECK(caught && small::memory_pool().try_allocate() == nullptr);  // nothing was given to the pool
}

/// What the global placement new takes, since it converts to void*.
struct slot {
  alignas(small) std::byte room[sizeof(small)];
  operator void*() noexcept { return room; }
};
template <class Place>
concept takes_a_small = requires(Place place) { small::operator new(1, place); };
static_assert(takes_a_small<void*> && takes_a_small<slot&> && takes_a_small<small*> && takes_a_small<std::nullptr_t>);
static_assert(!takes_a_small<const void*> && !takes_a_small<const slot&> && !takes_a_small<void (*)()> && !takes_a_small<long>);

BOOST_AUTO_TEST_CASE(placement_new_takes_what_converts_to_a_pointer) {
  slot place;
  CHECK(static_cast<void*>(new (place) small(1)) == place.room);
}

BOOST_AUTO_TEST_CASE(defect_5_nvwa_nothrow_new_hidden) {
  const std::unique_ptr<small> one(new (std::nothrow) small(1));
  CHECK(small::memory_pool().owns(one.get()));
  CHECK(new (std::nothrow) small(2) == nullptr);
}

BOOST_AUTO_TEST_CASE(defect_5_nvwa_arrays_bypass_the_pool_in_silence) {
  // They do here, too, and are documented to; both ends agree, so an array of one may be as large as an object.
  const std::unique_ptr<of_24_bytes[]> one(new of_24_bytes[1]);
  const std::unique_ptr<small[]> of_small(new small[1]{small(1)});
  static_assert(std::is_trivially_destructible_v<small>, "no room for a count: sizeof(small) bytes are asked for");
  CHECK(!of_24_bytes::memory_pool().owns(one.get()) && !small::memory_pool().owns(of_small.get()));
}

struct counted {
  long content = 0;
  DECLARE_MEMORY_POOL_WITH(counted, tarn::static_array_store<2>, tarn::counting_statistics)
};

BOOST_AUTO_TEST_CASE(defect_12_endurodave_counts_what_an_exhausted_pool_did_not_give) {
  const std::unique_ptr<counted> first(new counted);
  const std::unique_ptr<counted> second(new counted);
  for (int i = 0; i < 3; ++i) CHECK(new (std::nothrow) counted == nullptr);
  CHECK(throws_bad_alloc([] { delete new counted; }));
  const auto counts = counted::memory_pool().statistics();
  CHECK(counts.in_use == 2u && counts.peak == 2u && counts.allocations == 2u);
  CHECK(counted::memory_pool().capacity() == 2u && counts.chunks == 1u && counts.bytes != 0u);
}

}  // namespace
}  // namespace tarn::test
