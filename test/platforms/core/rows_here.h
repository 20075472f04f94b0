// A sixth of the compositions of this target, as the cases of a part: TARN_SHARE, a number below 6. All of them in one file
// would take 1.6 GB of memory to compile; and objects for Windows may have 10 MB of names, of which a quarter had more.
// TARN_TEST_SHARES has a bit for each share that is tested.
#ifndef TARN_TEST_PLATFORMS_CORE_ROWS_HERE_H_
#define TARN_TEST_PLATFORMS_CORE_ROWS_HERE_H_

#include "tarn/test/platforms/core/parts.h"

#if (TARN_TEST_SHARES >> TARN_SHARE) % 2
#include "tarn/test/platforms/core/tried.h"
#endif

namespace tarn::test {
namespace {

#if (TARN_TEST_SHARES >> TARN_SHARE) % 2
template <class Pool>
void try_row() {
  with_pool(try_all, std::type_identity<Pool>{});
  CHECK(kinds_budget.used() == 0);
  CHECK(provided().upstream.outstanding == 0);
}

/// Without a name, what another share has; without a function, what doesn't exist here. Its pool is never instantiated.
template <int Number, class... Ps>
constexpr entry row(const char* name) noexcept {
  using pool_type = pool_here<Ps...>;
  if constexpr (Number % 6 != TARN_SHARE) return {nullptr, nullptr};
  else if constexpr (legal<pool_type>) return {name, try_row<pool_type>};
  else return {name, nullptr};
}

#define ROW(path, ...) row<__COUNTER__, __VA_ARGS__>(#__VA_ARGS__),
constexpr entry rows[] = {
#include "tarn/test/support/cover.inc"
};
#undef ROW
#else
constexpr entry rows[] = {{nullptr, nullptr}};
#endif

}  // namespace
}  // namespace tarn::test

#endif  // TARN_TEST_PLATFORMS_CORE_ROWS_HERE_H_
