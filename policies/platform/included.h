// Which headers of the standard library the program has included so far: evaluated at each include, so there is no include
// guard.
#include "tarn/policies/platform/config.h"

// The guards of libstdc++, libc++ and Microsoft's library.
#if defined(_GLIBCXX_MUTEX) || defined(_LIBCPP_MUTEX) || defined(_MUTEX_)
#define TARN_MUTEX_IS_INCLUDED
#endif
#if defined(_GLIBCXX_MEMORY_RESOURCE) || defined(_LIBCPP_MEMORY_RESOURCE) || defined(_MEMORY_RESOURCE_)
#define TARN_MEMORY_RESOURCE_IS_INCLUDED
#endif
