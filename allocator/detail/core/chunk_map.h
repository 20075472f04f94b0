// The chunks of a pool that may have several: which there are, and which of them contains an address.
//
//   many_chunks  the chunks, carving, decisions of growth and retention. Written for one thread; it never locks, calls a store
//                or runs user code. The caller holds the core guard
//
// Its map finds the chunk that contains an address; nothing else does. Any address is valid, and only the pool's own memory is
// read:
//
//   chunk_tree   many chunks, looked up by owns() and trim(): a treap in the chunks' own records, O(log chunks), without a
//                table that would need memory
//   chunk_index  many chunks, looked up by many frees: the same, and a hash table, in memory that the pool gets for it.
//                Chunks for which the table has no room nearby are found in the tree
//   only_chunk   at most one chunk: one range check
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_MAP_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_MAP_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

// Finds the chunk of an address in constant time, for pools that look it up on many frees. It is a hash table of granules, each
// a piece of the address space about as large as a chunk.
//
//   granule = address >> shift          hash: a pair of places
//   | start, chunk | - || start, chunk | start, chunk || ...       a chunk has one entry for each granule that it touches
//
// Chunks in the same granule are distinguished by their ranges, so stores need not align their regions. An entry that would
// create a long run of full places is left out, so a lookup ends after a few, wherever the chunks are, and the tree finds the
// rest.
//
// A hit reads only one pair, and takes its second chunk if the first doesn't start close enough before the address. This isn't
// a branch, which would be unpredictable. For a million random blocks in 25 chunks, 97 to 99 % of the guesses are right; the
// slot of the block shows whether one is.
//
// Before the table is half full, a larger one is built. With each new chunk, some of its places are cleared, or some chunks
// entered, enough to be ready in time. It replaces the old table when it has every chunk.

/// Open addressing with linear probing, at most half full (Knuth, The Art of Computer Programming, vol. 3, 6.4). Entries
/// without room are left out. The caller owns the memory.
template <class Chunk, class Geometry>
class granule_table {
 public:
  static constexpr std::size_t most_granules = 16;  // of one chunk; one with more is left out: too small granules
  struct place {
    std::uintptr_t start;  // of the chunk in the granule
    Chunk* chunk;
  };

  /// The most likely chunk of the block, or null.
  TARN_STEP Chunk* guess(const void* block) const noexcept {
    if (places_ == nullptr) return nullptr;
    const place* const pair = at(home(granule_of(block)));
    Chunk* const first = pair[0].chunk;
    Chunk* const second = pair[1].chunk;
    return (address_of(block) - pair[0].start) >> shift_ == 0 ? first : second;
  }
  Chunk* find(const void* block, const Geometry& g) const noexcept {
    if (places_ == nullptr) return nullptr;
    const std::uintptr_t granule = granule_of(block);
    for (offset i = home(granule); at(i)->chunk != nullptr; i = next(i)) {
      Chunk* const c = at(i)->chunk;
      if (granule_at(i) == granule && address_of(block) - address_of(c->first) < g.bytes_of(c->blocks)) return c;
    }
    return nullptr;
  }
  /// Whether every chunk has all its entries. If not, find() may miss one.
  bool has_all() const noexcept { return left_out_ == 0 && no_room_ == 0; }
  /// guess() finds the chunk of the block that is here.
  place& first_place(const void* block) noexcept { return *at(home(granule_of(block))); }

  bool has_places() const noexcept { return places_ != nullptr; }
  bool is_empty() const noexcept { return used_ == 0 && has_all(); }
  std::size_t size() const noexcept { return has_places() ? last_pair_ / sizeof(place) + 2 : 0; }  // places, a power of two
  std::size_t used() const noexcept { return used_; }
  std::size_t entries() const noexcept { return used_ + no_room_; }
  std::size_t room() const noexcept { return size() / 2 - used_; }
  unsigned shift() const noexcept { return shift_; }

  /// The places aren't touched: they must be clear, or wipe() must follow for all of them.
  void open(place* places, std::size_t size, unsigned shift) noexcept {
    places_ = places;
    last_pair_ = (size - 2) * sizeof(place);
    shift_ = shift;
    forget_entries();
  }
  void forget_entries() noexcept { used_ = left_out_ = no_room_ = 0; }
  void wipe(std::size_t from, std::size_t to) noexcept {
    for (; from != to; ++from) ::new (static_cast<void*>(places_ + from)) place{};
  }
  /// Precondition: the table is empty.
  void use_shift(unsigned shift) noexcept { shift_ = shift; }

