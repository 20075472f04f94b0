#include "tarn/allocator/object_pool.h"

struct unit {
  int health;
};

int main() {
  tarn::object_pool<unit, tarn::hardened_with<tarn::generations>> units;
  const tarn::handle<unit> target = units.handle_to(units.construct(100));
  if (units.get(target)->health != 100) return 1;
  units.destroy(target);
  return units.get(target) == nullptr ? 0 : 1;  // stale, and known to be
}
