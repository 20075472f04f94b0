// Finds the chunk that an address lies in; nothing else answers that question. Any address is valid, and only the pool's own
// memory is read.
//
//   chunk_tree   many chunks, looked up by owns() and trim(): a treap in the chunks' own records, O(log chunks), without a
//                table that would need memory
//   chunk_index  many chunks, looked up by many frees: the same, and a hash table, in memory that the pool gets for it. What
//                the table has no room for near its place is found in the tree
//   only_chunk   never more than one chunk: one range check
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_MAP_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_MAP_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk_table.h"
#include "tarn/allocator/detail/core/chunk_tree.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Chunk, class Geometry>
class chunk_index : chunk_tree<Chunk, Geometry> {
  using tree = chunk_tree<Chunk, Geometry>;

 public:
  using tree::after;
  using tree::believes;
  using tree::make_record;
  using tree::up_to;

  Chunk* find(const void* block, const Geometry& g) const noexcept {
    Chunk* const c = table_.find(block, g);
    if (c != nullptr) return believes(*c) ? c : nullptr;
    return table_.has_all() ? nullptr : tree::find(block, g);
  }
  Chunk* find(const void* block, const Geometry& g) noexcept {
    Chunk* const c = table_.find(block, g);
    if (c != nullptr) return believes(*c) ? c : nullptr;
    return table_.has_all() ? nullptr : find_far(block, g);
  }
  auto take_overrun() noexcept { return tree::take_overrun(); }
  /// For hits, which nothing may slow down: of the chunks that the table has no room for, it finds the one that is in front.
  TARN_STEP Chunk* find_near(const void* block, const Geometry& g) const noexcept { return table_.find(block, g); }
  /// The chunk of `block` is in front as long as the result lives. False: there is no such chunk, or the table has all.
  auto bring_in_front(const void* block, const Geometry& g) noexcept {
    return typename chunk_table<Chunk, Geometry>::loan(table_, block, table_.has_all() ? nullptr : find_far(block, g));
  }
  void insert(Chunk& chunk, const Geometry& g) noexcept {
    tree::insert(chunk, g);
    table_.insert(chunk, g, next_of());
  }
  void take_out(Chunk& chunk, const Geometry& g) noexcept {
    table_.take_out(chunk, g);
    tree::take_out(chunk, g);
  }
  Chunk* take_all() noexcept {
    table_.forget_all();
    return tree::take_all();
  }

  /// Bytes needed to insert a list of fresh chunks.
  std::size_t shortage(const Chunk* fresh, const Geometry& g) noexcept { return table_.shortage(fresh, g); }
  void supply(memory more, const Geometry& g) noexcept { table_.supply(more, g, next_of()); }
  void forget() noexcept { table_.forget(); }

 private:
  auto next_of() const noexcept {
    return [this](const void* address) { return after(address); };
  }
  /// A larger table that is being made may have it soon.
  TARN_COLD Chunk* find_far(const void* block, const Geometry& g) noexcept {
    table_.missed(g, next_of());
    return tree::find(block, g);
  }

  chunk_table<Chunk, Geometry> table_;
};

template <class Chunk, class Geometry>
class only_chunk {
 public:
  TARN_STEP Chunk* make_record(void*) noexcept {
    chunk_ = Chunk{};
    return detail::pointer_to(chunk_);
  }

  Chunk* find(const void* block, const Geometry&) noexcept {
    return detail::lies_in(chunk_, block, bytes_) ? detail::pointer_to(chunk_) : nullptr;
  }
  const Chunk* find(const void* block, const Geometry& g) const noexcept {
    return const_cast<only_chunk*>(this)->find(block, g);
  }
  Chunk* find_near(const void* block, const Geometry& g) noexcept { return find(block, g); }
  const Chunk* find_near(const void* block, const Geometry& g) const noexcept { return find(block, g); }
  TARN_STEP static constexpr bool bring_in_front(const void*, const Geometry&) noexcept { return false; }
  static constexpr bool believes(const Chunk&) noexcept { return true; }
  const Chunk* up_to(const void* address) const noexcept {
    return bytes_ != 0 && address_of(chunk_.first) <= address_of(address) ? detail::pointer_to(chunk_) : nullptr;
  }
  const Chunk* after(const void* block) const noexcept { return const_cast<only_chunk*>(this)->after(block); }
  Chunk* after(const void* block) noexcept {
    return bytes_ != 0 && address_of(chunk_.first) > address_of(block) ? detail::pointer_to(chunk_) : nullptr;
  }
  void insert(Chunk&, const Geometry& g) noexcept { bytes_ = g.extent(chunk_.blocks); }
  void take_out(Chunk&, const Geometry&) noexcept { bytes_ = 0; }
  Chunk* take_all() noexcept {
    if (bytes_ == 0) return nullptr;
    bytes_ = 0;
    chunk_.next = nullptr;
    return detail::pointer_to(chunk_);
  }
  TARN_STEP static constexpr std::size_t shortage(const Chunk*, const Geometry&) noexcept { return 0; }
  TARN_STEP static void supply(memory, const Geometry&) noexcept {}
  TARN_STEP static void forget() noexcept {}

 private:
  Chunk chunk_;
  std::size_t bytes_ = 0;  // of the chunk's blocks; 0: there is no chunk
};

/// Whether a region overlaps that of a chunk. Those are apart, so only the two neighbours matter.
template <class Map>
bool overlaps(const Map& map, memory region) noexcept {
  const auto meets = [region](const auto* c) { return c != nullptr && detail::overlap(c->region, region); };
  return meets(map.up_to(region.start)) || meets(map.after(region.start));
}

template <class Traits, class Chunk = typename Traits::chunk, class Geometry = typename Traits::geometry>
using chunk_map = std::conditional_t<
    Traits::one_chunk, only_chunk<Chunk, Geometry>,
    std::conditional_t<Traits::has_chunk_table, chunk_index<Chunk, Geometry>, chunk_tree<Chunk, Geometry>>>;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_MAP_H_
