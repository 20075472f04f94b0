// A user's program that imports tarn. Macros are no part of a module: their header stands beside the import.
#include <cstdio>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"

import tarn;

struct message {
  long number = 0;
  DECLARE_MEMORY_POOL(message)
};

struct order {
  long number;
  double price;
};

struct shared_tag;
using shared = tarn::static_pool<shared_tag, tarn::static_size<64>, tarn::mutex_locking<>>;
void* given_by_other();

int main() {
  tarn::pool<tarn::size_of<order>, tarn::mutex_locking<>, tarn::geometric_growth<64, 4096>, tarn::counting_statistics> orders;
  void* const block = orders.allocate();
  orders.deallocate(block);
  if (orders.allocate() != block || orders.statistics().in_use != 1) return 1;

  const auto one = std::make_unique<message>();
  tarn::map<long, tarn::string> names;
  names[7] = "seven";
  tarn::object_pool<order> objects;
  const auto made = objects.make_unique(order{1, 9.5});
  tarn::pmr::unsynchronized_pool_resource resource;
  std::pmr::vector<int> numbers({1, 2}, &resource);
  tarn::presets::returning<order> returning;
  returning.deallocate(returning.allocate());
  tarn::xfree(tarn::xmalloc(100));
  if (names.size() != 1 || made->number != 1 || numbers.size() != 2) return 2;

  void* const other = given_by_other();  // of the same pool, which both files name
  shared::instance().deallocate(other);
  if (shared::instance().allocate() != other) return 3;
  std::puts("consumed");
}
