#include "tarn/test/misuse/families.h"

namespace tarn::test {

std::vector<family> families_with_guard_bytes() { return families_with<policy::guarded, hardened_with<guard_bytes>>(); }

}  // namespace tarn::test
