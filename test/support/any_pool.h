// A pool behind virtual functions, so that what many compositions are tried with is compiled once; and what it holds.
#ifndef TARN_TEST_SUPPORT_ANY_POOL_H_
#define TARN_TEST_SUPPORT_ANY_POOL_H_

#include <cstddef>
#include <initializer_list>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <span>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {

/// The members that every pool has, and those that it may have. What can fail comes in two forms, of which `throws` chooses.
class any_pool {
 public:
  virtual ~any_pool() = default;

  bool throws = false;  // allocate(), allocate_batch() and reserve() are called, and what they throw becomes a null

  void* try_allocate() {
    return !throws ? get() : or_else<void*>(nullptr, [this] { return get_or_throw(); });
  }
  std::size_t try_allocate_batch(std::span<void*> out) {
    return !throws ? get(out) : or_else<std::size_t>(0, [&] { return get_or_throw(out); });
  }
  bool try_reserve(std::size_t blocks) {
    return !throws ? grow(blocks) : or_else(false, [&] { return grow_or_throw(blocks), true; });
  }

  // Those that throw, as they are.
  void* allocate() { return get_or_throw(); }
  std::size_t allocate_batch(std::span<void*> out) { return get_or_throw(out); }
  void reserve(std::size_t blocks) { grow_or_throw(blocks); }

  virtual void deallocate(void*) noexcept = 0;
  virtual void deallocate_batch(std::span<void* const>) noexcept = 0;
  virtual bool owns(const void*) const noexcept = 0;
  std::size_t block_size() const noexcept { return block_size_; }  // of every byte that the model writes
  virtual std::size_t block_alignment() const noexcept = 0;
  virtual std::size_t capacity() const noexcept = 0;

  // Without a value, or false: the pool has no such member.
  virtual std::optional<std::size_t> trim() noexcept = 0;
  virtual bool release() noexcept = 0;
  virtual std::optional<pool_counts> statistics() const noexcept = 0;
  virtual std::optional<pool_record> record() const noexcept = 0;  // in the registry

 protected:
  std::size_t block_size_ = 0;

 private:
  template <class T, class Call>
  static T or_else(T failed, Call call) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      return failed;
    }
  }

  virtual void* get() noexcept = 0;
  virtual void* get_or_throw() = 0;
  virtual std::size_t get(std::span<void*>) noexcept = 0;
  virtual std::size_t get_or_throw(std::span<void*>) = 0;
  virtual bool grow(std::size_t) noexcept = 0;
  virtual void grow_or_throw(std::size_t) = 0;
};

/// A pool that somebody else holds.
template <class Pool>
class erased_view : public any_pool {
 public:
  explicit erased_view(Pool& pool) : pool_(pool) { block_size_ = pool_.block_size(); }

  void deallocate(void* block) noexcept override { pool_.deallocate(block); }
  void deallocate_batch(std::span<void* const> blocks) noexcept override { pool_.deallocate_batch(blocks); }
  bool owns(const void* address) const noexcept override { return pool_.owns(address); }
  std::size_t block_alignment() const noexcept override { return pool_.block_alignment(); }
  std::size_t capacity() const noexcept override { return pool_.capacity(); }

  std::optional<std::size_t> trim() noexcept override {
    if constexpr (requires { pool_.trim(); }) return pool_.trim();
    else return std::nullopt;
  }
  bool release() noexcept override {
    if constexpr (requires { pool_.release(); }) return pool_.release(), true;
    else return false;
  }
  std::optional<pool_counts> statistics() const noexcept override {
    if constexpr (requires { pool_.statistics(); }) return pool_.statistics();
    else return std::nullopt;
  }
  std::optional<pool_record> record() const noexcept override {
    if constexpr (machinery_of<Pool>::is_listed)
      for (const pool_record& one : snapshot())
        if (one.address == &pool_) return one;
    return std::nullopt;
  }

 private:
  void* get() noexcept override { return pool_.try_allocate(); }
  void* get_or_throw() override { return pool_.allocate(); }
  std::size_t get(std::span<void*> out) noexcept override { return pool_.try_allocate_batch(out); }
  std::size_t get_or_throw(std::span<void*> out) override { return pool_.allocate_batch(out); }
  bool grow(std::size_t blocks) noexcept override { return pool_.try_reserve(blocks); }
  void grow_or_throw(std::size_t blocks) override { pool_.reserve(blocks); }

  Pool& pool_;
};

template <class Pool>
struct holder {
  Pool held;
};

template <class Pool>
class erased final : private holder<Pool>, public erased_view<Pool> {
 public:
  template <class... Given>
  explicit erased(const Given&... given) : holder<Pool>{Pool(given...)}, erased_view<Pool>(this->held) {}
};

/// What a pool holds of its upstreams, region by region: chunks, in which it owns addresses; memory for itself, which it has in
/// a list from region to region; and what is neither, and so lost.
struct footprint {
  std::size_t chunks = 0;
  std::size_t chunk_bytes = 0;
  std::size_t own = 0;
  std::size_t own_bytes = 0;
  std::size_t lost = 0;

  footprint(const any_pool& pool, std::initializer_list<const upstream*> memories) {
    std::map<const void*, const void*> links;
    const auto look_at = [&](const void* start, std::size_t bytes) {
      if (owns_some(pool, start, bytes)) {
        ++chunks;
        chunk_bytes += bytes;
        return;
      }
      const own_record& record = *static_cast<const own_record*>(start);
      if (bytes >= sizeof record && record.start == start && record.bytes == bytes) {
        links.emplace(start, record.next);
        ++own;
        own_bytes += bytes;
      } else {
        ++lost;
      }
    };
    for (const upstream* const memory : memories) memory->each_region(look_at);
    // One list: a single end, and each region but the first stands behind another.
    std::set<const void*> behind;
    std::size_t ends = 0;
    for (const auto& [start, next] : links) {
      if (next == nullptr) ++ends;
      else if (!links.contains(next) || !behind.insert(next).second) ++lost;
    }
    if (ends != (own != 0)) ++lost;
  }

 private:
  /// As detail::metadata_memory writes it in front of each region.
  struct own_record {
    const void* next;
    const void* start;
    std::size_t bytes;
  };
  /// From the end, where a chunk's blocks lie.
  static bool owns_some(const any_pool& pool, const void* start, std::size_t bytes) {
    const auto* const first = static_cast<const std::byte*>(start);
    const std::size_t step = pool.block_size();
    for (const std::byte* at = first + bytes - 1;; at -= step) {
      if (pool.owns(at)) return true;
      if (static_cast<std::size_t>(at - first) < step) return false;
    }
  }
};

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_ANY_POOL_H_
