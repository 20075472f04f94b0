// Allocators made of allocators: templates put blocks together to one block, without a virtual call, and without a byte where
// nothing has a state.
//
//   tarn::segregate<64, tarn::pool<tarn::static_size<64>>, tarn::heap_block> memory;
//   void* block = memory.allocate(40, 8);    // from the pool; more than 64 bytes from the heap
//   memory.deallocate(block, 40, 8);
//
//   segregate, by_size, fall_back, stack_first    two blocks: which one serves a request
//   prefix, aligned_to, shared_between            one block, and something more
//   counted, traced, checked_bounds               one block, and what is seen of it
//
// Products can be named as parts: pool, static_pool, size_class_pool, xallocator, and anything with allocate(bytes, alignment).
// A reference, such as my_pool&, refers to your own object.
#ifndef TARN_ALLOCATOR_BLOCKS_H_
#define TARN_ALLOCATOR_BLOCKS_H_

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "tarn/allocator/allocator_block.h"
#include "tarn/policies/checking/block_checks.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/statistics.h"

namespace tarn {

namespace detail {

/// What is left of a block's most bytes.
constexpr std::size_t less(std::size_t most, std::size_t bytes) noexcept {
  return most == unlimited ? unlimited : most - smaller(most, bytes);
}

/// Two blocks, each with an argument or none.
template <class First, class Second>
class two_blocks {
  template <class A>
  static constexpr bool is_other = !std::is_base_of_v<two_blocks, std::remove_cvref_t<A>>;
  static constexpr bool has_default = std::default_initializable<First>;  // so an only argument is the second's
  template <class A>
  static constexpr bool takes = has_default != std::default_initializable<Second> &&
                                std::constructible_from<std::conditional_t<has_default, Second, First>, A>;

 public:
  constexpr two_blocks() = default;
  template <class A, class B>
    requires(std::constructible_from<First, A> && std::constructible_from<Second, B>)
  constexpr two_blocks(A&& first, B&& second) : first_(static_cast<A&&>(first)), second_(static_cast<B&&>(second)) {}
  template <class A>
    requires(is_other<A> && takes<A>)
  constexpr explicit(false) two_blocks(A&& only) : two_blocks(std::bool_constant<has_default>(), static_cast<A&&>(only)) {}

  /// As of any block.
  bool owns(const void* address) const noexcept
    requires(First::traits.knows_own && Second::traits.knows_own)
  {
    return first_.owns(address) || second_.owns(address);
  }
  void reset() noexcept
    requires(First::traits.can_reset && Second::traits.can_reset)
  {
    first_.reset();
    second_.reset();
  }

 protected:
  TARN_NO_UNIQUE_ADDRESS First first_;
  TARN_NO_UNIQUE_ADDRESS Second second_;

 private:
  template <class A>
  constexpr two_blocks(std::false_type, A&& first) : first_(static_cast<A&&>(first)) {}
  template <class A>
  constexpr two_blocks(std::true_type, A&& second) : second_(static_cast<A&&>(second)) {}
};

/// One block inside another, with an argument or none.
/// \tparam SameSize  whether its blocks have the sizes of that one's
template <class Inner, bool SameSize = true>
class one_block {
 public:
  constexpr one_block() = default;
  template <class A>
    requires(!std::is_base_of_v<one_block, std::remove_cvref_t<A>> && std::constructible_from<Inner, A>)
  constexpr explicit(false) one_block(A&& inner) : inner_(static_cast<A&&>(inner)) {}

  /// As of any block.
  bool owns(const void* address) const noexcept
    requires(Inner::traits.knows_own)
  {
    return inner_.owns(address);
  }
  std::size_t good_size(std::size_t bytes, std::size_t alignment = default_alignment_of_blocks) const noexcept
    requires(SameSize && Inner::traits.has_good_size)
  {
    return inner_.good_size(bytes, alignment);
  }
  void reset() noexcept
    requires(Inner::traits.can_reset)
  {
    inner_.reset();
  }
  TARN_STEP bool fits(std::size_t bytes, std::size_t alignment = default_alignment_of_blocks) const noexcept
    requires(SameSize && Inner::traits.has_fits)
  {
    return inner_.fits(bytes, alignment);
  }

  /// Returns the block inside, or its product.
  constexpr auto& inner() noexcept { return detail::seen(inner_); }

