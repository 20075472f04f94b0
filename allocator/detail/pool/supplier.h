// Supplies a pool with chunks: the store, and the second store that an exhaustion policy may bring. Called with the grow guard
// held; it takes the core guard by itself, never around a store.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_SUPPLIER_H_
#define TARN_ALLOCATOR_DETAIL_POOL_SUPPLIER_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/pool/own_memory.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

struct no_attempt {};
template <class Part, bool Keeps>
struct attempt_of {
  using type = no_attempt;
};
template <class Part>
struct attempt_of<Part, true> {
  using type = typename Part::attempt;
};

template <class Environment>
class supplier {
  using chunk = typename Environment::chunk;
  using geometry_type = typename Environment::geometry;
  using layout = typename Environment::layout;
  using source = typename Environment::store::template source<Environment>;
  using exhaustion = typename Environment::exhaustion::template part<Environment>;

 public:
  template <class Values>
  constexpr explicit supplier(const Values& values) noexcept
      : source_(values.template get<typename Environment::store>()),
        exhaustion_(values.template get<typename Environment::exhaustion>()) {}

  /// What is kept for one operation that found nothing.
  struct attempt {
    TARN_NO_UNIQUE_ADDRESS typename attempt_of<exhaustion, Environment::exhaustion::traits.keeps_attempt>::type own;
    bool store_refused = false;
  };

  /// A fresh chunk that is not part of the pool yet, or null: growth or store refused, and nothing has changed. `last` and
  /// `more`: blocks in the newest and in all chunks that were fetched before and not adopted.
  template <class Layer>
  chunk* fetch(Layer& layer, std::size_t last, std::size_t more, attempt& one) noexcept {
    const geometry_type& g = layer.core().geometry();
    chunk_request request;
    {
      [[maybe_unused]] const auto guard = layer.core_guard();
      request = layer.core().next_chunk(last, more);
    }
    if (Environment::store::traits.bounded) request.wanted = smaller(request.wanted, 1);  // it gives all it has
    if (chunk* const c = fetch_from(source_, layer, request)) return c;
    if constexpr (Environment::exhaustion::traits.extra_chunks != 0) {
      chunk* const c = fetch_from(exhaustion_, layer, exhaustion_.next_chunk(extra_.newest, extra_.blocks, g.stride()));
      if (c != nullptr) {
        c->from_fallback = true;
        extra_.newest = c->blocks;
        extra_.blocks += c->blocks;
      }
      return c;
    }
    one.store_refused = request.wanted != 0;
    return nullptr;
  }

  /// What growth of the second store goes by; a list of fresh chunks that isn't adopted goes back with what it was before.
  auto extra() const noexcept { return extra_; }
  template <class Counts>
  void discard(chunk* fresh, const geometry_type& g, Counts before) noexcept {
    release(fresh, g);
    extra_ = before;
  }

  /// Gives a list of chunks, linked by `next`, back to where they came from. Returns their bytes.
  std::size_t release(chunk* c, const geometry_type& g) noexcept {
    std::size_t bytes = 0;
    while (c != nullptr) {
      const memory region = c->region;
      const bool from_fallback = c->from_fallback;
      memory_tools::hand_out(c->first, g.extent(c->blocks));
      if constexpr (Environment::exhaustion::traits.extra_chunks != 0) {
        if (from_fallback && (extra_.blocks -= c->blocks) == 0) extra_.newest = 0;
      }
      c = c->next;  // the record may lie in the region
      bytes += region.bytes;
      if (from_fallback)
        exhaustion_.release(region, Environment::chunk_alignment(g));
      else
        source_.release(region, Environment::chunk_alignment(g));
    }
    return bytes;
  }

  /// At least `bytes` for the pool itself, or null. They stay until drop_own().
  memory fetch_own(std::size_t bytes) noexcept {
    memory got;
    const auto sound = [this](memory region, std::size_t alignment) { return is_aligned(region, alignment); };
    if constexpr (!Environment::store::traits.bounded) got = own_.fetch(source_, bytes, sound);  // it would give all that it has
    if constexpr (Environment::exhaustion::traits.extra_chunks != 0)
      if (!got) got = own_.fetch(exhaustion_, bytes, sound, true);
    return got;
  }
  void drop_own() noexcept { own_.drop(source_, exhaustion_); }
  /// The pool ends: what its stores kept from everybody is the program's again.
  void end() noexcept {
    if constexpr (Environment::store::traits.has_end) source_.end();
    if constexpr (Environment::exhaustion::traits.has_end) exhaustion_.end();
  }

