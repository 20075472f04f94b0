// decides    free blocks are on a lock-free stack, so no thread waits for one that is suspended in an operation
// costs      a compare-and-swap to allocate a block and one to free it, all on one cache line: 20 ns uncontended; under
//            contention as slow as a mutex. 4 bytes a block, or 2, in front of the chunk's blocks
// conflicts  reuse policies, because the stack is one; returning chunks, because other threads may still read them, so there is
//            no trim() or release()
// use when   a high-priority thread, or a signal handler, frees blocks that others allocate. For speed: thread_cached
#ifndef TARN_POLICIES_LOCKING_LOCK_FREE_H_
#define TARN_POLICIES_LOCKING_LOCK_FREE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/reuse.h"
#include "tarn/policies/statistics.h"

// What is where:
//
//   stack_       numbers of free blocks; no guard
//   links        in front of each chunk's blocks, one for each: the number below it on the stack
//   numbers_     from number to chunk, and from block to number; looked up without a guard
//   list         blocks never used                     under the core guard
//
// What happens:
//
//   pop          the number on top, and the block of that number
//    pop_slow      carves some blocks of the list under the core guard; all but one go onto the stack
//   prepare      carves all of them
//   push         the number of the block, onto the stack
//   shortage     as the pool grows, under the growth guard: memory for larger tables of numbers; then supply(), and adopt()

namespace tarn::detail {

// ---- numbers of blocks -------------------------------------------------------------------------------------------------

// Numbers for blocks: from address to number and back, while other threads look them up and chunks are added. Nothing is
// removed, except everything at once.
//
//   number - 1   | run: 20 bits | slot: 12 bits |      a chunk has as many runs as it needs, one after the other
//   number - 1   | run: 10 bits | slot: 6 bits |       of numbers of 16 bits
//   runs         run -> chunk
//   places       address / granule -> chunk, hashed; a chunk has one entry for each granule that it touches
//   apart        the chunks of bounded stores, which are in no table, because all of such a store's memory is for blocks, which
//                must be usable even if no memory for a table is available. Their numbers are the last ones
//
// Granules are as large as a chunk or up to 16 times smaller, so that a chunk touches few of them, and few chunks touch the
// same one. Chunks of very different sizes have granules of different sizes, so a lookup tries each size that some chunk has,
// the largest first, at most 13.
//
// Before the tables are full, larger ones are built: with each chunk added, some places are cleared, or some runs and places
// copied, enough to be ready in time. Then they are published. A thread that still reads the old ones finds what they
// contained.

/// What a chunk keeps: a link for each block, and the number before that of its first block.
/// \tparam Number  of 32 bits, or of 16
template <template <class> class Atomic, class Number = std::uint32_t>
struct numbered_column {
  static constexpr std::uint32_t last_number = static_cast<Number>(-1);
  using link = Atomic<Number>;

  static constexpr std::size_t column_bytes(std::size_t blocks, const auto&) noexcept { return multiply(blocks, sizeof(link)); }
  void open(std::byte* column, std::size_t, const auto&) noexcept { links = reinterpret_cast<link*>(column); }

  link* links = nullptr;  // each is created when its block is carved, so large chunks cost no more than small ones
  std::uint32_t base = 0;
};

/// For a pool without a bounded store.
template <class Chunk>
struct no_chunks_apart {
  static constexpr bool any = false;
  static constexpr bool has(const Chunk&) noexcept { return false; }
  static constexpr std::size_t blocks() noexcept { return 0; }
  static constexpr void add(Chunk&) noexcept {}
  static constexpr void forget() noexcept {}
};

/// Two stores, each of which has at most one chunk here.
/// \tparam First, Second  whether the pool's store and the second one are bounded
template <class Chunk, template <class> class Atomic, bool First, bool Second>
class chunks_apart {
 public:
  static constexpr bool any = true;
  static constexpr bool has(const Chunk& c) noexcept { return c.from_second ? Second : First; }

