// Text into a buffer, without memory, locks or the C library.
#ifndef TARN_POLICIES_NAME_TEXT_WRITER_H_
#define TARN_POLICIES_NAME_TEXT_WRITER_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/span.h"

namespace tarn::detail {

/// Writes what there is room for, and counts all.
class text_writer {
 public:
  explicit text_writer(span<char> out) noexcept : out_(out) {}

  std::size_t written() const noexcept { return at_; }
  void put(char c) noexcept {
    if (at_ < out_.size()) out_[at_] = c;
    ++at_;
  }
  void put(const char* text) noexcept {
    for (; *text != 0; ++text) put(*text);
  }
  void put_number(std::uintptr_t number, unsigned base = 10) noexcept {
    char digits[3 * sizeof number];
    std::size_t n = 0;
    do digits[n++] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    while (n != 0) put(digits[--n]);
  }
  void put_address(const void* p) noexcept {
    put("0x");
    put_number(address_of(p), 16);
  }
  /// Escapes as `escape(c)` says, which writes a character of ASCII, and replaces what isn't UTF-8: a name may be cut anywhere.
  template <class Escape>
  void put_text(const char* text, Escape escape) noexcept {
    put_text(text, escape, as_it_is{*this});
  }
  /// \param escape_wide  of (character, bytes), writes one that isn't in ASCII
  template <class Escape, class EscapeWide>
  void put_text(const char* text, Escape escape, EscapeWide escape_wide) noexcept {
    while (*text != 0) {
      const std::size_t n = character(text);
      if (n == 0) {
        put("\xEF\xBF\xBD");  // U+FFFD
        ++text;
      } else if (n == 1) {
        escape(*text++);
      } else {
        escape_wide(text, n);
        text += n;
      }
    }
  }

 private:
  struct as_it_is {
    void operator()(const char* wide, std::size_t bytes) const noexcept {
      for (; bytes != 0; --bytes) to.put(*wide++);
    }
    text_writer& to;
  };
  /// Bytes of the character of UTF-8 that the text begins with; 0: of none (RFC 3629, section 4).
  static std::size_t character(const char* text) noexcept {
    const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto follows = [&at](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
    const unsigned char first = at(0);
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
    if (first < 0xE0) return 2;
    const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (at(1) < least || at(1) > most || !follows(2)) return 0;
    return first < 0xF0 ? 3 : follows(3) ? 4 : 0;
  }

  span<char> out_;
  std::size_t at_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_NAME_TEXT_WRITER_H_
