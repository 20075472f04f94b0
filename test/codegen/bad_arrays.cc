// The controls of check_arrays.py: an object with a value of the user's, and a static pool of which its array has one.
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"

namespace tarn::test {

template <class Pool>
constinit Pool object{run_time_name("found by this pointer")};
void* use() { return &object<pool<static_size<64>, static_array_store<4000>, run_time_name>>; }

struct full_array {
  char bytes[256'000] = {1};
};
struct tag;
void* use_static() { return &detail::static_array<detail::static_body<tag, void>, full_array>::its; }

}  // namespace tarn::test