  /// The chunk with that number or block; null: neither.
  const Chunk* of(std::uint32_t n) const noexcept { return find([n](const Chunk& c) { return n - 1 - c.base < c.blocks; }); }
  const Chunk* at(const void* block, const auto& g) const noexcept {
    return find([&](const Chunk& c) { return address_of(block) - address_of(c.first) < g.extent(c.blocks); });
  }
  std::size_t blocks() const noexcept { return blocks_; }
  void add(Chunk& c) noexcept {
    blocks_ += c.blocks;
    c.base = static_cast<std::uint32_t>(Chunk::last_number - blocks_);
    chunks_[First && c.from_second ? 1 : 0].store(detail::pointer_to(c), memory_order_release);
  }
  void forget() noexcept {
    for (auto& c : chunks_) c.store(nullptr, memory_order_relaxed);
    blocks_ = 0;
  }

 private:
  const Chunk* find(auto is) const noexcept {
    for (const auto& place : chunks_)
      if (const Chunk* const c = place.load(memory_order_acquire); c != nullptr && is(*c)) return c;
    return nullptr;
  }

  // Order: as of block_numbers::table_: store release, load acquire, under the growth guard relaxed.
  Atomic<const Chunk*> chunks_[First && Second ? 2 : 1] = {};
  std::size_t blocks_ = 0;  // of both
};

/// \tparam Chunk  derived from numbered_column
template <class Chunk, class Geometry, template <class> class Atomic, class Apart = no_chunks_apart<Chunk>>
class block_numbers {
 public:
  using number = std::uint32_t;

  /// Precondition of both: a chunk has that number or block.
  const Chunk& chunk_of(number n) const noexcept {
    if constexpr (Apart::any)
      if (const Chunk* const c = apart_.of(n)) return *c;
    return *table_.load(memory_order_acquire)->runs[(n - 1) / run].load(memory_order_acquire);
  }
  const Chunk& chunk_at(const void* block, const Geometry& g) const noexcept {
    if constexpr (Apart::any)
      if (const Chunk* const c = apart_.at(block, g)) return *c;
    const table& t = *table_.load(memory_order_acquire);
    unsigned shift = t.largest.load(memory_order_relaxed);
    const Chunk* found = nullptr;
    while ((found = t.find(block, shift, g)) == nullptr) [[unlikely]] shift = t.smaller_than(shift);
    return *found;
  }

  // ---- one thread at a time: under the growth guard ------------------------------------------------------------------

  /// Bytes of a table with room for the list of fresh chunks as well; 0: there is one. The next is requested while a quarter of
  /// the room is left.
  std::size_t shortage(const Chunk* fresh, const Geometry& g) noexcept {
    const table* const t = table_.load(memory_order_relaxed);
    std::size_t runs = runs_;
    std::size_t places = t != nullptr ? t->used : 0;
    std::size_t apart = apart_.blocks();
    for (; fresh != nullptr; fresh = fresh->next) {
      if (Apart::has(*fresh)) {
        apart += fresh->blocks;
        continue;
      }
      if (t == nullptr && runs == 0)
        phase_ = static_cast<unsigned>(std::bit_width(g.extent(fresh->blocks) - 1)) % table::step;
      runs += runs_of(*fresh);
      places += table::span_of(*fresh, g, phase_).number;
    }
    if (runs + apart / run + 1 > most_runs) return size_max;  // no numbers are left
    const bool goes_without = replace(does_without_, false);
    if (runs == runs_) return 0;
    can_do_without_ = t != nullptr && t->has_room(runs, places);
    if (next_ != nullptr && (can_do_without_ || next_->has_room(runs, places))) return 0;
    if (can_do_without_ && (goes_without || !t->fills(runs, places))) return 0;
    want_runs_ = std::bit_ceil(larger(2 * runs, fewest_runs));
    want_places_ = std::bit_ceil(larger(4 * places, larger(2 * fewest_runs, want_runs_ / 8)));  // few runs to copy for each
    return sizeof(table) + (want_runs_ + want_places_) * sizeof(entry);
  }
  /// Null: there is no memory.
  void supply(memory more, const Geometry& g) noexcept {
    if (!more) {
      does_without_ = can_do_without_;
      return;
    }
    auto* const entries = reinterpret_cast<entry*>(static_cast<std::byte*>(more.start) + sizeof(table));
    next_ = ::new (more.start) table{entries, entries + want_runs_, want_runs_, want_places_ - 1, phase_};
    cleared_ = moved_ = 0;
    if (table_.load(memory_order_relaxed) == nullptr) make_ready(size_max, g);
  }
  /// Precondition: there is no shortage. Some hundred steps, if a table was supplied in time, and one for each 4096 blocks of
  /// the chunk.
  void add(Chunk& c, const Geometry& g) noexcept {
    if (Apart::has(c)) return apart_.add(c);
    const std::size_t runs = runs_of(c);
    const std::size_t places = table::span_of(c, g, phase_).number;
    if (!table_.load(memory_order_relaxed)->has_room(runs_ + runs, table_.load(memory_order_relaxed)->used + places))
      make_ready(size_max, g);
    table& t = *table_.load(memory_order_relaxed);
    c.base = static_cast<number>(runs_ * run);
    const std::size_t share = t.share_of_room(runs_, runs, places);
    for (std::size_t i = runs; i != 0; --i) t.number_run(runs_++, c);
    t.enter(c, g);
    if (next_ != nullptr) make_ready(steps_left() / share + 2 * (runs + places), g);
  }
  void forget() noexcept {
    table_.store(nullptr, memory_order_relaxed);
    next_ = nullptr;
    runs_ = 0;
    apart_.forget();
  }

