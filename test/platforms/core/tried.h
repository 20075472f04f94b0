// A pool behind virtual functions: what all compositions are tried with is compiled once.
#ifndef TARN_TEST_PLATFORMS_CORE_TRIED_H_
#define TARN_TEST_PLATFORMS_CORE_TRIED_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/test/platforms/core/rows.h"

#if TARN_TEST_LIBRARY
#include <memory_resource>
#endif

namespace tarn::test {

struct tried {
  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);

  virtual void* take() noexcept = 0;
  virtual std::size_t take(void** out, std::size_t n) noexcept = 0;
  virtual void give(void* block) noexcept = 0;
  virtual void give(void* const* blocks, std::size_t n) noexcept = 0;
  virtual bool owns(const void* address) const noexcept = 0;
  virtual bool reserve(std::size_t blocks) noexcept = 0;
  virtual std::size_t block_size() const noexcept = 0;
  virtual std::size_t block_alignment() const noexcept = 0;
  virtual std::size_t capacity() const noexcept = 0;
  virtual std::size_t trim() noexcept = 0;  // unknown: the pool can't
  virtual bool release() noexcept = 0;  // false: the pool can't
  virtual std::size_t in_use() const noexcept = 0;  // unknown: the pool doesn't count

  bool ends = false;  // there is a number of blocks after which it has no more
  bool can_refuse = false;  // refuse() makes its store give nothing
  bool finds_misuse = false;
  bool reclaims = false;  // before it gives up, its own idle chunks go back

 protected:
  ~tried() = default;
};

#if TARN_TEST_LIBRARY
/// Memory that a row's resource_store takes, and that refuses as kinds_budget does.
class refusing_resource final : public std::pmr::memory_resource {
 public:
  bool refuses = false;
  std::size_t outstanding = 0;  // bytes

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const region = refuses ? nullptr : ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
#if TARN_EXCEPTIONS
    if (region == nullptr) throw std::bad_alloc();
#endif
    if (region != nullptr) outstanding += bytes;
    return region;
  }
  void do_deallocate(void* region, std::size_t bytes, std::size_t alignment) override {
    outstanding -= bytes;
    ::operator delete(region, std::align_val_t{alignment});
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};
#else
struct refusing_resource {
  bool refuses = false;
  std::size_t outstanding = 0;
};
#endif

/// What a row's pool may be made of; of one row at a time.
struct provisions {
  refusing_resource upstream;
  alignas(64) unsigned char buffer[64 * 1024 + 13];
  void refuse(bool on) noexcept {
    upstream.refuses = on;
    kinds_budget.set_limit(on ? 0 : unlimited);
  }
};
alignas(64) inline constinit unsigned char pool_place[160 * 1024] = {};
provisions& provided() noexcept;
void try_all(tried& pool) noexcept;  // all that model.cc has

template <class Pool>
class tried_as final : public tried {
 public:
  explicit tried_as(Pool& pool) noexcept : pool_(pool) {}

  void* take() noexcept override { return pool_.try_allocate(); }
  std::size_t take(void** out, std::size_t n) noexcept override { return pool_.try_allocate_batch(span<void*>(out, n)); }
  void give(void* block) noexcept override { pool_.deallocate(block); }
  void give(void* const* blocks, std::size_t n) noexcept override { pool_.deallocate_batch(span<void* const>(blocks, n)); }
  bool owns(const void* address) const noexcept override { return pool_.owns(address); }
  bool reserve(std::size_t blocks) noexcept override { return pool_.try_reserve(blocks); }
  std::size_t block_size() const noexcept override { return pool_.block_size(); }
  std::size_t block_alignment() const noexcept override { return pool_.block_alignment(); }
  std::size_t capacity() const noexcept override { return pool_.capacity(); }
  std::size_t trim() noexcept override {
    if constexpr (requires { pool_.trim(); }) return pool_.trim();
    else return unknown;
  }
  bool release() noexcept override {
    constexpr bool possible = requires { pool_.release(); };
    if constexpr (possible) pool_.release();
    return possible;
  }
  std::size_t in_use() const noexcept override {
    if constexpr (requires { pool_.statistics(); }) return pool_.statistics().in_use;
    else return unknown;
  }

 private:
  Pool& pool_;
};

/// A memory_resource refuses by throwing: compilers may rely on it that it returns no null.
template <class Store>
inline constexpr bool can_refuse = std::is_same_v<Store, resource_store> && TARN_EXCEPTIONS;
template <class Inner>
inline constexpr bool can_refuse<budgeted<Inner, &kinds_budget>> = true;
template <class Checking>
inline constexpr bool finds_misuse = false;
template <class... Options>
inline constexpr bool finds_misuse<hardened_with<Options...>> = true;
template <class... Options>
inline constexpr bool finds_misuse<checked_with<Options...>> = true;

/// Makes a pool of the row in `place`. A size that is given at run time is 48 bytes, aligned to 16.
template <class Pool, class Size, class Store>
Pool* make_pool(void* place) noexcept {
  [[maybe_unused]] const dynamic_size size{48, 16};
  // Not at its start, so that a store that forgets to align is found.
  auto* const buffer = reinterpret_cast<std::byte*>(provided().buffer);
  [[maybe_unused]] const buffer_store in_buffer{span<std::byte>(buffer + 5, 64 * 1024)};
  constexpr bool sized = std::is_same_v<Size, dynamic_size>;
  if constexpr (std::is_same_v<Store, buffer_store>) {
    if constexpr (sized) return ::new (place) Pool(in_buffer, size);
    else return ::new (place) Pool(in_buffer);
  } else if constexpr (std::is_same_v<Store, resource_store>) {
    if constexpr (sized) return ::new (place) Pool(size, Store(&provided().upstream));
    else return ::new (place) Pool(Store(&provided().upstream));
  } else {
    if constexpr (sized) return ::new (place) Pool(size);
    else return ::new (place) Pool();
  }
}

/// Calls f with a pool of that type, and ends the pool.
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
void with_pool(void (*f)(tried&), std::type_identity<basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion,
                                                                Checking, Statistics, Name>>) noexcept {
  using pool_type = basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>;
  static_assert(sizeof(pool_type) <= sizeof pool_place && alignof(pool_type) <= 64);
  pool_type* const made = make_pool<pool_type, Size, Store>(pool_place);
  {
    tried_as<pool_type> view(*made);
    view.ends =
        Store::traits.bounded || Growth::traits.max_chunks == 1 || std::is_same_v<Growth, geometric_growth<8, 64, 3, 600>>;
    view.can_refuse = can_refuse<Store>;
    view.finds_misuse = finds_misuse<Checking>;
    view.reclaims = Exhaustion::traits.reclaims;
    f(view);
  }
  made->~pool_type();
}

}  // namespace tarn::test

#endif  // TARN_TEST_PLATFORMS_CORE_TRIED_H_
