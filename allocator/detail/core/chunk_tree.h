// The chunks of a pool as a search tree in their own records: it needs no memory, so that a chunk can always be entered.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_TREE_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_TREE_H_

#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

template <class Chunk>
TARN_STEP bool lies_in(const Chunk& chunk, const void* block, std::size_t extent) noexcept {
  return address_of(block) - address_of(chunk.first) < extent;  // in front of the chunk it wraps to a huge number
}

/// A chunk whose record may have been overwritten says so itself.
template <class Chunk>
inline constexpr bool guarded = Chunk::is_guarded;

/// Which chunk was found to be overwritten.
template <class Chunk>
class overruns {
 public:
  /// Whether the record of a chunk may be read. If not, that is noted.
  TARN_STEP bool believes(const Chunk& c) const noexcept {
    if constexpr (guarded<Chunk>) {
      if (!c.stands()) [[unlikely]] {
        overrun_ = detail::pointer_to(c);
        return false;
      }
    }
    return true;
  }
  const Chunk* take_overrun() noexcept { return detail::replace(overrun_, nullptr); }

 private:
  mutable const Chunk* overrun_ = nullptr;
};
template <class Chunk>
  requires(!guarded<Chunk>)
class overruns<Chunk> {
 public:
  TARN_STEP static constexpr bool believes(const Chunk&) noexcept { return true; }
};

/// A treap (Seidel and Aragon, 1996): a search tree by address that is a heap by priority, here a hash of the address and of
/// the process's secret. So its expected depth is logarithmic wherever chunks lie, and in whatever order they come and go.
/// Where a chunk's record can't be believed, the tree ends.
template <class Chunk, class Geometry>
class chunk_tree : public overruns<Chunk> {
 public:
  using overruns<Chunk>::believes;

  /// Where the record of a chunk lies: in the region itself.
  TARN_STEP Chunk* make_record(void* region) noexcept { return ::new (region) Chunk{}; }

  Chunk* find(const void* block, const Geometry& g) const noexcept {
    Chunk* const found = up_to(block);
    return found != nullptr && detail::lies_in(*found, block, g.extent(found->blocks)) ? found : nullptr;
  }
  /// For hits: it believes every record.
  Chunk* find_near(const void* block, const Geometry& g) const noexcept {
    Chunk* found = nullptr;
    for (Chunk* c = root_; c != nullptr;) {
      const bool right = address_of(c->first) <= address_of(block);
      if (right) found = c;
      c = right ? c->right : c->left;
    }
    return found != nullptr && detail::lies_in(*found, block, g.extent(found->blocks)) ? found : nullptr;
  }
  TARN_STEP static constexpr bool bring_in_front(const void*, const Geometry&) noexcept { return false; }

  /// The last chunk, by address, whose blocks start at `address` or before.
  Chunk* up_to(const void* address) const noexcept {
    Chunk* found = nullptr;
    for (Chunk* c = root_; c != nullptr && believes(*c);) {
      const bool right = address_of(c->first) <= address_of(address);
      if (right) found = c;
      c = right ? c->right : c->left;
    }
    return found;
  }
  /// The first chunk, by address, whose blocks start after `block`.
  Chunk* after(const void* block) const noexcept {
    Chunk* found = nullptr;
    for (Chunk* c = root_; c != nullptr && believes(*c);) {
      const bool left = address_of(c->first) > address_of(block);
      if (left) found = c;
      c = left ? c->left : c->right;
    }
    return found;
  }

  void insert(Chunk& chunk, const Geometry&) noexcept {
    Chunk* const c = detail::pointer_to(chunk);
    Chunk** at = &root_;
    while (end(*at) != nullptr && priority(*at) >= priority(c)) at = before(*at, c) ? &(*at)->right : &(*at)->left;
    Chunk** left = &chunk.left;
    Chunk** right = &chunk.right;
    for (Chunk* rest = *at; rest != nullptr;) {  // splits what was here into the two sides of the new chunk
      Chunk**& side = before(rest, c) ? left : right;
      *side = rest;
      side = before(rest, c) ? &rest->right : &rest->left;
      rest = end(*side);
    }
    *left = *right = nullptr;
    *at = c;
  }

  /// Precondition: the chunk is in the tree, or behind one that can't be believed.
  void take_out(Chunk& chunk, const Geometry&) noexcept {
    const Chunk* const c = detail::pointer_to(chunk);
    Chunk** at = &root_;
    while (end(*at) != c) {
      if (*at == nullptr) return;
      at = before(*at, c) ? &(*at)->right : &(*at)->left;
    }
    Chunk* left = end(chunk.left);
    Chunk* right = end(chunk.right);
    while (left != nullptr && right != nullptr) {  // merges the two sides
      Chunk*& higher = priority(left) > priority(right) ? left : right;
      *at = higher;
      at = &higher == &left ? &left->right : &right->left;
      higher = end(*at);
    }
    *at = left != nullptr ? left : right;
  }

  /// Takes every chunk out, as a list linked by `next`.
  Chunk* take_all() noexcept {
    Chunk* all = nullptr;
    while (end(root_) != nullptr) {
      Chunk* const c = root_;
      if (end(c->left) != nullptr) {  // rotate right until there is no left side: O(chunks) in all
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
  /// The chunk that a link leads to. One that can't be believed is cut off, with all below it.
  TARN_STEP Chunk* end(Chunk*& link) const noexcept {
    if (link != nullptr && !believes(*link)) [[unlikely]] link = nullptr;
    return link;
  }
  TARN_STEP static bool before(const Chunk* a, const Chunk* b) noexcept { return address_of(a->first) < address_of(b->first); }
  static std::uint64_t priority(const Chunk* c) noexcept { return scatter(address_of(c->first) ^ secret()); }

  Chunk* root_ = nullptr;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_TREE_H_
