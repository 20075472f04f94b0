// X: parameters of exhaustion policies.
#include <cstddef>

#include "tarn/allocator/pool.h"

// case x2_handler_without_bytes
// expect: tarn: [X2] retry_with was given a handler that can't be copied, or that doesn't return bool when it is called with a
RIGHT(tarn::pool<tarn::static_size<64>, tarn::retry_with<bool (*)(std::size_t)>> right{
          tarn::retry_with<bool (*)(std::size_t)>(nullptr)};)
WRONG(tarn::pool<tarn::static_size<64>, tarn::retry_with<bool (*)()>> wrong{tarn::retry_with<bool (*)()>(nullptr)};)

// case x3_fall_back_to_a_mutex: tarn: [X3] fall_back_to was given something that isn't a store, or isn't a growth policy
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<tarn::heap_store>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<tarn::no_locking>> wrong;)
