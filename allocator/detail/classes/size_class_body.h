// The body of a size_class_pool: a pool for each class, made when it is first needed, and blocks that are larger than any
// class. It has no destructor, so a static one is constant-initialised and never ends.
//
//   allocate     class by size → its pool: allocate        no pool yet: class_members::make      no class: try_allocate_large
//   deallocate   class by size (or by address, where chunks are tagged) → its pool: deallocate
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_

#include <cerrno>
#include <cstddef>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/classes/class_chunks.h"
#include "tarn/allocator/detail/classes/class_lookup.h"
#include "tarn/allocator/detail/classes/class_members.h"
#include "tarn/allocator/detail/classes/class_reports.h"
#include "tarn/allocator/detail/classes/large_blocks.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// \tparam Kept  the policies of the classes' pools that are made from values: kept_policies
template <class Classes, class Pool, class Chunks, class Locking, class Kept>
class size_class_body {
  using lookup = class_lookup<Classes>;
  static constexpr std::size_t none = lookup::none;
  using member = class_member<Pool>;
  static constexpr bool checks = inspector::can_refuse<Pool>();
  static constexpr bool waits = inspector::waits(static_cast<const Pool*>(nullptr));

 public:
  using classes = Classes;

  static constexpr bool is_for_one_thread = Locking::traits.one_thread;
  /// In bytes: that of std::max_align_t, or less if one of the listed classes has less.
  static constexpr std::size_t default_alignment = smaller(alignof(std::max_align_t), lookup::common_alignment);

  template <class Values>
  constexpr explicit size_class_body(const Values& values) noexcept
      : chunks_(values), kept_(values) {}
  size_class_body(const size_class_body&) = delete;

#if TARN_EXCEPTIONS
  /// Returns at least `bytes` bytes (one if `bytes` is 0), aligned to `alignment`, a power of two.
  /// Throws: std::bad_alloc if the store gives no memory; nothing has changed then.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* allocate(std::size_t bytes,
                                                                            std::size_t alignment = default_alignment) {
    if (member* const m = ready(bytes, alignment)) [[likely]]
      return m->pool.allocate();
    return allocate_slow_or_throw(bytes, alignment);
  }
#endif

  /// Like allocate(), but returns null if the store gives no memory. Never waits for a block.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* try_allocate(
      std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    if (member* const m = ready(bytes, alignment)) [[likely]]
      return m->pool.try_allocate();
    return allocate_slow(bytes, alignment, limit_of_try());
  }
  /// Like allocate(), but returns null where that throws.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* allocate_or_null(
      std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    if constexpr (waits) return allocate_for(bytes, alignment, waits_as_usual());
    else return try_allocate(bytes, alignment);
  }
  /// Like allocate(), but waits for a block of its class for at most `timeout`, as a pool's allocate_within(), and returns null
  /// when the time is over. A large block, which gets its own region, never waits.
  template <time_span Duration>
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* allocate_within(
      const Duration& timeout, std::size_t bytes, std::size_t alignment = default_alignment) noexcept
    requires(waits)
  {
    return allocate_for(bytes, alignment, waits_within{nanoseconds_of(timeout)});
  }

  /// Frees a block; null: does nothing. Precondition: allocate() returned it for the same size and alignment, or it is null.
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::at_once(bytes, alignment);
    if (i == none || block == nullptr) [[unlikely]] return deallocate_slow(block, bytes, alignment);
    give(i, block, bytes);
  }

  // ---- requests that the caller knows to be in the table: from 1 to tabled_bytes, aligned to tabled_alignment at most ------

  static constexpr std::size_t tabled_alignment = lookup::common_alignment;
  static constexpr std::size_t tabled_bytes = lookup::table_entries * tabled_alignment;

  /// As try_allocate(), but null where that takes a call.
  TARN_STEP void* hit_tabled(std::size_t bytes) noexcept {
    member* const m = members_.find(lookup::tabled(bytes));
    return m == nullptr ? nullptr : inspector::hit(m->pool);
  }
  /// Precondition: the block isn't null.
  TARN_STEP void deallocate_tabled(void* block, std::size_t bytes) noexcept { give(lookup::tabled(bytes), block, bytes); }

  // ---- blocks with a region of their own, whatever their size: as try_allocate() and deallocate() -----------------------

  [[nodiscard]] TARN_NOINLINE void* try_allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
    void* block = large_.allocate(chunks_, bytes, alignment, *this);
    if constexpr (Chunks::serves_large)
      if (block == nullptr && give_idle_back()) block = large_.allocate(chunks_, bytes, alignment, *this);
    if constexpr (Chunks::tells_later) chunks_.tell();
    if (Kept::for_malloc && block == nullptr) errno = ENOMEM;
    return block;
  }
  TARN_NOINLINE void deallocate_large(void* block) noexcept {
    if (!large_.deallocate(chunks_, block)) refuse({block, 0, 0});
  }

  // ---- by address alone --------------------------------------------------------------------------------------------------

  /// Frees a block; null: does nothing. Precondition: allocate() returned it, or it is null.
  void deallocate(void* block) noexcept
    requires(Chunks::tagged)
  {
    if (block == nullptr) return;
    if (member* const its = owner_of(block)) [[likely]] return its->pool.deallocate(block);
    deallocate_large(block);
  }
  /// The same. A checking policy refuses a size or an alignment that the block doesn't have.
  void deallocate_sized(void* block, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t alignment) noexcept
    requires(Chunks::tagged)
  {
    if constexpr (checks) {
      const std::size_t has = block == nullptr ? 0 : usable_size(block);
      if (has != 0 && (bytes > has || address_of(block) % alignment != 0)) return refuse({block, bytes, alignment});
    }
    deallocate(block);
  }
  /// Returns the size of a block in bytes. Precondition: as for deallocate(); it is not null.
  std::size_t usable_size(const void* block) const noexcept
    requires(Chunks::tagged)
  {
    const member* const its = owner_of(block);
    return its == nullptr ? large_.usable_size(block) : its->pool.block_size();
  }

  // ---- chunks before they are needed ---------------------------------------------------------------------------------------

