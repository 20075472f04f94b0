#include "tarn/test/misuse/families.h"

namespace tarn::test {

std::vector<family> families_without_checking() { return families_with<policy::none, no_checking>(); }

}  // namespace tarn::test
