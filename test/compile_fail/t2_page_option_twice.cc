// expect: tarn: [T2] page_store was given an option that it doesn't know, or one of them twice
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::guard_pages, tarn::huge_pages>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::guard_pages, tarn::huge_pages, tarn::guard_pages>> wrong;
#endif