 private:
  static constexpr std::size_t run = Chunk::last_number > 0xFFFF ? 4096 : 64;  // numbers
  static constexpr std::size_t most_runs = Chunk::last_number / run + 1;
  static constexpr std::size_t fewest_runs = 16;
  static constexpr std::size_t few = 256;  // tables up to this are built in one step, when those before are full
  using entry = Atomic<const Chunk*>;

  struct table {
    static constexpr unsigned step = 5;  // from one size of granules to the next, as a power of two

    entry* runs;
    entry* places;
    std::size_t max_runs;
    std::size_t mask;
    unsigned phase;  // of granules of size 0, as a power of two
    // Order: relaxed. The size of a chunk's granules is noted before its blocks are allocated.
    Atomic<unsigned> largest = 0;  // of the largest granules that a chunk has
    Atomic<std::uint32_t> sizes = 0;  // a bit for each size that a chunk has
    std::size_t used = 0;  // places

    const Chunk* find(const void* block, unsigned shift, const Geometry& g) const noexcept {
      for (std::size_t i = home(address_of(block) >> shift);; i = next(i)) {
        const Chunk* const c = places[i].load(memory_order_acquire);
        if (c == nullptr || address_of(block) - address_of(c->first) < g.extent(c->blocks)) return c;
      }
    }
    /// Precondition: there are such granules.
    unsigned smaller_than(unsigned shift) const noexcept {
      const std::uint32_t below = sizes.load(memory_order_relaxed) & ((1u << (shift - phase) / step) - 1);
      return shift_of(static_cast<unsigned>(std::bit_width(below)) - 1);
    }
    bool has_room(std::size_t all_runs, std::size_t all_places) const noexcept {
      return all_runs <= max_runs && 2 * all_places <= mask + 1;
    }
    /// Whether less than a quarter of the room would be left, and building another takes many steps.
    bool fills(std::size_t all_runs, std::size_t all_places) const noexcept {
      return larger(mask, max_runs) >= few && (8 * all_places > 3 * (mask + 1) || 4 * all_runs > 3 * max_runs);
    }
    /// They take 1/N of the room that is left; returns N.
    std::size_t share_of_room(std::size_t runs_now, std::size_t more_runs, std::size_t more_places) const noexcept {
      return smaller((max_runs - runs_now) / more_runs, ((mask + 1) / 2 - used) / more_places);
    }

    unsigned shift_of(unsigned size) const noexcept { return phase + step * size; }
    std::size_t home(std::uintptr_t granule) const noexcept {
      // Fibonacci hashing (Knuth, vol. 3, 6.4), on bits that no distance between chunks makes regular
      return static_cast<std::size_t>((granule ^ granule >> 15) * 0x9E3779B97F4A7C15u >> 32) & mask;
    }
    std::size_t next(std::size_t i) const noexcept { return (i + 1) & mask; }

