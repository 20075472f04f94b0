// The core of a pool: free list, carving, chunk map, growth, retention. It is written for one thread; it never locks, calls a
// store or runs user code. Whoever calls it holds the core guard.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CORE_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CORE_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/allocator/detail/core/drained_blocks.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/free_words.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/shuffler.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

template <class Environment>
class core {
 public:
  using environment = Environment;
  static constexpr bool returns_chunks = Environment::retention::traits.returns_chunks;
  static constexpr bool checks_leaving = Environment::checks_leaving;
  using geometry_type = typename Environment::geometry;
  using chunk = typename Environment::chunk;
  using layout = typename Environment::layout;
  using growth_policy = typename Environment::growth;
  using retention_part = typename Environment::retention::part;

  constexpr core(const geometry_type& geometry, const growth_policy& growth,
                 const typename Environment::retention& retention) noexcept
      : geometry_(geometry), growth_(growth), retention_(retention) {}
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  TARN_STEP void* pop() noexcept { return list_.pop(*this); }
  void* pop_slow() noexcept { return list_.pop_slow(*this); }
  TARN_STEP outcome push(void* block) noexcept { return list_.push(*this, block); }
  outcome make_room() noexcept { return list_.make_room(*this); }
  std::size_t pop_batch(void** out, std::size_t n) noexcept { return list_.pop_batch(*this, out, n); }
  outcome push_batch(void* const* in, std::size_t n) noexcept { return list_.push_batch(*this, in, n); }

  TARN_STEP const geometry_type& geometry() const noexcept { return geometry_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t chunks() const noexcept
    requires(returns_chunks)
  {
    return chunks_.number;
  }
  const chunk* find(const void* block) const noexcept { return map_.find(block, geometry_); }
  chunk* find(const void* block) noexcept { return map_.find(block, geometry_); }

  /// For the reuse policy: the next up to `n` blocks that were never handed out, ascending. Returns how many. Only their
  /// addresses are made: a chunk of a million blocks costs what one block costs.
  std::size_t carve(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && untouched_ != nullptr) {
      chunk& c = *untouched_;
      const std::size_t taken = smaller(n - got, c.blocks - c.carved);
      for (std::size_t i = 0; i < taken; ++i) out[got + i] = block_at(c.first, c.carved + i);
      got += taken;
      c.carved += taken;
      if (c.carved == c.blocks) untouched_ = c.next;
    }
    if constexpr (Environment::shuffles) shuffle_(out, got);
    return got;
  }

  /// Blocks that may wait in one place in front of the core: fewer where chunks go back and nearly all memory lies idle.
  std::size_t most_in_front() const noexcept
    requires(Environment::reuse::traits.sees_empty_chunks)
  {
    return list_.front_capacity(*this);
  }

  /// For the reuse policy that sees empty chunks: a chunk became wholly free, or is used again.
  outcome chunk_emptied() noexcept { return retention_.emptied(); }
  void chunk_reused() noexcept { retention_.reused(); }
  /// How many empty chunks stay when a surplus is given back.
  std::size_t keep() const noexcept { return retention_.keep(); }

  /// What the growth policy wants after `more` blocks in a newest chunk of `last` (both 0: as things stand).
  chunk_request next_chunk(std::size_t last, std::size_t more) const noexcept {
    return growth_.next_chunk(last != 0 ? last : newest_, capacity_ + more, geometry_.stride());
  }

  /// Makes the record of a fresh region. Not yet part of the pool; no block is touched.
  chunk* make_chunk(memory region, std::size_t blocks) noexcept {
    chunk* const c = map_.make_record(region.start);
    layout::open(*c, region, blocks, geometry_);
    memory_tools::close(c->first, geometry_.extent(blocks));
    return c;
  }

  /// Bytes that the chunk map needs before a list of fresh chunks can be adopted.
  std::size_t shortage(const chunk* fresh) const noexcept { return map_.shortage(fresh, geometry_); }
  void supply(memory more) noexcept { map_.supply(more, geometry_); }
  void adopt(chunk& c) noexcept {
    newest_ = c.blocks;
    insert(c);
  }

