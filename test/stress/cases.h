// One test case for each contender.
#ifndef TARN_TEST_STRESS_CASES_H_
#define TARN_TEST_STRESS_CASES_H_

#include <boost/test/unit_test.hpp>

#include <string>

#include "tarn/test/stress/contenders.h"
#include "tarn/test/stress/workload.h"
#include "tarn/test/support/check.h"

namespace tarn::test {

/// Adds the cases `<name>_<contender>`, for the contenders that `fits`. A static of this type stands in a test's file.
class case_for_each {
 public:
  explicit case_for_each(const char* name, void (*body)(const contender&), bool (*fits)(const contender&) = nullptr) {
    for (const contender& c : contenders()) {
      if (fits != nullptr && !fits(c)) continue;
      const std::string full = std::string(name) + "_" + c.name;
      boost::unit_test::framework::master_test_suite().add(boost::unit_test::make_test_case(
          [&c, body, full] {
            const deadline limit(full);
            body(c);
          },
          full, __FILE__, __LINE__));
    }
  }
};

/// What each workload asks of every pool: no block had two owners, and no byte of one was changed by another thread.
inline void check_integrity(const tally& counts, called_from = {}) {
  CHECK(counts.twice.load() == 0);
  CHECK(counts.spoiled.load() == 0);
  CHECK(counts.refused.load() == 0);
  CHECK(books.overlaps.load() == 0);
}

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_CASES_H_
