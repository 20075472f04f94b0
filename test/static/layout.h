// The sizes of some pools, as seen by translation units that were compiled with different flags.
#ifndef TARN_TEST_STATIC_LAYOUT_H_
#define TARN_TEST_STATIC_LAYOUT_H_

#include <cstddef>
#include <span>

namespace tarn_test {

struct size_and_alignment {
  const char* name;
  std::size_t bytes;
  std::size_t alignment;
};

std::span<const size_and_alignment> with_assert();
std::span<const size_and_alignment> without_assert();
std::span<const size_and_alignment> without_exceptions();
std::span<const size_and_alignment> without_rtti();

}  // namespace tarn_test

#endif  // TARN_TEST_STATIC_LAYOUT_H_
