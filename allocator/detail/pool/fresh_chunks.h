// Chunks that a store gave and that aren't part of the pool yet: those of one growth, and the one that maintain() fills.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_FRESH_CHUNKS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_FRESH_CHUNKS_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/allocator/detail/core/chunk_tree.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system_pages.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// Chunks that were fetched and aren't part of the pool yet, linked by `next`; if a checking policy looks, also in a tree.
template <class State>
class fresh_chunks {
  using chunk = typename State::chunk;
  using geometry = typename State::traits::geometry;
  static constexpr bool looks = State::traits::checking::traits.refuses && !State::traits::one_chunk;
  struct no_map {};

 public:
  chunk* first() const noexcept { return first_; }
  void push(chunk& c, [[maybe_unused]] const geometry& g) noexcept {
    c.next = first_;
    first_ = detail::pointer_to(c);
    if constexpr (looks) map_.insert(c, g);
  }
  bool overlap(memory region) const noexcept {
    if constexpr (looks) return detail::overlaps(map_, region);
    else return false;
  }

 private:
  chunk* first_ = nullptr;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<looks, chunk_tree<chunk, geometry>, no_map> map_;
};

/// The chunk that maintain() got ahead and fills, a slice of its pages at a time. Changed under the growth guard; a slice is
/// filled with nothing held, so the chunk may meanwhile become the pool's, be used and be empty again. It must not go back to
/// the store before: wait_for_fillers().
template <class Traits>
class chunk_ahead {
  using chunk = typename Traits::chunk;

 public:
  static constexpr std::size_t slice_pages = 16;

  chunk* get() const noexcept { return chunk_; }
  std::size_t blocks() const noexcept { return chunk_ != nullptr ? chunk_->blocks : 0; }
  bool overlaps(memory region) const noexcept { return chunk_ != nullptr && detail::overlap(chunk_->region, region); }

  /// Precondition: there is none, and nobody fills.
  void begin(chunk& c) noexcept {
    chunk_ = detail::pointer_to(c);
    taken_ = 0;
    refused_.store(false, memory_order_relaxed);
  }
  /// It is the pool's, or goes back.
  chunk* end() noexcept { return detail::replace(chunk_, nullptr); }

  /// Pages that nobody has filled or fills; null: there are none. The caller fills them and calls filled().
  memory take_slice() noexcept {
    const std::size_t page = system_pages::page_bytes();
    auto* const start = static_cast<std::byte*>(chunk_->region.start);
    const std::size_t skew = address_of(start) % page;  // a heap's region starts in a page
    const std::size_t bytes = chunk_->region.bytes + skew;
    if (taken_ >= bytes) return {};
    const std::size_t at = replace(taken_, taken_ + slice_pages * page);
    fillers_.fetch_add(1, memory_order_relaxed);
    return {start - skew + at, smaller(slice_pages * page, bytes - at)};
  }
  void filled(bool well) noexcept {
    if (!well) refused_.store(true, memory_order_relaxed);
    if (fillers_.fetch_sub(1, memory_order_release) == (awaited | 1)) wake_all(fillers_.address());
  }
  bool is_being_filled() const noexcept { return fillers_.load(memory_order_acquire) != 0; }
  /// Somebody calls maintain(). The only change that needs no growth guard.
  void be_maintained() noexcept { maintained_.store(true, memory_order_relaxed); }
  bool is_maintained() const noexcept { return maintained_.load(memory_order_relaxed); }
  /// Whether the system refused memory for it.
  bool was_refused() const noexcept { return refused_.load(memory_order_relaxed); }

  /// Called under the growth guard, so that no slice begins. Waits for those that somebody fills: microseconds.
  void wait_for_fillers() noexcept {
    if (fillers_.load(memory_order_acquire) == 0) return;
    fillers_.fetch_or(awaited, memory_order_relaxed);
    for (unsigned seen = 0; (seen = fillers_.load(memory_order_acquire)) != awaited;) wait_while(fillers_.address(), seen);
    fillers_.store(0, memory_order_relaxed);
  }

 private:
  static constexpr unsigned awaited = 1u << 31;

  chunk* chunk_ = nullptr;
  std::size_t taken_ = 0;  // bytes, from the start of the chunk's first page on
  atomic_word<unsigned> fillers_ = 0;
  atomic_word<bool> refused_ = false;
  atomic_word<bool> maintained_ = false;
};

/// For a pool that doesn't grow ahead.
template <class Traits>
struct no_chunk_ahead {};
template <class Traits>
using chunk_ahead_of = std::conditional_t<Traits::grows_ahead, chunk_ahead<Traits>, no_chunk_ahead<Traits>>;

/// The blocks in it.
template <class State>
std::size_t blocks_ahead([[maybe_unused]] const State& s) noexcept {
  if constexpr (State::traits::grows_ahead) return s.ahead.blocks();
  else return 0;
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_FRESH_CHUNKS_H_
