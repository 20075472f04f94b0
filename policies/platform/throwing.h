// Throws what <stdexcept> declares, without including it if possible: it includes <string>.
#ifndef TARN_POLICIES_PLATFORM_THROWING_H_
#define TARN_POLICIES_PLATFORM_THROWING_H_

#include <cstddef>  // says which standard library it is
#include <cstdlib>

#include "tarn/policies/platform/config.h"

#if TARN_EXCEPTIONS
#if defined(__GLIBCXX__)
#include <bits/functexcept.h>  // part of its <array> and <span>, too
#else
#include <stdexcept>
#endif
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

#endif  // TARN_POLICIES_PLATFORM_THROWING_H_
