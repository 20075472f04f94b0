#include <string>

#include "tarn/allocator/object_pool.h"

struct order {
  long number;
  std::string symbol;
};

int main() {
  tarn::object_pool<order> orders;
  order* const first = orders.construct(1L, "A");
  const auto second = orders.make_unique(2L, "B");  // destroys its order when it ends
  long sum = 0;
  orders.for_each([&](order& each) { sum += each.number; });
  orders.destroy(first);
  return sum == 3 ? 0 : 1;
}