  static std::size_t span(const Chunk& c, const Geometry& g, unsigned shift) noexcept {
    const std::uintptr_t first = address_of(c.first);
    return ((first + g.extent(c.blocks) - 1) >> shift) - (first >> shift) + 1;
  }
  void enter(Chunk& c, const Geometry& g) noexcept {
    std::size_t n = span(c, g, shift_);
    if (n > most_granules) {
      ++left_out_;
      return;
    }
    for (; n != 0; --n) {
      const std::uintptr_t granule = granule_of(c.first) + n - 1;
      if (2 * (used_ + 1) > size()) {
        ++no_room_;
        continue;
      }
      offset i = home(granule);
      while (at(i)->chunk != nullptr) i = next(i);
      if (lengthens_run(i)) {
        ++left_out_;
        continue;
      }
      enter_at(i, {larger(address_of(c.first), granule << shift_), detail::pointer_to(c)});
      ++used_;
    }
  }
  void take_out(const Chunk& c, const Geometry& g) noexcept {
    std::size_t n = span(c, g, shift_);
    if (n > most_granules) {
      --left_out_;
      return;
    }
    for (; n != 0; --n) {
      const std::uintptr_t granule = granule_of(c.first) + n - 1;
      offset i = home(granule);
      const auto is_there = [&] { return at(i)->chunk == detail::pointer_to(c) && granule_at(i) == granule; };
      while (at(i)->chunk != nullptr && !is_there()) i = next(i);
      if (at(i)->chunk == nullptr) {
        --(no_room_ != 0 ? no_room_ : left_out_);
        continue;
      }
      close_gap(i);
      --used_;
    }
  }

 private:
  static constexpr std::size_t longest_run = 64;  // a table that is half full has such a run once in some 100,000 places

  using offset = std::size_t;  // of a place, in bytes, because an index would be multiplied in each hit

  TARN_STEP place* at(offset i) const noexcept {
    return reinterpret_cast<place*>(reinterpret_cast<std::byte*>(places_) + i);
  }
  TARN_STEP std::uintptr_t granule_of(const void* block) const noexcept { return address_of(block) >> shift_; }
  std::uintptr_t granule_at(offset i) const noexcept { return at(i)->start >> shift_; }
  /// Of the first place of a pair. The factor was found by a search. Of consecutive granules, none finds its pair full in a
  /// table of 32 to four million places. Of evenly spaced granules, up to 1024 apart, eight in a thousand do, in a table of 32
  /// to 8192 places that is three eighths full. (With the golden ratio as the factor, 50 do, because this isn't the product's
  /// upper end.)
  TARN_STEP offset home(std::uintptr_t granule) const noexcept {
    constexpr auto unused = 32 - std::countr_zero(sizeof(place));
    return static_cast<offset>(granule * 0x4BA0FE834EF348D7u >> unused) & last_pair_;
  }
  offset in_table(offset i) const noexcept { return i & (last_pair_ + sizeof(place)); }
  offset next(offset i) const noexcept { return in_table(i + sizeof(place)); }
  bool is_home(offset i, std::uintptr_t granule) const noexcept { return (i & ~sizeof(place)) == home(granule); }
  /// In a pair, its own granules come before others. Of the chunks in a granule, the last comes first, because an address after
  /// its start is in none of the others.
  void enter_at(offset empty, place fresh) noexcept {
    for (offset i = home(fresh.start >> shift_); i != empty; i = next(i)) {
      const std::uintptr_t granule = fresh.start >> shift_;
      if (granule_at(i) == granule ? at(i)->start < fresh.start : is_home(i, granule) && !is_home(i, granule_at(i)))
        fresh = detail::replace(*at(i), fresh);
    }
    *at(empty) = fresh;
  }
  /// Whether place `i`, which is empty, would belong to a longer run if it were full.
  bool lengthens_run(offset i) const noexcept {
    std::size_t run = 1;
    for (offset up = next(i); run <= longest_run && at(up)->chunk != nullptr; up = next(up)) ++run;
    for (offset down = i; run <= longest_run && at(down = in_table(down - sizeof(place)))->chunk != nullptr;) ++run;
    return run > longest_run;
  }
  /// Moves entries back that are behind place `gap` only because it was taken (Knuth, ibid., algorithm R).
  void close_gap(offset gap) noexcept {
    for (offset i = next(gap); at(i)->chunk != nullptr; i = next(i)) {
      if (in_table(i - home(granule_at(i))) < in_table(i - gap)) continue;
      *at(gap) = *at(i);
      gap = i;
    }
    *at(gap) = {};
  }