    /// The granules of a chunk.
    struct span {
      unsigned size;
      std::uintptr_t first;
      std::size_t number;
    };
    static span span_of(const Chunk& c, const Geometry& g, unsigned phase) noexcept {
      const std::size_t extent = g.extent(c.blocks);
      const auto width = static_cast<unsigned>(std::bit_width(extent - 1));
      const unsigned size = width < phase ? 0 : (width - phase) / step;
      const unsigned shift = phase + step * size;
      const std::uintptr_t first = address_of(c.first) >> shift;
      return {size, first, ((address_of(c.first) + extent - 1) >> shift) - first + 1};
    }
    void number_run(std::size_t r, const Chunk& c) noexcept {
      (::new (static_cast<void*>(runs + r)) entry(nullptr))->store(detail::pointer_to(c), memory_order_release);
    }
    void enter(const Chunk& c, const Geometry& g) noexcept {
      const span its = span_of(c, g, phase);
      for (std::uintptr_t granule = its.first; granule != its.first + its.number; ++granule) {
        std::size_t i = home(granule);
        while (places[i].load(memory_order_relaxed) != nullptr) i = next(i);
        places[i].store(detail::pointer_to(c), memory_order_release);
      }
      used += its.number;
      const std::uint32_t known = sizes.load(memory_order_relaxed);
      if ((known >> its.size & 1) != 0) return;
      sizes.store(known | 1u << its.size, memory_order_relaxed);
      if (known >> its.size == 0) largest.store(shift_of(its.size), memory_order_relaxed);
    }
  };

  static std::size_t runs_of(const Chunk& c) noexcept { return (c.blocks + run - 1) / run; }

  /// What is left to do for the next table: places to clear, runs and places to copy.
  std::size_t steps_left() const noexcept {
    return next_->mask + 1 - cleared_ + runs_ - moved_ + table_.load(memory_order_relaxed)->used - next_->used;
  }
  /// Continues with the next table for at least that many steps, and publishes it when it is ready.
  void make_ready(std::size_t steps, const Geometry& g) noexcept {
    for (; cleared_ != next_->mask + 1; ++cleared_) {
      if (steps-- == 0) return;
      ::new (static_cast<void*>(next_->places + cleared_)) entry(nullptr);
    }
    while (moved_ != runs_) {
      if (steps == 0) return;
      const Chunk& c = *table_.load(memory_order_relaxed)->runs[moved_].load(memory_order_relaxed);
      const std::size_t before = next_->used;
      if (c.base == moved_ * run) next_->enter(c, g);
      next_->number_run(moved_++, c);
      steps -= smaller(steps, 1 + next_->used - before);
    }
    table_.store(next_, memory_order_release);
    next_ = nullptr;
  }

  TARN_NO_UNIQUE_ADDRESS Apart apart_;
  // Order: store release, load acquire; under the growth guard load relaxed. A table and its entries are written before their
  // address is published. A thread that has a block, or its number, received it after the block was carved, and its chunk is
  // entered before that. A lookup may pass a chunk that is entered at that moment, and reads where that chunk is.
  Atomic<table*> table_ = nullptr;
  table* next_ = nullptr;  // larger, and not ready
  std::size_t runs_ = 0;
  std::size_t cleared_ = 0;  // places of the next table
  std::size_t moved_ = 0;    // runs that it has
  std::size_t want_runs_ = 0;
  std::size_t want_places_ = 0;
  unsigned phase_ = 0;
  bool can_do_without_ = false;  // what was requested
  bool does_without_ = false;    // it was refused
};

/// The same for a pool that never has more than one chunk.
template <class Chunk, class Geometry, template <class> class Atomic>
class one_chunk_numbers {
 public:
  const Chunk& chunk_of(std::uint32_t) const noexcept { return *chunk_.load(memory_order_acquire); }
  const Chunk& chunk_at(const void*, const Geometry&) const noexcept { return *chunk_.load(memory_order_acquire); }

  static std::size_t shortage(const Chunk* fresh, const Geometry&) noexcept {
    return fresh != nullptr && fresh->blocks - 1 >= Chunk::last_number ? size_max : 0;
  }
  static void supply(memory, const Geometry&) noexcept {}
  void add(Chunk& c, const Geometry&) noexcept { chunk_.store(detail::pointer_to(c), memory_order_release); }
  void forget() noexcept { chunk_.store(nullptr, memory_order_relaxed); }

