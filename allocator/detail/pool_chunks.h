// The half of a pool that runs seldom: chunks come from the store and go back to it. It holds all of a pool but the checks of
// single blocks; pool_body adds what happens to them.
//
//   grow         (grow_guard) [core_guard: how many?] · store · supply · [core_guard: adopt]
//   supply       (grow_guard) memory that the layer needs for itself · store
//   give back    [grow_guard: [core_guard: unlink] · store]
//
// Lock order: grow_guard, then core_guard. A store runs under the grow_guard only.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_CHUNKS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_CHUNKS_H_

#include <cstddef>
#include <new>

#include "tarn/allocator/detail/chunk.h"
#include "tarn/allocator/detail/core.h"
#include "tarn/allocator/detail/environment.h"
#include "tarn/allocator/detail/supplier.h"
#include "tarn/policies/detail/config.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

struct inspector;

template <class Environment>
class pool_chunks {
 protected:
  using core_type = typename Environment::core;
  using layer_type = typename Environment::locking::template layer<core_type>;
  using geometry_type = typename Environment::geometry;
  using size_policy = typename Environment::size;
  using chunk = typename Environment::chunk;
  friend struct inspector;

 public:
  template <class Values>
  constexpr explicit pool_chunks(const Values& values) noexcept
      : layer_(geometry_type(values.template get<size_policy>()), values.template get<typename Environment::growth>(),
               values.template get<typename Environment::retention>()),
        supplier_(values),
        statistics_(values.template get<typename Environment::statistics>()) {}
  pool_chunks(const pool_chunks&) = delete;
  pool_chunks& operator=(const pool_chunks&) = delete;

#if TARN_EXCEPTIONS
  /// Gets chunks until capacity() is at least `blocks`.
  /// Throws: std::bad_alloc where the store or the growth policy refuses; the pool is as it was.
  void reserve(std::size_t blocks) {
    if (!try_reserve(blocks)) throw std::bad_alloc();
  }
#endif

  /// As reserve(), but returns whether it could.
  bool try_reserve(std::size_t blocks) noexcept {
    if (geometry().extent(blocks) > size_limit) return false;
    [[maybe_unused]] const auto growing = layer_.grow_guard();
    chunk* fresh = nullptr;
    std::size_t more = 0;
    for (std::size_t last = 0; capacity_under_guard() + more < blocks;) {
      chunk* const c = supplier_.fetch(layer_, last, more);
      if (c == nullptr) {
        supplier_.release(fresh, geometry());
        return false;
      }
      last = c->blocks;
      more += c->blocks;
      c->next = fresh;
      fresh = c;
    }
    if (!supply(fresh)) {
      supplier_.release(fresh, geometry());
      return false;
    }
    for (chunk *c = fresh, *next; c != nullptr; c = next) {
      next = c->next;
      adopt(*c);
    }
    if (fresh != nullptr) {
      layer_.expect(more);
      supply(nullptr);  // without it the next operations ask for themselves
    }
    return true;
  }

  /// Gives every chunk back to the store at once, in O(chunks). Every block of the pool ends, also those in use.
  /// Precondition: no other thread uses the pool.
  void release() noexcept
    requires(Environment::may_return_chunks)
  {
    [[maybe_unused]] const auto growing = layer_.grow_guard();
    return_all();
  }

  /// Gives the wholly free chunks back to the store. Returns their bytes. Looks at every free block.
  std::size_t trim() noexcept
    requires(Environment::may_return_chunks)
  {
    layer_.drain();
    [[maybe_unused]] const auto growing = layer_.grow_guard();
    return return_chunks([](core_type& core) { return core.unlink_empty(); });
  }

  /// Returns whether the address lies in the blocks of one of the pool's chunks: free, in use, or padding between two.
  bool owns(const void* address) const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().find(address) != nullptr;
  }

  /// Returns blocks in the pool's chunks, free or in use. A pool over a bounded store has them from the start.
  std::size_t capacity() const noexcept {
    if constexpr (Environment::store::bounded) {
      [[maybe_unused]] const auto growing = layer_.grow_guard();
      const std::size_t blocks = capacity_under_guard();
      return blocks != 0 ? blocks : supplier_.capacity_of_store(layer_.core());
    } else {
      return capacity_under_guard();
    }
  }

  /// Returns what the statistics policy counted.
  auto statistics() const noexcept
    requires(Environment::counts)
  {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return statistics_.read();
  }

 protected:
  bool grow() noexcept {
    chunk* const c = supplier_.fetch(layer_, 0, 0);
    if (c == nullptr) return false;
    if (!supply(c)) {
      supplier_.release(c, geometry());
      return false;
    }
    adopt(*c);
    return true;
  }
  void adopt(chunk& c) noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    layer_.adopt(c);
    statistics_.on_chunk(c.region.bytes);
  }

  /// Gives the chunk map and the layer what they lack to adopt a list of fresh chunks or, null, to go on. Returns whether the store could.
  bool supply(const chunk* fresh) noexcept {
    while (const std::size_t bytes = missing_in_map(fresh)) {
      const memory got = supplier_.fetch_own(bytes);
      if (!got) return false;
      [[maybe_unused]] const auto guard = layer_.core_guard();
      layer_.core().supply(got);
    }
    while (const std::size_t bytes = layer_.shortage(fresh)) {
      const memory got = supplier_.fetch_own(bytes);
      layer_.supply(got);
      if (!got) return false;
    }
    return true;
  }
  std::size_t missing_in_map(const chunk* fresh) const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().shortage(fresh);
  }
  /// After an operation that went well without: it doesn't wait for a thread that is at the store.
  TARN_COLD void feed() noexcept {
    if constexpr (Environment::keeps_memory && requires { layer_.try_grow_guard(); }) {
      if (const auto growing = layer_.try_grow_guard()) supply(nullptr);
    }
  }

  void return_all() noexcept {
    layer_.drop_all();
    return_chunks([](core_type& core) { return core.unlink_all(); });
    supplier_.drop_own();
    layer_.end();
  }

  /// The empty chunks go that the retention policy doesn't keep. Where another thread is at the store they stay until the next
  /// time: a free doesn't wait for it.
  TARN_COLD void give_surplus_back() noexcept {
    if constexpr (Environment::retention::returns_chunks) {
      const auto give = [this] { return_chunks([](core_type& core) { return core.unlink_surplus(core.keep()); }); };
      if constexpr (requires { layer_.try_grow_guard(); }) {
        if (const auto growing = layer_.try_grow_guard()) give();
      } else {
        [[maybe_unused]] const auto growing = layer_.grow_guard();
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

  std::size_t capacity_under_guard() const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().capacity();
  }
  const geometry_type& geometry() const noexcept { return layer_.core().geometry(); }

  layer_type layer_;  // first: the hot path reaches the list at offset 0
  TARN_NO_UNIQUE_ADDRESS supplier<Environment> supplier_;
  TARN_NO_UNIQUE_ADDRESS typename Environment::statistics::template part<Environment> statistics_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_CHUNKS_H_
