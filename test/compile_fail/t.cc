// T: parameters of stores.
#include "tarn/allocator/pool.h"

// case t1_array_of_no_blocks: tarn: [T1] static_array_store<0> was given, but the array needs blocks
RIGHT(tarn::pool<tarn::static_size<64>, tarn::static_array_store<1>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::static_array_store<0>> wrong;)

// case t2_unknown_page_option: tarn: [T2] page_store was given an unknown option, or one option twice
struct large_pages {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::locked_pages, tarn::guard_pages, tarn::huge_pages, tarn::prefilled>>
    right;
#else
tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::guard_pages, large_pages>> wrong;
#endif

// case t3_budget_of_a_type: tarn: [T3] budgeted was given something that isn't a store
RIGHT(tarn::memory_budget budget(1000);
      tarn::pool<tarn::static_size<64>, tarn::budgeted<tarn::heap_store>> right{tarn::budgeted<tarn::heap_store>{budget}};)
WRONG(tarn::pool<tarn::static_size<64>, tarn::budgeted<int>> wrong;)
