// Checks for test cases that are compiled for every composition. BOOST_TEST takes most of the compiler's time there.
#ifndef TARN_TEST_SUPPORT_CHECK_H_
#define TARN_TEST_SUPPORT_CHECK_H_

#include <cstddef>
#include <new>

namespace tarn::test {

/// Fails the test case, which goes on.
void check_that(bool holds, const char* what, const char* file = __builtin_FILE(), std::size_t line = __builtin_LINE());
/// Fails the test case at once.
void require(bool holds, const char* what, const char* file = __builtin_FILE(), std::size_t line = __builtin_LINE());

#define CHECK(...) ::tarn::test::check_that(static_cast<bool>(__VA_ARGS__), "check " #__VA_ARGS__ " has failed")
#define REQUIRE(...) ::tarn::test::require(static_cast<bool>(__VA_ARGS__), "check " #__VA_ARGS__ " has failed")

/// The last parameter of a function that holds checks, of any kind, and is called in several places:
///     void check_empty(const pool& p, called_from = {});
/// When one of its checks fails, the report names the line of the call, too, and those of the calls around it. Before a
/// parameter pack it stands first, and the caller writes {}.
class called_from {
  struct nothing {  // so that no other argument passes for a call
    explicit nothing() = default;
  };

 public:
  called_from(nothing = nothing(), const char* file = __builtin_FILE(), std::size_t line = __builtin_LINE()) noexcept
      : file_(file), line_(line), outer_(innermost_) {
    innermost_ = this;
  }
  ~called_from() { innermost_ = outer_; }
  called_from(const called_from&) = delete;
  called_from& operator=(const called_from&) = delete;

  /// Reports the calls that this thread is in, the innermost first.
  static void report();
  /// After a signal, whose handler leaves them without their destructors.
  static void forget() noexcept { innermost_ = nullptr; }

 private:
  const char* file_;
  std::size_t line_;
  const called_from* outer_;
  static inline constinit thread_local const called_from* innermost_ = nullptr;
};

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
