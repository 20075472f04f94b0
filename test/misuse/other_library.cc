// The library that bad_input_test loads. It is compiled with hidden visibility, so that its copy of the pool is its own.
#include "tarn/test/misuse/one_header.h"

using tarn::test::pool_of_header;

extern "C" {
[[gnu::visibility("default")]] void* other_library_pool() { return &pool_of_header::instance(); }
[[gnu::visibility("default")]] void* other_library_take() { return pool_of_header::instance().allocate(); }
[[gnu::visibility("default")]] void other_library_give(void* block) { pool_of_header::instance().deallocate(block); }
}
