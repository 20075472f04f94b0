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
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk_table.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

template <class Chunk>
TARN_STEP bool lies_in(const Chunk& chunk, const void* block, std::size_t extent) noexcept {
  return address_of(block) - address_of(chunk.first) < extent;  // in front of the chunk it wraps to a huge number
}

/// A treap (Seidel and Aragon, 1996): a search tree by address that is a heap by priority, here a hash of the address and of
/// the process's secret. So its expected depth is logarithmic wherever chunks lie, and in whatever order they come and go.
template <class Chunk, class Geometry>
class chunk_tree {
 public:
  /// Where the record of a chunk lies: in the region itself.
  TARN_STEP Chunk* make_record(void* region) noexcept { return ::new (region) Chunk{}; }

  Chunk* find(const void* block, const Geometry& g) const noexcept {
    Chunk* found = nullptr;
    for (Chunk* c = root_; c != nullptr;) {
      const bool right = address_of(c->first) <= address_of(block);
      if (right) found = c;
      c = right ? c->right : c->left;
    }
    return found != nullptr && lies_in(*found, block, g.extent(found->blocks)) ? found : nullptr;
  }

  Chunk* find_near(const void* block, const Geometry& g) const noexcept { return find(block, g); }
  TARN_STEP static constexpr bool bring_in_front(const void*, const Geometry&) noexcept { return false; }

  /// The first chunk, by address, whose blocks start after `block`.
  Chunk* after(const void* block) const noexcept {
    Chunk* found = nullptr;
    for (Chunk* c = root_; c != nullptr;) {
      const bool left = address_of(c->first) > address_of(block);
      if (left) found = c;
      c = left ? c->left : c->right;
    }
    return found;
  }

  void insert(Chunk& chunk, const Geometry&) noexcept {
    Chunk** at = &root_;
    while (*at != nullptr && priority(*at) >= priority(&chunk)) at = before(*at, &chunk) ? &(*at)->right : &(*at)->left;
    Chunk** left = &chunk.left;
    Chunk** right = &chunk.right;
    for (Chunk* rest = *at; rest != nullptr;) {  // splits what was here into the two sides of the new chunk
      Chunk**& side = before(rest, &chunk) ? left : right;
      *side = rest;
      side = before(rest, &chunk) ? &rest->right : &rest->left;
      rest = *side;
    }
    *left = *right = nullptr;
    *at = &chunk;
  }

  /// Precondition: the chunk is in the tree.
  void erase(Chunk& chunk, const Geometry&) noexcept {
    Chunk** at = &root_;
    while (*at != &chunk) at = before(*at, &chunk) ? &(*at)->right : &(*at)->left;
    Chunk* left = chunk.left;
    Chunk* right = chunk.right;
    while (left != nullptr && right != nullptr) {  // merges the two sides
      Chunk*& higher = priority(left) > priority(right) ? left : right;
      *at = higher;
      at = &higher == &left ? &left->right : &right->left;
      higher = *at;
    }
    *at = left != nullptr ? left : right;
  }

  /// Takes every chunk out, as a list linked by `next`.
  Chunk* take_all() noexcept {
    Chunk* all = nullptr;
    while (root_ != nullptr) {
      Chunk* const c = root_;
      if (c->left != nullptr) {  // rotate right until there is no left side: O(chunks) in all
        root_ = c->left;
        c->left = root_->right;
        root_->right = c;
      } else {
        root_ = c->right;
        c->next = all;
        all = c;
      }
    }
    return all;
  }

  /// 0: it has no table.
  TARN_STEP static constexpr std::size_t shortage(const Chunk*, const Geometry&) noexcept { return 0; }
  TARN_STEP static void supply(memory, const Geometry&) noexcept {}
  TARN_STEP static void forget() noexcept {}

 private:
  TARN_STEP static bool before(const Chunk* a, const Chunk* b) noexcept { return address_of(a->first) < address_of(b->first); }
  static std::uint64_t priority(const Chunk* c) noexcept { return scatter(address_of(c->first) ^ secret()); }

