// The library that bad_input_test loads. It is compiled with hidden visibility, so that its copy of the pool is its own.
#include "tarn/test/misuse/one_header.h"

extern "C" {
[[gnu::visibility("default")]] void* other_library_pool() { return &tarn::test::pool_of_header::instance(); }
[[gnu::visibility("default")]] void* other_library_take() { return tarn::test::pool_of_header::instance().allocate(); }
[[gnu::visibility("default")]] void other_library_give(void* block) { tarn::test::pool_of_header::instance().deallocate(block); }
}
