// The name of a type, as a constant: how reports name the static pool of a tag.
#ifndef TARN_ALLOCATOR_DETAIL_TYPE_NAME_H_
#define TARN_ALLOCATOR_DETAIL_TYPE_NAME_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace tarn::detail {

/// As the compiler spells it in the name of this function, which is all that it says without run-time type information.
template <class T>
constexpr std::string_view spelled() noexcept {
#if defined(__GNUC__)
  std::string_view all = __PRETTY_FUNCTION__;
  all.remove_prefix(std::min(all.find("T = ") + 4, all.size()));
  return all.substr(0, all.find_first_of(";]"));
#else
  return "";
#endif
}

template <class T>
struct name_of_type {
  static constexpr auto text = [] {
    std::array<char, spelled<T>().size() + 1> copy{};
    std::ranges::copy(spelled<T>(), copy.begin());
    return copy;
  }();
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_TYPE_NAME_H_
