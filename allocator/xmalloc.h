// The malloc functions over pools: blocks by size class, freed by address alone, for any thread.
//
//   void* p = tarn::xmalloc(100);
//   p = tarn::xrealloc(p, 5000);
//   tarn::xfree(p);
//
// Blocks are aligned to 16 bytes. Requests up to 32 KiB are rounded up to a size class (16, 32 ... 128, 160 ...). There are two
// modes, of which a program has one:
//
//   heap    memory comes from operator new (the default)
//   static  memory is an array of TARN_XMALLOC_STATIC_BYTES bytes in the program: no heap at all, and blocks of at most 4096
//           bytes, aligned to at most 64.
//           Define the macro for the whole program, as with -DTARN_XMALLOC_STATIC_BYTES=1048576
#ifndef TARN_ALLOCATOR_XMALLOC_H_
#define TARN_ALLOCATOR_XMALLOC_H_

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/statistics.h"
#include "tarn/policies/store.h"

namespace tarn {

/// malloc's functions over the static pools of a tag; each tag has its own, independent functions. They throw nothing. If one
/// returns null, errno is ENOMEM, or EINVAL for an invalid alignment.
/// \tparam Policies  as for size_class_pool; by default shared_locking (mutex_locking<thread_aware_mutex> over a bounded store)
///                   and counting_statistics
template <class Tag, class... Policies>
class xallocator {
  // A size class gets its memory in granules, a line of which says whose they are: few, where memory is an array.
  static constexpr bool bounded = (... || detail::bounded_store<Policies>);
  static constexpr std::size_t granule = bounded ? 16 * 1024 : 64 * 1024;
  template <class... Ps>
  using static_pools = detail::static_classes<Tag, granule, Ps...>;
  using pools =
      typename detail::policy_list<Policies...>::template with_default<axis::locking, detail::default_sharing<Policies...>>::
          template with_default<axis::statistics, counting_statistics>::template into<static_pools>;
  using classes = typename pools::body::classes;

 public:
  /// Returns at least `bytes` bytes, aligned to 16; null if there is no memory. No two blocks have the same address.
  [[nodiscard]] static void* allocate(std::size_t bytes) noexcept { return pools::instance().allocate_or_null(bytes, 16); }

  /// As allocate(), aligned to `alignment` bytes; null also if that isn't a power of two.
  [[nodiscard]] static void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
    if (!detail::is_power_of_two(alignment)) {
      errno = EINVAL;
      return nullptr;
    }
    return pools::instance().allocate_or_null(bytes, alignment < 16 ? 16 : alignment);
  }

  /// As posix_memalign(): puts such a block into `block` and returns 0. Otherwise it returns ENOMEM, or EINVAL if the alignment
  /// is smaller than a pointer or not a power of two; `block` and errno are unchanged.
  [[nodiscard]] static int allocate_aligned(void** block, std::size_t alignment, std::size_t bytes) noexcept {
    if (alignment < sizeof(void*) || !detail::is_power_of_two(alignment)) return EINVAL;
    const int before = errno;
    void* const got = allocate_aligned(alignment, bytes);
    errno = before;
    if (got == nullptr) return ENOMEM;
    *block = got;
    return 0;
  }

  /// Returns a block as allocate(), for `count` elements of `bytes` bytes, all zero; null also if the product is too large.
  [[nodiscard]] static void* allocate_zeroed(std::size_t count, std::size_t bytes) noexcept {
    const std::size_t all = detail::multiply(count, bytes);
    void* const block = allocate(all);
    if (block == nullptr || all > detail::size_limit) return nullptr;  // the latter never: g++ 12 warns of memset without it
    return std::memset(block, 0, all);
  }

  /// Returns a block of at least `bytes` bytes with the content of `block`, and frees `block` unless that is itself returned.
  /// It stays in place if `bytes` fit, and are more than half of a block above 4096. A growing block larger than any class gets
  /// at least a quarter more than it had, so growing in steps costs O(bytes) in total. Null if there is no memory; then `block`
  /// is unchanged. A null `block`: allocate(bytes). 0 `bytes`: deallocate(block), and null.
  [[nodiscard]] static void* reallocate(void* block, std::size_t bytes) noexcept {
    if (block == nullptr) return allocate(bytes);
    if (bytes == 0) {
      deallocate(block);
      return nullptr;
    }
    const std::size_t has = usable_size(block);
    const bool stays = bytes <= has && (has <= 4096 || bytes > has / 2);
    if (stays) return block;
    const std::size_t wanted = bytes > has && bytes > classes::largest ? detail::larger(bytes, has + has / 4) : bytes;
    void* other = allocate(wanted);
    if (other == nullptr && wanted != bytes) other = allocate(bytes);
    if (other == nullptr) return nullptr;
    std::memcpy(other, block, has < bytes ? has : bytes);
    deallocate(block);
    return other;
  }

  /// Frees a block; null: does nothing. Precondition: it came from here and was not freed since.
  static void deallocate(void* block) noexcept { pools::instance().deallocate(block); }

