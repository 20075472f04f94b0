// What a block is, of which allocators are made, and the blocks that serve requests themselves. blocks.h puts them together.
//
//   block_traits, allocator_block    what a block says of itself, and has
//   block_of                         a product of the library as a block
//   heap_block, buffer_block         operator new; an array
#ifndef TARN_ALLOCATOR_ALLOCATOR_BLOCK_H_
#define TARN_ALLOCATOR_ALLOCATOR_BLOCK_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/construct.h"
#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

/// What a block declares about itself, as `static constexpr tarn::block_traits traits{...};`.
struct block_traits {
  bool knows_own = false;  // owns(address): whether the address lies in its memory
  bool has_good_size = false;  // good_size(bytes, alignment): how many bytes such a request gets
  bool can_reset = false;  // reset(): all blocks are free
  bool any_thread = false;  // several threads may call it at once
  bool has_fits = false;  // fits(bytes, alignment): whether it takes such requests; for what isn't known at compile time
  std::size_t most_bytes = unlimited;  // it refuses what is larger
  std::size_t most_alignment = unlimited;  // it may refuse what is aligned to more
};

/// An allocator that others can be made of.
///   allocate(bytes, alignment)           at least `bytes` bytes, which may be 0, aligned to a power of two. Throws
///                                        std::bad_alloc where there are none. Not needed in a build without exceptions
///   try_allocate(bytes, alignment)       the same, but null where there are none
///   deallocate(block, bytes, alignment)  frees it; null: does nothing. `bytes` and `alignment` are those of the request, or up
///                                        to what good_size() returned for them
/// If its traits say so:
///   owns(address)                        whether the address lies in a block of this allocator: false for those of any other
///   good_size(bytes, alignment)          how many bytes such a request gets, at least `bytes`
///   reset()                              all blocks are free; it may keep its memory
///   fits(bytes, alignment)               whether it takes such requests while it has memory; never changes, and is the same
///                                        for good_size()
template <class B>
concept allocator_block = detail::says<B, block_traits> && requires(B& all, void* block, std::size_t bytes) {
#if TARN_EXCEPTIONS
  { all.allocate(bytes, bytes) } -> std::same_as<void*>;
#endif
  { all.try_allocate(bytes, bytes) } noexcept -> std::same_as<void*>;
  { all.deallocate(block, bytes, bytes) } noexcept -> std::same_as<void>;
} && detail::as_promised<B::traits.knows_own, requires(const B& all, const void* address) {
                            { all.owns(address) } noexcept -> std::same_as<bool>;
                          }> && detail::as_promised<B::traits.has_good_size, requires(const B& all, std::size_t bytes) {
                            { all.good_size(bytes, bytes) } noexcept -> std::same_as<std::size_t>;
                          }> && detail::as_promised<B::traits.can_reset, requires(B& all) {
                            { all.reset() } noexcept -> std::same_as<void>;
                          }> && detail::as_promised<B::traits.has_fits, requires(const B& all, std::size_t bytes) {
                            { all.fits(bytes, bytes) } noexcept -> std::same_as<bool>;
                          }>;

// ---- the library's products as blocks -----------------------------------------------------------------------------------

