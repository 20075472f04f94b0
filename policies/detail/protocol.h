// The small types that the pool and the policies exchange; arithmetic of sizes and alignments; tarn::span.
#ifndef TARN_POLICIES_DETAIL_PROTOCOL_H_
#define TARN_POLICIES_DETAIL_PROTOCOL_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// The result of freeing a block. A policy that never refuses returns the constant `done`, so that the test for it is optimised
/// away.
enum class status : unsigned char {
  done,
  crowded,      // done, but the slow path must make room before the next push
  surplus,      // done, and more chunks are empty than the retention policy keeps
  full,         // not done: the fast path can't take it, the slow path must
  uncounted,    // the same, and the block isn't counted as free yet
  refused,      // not done: a checking policy found misuse
  damaged,      // done, but a checking policy found misuse on the way
};

/// A region of bytes as a store gave it; null if it refused.
struct memory {
  void* start = nullptr;
  std::size_t bytes = 0;
  TARN_STEP explicit constexpr operator bool() const noexcept { return start != nullptr; }
};

inline bool overlap(memory a, memory b) noexcept {
  const auto* const at = static_cast<const char*>(a.start);
  const auto* const other = static_cast<const char*>(b.start);
  return other < at + a.bytes && at < other + b.bytes;
}

/// What a growth policy requests next, in blocks. `wanted` 0: it refuses. `at_most` limits the blocks that the pool carves from
/// a region larger than requested. If the store refuses `wanted`, the pool requests half of it, and so on down to `at_least`.
struct chunk_request {
  std::size_t wanted = 0;
  std::size_t at_most = 0;
  std::size_t at_least = static_cast<std::size_t>(-1);
};

/// A free block that holds the address of the next one.
struct free_link {
  free_link* next;
};

/// Calls visit(block) for each of the first `n` blocks.
void each_of(void* const* blocks, std::size_t n, auto& visit) {
  for (std::size_t i = 0; i != n; ++i) visit(blocks[i]);
}

/// The index of the first null among `n` blocks, or `n`. Four at a time: 0.18 instead of 0.31 ns a block (AMD EPYC).
inline std::size_t first_null(void* const* blocks, std::size_t n) noexcept {
  std::size_t i = 0;
  while (n - i >= 4 && blocks[i] != nullptr && blocks[i + 1] != nullptr && blocks[i + 2] != nullptr &&
         blocks[i + 3] != nullptr) {
    TARN_ROUND(search_for_null, 4);
    i += 4;
  }
  while (i != n && blocks[i] != nullptr) {
    TARN_AT_MOST(3);
    ++i;
  }
  return i;
}
/// Moves the blocks among `n` to the front of the array. Returns how many.
inline std::size_t without_nulls(void** blocks, std::size_t n) noexcept {
  std::size_t kept = first_null(blocks, n);
  for (std::size_t i = kept; i != n; ++i)
    if (blocks[i] != nullptr) blocks[kept++] = blocks[i];
  return kept;
}

/// What a locking policy does if a thread requests a growth guard that it already holds, because the store called code that
/// uses the pool.
enum class growth_again {
  waits,  // for ever, or it isn't declared: the pool notes which thread is at its store
  nests,  // the guard can be held twice, as only one thread, or one core, uses the pool
  told,   // grows_here() returns beforehand whether the calling thread holds it
};
template <class Guards>
inline constexpr growth_again again_of = growth_again::waits;
template <class Guards>
  requires requires { Guards::again; }
inline constexpr growth_again again_of<Guards> = Guards::again;

/// A guard that guards nothing.
struct no_guard {
  TARN_STEP ~no_guard() {}  // not trivial, so that a guard that is never named causes no warning
};

/// Whether all bytes of a new pool are zero: it contains its blocks and has a destructor. A static one then takes no space in
/// the program's file. One without a destructor has its blocks outside the pool object, unless it is all zero anyway.
template <class Traits>
inline constexpr bool starts_zero = false;
template <class Traits>
  requires(Traits::holds_array && !Traits::is_static)
inline constexpr bool starts_zero<Traits> = true;

/// Whether the arrays of a pool's stores are outside the pool object.
template <class Traits>
inline constexpr bool arrays_lie_beside = false;
template <class Traits>
  requires(Traits::arrays_lie_beside)
inline constexpr bool arrays_lie_beside<Traits> = true;

// ---- arithmetic that can't overflow unnoticed ------------------------------------------------------------------------------

inline constexpr std::size_t size_max = static_cast<std::size_t>(-1);

/// Sizes and alignments above this can't exist in an address space. With those up to it, no sum overflows.
inline constexpr std::size_t size_limit = size_max / 8;

// Those of <algorithm> would cost every file with a pool 20,000 lines, and debug builds a function call each.
TARN_STEP constexpr std::size_t smaller(std::size_t a, std::size_t b) noexcept { return b < a ? b : a; }
TARN_STEP constexpr std::size_t larger(std::size_t a, std::size_t b) noexcept { return a < b ? b : a; }
/// `n`, or the bound that it exceeds. Precondition: low <= high.
TARN_STEP constexpr std::size_t clamped(std::size_t n, std::size_t low, std::size_t high) noexcept {
  return smaller(larger(n, low), high);
}