  place* places_ = nullptr;
  std::size_t last_pair_ = 0;  // bytes in front of it
  unsigned shift_ = 0;  // bits of an address inside a granule
  std::size_t used_ = 0;
  std::size_t left_out_ = 0;  // entries left out to avoid a long run; and chunks with too many entries
  std::size_t no_room_ = 0;   // entries left out because it was full
};

/// The table in use, and the next one. `after(address)` of a caller: the first chunk after it, by address, of all that were
/// inserted and not erased, or null. Except for take_all() and clear() of the map, no call takes more than some hundred steps,
/// plus O(log chunks) for a chunk that is added or moved, whatever the store refused.
template <class Chunk, class Geometry>
class chunk_table {
  using table = granule_table<Chunk, Geometry>;
  using place = typename table::place;

 public:
  TARN_STEP Chunk* guess(const void* block) const noexcept { return now_.guess(block); }
  Chunk* find(const void* block, const Geometry& g) const noexcept { return now_.find(block, g); }
  /// Whether every chunk has all its entries. If not, find() may miss one.
  bool has_all() const noexcept { return now_.has_all(); }

  /// Bytes of a table with room for all chunks and for the list of fresh ones, or with the granules that they need; 0: this one
  /// is suitable, or the next. A larger one is requested while a quarter of the room is left.
  std::size_t shortage(const Chunk* fresh, const Geometry& g) noexcept {
    const table& last = next_.has_places() ? next_ : now_;
    const bool is_first = now_.is_empty();
    std::size_t entries = now_.entries();
    std::size_t chunks = chunks_;
    wanted_shift_ = is_first ? 0 : static_cast<unsigned>(larger(last.shift(), coarse_));
    for (; fresh != nullptr; fresh = fresh->next, ++chunks) {
      const std::size_t span = is_first ? table::most_granules : table::span(*fresh, g, wanted_shift_);
      entries += smaller(span, table::most_granules);
      if (span > table::most_granules) wanted_shift_ = shift_for(*fresh, g);
    }
    const bool is_coarse_enough = is_first || chunks <= few_chunks || wanted_shift_ <= last.shift();
    const std::size_t least = next_.has_places() || now_.size() <= few_places ? 2 * entries : 8 * entries / 3;
    if (least <= last.size() && is_coarse_enough) return 0;
    return std::bit_ceil(larger(4 * entries, 32)) * sizeof(place);
  }
  void supply(memory more, const Geometry& g, auto after) noexcept {
    if (!more) return;
    next_.open(static_cast<place*>(more.start), std::bit_floor(more.bytes / sizeof(place)),
               static_cast<unsigned>(larger(now_.shift(), wanted_shift_)));
    start_again();
    make_ready(at_once, g, after);
  }

  /// The caller has inserted the chunk elsewhere, so that after() finds it.
  void insert(Chunk& c, const Geometry& g, auto after) noexcept {
    if (!now_.has_places()) now_.open(own_places_, own_few, 0);
    ++chunks_;
    if (now_.is_empty()) begin_with(c, g);
    const table& last = next_.has_places() ? next_ : now_;
    if (table::span(c, g, last.shift()) > table::most_granules)
      coarse_ = static_cast<unsigned>(larger(coarse_, shift_for(c, g)));
    if (coarse_ > now_.shift() && chunks_ <= few_chunks) coarsen(c, g, after);
    const std::size_t room = larger(now_.room(), now_.size() / 16 + 1);
    now_.enter(c, g);
    if (!next_.has_places()) return;
    if (is_passed(c)) enter_next(c, g);
    const std::size_t entries = smaller(table::span(c, g, now_.shift()), table::most_granules);
    make_ready(larger(least_steps, (steps_left() / room + 2) * entries), g, after);
  }
  void take_out(const Chunk& c, const Geometry& g) noexcept {
    --chunks_;
    now_.take_out(c, g);
    if (!next_.has_places() || !is_passed(c)) return;
    next_.take_out(c, g);
    --moved_;
  }
  /// A chunk wasn't found: continues with the next table, which may have it.
  void missed(const Geometry& g, auto after) noexcept {
    if (next_.has_places()) make_ready(least_steps, g, after);
  }
  void forget_all() noexcept {
    now_.wipe(0, now_.size());
    now_.forget_entries();
    next_.forget_entries();
    chunks_ = 0;
    start_again();
  }
  /// The table's memory was freed.
  void forget() noexcept { *this = {}; }