  /// Takes empty chunks out until `keep` are left. Returns them as a list linked by `next`. O(1) for a chunk that goes, and
  /// the map's O(log chunks).
  chunk* unlink_surplus(std::size_t keep) noexcept
    requires(Environment::reuse::traits.sees_empty_chunks)
  {
    chunk* leaving = nullptr;
    for (std::size_t n = list_.empty_chunks(); n > keep; --n) {
      unlink(list_.take_empty(), leaving);
      retention_.reused();
    }
    return leaving;
  }

  /// Takes every wholly free chunk out, also those that were never used. Returns them as a list linked by `next`. Where the reuse
  /// policy doesn't see empty chunks, every free block is looked at, and the map asked about it: O(free blocks × log chunks).
  chunk* unlink_empty() noexcept {
    if constexpr (Environment::reuse::traits.sees_empty_chunks) {
      list_.settle(*this);
      chunk* leaving = unlink_surplus(0);
      for (chunk *c = untouched_, *next; c != nullptr; c = next) {
        next = c->next;
        if (c->carved == 0) unlink(*c, leaving);
      }
      return leaving;
    } else {
      return unlink_counted();
    }
  }

  /// Calls visit(block) for every block that was handed out at least once, used or free, by ascending address.
  template <class Visit>
  void each_carved(Visit visit) {
    each_chunk([&](chunk& c) {
      for (std::size_t i = 0; i != c.carved; ++i) visit(block_at(c.first, i));
    });
  }

  /// Calls visit(chunk) for each, by ascending address. It may be given back meanwhile.
  template <class Visit>
  void each_chunk(Visit visit) {
    for (chunk* c = map_.after(nullptr); c != nullptr;) {
      const std::byte* const first = c->first;
      visit(*c);
      c = map_.after(first);
    }
  }

  // ---- for checking policies -------------------------------------------------------------------------------------------

  /// Whether a block starts there that the checking policy knows as free.
  bool is_free(const void* block) const noexcept
    requires(hides_links<typename Environment::checking>)
  {
    const chunk* const c = find(block);
    if (c == nullptr) return false;
    const std::size_t i = geometry_.slot_at(address_of(block) - address_of(c->first) - geometry_.offset());
    return i < c->carved && !checking_column(*c).in_use(i);
  }
  /// For the reuse policy: a link that it read from a free block is invalid. Kept until mend().
  void distrust(const void* address) noexcept
    requires(hides_links<typename Environment::checking>)
  {
    distrusted_.address = address;
  }
  /// What was distrusted since the last mend(), or null.
  const void* distrusted() const noexcept
    requires(hides_links<typename Environment::checking>)
  {
    return distrusted_.address;
  }
  /// For the reuse policy that sees what leaves its front: that is no block, or free already.
  void leaves_wrong(const void* address, misuse_kind kind) noexcept
    requires(checks_leaving)
  {
    left_wrong_.address = address;
    left_wrong_.kind = kind;
  }
  /// The last of them, since this was asked before. Returns whether there was one.
  bool take_left_wrong(incident& one) noexcept
    requires(checks_leaving)
  {
    const void* const address = std::exchange(left_wrong_.address, nullptr);
    if (address != nullptr) one.note(left_wrong_.kind, address);
    return address != nullptr;
  }

  /// Makes the list anew, of what the checking policy knows as free, where all of that is in the list. Else what it lost stays lost.
  template <bool HoldsAll>
  void mend() noexcept
    requires(hides_links<typename Environment::checking>)
  {
    distrusted_.address = nullptr;
    if constexpr (!HoldsAll) return;
    list_.forget();
    each_chunk([this](chunk& c) {
      list_.adopted(c);
      for (std::size_t i = c.carved; i-- != 0;)
        if (!checking_column(c).in_use(i)) list_.restore(*this, block_at(c.first, i));
    });
  }

  /// Calls visit(block) for every block in use, by ascending address. It may give that block back and take others, which are
  /// visited or not; it may give no other block back, and no chunk. The free blocks lie aside meanwhile, sorted by address,
  /// so that whoever is not among them is in use: O(free blocks × log free blocks + blocks), and no memory.
  template <class Visit>
  void each_live(Visit visit) {
    const blocks_aside<core> free(*this);
    const free_link* next_free = free.first();
    each_chunk([&](chunk& c) {
      std::byte* const first = c.first;
      for (std::size_t i = 0, n = c.idle; i != n; ++i) {  // blocks that were carved before
        void* const block = block_at(first, i);
        if (geometry_.links(block) == next_free) next_free = next_free->next;
        else visit(block);
      }
    });
  }