 protected:
  TARN_NO_UNIQUE_ADDRESS Inner inner_;
};

}  // namespace detail

// ---- two blocks ---------------------------------------------------------------------------------------------------------

/// Requests of up to Threshold bytes from one block; those that are larger, or that the first block never takes (because of
/// their alignment), from another. If the size is a constant, the compiler decides.
template <std::size_t Threshold, class Small, class Large>
class segregate : public detail::two_blocks<detail::block_for<Small>, detail::block_for<Large>> {
  using small_block = detail::block_for<Small>;
  using large_block = detail::block_for<Large>;
  static constexpr const block_traits& of_small = small_block::traits;
  static constexpr const block_traits& of_large = large_block::traits;
  static_assert(
      of_small.most_bytes >= Threshold,
      "tarn: [W3] segregate sends requests to a block that refuses them, because they are larger than any of its blocks; "
      "lower the threshold, or use larger blocks");
  using detail::two_blocks<small_block, large_block>::first_;
  using detail::two_blocks<small_block, large_block>::second_;

 public:
  /// As of any block.
  static constexpr block_traits traits{.knows_own = of_small.knows_own && of_large.knows_own,
                                       .has_good_size = of_small.has_good_size || of_large.has_good_size,
                                       .can_reset = of_small.can_reset && of_large.can_reset,
                                       .any_thread = of_small.any_thread && of_large.any_thread,
                                       .has_fits = of_small.has_fits || of_large.has_fits,
                                       .most_bytes = detail::larger(Threshold, of_large.most_bytes),
                                       .most_alignment = of_large.most_alignment};
  /// Without arguments, where both blocks need none; with one for the block that needs it; or with one for each.
  using detail::two_blocks<small_block, large_block>::two_blocks;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] TARN_STEP void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    return is_small(bytes, alignment) ? first_.allocate(bytes, alignment) : second_.allocate(bytes, alignment);
  }
#endif
  [[nodiscard]] TARN_STEP void* try_allocate(std::size_t bytes,
                                             std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    return is_small(bytes, alignment) ? first_.try_allocate(bytes, alignment) : second_.try_allocate(bytes, alignment);
  }
  TARN_STEP void deallocate(void* block, std::size_t bytes,
                            std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (is_small(bytes, alignment)) first_.deallocate(block, bytes, alignment);
    else second_.deallocate(block, bytes, alignment);
  }
  std::size_t good_size(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) const noexcept
    requires(traits.has_good_size)
  {
    if (is_small(bytes, alignment)) return detail::smaller(detail::good_size_of(first_, bytes, alignment), Threshold);
    return detail::good_size_of(second_, bytes, alignment);
  }
  TARN_STEP bool fits(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) const noexcept
    requires(traits.has_fits)
  {
    return is_small(bytes, alignment) || detail::fits_in(second_, bytes, alignment);
  }

  /// Return the two blocks, or their products.
  constexpr auto& first() noexcept { return detail::seen(first_); }
  constexpr auto& second() noexcept { return detail::seen(second_); }

 private:
  TARN_STEP constexpr bool is_small(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= Threshold && detail::fits_in(first_, bytes, alignment);
  }
};

/// One line of by_size: requests of up to Bytes bytes, and the block that serves them.
template <std::size_t Bytes, class Block>
struct up_to;

namespace detail {
template <std::size_t Least, class... Blocks>
struct nested_by_size;
template <std::size_t Least, class Last>
struct nested_by_size<Least, Last> : std::type_identity<block_for<Last>> {};
template <std::size_t Least, std::size_t Bytes, class Block, class... Others>
struct nested_by_size<Least, up_to<Bytes, Block>, Others...>
    : std::type_identity<segregate<Bytes, Block, typename nested_by_size<Bytes, Others...>::type>> {
  static_assert(Bytes > Least,
                "tarn: [W4] by_size has a line that never gets a request, because an earlier one takes as many bytes; write "
                "the lines by ascending size");
};
}  // namespace detail

/// Several thresholds: by_size<up_to<64, A>, up_to<1024, B>, C> is segregate<64, A, segregate<1024, B, C>>.
template <class... Blocks>
using by_size = typename detail::nested_by_size<0, Blocks...>::type;

