// Iterators over the objects of a pool, and parts of them for several threads: by the bits that walks write (walk.h).
#ifndef TARN_ALLOCATOR_DETAIL_POOL_OBJECT_ITERATOR_H_
#define TARN_ALLOCATOR_DETAIL_POOL_OBJECT_ITERATOR_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/core/walk.h"
#include "tarn/allocator/detail/pool/clearing.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// A forward iterator, by ascending address. One that is behind the last object equals any other such.
template <class T, class State>
class object_iterator {
  using chunk = typename State::chunk;
  using words = living_words<State, geometry_for<State, typename size_of_object<T>::canonical>>;
  using word = typename words::word;

 public:
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using pointer = T*;
  using iterator_category = std::forward_iterator_tag;

  constexpr object_iterator() noexcept = default;

  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  TARN_STEP object_iterator& operator++() noexcept {
    detail::settle_list(*s_);
    return go_on(words(*s_, *chunk_));
  }
  object_iterator operator++(int) noexcept {
    const object_iterator was = *this;
    ++*this;
    return was;
  }
  bool operator==(const object_iterator& other) const noexcept { return object_ == other.object_; }

  // ---- for the pool --------------------------------------------------------------------------------------------------------

  TARN_STEP static object_iterator first(State& s) noexcept {
    detail::settle_list(s);
    object_iterator its(s);
    return its.go_to(next(s, s.chunks.after(nullptr), 0));
  }
  /// The object that has `before` others in front of it. Changes nothing. Precondition: settled.
  static object_iterator nth(State& s, std::size_t before) noexcept {
    object_iterator its(s);
    chunk* c = s.chunks.after(nullptr);
    for (; c != nullptr && detail::in_use_in(*c) <= before; c = s.chunks.after(c->first)) before -= detail::in_use_in(*c);
    if (c == nullptr) return its;
    const words of(s, *c);
    std::size_t w = 0;
    word live = of.live(w);
    for (std::size_t n; (n = static_cast<std::size_t>(std::popcount(live))) <= before; live = of.live(++w)) before -= n;
    for (; before != 0; --before) live &= live - 1;
    its.chunk_ = c;
    return its.at(of, w, live);
  }
  /// The first object behind an address at which one was. Its chunk may have gone.
  static object_iterator behind(State& s, const void* block) noexcept {
    detail::settle_list(s);
    object_iterator its(s);
    its.chunk_ = s.chunks.find(block);
    if (its.chunk_ == nullptr) return its.go_to(next(s, s.chunks.after(block), 0));
    const std::size_t slot = s.chunks.slot_of(*its.chunk_, block);
    its.word_ = slot / words::bits;
    its.bit_ = slot % words::bits;
    return its.go_on(words(s, *its.chunk_));
  }

 private:
  struct place {
    chunk* c = nullptr;
    std::size_t w = 0;
  };
  static constexpr std::size_t ahead = 8;  // words from the one that is visited to the one whose objects are prefetched

  explicit object_iterator(State& s) noexcept : s_(pointer_to(s)) {}

  TARN_STEP object_iterator& at(const words& of, std::size_t w, word live) noexcept {
    word_ = w;
    bit_ = words::lowest(live);
    object_ = std::launder(reinterpret_cast<T*>(of.block(word_, bit_)));
    return *this;
  }
  /// To the next object behind the bit.
  TARN_STEP object_iterator& go_on(const words& of) noexcept {
    const word rest = of.live(word_) & words::behind(bit_);
    if (rest != 0) [[likely]]
      return at(of, word_, rest);
    return go_to(next(*s_, chunk_, word_ + 1));
  }
  TARN_STEP object_iterator& go_to(place of) noexcept {
    chunk_ = of.c;
    object_ = nullptr;
    if (of.c == nullptr) return *this;
    const words its(*s_, *of.c);
    return at(its, of.w, its.live(of.w));
  }
  /// The first word with an object, from word `w` of a chunk on. No member, so that an iterator can be in registers.
  TARN_NOINLINE static place next(State& s, chunk* c, std::size_t w) noexcept {
    for (; c != nullptr; c = s.chunks.after(c->first), w = 0) {
      const words of(s, *c);
      const bool sparse = !of.is_dense();
      for (const std::size_t n = of.number(); w < n; ++w) {
        if (sparse && w + ahead < n) of.prefetch(w + ahead);
        if (of.live(w) != 0) return {c, w};
      }
    }
    return {};
  }

