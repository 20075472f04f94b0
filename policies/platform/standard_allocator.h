// std::allocator without the rest of <memory>, if the standard library has a separate header for it; and what allocators must
// know about its containers.
#ifndef TARN_POLICIES_PLATFORM_STANDARD_ALLOCATOR_H_
#define TARN_POLICIES_PLATFORM_STANDARD_ALLOCATOR_H_

#include <version>

#include "tarn/policies/platform/config.h"

#if defined(__GLIBCXX__) && !defined(__cpp_lib_allocate_at_least)
#include <bits/allocator.h>  // 300 lines; <memory> has 20,000
#else
#include <memory>
#endif

namespace tarn::detail {

/// A container has a list of its iterators: in libstdc++'s debug mode, and in MSVC's debug builds.
#if defined(_GLIBCXX_DEBUG) || (defined(_MSC_VER) && defined(_DEBUG))
inline constexpr bool containers_know_iterators = true;
#else
inline constexpr bool containers_know_iterators = false;
#endif

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_STANDARD_ALLOCATOR_H_
