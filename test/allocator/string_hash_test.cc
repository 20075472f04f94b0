// A standard library that hashes strings of every allocator (LWG 3705: libstdc++ from 13 on, libc++ too): its hash is that of
// our strings. An older libstdc++ is made such a library here, for one type of characters.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "tarn/allocator/containers.h"
#include "tarn/test/support/check.h"

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < 13
template <class Allocator>
struct std::hash<std::basic_string<char32_t, std::char_traits<char32_t>, Allocator>> {
  std::size_t operator()(const std::basic_string<char32_t, std::char_traits<char32_t>, Allocator>& text) const noexcept {
    return std::hash<std::u32string_view>{}(text);
  }
};
#endif

namespace tarn::test {
namespace {

BOOST_AUTO_TEST_CASE(a_library_that_hashes_strings_of_every_allocator) {
  tarn::unordered_map<tarn::u32string, int> count;
  ++count[U"word"];
  ++count[U"word"];
  CHECK(count.size() == 1 && count.at(U"word") == 2);
  CHECK(std::hash<tarn::u32string>{}(U"word") == std::hash<std::u32string_view>{}(U"word"));
}

}  // namespace
}  // namespace tarn::test
