// Every part of every tested composition, used or not: test/allocator/instantiate_all_test.cc without a test.
#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/pool.h"
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

}  // namespace tarn::test

#define ROW(path, ...)                                                     \
  template void test::use(pool<__VA_ARGS__>&);                             \
  MAKE_members(pool<__VA_ARGS__>)                                          \
  MAKE_##path(pool<__VA_ARGS__>)

namespace tarn {
using namespace test;
#include "tarn/test/support/cover.inc"
}  // namespace tarn
