// Where the pools of a size_class_pool get their chunks: from one store for all of them, called by one thread at a time.
//
//   direct_chunks   straight from the store, each as large as the pool's growth policy says
//   tagged_chunks   granules of one size and alignment, cut from the store by a pool of their own. The first cache line of each
//                   names the class, so a block's address alone identifies it. A bounded store serves all classes
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_CHUNKS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_CHUNKS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"

namespace tarn::detail {

/// The traits that a store shared by several pools is given: none, since each pool has its own geometry.
struct owner_traits {};

struct no_mutex {
  using guard = held<no_mutex>;
  constexpr void lock() noexcept {}
  constexpr void unlock() noexcept {}
  constexpr void leave() noexcept {}
};

/// The mutexes for what all classes share; a store is called under the second. A fork knows them, until everything is released.
template <class Locking>
using owner_mutex = std::conditional_t<Locking::traits.one_thread, no_mutex, fork_mutex>;
template <class Locking>
using owner_store_mutex = std::conditional_t<Locking::traits.one_thread, no_mutex, fork_store_mutex>;

/// The store policy of a class's pool: its chunks come from the owner.
template <class Chunks>
class class_store {
 public:
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};

  constexpr class_store(Chunks* chunks, std::size_t index) noexcept : chunks_(chunks), index_(index) {}

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const class_store& store) noexcept : store_(store) {}
    memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      return store_.chunks_->acquire(bytes, alignment, store_.index_);
    }
    void release(memory region, std::size_t alignment) noexcept { store_.chunks_->release(region, alignment); }

   private:
    class_store store_;
  };

 private:
  Chunks* chunks_;
  std::size_t index_;
};

template <class Store, class Locking>
class direct_chunks {
  using lock = typename owner_store_mutex<Locking>::guard;

 public:
  static constexpr bool tagged = false;
  static constexpr std::size_t large_prefix = 0;

  template <class Values>
  constexpr explicit direct_chunks(const Values& values) noexcept : source_(values.template get<Store>()) {}

  memory acquire(std::size_t bytes, std::size_t alignment, std::size_t = 0) noexcept {
    [[maybe_unused]] const lock held(mutex_);
    [[maybe_unused]] const store_call_under<Locking> call;
    return source_.acquire(bytes, alignment);
  }
  void release(memory region, std::size_t alignment) noexcept {
    [[maybe_unused]] const lock held(mutex_);
    [[maybe_unused]] const store_call_under<Locking> call;
    source_.release(region, alignment);
  }
  memory acquire_large(std::size_t bytes, std::size_t alignment) noexcept { return acquire(bytes, alignment); }
  void release_large(memory region, std::size_t alignment) noexcept { release(region, alignment); }

  std::size_t trim() noexcept { return 0; }
  /// The owner ends.
  void release_all() noexcept {
    mutex_.leave();
    if constexpr (Store::traits.has_end) source_.end();
  }

 private:
  TARN_NO_UNIQUE_ADDRESS typename Store::template source<owner_traits> source_;
  TARN_NO_UNIQUE_ADDRESS owner_store_mutex<Locking> mutex_;
};

/// \tparam Growth   in granules
/// \tparam Granule  bytes, a power of two
template <class Store, class Locking, class Growth, std::size_t Granule>
class tagged_chunks {
  // The granules of one region are a multiple of their size apart, wherever it starts. So each must be aligned to that size
  // only where there can be more than one region. Otherwise more than a cache line, so that the pool doesn't colour them.
  static constexpr std::size_t granule_alignment = Store::traits.bounded ? 2 * cache_line : Granule;
  using granules = pool<static_size<Granule, granule_alignment>,
                        std::conditional_t<Locking::traits.one_thread, no_locking, mutex_locking<thread_aware_mutex>>, Growth,
                        Store, lifo_reuse<>>;
  struct alignas(cache_line) tag {
    std::size_t index;
  };

 public:
  static constexpr bool tagged = true;
  static constexpr bool serves_large = !Store::traits.bounded;
  static constexpr std::size_t large_prefix = sizeof(std::size_t);
  static constexpr std::size_t large = size_max;  // the index of blocks without a class
  static constexpr std::size_t room = Granule - sizeof(tag);

  template <class Values>
  constexpr explicit tagged_chunks(const Values& values) noexcept : granules_(values), large_(values) {}

  memory acquire(std::size_t bytes, std::size_t, std::size_t index) noexcept {
    void* const granule = bytes <= room ? granules_.try_allocate() : nullptr;
    if (granule == nullptr) return {};
    if constexpr (Store::traits.bounded) phase_.store(address_of(granule) % Granule, memory_order_relaxed);  // always the same
    return {::new (granule) tag{index} + 1, room};
  }
  void release(memory region, std::size_t) noexcept { granules_.deallocate(static_cast<tag*>(region.start) - 1); }

  memory acquire_large(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (serves_large) {
      const memory region = large_.acquire(bytes, alignment > Granule ? alignment : Granule);
      if (region) ::new (region.start) std::size_t{large};
      return region;
    }
    return {};
  }
  void release_large(memory region, std::size_t alignment) noexcept {
    if constexpr (serves_large) large_.release(region, alignment > Granule ? alignment : Granule);
  }

  /// The class of the block at that address, or `large`. Blocks of a class never start where a granule does.
  std::size_t index_of(const void* block) const noexcept {
    std::size_t offset = address_of(block) % Granule;
    if constexpr (Store::traits.bounded) offset = (offset - phase_.load(memory_order_relaxed)) % Granule;
    if (offset == 0) return large;
    return *std::launder(reinterpret_cast<const std::size_t*>(static_cast<const std::byte*>(block) - offset));
  }

  std::size_t trim() noexcept { return granules_.trim(); }
  void release_all() noexcept {
    granules_.release();
    inspector::end_stores(granules_);
    if constexpr (serves_large) large_.release_all();
  }

 private:
  struct no_large {
    template <class Values>
    constexpr explicit no_large(const Values&) noexcept {}
  };

  typename body_without_end<granules>::type granules_;
  atomic_word<std::size_t> phase_ = 0;  // where granules start, modulo their size
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Store::traits.bounded, no_large, direct_chunks<Store, Locking>> large_;
};

/// Every region from tagged_chunks has the same size, and all of it becomes the chunk.
struct whole_region {
  using axis = tarn::axis::growth;
  static constexpr growth_traits traits{};
  constexpr chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {1, unlimited}; }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_CHUNKS_H_
