// Checks for test cases that are compiled for every composition. BOOST_TEST takes most of the compiler's time there.
#ifndef TARN_TEST_SUPPORT_CHECK_H_
#define TARN_TEST_SUPPORT_CHECK_H_

#include <boost/test/unit_test.hpp>

#include <new>
#include <string>

namespace tarn::test {

/// Fails the test case at once.
[[gnu::noinline]] inline void require(bool holds, const char* what) {
  if (!holds) BOOST_FAIL(what);
}

[[gnu::noinline]] inline void check_at(bool holds, const char* what, int line) {
  if (!holds) BOOST_ERROR("line " + std::to_string(line) + ": " + what);
}

#define CHECK(...) ::tarn::test::check_at(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __LINE__)
#define REQUIRE(...) ::tarn::test::require(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)

template <class Call>
bool throws_bad_alloc(Call call) {
  try {
    call();
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_CHECK_H_
