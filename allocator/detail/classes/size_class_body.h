// The body of a size_class_pool: a pool for each class, made when it is first needed, and blocks that are larger than any
// class. It has no destructor, so a static one is constant-initialised and never ends.
//
//   allocate     class by size → its pool: allocate        no pool yet: make_member      no class: try_allocate_large
//   deallocate   class by size (or by address, where chunks are tagged) → its pool: deallocate
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_

#include <cerrno>
#include <cstddef>
#include <new>

#include "tarn/allocator/detail/classes/class_chunks.h"
#include "tarn/allocator/detail/classes/class_lookup.h"
#include "tarn/allocator/detail/classes/class_places.h"
#include "tarn/allocator/detail/classes/class_reports.h"
#include "tarn/allocator/detail/classes/large_blocks.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/size/dynamic_size.h"

namespace tarn::detail {

/// \tparam Kept  the policies of the classes' pools that are made from values: kept_policies
template <class Classes, class Pool, class Chunks, class Locking, class Kept>
class size_class_body {
  using lookup = class_lookup<Classes>;
  static constexpr std::size_t none = lookup::none;
  using member = class_member<Pool>;
  static constexpr bool checks = inspector::can_refuse<Pool>();

 public:
  using classes = Classes;

  /// In bytes: that of std::max_align_t, or less if one of the listed classes has less.
  static constexpr std::size_t default_alignment = smaller(alignof(std::max_align_t), lookup::common_alignment);

  template <class Values>
  constexpr explicit size_class_body(const Values& values) noexcept
      : chunks_(values), kept_(values), large_(class_owner{this, kept_.name()}) {}
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

  /// Like allocate(), but returns null if the store gives no memory.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* try_allocate(
      std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    if (member* const m = ready(bytes, alignment)) [[likely]]
      return m->pool.try_allocate();
    return allocate_slow(bytes, alignment);
  }

