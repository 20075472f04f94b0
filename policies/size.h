// Axis size: how large a block is, and how it is aligned. Every pool needs one of these policies.
#ifndef TARN_POLICIES_SIZE_H_
#define TARN_POLICIES_SIZE_H_

#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/standard_library.h"

namespace tarn {

/// What a size policy declares about itself.
struct size_traits {
  bool at_run_time = false;    // bytes() and alignment() are known when the pool is created, not when it is compiled
  bool holds_objects = false;  // the blocks hold objects that can be iterated over, so chunks have a bit for each block
};

// decides    blocks of a size and alignment given to the pool's constructor
// costs      nothing in allocate() and deallocate(); a few instructions where a batch is packed or carved. A block of less than
//            16 bytes takes 16, with lifo_reuse<> 8
// conflicts  static_array_store, whose array is sized at compile time
// use when   the size is read from a file, a schema or a plug-in
class dynamic_size {
 public:
  using axis = tarn::axis::size;
  static constexpr size_traits traits{.at_run_time = true};

  /// \param bytes      block size in bytes, at least 1
  /// \param alignment  in bytes, a power of two; natural: the largest that divides `bytes`, up to that of std::max_align_t
  /// Throws: std::invalid_argument if the two aren't valid for a block (a build without exceptions aborts).
  constexpr explicit dynamic_size(std::size_t bytes, std::size_t alignment = natural)
      : bytes_(bytes), alignment_(alignment == natural ? detail::natural_alignment(bytes) : alignment) {
    if (bytes_ == 0) detail::throw_invalid_argument("tarn: dynamic_size: a block of zero bytes; give at least 1");
    if (!detail::is_power_of_two(alignment_))
      detail::throw_invalid_argument("tarn: dynamic_size: an alignment that isn't a power of two");
    if (bytes_ > detail::size_limit || alignment_ > detail::size_limit)
      detail::throw_invalid_argument("tarn: dynamic_size: a block larger than an address space");
  }

  /// Return the constructor's arguments, in bytes.
  constexpr std::size_t bytes() const noexcept { return bytes_; }
  constexpr std::size_t alignment() const noexcept { return alignment_; }

 private:
  std::size_t bytes_;
  std::size_t alignment_;
};

// decides    blocks of Bytes bytes, aligned to Align, both fixed at compile time
// costs      nothing
// conflicts  none
// use when   the size is known at compile time (nearly always); size_of<T> takes it from a type
/// \tparam Bytes  block size in bytes, at least 1
/// \tparam Align  a power of two; natural: the largest that divides Bytes, up to that of std::max_align_t
template <std::size_t Bytes, std::size_t Align = natural>
struct static_size {
  using axis = tarn::axis::size;
  static constexpr size_traits traits{};
  /// Return the size and the alignment of a block in bytes.
  TARN_STEP static constexpr std::size_t bytes() noexcept { return Bytes; }
  TARN_STEP static constexpr std::size_t alignment() noexcept {
    return Align == natural ? detail::natural_alignment(Bytes) : Align;
  }

  /// The same type for all equal layouts, so that they share one instantiation.
  using canonical = static_size<Bytes, alignment()>;
};

// decides    blocks for objects of type T: sizeof(T) bytes, aligned to alignof(T)
// costs      nothing; types of equal size and alignment share one instantiation of the pool
// conflicts  none
// use when   the blocks are for one type
/// \tparam T  an object type that is complete where the pool is used
template <class T>
struct size_of {
  using axis = tarn::axis::size;
  static constexpr size_traits traits{};

  static constexpr bool is_object = std::is_object_v<T> && !std::is_unbounded_array_v<T>;
  static constexpr bool is_complete = !is_object || requires { sizeof(T); };
  static constexpr bool arguments_hold = is_object && is_complete;
  struct complaint {
    static_assert(is_object,
                  "tarn: [S1] size_of<T> was given a reference, a function, void or an array without a bound, which have no "
                  "size; give an object type, or use static_size<Bytes>");
    static_assert(is_complete,
                  "tarn: [S2] size_of<T> was given a type that is only declared here, so its size is unknown; include its "
                  "definition first, or use static_size<Bytes>");
  };

  /// Return the size and the alignment of a T in bytes.
  static constexpr std::size_t bytes() noexcept {
    if constexpr (is_object && is_complete) return sizeof(T);
    else return 1;
  }
  static constexpr std::size_t alignment() noexcept {
    if constexpr (is_object && is_complete) return alignof(T);
    else return 1;
  }
  using canonical = static_size<bytes(), alignment()>;
};

// decides    blocks of many sizes, by class: Smallest, 2, 3 … 8 times Smallest, then four classes per doubling, up to
//            Largest
// costs      a few instructions to find a class; a block is larger than requested by less than Smallest bytes, or by less than
//            a quarter
// conflicts  pool and anything else with one block size; use size_class_pool
// use when   sizes are known only at run time (the default of size_class_pool)
/// \tparam Smallest  bytes in the smallest class, a power of two, at least 16
/// \tparam Largest   bytes in the largest class, a class itself
/// The spacing is that of jemalloc's size classes.
template <std::size_t Smallest = 16, std::size_t Largest = 32768>
struct geometric_classes {
  using axis = tarn::axis::size;
  static constexpr std::size_t largest = Largest;

