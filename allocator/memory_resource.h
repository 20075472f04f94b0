// tarn as std::pmr::memory_resource.
//
//   pool_resource<Policies...>                  a drop-in for the standard's pool resources
//   pmr::unsynchronized_pool_resource,
//   pmr::synchronized_pool_resource             replace the standard's of the same names
//   block_resource<Pool>                        blocks of one size from your own pool, everything else from upstream
//
// The reverse, a pool over any resource, is the policy resource_store.
#ifndef TARN_ALLOCATOR_MEMORY_RESOURCE_H_
#define TARN_ALLOCATOR_MEMORY_RESOURCE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/policies/axis.h"
#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/store/resource_store.h"

namespace tarn {

namespace detail {

/// What a memory resource over pools asks instead of its upstream: the same, but what upstream throws is noted. A pool calls
/// its store where nothing may be thrown, so the exception waits here for the thread whose request failed.
class noted_upstream final : public std::pmr::memory_resource {
 public:
  explicit noted_upstream(std::pmr::memory_resource* upstream) noexcept : upstream_(upstream) {}

  std::pmr::memory_resource* get() const noexcept { return upstream_; }

  /// Returns what upstream threw last, if this thread had asked, and forgets it; null otherwise.
  std::exception_ptr take() noexcept {
    const tried lock(mutex_);
    if (!lock || asker_ != this_thread_number()) return nullptr;
    asker_ = 0;
    return std::exchange(thrown_, nullptr);
  }
  /// Throws that, if there is any.
  void rethrow() {
#if TARN_EXCEPTIONS
    if (std::exception_ptr thrown = take()) std::rethrow_exception(std::exchange(thrown, nullptr));
#endif
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
#if TARN_EXCEPTIONS
    try {
      return upstream_->allocate(bytes, alignment);
    } catch (...) {
      note(std::current_exception());
      throw;
    }
#else
    return upstream_->allocate(bytes, alignment);
#endif
  }
  void do_deallocate(void* region, std::size_t bytes, std::size_t alignment) override {
    upstream_->deallocate(region, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  void note(std::exception_ptr thrown) noexcept {
    const tried lock(mutex_);
    if (!lock) return;
    asker_ = this_thread_number();
    std::swap(thrown_, thrown);  // the earlier one ends when nothing is held
  }

  std::pmr::memory_resource* upstream_;
  std::exception_ptr thrown_;
  std::uint64_t asker_ = 0;  // a thread's number
  mutex mutex_;              // never waited for: it may be held by a thread that a fork left behind
};

/// Growth as std::pmr::pool_options say it: geometric, with a largest chunk that is known at run time.
class optional_growth {
 public:
  using axis = tarn::axis::growth;
  static constexpr growth_traits traits{};

  constexpr explicit optional_growth(std::size_t max_blocks = unlimited) noexcept : max_blocks_(max_blocks) {}
  constexpr chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) const noexcept {
    return {detail::smaller(geometric_growth<>{}.next_chunk(last, total, stride).wanted, max_blocks_), max_blocks_};
  }

 private:
  std::size_t max_blocks_;
};

/// A store that is made over the upstream's, as budgeted<resource_store>.
template <class P>
concept store_over_resource =
    policy_on<P, axis::store> && !std::is_same_v<P, resource_store> &&
    (std::constructible_from<P, const resource_store&> || std::constructible_from<P, memory_budget&, const resource_store&>);

}  // namespace detail

/// A memory resource of pools, one for each size class, with the members and semantics of the standard's pool resources. The
/// header says what these leave open:
///
///   options()         largest_required_pool_block: the size of a class, at most 64 KiB, 32 KiB if not given. Larger requests,
///                     and those aligned beyond 64 bytes, go to upstream one by one; where that is new_delete_resource(), up to
///                     4 MiB of freed ones stay for the next. max_blocks_per_chunk: at most 65,536
///   allocate()        throws what upstream threw; std::bad_alloc if a budget refused, upstream returned null, or threw for
///                     several threads at once
///
/// \tparam Policies  as for size_class_pool, without growth, and without a store except one over upstream, such as
///                   budgeted<resource_store>. The pool of a class takes 2.2 KiB; 0.1 with lifo_reuse<>, which is slower if
///                   many blocks are freed in another order
template <class... Policies>
class pool_resource : public std::pmr::memory_resource {
  using default_classes = geometric_classes<16, 65536>;
  template <class P>
  using if_classes = std::conditional_t<size_class_policy<P>, P, void>;  // another size is refused, and silent here
  using classes = typename detail::first_of<if_classes<Policies>..., default_classes>::type;
  template <class... Ps>
  using body_of = typename decltype(detail::select_classes<default_classes, 0, Ps...>())::type::body;
  template <class P>
  using if_over_resource = std::conditional_t<detail::store_over_resource<P>, P, void>;
  using store = typename detail::first_of<if_over_resource<Policies>..., resource_store>::type;
  template <class... Stores>
  using policies = detail::policy_list<Policies..., detail::by_product<detail::optional_growth>, Stores...>;
  using body =
      typename std::conditional_t<(detail::store_over_resource<Policies> || ...), policies<>,
                                  policies<detail::by_product<resource_store>>>::template into<body_of>;
  static constexpr bool may_return_chunks = requires(body& blocks) { blocks.release(); };

