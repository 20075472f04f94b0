// Whether the standard library has std::mutex and std::thread: not on bare metal, nor in g++'s for Windows with win32 threads.
#ifndef TARN_POLICIES_PLATFORM_STANDARD_THREADS_H_
#define TARN_POLICIES_PLATFORM_STANDARD_THREADS_H_

#include <cstddef>  // says which standard library it is

#include "tarn/policies/platform/config.h"

#if defined(__GLIBCXX__)
#if defined(_GLIBCXX_HAS_GTHREADS)
#define TARN_STANDARD_THREADS 1
#endif
#elif defined(_LIBCPP_VERSION)
#if !defined(_LIBCPP_HAS_NO_THREADS) && (!defined(_LIBCPP_HAS_THREADS) || _LIBCPP_HAS_THREADS)
#define TARN_STANDARD_THREADS 1
#endif
#else
#define TARN_STANDARD_THREADS 1
#endif

#endif  // TARN_POLICIES_PLATFORM_STANDARD_THREADS_H_
