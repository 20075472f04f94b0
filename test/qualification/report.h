// Cases, checks and the report of the qualification kit, for targets that have no test framework:
//
//   void it_holds() { CHECK(1 + 1 == 2); }
//   constexpr entry cases[] = {{"it_holds", it_holds}};
#ifndef TARN_TEST_QUALIFICATION_REPORT_H_
#define TARN_TEST_QUALIFICATION_REPORT_H_

#include <cstddef>

namespace tarn::test {

struct entry {
  const char* name;
  void (*run)();
};
struct part {
  const char* name;
  const entry* entries;
  std::size_t count;
};
template <std::size_t N>
constexpr part make_part(const char* name, const entry (&entries)[N]) noexcept {
  return {name, entries, N};
}

/// Runs all cases, prints the report, and returns what main() returns.
int run_parts(const part* parts, std::size_t count) noexcept;

/// Fails the case, which goes on. Returns whether it holds.
bool check_that(bool holds, const char* what, const char* file, int line) noexcept;
#define CHECK(...) ::tarn::test::check_that(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

}  // namespace tarn::test

#endif  // TARN_TEST_QUALIFICATION_REPORT_H_
