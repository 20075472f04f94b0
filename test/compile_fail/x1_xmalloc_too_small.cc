// expect: tarn: [X1] TARN_XMALLOC_STATIC_BYTES is under 16384
// The macro stands in the file, because a case has no flags of its own. Angle brackets keep the header out of those that are
// compiled beforehand, where there is no such macro.
#ifdef TARN_TWIN
#define TARN_XMALLOC_STATIC_BYTES 16384
#else
#define TARN_XMALLOC_STATIC_BYTES 1000
#endif
#include <tarn/allocator/xmalloc.h>

void use() { tarn::xfree(tarn::xmalloc(100)); }