  /// The same with the size and alignment requested last, which only a checking policy reads.
  static void deallocate_sized(void* block, std::size_t bytes) noexcept { deallocate_aligned_sized(block, 1, bytes); }
  static void deallocate_aligned_sized(void* block, std::size_t alignment, std::size_t bytes) noexcept {
    pools::instance().deallocate_sized(block, bytes, alignment);
  }

  /// Returns the bytes that a block has, at least those requested. 0 for null.
  static std::size_t usable_size(const void* block) noexcept {
    return block == nullptr ? 0 : pools::instance().usable_size(block);
  }

  /// What one size class has counted.
  struct class_counts {
    std::size_t block_size = 0;  // bytes
    pool_counts counts;          // of its pool
  };
  /// One row for each size class, even those that were never used, and the larger blocks.
  struct statistics_type {
    std::array<class_counts, classes::count> by_class;  // by ascending size
    large_counts large;                                 // of blocks beyond the largest class
  };
  /// Returns what was counted so far.
  static statistics_type statistics() noexcept {
    statistics_type all;
    for (std::size_t i = 0; i != classes::count; ++i) all.by_class[i].block_size = classes::size(i);
    pools::instance().each_pool([&](std::size_t index, auto& its) { all.by_class[index].counts = its.statistics(); });
    all.large = pools::instance().large();
    return all;
  }

  /// As of a size_class_pool.
  static bool try_reserve(std::size_t blocks, std::size_t bytes) noexcept {
    return pools::instance().try_reserve(blocks, bytes, 16);
  }
  /// As of a size_class_pool.
  static std::size_t trim() noexcept
    requires(pools::may_return_chunks)
  {
    return pools::instance().trim();
  }
  /// As of a size_class_pool.
  template <class... Until>
  static maintained maintain(const Until&... until) noexcept
    requires requires(typename pools::body& all) { all.maintain(until...); }
  {
    return pools::instance().maintain(until...);
  }
};

// The two modes have different names for the linker: code of one never meets the other's.
#if defined(TARN_XMALLOC_STATIC_BYTES)
inline namespace xmalloc_static {
static_assert(
    TARN_XMALLOC_STATIC_BYTES >= 16 * 1024,
    "tarn: [X1] TARN_XMALLOC_STATIC_BYTES is under 16384, the unit in which a size class takes memory; give at least 16384 for "
    "each size class that the program uses");
using xmalloc_heap =
    xallocator<struct xmalloc_tag,
               static_array_store<(TARN_XMALLOC_STATIC_BYTES < 16 * 1024 ? 1 : TARN_XMALLOC_STATIC_BYTES / (16 * 1024))>>;
#else
inline namespace xmalloc_dynamic {
using xmalloc_heap = xallocator<struct xmalloc_tag, heap_store>;  // the allocator behind the functions
#endif

// As xallocator's functions; the names and arguments are those of malloc, free, realloc, calloc, aligned_alloc, posix_memalign,
// free_sized, free_aligned_sized and malloc_usable_size.

/// Returns a block, as xallocator::allocate().
[[nodiscard]] inline void* xmalloc(std::size_t bytes) noexcept { return xmalloc_heap::allocate(bytes); }
/// Frees a block, as xallocator::deallocate().
inline void xfree(void* block) noexcept { xmalloc_heap::deallocate(block); }
/// Returns the block, as xallocator::reallocate().
[[nodiscard]] inline void* xrealloc(void* block, std::size_t bytes) noexcept { return xmalloc_heap::reallocate(block, bytes); }
/// Returns a block, as xallocator::allocate_zeroed().
[[nodiscard]] inline void* xcalloc(std::size_t count, std::size_t bytes) noexcept {
  return xmalloc_heap::allocate_zeroed(count, bytes);
}
/// Returns a block, as xallocator::allocate_aligned().
[[nodiscard]] inline void* xaligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return xmalloc_heap::allocate_aligned(alignment, bytes);
}
/// Returns what xallocator::allocate_aligned() does.
[[nodiscard]] inline int xposix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  return xmalloc_heap::allocate_aligned(block, alignment, bytes);
}
/// Free a block, as xallocator::deallocate_sized() and deallocate_aligned_sized().
inline void xfree_sized(void* block, std::size_t bytes) noexcept { xmalloc_heap::deallocate_sized(block, bytes); }
inline void xfree_aligned_sized(void* block, std::size_t alignment, std::size_t bytes) noexcept {
  xmalloc_heap::deallocate_aligned_sized(block, alignment, bytes);
}
/// Returns what xallocator::usable_size() does.
[[nodiscard]] inline std::size_t xmalloc_usable_size(const void* block) noexcept { return xmalloc_heap::usable_size(block); }
/// Returns what xallocator::statistics() does.
inline xmalloc_heap::statistics_type xmalloc_statistics() noexcept { return xmalloc_heap::statistics(); }
/// Frees the empty granules. Returns their bytes.
inline std::size_t xmalloc_trim() noexcept { return xmalloc_heap::trim(); }

}  // namespace xmalloc_static or xmalloc_dynamic

}  // namespace tarn

#endif  // TARN_ALLOCATOR_XMALLOC_H_