/// Requests that the first block refuses are served by the second. The first must have owns(), because a block is freed where
/// it came from.
template <class First, class Second>
class fall_back
    : public detail::two_blocks<
          std::conditional_t<detail::block_for<First>::traits.knows_own, detail::block_for<First>, detail::no_block>,
          detail::block_for<Second>> {
  static_assert(
      detail::block_for<First>::traits.knows_own,
      "tarn: [W2] fall_back was given a first block that can't tell whether a block is its own, so none could be freed; use "
      "one with owns() as the first (a pool, a buffer_block, an arena)");
  using first_block =
      std::conditional_t<detail::block_for<First>::traits.knows_own, detail::block_for<First>, detail::no_block>;
  using second_block = detail::block_for<Second>;
  static constexpr const block_traits& of_first = first_block::traits;
  static constexpr const block_traits& of_second = second_block::traits;
  using detail::two_blocks<first_block, second_block>::first_;
  using detail::two_blocks<first_block, second_block>::second_;

 public:
  /// As of any block.
  static constexpr block_traits traits{.knows_own = of_second.knows_own,
                                       .has_good_size = of_first.has_good_size && of_second.has_good_size,
                                       .can_reset = of_first.can_reset && of_second.can_reset,
                                       .any_thread = of_first.any_thread && of_second.any_thread,
                                       .has_fits = of_second.has_fits,
                                       .most_bytes = detail::larger(of_first.most_bytes, of_second.most_bytes),
                                       .most_alignment = of_second.most_alignment};
  /// Without arguments, where both blocks need none; with one for the block that needs it; or with one for each.
  using detail::two_blocks<first_block, second_block>::two_blocks;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] TARN_STEP void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    if (void* const block = first_.try_allocate(bytes, alignment)) [[likely]]
      return block;
    return second_.allocate(bytes, alignment);
  }
#endif
  [[nodiscard]] TARN_STEP void* try_allocate(std::size_t bytes,
                                             std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (void* const block = first_.try_allocate(bytes, alignment)) [[likely]]
      return block;
    return second_.try_allocate(bytes, alignment);
  }
  TARN_STEP void deallocate(void* block, std::size_t bytes,
                            std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (first_.owns(block)) first_.deallocate(block, bytes, alignment);
    else second_.deallocate(block, bytes, alignment);
  }
  std::size_t good_size(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) const noexcept
    requires(traits.has_good_size)
  {
    return detail::smaller(first_.good_size(bytes, alignment), second_.good_size(bytes, alignment));
  }
  TARN_STEP bool fits(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) const noexcept
    requires(traits.has_fits)
  {
    return second_.fits(bytes, alignment);  // the first may be full
  }

  /// Return the two blocks, or their products.
  constexpr auto& first() noexcept { return detail::seen(first_); }
  constexpr auto& second() noexcept { return detail::seen(second_); }
};

/// An array in the object, and a block for the rest: a small vector's memory.
template <std::size_t Bytes, class Next>
using stack_first = fall_back<buffer_block<Bytes>, Next>;

// ---- one block, and something more --------------------------------------------------------------------------------------

/// A Header, default-constructed, in front of each block.
template <class Header, class Inner>
class prefix : public detail::one_block<detail::block_for<Inner>, false> {
  using inner_block = detail::block_for<Inner>;
  static constexpr const block_traits& of_inner = inner_block::traits;
  static_assert(std::is_nothrow_default_constructible_v<Header> && std::is_trivially_destructible_v<Header>,
                "tarn: [W6] prefix was given a header that has a destructor, or whose default constructor is missing or may "
                "throw; use a struct of plain members, and fill it in through header_of()");
  using detail::one_block<inner_block, false>::inner_;

 public:
  /// As of any block.
  static constexpr block_traits traits{.knows_own = of_inner.knows_own,
                                       .can_reset = of_inner.can_reset,
                                       .any_thread = of_inner.any_thread,
                                       .has_fits = of_inner.has_fits,
                                       .most_bytes = detail::less(of_inner.most_bytes, sizeof(Header)),
                                       .most_alignment = of_inner.most_alignment};
  /// Without an argument, if the block inside needs none; or with its own.
  using detail::one_block<inner_block, false>::one_block;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    return behind(inner_.allocate(all(bytes, alignment), stronger(alignment)), alignment);
  }