TARN_STEP constexpr bool is_power_of_two(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

/// `n` rounded up to a multiple of `power`, a power of two. Precondition: both at most size_limit.
TARN_STEP constexpr std::size_t round_up(std::size_t n, std::size_t power) noexcept { return (n + power - 1) & ~(power - 1); }

/// The largest power of two that divides `n`; 1 for 0.
TARN_STEP constexpr std::size_t lowest_bit(std::size_t n) noexcept { return n == 0 ? 1 : n & (~n + 1); }

/// The alignment that an object of that many bytes can need: a power of two, at most that of std::max_align_t.
constexpr std::size_t natural_alignment(std::size_t bytes) noexcept {
  return smaller(lowest_bit(bytes), alignof(std::max_align_t));
}

/// a * b, or size_max if the product doesn't fit.
TARN_STEP constexpr std::size_t multiply(std::size_t a, std::size_t b) noexcept {
  return b != 0 && a > size_max / b ? size_max : a * b;
}

/// Whether n * unit > limit. Most factors are small enough to need no division.
TARN_STEP constexpr bool exceeds(std::size_t n, std::size_t unit, std::size_t limit) noexcept {
  constexpr std::size_t half = std::size_t{1} << (sizeof(std::size_t) * 4);
  return ((n | unit) >= half || n * unit > limit) && n > limit / unit;
}

/// a + b, or size_max if the sum doesn't fit.
TARN_STEP constexpr std::size_t add(std::size_t a, std::size_t b) noexcept { return a > size_max - b ? size_max : a + b; }

/// What undoes a multiplication by an odd number.
constexpr std::size_t inverse_of(std::size_t odd) noexcept {
  std::size_t found = odd;  // three bits of it are correct
  for (std::size_t bits = 3; bits < 8 * sizeof odd; bits *= 2) found *= 2 - odd * found;
  return found;
}
/// n / Divisor or, if that leaves a remainder, a number larger than any quotient. Without a division.
template <std::size_t Divisor>
TARN_STEP constexpr std::size_t exact_quotient(std::size_t n) noexcept {
  constexpr auto zeros = std::countr_zero(Divisor);
  constexpr std::size_t inverse = detail::inverse_of(Divisor >> zeros);
  return std::rotr(n * inverse, zeros);
}
/// The same, for many divisions by a number that is known only at run time, and not 0.
class exact_divisor {
 public:
  constexpr explicit exact_divisor(std::size_t number) noexcept
      : zeros_(std::countr_zero(number)), inverse_(detail::inverse_of(number >> zeros_)) {}
  constexpr std::size_t quotient(std::size_t n) const noexcept { return std::rotr(n * inverse_, zeros_); }

 private:
  int zeros_;
  std::size_t inverse_;
};

/// a / b. Slow; for reports on processors that can't divide.
constexpr std::size_t quotient(std::size_t a, std::size_t b) noexcept {
  if constexpr (platform::has_division) return a / b;
  std::size_t n = 0;
  for (; a >= b; a -= b) ++n;
  return n;
}

TARN_STEP std::uintptr_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

// std::exchange and std::swap for trivially copied types. <utility> would be a tenth of what pool.h includes, and instantiates
// two traits for each type.

/// Puts a value in a place. Returns what was there.
template <class T>
TARN_STEP constexpr T replace(T& place, std::type_identity_t<T> value) noexcept {
  const T old = place;
  place = value;
  return old;
}

/// Swaps the values of two places. The places are evaluated once.
template <class T>
TARN_STEP constexpr void swap_both(T& one, T& other) noexcept {
  const T was = one;
  one = other;
  other = was;
}

}  // namespace tarn::detail

// ---- tarn::span: the objects that a call reads or fills -------------------------------------------------------------------
//
// Like std::span, without <span>, which would be half of what pool.h includes. Everything that converts to a std::span converts
// to this one, and each converts to the other.

namespace tarn {
namespace detail {

/// Whether objects of type U are objects of type T, apart from added const. A derived class doesn't count, because it may be
/// larger.
template <class U, class T>
concept lies_as = std::is_convertible_v<U (*)[], T (*)[]>;

/// Whether a Range has objects for a span of T: it has data() and size(). A temporary range converts only if it refers to
/// objects elsewhere, or if they are only read.
template <class Range, class T>
concept lends = requires(const Range& range) {  // Range is a reference for lvalues, for which `const` has no effect
  static_cast<std::size_t>(range.size());
  requires lies_as<std::remove_reference_t<decltype(*range.data())>, T>;
};

/// Pointer-like, but not a value that a span's elements may have, because std::vector<void*>{all.begin(), all.end()} would take
/// two pointers for its elements.
template <class T>
class span_iterator {
 public:
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  constexpr span_iterator() noexcept = default;
  TARN_STEP constexpr explicit span_iterator(T* at) noexcept : at_(at) {}

