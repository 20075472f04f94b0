// expect: tarn: [M2] multipool<...> names a type twice
#include "tarn/allocator/multipool.h"

struct Wall {};
struct Door {};

#ifdef TARN_TWIN
tarn::multipool<Wall, Door> right;
void use() { right.destroy(right.construct<Wall>()); }
#else
tarn::multipool<Wall, Door, Wall> wrong;
void use() { wrong.destroy(wrong.construct<Wall>()); }
#endif