  T* object_ = nullptr;
  State* s_ = nullptr;
  chunk* chunk_ = nullptr;
  std::size_t word_ = 0;
  std::size_t bit_ = 0;
};

/// From one iterator to another.
template <class Iterator>
struct object_range {
  Iterator begin() const noexcept { return from; }
  Iterator end() const noexcept { return to; }
  bool empty() const noexcept { return from == to; }

  Iterator from;
  Iterator to;
};

/// Ranges of about as many objects each, all of them together once.
template <class T, class State>
class object_parts {
 public:
  using iterator = object_iterator<T, State>;

  object_parts(State& s, std::size_t parts) noexcept : s_(pointer_to(s)), objects_(detail::count_blocks(s)), parts_(parts) {}
  std::size_t size() const noexcept { return parts_; }
  /// Part `i`. Precondition: i < size(). O(chunks + blocks / 64). Changes nothing: threads may call it at the same time.
  object_range<iterator> operator[](std::size_t i) const noexcept { return {start(i), start(i + 1)}; }

  /// A std::forward_iterator over the parts, valid as long as they live.
  struct part_iterator {
    using iterator_concept = std::forward_iterator_tag;
    using value_type = object_range<iterator>;
    using difference_type = std::ptrdiff_t;

    value_type operator*() const noexcept { return (*parts)[at]; }
    part_iterator& operator++() noexcept { return ++at, *this; }
    part_iterator operator++(int) noexcept { return {parts, at++}; }
    bool operator==(const part_iterator&) const = default;

    const object_parts* parts = nullptr;
    std::size_t at = 0;
  };
  part_iterator begin() const noexcept { return {this, 0}; }
  part_iterator end() const noexcept { return {this, parts_}; }

 private:
  iterator start(std::size_t i) const noexcept {
    return iterator::nth(*s_, objects_ / parts_ * i + smaller(i, objects_ % parts_));
  }

  State* s_;
  std::size_t objects_;
  std::size_t parts_;
};

/// What begin() and parts() return where there are no iterators: the rule's sentence stays the only error.
template <class T>
struct no_iterator {
  T& operator*() const noexcept { TARN_UNREACHABLE(); }
  no_iterator& operator++() noexcept { return *this; }
  bool operator!=(const no_iterator&) const noexcept { return false; }
  std::size_t size() const noexcept { return 0; }
  const no_iterator& operator[](std::size_t) const noexcept { return *this; }
  no_iterator begin() const noexcept { return {}; }
  no_iterator end() const noexcept { return {}; }
};

template <bool IsArray, bool HidesObjects>
struct iterators_complaint {
  static_assert(
      IsArray || !HidesObjects,
      "tarn: [O8] an object_pool's iterators don't see blocks on guarded pages, in threads' magazines, on lock_free's stack or "
      "in a list without is_empty(); use for_each()");
  static_assert(
      !IsArray,
      "tarn: [O9] iterators of an object_pool over an array were used, but it has no bits that show which blocks are free; add "
      "page_local_reuse<>, or use for_each()");
};

/// The iterators of a pool of T, or what takes their place.
/// \tparam Pool  of the blocks
template <class T, class Pool>
struct iterators_of {
  using state = state_within<Pool>;
  using traits = typename state::traits;
  /// Whether some objects are in places without bits.
  static constexpr bool hides_objects =
      traits::locking::traits.keeps_blocks || traits::locking::traits.own_free_list || traits::samples ||
      !requires(const typename traits::reuse::template list<traits>& list) { list.is_empty(); };
  static constexpr bool exist = !traits::in_place && !hides_objects;
  using type = std::conditional_t<exist, object_iterator<T, state>, no_iterator<T>>;

  /// Says why there are none.
  static constexpr no_iterator<T> refuse() noexcept {
    [[maybe_unused]] iterators_complaint<traits::in_place, hides_objects> said;
    return {};
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_OBJECT_ITERATOR_H_
