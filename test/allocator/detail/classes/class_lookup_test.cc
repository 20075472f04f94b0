// The table of class_lookup says what the classes themselves say, for every size.
#include <boost/test/unit_test.hpp>

#include <cstddef>

#include "tarn/allocator/detail/classes/size_class_body.h"
#include "tarn/policies/size.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

template <class Classes>
void check_lookup(called_from = {}) {
  using lookup = detail::class_lookup<Classes>;
  std::size_t wrong = 0;
  for (std::size_t bytes = 1; bytes <= Classes::largest; ++bytes)
    wrong += lookup::at_once(bytes, 1) != Classes::index(bytes) || lookup::find(bytes, 1) != Classes::index(bytes);
  BOOST_TEST(wrong == 0u);
  for (const std::size_t none : {std::size_t{0}, Classes::largest + 1, detail::size_max})
    BOOST_TEST(lookup::at_once(none, 1) == lookup::none);
  BOOST_TEST(lookup::at_once(1, 2 * lookup::common_alignment) == lookup::none);  // find() decides
}

BOOST_AUTO_TEST_CASE(the_table_says_what_the_classes_say) {
  check_lookup<geometric_classes<>>();
  check_lookup<geometric_classes<16, 65536>>();  // longer than the table
  check_lookup<geometric_classes<64, 10240>>();
  check_lookup<listed_classes<24, 40, 100>>();
  check_lookup<listed_classes<1, 2, 3, 5000>>();
  check_lookup<listed_classes<48, 64, 65, 80>>();
  check_lookup<listed_classes<7>>();
}

}  // namespace
}  // namespace tarn::test