namespace detail {

inline constexpr std::size_t default_alignment_of_blocks = alignof(std::max_align_t);

// By what a product is recognised.

template <class P>
concept pool_product = requires(P& pool, void* block) {
  { pool.try_allocate() } -> std::same_as<void*>;
  pool.deallocate(block);
  pool.block_size();
  pool.block_alignment();
  pool.owns(block);
};
template <class P>
concept sizes_product = requires(P& pool, void* block, std::size_t bytes) { pool.deallocate(block, bytes, bytes); } &&
                        (requires(P& pool, std::size_t bytes) {
                          { pool.allocate(bytes, bytes) } -> std::same_as<void*>;
                        } || requires(P& pool, std::size_t bytes) {
                          { pool.try_allocate(bytes, bytes) } -> std::same_as<void*>;
                        });
template <class P>
concept functions_product = requires(void* block, std::size_t bytes) {
  { P::allocate_aligned(bytes, bytes) } -> std::same_as<void*>;
  P::deallocate_aligned_sized(block, bytes, bytes);
};
template <class P>
concept static_product = requires {
  typename P::body;
  { P::instance() } -> std::same_as<typename P::body&>;
};
template <class P>
concept block_product = !says<P, block_traits> &&  // then it is to be a block
                        (sizes_product<P> || pool_product<P> || static_product<P> || functions_product<P>);

// What its policies say: whether several threads may call it, and whether it needs no values.

template <class P>
inline constexpr bool locks = false;
template <class P>
  requires policy_on<P, axis::locking>
inline constexpr bool locks<P> = !P::traits.one_thread;
template <class P>
inline constexpr bool has_default_value = true;
template <class P>
  requires policy<P>
inline constexpr bool has_default_value<P> = std::default_initializable<P>;

template <class Product>
struct policies_of {
  static constexpr bool any_thread = false;
  static constexpr bool have_defaults = true;
};
template <template <class...> class Product, class... Ps>
struct policies_of<Product<Ps...>> {
  static constexpr bool any_thread =
      (locks<Ps> || ...) || (functions_product<Product<Ps...>> && !(policy_on<Ps, axis::locking> || ...));
  static constexpr bool have_defaults = (has_default_value<Ps> && ...);
};

/// Where the product is: in the block, elsewhere, or it is the one of its tag.
template <class Product>
class product_place {
 public:
  using type = Product;
  constexpr product_place() = default;
  template <class... Given>
  constexpr explicit product_place(const Given&... given) : product_(given...) {}
  TARN_STEP constexpr Product& get() noexcept { return product_; }
  TARN_STEP constexpr const Product& get() const noexcept { return product_; }

 private:
  TARN_NO_UNIQUE_ADDRESS Product product_;
};
template <class Product>
class product_place<Product&> {
 public:
  using type = Product;
  TARN_STEP constexpr explicit product_place(Product& product) noexcept : product_(detail::pointer_to(product)) {}
  TARN_STEP constexpr Product& get() const noexcept { return *product_; }

 private:
  Product* product_;
};
template <static_product Product>
class product_place<Product> {
 public:
  using type = typename Product::body;
  TARN_STEP static type& get() noexcept { return Product::instance(); }
};

// How it is called.

/// Blocks of one size: what doesn't fit is refused.
template <class Place>
class product_calls : protected Place {
  using pool = typename Place::type;
  static constexpr bool is_constant = requires { typename std::bool_constant<(pool::block_size(), true)>; };
  static constexpr bool has_release = requires(pool& all) { all.release(); };
  static constexpr std::size_t bytes_of_pool() noexcept {
    if constexpr (is_constant) return pool::block_size();
    else return unlimited;
  }
  static constexpr std::size_t alignment_of_pool() noexcept {
    if constexpr (is_constant) return pool::block_alignment();
    else return unlimited;
  }

 public:
  static constexpr block_traits traits{.knows_own = true,
                                       .has_good_size = true,
                                       .can_reset = has_release,
                                       .has_fits = !is_constant,
                                       .most_bytes = bytes_of_pool(),
                                       .most_alignment = alignment_of_pool()};
  using place = Place;
  using Place::Place;

#if TARN_EXCEPTIONS
  [[nodiscard]] TARN_STEP void* allocate(std::size_t bytes, std::size_t alignment) {
    if (!takes(bytes, alignment)) [[unlikely]]
      return detail::or_fail(nullptr);
    return this->get().allocate();
  }
#endif
  [[nodiscard]] TARN_STEP void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return takes(bytes, alignment) ? this->get().try_allocate() : nullptr;
  }
  TARN_STEP void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    this->get().deallocate(block, bytes, alignment);
  }
  bool owns(const void* address) const noexcept { return this->get().owns(address); }
  std::size_t good_size(std::size_t bytes, std::size_t alignment) const noexcept {
    return takes(bytes, alignment) ? this->get().block_size() : bytes;
  }
  void reset() noexcept
    requires(traits.can_reset)
  {
    this->get().release();
  }
  TARN_STEP bool fits(std::size_t bytes, std::size_t alignment) const noexcept
    requires(traits.has_fits)
  {
    return takes(bytes, alignment);
  }

 private:
  TARN_STEP bool takes(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= this->get().block_size() && alignment <= this->get().block_alignment();
  }
};

