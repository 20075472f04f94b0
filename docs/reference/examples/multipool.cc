#include "tarn/allocator/multipool.h"

struct wall {
  int height;
};
struct door {
  bool open;
};

int main() {
  tarn::multipool<wall, door> things;
  wall* const a = things.construct<wall>(3);
  door* const b = things.construct<door>(true);
  const bool right = a->height == 3 && b->open;
  things.destroy(a);
  things.destroy(b);
  return right ? 0 : 1;
}
