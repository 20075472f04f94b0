// Objects that count and mark themselves, for tests of object pools.
#ifndef TARN_TEST_ALLOCATOR_COUNTED_OBJECTS_H_
#define TARN_TEST_ALLOCATOR_COUNTED_OBJECTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "tarn/test/support/check.h"

namespace tarn::test {

/// Bytes of them, aligned to Align, that all hold one mark.
template <std::size_t Bytes, std::size_t Align = 1>
struct alignas(Align) item {
  explicit item(unsigned char mark = 1) {
    if (reinterpret_cast<std::uintptr_t>(this) % Align != 0) ++misaligned;
    std::fill(std::begin(bytes), std::end(bytes), mark);
    ++alive;
  }
  item(const item&) = delete;
  item& operator=(const item&) = delete;
  ~item() {
    if (!whole()) ++spoiled;
    --alive;
  }
  bool whole() const { return std::count(std::begin(bytes), std::end(bytes), bytes[0]) == static_cast<std::ptrdiff_t>(Bytes); }

  unsigned char bytes[Bytes];
  static inline long alive = 0;
  static inline long spoiled = 0;
  static inline long misaligned = 0;
};

/// How many more objects the pool has room for. They are destroyed again.
template <class Pool, class... Args>
std::size_t room_of(Pool& pool, called_from = {}, const Args&... args) {
  std::vector<typename Pool::value_type*> all;
  while (auto* const o = pool.try_construct(args...)) {
    all.push_back(o);
    REQUIRE(all.size() < 100'000);  // a pool that comes to no end
  }
  for (auto* const o : all) pool.destroy(o);
  return all.size();
}

}  // namespace tarn::test

#endif  // TARN_TEST_ALLOCATOR_COUNTED_OBJECTS_H_
