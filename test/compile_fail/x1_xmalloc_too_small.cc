// expect: tarn: [X1] TARN_XMALLOC_STATIC_BYTES is under 16384
// The macro must stand before the header, and only for this case: it has a file of its own.
#ifdef TARN_TWIN
#define TARN_XMALLOC_STATIC_BYTES 16384
#else
#define TARN_XMALLOC_STATIC_BYTES 1000
#endif
#include "tarn/allocator/xmalloc.h"

void use() { tarn::xfree(tarn::xmalloc(100)); }
