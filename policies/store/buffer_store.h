// decides    the pool's one chunk is a span of bytes that the caller owns
// costs      nothing: no record is kept in the span, so it is all blocks (with fall_back_to, it has a record)
// conflicts  growth policies of several chunks
// use when   memory is set aside elsewhere: a linker section, a mapping (of one process), a buffer on the stack
#ifndef TARN_POLICIES_STORE_BUFFER_STORE_H_
#define TARN_POLICIES_STORE_BUFFER_STORE_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/growth/no_growth.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/store/traits.h"

namespace tarn {

class buffer_store {
 public:
  using axis = tarn::axis::store;
  using implies = no_growth<>;
  static constexpr store_traits traits{.bounded = true, .has_end = true};

  /// \param bytes  must outlive the pool, and belong to no other. Its start is rounded up to the block's alignment; a span too
  ///               small for a block makes a pool that is exhausted from the start
  constexpr explicit buffer_store(span<std::byte> bytes) noexcept : bytes_(bytes) {}
  /// The same bytes by another name: an array, a span or a vector of unsigned char or char.
  template <class Bytes>
    requires(std::is_convertible_v<Bytes, span<unsigned char>> || std::is_convertible_v<Bytes, span<char>>)
  explicit buffer_store(Bytes&& bytes) noexcept : bytes_(renamed(span<character_of<Bytes>>(bytes))) {}

  /// Returns the bytes that it was made with.
  constexpr span<std::byte> bytes() const noexcept { return bytes_; }

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const buffer_store& store) noexcept : bytes_(store.bytes()) {}

    std::size_t room(std::size_t alignment) const noexcept {
      const std::size_t skipped = skip(alignment);
      return given_ || skipped > bytes_.size() ? 0 : bytes_.size() - skipped;
    }
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const std::size_t rest = room(alignment);
      if (rest == 0 || rest < bytes) return {};
      given_ = true;
      std::byte* const start = bytes_.data() + skip(alignment);
      detail::memory_tools::hand_out(start, rest);
      return {start, rest};
    }
    void release(detail::memory region, std::size_t) noexcept {
      detail::memory_tools::poison(region.start, region.bytes);
      given_ = false;
    }
    void end() noexcept { detail::memory_tools::unpoison(bytes_.data(), bytes_.size()); }

   private:
    std::size_t skip(std::size_t alignment) const noexcept {
      const std::uintptr_t start = detail::address_of(bytes_.data());
      return detail::round_up(start, alignment) - start;
    }

    span<std::byte> bytes_;
    bool given_ = false;
  };

 private:
  template <class Bytes>
  using character_of = std::conditional_t<std::is_convertible_v<Bytes, span<char>>, char, unsigned char>;
  template <class Character>
  static span<std::byte> renamed(span<Character> bytes) noexcept {
    return {static_cast<std::byte*>(static_cast<void*>(bytes.data())), bytes.size()};
  }

  span<std::byte> bytes_;
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_BUFFER_STORE_H_