  TARN_STEP constexpr T& operator*() const noexcept { return *at_; }
  TARN_STEP constexpr T* operator->() const noexcept { return at_; }
  TARN_STEP constexpr T& operator[](std::ptrdiff_t n) const noexcept { return at_[n]; }
  TARN_STEP constexpr span_iterator& operator++() noexcept { return *this += 1; }
  TARN_STEP constexpr span_iterator operator++(int) noexcept { return span_iterator(at_++); }
  TARN_STEP constexpr span_iterator& operator--() noexcept { return *this -= 1; }
  TARN_STEP constexpr span_iterator operator--(int) noexcept { return span_iterator(at_--); }
  TARN_STEP constexpr span_iterator& operator+=(std::ptrdiff_t n) noexcept {
    at_ += n;
    return *this;
  }
  TARN_STEP constexpr span_iterator& operator-=(std::ptrdiff_t n) noexcept { return *this += -n; }
  TARN_STEP friend constexpr span_iterator operator+(span_iterator a, std::ptrdiff_t n) noexcept { return a += n; }
  TARN_STEP friend constexpr span_iterator operator+(std::ptrdiff_t n, span_iterator a) noexcept { return a += n; }
  TARN_STEP friend constexpr span_iterator operator-(span_iterator a, std::ptrdiff_t n) noexcept { return a -= n; }
  TARN_STEP friend constexpr std::ptrdiff_t operator-(span_iterator a, span_iterator b) noexcept { return a.at_ - b.at_; }
  TARN_STEP friend constexpr bool operator==(span_iterator a, span_iterator b) noexcept { return a.at_ == b.at_; }
  TARN_STEP friend constexpr bool operator<(span_iterator a, span_iterator b) noexcept { return a.at_ < b.at_; }
  TARN_STEP friend constexpr bool operator>(span_iterator a, span_iterator b) noexcept { return b < a; }
  TARN_STEP friend constexpr bool operator<=(span_iterator a, span_iterator b) noexcept { return !(b < a); }
  TARN_STEP friend constexpr bool operator>=(span_iterator a, span_iterator b) noexcept { return !(a < b); }

 private:
  T* at_ = nullptr;
};

}  // namespace detail

/// A std::span: consecutive objects that are owned elsewhere, as an address and a number. Converts from and to std::span.
/// \tparam T  the type of the objects; const if they are only read
template <class T>
class span {
 public:
  /// As of std::span.
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  /// Whether iterators are pointers: not if a pointer converts to an element.
  static constexpr bool has_pointers = !std::is_convertible_v<T*, value_type>;
  /// As of std::span.
  using iterator = std::conditional_t<has_pointers, T*, detail::span_iterator<T>>;

  /// No objects; `size` objects from `data` on, or those from `first` to before `last`; those of an array, or of any type with
  /// data() and size(). Throws: what these throw.
  constexpr span() noexcept = default;
  TARN_STEP constexpr span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <detail::lies_as<T> U>
  TARN_STEP constexpr span(U* first, U* last) noexcept : data_(first), size_(static_cast<std::size_t>(last - first)) {}
  template <std::size_t N>
  TARN_STEP constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  template <class Range>
    requires(!std::is_same_v<std::remove_cvref_t<Range>, span> && detail::lends<Range, T>)
  TARN_STEP constexpr span(Range&& range) noexcept(noexcept(range.data(), range.size()))
      : data_(range.data()), size_(static_cast<std::size_t>(range.size())) {}

  /// Returns a std::span of them, if std::span has no constructor that takes this one.
  template <template <class, std::size_t> class Span>
    requires(!std::is_const_v<T> && has_pointers)
  TARN_STEP constexpr operator Span<T, static_cast<std::size_t>(-1)>() && noexcept {
    return {data_, size_};
  }
  template <template <class, std::size_t> class Span, class U>
    requires(detail::lies_as<T, U> && !has_pointers)
  TARN_STEP constexpr operator Span<U, static_cast<std::size_t>(-1)>() const noexcept {
    return {data_, size_};
  }

  /// As of std::span.
  TARN_STEP constexpr T* data() const noexcept { return data_; }
  TARN_STEP constexpr std::size_t size() const noexcept { return size_; }
  TARN_STEP constexpr bool empty() const noexcept { return size_ == 0; }
  TARN_STEP constexpr iterator begin() const noexcept { return iterator(data_); }
  TARN_STEP constexpr iterator end() const noexcept { return iterator(data_ + size_); }
  TARN_STEP constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }
  TARN_STEP constexpr T& front() const noexcept { return data_[0]; }
  TARN_STEP constexpr T& back() const noexcept { return data_[size_ - 1]; }
  TARN_STEP constexpr span first(std::size_t n) const noexcept { return {data_, n}; }
  TARN_STEP constexpr span last(std::size_t n) const noexcept { return {data_ + (size_ - n), n}; }
  TARN_STEP constexpr span subspan(std::size_t from) const noexcept { return {data_ + from, size_ - from}; }
  TARN_STEP constexpr span subspan(std::size_t from, std::size_t n) const noexcept { return {data_ + from, n}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tarn

#endif  // TARN_POLICIES_DETAIL_PROTOCOL_H_
