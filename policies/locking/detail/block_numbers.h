// Numbers for blocks: from address to number and back, while other threads look them up and chunks are added. Nothing is
// removed, except everything at once.
//
//   number - 1   | run: 20 bits | slot: 12 bits |      a chunk has as many runs as it needs, one after the other
//   number - 1   | run: 10 bits | slot: 6 bits |       of numbers of 16 bits
//   runs         run -> chunk
//   places       address / granule -> chunk, hashed; a chunk has one entry for each granule that it touches
//   apart        the chunks of bounded stores, which stand in no table: what such a store has is the users', and is served when
//                no memory for a table can be had. Their numbers are the last ones
//
// When the tables are full, they are copied into larger ones. A thread still reading the old ones finds what it knew.
#ifndef TARN_POLICIES_LOCKING_DETAIL_BLOCK_NUMBERS_H_
#define TARN_POLICIES_LOCKING_DETAIL_BLOCK_NUMBERS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// What a chunk keeps: a link for each block, and the number before that of its first block.
/// \tparam Number  of 32 bits, or of 16
template <template <class> class Atomic, class Number = std::uint32_t>
struct numbered_column {
  static constexpr std::uint32_t last_number = static_cast<Number>(-1);
  using link = Atomic<Number>;

  template <class Geometry>
  static constexpr std::size_t column_bytes(std::size_t blocks, const Geometry&) noexcept {
    return multiply(blocks, sizeof(link));
  }
  template <class Geometry>
  void open(std::byte* column, std::size_t, const Geometry&) noexcept {
    links = reinterpret_cast<link*>(column);
  }

  link* links = nullptr;  // each is made when its block is carved: a chunk of a million blocks costs no more than one
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
  const Chunk* of(std::uint32_t n) const noexcept {
    return find([n](const Chunk& c) { return n - 1 - c.base < c.blocks; });
  }
  template <class Geometry>
  const Chunk* at(const void* block, const Geometry& g) const noexcept {
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
  template <class Is>
  const Chunk* find(Is is) const noexcept {
    for (const auto& place : chunks_)
      if (const Chunk* const c = place.load(memory_order_acquire); c != nullptr && is(*c)) return c;
    return nullptr;
  }

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
    for (std::size_t i = t.home(address_of(block) >> t.shift);; i = t.next(i)) {
      const Chunk& c = *t.places[i].load(memory_order_acquire);
      if (address_of(block) - address_of(c.first) < g.extent(c.blocks)) return c;
    }
  }

  // ---- one thread at a time: under the growth guard ------------------------------------------------------------------

  /// Bytes of a table with room for the list of fresh chunks, too; 0: they have room now.
  std::size_t shortage(const Chunk* fresh, const Geometry& g) noexcept {
    const table* const t = table_.load(memory_order_relaxed);
    std::size_t runs = runs_;
    std::size_t places = places_;
    std::size_t apart = apart_.blocks();
    for (; fresh != nullptr; fresh = fresh->next) {
      if (Apart::has(*fresh)) {
        apart += fresh->blocks;
        continue;
      }
      if (t == nullptr && runs == 0)
        shift_ = static_cast<unsigned>(std::bit_width(larger(g.extent(fresh->blocks), 4096) - 1));
      runs += runs_of(*fresh);
      places += places_of(*fresh, g);
    }
    if (runs + apart / run + 1 > most_runs) return size_max;  // no numbers are left
    if (runs == runs_) return 0;
    if (t != nullptr && runs <= t->max_runs && 2 * places <= t->mask + 1) return 0;
    want_runs_ = std::bit_ceil(larger(2 * runs, 16));
    want_places_ = std::bit_ceil(larger(4 * places, 32));
    return sizeof(table) + (want_runs_ + want_places_) * sizeof(entry);
  }
  void supply(memory more, const Geometry& g) noexcept {
    if (!more) return;
    auto* const entries = reinterpret_cast<entry*>(static_cast<std::byte*>(more.start) + sizeof(table));
    for (std::size_t i = 0; i != want_runs_ + want_places_; ++i) ::new (static_cast<void*>(entries + i)) entry(nullptr);
    table* const larger =
        ::new (more.start) table{entries, entries + want_runs_, want_runs_, want_places_ - 1, shift_};
    if (const table* const old = table_.load(memory_order_relaxed)) {
      const Chunk* last = nullptr;
      for (std::size_t i = 0; i != runs_; ++i) {
        const Chunk* const c = old->runs[i].load(memory_order_relaxed);
        larger->runs[i].store(c, memory_order_relaxed);
        if (c != last) larger->enter(*c, g);
        last = c;
      }
    }
    table_.store(larger, memory_order_release);
  }
  /// Precondition: there is no shortage.
  void add(Chunk& c, const Geometry& g) noexcept {
    if (Apart::has(c)) return apart_.add(c);
    table& t = *table_.load(memory_order_relaxed);
    c.base = static_cast<number>(runs_ * run);
    for (std::size_t i = runs_of(c); i != 0; --i) t.runs[runs_++].store(detail::pointer_to(c), memory_order_release);
    t.enter(c, g);
    places_ += places_of(c, g);
  }
  void forget() noexcept {
    table_.store(nullptr, memory_order_relaxed);
    runs_ = places_ = 0;
    apart_.forget();
  }

 private:
  static constexpr std::size_t run = Chunk::last_number > 0xFFFF ? 4096 : 64;  // numbers
  static constexpr std::size_t most_runs = Chunk::last_number / run + 1;
  using entry = Atomic<const Chunk*>;

  struct table {
    entry* runs;
    entry* places;
    std::size_t max_runs;
    std::size_t mask;
    unsigned shift;  // of a granule: about as large as the first chunk

    std::size_t home(std::uintptr_t granule) const noexcept {
      return static_cast<std::size_t>(granule * 0x9E3779B97F4A7C15u >> 32) & mask;  // Fibonacci hashing (Knuth, vol. 3, 6.4)
    }
    std::size_t next(std::size_t i) const noexcept { return (i + 1) & mask; }
    void enter(const Chunk& c, const Geometry& g) noexcept {
      const std::uintptr_t last = (address_of(c.first) + g.extent(c.blocks) - 1) >> shift;
      for (std::uintptr_t granule = address_of(c.first) >> shift; granule <= last; ++granule) {
        std::size_t i = home(granule);
        while (places[i].load(memory_order_relaxed) != nullptr) i = next(i);
        places[i].store(detail::pointer_to(c), memory_order_release);
      }
    }
  };

  static std::size_t runs_of(const Chunk& c) noexcept { return (c.blocks + run - 1) / run; }
  std::size_t places_of(const Chunk& c, const Geometry& g) const noexcept {
    return ((address_of(c.first) + g.extent(c.blocks) - 1) >> shift_) - (address_of(c.first) >> shift_) + 1;
  }

  TARN_NO_UNIQUE_ADDRESS Apart apart_;
  Atomic<table*> table_ = nullptr;
  std::size_t runs_ = 0;
  std::size_t places_ = 0;
  std::size_t want_runs_ = 0;
  std::size_t want_places_ = 0;
  unsigned shift_ = 0;
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
  Atomic<const Chunk*> chunk_ = nullptr;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_BLOCK_NUMBERS_H_
