// expect: tarn: [C5] a policy of this pool has no default value
// The other object that is needed was given.
#include <memory_resource>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::dynamic_size, tarn::resource_store> right{tarn::resource_store{std::pmr::new_delete_resource()},
                                                           tarn::dynamic_size{48}};
#else
tarn::pool<tarn::dynamic_size, tarn::resource_store> wrong{tarn::dynamic_size{48}};
#endif
