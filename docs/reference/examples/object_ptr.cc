#include <utility>

#include "tarn/allocator/object_pool.h"

struct node {
  int value;
  tarn::object_ptr<node> next;
};

int main() {
  tarn::object_pool<node> nodes;
  tarn::object_ptr<node> tail = nodes.make_unique(2, tarn::object_ptr<node>());
  const tarn::object_ptr<node> head = nodes.make_unique(1, std::move(tail));
  return head->next->value == 2 ? 0 : 1;
}