#if TARN_EXCEPTIONS
  /// Gets chunks until the class of such requests has at least `blocks` blocks, in use or free: that many allocations then call
  /// no store, for example those of a container's nodes. O(blocks).
  /// Throws: std::bad_alloc if the store gives less, or such requests have no class; what came stays.
  void reserve(std::size_t blocks, std::size_t bytes, std::size_t alignment = default_alignment) {
    if (!try_reserve(blocks, bytes, alignment)) throw std::bad_alloc();
  }
#endif
  /// Like reserve(), but returns whether it succeeded.
  bool try_reserve(std::size_t blocks, std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::find(bytes, alignment);
    member* const m = i == none ? nullptr : made(i);
    const bool done = m != nullptr && m->pool.try_reserve(blocks);
    if constexpr (Chunks::tells_later) chunks_.tell();
    return done || blocks == 0;
  }

  // ---- all of it -----------------------------------------------------------------------------------------------------------

  /// Gives everything back to the store, including blocks in use. Precondition: no other thread uses the pool.
  void release() noexcept
    requires(Locking::traits.may_return_chunks)
  {
    chunks_.be_left_alone();
    each_pool([](std::size_t, Pool& p) { p.release(); });  // so that they end without a block in use
    drop_all();
  }
  /// The same at the owner's end, of which checking policies are told, and of blocks that are still in use.
  void end() noexcept {
    chunks_.be_left_alone();
    if constexpr (checks) large_.tell_end(as_owner(), !inspector::may_end_in_use<Pool>());
    drop_all();
    ended_ = true;
    if constexpr (checks) detail::keep_stores(this);  // so that a later call finds that it has ended
  }
  /// Gives the wholly free chunks of every class back to the store, and what a class without any keeps. Returns all bytes.
  std::size_t trim() noexcept
    requires(Locking::traits.may_return_chunks)
  {
    std::size_t bytes = 0;
    const std::size_t own = chunks_.own_bytes();
    each_pool([&](std::size_t, Pool& p) { bytes += p.trim(); });
    bytes = Chunks::tagged ? chunks_.trim() : bytes;
    return own - smaller(own, chunks_.own_bytes()) + bytes + large_.trim(chunks_);
  }

  /// As a pool's maintain(), for each class that has chunks, until one is left unfinished; and for the granules that classes
  /// share where blocks are freed by address, whose number the growth policy names then. Returns the last answer but `done`.
  template <class... Until>
  maintained maintain(const Until&... until) noexcept
    requires(requires(Pool& p) { p.maintain(until...); } || requires(Chunks& all) { all.maintain(until...); })
  {
    return members_.maintain(chunks_, until...);
  }

  /// Calls visit(class, pool) for each class that has a pool. Throws: what visit throws.
  template <class Visit>
  void each_pool(Visit visit) {
    members_.each(visit);
  }

  /// Returns the counts of blocks with a region of their own.
  large_counts large() const noexcept { return large_.read(); }

  /// Returns the size in bytes of the block that a request gets, or 0 if it gets a region of its own.
  static constexpr std::size_t class_size(std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::find(bytes, alignment);
    return i == none ? 0 : Classes::size(i);
  }

 private:
  using members_type = class_members<Classes, Pool, Chunks, Locking, Kept>;
  /// malloc's functions alone have granules that a large block costs the alignment of.
  static constexpr bool keeps_large = Kept::for_malloc && Chunks::serves_large && Kept::keeps_memory &&
                                      Locking::traits.may_return_chunks && platform::system::has_pages;
  using large_type = large_blocks<Chunks, Locking, checks, Kept::tells_in_use, keeps_large>;

  friend large_type;
  const char* name() const noexcept { return kept_.name(); }
  class_owner as_owner() const noexcept { return {this, kept_.name(), kept_.report, ended_}; }
  std::size_t report_large_in_use() const noexcept { return large_.report_in_use(as_owner()); }

  void drop_all() noexcept {
    large_.release_all(chunks_);
    members_.end(chunks_);
    chunks_.release_all();
  }

  /// After the store refused. Returns whether it got something.
  TARN_COLD bool give_idle_back() noexcept { return trim_idle(this) + chunks_.trim_if_idle() != 0; }
  /// Waits for no other thread.
  static std::size_t trim_idle(void* owner) noexcept {
    size_class_body& all = *static_cast<size_class_body*>(owner);
    std::size_t bytes = all.large_.trim(all.chunks_);
    all.each_pool([&](std::size_t, Pool& p) { bytes += inspector::trim_if_idle(p); });
    return bytes;
  }

  /// The pool of the block's class; null: it has none.
  TARN_STEP member* owner_of(const void* block) const noexcept { return static_cast<member*>(chunks_.owner_of(block)); }
  TARN_STEP member* ready(std::size_t bytes, std::size_t alignment) const noexcept {
    const std::size_t i = lookup::at_once(bytes, alignment);
    return i == none ? nullptr : members_.find(i);
  }

  /// The pool of a class; null: there is no memory for it.
  member* made(std::size_t i) noexcept {
    member* m = members_.find(i);
    if (m == nullptr) m = members_.make(i, chunks_, kept_, class_pools{this, trim_idle});
    if (m == nullptr && give_idle_back()) m = members_.make(i, chunks_, kept_, class_pools{this, trim_idle});
    return m;
  }
  template <class Limit>
  void* allocate_for(std::size_t bytes, std::size_t alignment, Limit limit) noexcept {
    if (member* const m = ready(bytes, alignment)) [[likely]]
      return inspector::allocate_or_null(m->pool, limit);
    return allocate_slow(bytes, alignment, limit);
  }
  template <class Limit>
  TARN_NOINLINE void* allocate_slow(std::size_t bytes, std::size_t alignment, Limit limit) noexcept {
    const std::size_t i = lookup::find(bytes, alignment);
    if (i == none) return try_allocate_large(bytes, alignment);
    member* const m = made(i);
    void* const block = m == nullptr ? nullptr : inspector::allocate_or_null(m->pool, limit);
    if constexpr (Chunks::tells_later) chunks_.tell();  // of the memory in which the class' pool lies
    return block;
  }
  TARN_NOINLINE void deallocate_slow(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block == nullptr) return;
    const std::size_t i = lookup::find(bytes, alignment);
    if (i != none) give(i, block, bytes);
    else if (!large_.deallocate(chunks_, block)) refuse({block, bytes, 0});
  }
  void give(std::size_t i, void* block, [[maybe_unused]] std::size_t bytes) noexcept {
    member* const m = members_.find(i);
    if (checks && m == nullptr) [[unlikely]] return refuse({block, bytes, 0});  // the class never had a block
    m->pool.deallocate(block);
  }
  TARN_COLD void refuse([[maybe_unused]] const refused_free& call) noexcept {
    if constexpr (checks) {
      std::size_t size = 0;
      if (call.block == nullptr) return;
      each_pool([&](std::size_t i, Pool& p) { size = p.owns(call.block) ? Classes::size(i) : size; });
      detail::report_refused(as_owner(), call, large_, size);
    }
  }
#if TARN_EXCEPTIONS
  TARN_NOINLINE void* allocate_slow_or_throw(std::size_t bytes, std::size_t alignment) {
    return detail::or_fail(allocate_slow(bytes, alignment, std::conditional_t<waits, waits_as_usual, limit_of_try>()));
  }
#endif

  members_type members_;  // first: the hot path finds them at offset 0
  Chunks chunks_;
  Kept kept_;
  large_type large_;
  bool ended_ = false;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_