#endif
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    return behind(inner_.try_allocate(all(bytes, alignment), stronger(alignment)), alignment);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (block == nullptr) return;
    inner_.deallocate(static_cast<std::byte*>(block) - in_front(alignment), all(bytes, alignment), stronger(alignment));
  }
  bool fits(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) const noexcept
    requires(traits.has_fits)
  {
    return inner_.fits(all(bytes, alignment), stronger(alignment));
  }

  /// Returns the header of a block in use.
  static Header& header_of(void* block) noexcept {
    return *std::launder(reinterpret_cast<Header*>(static_cast<std::byte*>(block) - sizeof(Header)));
  }

 private:
  static constexpr std::size_t stronger(std::size_t alignment) noexcept { return detail::larger(alignment, alignof(Header)); }
  static constexpr std::size_t in_front(std::size_t alignment) noexcept {
    return detail::round_up(sizeof(Header), alignment);  // sizeof is a multiple of its own
  }
  /// At least one byte after the header, so that a block is in what the block inside owns.
  static constexpr std::size_t all(std::size_t bytes, std::size_t alignment) noexcept {
    return detail::add(detail::larger(bytes, 1), in_front(alignment));
  }
  static void* behind(void* start, std::size_t alignment) noexcept {
    if (start == nullptr) return nullptr;
    void* const block = static_cast<std::byte*>(start) + in_front(alignment);
    ::new (static_cast<void*>(static_cast<std::byte*>(block) - sizeof(Header))) Header();
    return block;
  }
};

/// Every block is aligned to N bytes, or to more if requested. If the block inside can't do that, it serves N bytes and a
/// pointer more.
template <std::size_t N, class Inner>
class aligned_to : public detail::one_block<detail::block_for<Inner>, false> {
  using inner_block = detail::block_for<Inner>;
  static constexpr const block_traits& of_inner = inner_block::traits;
  static_assert(
      detail::is_power_of_two(N),
      "tarn: [W5] aligned_to was given an alignment that isn't a power of two; give 1, 2, 4, 8 ...");
  using detail::one_block<inner_block, false>::inner_;

 public:
  /// As of any block.
  static constexpr block_traits traits{.knows_own = of_inner.knows_own,
                                       .can_reset = of_inner.can_reset,
                                       .any_thread = of_inner.any_thread,
                                       .has_fits = of_inner.has_fits,
                                       .most_bytes = of_inner.most_bytes};
  /// Without an argument, if the block inside needs none; or with its own.
  using detail::one_block<inner_block, false>::one_block;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = N) {
    alignment = detail::larger(alignment, N);
    if (aligns(bytes, alignment)) return inner_.allocate(bytes, alignment);
    return inside(inner_.allocate(all(bytes, alignment), own_alignment), alignment);
  }
#endif
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = N) noexcept {
    alignment = detail::larger(alignment, N);
    if (aligns(bytes, alignment)) return inner_.try_allocate(bytes, alignment);
    return inside(inner_.try_allocate(all(bytes, alignment), own_alignment), alignment);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = N) noexcept {
    alignment = detail::larger(alignment, N);
    if (aligns(bytes, alignment)) return inner_.deallocate(block, bytes, alignment);
    if (block == nullptr) return;
    void* start;
    std::memcpy(&start, static_cast<std::byte*>(block) - sizeof start, sizeof start);
    inner_.deallocate(start, all(bytes, alignment), own_alignment);
  }
  bool fits(std::size_t bytes, std::size_t alignment = N) const noexcept
    requires(traits.has_fits)
  {
    alignment = detail::larger(alignment, N);
    return inner_.fits(bytes, alignment) || inner_.fits(all(bytes, alignment), own_alignment);
  }

 private:
  static constexpr std::size_t own_alignment =
      of_inner.has_fits ? 1 : detail::smaller(of_inner.most_alignment, alignof(void*));
  /// Whether the block inside aligns by itself.
  constexpr bool aligns(std::size_t bytes, std::size_t alignment) const noexcept {
    if constexpr (of_inner.has_fits) return inner_.fits(bytes, alignment);
    else return alignment <= of_inner.most_alignment;
  }
  static constexpr std::size_t all(std::size_t bytes, std::size_t alignment) noexcept {
    return detail::add(detail::larger(bytes, 1), alignment - 1 + sizeof(void*));
  }
  /// The aligned part of a block, after a pointer to where that starts.
  static void* inside(void* start, std::size_t alignment) noexcept {
    if (start == nullptr) return nullptr;
    const std::uintptr_t at = detail::address_of(start) + sizeof start;
    std::byte* const block = static_cast<std::byte*>(start) + sizeof start + (detail::round_up(at, alignment) - at);
    std::memcpy(block - sizeof start, &start, sizeof start);
    return block;
  }
};

