// Every part of every tested composition, used or not: the compiler is told to make them all. The first word of a row says
// which parts there are.
#include <string_view>

#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/pool.h"
#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/kinds.h"
#include "tarn/test/support/made.h"

namespace tarn::test {

/// What every pool has.
template <class Pool>
void use(Pool& pool) {
  void* const block = pool.try_allocate();
  if (block != nullptr) pool.deallocate(block);
  typename Pool::reservation held = pool.try_reserve_blocks(2);
  if (held) pool.deallocate(held.allocate());
}

constexpr bool says(std::string_view word, std::string_view part) { return word.find(part) != word.npos; }
template <class Pool>
constexpr bool is_right(std::string_view word) {
  constexpr auto checking = anatomy<Pool>::checking::traits;
  return says(word, "checked") == checking.refuses && says(word, "sampled") == checking.samples;
}

}  // namespace tarn::test

#define ROW(path, ...)                                                     \
  static_assert(test::is_right<pool<__VA_ARGS__>>(#path));                 \
  template void test::use(pool<__VA_ARGS__>&);                             \
  MAKE_members(pool<__VA_ARGS__>)                                          \
  MAKE_##path(pool<__VA_ARGS__>)

namespace tarn {
using namespace test;
#include "tarn/test/support/cover.inc"
}  // namespace tarn