  /// Whether a block, free or in use, starts at the address.
  bool is_block(const void* address) const noexcept {
    const chunk* const c = find(address);
    if (c == nullptr) return false;
    const std::size_t i = geometry_.slot_at(address_of(address) - address_of(c->first) - geometry_.offset());
    return i < c->carved;
  }

  /// Takes every chunk out, whatever became of its blocks, and forgets the chunk map's table.
  chunk* unlink_all() noexcept {
    if constexpr (Environment::reuse::traits.sees_empty_chunks)
      for (std::size_t n = list_.empty_chunks(); n != 0; --n) retention_.reused();
    list_.forget();
    untouched_ = nullptr;
    capacity_ = 0;
    chunks_ = {};
    newest_ = 0;
    chunk* const all = map_.take_all();
    map_.forget();
    return all;
  }

 private:
  using list = typename Environment::reuse::template list<Environment>;
  friend class blocks_aside<core>;

  struct counted {
    void change(int by) noexcept { number += static_cast<std::size_t>(by); }
    std::size_t number = 0;
  };
  struct uncounted {
    void change(int) noexcept {}
  };
  struct distrust_of_links {
    const void* address = nullptr;
  };
  struct no_distrust {};
  struct no_shuffler {};
  struct left_wrong {
    const void* address = nullptr;
    misuse_kind kind = {};
  };
  struct none_left_wrong {};

  static const auto& checking_column(const chunk& c) noexcept {
    return static_cast<const typename Environment::checking::template per_chunk<Environment>&>(c);
  }

  /// A list of blocks, the first of which is handed out last.
  void restore(free_link* links) noexcept {
    while (links != nullptr) {
      free_link* const next = links->next;
      memory_tools::close(links, sizeof(free_link));
      list_.restore(*this, geometry_.block_with(links));
      links = next;
    }
  }

  std::byte* block_at(std::byte* first, std::size_t i) const noexcept {
    return first + geometry_.distance(i) + geometry_.offset();
  }

  void unlink(chunk& c, chunk*& leaving) noexcept {
    if (c.carved != c.blocks) {
      chunk** at = &untouched_;
      while (*at != &c) at = &(*at)->next;  // near the start: blocks are carved from the first
      *at = c.next;
    }
    map_.erase(c, geometry_);
    capacity_ -= c.blocks;
    chunks_.change(-1);
    c.next = std::exchange(leaving, &c);
  }

  /// As unlink_empty(), after the free blocks of every chunk were counted. Each is looked at once, and linked to those of its chunk:
  /// a second walk through all of them would cost as many cache misses again. Those of chunks that leave are forgotten.
  chunk* unlink_counted() noexcept {
    list_.drain(*this, block_counter<core>{*this});
    untouched_ = nullptr;
    capacity_ = 0;
    chunks_ = {};
    chunk* leaving = nullptr;
    for (chunk *c = map_.take_all(), *next; c != nullptr; c = next) {
      next = c->next;
      free_link* block = std::exchange(c->free, nullptr);
      if (std::exchange(c->idle, 0) == c->carved) {
        c->next = std::exchange(leaving, c);
      } else {
        insert(*c);
        restore(block);
      }
    }
    return leaving;
  }

  void insert(chunk& c) noexcept {
    map_.insert(c, geometry_);
    capacity_ += c.blocks;
    chunks_.change(1);
    list_.adopted(c);
    if (c.carved != c.blocks) {
      c.next = untouched_;
      untouched_ = &c;
    }
  }

  list list_;  // first: the hot path reaches it at offset 0
  chunk* untouched_ = nullptr;  // chunks with blocks that were never handed out, linked by `next`
  chunk_map<Environment> map_;
  std::size_t capacity_ = 0;  // blocks in all chunks
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<returns_chunks, counted, uncounted> chunks_;
  std::size_t newest_ = 0;  // blocks in the newest chunk
  TARN_NO_UNIQUE_ADDRESS geometry_type geometry_;
  TARN_NO_UNIQUE_ADDRESS growth_policy growth_;
  TARN_NO_UNIQUE_ADDRESS retention_part retention_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<hides_links<typename Environment::checking>, distrust_of_links, no_distrust> distrusted_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Environment::shuffles, shuffler, no_shuffler> shuffle_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<checks_leaving, left_wrong, none_left_wrong> left_wrong_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CORE_H_
