#include "tarn/allocator/shared_pool.h"
#include "tarn/allocator/static_pool.h"

struct orders_tag;
using orders = tarn::static_pool<orders_tag, tarn::static_size<64>, tarn::shared_locking>;
TARN_DECLARE_SHARED_POOL(orders);  // in a header that all libraries include
TARN_DEFINE_SHARED_POOL(orders);   // in one source file of one of them

int main() { orders::instance().deallocate(orders::instance().allocate()); }
