// A line of the program that asks for a block, for reports.
#ifndef TARN_POLICIES_CHECKING_CALL_SITE_H_
#define TARN_POLICIES_CHECKING_CALL_SITE_H_

#include "tarn/policies/platform/config.h"

namespace tarn {

/// Like std::source_location, which clang 14 lacks, and which converts to it.
struct call_site {
  const char* file = nullptr;  // a string literal, or text that lives as long
  unsigned line = 0;           // of that file

  /// No line; a line of a file; that of a std::source_location, or whatever has its members.
  constexpr call_site() noexcept = default;
  constexpr call_site(const char* of_file, unsigned of_line) noexcept : file(of_file), line(of_line) {}
  template <class Location>
    requires requires(const Location& where) {
      where.file_name();
      where.line();
    }
  constexpr call_site(const Location& where) noexcept : file(where.file_name()), line(static_cast<unsigned>(where.line())) {}

  /// Returns the line that calls this; as a default argument, the line that calls the function.
  static constexpr call_site current(const char* file = TARN_CALLER_FILE, unsigned line = TARN_CALLER_LINE) noexcept {
    return {file, line};
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_CALL_SITE_H_
