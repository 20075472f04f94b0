// Static pools, used before and after main() by others: nothing of them may happen at run time.
#include <mutex>

#include "tarn/allocator/static_pool.h"

namespace {
struct audio;
using block = tarn::static_size<64>;
}  // namespace

using zeroed = tarn::static_pool<struct zeroed_tag, block, tarn::static_array_store<1000>>;
using small_heap = tarn::static_pool<struct small_heap_tag, block, tarn::lifo_reuse<>>;
using small_blocks = tarn::static_pool<struct small_blocks_tag, tarn::static_size<8>, tarn::page_store<>>;

void* use() {
  using standard = tarn::static_pool<struct standard_tag, block>;
  using locked = tarn::static_pool<struct locked_tag, block, tarn::mutex_locking<>>;
  using grouped = tarn::static_pool<struct grouped_tag, block, tarn::grouped_locking<audio, std::mutex>>;
  standard::instance().deallocate(standard::instance().allocate());
  locked::instance().deallocate(locked::instance().allocate());
  grouped::instance().deallocate(grouped::instance().allocate());
  small_heap::instance().deallocate(small_heap::instance().allocate());
  small_blocks::instance().deallocate(small_blocks::instance().allocate());
  return zeroed::instance().allocate();
}
