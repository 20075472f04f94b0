// Which pools share their code with pools of other sizes. A size that is known when the pool is compiled makes only that code
// faster that computes which block an address is; all other code, for each size again, would only be compiled longer and make
// the program larger: twenty sizes at -O0 2.2 MB.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_SHARING_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_SHARING_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/size/traits.h"

namespace tarn::detail {

/// The size of the blocks as shared code sees it: a number in the pool, no constant.
/// \tparam Words  pointers that a block holds, if they are few; 0: many
template <std::size_t Words>
class shared_size {
 public:
  using axis = tarn::axis::size;
  static constexpr size_traits traits{.at_run_time = true};

  TARN_STEP constexpr shared_size(std::size_t bytes, std::size_t alignment) noexcept : bytes_(bytes), alignment_(alignment) {}

  TARN_STEP constexpr std::size_t bytes() const noexcept { return bytes_; }
  TARN_STEP constexpr std::size_t alignment() const noexcept { return alignment_; }

 private:
  std::size_t bytes_;
  std::size_t alignment_;
};

/// Loops over few words are faster if their number is a constant: 5,000 blocks of 16 bytes taken and freed, 1.75 to 1.40 ns a
/// block; of 24 bytes in random order, 1.6 to 1.4 (g++ 12, Zen 5).
template <std::size_t Words>
inline constexpr std::size_t known_words<shared_size<Words>> = Words;
inline constexpr std::size_t few_words = 8;

/// Not where blocks are looked up in calls that happen often, nor where an array or a buffer is sized when it is compiled.
template <class Size, class Locking, class Store, class Reuse, class Exhaustion, class Checking>
inline constexpr bool shares_code = !Size::traits.at_run_time && !Locking::traits.own_free_list && !Store::traits.bounded &&
                                    !Reuse::traits.finds_chunks && !Exhaustion::traits.has_second() &&
                                    !Checking::traits.finds_chunks;

/// The size that the code of a pool is compiled for: Size, or one that many have.
template <class Size, class Locking, class Store, class Reuse, class Exhaustion, class Checking>
constexpr auto choose_size_in_code() noexcept {
  if constexpr (shares_code<Size, Locking, Store, Reuse, Exhaustion, Checking>) {
    constexpr std::size_t words = computed_layout<Size, shape_for<Reuse, Checking>()>().payload() / sizeof(void*);
    return std::type_identity<shared_size<words <= few_words ? words : 0>>{};
  } else {
    return std::type_identity<Size>{};
  }
}
template <class Size, class Locking, class Store, class Reuse, class Exhaustion, class Checking>
using size_in_code = typename decltype(choose_size_in_code<Size, Locking, Store, Reuse, Exhaustion, Checking>())::type;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_SHARING_H_
