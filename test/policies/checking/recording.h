// What pools report while a test looks.
#ifndef TARN_TEST_POLICIES_CHECKING_RECORDING_H_
#define TARN_TEST_POLICIES_CHECKING_RECORDING_H_

#include <vector>

#include "tarn/policies/checking/misuse.h"

namespace tarn::test {

inline std::vector<misuse> told;

struct recording {
  recording() {
    told.clear();
    set_misuse_handler([](const misuse& what) noexcept { told.push_back(what); });
  }
  ~recording() { set_misuse_handler(nullptr); }
};

}  // namespace tarn::test

#endif  // TARN_TEST_POLICIES_CHECKING_RECORDING_H_
