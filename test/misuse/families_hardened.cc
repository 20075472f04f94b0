#include "tarn/test/misuse/families.h"

namespace tarn::test {

std::vector<family> families_hardened() { return families_with<policy::hardened, hardened>(); }

}  // namespace tarn::test
