#include "tarn/test/misuse/families.h"

namespace tarn::test {

std::vector<family> families_with_guard_bytes() { return families_with<hardened_with<guard_bytes>>(policy::guarded); }

}  // namespace tarn::test