 public:
  /// By default, with the standard's options and its default resource. Throws: what copies of the policies throw.
  pool_resource() : pool_resource(std::pmr::pool_options{}, std::pmr::get_default_resource()) {}
  explicit pool_resource(std::pmr::memory_resource* upstream) : pool_resource(std::pmr::pool_options{}, upstream) {}
  explicit pool_resource(const std::pmr::pool_options& options) : pool_resource(options, std::pmr::get_default_resource()) {}
  /// \param upstream  not null; must outlive the resource
  pool_resource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream)
      : upstream_(upstream), options_(normalised(options)), blocks_(values(store(resource_store(&upstream_)), options_)) {
    pass_large();
  }
  /// \param budget  charged with what upstream allocates; it must outlive the resource
  pool_resource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream, memory_budget& budget)
    requires std::constructible_from<store, memory_budget&, const resource_store&>
      : upstream_(upstream), options_(normalised(options)),
        blocks_(values(store(budget, resource_store(&upstream_)), options_)) {
    pass_large();
  }

  pool_resource(const pool_resource&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  void operator=(const pool_resource&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  /// Returns all memory to upstream, including blocks in use.
  ~pool_resource() override {
    if constexpr (may_return_chunks) release();
    blocks_.end();
  }

  /// As of the standard's pool resources.
  void release() noexcept
    requires(may_return_chunks)
  {
    blocks_.release();
  }
  /// As of a size_class_pool.
  void reset() noexcept { blocks_.reset(); }
  /// As of the standard's pool resources.
  std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_.get(); }
  /// As of the standard's pool resources.
  std::pmr::pool_options options() const noexcept { return options_; }

  /// As of a size_class_pool.
  std::size_t trim() noexcept
    requires(may_return_chunks)
  {
    return blocks_.trim();
  }
  /// As of a size_class_pool.
  void reserve(std::size_t blocks, std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    blocks_.reserve(blocks, bytes, alignment);
  }
  /// Returns the pools: each_pool(visit), large(), class_size(bytes, alignment).
  auto& blocks() noexcept { return blocks_; }

 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (is_at_once(bytes, alignment)) [[likely]]
      if (void* const block = blocks_.hit_tabled(bytes)) [[likely]] return block;
    return allocate_slow(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    if (is_at_once(bytes, alignment) && block != nullptr) [[likely]] return blocks_.deallocate_tabled(block, bytes);
    deallocate_slow(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

 private:
  static constexpr std::size_t most_blocks = 65536;

  static std::pmr::pool_options normalised(std::pmr::pool_options options) noexcept {
    std::size_t& largest = options.largest_required_pool_block;
    if (largest == 0) largest = 32 * 1024;
    largest = classes::size((classes::index)(detail::smaller(largest, classes::largest)));
    std::size_t& blocks = options.max_blocks_per_chunk;
    blocks = blocks == 0 ? most_blocks : detail::smaller(blocks, most_blocks);
    return options;
  }

  struct values {
    static constexpr bool nothrow = true;

    values(const store& s, const std::pmr::pool_options& o) noexcept : upstream(s), growth(o.max_blocks_per_chunk) {}
    template <class P>
    P get() const noexcept {
      if constexpr (std::is_same_v<P, store>) return upstream;
      else if constexpr (std::is_same_v<P, detail::optional_growth>) return growth;
      else return P{};
    }
    store upstream;
    detail::optional_growth growth;
  };

  /// An upstream that the program passes sees each larger request. The default heap doesn't.
  void pass_large() noexcept {
    if (upstream_.get() != std::pmr::new_delete_resource()) blocks_.keep_no_large();
  }
  /// One comparison for both bounds, the options' and the table's, and for requests of no bytes.
  TARN_STEP bool is_at_once(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes - 1 < most_at_once_ && alignment <= body::tabled_alignment;
  }
  TARN_NOINLINE void* allocate_slow(std::size_t bytes, std::size_t alignment) {
    void* block;
    if (bytes <= options_.largest_required_pool_block) {
      block = blocks_.allocate_or_null(bytes, alignment);
    } else {
      upstream_.take();  // from an earlier request, which was met otherwise
      block = blocks_.try_allocate_large(bytes, alignment);
    }
    return block != nullptr ? block : none(bytes, alignment);
  }
  TARN_NOINLINE void deallocate_slow(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes <= options_.largest_required_pool_block) blocks_.deallocate(block, bytes, alignment);
    else blocks_.deallocate_large(block);
  }
  /// Throws what upstream threw, or std::bad_alloc. What no address space has room for, the pools don't ask for: upstream is
  /// asked here, so that it says so itself.
  TARN_COLD void* none(std::size_t bytes, std::size_t alignment) {
    upstream_.rethrow();
    if (bytes > detail::size_limit / 2 || alignment > detail::size_limit / 2) {
      std::pmr::memory_resource& upstream = *upstream_.get();
      if (void* const all = upstream.allocate(bytes, alignment)) upstream.deallocate(all, bytes, alignment);
    }
    return detail::or_fail(nullptr);
  }

  detail::noted_upstream upstream_;
  std::pmr::pool_options options_;
  std::size_t most_at_once_ = detail::smaller(options_.largest_required_pool_block, body::tabled_bytes);
  body blocks_;
};

/// Blocks of one size from a pool; requests that don't fit into one go to upstream.
/// \tparam Pool  a pool<...>, a static_pool's body, or any type with allocate(), deallocate(), block_size(), block_alignment()
template <class Pool>
class block_resource : public std::pmr::memory_resource {
 public:
  /// Both must outlive the resource; `upstream` is not null.
  explicit block_resource(Pool& pool, std::pmr::memory_resource* upstream = std::pmr::get_default_resource()) noexcept
      : pool_(pool), upstream_(upstream) {}

  /// Return the constructor's arguments.
  Pool& pool() const noexcept { return pool_; }
  std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_; }

 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return fits(bytes, alignment) ? detail::must_allocate(pool_) : upstream_->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    if (fits(bytes, alignment)) pool_.deallocate(block);
    else if (block != nullptr) upstream_->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

 private:
  bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= pool_.block_size() && alignment <= pool_.block_alignment();
  }

  Pool& pool_;
  std::pmr::memory_resource* upstream_;
};

namespace pmr {

/// As the standard's resources of these names: classes derived from pool_resource.
class unsynchronized_pool_resource : public pool_resource<no_locking> {
 public:
  using pool_resource::pool_resource;
};
class synchronized_pool_resource : public pool_resource<shared_locking> {
 public:
  using pool_resource::pool_resource;
};

}  // namespace pmr

}  // namespace tarn

#endif  // TARN_ALLOCATOR_MEMORY_RESOURCE_H_