 private:
  // Order: as of block_numbers::table_: store release, load acquire, under the growth guard relaxed.
  Atomic<const Chunk*> chunk_ = nullptr;
};

// ---- the stack ---------------------------------------------------------------------------------------------------------

// A lock-free stack of numbers (Treiber, 1986). The head holds a number and a tag that every pop changes, so that a number that
// was popped and pushed again in between isn't taken for one that stayed (the ABA problem).
//
//   head   | tag: 32 bits | number: 32 bits |      number 0: empty
//   head   | tag: 16 bits | number: 16 bits |      where a processor exchanges no more than 32 bits at once
//
// At 50 million pops a second, a tag of 16 bits wraps in 1.3 ms, less than a time slice; one of 32 bits in 86 s. A thread that
// is stopped for longer within a pop fails only if it continues after an exact multiple of 2^32 pops, with the same number on
// top. The chance is less than 2^-32 each time. The links are atomics outside the blocks, because a pop may read the link of a
// block that another thread has allocated in between and writes to.
//
// So 16 bits aren't enough for threads (rule Y10), but they are for interrupts of one core, which return before the interrupted
// pop continues. An exchange is wrong only if its head is what was read and the link below has changed. The number on top is
// pushed again only after a pop took it, and each pop adds 1 to the tag. So a multiple of 65,536 pops would have to happen
// within one interruption of a few instructions.

/// An unsigned number with half the bits.
template <class Word>
using half_of = std::conditional_t<sizeof(Word) == 8, std::uint32_t, std::uint16_t>;

/// \tparam Atomic  std::atomic; a test passes another
/// \tparam Head    std::uint64_t or std::uint32_t: a number and a tag, each half of it
template <template <class> class Atomic, class Head = std::uint64_t>
class tagged_stack {
 public:
  using number = half_of<Head>;
  using link = Atomic<number>;
  static constexpr number none = 0;

  constexpr tagged_stack() noexcept = default;
  tagged_stack(const tagged_stack&) = delete;
  tagged_stack& operator=(const tagged_stack&) = delete;

  /// Takes the number on top, or none. `link_of(number)` returns the link of any number that was ever pushed.
  number pop(const auto& link_of) noexcept {
    head seen = head_.load(memory_order_acquire);
    while (number_of(seen) != none) {
      const number next = link_of(number_of(seen)).load(memory_order_relaxed);
      if (head_.compare_exchange_weak(seen, pack(next, tag_of(seen) + 1), memory_order_acquire, memory_order_acquire))
        break;
      TARN_NOT_IF(alone);
    }
    return number_of(seen);
  }

  void push(number n, link& its) noexcept { push_chain(n, its); }
  /// Pushes a chain: `first` is its first number, `last` the link of its last; the others are already linked.
  void push_chain(number first, link& last) noexcept {
    head seen = head_.load(memory_order_relaxed);
    for (;;) {
      last.store(number_of(seen), memory_order_relaxed);
      if (head_.compare_exchange_weak(seen, pack(first, tag_of(seen)), memory_order_release, memory_order_relaxed)) break;
      TARN_NOT_IF(alone);
    }
  }
  /// How many numbers are in the stack, at most `limit`: any number up to that, while others change it.
  std::size_t count(std::size_t limit, const auto& link_of) const noexcept {
    std::size_t n = 0;
    for (number at = number_of(head_.load(memory_order_acquire)); at != none && n != limit; ++n)
      at = link_of(at).load(memory_order_relaxed);
    return n;
  }
  /// Precondition: no other thread uses the stack.
  void forget_all() noexcept { head_.store(0, memory_order_relaxed); }

 private:
  using head = Head;
  static constexpr unsigned half = sizeof(head) * 4;  // bits

  static constexpr number number_of(head h) noexcept { return static_cast<number>(h); }
  static constexpr std::uint32_t tag_of(head h) noexcept { return static_cast<std::uint32_t>(h >> half); }
  static constexpr head pack(number n, std::uint32_t tag) noexcept { return head{tag} << half | n; }

  // Order: pop: load acquire, exchange acquire, also if it fails; push: exchange release. A pop reads the link of the top
  // number, which the push released. Links are relaxed, because a pop may read the link of a block that another thread takes at
  // that moment; in that case the tag differs, and the exchange fails. A pop between a push and another pop continues the
  // push's release, because it is a read-modify-write.
  Atomic<head> head_ = 0;
};

// ---- the calls ---------------------------------------------------------------------------------------------------------

/// \tparam Guards  hot(), growth() and end(), as for direct_calls: for carving and for growth
/// \tparam Head    the word of the stack: std::uint64_t, or std::uint32_t
template <class Traits, class Guards, template <class> class Atomic, class Head = std::uint64_t>
class stack_calls {
  using chunk = typename Traits::chunk;
  using geometry = typename Traits::geometry;
  using apart = std::conditional_t<Traits::has_bounded_store,
                                   chunks_apart<chunk, Atomic, Traits::store_is_bounded, Traits::second_store_is_bounded>,
                                   no_chunks_apart<chunk>>;
  using numbers = std::conditional_t<Traits::one_chunk, one_chunk_numbers<chunk, geometry, Atomic>,
                                     block_numbers<chunk, geometry, Atomic, apart>>;
  using stack = tagged_stack<Atomic, Head>;
  using number = typename stack::number;
  using link = typename stack::link;