/// A lock around each call of a block that has none.
/// \tparam Mutex  any default-constructible BasicLockable; if it has a type `guard`, that is used to lock it
template <class Mutex, class Inner>
class shared_between : public detail::one_block<detail::block_for<Inner>> {
  using inner_block = detail::block_for<Inner>;
  static constexpr const block_traits& of_inner = inner_block::traits;
  static constexpr bool can_lock = detail::basic_lockable<Mutex> && detail::locks_here<Mutex>;
  static_assert(can_lock,
                "tarn: [W7] shared_between was given a type without lock() and unlock(), or one of tarn's mutexes on a target "
                "without threads; use a mutex of this target");
  static_assert(!of_inner.any_thread,
                "tarn: [W8] shared_between was put around a block that any thread may already use; drop shared_between");
  struct no_mutex {
    void lock() noexcept {}
    void unlock() noexcept {}
  };
  using mutex_type = std::conditional_t<can_lock, Mutex, no_mutex>;
  using guard = typename detail::guard_of<mutex_type>::type;
  using detail::one_block<inner_block>::inner_;

 public:
  /// As of any block.
  static constexpr block_traits traits = [] {
    block_traits its = of_inner;
    its.any_thread = true;
    return its;
  }();
  /// Without an argument, if the block inside needs none; or with its own.
  using detail::one_block<inner_block>::one_block;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    const guard lock(mutex_);
    return inner_.allocate(bytes, alignment);
  }
#endif
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    const guard lock(mutex_);
    return inner_.try_allocate(bytes, alignment);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    const guard lock(mutex_);
    inner_.deallocate(block, bytes, alignment);
  }
  bool owns(const void* address) const noexcept
    requires(traits.knows_own)
  {
    const guard lock(mutex_);
    return inner_.owns(address);
  }
  void reset() noexcept
    requires(traits.can_reset)
  {
    const guard lock(mutex_);
    inner_.reset();
  }

 private:
  mutable mutex_type mutex_;
};

// ---- one block, and what is seen of it ----------------------------------------------------------------------------------

namespace detail {
/// How the numbers of counters and sinks are changed for a block, as for a pool.
template <bool AnyThread>
struct cells_of_block {
  template <class T>
  using cell = std::conditional_t<AnyThread, shared_cell<T>, T>;
};
}  // namespace detail

/// Counts as counting_statistics does for a pool. Where several threads may call the block inside, the counters are atomic.
template <class Inner>
class counted : public detail::one_block<detail::block_for<Inner>> {
  using inner_block = detail::block_for<Inner>;
  static constexpr const block_traits& of_inner = inner_block::traits;
  using cell = typename detail::cells_of_block<of_inner.any_thread>::template cell<std::size_t>;
  using detail::one_block<inner_block>::inner_;

 public:
  /// As of any block.
  static constexpr block_traits traits = of_inner;
  /// Without an argument, if the block inside needs none; or with its own.
  using detail::one_block<inner_block>::one_block;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] TARN_STEP void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    return add(inner_.allocate(bytes, alignment), bytes, alignment);
  }
#endif
  [[nodiscard]] TARN_STEP void* try_allocate(std::size_t bytes,
                                             std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    return add(inner_.try_allocate(bytes, alignment), bytes, alignment);
  }
  TARN_STEP void deallocate(void* block, std::size_t bytes,
                            std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (block == nullptr) return;
    blocks_.subtract(1);  // before: then another thread may be handed it
    bytes_ -= detail::good_size_of(inner_, bytes, alignment);
    inner_.deallocate(block, bytes, alignment);
  }
  void reset() noexcept
    requires(traits.can_reset)
  {
    inner_.reset();
    blocks_.settle();
    bytes_ = 0;
  }

  /// Returns what was counted. `bytes`: of the blocks in use, as the block inside has them; `chunks` is 0.
  pool_counts statistics() const noexcept { return {blocks_.in_use(), blocks_.peak(), blocks_.allocations(), 0, bytes_}; }

 private:
  TARN_STEP void* add(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block == nullptr) return nullptr;
    blocks_.add(1);
    bytes_ += detail::good_size_of(inner_, bytes, alignment);
    return block;
  }

  detail::cell_tally<cell> blocks_;
  cell bytes_ = 0;
};

