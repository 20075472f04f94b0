// expect: tarn: [M1] multipool<...> was asked for a type that it has no pool for
#include "tarn/allocator/multipool.h"

struct Wall {};
struct Door {
  int colour;
};
struct Key {
  int number;
};

tarn::multipool<Wall, Door> things;

#ifdef TARN_TWIN
void right() {
  Door* const door = things.construct<Door>(3);
  things.destroy(door);
}
#else
void wrong() {
  Key* const key = things.construct<Key>(3);
  things.destroy(key);
}
#endif
