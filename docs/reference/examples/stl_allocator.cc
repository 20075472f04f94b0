#include <list>

#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"

int main() {
  const std::list<int, tarn::stl_allocator<int>> shared = {1, 2, 3};  // over pools of the process

  tarn::size_class_pool<> blocks;
  const std::list<int, tarn::stl_allocator<int, tarn::size_class_pool<>>> own({1, 2}, blocks);
  return shared.size() + own.size() == 5 ? 0 : 1;
}
