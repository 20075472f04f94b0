// The body of a size_class_pool: a pool for each class, made when it is first needed, and blocks that are larger than any
// class. It has no destructor, so a static one is constant-initialised and never ends.
//
//   allocate     class by size → its pool: allocate        no pool yet: make_member      no class: try_allocate_large
//   deallocate   class by size (or by address, where chunks are tagged) → its pool: deallocate
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_

#include <array>
#include <cstddef>
#include <new>
#include <utility>

#include "tarn/allocator/detail/classes/class_chunks.h"
#include "tarn/allocator/detail/classes/class_lookup.h"
#include "tarn/allocator/detail/classes/large_blocks.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"

namespace tarn::detail {

template <class Classes, class Pool, class Growth, class Chunks, class Locking>
class size_class_body {
  using lookup = class_lookup<Classes>;
  static constexpr std::size_t none = lookup::none;

 public:
  using classes = Classes;

  /// In bytes: that of std::max_align_t, or less if one of the listed classes has less.
  static constexpr std::size_t default_alignment = smaller(alignof(std::max_align_t), lookup::common_alignment);

  template <class Values>
  constexpr explicit size_class_body(const Values& values) noexcept : chunks_(values), growth_(values.template get<Growth>()) {}
  size_class_body(const size_class_body&) = delete;
  size_class_body& operator=(const size_class_body&) = delete;

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

  /// Frees a block. Precondition: allocate() returned it for the same size and alignment; it is not null, unless the size is 0.
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::at_once(bytes, alignment);
    if (i == none) [[unlikely]]
      return deallocate_slow(block, bytes, alignment);
    give(i, block, bytes);
  }

  // ---- blocks with a region of their own, whatever their size: as try_allocate() and deallocate() -----------------------

  [[nodiscard]] TARN_NOINLINE void* try_allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
    return large_.allocate(chunks_, bytes, alignment);
  }
  TARN_NOINLINE void deallocate_large(void* block) noexcept {
    if (block != nullptr) large_.deallocate(chunks_, block);
  }

  // ---- by address alone --------------------------------------------------------------------------------------------------

  /// Frees a block. Precondition: allocate() returned it; it is not null.
  void deallocate(void* block) noexcept
    requires(Chunks::tagged)
  {
    const std::size_t i = chunks_.index_of(block);
    if (i == Chunks::large) [[unlikely]]
      return deallocate_large(block);
    members_[i].load(memory_order_acquire)->pool.deallocate(block);
  }
  /// Returns the size of a block in bytes. Precondition: as for deallocate().
  std::size_t usable_size(const void* block) const noexcept
    requires(Chunks::tagged)
  {
    const std::size_t i = chunks_.index_of(block);
    return i == Chunks::large ? large_type::usable_size(block) : Classes::size(i);
  }

  // ---- all of it -----------------------------------------------------------------------------------------------------------

  /// Gives everything back to the store, including blocks in use. Precondition: no other thread uses the pool.
  void release() noexcept {
    each_pool([](std::size_t, Pool& p) { p.release(); });  // so that close() finds no block in use
    close();
  }
  /// Gives the wholly free chunks of every class back to the store. Returns how many bytes.
  std::size_t trim() noexcept {
    std::size_t bytes = 0;
    each_pool([&](std::size_t, Pool& p) { bytes += p.trim(); });
    return Chunks::tagged ? chunks_.trim() : bytes;
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

 protected:
  /// What the destructor of a pool object does. Checking policies are told of blocks that are still in use.
  void close() noexcept {
    large_.release_all(chunks_);
    for (std::size_t i = 0; i != Classes::count; ++i) {
      member* const m = members_[i].exchange(nullptr, memory_order_relaxed);
      if (m == nullptr) continue;
      const memory place = m->place;
      m->~member();
      unplace(place);
    }
    making_.leave();
    chunks_.release_all();
  }

 private:
  using large_type = large_blocks<Chunks, Locking>;

  /// The pool of a class, and the memory in which it lies.
  struct member {
    member(dynamic_size size, class_store<Chunks> store, const Growth& growth, memory where) noexcept
        : pool(size, store, growth), place(where) {}
    Pool pool;  // first: the hot path reaches it at offset 0
    memory place;
  };

  member* ready(std::size_t bytes, std::size_t alignment) const noexcept {
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
    if (block == nullptr) return;  // 0 bytes always come here
    const std::size_t i = lookup::find(bytes, alignment);
    if (i == none) return deallocate_large(block);
    give(i, block, bytes);
  }
  void give(std::size_t i, void* block, [[maybe_unused]] std::size_t bytes) noexcept {
    member* const m = members_[i].load(memory_order_acquire);
    if constexpr (inspector::can_refuse<Pool>()) {
      if (m == nullptr) [[unlikely]] return refuse_size(i, block, bytes);
    }
    m->pool.deallocate(block);
  }
  /// The class never had a block.
  TARN_COLD void refuse_size(std::size_t i, void* block, std::size_t bytes) noexcept {
    misuse what;
    what.kind = misuse_kind::wrong_size;
    what.pool = this;
    what.block_size = Classes::size(i);
    what.address = block;
    what.size = bytes;
    report_misuse(what);
  }
#if TARN_EXCEPTIONS
  TARN_NOINLINE void* allocate_slow_or_throw(std::size_t bytes, std::size_t alignment) {
    return or_fail(allocate_slow(bytes, alignment));
  }
#endif

  /// Calls the store before it locks anything. If another thread was faster, returns that thread's pool.
  member* make_member(std::size_t i) noexcept {
    const memory place = place_for(i);
    if (!place) return nullptr;
    member* made = nullptr;
    member* found;
    {
      const held lock(making_);
      found = members_[i].load(memory_order_relaxed);
      if (found == nullptr) {
        made = ::new (place.start)
            member(dynamic_size{Classes::size(i), lookup::alignment(i)}, class_store<Chunks>(&chunks_, i), growth_, place);
        members_[i].store(made, memory_order_release);
      }
    }
    if (made == nullptr) unplace(place);
    return made != nullptr ? made : found;
  }

  // Where the pools themselves lie: in the store's memory, so that the owner stays small, or in the owner if the store's memory
  // comes in granules.
  struct inside {
    union room_for_all {
      std::byte none = {};  // the initial member: a constant that takes no space in the executable
      alignas(member) std::byte members[Classes::count * sizeof(member)];
    } room;
  };
  struct outside {};

  memory place_for(std::size_t i) noexcept {
    if constexpr (Chunks::tagged) return {places_.room.members + i * sizeof(member), sizeof(member)};
    else return chunks_.acquire(sizeof(member), alignof(member));
  }
  void unplace(memory place) noexcept {
    if constexpr (!Chunks::tagged) chunks_.release(place, alignof(member));
  }

  std::array<atomic_word<member*>, Classes::count> members_{};
  Chunks chunks_;
  TARN_NO_UNIQUE_ADDRESS Growth growth_;
  TARN_NO_UNIQUE_ADDRESS owner_mutex<Locking> making_;
  large_type large_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Chunks::tagged, inside, outside> places_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_
