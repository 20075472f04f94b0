// How many addresses a process may have: ulimit -v.
#ifndef TARN_POLICIES_PLATFORM_ADDRESS_LIMIT_H_
#define TARN_POLICIES_PLATFORM_ADDRESS_LIMIT_H_

#include <cstddef>

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif

namespace tarn::detail {

/// In bytes; the largest number: there is no limit.
inline std::size_t address_limit() noexcept {
#if defined(RLIMIT_AS)
  ::rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return static_cast<std::size_t>(limit.rlim_cur);
#endif
  return ~std::size_t{0};
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_ADDRESS_LIMIT_H_
