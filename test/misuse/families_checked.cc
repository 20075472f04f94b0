#include "tarn/test/misuse/families.h"

namespace tarn::test {

std::vector<family> families_checked() { return families_with<policy::checked, checked>(); }

}  // namespace tarn::test