 public:
  static no_guard hit_guard() noexcept { return {}; }
  auto core_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  auto growth_guard() const noexcept(noexcept(guards_.growth())) { return guards_.growth(); }
  static constexpr growth_again again = again_of<Guards>;
  bool grows_here() const noexcept { return guards_.grows_here(); }

  void* pop(auto& pool) noexcept {
    const chunk* c = nullptr;  // of the number popped, so that it is looked up once
    const number n = stack_.pop([&](number of) -> link& {
      c = detail::pointer_to(numbers_.chunk_of(of));
      return c->links[of - 1 - c->base];
    });
    if (n == stack::none) return nullptr;
    const auto& g = pool.chunks.geometry();
    return c->first + g.distance(n - 1 - c->base) + g.offset();
  }
  status push(auto& pool, void* block) noexcept {
    const auto& g = pool.chunks.geometry();
    const chunk& c = numbers_.chunk_at(block, g);
    const number slot = slot_in(c, g, block);
    stack_.push(static_cast<number>(c.base + slot + 1), c.links[slot]);
    return status::done;
  }

  TARN_NONBLOCKING_BEGIN_
  /// Takes unused blocks from the list. All but the one returned go onto the stack. After prepare() there are none.
  TARN_NOINLINE void* pop_slow(auto& pool) noexcept TARN_NONBLOCKING_IF_(Traits::one_chunk) {
    if (void* const block = pop(pool)) return block;
    if (has_nothing_more()) return pop(pool);  // what was carved last is on the stack
    TARN_NOT_IF(store_idle);
    void* run[most];
    [[maybe_unused]] const auto lock = core_guard();  // to the end: if the list is empty, the rest is on the stack
    const std::size_t got = carve(pool, run);
    if (got != 0) push_batch(pool, run + 1, got - 1);
    note_if_last(pool);
    return got != 0 ? run[0] : pop(pool);
  }
  TARN_NONBLOCKING_END_
  /// All unused blocks go onto the stack, so that the next allocations take no guard. Others wait for 32 of them at most.
  void prepare(auto& pool) noexcept {
    void* run[most];
    for (std::size_t got = most; got != 0;) {
      [[maybe_unused]] const auto lock = core_guard();
      got = carve(pool, run);
      push_batch(pool, run, got);
      note_if_last(pool);
    }
  }
  status push_slow(auto& pool, void* block) noexcept { return push(pool, block); }
  static status make_room(auto&) noexcept { return status::done; }

  std::size_t pop_batch(auto& pool, void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    while (got != n && (out[got] = pop_slow(pool)) != nullptr) ++got;
    return got;
  }
  /// Links the blocks, then pushes them together; the first of the batch is allocated first.
  status push_batch(auto& pool, void* const* in, std::size_t n) noexcept {
    if (n == 0) return status::done;
    const number first = number_of(pool.chunks.geometry(), in[0]);
    number last = first;
    for (std::size_t i = 1; i != n; ++i) {
      const number next = number_of(pool.chunks.geometry(), in[i]);
      link_of(last).store(next, memory_order_relaxed);
      last = next;
    }
    stack_.push_chain(first, link_of(last));
    return status::done;
  }

  /// Whether every possible block was carved, and is in use or on the stack; if so, a refusal waits for no thread.
  bool has_nothing_more() const noexcept { return nothing_more_.load(memory_order_acquire); }

  static void drain(auto&) noexcept {}
  void drain_all(auto& pool) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    nothing_more_.store(false, memory_order_relaxed);
    while (void* block = pop(pool)) pool.list.push_batch(pool.chunks, &block, 1);
  }
  void drop_all() noexcept {
    stack_.forget_all();
    numbers_.forget();
    nothing_more_.store(false, memory_order_relaxed);
  }
  void end() noexcept { guards_.end(); }
  /// Blocks on the stack.
  std::size_t waiting(const auto& pool) const noexcept {
    return stack_.count(pool.chunks.carved(), [this](number n) -> link& { return link_of(n); });
  }