  Chunk* root_ = nullptr;
};

template <class Chunk, class Geometry>
class chunk_index : chunk_tree<Chunk, Geometry> {
  using tree = chunk_tree<Chunk, Geometry>;

 public:
  using tree::after;
  using tree::make_record;

  Chunk* find(const void* block, const Geometry& g) const noexcept {
    Chunk* const c = table_.find(block, g);
    return c != nullptr || table_.has_all() ? c : tree::find(block, g);
  }
  /// For hits, which nothing may slow down: of the chunks that the table has no room for, it finds the one that is in front.
  Chunk* find_near(const void* block, const Geometry& g) const noexcept { return table_.find(block, g); }
  /// The chunk of `block` is in front as long as the result lives. False: there is no such chunk, or the table has it.
  auto bring_in_front(const void* block, const Geometry& g) noexcept {
    return typename chunk_table<Chunk, Geometry>::loan(table_, block, table_.has_all() ? nullptr : tree::find(block, g));
  }
  void insert(Chunk& chunk, const Geometry& g) noexcept {
    table_.insert(chunk, g, each());
    tree::insert(chunk, g);
  }
  void erase(Chunk& chunk, const Geometry& g) noexcept {
    table_.erase(chunk, g);
    tree::erase(chunk, g);
  }
  Chunk* take_all() noexcept {
    table_.clear();
    return tree::take_all();
  }

  /// Bytes needed to insert a list of fresh chunks.
  std::size_t shortage(const Chunk* fresh, const Geometry& g) const noexcept { return table_.shortage(fresh, g); }
  void supply(memory more, const Geometry& g) noexcept { table_.supply(more, g, each()); }
  void forget() noexcept { table_.forget(); }

 private:
  auto each() const noexcept {
    return [this](auto visit) {
      for (Chunk* c = after(nullptr); c != nullptr; c = after(c->first)) visit(*c);
    };
  }

  chunk_table<Chunk, Geometry> table_;
};

template <class Chunk, class Geometry>
class only_chunk {
 public:
  TARN_STEP Chunk* make_record(void*) noexcept {
    chunk_ = Chunk{};
    return &chunk_;
  }

  Chunk* find(const void* block, const Geometry&) noexcept {
    return lies_in(chunk_, block, bytes_) ? &chunk_ : nullptr;
  }
  const Chunk* find(const void* block, const Geometry& g) const noexcept {
    return const_cast<only_chunk*>(this)->find(block, g);
  }
  Chunk* find_near(const void* block, const Geometry& g) noexcept { return find(block, g); }
  TARN_STEP static constexpr bool bring_in_front(const void*, const Geometry&) noexcept { return false; }
  Chunk* after(const void* block) noexcept {
    return bytes_ != 0 && address_of(chunk_.first) > address_of(block) ? &chunk_ : nullptr;
  }
  void insert(Chunk&, const Geometry& g) noexcept { bytes_ = g.extent(chunk_.blocks); }
  void erase(Chunk&, const Geometry&) noexcept { bytes_ = 0; }
  Chunk* take_all() noexcept {
    if (bytes_ == 0) return nullptr;
    bytes_ = 0;
    chunk_.next = nullptr;
    return &chunk_;
  }
  TARN_STEP static constexpr std::size_t shortage(const Chunk*, const Geometry&) noexcept { return 0; }
  TARN_STEP static void supply(memory, const Geometry&) noexcept {}
  TARN_STEP static void forget() noexcept {}

 private:
  Chunk chunk_;
  std::size_t bytes_ = 0;  // of the chunk's blocks; 0: there is no chunk
};

template <class Traits, class Chunk = typename Traits::chunk, class Geometry = typename Traits::geometry>
using chunk_map = std::conditional_t<
    Traits::one_chunk, only_chunk<Chunk, Geometry>,
    std::conditional_t<Traits::has_chunk_table, chunk_index<Chunk, Geometry>, chunk_tree<Chunk, Geometry>>>;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_MAP_H_
