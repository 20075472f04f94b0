// std::allocator without the rest of <memory>, if the standard library has a separate header for it.
#ifndef TARN_POLICIES_PLATFORM_STANDARD_ALLOCATOR_H_
#define TARN_POLICIES_PLATFORM_STANDARD_ALLOCATOR_H_

#include <version>

#include "tarn/policies/platform/config.h"

#if defined(__GLIBCXX__) && !defined(__cpp_lib_allocate_at_least)
#include <bits/allocator.h>  // 300 lines; <memory> has 20,000
#else
#include <memory>
#endif

#endif  // TARN_POLICIES_PLATFORM_STANDARD_ALLOCATOR_H_
