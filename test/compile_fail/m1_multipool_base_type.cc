// expect: tarn: [M1] multipool<...> was asked for a type that it has no pool for
// expect: name the type that the object has in it
// Through a pointer to its base an object can't be given back: the base has no pool.
#include "tarn/allocator/multipool.h"

struct Thing {
  virtual ~Thing() = default;
};
struct Door : Thing {};

tarn::multipool<Door> things;

#ifdef TARN_TWIN
void right(Door* door) { things.destroy(door); }
#else
void wrong(Thing* thing) { things.destroy(thing); }
#endif