/// Passes each event to a sink, as tracing_statistics does; `bytes` are those of the request.
/// \tparam Sink  a trace_sink: trace_ring<>, or your own
template <class Sink, class Inner>
class traced : public detail::one_block<detail::block_for<Inner>>, detail::sink_complaint<Sink> {
  using inner_block = detail::block_for<Inner>;
  static constexpr const block_traits& of_inner = inner_block::traits;
  static_assert(trace_sink<Sink>,
                "tarn: [W9] traced was given a sink without a static on_event(const trace_event&) that is noexcept and "
                "returns void; add it, or use trace_ring<>");
  struct deaf_sink {
    static void on_event(const trace_event&) noexcept {}
  };
  using sink =
      detail::sink_state<std::conditional_t<trace_sink<Sink>, Sink, deaf_sink>, detail::cells_of_block<of_inner.any_thread>>;
  using detail::one_block<inner_block>::inner_;

 public:
  /// As of any block.
  static constexpr block_traits traits = of_inner;
  /// Without an argument, if the block inside needs none; or with its own.
  using detail::one_block<inner_block>::one_block;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] TARN_STEP void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    try {
      return tell(inner_.allocate(bytes, alignment), bytes);
    } catch (...) {
      tell(nullptr, bytes);
      throw;
    }
  }
#endif
  [[nodiscard]] TARN_STEP void* try_allocate(std::size_t bytes,
                                             std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    return tell(inner_.try_allocate(bytes, alignment), bytes);
  }
  TARN_STEP void deallocate(void* block, std::size_t bytes,
                            std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (block == nullptr) return;
    sink_.on_event({trace_kind::free, this, block, bytes});
    inner_.deallocate(block, bytes, alignment);
  }
  void reset() noexcept
    requires(traits.can_reset)
  {
    sink_.on_event({trace_kind::release, this, nullptr, 0});
    inner_.reset();
  }

 private:
  TARN_STEP void* tell(void* block, std::size_t bytes) noexcept {
    sink_.on_event({block != nullptr ? trace_kind::allocate : trace_kind::refuse, this, block, bytes});
    return block;
  }

  TARN_NO_UNIQUE_ADDRESS sink sink_;
};

/// Guard bytes around each block, like those of `checked` in a pool, verified when the block is freed. Reports a write past its
/// end or in front of it, a free with a wrong size or alignment, and a second free until the memory is used again. If
/// the handler returns, the block stays in use.
/// \tparam Options  reported_to<handler>; otherwise the misuse handler of the process is called
template <class Inner, class... Options>
class checked_bounds : public detail::one_block<detail::block_for<Inner>, false> {
  using inner_block = detail::block_for<Inner>;
  static constexpr const block_traits& of_inner = inner_block::traits;
  using detail::one_block<inner_block, false>::inner_;

 public:
  /// As of any block.
  static constexpr block_traits traits{.knows_own = of_inner.knows_own,
                                       .can_reset = of_inner.can_reset,
                                       .any_thread = of_inner.any_thread,
                                       .has_fits = of_inner.has_fits,
                                       .most_bytes = detail::less(of_inner.most_bytes, 2 * detail::guard_words::bytes),
                                       .most_alignment = of_inner.most_alignment};
  /// Without an argument, if the block inside needs none; or with its own.
  using detail::one_block<inner_block, false>::one_block;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    return guarded(inner_.allocate(all(bytes, alignment), alignment), bytes, alignment);
  }