  std::size_t shortage(auto& pool, const chunk* fresh) noexcept { return numbers_.shortage(fresh, pool.chunks.geometry()); }
  void supply(auto& pool, memory more) noexcept { numbers_.supply(more, pool.chunks.geometry()); }
  static constexpr bool starves() noexcept { return false; }
  static constexpr void expect(std::size_t) noexcept {}
  void adopt(auto& pool, chunk& fresh) noexcept {
    numbers_.add(fresh, pool.chunks.geometry());
    pool.chunks.adopt(fresh, pool.list);
  }

 private:
  static constexpr std::size_t most = 32;  // blocks that are carved at once

  // ---- called under the core guard -----------------------------------------------------------------------------------

  std::size_t carve(auto& pool, void** out) noexcept {
    const std::size_t got = pool.list.pop_batch(pool.chunks, out, most);
    for (std::size_t i = 0; i != got; ++i)
      ::new (static_cast<void*>(detail::pointer_to(link_of(number_of(pool.chunks.geometry(), out[i]))))) link(stack::none);
    return got;
  }
  /// Called when what was carved is on the stack.
  void note_if_last(auto& pool) noexcept {
    if (pool.list.is_empty() && !pool.chunks.has_more() && is_at_cap(pool)) nothing_more_.store(true, memory_order_release);
  }
  /// Unknown in a pool without a growth policy, as in tests.
  template <class Pool>
  static bool is_at_cap(const Pool& pool) noexcept {
    if constexpr (requires { Traits::may_grow_past_cap; })
      return !Traits::may_grow_past_cap && pool.chunks.next(0, 0).wanted == 0;
    else return false;
  }

  static number slot_in(const chunk& c, const geometry& g, const void* block) noexcept {
    return static_cast<number>(g.slot_at(address_of(block) - address_of(c.first) - g.offset()));
  }
  number number_of(const geometry& g, const void* block) const noexcept {
    const chunk& c = numbers_.chunk_at(block, g);
    return static_cast<number>(c.base + slot_in(c, g, block) + 1);
  }
  link& link_of(number n) const noexcept {
    const chunk& c = numbers_.chunk_of(n);
    return c.links[n - 1 - c.base];
  }

  stack stack_;
  numbers numbers_;
  // Order: store release, load acquire. It is set under the core guard, after the last carved blocks were pushed, so a thread
  // that reads it finds them.
  Atomic<bool> nothing_more_ = false;
  TARN_NO_UNIQUE_ADDRESS Guards guards_;
};

/// For carving and for growth: without threads, only interrupts can come in between.
template <class Traits>
using stack_guards = std::conditional_t<!platform::system::has_threads && masks_interrupts<interrupt_mask>,
                                        interrupt_guards<interrupt_mask>, mutex_pair<mutex, fork_member_in<Traits>>>;

/// \tparam Head  the stack's word
template <class Head>
struct stack_locking {
  using axis = tarn::axis::locking;
  using implies = lifo_reuse<>;
  static constexpr bool is_narrow = sizeof(Head) < 8;
  static constexpr locking_traits traits{.may_return_chunks = false,
                                         .keeps_memory = true,
                                         .own_free_list = true,
                                         .compares_and_swaps = true,
                                         .tag_comes_round = is_narrow,
                                         .most_blocks = is_narrow ? 0xFFFF : unlimited};
  template <class T>
  using cell = shared_cell<T>;
  template <class Traits>
  using per_chunk = numbered_column<atomic_word, half_of<Head>>;
  template <class Traits>
  using state = stack_calls<Traits, stack_guards<Traits>, atomic_word, Head>;
};

}  // namespace tarn::detail

namespace tarn {

/// A free never waits. An allocation takes a mutex to carve unused blocks, once for 32 of them, and waits for the store when
/// the pool grows. Without threads, it masks interrupts instead. Where the processor exchanges only 32 bits at once, a pool has
/// at most 65,535 blocks, and only interrupts may use it at the same time.
struct lock_free : detail::stack_locking<std::conditional_t<platform::has_wide_atomics, std::uint64_t, std::uint32_t>> {};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_LOCK_FREE_H_
