// How a pool gets chunks, and memory for itself. It holds all of a pool but the checks of single blocks.
//
//   grow      (grow_guard) [core_guard: how many?] · store · supply · [core_guard: adopt]
//   supply    (grow_guard) memory that the chunk map and the layer need for themselves · store
//
// Lock order: grow_guard, then core_guard. A store runs under the grow_guard only.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_POOL_GROWTH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_POOL_GROWTH_H_

#include <cstddef>

#include "tarn/allocator/detail/compose/environment.h"
#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/allocator/detail/core/core.h"
#include "tarn/allocator/detail/pool/supplier.h"
#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/reclaim_list.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

struct inspector;

template <class Environment>
class pool_growth {
 public:
  pool_growth(const pool_growth&) = delete;
  pool_growth& operator=(const pool_growth&) = delete;

 protected:
  using core_type = typename Environment::core;
  using layer_type = typename Environment::locking::template layer<core_type>;
  using geometry_type = typename Environment::geometry;
  using size_policy = typename Environment::size;
  using chunk = typename Environment::chunk;
  using attempt = typename supplier<Environment>::attempt;
  friend struct inspector;

  template <class Values>
  constexpr explicit pool_growth(const Values& values) noexcept
      : layer_(geometry_type(values.template get<size_policy>()), values.template get<typename Environment::growth>(),
               values.template get<typename Environment::retention>()),
        supplier_(values),
        statistics_(values.template get<typename Environment::statistics>()) {}

  /// The layer's guards; where the checking policy asks for that, they say that this thread is in a call of the pool.
  auto hot_guard() const noexcept {
    return in_call([this] { return layer_.guard(); });
  }
  auto core_guard() const noexcept {
    return in_call([this] { return layer_.core_guard(); });
  }
  auto call_guard() const noexcept {
    return in_call([] { return no_guard(); });
  }

  /// Held around the store.
  auto growth_guard() {
    return noted([this] { return layer_.grow_guard(); });
  }
  /// For whoever must not wait for another thread that is there.
  auto try_growth_guard()
    requires(Environment::locking::traits.can_try)
  {
    return noted([this] { return layer_.try_grow_guard(); });
  }

  /// Gets a chunk, with the grow guard held.
  bool grow(attempt& one) noexcept {
    const auto before = supplier_.extra();
    chunk* const c = supplier_.fetch(layer_, 0, 0, one);
    return c != nullptr && adopt_all(c, one, before);
  }
  /// Gets chunks until capacity() is at least `blocks`, or none.
  bool grow_to(std::size_t blocks, attempt& one) noexcept {
    [[maybe_unused]] const auto growing = growth_guard();
    const auto before = supplier_.extra();
    chunk* fresh = nullptr;
    std::size_t more = 0;
    for (std::size_t last = 0; capacity_under_guard() + more < blocks;) {
      chunk* const c = supplier_.fetch(layer_, last, more, one);
      if (c == nullptr) {
        supplier_.discard(fresh, geometry(), before);
        return false;
      }
      last = c->blocks;
      more += c->blocks;
      c->next = fresh;
      fresh = c;
    }
    if (fresh == nullptr) return true;
    if (!adopt_all(fresh, one, before)) return false;
    layer_.expect(more);
    supply(nullptr);  // without it the next operations ask for themselves
    return true;
  }
  /// With nothing held: whether to try again.
  bool retry(attempt& one) noexcept { return supplier_.retry(geometry().block_size(), one); }

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
  /// Tops up what the map and the layer keep for themselves; never blocks.
  TARN_COLD void feed() noexcept {
    if constexpr (Environment::keeps_memory && Environment::locking::traits.can_try) {
      if (const auto growing = try_growth_guard()) supply(nullptr);
    }
  }

  std::size_t capacity_under_guard() const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().capacity();
  }
  TARN_STEP const geometry_type& geometry() const noexcept { return layer_.core().geometry(); }
  /// What other pools ask this one through.
  reclaim_member& asked_through() noexcept
    requires(Environment::reclaims)
  {
    return supplier_.exhaustion_part().member();
  }

  layer_type layer_;  // first: the hot path reaches the list at offset 0
  TARN_NO_UNIQUE_ADDRESS supplier<Environment> supplier_;
  TARN_NO_UNIQUE_ADDRESS typename Environment::statistics::template part<Environment> statistics_;

 private:
  /// A guard, and a note that this thread is at the store: should the store ask for memory, it must not come back here.
  template <class Make>
  auto noted(Make make) {
    if constexpr (Environment::reclaims)
      return in_call([this, make] { return reclaim_member::at_store<decltype(make())>(asked_through(), make); });
    else
      return in_call(make);
  }
  template <class Make>
  auto in_call(Make make) const {
    if constexpr (Environment::tells_reentry) return framed<decltype(make())>(this, make);
    else return make();
  }

  /// All fresh chunks, or none: then they go back.
  template <class Counts>
  bool adopt_all(chunk* fresh, attempt& one, Counts before) noexcept {
    if (!supply(fresh)) {
      supplier_.discard(fresh, geometry(), before);
      one.store_refused = true;
      return false;
    }
    for (chunk *c = fresh, *next; c != nullptr; c = next) {
      next = c->next;
      [[maybe_unused]] const auto guard = layer_.core_guard();
      layer_.adopt(*c);
      statistics_.on_chunk(c->region.bytes);
    }
    return true;
  }
  std::size_t missing_in_map(const chunk* fresh) const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().shortage(fresh);
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_POOL_GROWTH_H_
