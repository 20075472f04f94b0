// expect: tarn: [C3] an argument of pool<...> is no policy
// The second argument was meant as the type of the elements' keys, or as another allocator.
#include <memory>
#include <vector>

#include "tarn/allocator/stl_allocator.h"

#ifdef TARN_TWIN
std::vector<int, tarn::stl_allocator<int>> right(3);
#else
std::vector<int, tarn::stl_allocator<int, std::allocator<int>>> wrong(3);
#endif
