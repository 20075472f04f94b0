// The members of a pool that depend on the size of its blocks; all others are pool_members, which pools of many sizes share.
// A size that is given at run time is asked of the pool; one that is known before needs none.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_BODY_H_
#define TARN_ALLOCATOR_DETAIL_POOL_BODY_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/compose/values.h"
#include "tarn/allocator/detail/pool/buffer_sizes.h"
#include "tarn/allocator/detail/pool/members.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Traits  the machinery's; their size is Size, or the one by which its code knows many
/// \tparam Size    the pool's size policy
template <class Traits, class Size>
class pool_body : public pool_members<Traits> {
  using members = pool_members<Traits>;
  static constexpr bool shares_code = !std::is_same_v<typename Traits::size, Size>;

  template <class Values>
  TARN_STEP static constexpr decltype(auto) with_size(const Values& values) noexcept {
    using size = typename Traits::size;
    if constexpr (shares_code) return values_and_size<Values, size>(values, size(Size::bytes(), Size::alignment()));
    else return (values);
  }

 public:
  template <class Values>
  TARN_STEP constexpr explicit pool_body(const Values& values) noexcept(Values::nothrow) : members(with_size(values)) {}
  pool_body(const pool_body&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");

  /// Return the size and the alignment of a block in bytes, as the size policy says.
  static constexpr std::size_t block_size() noexcept { return Size::bytes(); }
  static constexpr std::size_t block_alignment() noexcept { return Size::alignment(); }

  /// Returns the bytes of a buffer out of which `blocks` blocks come, no more and no fewer. `alignment`, a power of two: what
  /// the address of the buffer is known to be a multiple of. size_max: the pool never has that many blocks.
  static constexpr std::size_t bytes_for(std::size_t blocks, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer)
  {
    return buffer_sizes<Traits>::bytes_for(blocks, typename Traits::geometry(), alignment);
  }
  /// Returns how many blocks come out of a buffer of so many bytes whose address is a multiple of `alignment` and of no larger
  /// power of two. If it is one, there may be one more.
  static constexpr std::size_t blocks_in(std::size_t bytes, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer)
  {
    return buffer_sizes<Traits>::blocks_in(bytes, typename Traits::geometry(), alignment);
  }
};

/// The same where the pool is given the size.
template <class Traits, class Size>
  requires(Size::traits.at_run_time)
class pool_body<Traits, Size> : public pool_members<Traits> {
 public:
  using pool_members<Traits>::pool_members;
  pool_body(const pool_body&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");

  std::size_t block_size() const noexcept { return this->geometry().block_size(); }
  std::size_t block_alignment() const noexcept { return this->geometry().block_alignment(); }

  static constexpr std::size_t bytes_for(std::size_t blocks, const Size& of, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer)
  {
    return buffer_sizes<Traits>::bytes_for(blocks, typename Traits::geometry(of), alignment);
  }
  static constexpr std::size_t blocks_in(std::size_t bytes, const Size& of, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer)
  {
    return buffer_sizes<Traits>::blocks_in(bytes, typename Traits::geometry(of), alignment);
  }
  // Not without the size: so that the error says why.
  static std::size_t bytes_for(std::size_t blocks, std::size_t alignment = 1) noexcept
    requires(!Traits::size_is_given_at_run_time);
  static std::size_t blocks_in(std::size_t bytes, std::size_t alignment = 1) noexcept
    requires(!Traits::size_is_given_at_run_time);
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_BODY_H_