/// Blocks of any size: a size_class_pool, an arena, a std::pmr::memory_resource.
template <class Place>
  requires sizes_product<typename Place::type>
class product_calls<Place> : protected Place {
  using source = typename Place::type;
  static constexpr bool has_owns = requires(const source& all, const void* address) { all.owns(address); };
  static constexpr bool has_class_size = requires(std::size_t bytes) { source::class_size(bytes, bytes); };
  static constexpr bool has_reset = requires(source& all) { all.reset(); };

 public:
  static constexpr block_traits traits{.knows_own = has_owns, .has_good_size = has_class_size, .can_reset = has_reset};
  using place = Place;
  using Place::Place;

#if TARN_EXCEPTIONS
  [[nodiscard]] TARN_STEP void* allocate(std::size_t bytes, std::size_t alignment) {
    return this->get().allocate(bytes, alignment);
  }
#endif
  [[nodiscard]] TARN_STEP void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (requires { this->get().try_allocate(bytes, alignment); }) {
      return this->get().try_allocate(bytes, alignment);
    } else {
#if TARN_EXCEPTIONS
      try {
        return this->get().allocate(bytes, alignment);
      } catch (...) {
        return nullptr;
      }
#else
      return this->get().allocate(bytes, alignment);
#endif
    }
  }
  TARN_STEP void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block != nullptr) this->get().deallocate(block, bytes, alignment);
  }
  bool owns(const void* address) const noexcept
    requires(traits.knows_own)
  {
    return this->get().owns(address);
  }
  std::size_t good_size(std::size_t bytes, std::size_t alignment) const noexcept
    requires(traits.has_good_size)
  {
    return larger(bytes, source::class_size(bytes, alignment));
  }
  void reset() noexcept
    requires(traits.can_reset)
  {
    this->get().reset();
  }
};

/// The functions of an xallocator.
template <class Product>
class function_calls {
 public:
  static constexpr block_traits traits{};

#if TARN_EXCEPTIONS
  [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment) {
    return detail::or_fail(Product::allocate_aligned(alignment, bytes));
  }
#endif
  [[nodiscard]] static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return Product::allocate_aligned(alignment, bytes);
  }
  static void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    Product::deallocate_aligned_sized(block, alignment, bytes);
  }
};

/// A block elsewhere.
template <class Block>
class referred_calls : protected product_place<Block&> {
 public:
  static constexpr block_traits traits = Block::traits;
  using place = product_place<Block&>;
  using product_place<Block&>::product_place;

#if TARN_EXCEPTIONS
  [[nodiscard]] TARN_STEP void* allocate(std::size_t bytes, std::size_t alignment) {
    return this->get().allocate(bytes, alignment);
  }
#endif
  [[nodiscard]] TARN_STEP void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return this->get().try_allocate(bytes, alignment);
  }
  TARN_STEP void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    this->get().deallocate(block, bytes, alignment);
  }
  bool owns(const void* address) const noexcept
    requires(traits.knows_own)
  {
    return this->get().owns(address);
  }
  std::size_t good_size(std::size_t bytes, std::size_t alignment) const noexcept
    requires(traits.has_good_size)
  {
    return this->get().good_size(bytes, alignment);
  }
  void reset() noexcept
    requires(traits.can_reset)
  {
    this->get().reset();
  }
  TARN_STEP bool fits(std::size_t bytes, std::size_t alignment) const noexcept
    requires(traits.has_fits)
  {
    return this->get().fits(bytes, alignment);
  }
};

