// Cases and checks without a test framework: for targets that have none, no exceptions, no RTTI, and perhaps no heap.
//
//   static void it_holds() { CHECK(1 + 1 == 2); }
//   constexpr entry cases[] = {CASE(it_holds)};
//   const part arithmetic_part = make_part("arithmetic", cases);
//
// Tables instead of objects that enrol themselves, so that nothing depends on constructors before main. A function that no
// table names is unused, and a warning.
#ifndef TARN_TEST_PLATFORMS_CORE_CHECK_H_
#define TARN_TEST_PLATFORMS_CORE_CHECK_H_

#include <cstddef>

namespace tarn::test {

/// A case; without a function, one that doesn't exist on this target; without a name, nothing.
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
#define CASE(function) \
  ::tarn::test::entry { #function, function }

/// Runs the cases of all parts whose name contains `filter`, prints those that fail and `N passed, N failed`, and returns what
/// main() returns.
/// \param tell  prints what is to be said of each case; null: how many of each part ran is printed
using teller = void (*)(const part& of, const entry& ran, bool passed);
int run_parts(const part* parts, std::size_t count, const char* filter, teller tell = nullptr) noexcept;

/// Fails the case, which goes on. Any thread may call it. Returns whether it holds.
bool check_that(bool holds, const char* what, const char* file, int line) noexcept;
#define CHECK(...) ::tarn::test::check_that(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

/// Prints text, and a number.
void say(const char* text) noexcept;
void say(unsigned long long number) noexcept;

}  // namespace tarn::test

#endif  // TARN_TEST_PLATFORMS_CORE_CHECK_H_
