// A pool of any composition, with what its constructor needs (a size, a buffer, a resource); and facts of its policies.
#ifndef TARN_TEST_SUPPORT_RIG_H_
#define TARN_TEST_SUPPORT_RIG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {

/// Blocks that a checking policy has on pages of its own: they lie in no chunk, and no capacity counts them. Tested pools
/// sample each block while such a slot is free, so that it is known how many there are.
template <class Checking>
inline constexpr std::size_t slots_of = 0;
template <class Then, std::uint32_t Slots>
inline constexpr std::size_t slots_of<sampled_guard_pages<1, Then, Slots>> = Slots;

/// Whether regions are whole pages.
template <class Store>
inline constexpr bool gives_pages = false;
template <class... Options>
inline constexpr bool gives_pages<page_store<Options...>> = true;
template <class Inner, memory_budget* Budget>
inline constexpr bool gives_pages<budgeted<Inner, Budget>> = gives_pages<Inner>;

/// What follows from the policies of a pool.
template <class Pool>
struct facts : anatomy<Pool> {
  using is = anatomy<Pool>;
  /// It asks the store for memory besides its chunks, which release() and the destructor give back.
  static constexpr bool keeps_memory =
      is::locking::traits.keeps_memory || is::reuse::traits.finds_chunks || is::checking::traits.finds_chunks;
  static constexpr bool sees_empty_chunks = is::reuse::traits.sees_empty_chunks;
  static constexpr bool returns_chunks = is::retention::traits.returns_chunks;
  static constexpr bool returns_pages = is::retention::traits.returns_pages;
  static constexpr bool keeps_blocks = is::locking::traits.keeps_blocks;
  static constexpr bool may_return_chunks = is::locking::traits.may_return_chunks;
  /// Blocks that were never handed out come in no order.
  static constexpr bool shuffles = is::checking::traits.shuffles;
  /// Blocks that a pool has beside those of its chunks. Batches get none of them.
  static constexpr std::size_t beside = slots_of<typename is::checking>;
  static_assert(beside != 0 || !is::checking::traits.samples);
  static constexpr bool whole_pages = gives_pages<typename is::store>;
  /// Its blocks are an array in it and that is all: they are its own before the first is handed out, and after release().
  static constexpr bool in_place = !requires(const Pool& pool) { pool.store(); };
  static constexpr bool over_resource = std::same_as<typename is::store, resource_store>;
  /// There is a number of blocks after which the pool has no more.
  static constexpr bool ends = is::store::traits.bounded || is::growth::traits.max_chunks == 1 ||
                               std::same_as<typename is::growth, geometric_growth<8, 64, 3, 20000>>;
};

/// trim() and release() of a pool that has them.
template <class Pool>
std::size_t trim_if_possible(Pool& pool) {
  if constexpr (requires { pool.trim(); }) return pool.trim();
  else return 0;
}
template <class Pool>
bool release_if_possible(Pool& pool) {
  constexpr bool possible = requires { pool.release(); };
  if constexpr (possible) pool.release();
  return possible;
}

template <class Pool>
class rig : public facts<Pool> {
  using f = facts<Pool>;

 public:
  static constexpr std::size_t buffer_bytes = 1200 * 1024 + 13;

  /// A size that is given at run time is 48 bytes, aligned to 16.
  rig() : rig(std::type_identity<typename f::size>{}, std::type_identity<typename f::store>{}) {}
  rig(const rig&) = delete;
  rig& operator=(const rig&) = delete;

  test::upstream upstream;

 private:
  std::vector<std::byte> buffer_ = std::vector<std::byte>(std::same_as<typename f::store, buffer_store> ? buffer_bytes : 0);

 public:
  Pool pool;

 private:
  template <class Size, class Store>
  rig(std::type_identity<Size>, std::type_identity<Store>) : pool() {}
  template <class Size>
  rig(std::type_identity<Size>, std::type_identity<buffer_store>) : pool(in_buffer()) {}
  template <class Size>
  rig(std::type_identity<Size>, std::type_identity<resource_store>) : pool(resource_store{&upstream}) {}
  template <class Store>
  rig(std::type_identity<dynamic_size>, std::type_identity<Store>) : pool(block()) {}
  rig(std::type_identity<dynamic_size>, std::type_identity<buffer_store>) : pool(in_buffer(), block()) {}
  rig(std::type_identity<dynamic_size>, std::type_identity<resource_store>) : pool(block(), resource_store{&upstream}) {}

  static dynamic_size block() { return dynamic_size{48, 16}; }
  // Not at the start, so that a store which forgets to align is found.
  buffer_store in_buffer() { return buffer_store{std::span(buffer_).subspan(5)}; }
};

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_RIG_H_