  /// Frees a block; null: does nothing. Precondition: allocate() returned it for the same size and alignment, or it is null.
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::at_once(bytes, alignment);
    if (i == none || block == nullptr) [[unlikely]] return deallocate_slow(block, bytes, alignment);
    give(i, block, bytes);
  }

  // ---- blocks with a region of their own, whatever their size: as try_allocate() and deallocate() -----------------------

  [[nodiscard]] TARN_NOINLINE void* try_allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
    void* const block = large_.allocate(chunks_, bytes, alignment);
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
    const std::size_t i = chunks_.index_of(block);
    if (i == Chunks::large) [[unlikely]] return deallocate_large(block);
    members_[i].load(memory_order_acquire)->pool.deallocate(block);
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
    const std::size_t i = chunks_.index_of(block);
    return i == Chunks::large ? large_.usable_size(block) : Classes::size(i);
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
    if constexpr (checks) large_.tell_end(class_owner{this, kept_.name()});
    drop_all();
    ended_ = true;
    if constexpr (checks) keep_stores(this);  // so that a later call finds that it has ended
  }
  /// Gives the wholly free chunks of every class back to the store, and what a class without any keeps. Returns all bytes.
  std::size_t trim() noexcept
    requires(Locking::traits.may_return_chunks)
  {
    std::size_t bytes = 0;
    const std::size_t own = chunks_.own_bytes();
    each_pool([&](std::size_t, Pool& p) { bytes += p.trim(); });
    return own - smaller(own, chunks_.own_bytes()) + (Chunks::tagged ? chunks_.trim() : bytes);
  }

  /// Calls visit(class, pool) for each class that has a pool.
  template <class Visit>
  void each_pool(Visit visit) {
    for (std::size_t i = 0; i != Classes::count; ++i)
      if (member* const m = members_[i].load(memory_order_acquire)) visit(i, m->pool);
  }

  /// Returns the counts of blocks with a region of their own.
  large_counts large() const noexcept { return large_.read(); }

  /// Returns the size in bytes of the block that a request gets, or 0 if it gets a region of its own.
  static constexpr std::size_t class_size(std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::find(bytes, alignment);
    return i == none ? 0 : Classes::size(i);
  }

 private:
  using large_type = large_blocks<Chunks, Locking, checks, Kept::tells_in_use>;

  void drop_all() noexcept {
    large_.release_all(chunks_);
    for (std::size_t i = 0; i != Classes::count; ++i) {
      member* const m = members_[i].exchange(nullptr, memory_order_relaxed);
      if (m == nullptr) continue;
      const owned place = m->place;
      m->~member();
      places_.give(chunks_, place);
    }
    making_.leave();
    chunks_.release_all();
  }

  static std::size_t trim_idle(void* owner) noexcept {
    std::size_t bytes = 0;
    static_cast<size_class_body*>(owner)->each_pool([&](std::size_t, Pool& p) { bytes += inspector::trim_if_idle(p); });
    return bytes;
  }

  TARN_STEP member* ready(std::size_t bytes, std::size_t alignment) const noexcept {
    const std::size_t i = lookup::at_once(bytes, alignment);
    return i == none ? nullptr : members_[i].load(memory_order_acquire);
  }

  TARN_NOINLINE void* allocate_slow(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t i = lookup::find(bytes, alignment);
    if (i == none) return try_allocate_large(bytes, alignment);
    member* m = members_[i].load(memory_order_acquire);
    if (m == nullptr) m = make_member(i);
    return m == nullptr ? nullptr : m->pool.try_allocate();
  }
  TARN_NOINLINE void deallocate_slow(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block == nullptr) return;
    const std::size_t i = lookup::find(bytes, alignment);
    if (i != none) give(i, block, bytes);
    else if (!large_.deallocate(chunks_, block)) refuse({block, bytes, 0});
  }
  void give(std::size_t i, void* block, [[maybe_unused]] std::size_t bytes) noexcept {
    member* const m = members_[i].load(memory_order_acquire);
    if (checks && m == nullptr) [[unlikely]] return refuse({block, bytes, 0});  // the class never had a block
    m->pool.deallocate(block);
  }
  TARN_COLD void refuse([[maybe_unused]] const refused_free& call) noexcept {
    if constexpr (checks) {
      std::size_t size = 0;
      if (call.block == nullptr) return;
      each_pool([&](std::size_t i, Pool& p) { size = p.owns(call.block) ? Classes::size(i) : size; });
      report_refused(class_owner{this, kept_.name(), ended_}, call, large_, size);
    }
  }
#if TARN_EXCEPTIONS
  TARN_NOINLINE void* allocate_slow_or_throw(std::size_t bytes, std::size_t alignment) {
    return or_fail(allocate_slow(bytes, alignment));
  }
#endif

  /// Calls the store before it locks anything. If another thread was faster, returns that thread's pool.
  member* make_member(std::size_t i) noexcept {
    const owned place = places_.take(chunks_, i);
    if (!place) return nullptr;
    member *made = nullptr, *found;
    {
      const held lock(making_);
      found = members_[i].load(memory_order_relaxed);
      if (found == nullptr) {
        const class_pools all{this, trim_idle};
        chunks_.belong_to(all);
        made = kept_.give_to(chunks_, all, [&](const auto&... kept) {
          return ::new (place.region.start)
              member(place, dynamic_size{Classes::size(i), lookup::alignment(i)}, store_of_owner<Chunks>(&chunks_, i), kept...);
        });
        members_[i].store(made, memory_order_release);
      }
    }
    if (made == nullptr) places_.give(chunks_, place);
    return made != nullptr ? made : found;
  }

  atomic_word<member*> members_[Classes::count]{};
  Chunks chunks_;
  Kept kept_;
  TARN_NO_UNIQUE_ADDRESS owner_mutex<Locking> making_;
  large_type large_;
  TARN_NO_UNIQUE_ADDRESS class_places<member, Classes::count, Chunks::tagged> places_;
  bool ended_ = false;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_