#endif
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    return guarded(inner_.try_allocate(all(bytes, alignment), alignment), bytes, alignment);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (block == nullptr) return;
    const detail::guard_words words(block, bytes);
    if (!words.stand(kept_for(bytes, alignment))) [[unlikely]]
      return refuse(block, bytes, alignment);
    words.write(of_freed);
    auto* const at = static_cast<std::byte*>(block);
    std::byte* const start = at - in_front(alignment);
    detail::memory_tools::unpoison(start, all(bytes, alignment));
    std::memcpy(at + bytes, at - detail::guard_words::bytes, detail::guard_words::bytes);  // a heap may write in front of it
    inner_.deallocate(start, all(bytes, alignment), alignment);
  }
  bool fits(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) const noexcept
    requires(traits.has_fits)
  {
    return inner_.fits(all(bytes, alignment), alignment);
  }

 private:
  // What is kept around a block: its size, and the logarithm of its alignment.
  static constexpr std::uint64_t of_freed = static_cast<std::uint64_t>(-1);  // a block that is free
  static constexpr std::uint64_t kept_for(std::size_t bytes, std::size_t alignment) noexcept {
    return (std::uint64_t{bytes} + 1) << 6 | static_cast<unsigned>(std::countr_zero(alignment));
  }
  static constexpr std::uint64_t bytes_of(std::uint64_t kept) noexcept { return (kept >> 6) - 1; }
  static constexpr std::size_t alignment_of(std::uint64_t kept) noexcept { return std::size_t{1} << (kept & 63); }

  static constexpr std::size_t in_front(std::size_t alignment) noexcept {
    return detail::round_up(detail::guard_words::bytes, alignment);
  }
  static constexpr std::size_t all(std::size_t bytes, std::size_t alignment) noexcept {
    return detail::add(bytes, in_front(alignment) + detail::guard_words::bytes);
  }
  static void* guarded(void* start, std::size_t bytes, std::size_t alignment) noexcept {
    if (start == nullptr) return nullptr;
    void* const block = static_cast<std::byte*>(start) + in_front(alignment);
    write(detail::guard_words(block, bytes), block, bytes, alignment);
    return block;
  }
  /// The tools may look at the guard bytes: they aren't notified when a block is freed with what contains it, such as an array.
  static void write(const detail::guard_words& words, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    words.write(kept_for(bytes, alignment));
    detail::memory_tools::unpoison(static_cast<std::byte*>(block) - detail::guard_words::bytes, detail::guard_words::bytes);
    detail::memory_tools::unpoison(static_cast<std::byte*>(block) + bytes, detail::guard_words::bytes);
  }

  TARN_COLD void refuse(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    using detail::guard_words;
    const auto* const at = static_cast<std::byte*>(block);
    const std::uint64_t kept = kept_at(at - guard_words::bytes, block);
    misuse what{.pool = this, .block_size = bytes, .address = block, .block = block, .size = bytes};
    const guard_words words(block, bytes);
    if (kept == of_freed || (bytes_of(kept) >= bytes && is_freed_behind(at, bytes))) {  // else the end may be elsewhere
      what.kind = misuse_kind::double_free;
    } else if (kept != 0 && kept != kept_for(bytes, alignment)) {
      what.kind = misuse_kind::wrong_size;
      what.block_size = static_cast<std::size_t>(bytes_of(kept));
      if (alignment_of(kept) != alignment) what.alignment = alignment;
    } else if (const detail::damage front = words.in_front(kept_for(bytes, alignment))) {
      describe(what, misuse_kind::write_in_front, front, -static_cast<std::ptrdiff_t>(guard_words::bytes));
    } else {
      describe(what, misuse_kind::write_past_end, words.behind(), static_cast<std::ptrdiff_t>(bytes));
    }
    if (what.damaged != 0) write(words, block, bytes, alignment);  // so that it is reported once
    detail::reporter_among<Options...>::report(what);
  }
  static std::uint64_t kept_at(const std::byte* at, const void* block) noexcept {
    std::uint64_t copy[2];
    [[maybe_unused]] const detail::memory_tools::window look(at, sizeof copy);
    std::memcpy(copy, at, sizeof copy);
    return detail::guard_words::kept_in(block, copy);
  }
  static bool is_freed_behind(const std::byte* block, std::size_t bytes) noexcept {
    const bool is = kept_at(block + bytes, block) == of_freed;
    if (!is) detail::memory_tools::unpoison(block + bytes, detail::guard_words::bytes);
    return is;
  }
  static void describe(misuse& what, misuse_kind kind, const detail::damage& found, std::ptrdiff_t from) noexcept {
    what.kind = kind;
    what.offset = from + static_cast<std::ptrdiff_t>(found.first);
    what.damaged = found.bytes;
    what.value = found.value;
  }
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_BLOCKS_H_