  /// With nothing held: whether to look again.
  bool retry(std::size_t bytes, attempt& one) noexcept {
    if (Environment::reclaims && !one.store_refused) return false;
    if constexpr (!Environment::exhaustion::traits.keeps_attempt) return exhaustion_.retry(bytes);
    else return exhaustion_.retry(bytes, one.own);
  }
  void freed(std::size_t blocks) noexcept { exhaustion_.freed(blocks); }
  exhaustion& exhaustion_part() noexcept { return exhaustion_; }

  auto pages() const noexcept { return source_.report(); }

  /// A region that the store should not have given, and how it should have been aligned.
  struct broken_region {
    memory region;
    std::size_t alignment = 0;
  };
  /// The last of them, since this was asked before.
  broken_region take_broken() noexcept
    requires(Environment::checking::traits.refuses)
  {
    return std::exchange(broken_, {});
  }

  /// Blocks that a bounded store, still untouched, will give.
  template <class Core>
  std::size_t capacity_of_store(const Core& core) const noexcept {
    const geometry_type& g = core.geometry();
    return layout::blocks_in(source_.room(Environment::chunk_alignment(g)), core.next_chunk(0, 0).at_most, g);
  }

 private:
  template <class Source, class Layer>
  chunk* fetch_from(Source& from, Layer& layer, chunk_request request) noexcept {
    const geometry_type& g = layer.core().geometry();
    while (request.wanted != 0) {
      const std::size_t bytes = layout::bytes(request.wanted, g);
      if (bytes <= size_limit) {
        if (const memory region = from.acquire(bytes, Environment::chunk_alignment(g))) {
          if (!is_sound(region, layer)) return nullptr;
          return layer.core().make_chunk(region, layout::blocks_in(region.bytes, request.at_most, g));
        }
      }
      if (request.wanted <= request.at_least) break;
      request.wanted = larger(request.wanted / 2, request.at_least);
    }
    return nullptr;
  }

  /// Whether a region is what was asked for, where somebody checks. One that isn't is left alone: it may be another's.
  template <class Layer>
  bool is_sound(memory region, Layer& layer) noexcept {
    if constexpr (Environment::checking::traits.refuses) {
      const geometry_type& g = layer.core().geometry();
      if (!is_aligned(region, Environment::chunk_alignment(g))) return false;
      const auto* const start = static_cast<const std::byte*>(region.start);
      const std::size_t first = layout::first_offset(layout::blocks_in(region.bytes, size_limit, g), g);
      [[maybe_unused]] const auto guard = layer.core_guard();
      if (layer.core().find(start) == nullptr && layer.core().find(start + first) == nullptr &&
          layer.core().find(start + region.bytes - 1) == nullptr)
        return true;
      broken_ = {region, Environment::chunk_alignment(g)};
      return false;
    } else {
      return true;
    }
  }
  bool is_aligned([[maybe_unused]] memory region, [[maybe_unused]] std::size_t alignment) noexcept {
    if constexpr (Environment::checking::traits.refuses) {
      if (address_of(region.start) % alignment != 0) {
        broken_ = {region, alignment};
        return false;
      }
    }
    return true;
  }

  struct none_is_looked_for {};

  TARN_NO_UNIQUE_ADDRESS source source_;
  TARN_NO_UNIQUE_ADDRESS exhaustion exhaustion_;
  struct extra_counts {
    std::size_t newest = 0;  // blocks in the newest chunk of the second store
    std::size_t blocks = 0;  // in all of them
  };
  struct no_counts {};

  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Environment::exhaustion::traits.extra_chunks != 0, extra_counts, no_counts> extra_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Environment::keeps_memory, own_memory, no_own_memory> own_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Environment::checking::traits.refuses, broken_region, none_is_looked_for> broken_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_SUPPLIER_H_
