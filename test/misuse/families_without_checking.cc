#include "tarn/test/misuse/families.h"

namespace tarn::test {

std::vector<family> families_without_checking() { return families_with<no_checking>(policy::none); }

}  // namespace tarn::test
