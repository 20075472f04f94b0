// What differs between standard libraries, and costs no header of theirs.
#ifndef TARN_POLICIES_PLATFORM_STANDARD_LIBRARY_H_
#define TARN_POLICIES_PLATFORM_STANDARD_LIBRARY_H_

#include <cstddef>  // says which one it is
#include <cstdlib>

#include "tarn/policies/platform/config.h"

#if TARN_EXCEPTIONS
#if defined(__GLIBCXX__)
#include <bits/functexcept.h>  // part of its <array> and <span>, too; <stdexcept> includes <string>
#else
#include <stdexcept>
#endif
#endif

// TARN_STANDARD_THREADS: it has std::mutex and std::thread. Not on bare metal, nor in g++'s for Windows with win32 threads.
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

namespace tarn::detail {

/// Throws: std::invalid_argument. A build without exceptions aborts.
[[noreturn]] TARN_COLD inline void throw_invalid_argument([[maybe_unused]] const char* why) {
#if !TARN_EXCEPTIONS
  std::abort();
#elif defined(__GLIBCXX__)
  std::__throw_invalid_argument(why);
#else
  throw std::invalid_argument(why);
#endif
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_STANDARD_LIBRARY_H_
