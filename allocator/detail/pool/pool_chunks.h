// What a pool does with whole chunks: the members that ask for them, give them back, or count them. pool_growth is how they
// come; pool_body adds what happens to single blocks.
//
//   give back    [grow_guard: [core_guard: unlink] · store]
#ifndef TARN_ALLOCATOR_DETAIL_POOL_POOL_CHUNKS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_POOL_CHUNKS_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/pool/pool_growth.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/reclaim_list.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Environment>
class pool_chunks : protected pool_growth<Environment> {
 protected:
  using growth = pool_growth<Environment>;
  using typename growth::attempt;
  using typename growth::chunk;
  using typename growth::core_type;
  using typename growth::layer_type;
  using growth::asked_through;
  using growth::geometry;
  using growth::layer_;
  using growth::statistics_;
  using growth::supplier_;
  friend struct inspector;

  /// Nothing keeps threads apart.
  static constexpr bool is_confined = std::is_same_v<decltype(std::declval<const layer_type&>().core_guard()), no_guard>;
  /// By a thread that doesn't wait for others.
  static constexpr bool can_be_asked =
      Environment::may_return_chunks && (is_confined || Environment::locking::traits.can_try);

 public:
  using growth::growth;

#if TARN_EXCEPTIONS
  /// Gets chunks until capacity() is at least `blocks`.
  /// Throws: std::bad_alloc where the store or the growth policy refuses; the pool is as it was, but for empty chunks, which
  /// reclaim_and_retry may have given back.
  void reserve(std::size_t blocks) {
    if (!try_reserve(blocks)) throw std::bad_alloc();
  }
#endif

  /// As reserve(), but returns whether it could.
  bool try_reserve(std::size_t blocks) noexcept {
    if (geometry().extent(blocks) > size_limit) return false;
    attempt one;
    do {
      be_asked();
      if (growth::grow_to(blocks, one)) return true;
    } while (!Environment::hears_frees && growth::retry(one));  // it waits for a block, which would bring no chunk
    return false;
  }

  /// Gives every chunk back to the store at once, in O(chunks). Every block of the pool ends, also those in use.
  /// Precondition: no other thread uses the pool.
  void release() noexcept
    requires(Environment::may_return_chunks)
  {
    [[maybe_unused]] const auto growing = growth::growth_guard();
    return_all();
  }

  /// Gives the wholly free chunks back to the store. Returns their bytes. Looks at every free block.
  std::size_t trim() noexcept
    requires(Environment::may_return_chunks)
  {
    layer_.drain();
    [[maybe_unused]] const auto growing = growth::growth_guard();
    return return_chunks(empty_ones);
  }

  /// Returns whether the address lies in the blocks of one of the pool's chunks: free, in use, or padding between two.
  bool owns(const void* address) const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().find(address) != nullptr;
  }

  /// Returns blocks in the pool's chunks, free or in use. A pool over a bounded store has them from the start.
  std::size_t capacity() const noexcept {
    if constexpr (Environment::store::traits.bounded) {
      [[maybe_unused]] const auto growing = layer_.grow_guard();
      const std::size_t blocks = growth::capacity_under_guard();
      return blocks != 0 ? blocks : supplier_.capacity_of_store(layer_.core());
    } else {
      return growth::capacity_under_guard();
    }
  }

  /// Returns what the statistics policy counted.
  auto statistics() const noexcept
    requires(Environment::counts)
  {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return statistics_.read();
  }

  /// Returns what became of the pages that the store asked for: a page_report. It reads a file of the system, in about 5 ms for
  /// each GiB of small pages.
  auto pages() const noexcept
    requires(Environment::reports_pages)
  {
    [[maybe_unused]] const auto growing = layer_.grow_guard();
    return supplier_.pages();
  }

 protected:
  static constexpr auto empty_ones = [](core_type& core) { return core.unlink_empty(); };

  /// Before the pool's store is called: others may ask the pool from now on, where the exhaustion policy says so.
  void be_asked() noexcept {
    if constexpr (Environment::reclaims && can_be_asked) {
      const auto trim = [](void* self) noexcept { return static_cast<pool_chunks*>(self)->trim_if_idle(); };
      asked_through().enter(this, trim, is_confined);
    }
  }
  /// Before the pool ends.
  void be_left_alone() noexcept {
    if constexpr (Environment::reclaims) asked_through().leave();
  }

  void return_all() noexcept {
    layer_.drop_all();
    return_chunks([&](core_type& core) {
      if constexpr (Environment::statistics::traits.hears_release) statistics_.on_release();
      return core.unlink_all();
    });
    supplier_.drop_own();
    layer_.end();
  }

  /// The empty chunks go that the retention policy doesn't keep. Where another thread is at the store they stay until the next
  /// time: a free doesn't wait for it.
  TARN_COLD void give_surplus_back() noexcept {
    if constexpr (Environment::retention::traits.returns_chunks) {
      const auto give = [this] { return_chunks([](core_type& core) { return core.unlink_surplus(core.keep()); }); };
      if constexpr (Environment::locking::traits.can_try) {
        if (const auto growing = growth::try_growth_guard()) give();
      } else {
        [[maybe_unused]] const auto growing = growth::growth_guard();
        give();
      }
    }
  }
  template <class Unlink>
  std::size_t return_chunks(Unlink unlink) noexcept {
    chunk* leaving;
    {
      [[maybe_unused]] const auto guard = layer_.core_guard();
      leaving = unlink(layer_.core());
      for (const chunk* c = leaving; c != nullptr; c = c->next) statistics_.off_chunk(c->region.bytes);
    }
    return supplier_.release(leaving, geometry());
  }

 private:
  /// As trim(), for whoever must not wait.
  trimmed trim_if_idle() noexcept
    requires(can_be_asked)
  {
    if constexpr (is_confined) {
      return {trim()};
    } else {
      const auto growing = growth::try_growth_guard();
      if (!growing) return {0, true};
      layer_.drain();
      return {return_chunks(empty_ones)};
    }
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_POOL_CHUNKS_H_