  /// The smallest class that has room for that many bytes. Precondition: from 1 to `largest`.
  static constexpr std::size_t (index)(std::size_t bytes) noexcept {
    const std::size_t last = bytes - 1;
    if (last < 8 * Smallest) [[likely]]
      return last / Smallest;
    const auto width = static_cast<unsigned>(std::bit_width(last | (4 * Smallest)));
    return (last >> (width - 3)) + 4 * (width - first_width);
  }
  /// Bytes in a block of class `i`.
  static constexpr std::size_t size(std::size_t i) noexcept {
    if (i < 8) return (i + 1) * Smallest;
    return (i % 4 + 5) * Smallest << (i / 4 - 1);
  }

 private:
  static constexpr unsigned first_width = static_cast<unsigned>(std::bit_width(8 * Smallest - 1));
  static constexpr bool in_range = Smallest >= 16 && detail::is_power_of_two(Smallest) && Largest >= Smallest;

 public:
  static constexpr std::size_t count = in_range ? (index)(in_range ? Largest : 1) + 1 : 0;
  static constexpr bool arguments_hold = in_range && size(count - 1) == Largest;
  struct complaint {
    static_assert(
        arguments_hold,
        "tarn: [S3] geometric_classes was given a smallest class that isn't a power of two of at least 16, or a largest that "
        "isn't a class; give 16, 32 ... as the smallest and a power of two as the largest");
  };
};

// decides    blocks of the listed sizes, and no others
// costs      a binary search to find a class
// conflicts  pool and anything else with one block size; use size_class_pool
// use when   a program requests a few known sizes, and memory is scarce
/// \tparam Bytes  the classes in bytes, ascending
template <std::size_t... Bytes>
struct listed_classes {
  using axis = tarn::axis::size;
  static constexpr std::size_t count = sizeof...(Bytes);

 private:
  static constexpr std::size_t classes[count + 1]{Bytes...};  // C++ has no empty arrays
  static constexpr bool ascends() noexcept {
    for (std::size_t i = 1; i < count; ++i)
      if (classes[i - 1] >= classes[i]) return false;
    return true;
  }

 public:
  static constexpr bool arguments_hold = count != 0 && ascends() && ((Bytes != 0 && Bytes <= detail::size_limit) && ...);
  struct complaint {
    static_assert(
        arguments_hold,
        "tarn: [S4] listed_classes was given no sizes, a size of zero, or sizes that don't ascend; write each size once, the "
        "smallest first: listed_classes<24, 40, 96>");
  };
  static constexpr std::size_t largest = arguments_hold ? classes[count - 1] : 0;

  /// The smallest class that has room for that many bytes. Precondition: from 1 to `largest`.
  static constexpr std::size_t (index)(std::size_t bytes) noexcept {
    std::size_t first = 0;
    for (std::size_t n = count; n != 0;) {  // candidates, from `first` on
      const std::size_t half = n / 2;
      if (classes[first + half] < bytes) first += half + 1, n -= half + 1;
      else n = half;
    }
    return first;
  }
  /// Bytes in a block of class `i`.
  static constexpr std::size_t size(std::size_t i) noexcept { return classes[i]; }
};

/// Everything that the pool uses of a size policy, in addition to its traits.
/// `bytes()` and `alignment()` are static constants unless its traits say at_run_time.
template <class P>
concept size_policy = policy_on<P, axis::size> && requires(const P& size) {
  requires std::same_as<decltype(P::traits), const size_traits>;
  { size.bytes() } noexcept -> std::same_as<std::size_t>;
  { size.alignment() } noexcept -> std::same_as<std::size_t>;
};

/// Everything that a size_class_pool uses of its size policy: the sizes of its blocks, which it calls classes.
///   count          how many classes there are, at least 1
///   largest        bytes in a block of the largest class
///   index(bytes)   the smallest class with room for that many bytes, from 1 to `largest`
///   size(index)    bytes in a block of that class
template <class P>
concept size_class_policy = policy_on<P, axis::size> && requires(std::size_t n) {
  { P::count } -> std::convertible_to<std::size_t>;
  { P::largest } -> std::convertible_to<std::size_t>;
  { (P::index)(n) } noexcept -> std::same_as<std::size_t>;
  { P::size(n) } noexcept -> std::same_as<std::size_t>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_H_