template <class P>
constexpr auto choose_calls() noexcept {
  using product = std::remove_reference_t<P>;
  if constexpr (allocator_block<product>) return std::type_identity<referred_calls<product>>{};
  else if constexpr (functions_product<product>) return std::type_identity<function_calls<product>>{};
  else return std::type_identity<product_calls<product_place<P>>>{};
}

}  // namespace detail

/// A product as a block. A pool serves what fits into one of its blocks; its reset() is the pool's release(). As a part of
/// another block, write the product itself.
/// \tparam Product  a pool, static_pool, size_class_pool, xallocator, or any type with allocate(bytes, alignment) and
///                  deallocate(block, bytes, alignment); or a reference to one, or to a block, which must outlive this
template <class Product>
class block_of : public decltype(detail::choose_calls<Product>())::type {
  using calls = typename decltype(detail::choose_calls<Product>())::type;
  using policies = detail::policies_of<std::remove_reference_t<Product>>;

 public:
  /// As of any block.
  static constexpr block_traits traits = [] {
    block_traits its = calls::traits;
    its.any_thread = its.any_thread || policies::any_thread;
    return its;
  }();

  /// With the product's default values; with policy objects, as the product's constructor takes them; or what it refers to.
  /// Throws: what copying them throws.
  constexpr block_of()
    requires(!std::is_reference_v<Product> && policies::have_defaults)
  = default;
  template <class... Given>
    requires(sizeof...(Given) != 0 && !std::is_reference_v<Product> && std::constructible_from<calls, const Given&...>)
  constexpr explicit(sizeof...(Given) == 1) block_of(const Given&... given) : calls(given...) {}
  constexpr block_of(std::remove_reference_t<Product>& product) noexcept
    requires(std::is_reference_v<Product>)
      : calls(product) {}

  /// Returns the product.
  constexpr auto& product() noexcept
    requires requires(calls& self) { typename calls::place; }
  {
    return this->get();
  }
};

/// The global operator new and delete.
class heap_block {
 public:
  /// As of any block.
  static constexpr block_traits traits{.any_thread = true};

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    if (bytes > detail::size_limit) return detail::or_fail(nullptr);
    return is_plain(alignment) ? ::operator new(bytes) : ::operator new(bytes, std::align_val_t{alignment});
  }
#endif
  [[nodiscard]] static void* try_allocate(std::size_t bytes,
                                          std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (bytes > detail::size_limit) return nullptr;
    return is_plain(alignment) ? ::operator new(bytes, std::nothrow)
                               : ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
  }
  static void deallocate(void* block, std::size_t, std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    if (is_plain(alignment)) ::operator delete(block);  // the unsized forms: see heap_store
    else ::operator delete(block, std::align_val_t{alignment});
  }

 private:
  static constexpr bool is_plain(std::size_t alignment) noexcept { return alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__; }
};

namespace detail {
/// The bytes of a buffer_block: an array in it, or somebody else's.
template <std::size_t Bytes>
class buffer_bytes {
 protected:
  std::byte* start() noexcept { return storage_.bytes; }
  const std::byte* start() const noexcept { return storage_.bytes; }
  static constexpr std::size_t size() noexcept { return Bytes; }

 private:
  union storage {
    std::byte none;  // the initial member: a constant that takes no space in the executable
    alignas(std::max_align_t) std::byte bytes[Bytes];
  };
  storage storage_{.none = {}};
};
template <>
class buffer_bytes<natural> {
 public:
  /// \param bytes  must outlive the block
  constexpr explicit buffer_bytes(span<std::byte> bytes) noexcept : bytes_(bytes) {}

 protected:
  std::byte* start() const noexcept { return bytes_.data(); }
  std::size_t size() const noexcept { return bytes_.size(); }

 private:
  span<std::byte> bytes_;
};
}  // namespace detail