  /// Lends a chunk the place where guess() finds it.
  class loan {
   public:
    loan(chunk_table& table, const void* block, Chunk* chunk) noexcept {
      if (chunk == nullptr) return;
      at_ = &table.now_.first_place(block);
      was_ = *at_;
      *at_ = {address_of(block), chunk};
    }
    ~loan() {
      if (at_ != nullptr) *at_ = was_;
    }
    loan(const loan&) = delete;
    loan& operator=(const loan&) = delete;
    explicit operator bool() const noexcept { return at_ != nullptr; }

   private:
    place* at_ = nullptr;
    place was_ = {};
  };

 private:
  static constexpr std::size_t own_few = 4;
  static constexpr std::size_t few_places = 256;   // a table up to this is built in one step, when the one before is full
  static constexpr std::size_t at_once = 4 * few_places;  // steps
  static constexpr std::size_t few_chunks = 64;    // up to this many are entered again in one step
  static constexpr std::size_t least_steps = 64;   // with each chunk

  static unsigned shift_for(const Chunk& c, const Geometry& g) noexcept {
    // With granules as large as a chunk, each would contain two chunks, and half of the lookups would find the wrong one.
    const auto bits = static_cast<unsigned>(std::bit_width(larger(g.extent(c.blocks), 4096) - 1));
    return static_cast<unsigned>(larger(bits - 3, smaller(bits, 14)));
  }
  void begin_with(const Chunk& c, const Geometry& g) noexcept {
    coarse_ = 0;
    now_.use_shift(shift_for(c, g));
    if (next_.has_places() && next_.is_empty()) next_.use_shift(now_.shift());
  }
  /// Enters all chunks again, with larger granules, except the new one. Precondition: they are few.
  void coarsen(const Chunk& coming, const Geometry& g, auto after) noexcept {
    const auto each = [&](auto visit) {
      for (Chunk* c = after(nullptr); c != nullptr; c = after(c->first))
        if (c != detail::pointer_to(coming)) visit(*c);
    };
    const auto again = [&](table& of, auto has) {
      each([&](Chunk& c) { if (has(c)) of.take_out(c, g); });
      of.use_shift(coarse_);
      each([&](Chunk& c) { if (has(c)) of.enter(c, g); });
    };
    again(now_, [](const Chunk&) { return true; });
    if (next_.has_places() && coarse_ > next_.shift()) again(next_, [this](const Chunk& c) { return is_passed(c); });
  }

  bool is_passed(const Chunk& c) const noexcept { return address_of(c.first) <= passed_; }
  void enter_next(Chunk& c, const Geometry& g) noexcept {
    next_.enter(c, g);
    ++moved_;
  }
  void start_again() noexcept { cleared_ = moved_ = passed_ = 0; }
  std::size_t steps_of_chunk() const noexcept { return now_.entries() / larger(chunks_, 1) + 1; }
  /// What is left to do for the next table: places to clear, and entries to add.
  std::size_t steps_left() const noexcept { return next_.size() - cleared_ + (chunks_ - moved_) * steps_of_chunk(); }
  /// Continues with the next table, for some steps, and switches to it when it is ready.
  void make_ready(std::size_t steps, const Geometry& g, auto after) noexcept {
    const std::size_t cleared = smaller(steps, next_.size() - cleared_);
    next_.wipe(cleared_, cleared_ + cleared);
    cleared_ += cleared;
    steps -= cleared;
    const std::size_t each = steps_of_chunk();
    for (Chunk* c = nullptr; steps != 0; steps -= smaller(steps, each)) {
      c = after(reinterpret_cast<const void*>(passed_));
      if (c == nullptr) {
        now_ = next_;
        next_ = {};
        return;
      }
      enter_next(*c, g);
      passed_ = address_of(c->first);
    }
  }

  table now_;   // first: hits look there
  table next_;  // larger, and not ready; or none
  std::size_t chunks_ = 0;
  std::size_t cleared_ = 0;      // places of the next table
  std::size_t moved_ = 0;        // chunks that it has: all up to `passed_`
  std::uintptr_t passed_ = 0;
  unsigned coarse_ = 0;          // the shift that the largest chunk needs, if it was too large for the last table
  unsigned wanted_shift_ = 0;    // of the table that was requested
  place own_places_[own_few] = {};  // until there is memory: two entries
};

// The chunks of a pool as a search tree in their own records: it needs no memory, so a chunk can always be entered.

