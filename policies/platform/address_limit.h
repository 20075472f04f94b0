// How many addresses a process may have: ulimit -v, or -d, in which Linux counts what may be written.
#ifndef TARN_POLICIES_PLATFORM_ADDRESS_LIMIT_H_
#define TARN_POLICIES_PLATFORM_ADDRESS_LIMIT_H_

#include <cstddef>
#include <initializer_list>

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif

namespace tarn::detail {

/// In bytes; the largest number: there is no limit.
inline std::size_t address_limit() noexcept {
#if defined(RLIMIT_AS)
  std::size_t least = ~std::size_t{0};
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    ::rlimit limit;
    if (::getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < least)
      least = static_cast<std::size_t>(limit.rlim_cur);
  }
  return least;
#else
  return ~std::size_t{0};
#endif
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_ADDRESS_LIMIT_H_