/// Blocks one after the other in an array, each call O(1). The newest block's bytes are available again when it is freed, those
/// of the others when all blocks are free.
/// \tparam Bytes  of the array in the object; without it, the constructor takes the caller's bytes
template <std::size_t Bytes = natural>
class buffer_block : public detail::buffer_bytes<Bytes> {
 public:
  /// As of any block.
  static constexpr block_traits traits{
      .knows_own = true, .can_reset = true, .most_bytes = Bytes == natural ? unlimited : Bytes};

  using detail::buffer_bytes<Bytes>::buffer_bytes;
  constexpr buffer_block() noexcept
    requires(Bytes != natural)
  = default;
  buffer_block(const buffer_block&) = delete;
  void operator=(const buffer_block&) = delete;

#if TARN_EXCEPTIONS
  /// As of any block.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) {
    return detail::or_fail(try_allocate(bytes, alignment));
  }
#endif
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment_of_blocks) noexcept {
    const std::uintptr_t base = detail::address_of(this->start());
    const std::size_t from = detail::round_up(base + used_, alignment) - base;  // huge where that wraps
    const std::size_t taken = detail::larger(bytes, 1);
    if (from > this->size() || taken > this->size() - from) return nullptr;
    used_ = from + taken;
    ++blocks_;
    return this->start() + from;
  }
  void deallocate(void* block, std::size_t bytes, std::size_t = detail::default_alignment_of_blocks) noexcept {
    if (block == nullptr) return;
    const auto from = static_cast<std::size_t>(static_cast<std::byte*>(block) - this->start());
    if (--blocks_ == 0) used_ = 0;
    else if (from + detail::larger(bytes, 1) == used_) used_ = from;
  }
  bool owns(const void* address) const noexcept {
    return detail::address_of(address) - detail::address_of(this->start()) < this->size();
  }
  void reset() noexcept { used_ = blocks_ = 0; }

  /// Returns how many bytes of the array are used, including those between blocks.
  std::size_t used() const noexcept { return used_; }

 private:
  std::size_t used_ = 0;
  std::size_t blocks_ = 0;
};

// ---- for what is made of blocks -----------------------------------------------------------------------------------------

namespace detail {

/// After a complaint: a block that has everything, so that the complaint stays the only error.
class no_block {
 public:
  static constexpr block_traits traits{.knows_own = true, .can_reset = true};
  template <class... Anything>
  constexpr explicit(false) no_block(const Anything&...) noexcept {}
  void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  void* try_allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
  bool owns(const void*) const noexcept { return false; }
  void reset() noexcept {}
};

template <class T>
constexpr auto choose_block() noexcept {
  using product = std::remove_reference_t<T>;
  if constexpr (!std::is_reference_v<T> && allocator_block<product>) {
    return std::type_identity<T>{};
  } else if constexpr (allocator_block<product> || block_product<product>) {
    return std::type_identity<block_of<T>>{};
  } else {
    static_assert(allocator_block<product>,
                  "tarn: [W1] a part of an allocator isn't a block or a product: its traits aren't a tarn::block_traits, or "
                  "it lacks what they promise; use a pool, heap_block, or your own tarn::allocator_block");
    return std::type_identity<no_block>{};
  }
}
/// A block; the block of a product.
template <class T>
using block_for = typename decltype(detail::choose_block<T>())::type;

/// What a user looks into: the product of its block, or the block.
template <class Block>
constexpr auto& seen(Block& block) noexcept {
  if constexpr (requires { block.product(); }) return block.product();
  else return block;
}

template <class Block>
TARN_STEP constexpr std::size_t good_size_of(const Block& block, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (Block::traits.has_good_size) return block.good_size(bytes, alignment);
  else return bytes;
}
/// Whether requests that are routed by a size and an alignment may go to a block.
template <class Block>
TARN_STEP constexpr bool fits_in(const Block& block, std::size_t bytes, std::size_t alignment) noexcept {
  if constexpr (Block::traits.has_fits) return block.fits(bytes, alignment);
  else return bytes <= Block::traits.most_bytes && alignment <= Block::traits.most_alignment;
}

}  // namespace detail

}  // namespace tarn

#endif  // TARN_ALLOCATOR_ALLOCATOR_BLOCK_H_