TARN_STEP bool lies_in(const auto& chunk, const void* block, std::size_t extent) noexcept {
  return address_of(block) - address_of(chunk.first) < extent;  // before the chunk it wraps to a huge number
}

/// A chunk that can detect that its record was overwritten.
template <class Chunk>
inline constexpr bool guarded = Chunk::is_guarded;

/// Which chunk was found to be overwritten.
template <class Chunk>
class overruns {
 public:
  /// Whether the record of a chunk may be read. If not, notes it.
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
/// the process's secret. So its expected depth is logarithmic wherever chunks are, and in whatever order they are added and
/// removed. At a damaged record the tree ends.
template <class Chunk, class Geometry>
class chunk_tree : public overruns<Chunk> {
 public:
  using overruns<Chunk>::believes;

  /// The record of a chunk is in the region itself.
  TARN_STEP Chunk* make_record(void* region) noexcept { return ::new (region) Chunk{}; }

  Chunk* find(const void* block, const Geometry& g) const noexcept {
    Chunk* const found = up_to(block);
    return found != nullptr && detail::lies_in(*found, block, g.extent(found->blocks)) ? found : nullptr;
  }
  /// For hits: the chunk that contains the block, if there is one. Doesn't check the records.
  Chunk* guess(const void* block, const Geometry& g) const noexcept {
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

  /// Precondition: the chunk is in the tree, or behind a damaged one.
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
  /// The chunk that a link points to. A damaged one is cut off, with everything below it.
  TARN_STEP Chunk* end(Chunk*& link) const noexcept {
    if (link != nullptr && !believes(*link)) [[unlikely]] link = nullptr;
    return link;
  }
  TARN_STEP static bool before(const Chunk* a, const Chunk* b) noexcept { return address_of(a->first) < address_of(b->first); }
  static std::uint64_t priority(const Chunk* c) noexcept { return scatter(address_of(c->first) ^ secret()); }

  Chunk* root_ = nullptr;
};

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
    Chunk* const c = find_any(block, g);
    return c != nullptr && believes(*c) ? c : nullptr;
  }
  auto take_overrun() noexcept { return tree::take_overrun(); }
  /// For hits: the most likely chunk of the block, or null.
  TARN_STEP Chunk* guess(const void* block, const Geometry&) const noexcept { return table_.guess(block); }
  /// The guess is right as long as the result exists. False: it is anyway, or there is no such chunk.
  auto bring_in_front(const void* block, const Geometry& g) noexcept {
    Chunk* const c = find_any(block, g);
    return typename chunk_table<Chunk, Geometry>::loan(table_, block, c != guess(block, g) ? c : nullptr);
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
  auto next_of() const noexcept { return [this](const void* address) { return after(address); }; }
  /// As find(), but it doesn't check the records of chunks in the table.
  Chunk* find_any(const void* block, const Geometry& g) noexcept {
    Chunk* const c = table_.find(block, g);
    return c != nullptr || table_.has_all() ? c : find_far(block, g);
  }
  /// A larger table that is being built may have it soon.
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
  Chunk* guess(const void* block, const Geometry& g) noexcept { return find(block, g); }
  const Chunk* guess(const void* block, const Geometry& g) const noexcept { return find(block, g); }
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

/// Whether a region overlaps that of a chunk. Chunks don't overlap, so only the two neighbours matter.
bool overlaps(const auto& map, memory region) noexcept {
  const auto meets = [region](const auto* c) { return c != nullptr && detail::overlap(c->region, region); };
  return meets(map.up_to(region.start)) || meets(map.after(region.start));
}

template <class Traits, class Chunk = typename Traits::chunk, class Geometry = typename Traits::geometry>
using chunk_map = std::conditional_t<
    Traits::one_chunk, only_chunk<Chunk, Geometry>,
    std::conditional_t<Traits::has_chunk_table, chunk_index<Chunk, Geometry>, chunk_tree<Chunk, Geometry>>>;

// ---- the chunks of a pool -------------------------------------------------------------------------------------------------

template <class Traits>
class many_chunks : public suspicions<Traits>, public walks_of<Traits> {
 public:
  using traits = Traits;
  using geometry_type = typename Traits::geometry;
  using chunk = typename Traits::chunk;
  using layout = typename Traits::layout;
  static constexpr bool returns_chunks = Traits::retention::traits.returns_chunks;
  static constexpr bool checks_leaving = Traits::checks_leaving;
  static constexpr bool may_lose_chunks = Traits::guards_records;  // find() returns null for a block in a chunk that was lost

  template <class Values>
  TARN_STEP constexpr explicit many_chunks(const Values& values) noexcept(Values::nothrow)
      : geometry_(values.template get<typename Traits::size>()),
        growth_(values.template get<typename Traits::growth>()),
        retention_(values.template get<typename Traits::retention>()) {}
  many_chunks(const many_chunks&) = delete;
  many_chunks& operator=(const many_chunks&) = delete;

  // ---- questions ---------------------------------------------------------------------------------------------------------

  TARN_STEP const geometry_type& geometry() const noexcept { return geometry_; }
  TARN_STEP std::size_t capacity() const noexcept { return capacity_; }  // blocks, free or in use
  std::size_t number() const noexcept { return count_.number.value; }  // if chunks are returned
  /// Blocks that were ever allocated and are in no bits: of a listed pool.
  std::size_t carved() const noexcept { return count_.carved.value - bits_.blocks; }
  const chunk* find(const void* block) const noexcept { return map_.find(block, geometry_); }
  chunk* find(const void* block) noexcept { return map_.find(block, geometry_); }
  /// For hits: the most likely chunk of the block, or null. Its slot there shows whether the guess is right. A result of
  /// bring_in_front() makes the guess right as long as it exists (false: there was no need).
  TARN_STEP chunk* guess(const void* block) noexcept { return map_.guess(block, geometry_); }
  TARN_STEP auto bring_in_front(const void* block) noexcept { return map_.bring_in_front(block, geometry_); }
  TARN_STEP std::byte* block_at(std::byte* first, std::size_t slot) const noexcept {
    return first + geometry_.distance(slot) + geometry_.offset();
  }
  /// The slot whose block starts at the address, or a number that no slot has.
  std::size_t slot_of(const chunk& c, const void* block) const noexcept {
    return geometry_.slot_at(address_of(block) - address_of(c.first) - geometry_.offset());
  }
  /// Whether a block, free or in use, starts at the address.
  bool is_block(const void* address) const noexcept {
    const chunk* const c = find(address);
    return c != nullptr && slot_of(*c, address) < c->carved;
  }
  /// Whether a block that the checking policy knows as free starts at the address. Called in a hit of lifo_reuse.
  bool is_free(const void* block) const noexcept
    requires(Traits::hides_links)
  {
    const chunk* const c = map_.guess(block, geometry_);
    if (c != nullptr && is_free_in(*c, block)) [[likely]] return true;
    if constexpr (Traits::has_chunk_table) return is_free_far(block);
    else return false;
  }
  static const auto& checking_column(const chunk& c) noexcept {
    return static_cast<const typename Traits::checking::template per_chunk<Traits>&>(c);
  }

  /// The chunk whose red line was overwritten since the previous call, or null. The chunk, and those behind it in the map, no
  /// longer belong to the pool.
  const chunk* take_overrun() noexcept { return map_.take_overrun(); }
  /// Whether a region overlaps one of the chunks.
  bool overlaps(memory region) const noexcept { return detail::overlaps(map_, region); }

  // ---- carving -----------------------------------------------------------------------------------------------------------

  /// Whether carve() has blocks, or will have those of bits that are hidden now.
  bool has_more() const noexcept { return untouched_.first() != nullptr || bits_.blocks != 0; }
  /// How many blocks a front of `n` places should get. A new pool begins with a quarter, because many pools need no more.
  std::size_t grain(std::size_t n) noexcept {
    const chunk* const c = untouched_.first();
    const bool is_new = !TARN_FOR_SIZE && c != nullptr && c->carved == 0 && c->blocks == capacity_;
    return walks_of<Traits>::grain(is_new ? larger(n / 4, 1) : n);
  }
  /// Writes up to `n` blocks that are free in bits, or unused, in ascending order. Returns how many. Computes only their
  /// addresses, so a chunk of a million blocks costs no more than a chunk of one.
  std::size_t carve(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    if constexpr (has_free_bits<Traits>) got = take_from_bits(out, n);
    this->note_taken();
    while (got != n && untouched_.first() != nullptr) {
      if constexpr (Traits::one_chunk) TARN_AT_MOST(1);
      chunk& c = *untouched_.first();
      if (!map_.believes(c)) [[unlikely]] {
        untouched_.forget();  // those behind it can't be found
        break;
      }
      const std::size_t taken = smaller(n - got, c.blocks - c.carved);
      geometry_.write_blocks(out + got, c.first, c.carved, taken);
      got += taken;
      c.carved += taken;
      if constexpr (Traits::hides_links) c.make_records(c.carved);
      count_.carved.add(taken);
      if (c.carved == c.blocks) untouched_.remove(c);
    }
    if constexpr (Traits::shuffles) shuffle_(out, got);
    return got;
  }

  // ---- growth ------------------------------------------------------------------------------------------------------------

  /// What the growth policy requests next, with `more` blocks than now and `last` in the newest chunk (both 0: now).
  TARN_STEP chunk_request next(std::size_t last, std::size_t more) const noexcept {
    return growth_.next_chunk(last != 0 ? last : newest_ / marks, capacity_ + more, geometry_.stride());
  }
  /// Whether the pool is at its store, if the locking policy can't tell; and whether pages are being returned. Changed under
  /// the growth guard, the second under the core guard as well.
  TARN_STEP bool is_growing() const noexcept { return (newest_ & growing_mark) != 0; }
  TARN_STEP void set_growing(bool now) noexcept { newest_ = (newest_ & ~growing_mark) | (now ? growing_mark : 0); }
  bool pages_go() const noexcept { return (newest_ & pages_mark) != 0; }
  void set_pages_go(bool now) noexcept { newest_ = (newest_ & ~pages_mark) | (now ? pages_mark : 0); }
  /// Whether there are fewer unused blocks than a policy that grows ahead requires. O(chunks that have some).
  bool is_below_watermark() const noexcept {
    return untouched_.has_fewer_than(growth_.watermark(capacity_), [&](const chunk& c) { return map_.believes(c); });
  }
  std::size_t watermark() const noexcept { return growth_.watermark(capacity_); }
  /// Creates the record of a fresh region. It isn't yet part of the pool; no block is touched.
  chunk* make(memory region, std::size_t blocks) noexcept {
    auto* const start = static_cast<std::byte*>(region.start);
    if constexpr (Traits::guards_records) red_line::draw(start);
    chunk* const c = map_.make_record(start + layout::red_bytes);
    layout::open(*c, region, blocks, geometry_);
    memory_tools::poison(c->first, geometry_.extent(blocks));
    return c;
  }
  /// Bytes that the chunk map needs before a list of fresh chunks can be adopted.
  TARN_STEP std::size_t shortage(const chunk* fresh) noexcept { return map_.shortage(fresh, geometry_); }
  TARN_STEP void supply(memory more) noexcept { map_.supply(more, geometry_); }
  /// Enters a chunk, which may have been taken out before.
  void insert(chunk& c) noexcept {
    map_.insert(c, geometry_);
    capacity_ += c.blocks;
    count_.enter(c.carved);
    if (c.carved != c.blocks) untouched_.push(c);
  }
  /// A fresh chunk becomes part of the pool.
  TARN_STEP void adopt(chunk& c, auto& list) noexcept {
    if constexpr (Traits::is_walked) this->enter(c);
    newest_ = newest_ % marks + c.blocks * marks;
    insert(c);
    list.adopted(c);
  }

  // ---- giving back -------------------------------------------------------------------------------------------------------

  /// For the reuse policy that sees empty chunks: a chunk became empty, or is used again.
  TARN_STEP status chunk_emptied() noexcept { return retention_.emptied(); }
  TARN_STEP void chunk_reused() noexcept { retention_.reused(); }
  /// How many empty chunks stay when a surplus is returned.
  std::size_t keep() const noexcept { return retention_.keep(); }
  bool has_surplus() const noexcept { return retention_.has_surplus(); }

  /// Moves a chunk to the front of the list `leaving`. O(log chunks).
  void unlink(chunk& c, chunk*& leaving) noexcept {
    if (c.carved != c.blocks) untouched_.remove(c);
    map_.take_out(c, geometry_);
    capacity_ -= c.blocks;
    count_.leave(c.carved);
    c.next = detail::replace(leaving, detail::pointer_to(c));
  }
  bool has_untouched() const noexcept { return untouched_.has_untouched(); }
  /// Calls visit(chunk) for each that has carved and uncarved blocks.
  void each_begun(auto visit) noexcept {
    for (chunk *c = untouched_.first(), *next; c != nullptr && c->carved != 0; c = next) {
      next = c->next;
      visit(*c);
    }
  }
  /// Takes out the chunks that were never used. O(1) for each, and the map's O(log chunks).
  void unlink_untouched(chunk*& leaving) noexcept {
    for (chunk *c = untouched_.first(), *next; c != nullptr; c = next) {
      next = c->next;
      if (c->carved == 0) unlink(*c, leaving);
    }
  }
  /// Takes every chunk out, as a list linked by `next`. They may be inserted again.
  TARN_STEP chunk* take_all() noexcept {
    untouched_.forget();
    bits_ = {};
    capacity_ = 0;
    count_ = {};
    return map_.take_all();
  }
  /// Resets it, except for what the policies count. Also forgets the map's table.
  TARN_STEP void forget() noexcept {
    newest_ %= marks;
    map_.forget();
  }

  // ---- bits: of pools whose chunks have them -------------------------------------------------------------------------------

  /// Marks the blocks of word `w` of a chunk that have a bit in `mask` as free: `n` of them.
  void mark_free(chunk& c, std::size_t w, std::uint64_t mask, std::size_t n) noexcept {
    if (c.bitmap.free_blocks() == 0) c.next_with_bits = detail::replace(bits_.first, detail::pointer_to(c));
    c.bitmap.mark(w, mask, n);
    bits_.blocks += n;
  }
  /// Writes up to `n` blocks that are free in bits. Returns how many.
  std::size_t take_from_bits(void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && bits_.first != nullptr && !this->hides_bits()) {
      chunk& c = *bits_.first;
      if (!map_.believes(c)) [[unlikely]] {
        bits_ = {};  // those behind it can't be found
        break;
      }
      bits_.blocks -= c.bitmap.take(n - got, [&](std::size_t slot) { out[got++] = block_at(c.first, slot); });
      if (c.bitmap.free_blocks() == 0) bits_.first = c.next_with_bits;
    }
    return got;
  }
  /// Chunks have left, or other code changed bits.
  void recount_bits() noexcept {
    bits_ = {};
    each([this](chunk& c) {
      if (c.bitmap.free_blocks() != 0) c.next_with_bits = detail::replace(bits_.first, detail::pointer_to(c));
      bits_.blocks += c.bitmap.free_blocks();
    });
  }

  // ---- walks -------------------------------------------------------------------------------------------------------------

  /// The next chunk by ascending address, or null.
  chunk* after(const void* address) noexcept { return map_.after(address); }
  /// Calls visit(chunk) for each chunk, by ascending address. visit() may return the chunk to the store.
  void each(auto visit) {
    for (chunk* c = map_.after(nullptr); c != nullptr;) {
      const std::byte* const first = c->first;
      visit(*c);
      c = map_.after(first);
    }
  }
  /// As each(), from the chunk that the address lies in, or from the next one, as long as visit() returns true.
  void each_from(const void* address, auto visit) {
    chunk* c = find(address);
    if (c == nullptr) c = map_.after(address);
    while (c != nullptr && visit(*c)) c = map_.after(c->first);
  }
  /// Calls visit(block) for every block that was allocated at least once, used or free, by ascending address.
  void each_carved(auto visit) {
    each([&](chunk& c) {
      for (std::size_t i = 0; i != c.carved; ++i) visit(block_at(c.first, i));
    });
  }

 private:
  bool is_free_in(const chunk& c, const void* block) const noexcept {
    const std::size_t slot = slot_of(c, block);
    return slot < c.carved && !checking_column(c).in_use(slot);
  }
  TARN_COLD bool is_free_far(const void* block) const noexcept {
    const chunk* const c = find(block);
    return c != nullptr && is_free_in(*c, block);
  }

  struct no_shuffler {};
  static constexpr std::size_t growing_mark = Traits::marks_growth;
  static constexpr std::size_t pages_mark = Traits::returns_pages ? 1 + growing_mark : 0;
  static constexpr std::size_t marks = 1 + growing_mark + pages_mark;

  carving_list<chunk> untouched_;
  chunk_map<Traits> map_;
  TARN_NO_UNIQUE_ADDRESS bits_of<Traits> bits_;
  std::size_t capacity_ = 0;  // blocks in all chunks
  TARN_NO_UNIQUE_ADDRESS chunk_count<returns_chunks, Traits::is_listed> count_;
  std::size_t newest_ = 0;  // blocks in the newest chunk, times `marks`; the marks
  TARN_NO_UNIQUE_ADDRESS geometry_type geometry_;
  TARN_NO_UNIQUE_ADDRESS typename Traits::growth growth_;
  TARN_NO_UNIQUE_ADDRESS typename Traits::retention::state retention_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Traits::shuffles, shuffler, no_shuffler> shuffle_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_MAP_H_
