#include "tarn/allocator/presets.h"

struct order {
  long number;
};

int main() {
  tarn::presets::shared<order> orders;        // for several threads
  tarn::presets::embedded<order, 16> few;     // 16 blocks inside of the object
  orders.deallocate(orders.allocate());
  few.deallocate(few.allocate());
  return few.capacity() == 16 ? 0 : 1;
}
