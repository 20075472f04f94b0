// Makes every part of a pool's machinery, used or not, for rows of cover.inc: MAKE_<path>(pool), with the row's first word.
#ifndef TARN_TEST_SUPPORT_MADE_H_
#define TARN_TEST_SUPPORT_MADE_H_

#include "tarn/allocator/pool.h"
#include "tarn/test/support/anatomy.h"

namespace tarn::test {

template <class Pool>
using state_of = detail::pool_state<machinery_of<Pool>>;

}  // namespace tarn::test

// clang 14 makes members, too, whose `requires` is false (mended in a later one). There the class itself must do, and what
// other tests use of it.
#if defined(__clang__) && __clang_major__ < 16
#define MAKE(key, state, ...) static_assert(sizeof(state<__VA_ARGS__>) != 0);
#else
#define MAKE(key, state, ...) template key state<__VA_ARGS__>;
#endif
#define MAKE_members(...) MAKE(class, detail::pool_members, test::machinery_of<__VA_ARGS__>)
#define MAKE_plain(...) MAKE(struct, detail::plain_path, test::state_of<__VA_ARGS__>)
#define MAKE_checked(...)                                      \
  MAKE(struct, detail::admission, test::state_of<__VA_ARGS__>) \
  MAKE(struct, detail::checked_path, test::state_of<__VA_ARGS__>)
#define MAKE_sampled(...) MAKE_plain(__VA_ARGS__) MAKE(struct, detail::sampled_path, test::state_of<__VA_ARGS__>)
#define MAKE_checked_sampled(...) MAKE_checked(__VA_ARGS__) MAKE(struct, detail::sampled_path, test::state_of<__VA_ARGS__>)

#endif  // TARN_TEST_SUPPORT_MADE_H_
