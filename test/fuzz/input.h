// A fuzz target's input, read from its start; and how a target says that something doesn't hold.
#ifndef TARN_TEST_FUZZ_INPUT_H_
#define TARN_TEST_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace tarn::test {

/// Ends the process, which libFuzzer takes for a find, unless it holds.
inline void must(bool holds, const char* what) {
  if (holds) [[likely]]
    return;
  std::fprintf(stderr, "tarn: %s\n", what);
  std::abort();
}

class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool ended() const { return rest_.empty(); }

  /// 0 at the end, as for the others.
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t b = rest_.front();
    rest_ = rest_.subspan(1);
    return b;
  }
  /// A number under n, of one byte, or two where n is more than 256.
  std::size_t below(std::size_t n) {
    if (n <= 1) return 0;
    std::size_t number = byte();
    if (n > 256) number = number << 8 | byte();
    return number % n;
  }
  /// A power of two, of 1 to 2^(n-1).
  std::size_t power_of_two(std::size_t n) { return std::size_t{1} << below(n); }
  /// 0 to most, small ones as often as large ones; of two bytes.
  std::size_t size_up_to(std::size_t most) {
    const std::size_t bits = below(24);
    return below(most < (std::size_t{1} << bits) ? most + 1 : std::size_t{1} << bits);
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_FUZZ_INPUT_H_
