// T: parameters of stores.
#include "tarn/allocator/pool.h"

// expect: tarn: [T1] static_array_store<0>: an array of no blocks
namespace t1_array_of_no_blocks {
#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::static_array_store<1>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::static_array_store<0>> wrong;
#endif
}  // namespace t1_array_of_no_blocks

// expect: tarn: [T2] page_store was given an option that it doesn't know, or one of them twice
namespace t2_page_option_twice {
#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::guard_pages, tarn::huge_pages>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::guard_pages, tarn::huge_pages, tarn::guard_pages>> wrong;
#endif
}  // namespace t2_page_option_twice

// expect: tarn: [T2] page_store was given an option that it doesn't know, or one of them twice
namespace t2_unknown_page_option {
struct large_pages {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::locked_pages, tarn::guard_pages, tarn::huge_pages, tarn::prefilled>>
    right;
#else
tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::guard_pages, large_pages>> wrong;
#endif
}  // namespace t2_unknown_page_option
