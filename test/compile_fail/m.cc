// M: multipools.
#include "tarn/allocator/multipool.h"

// case m1_multipool_base_type: tarn: [M1] multipool<...> was asked for a type that isn't in its list
// expect: add the type, or use the object's own type
// Through a pointer to its base an object can't be given back: the base has no pool.
struct Thing {
  virtual ~Thing() = default;
};
struct Door : Thing {};

tarn::multipool<Door> things;

RIGHT(void right(Door* door) { things.destroy(door); })
WRONG(void wrong(Thing* thing) { things.destroy(thing); })

// case m1_multipool_unknown_type: tarn: [M1] multipool<...> was asked for a type that isn't in its list
struct Wall {};
struct Door {};
struct Key {};

tarn::multipool<Wall, Door> things;

RIGHT(void use() { things.destroy(things.construct<Door>()); })
WRONG(void use() { things.destroy(things.construct<Key>()); })

// case m2_multipool_type_twice: tarn: [M2] multipool<...> lists a type twice, but finds each pool by its type
struct Wall {};
struct Door {};

RIGHT(tarn::multipool<Wall, Door> right; void use() { right.destroy(right.construct<Wall>()); })
WRONG(tarn::multipool<Wall, Door, Wall> wrong; void use() { wrong.destroy(wrong.construct<Wall>()); })
