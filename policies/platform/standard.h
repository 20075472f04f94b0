// Ends a compilation for an older standard with one sentence instead of hundreds of errors. Each header that would include no
// other of tarn's includes this one; so the others reach it before anything that needs C++20.
#ifndef TARN_POLICIES_PLATFORM_STANDARD_H_
#define TARN_POLICIES_PLATFORM_STANDARD_H_

#if defined(new)
#error "tarn: [B2] new is a macro here, as debug heaps define it; include tarn's headers before #define new"
#include "see_the_error_above"
#endif

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "tarn: [B1] this file is compiled for an older standard than C++20; add -std=c++20 to the compiler's flags"
#include "see_the_error_above"  // no such file: g++ and clang go on after an #error, but not after this
#endif

#endif  // TARN_POLICIES_PLATFORM_STANDARD_H_
