// Memory that a pool needs for itself besides its chunks, such as a thread cache's arrays. It comes from the pool's own store,
// under the growth guard, and stays until all of the pool's memory is given back.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_METADATA_MEMORY_H_
#define TARN_ALLOCATOR_DETAIL_POOL_METADATA_MEMORY_H_

#include <cstddef>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Calls a store for it.
template <class Source, bool Apart>
struct store_of_metadata {
  Source& source;
  memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (Apart) return source.acquire_own(bytes, alignment);
    else return source.acquire(bytes, alignment);
  }
  void release(memory region, std::size_t alignment) noexcept {
    if constexpr (Apart) source.release_own(region, alignment);
    else source.release(region, alignment);
  }
};

/// A list of regions, linked through a record in front of each.
class metadata_memory {
 public:
  /// At least `bytes`, aligned to a cache line. Null: the store refuses, or what it gives isn't sound(region, alignment).
  /// `second`: the store is the second of two. A Call is held while a store is called, and while nothing here changes.
  template <class Call, class Source, class Sound>
  memory fetch(Source&& from, std::size_t bytes, Sound sound, bool second = false) noexcept {
    if (bytes > size_limit - cache_line) return {};
    memory all;
    {
      [[maybe_unused]] const Call call;
      all = from.acquire(cache_line + bytes, cache_line);
    }
    if (!all || !sound(all, cache_line)) return {};
    first_ = ::new (all.start) record{first_, all, second};
    return {static_cast<std::byte*>(all.start) + cache_line, all.bytes - cache_line};
  }
  bool overlaps(memory region) const noexcept {
    const record* r = first_;
    while (r != nullptr && !overlap(r->region, region)) r = r->next;
    return r != nullptr;
  }
  /// Gives all of it back to where it came from.
  template <class Call, class Source, class Second>
  void drop(Source&& to, Second&& second) noexcept {
    while (first_ != nullptr) {
      const record last = *first_;  // the record lies in the region
      first_ = last.next;
      [[maybe_unused]] const Call call;
      if (last.second) second.release(last.region, cache_line);
      else to.release(last.region, cache_line);
    }
  }

 private:
  struct record {
    record* next;
    memory region;
    bool second;
  };
  static_assert(sizeof(record) <= cache_line);

  record* first_ = nullptr;
};

/// For a pool that needs none.
struct no_metadata_memory {
  template <class Call, class Source, class Sound>
  TARN_STEP static memory fetch(Source&&, std::size_t, Sound, bool = false) noexcept {
    return {};
  }
  static constexpr bool overlaps(memory) noexcept { return false; }
  template <class Call, class Source, class Second>
  TARN_STEP static void drop(Source&&, Second&&) noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_METADATA_MEMORY_H_
