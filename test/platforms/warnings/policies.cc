// Every part of every tested composition, used or not: test/allocator/instantiate_all_test.cc without a test.
#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/pool.h"
#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/kinds.h"

namespace tarn::test {

template <class Pool>
using state_of = detail::pool_state<machinery_of<Pool>>;

/// What every pool has.
template <class Pool>
void use(Pool& pool) {
  void* const block = pool.try_allocate();
  if (block != nullptr) pool.deallocate(block);
  typename Pool::reservation held = pool.try_reserve_blocks(2);
  if (held) pool.deallocate(held.allocate());
}

}  // namespace tarn::test

// Older versions make members, too, whose `requires` is false.
#if defined(__clang__) && __clang_major__ < 16
#define MAKE(key, state, ...) static_assert(sizeof(state<__VA_ARGS__>) != 0);
#else
#define MAKE(key, state, ...) template key state<__VA_ARGS__>;
#endif
#define MAKE_plain(...) MAKE(struct, detail::plain_path, test::state_of<__VA_ARGS__>)
#define MAKE_checked(...)                                      \
  MAKE(struct, detail::admission, test::state_of<__VA_ARGS__>) \
  MAKE(struct, detail::checked_path, test::state_of<__VA_ARGS__>)
#define MAKE_sampled(...) MAKE_plain(__VA_ARGS__) MAKE(struct, detail::sampled_path, test::state_of<__VA_ARGS__>)
#define MAKE_checked_sampled(...) MAKE_checked(__VA_ARGS__) MAKE(struct, detail::sampled_path, test::state_of<__VA_ARGS__>)

#define ROW(path, ...)                                                     \
  template void test::use(pool<__VA_ARGS__>&);                             \
  MAKE(class, detail::pool_members, test::machinery_of<pool<__VA_ARGS__>>) \
  MAKE_##path(pool<__VA_ARGS__>)

namespace tarn {
using namespace test;
#include "tarn/test/support/cover.inc"
}  // namespace tarn
