// tarn::span: the objects that a call reads or fills. It is what std::span is, without <span>, which would be half of what
// pool.h brings. Whatever lends its objects to a std::span lends them to this one, and each converts to the other.
#ifndef TARN_POLICIES_DETAIL_SPAN_H_
#define TARN_POLICIES_DETAIL_SPAN_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/platform/config.h"

namespace tarn {
namespace detail {

/// Whether objects of type U are objects of type T, perhaps of a more const one. A derived class is another type: it may be
/// larger.
template <class U, class T>
concept lies_as = std::is_convertible_v<U (*)[], T (*)[]>;

/// Whether a Range has objects for a span of T: what has data() and size(). One that is gone after the call lends what it only
/// refers to; its own, only to be read.
template <class Range, class T>
concept lends = requires(const Range& range) {  // Range is a reference for what stays, and then `const` says nothing
  static_cast<std::size_t>(range.size());
  requires lies_as<std::remove_reference_t<decltype(*range.data())>, T>;
};

/// What a pointer is, but no value that a span's elements may have: std::vector<void*>{all.begin(), all.end()} would take two
/// pointers for its elements.
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

/// Consecutive objects of somebody else: their address and their number, copied like a pointer.
/// \tparam T  the type of the objects; const if they are only read
template <class T>
class span {
 public:
  /// As of std::span. The iterator is a pointer, where that doesn't convert to an object.
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  static constexpr bool has_pointers = !std::is_convertible_v<T*, value_type>;
  using iterator = std::conditional_t<has_pointers, T*, detail::span_iterator<T>>;

  /// No objects; `size` objects from `data` on, or those from `first` to before `last`; those of an array, or of whatever has
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

  /// Returns a std::span of them, where that has no constructor for it: it takes every lasting range whose iterators are
  /// pointers, and others only to read.
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

  /// Return the first object's address, the number of objects, whether there are none, and where they begin and end.
  TARN_STEP constexpr T* data() const noexcept { return data_; }
  TARN_STEP constexpr std::size_t size() const noexcept { return size_; }
  TARN_STEP constexpr bool empty() const noexcept { return size_ == 0; }
  TARN_STEP constexpr iterator begin() const noexcept { return iterator(data_); }
  TARN_STEP constexpr iterator end() const noexcept { return iterator(data_ + size_); }

  /// Return one object: number i, the first, the last.
  /// Precondition: it is there.
  TARN_STEP constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }
  TARN_STEP constexpr T& front() const noexcept { return data_[0]; }
  TARN_STEP constexpr T& back() const noexcept { return data_[size_ - 1]; }
  /// Return a part: the first n, the last n, all from a number on, n from there on.
  /// Precondition: they are there.
  TARN_STEP constexpr span first(std::size_t n) const noexcept { return {data_, n}; }
  TARN_STEP constexpr span last(std::size_t n) const noexcept { return {data_ + (size_ - n), n}; }
  TARN_STEP constexpr span subspan(std::size_t from) const noexcept { return {data_ + from, size_ - from}; }
  TARN_STEP constexpr span subspan(std::size_t from, std::size_t n) const noexcept { return {data_ + from, n}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tarn

#endif  // TARN_POLICIES_DETAIL_SPAN_H_
