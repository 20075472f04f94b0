// The checks of single blocks, for the policies that perform them: where a block is, whether it is in use, and what was written
// around it and in it. A call is checked before anything is changed; a refused call changes nothing.
//
//   on_deallocate   chunk (range), slot (stride), in use?, guard bytes      then: record, fill
//   on_allocate     chunk, slot, free?, fill, guard bytes                   then: record, guard bytes
//    describe_...     after a refusal: where the block is, what its record says, which bytes are damaged. Damage is repaired,
//                     so that it is reported once
//   report          with nothing held; for a foreign block, whose it is
//   next_damaged    verify(): guard bytes and fill of every block
//   on_end          the blocks still in use
//
// In front of these: the checked pools of the process, pool_names.
#ifndef TARN_POLICIES_CHECKING_BLOCK_CHECKS_H_
#define TARN_POLICIES_CHECKING_BLOCK_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

// ---- the checked pools of the process by address --------------------------------------------------------------------------
//
// So that a report can name the pool that a block belongs to, and all pools can report what is in use. Entering and looking up
// need no lock and no memory, because a report must need neither.

/// At most `most`. Further pools work, but aren't named in reports of other pools, and don't report what is in use.
class pool_names {
 public:
  static constexpr std::size_t most = 1024;

  /// \param library  when it is unloaded, the pool is gone, or the code that reports for it
  void enter(void* pool, const char* name, in_use_teller tell = nullptr, const void* library = nullptr) noexcept {
    for (entry& e : entries_) {
      void* none = nullptr;
      if (e.pool.load(memory_order_relaxed) == nullptr &&
          e.pool.compare_exchange_strong(none, pool, memory_order_acquire, memory_order_relaxed)) {
        e.library.store(library, memory_order_relaxed);
        e.name.store(name, memory_order_release);
        e.tell.store(tell, memory_order_release);
        return;
      }
    }
  }
  void leave(const void* pool) noexcept {
    for (entry& e : entries_)
      if (e.pool.load(memory_order_relaxed) == pool) e.forget();
  }
  void leave_library(const void* library) noexcept {
    for (entry& e : entries_)
      if (e.pool.load(memory_order_relaxed) != nullptr && e.library.load(memory_order_relaxed) == library) e.forget();
  }
  /// Makes every pool report what is in use. Returns the number of blocks. Precondition: no pool is destroyed during this.
  std::size_t report_all() const noexcept {
    std::size_t blocks = 0;
    for (const entry& e : entries_)
      if (const in_use_teller tell = e.tell.load(memory_order_acquire)) blocks += tell(e.pool.load(memory_order_relaxed));
    return blocks;
  }
  /// The name of a pool that is entered, or null. A name may be destroyed with its pool, so look up living pools only.
  const char* find(const void* pool) const noexcept {
    for (const entry& e : entries_)
      if (e.pool.load(memory_order_acquire) == pool) return e.name.load(memory_order_acquire);
    return nullptr;
  }

 private:
  struct entry {
    // Order: release of `name` and `tell`, and when `pool` is reset; looking is acquire; others are relaxed. An exchange takes
    // an entry. Name and teller are read only if they are set. Entries are looked up only for living pools, which their users
    // order.
    atomic_word<void*> pool = nullptr;
    atomic_word<const char*> name = nullptr;
    atomic_word<in_use_teller> tell = nullptr;
    atomic_word<const void*> library = nullptr;

    void forget() noexcept {
      tell.store(nullptr, memory_order_relaxed);
      name.store(nullptr, memory_order_relaxed);
      pool.store(nullptr, memory_order_release);
    }
  };
  entry entries_[most];
};

TARN_FOUND_IN_PROCESS inline constinit pool_names library_named;
inline pool_names& named_pools() noexcept { return one_in_process<library_named, 0x104>::get(); }

/// A library that has checked pools. When it is unloaded, they and the code that reports for them are gone. When the process
/// exits, they stay, so that leaks can be reported after the last static object is destroyed.
struct names_library {
  // Order: relaxed. One exchange decides which thread calls at_first; nothing else is read because of either.
  atomic_word<bool> begun = false;
  atomic_word<bool> process_ends = false;
  void (*const at_first)() noexcept;  // the library's own function, whichever library calls

  void begin() noexcept {
    if (!begun.exchange(true, memory_order_relaxed)) at_first();
  }
};
TARN_ONE_IN_LIBRARY void begin_of_names() noexcept;
TARN_ONE_IN_LIBRARY inline constinit names_library library_names{.at_first = begin_of_names};
/// Called before forget_names() when the process exits, after it when the library is unloaded.
TARN_ONE_IN_LIBRARY inline void mark_end_of_process() noexcept {
  library_names.process_ends.store(true, memory_order_relaxed);
}
TARN_ONE_IN_LIBRARY inline void begin_of_names() noexcept { std::atexit(mark_end_of_process); }
/// A template, so that only programs with checked pools have it.
template <class>
TARN_AT_UNLOAD static void forget_names() noexcept {
  if (!library_names.process_ends.load(memory_order_relaxed)) named_pools().leave_library(&library_names);
}

/// An entry for report_in_use(): a pool's, or that of blocks in use outside all pools.
class asked_in_use {
 public:
  /// \param has_end  its owner has a destructor, and calls leave(); the object is then all zero
  constexpr explicit asked_in_use(bool has_end = false) noexcept
      : library_(std::is_constant_evaluated() && !has_end ? &library_names : nullptr) {}

  /// From now on report_in_use() calls tell(who). Called often, with nothing held; only the first call has an effect, even
  /// after leave(). A template, so that programs that don't use it don't instantiate its code.
  void enter(void* who, const char* name, auto tell) noexcept {
    void* nobody = nullptr;
    if (listed_.load(memory_order_relaxed) != nullptr ||
        !listed_.compare_exchange_strong(nobody, who, memory_order_relaxed))
      return;
    static_cast<void>(&forget_names<void>);  // instantiates it
    names_library* const library = library_ != nullptr ? library_ : &library_names;
    library->begin();
    named_pools().enter(who, name, tell, library);
  }
  void leave() const noexcept {
    if (void* const who = listed_.load(memory_order_relaxed)) named_pools().leave(who);
  }

 private:
  names_library* library_;  // of a static object that is never destroyed: its library
  // Order: relaxed. Set once in a pool's life.
  atomic_word<void*> listed_ = nullptr;
};

struct never_asked_in_use {
  constexpr explicit never_asked_in_use(bool = false) noexcept {}
  static void leave() noexcept {}
};

// ---- bytes that only the pool should write: around a block, and in a free one -----------------------------------------
//
//   | guard bytes | payload: all equal while the block is free | guard bytes |

/// Damaged bytes: where the first is, how many there are up to the last, and the value of the first.
struct damage {
  std::size_t first = 0;
  std::size_t bytes = 0;
  unsigned char value = 0;
  explicit operator bool() const noexcept { return bytes != 0; }
};

/// The damage in bytes[0 .. n), where each should be as `expected` says.
TARN_COLD damage find_damage(const std::byte* bytes, std::size_t n, auto expected) noexcept {
  damage found;
  for (std::size_t i = 0; i != n; ++i) {
    if (bytes[i] == expected(i)) continue;
    if (!found) found = {i, 0, std::to_integer<unsigned char>(bytes[i])};
    found.bytes = i + 1 - found.first;
  }
  return found;
}

/// 16 bytes in front of a block and 16 behind it, computed from its address and what is kept in front of it, so a copy of
/// another block's guard bytes is detected.
class guard_words {
 public:
  static constexpr std::size_t bytes = 16;

  TARN_STEP guard_words(const void* block, std::size_t size) noexcept
      : block_(static_cast<const std::byte*>(block)), size_(size), word_(word_for(block)) {}

  TARN_STEP void write(std::uint64_t kept) const noexcept {
    put(block_ - bytes, word_ ^ kept, ~word_);
    put(block_ + size_, ~word_, word_);
  }
  TARN_STEP bool stand(std::uint64_t kept) const noexcept {
    return are(block_ - bytes, word_ ^ kept, ~word_) && are(block_ + size_, ~word_, word_);
  }
  damage in_front(std::uint64_t kept) const noexcept { return find(block_ - bytes, word_ ^ kept, ~word_); }
  damage behind() const noexcept { return find(block_ + size_, ~word_, word_); }

  /// What is kept in front of a block, given a copy of the bytes there; 0 if they aren't guard bytes.
  static std::uint64_t kept_in(const void* block, const std::uint64_t (&copy)[2]) noexcept {
    const std::uint64_t word = word_for(block);
    return copy[1] == ~word ? copy[0] ^ word : 0;
  }

 private:
  TARN_STEP static std::uint64_t word_for(const void* block) noexcept { return code_of(block, coded::guard); }

  TARN_STEP static void put(const std::byte* at, std::uint64_t first, std::uint64_t second) noexcept {
    [[maybe_unused]] const memory_tools::window look(at, bytes);
    const std::uint64_t words[] = {first, second};
    std::memcpy(const_cast<std::byte*>(at), words, bytes);
  }
  TARN_STEP static bool are(const std::byte* at, std::uint64_t first, std::uint64_t second) noexcept {
    [[maybe_unused]] const memory_tools::window look(at, bytes);
    std::uint64_t found[2];
    std::memcpy(found, at, bytes);
    return found[0] == first && found[1] == second;
  }
  static damage find(const std::byte* at, std::uint64_t first, std::uint64_t second) noexcept {
    [[maybe_unused]] const memory_tools::window look(at, bytes);
    const std::uint64_t words[] = {first, second};
    return find_damage(at, bytes, [&](std::size_t i) { return reinterpret_cast<const std::byte*>(words)[i]; });
  }

  const std::byte* block_;
  std::size_t size_;
  std::uint64_t word_;
};

/// The payload of a free block.
struct free_fill {
  static constexpr unsigned char value = 0xDD;

  static void write(std::byte* at, std::size_t n) noexcept { std::memset(at, value, n); }
  static bool stands(const std::byte* at, std::size_t n) noexcept {
    [[maybe_unused]] const memory_tools::window look(at, n);
    constexpr std::size_t word = sizeof(std::uint64_t);
    for (; n >= 4 * word; n -= 4 * word, at += 4 * word)
      if (!holds(at) || !holds(at + word) || !holds(at + 2 * word) || !holds(at + 3 * word)) return false;
    for (; n >= word; n -= word, at += word)
      if (!holds(at)) return false;
    for (; n != 0; --n)
      if (*at++ != std::byte{value}) return false;
    return true;
  }
  static damage find(const std::byte* at, std::size_t n) noexcept {
    return find_damage(at, n, [](std::size_t) { return std::byte{value}; });
  }

 private:
  /// Eight bytes. Not more at once, because a processor forwards the bytes of only one pending store to a load.
  TARN_STEP static bool holds(const std::byte* at) noexcept {
    std::uint64_t found;
    std::memcpy(&found, at, sizeof found);
    return found == 0xDDDDDDDDDDDDDDDDu;
  }
};

/// Damage is noted.
/// \param at    the block_place
/// \param from  bytes from the block's start to those that were examined
TARN_COLD void note_damage(auto& chunks, const auto& at, misuse_kind kind, const damage& found, std::ptrdiff_t from,
                           pending_report& one) noexcept {
  misuse& what = one.note(kind, at.block(chunks));
  what.offset = from + static_cast<std::ptrdiff_t>(found.first);
  what.damaged = found.bytes;
  what.value = found.value;
  at.describe(chunks, what);
}

/// \param kept  what is kept in front of the block
void note_damage_around(auto& chunks, const auto& at, void* block, std::uintptr_t kept, pending_report& one) noexcept {
  const std::size_t size = chunks.geometry().payload();
  const guard_words words(block, size);
  if (const damage front = words.in_front(kept))
    detail::note_damage(chunks, at, misuse_kind::write_in_front, front, -static_cast<std::ptrdiff_t>(guard_words::bytes), one);
  if (const damage behind = words.behind())
    detail::note_damage(chunks, at, misuse_kind::write_past_end, behind, static_cast<std::ptrdiff_t>(size), one);
  if (!words.stand(kept)) words.write(kept);
}

/// Precondition: the block is free.
void note_damage_inside(auto& chunks, const auto& at, void* block, pending_report& one) noexcept {
  auto* const start = static_cast<std::byte*>(block);
  const std::size_t size = chunks.geometry().payload();
  [[maybe_unused]] const memory_tools::window look(start, size);
  if (const damage inside = free_fill::find(start, size))
    detail::note_damage(chunks, at, misuse_kind::write_after_free, inside, 0, one);
  free_fill::write(start, size);
}

// ---- what is known of each block: a record in its chunk's column, outside the blocks ----------------------------------

/// In use or not: a byte, which also says whether the block was ever handed out. A bit would take an eighth of the memory, but
/// each call would wait for the word that the previous call wrote. A pair then costs 3.1 ns more than without checks, instead
/// of 2.7 (64-byte blocks of a static array, g++ 12, Xeon with AMX). In churn both cost the same.
struct live_mark {
  TARN_STEP bool in_use() const noexcept { return state == used; }
  TARN_STEP bool was_handed_out() const noexcept { return state != never_used; }
  TARN_STEP void take(std::uint64_t&) noexcept { state = used; }
  TARN_STEP void give(std::uint64_t&) noexcept { state = idle; }
  void describe(misuse&) const noexcept {}

  enum : unsigned char { never_used, used, idle } state;
};

/// In use or not, and how many times it was: odd while it is in use. Numbers repeat after 2^31 uses of the block.
struct generation_mark {
  TARN_STEP bool in_use() const noexcept { return (count & 1) != 0; }
  TARN_STEP bool was_handed_out() const noexcept { return count != 0; }
  std::uint64_t generation() const noexcept { return count; }
  TARN_STEP void take(std::uint64_t&) noexcept { ++count; }
  TARN_STEP void give(std::uint64_t&) noexcept { count += count + 1 == 0 ? 3 : 1; }  // never 0 again: that means a new block
  void describe(misuse&) const noexcept {}

  std::uint32_t count;
};

/// The last allocation and the last free of a block: the number of the operation in its pool, and the thread.
struct life_record {
  TARN_STEP bool in_use() const noexcept { return allocated > freed; }
  TARN_STEP bool was_handed_out() const noexcept { return allocated != 0; }
  std::uint64_t generation() const noexcept { return allocated; }
  TARN_STEP void take(std::uint64_t& sequence) noexcept {
    allocated = ++sequence;
    allocated_by = this_thread_number();
  }
  TARN_STEP void give(std::uint64_t& sequence) noexcept {
    freed = ++sequence;
    freed_by = this_thread_number();
  }
  void describe(misuse& what) const noexcept {
    what.allocated = allocated;
    what.allocated_by = allocated_by;
    what.freed = in_use() ? 0 : freed;  // a free of the previous use doesn't matter
    what.freed_by = in_use() ? 0 : freed_by;
  }

  std::uint64_t allocated;
  std::uint64_t freed;
  std::uint64_t allocated_by;
  std::uint64_t freed_by;
};

/// The same, and where the block was allocated, if the caller passes it.
struct sited_record : life_record {
  TARN_STEP void take(std::uint64_t& sequence) noexcept {
    life_record::take(sequence);
    site = {};
  }
  void describe(misuse& what) const noexcept {
    life_record::describe(what);
    what.file = site.file;
    what.line = site.line;
  }

  call_site site;
};

template <class Record>
concept counts_uses = requires(const Record& one) { one.generation(); };

/// The number of chunks in the process, of any pool, that count uses. A library with its own variable starts its numbers
/// elsewhere.
// Order: relaxed; a number.
TARN_ONE_IN_PROCESS inline constinit atomic_word<std::uintptr_t> chunks_that_count = 0;

/// A unique number for each chunk, in the upper half of each generation, because counts of uses restart in a new chunk at the
/// same address, and in another pool's chunk.
struct chunk_number {
  void draw() noexcept {
    upper_half = (std::uint64_t{chunks_that_count.fetch_add(1, memory_order_relaxed)} +
                  scatter(address_of(&chunks_that_count)))
                 << 32;
  }
  std::uint64_t upper_half = 0;
};
struct no_chunk_number {
  static void draw() noexcept {}
};

/// The column. A record is created when its block is carved, so opening a chunk of a million blocks costs no more than opening
/// a chunk of one.
template <class Record>
class block_records {
 public:
  static constexpr std::size_t column_bytes(std::size_t blocks, const auto&) noexcept {
    return multiply(blocks, sizeof(Record));
  }
  void open(std::byte* column, std::size_t, const auto&) noexcept {
    records_ = reinterpret_cast<Record*>(column);
    ready_ = 0;
    number_.draw();
  }

  TARN_STEP bool in_use(std::size_t i) const noexcept { return i < ready_ && records_[i].in_use(); }
  /// The record of a block, or null if there is none.
  TARN_STEP Record* find(std::size_t i) const noexcept { return i < ready_ ? records_ + i : nullptr; }
  TARN_STEP Record& operator[](std::size_t i) noexcept { return records_[i]; }  // of the existing ones
  Record& get(std::size_t i) noexcept {
    make_records(i + 1);
    return records_[i];
  }
  /// At least the records of the first `n` blocks exist from now on.
  void make_records(std::size_t n) noexcept {
    for (; ready_ < n; ++ready_) {
      TARN_ROUND(new_records, 1);
      ::new (static_cast<void*>(records_ + ready_)) Record{};
    }
  }
  std::size_t ready() const noexcept { return ready_; }
  /// As if no block had ever been allocated.
  void forget() noexcept { ready_ = 0; }
  /// A number that no other use of a block at this address had, in this pool or another, within 2^31 uses of the block and 2^32
  /// chunks of the process. Precondition: the block is in use.
  std::uint64_t generation(std::size_t i) const noexcept
    requires(counts_uses<Record>)
  {
    return number_.upper_half + records_[i].generation();
  }

 private:
  Record* records_ = nullptr;
  std::size_t ready_ = 0;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<counts_uses<Record>, chunk_number, no_chunk_number> number_;
};

// ---- the checks -------------------------------------------------------------------------------------------------------

/// Where in its pool a block is, and what follows from that.
/// \tparam Record  what the chunk's column keeps for each block
template <class Traits, class Record>
struct block_place {
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;

  chunk* c = nullptr;    // null: the address is in no chunk
  std::size_t slot = 0;  // a number that no slot has: no block starts there

  static block_place of(chunks_type& chunks, const void* address) noexcept { return in(chunks, chunks.find(address), address); }
  /// For hits: it may guess a wrong chunk, in which no slot is in use; the call is then repeated.
  TARN_STEP static block_place close_to(chunks_type& chunks, const void* address) noexcept {
    return in(chunks, chunks.guess(address), address);
  }
  TARN_STEP static block_place in(chunks_type& chunks, chunk* found, const void* address) noexcept {
    if (found == nullptr) [[unlikely]] return {};
    return {found, chunks.geometry().slot_at(address_of(address) - address_of(found->first) - chunks.geometry().offset())};
  }

  TARN_STEP bool in_use() const noexcept { return c != nullptr && records().in_use(slot); }

  // Preconditions of the rest: there is a chunk, and for block() and describe() a slot.

  TARN_STEP block_records<Record>& records() const noexcept { return *c; }
  std::byte* block(chunks_type& chunks) const noexcept {
    return c->first + chunks.geometry().distance(slot) + chunks.geometry().offset();
  }
  void describe(chunks_type& chunks, misuse& what) const noexcept {
    what.number = slot;
    what.chunk = c->first;
    what.block = block(chunks);
    if (const Record* const known = records().find(slot)) known->describe(what);
  }
};

/// Notes why a block that isn't in use can't be freed.
TARN_COLD void note_no_block(auto& chunks, auto at, void* address, pending_report& one) noexcept {
  TARN_NOT_IF(no_misuse);
  if (at.c == nullptr) {
    one.note(misuse_kind::foreign_pointer, address);
    return;
  }
  misuse& what = one.note(misuse_kind::double_free, address);
  if (at.slot >= at.c->blocks) {
    what.kind = misuse_kind::interior_pointer;
    at.slot = chunks.geometry().slot_around(address_of(address) - address_of(at.c->first));
  }
  at.describe(chunks, what);
}

/// \tparam Spec  the policy: `record`, `guards` (guard bytes), `fills` (free blocks), `knows_owner` (thread), `name`
template <class Traits, class Spec>
class block_checks {
  using record = typename Spec::record;
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;
  using place = block_place<Traits, record>;

 public:
  constexpr explicit block_checks(const Spec& spec) noexcept
      : name_(*spec.name != '\0' ? spec.name : nullptr), asked_(starts_zero<Traits>) {}
  /// Called under the core guard before the first block is handed out, and again. Not by the constructor: a pool that holds an
  /// array would not be all zero.
  void lies_in(const void* pool) noexcept {
    if constexpr (Spec::guards) pool_ = pool;
  }

  // ---- under the core guard ----------------------------------------------------------------------------------------------

  TARN_STEP status on_deallocate(chunks_type& chunks, void* block) noexcept {
    const place at = place::close_to(chunks, block);
    if (at.c == nullptr || at.slot >= at.records().ready()) [[unlikely]] return status::refused;
    record& known = at.records()[at.slot];
    if (!known.in_use()) [[unlikely]] return status::refused;
    if constexpr (Spec::guards) {
      if (!words_around(chunks, block).stand(kept())) [[unlikely]] return status::refused;
    }
    known.give(sequence_);
    if constexpr (Spec::traits.fills) free_fill::write(static_cast<std::byte*>(block), chunks.geometry().payload());
    return status::done;
  }
  void describe_deallocate(chunks_type& chunks, void* block, pending_report& one) noexcept {
    const place at = place::of(chunks, block);
    if (!at.in_use()) {
      detail::note_no_block(chunks, at, block, one);
      if (ended_ && at.c == nullptr) one.what().kind = misuse_kind::ended_pool;
      return;
    }
    if constexpr (Spec::guards) detail::note_damage_around(chunks, at, block, kept(), one);
  }

  TARN_STEP status on_allocate(chunks_type& chunks, void* block) noexcept {
    const place at = place::close_to(chunks, block);
    if (at.c == nullptr || at.slot >= at.records().ready()) [[unlikely]] return status::refused;
    record& known = at.records()[at.slot];
    if (known.in_use()) [[unlikely]] return status::refused;
    if constexpr (Spec::guards) {
      if (!known.was_handed_out()) words_around(chunks, block).write(kept());
      else if (!is_as_left(chunks, block)) [[unlikely]] return status::damaged;
    }
    known.take(sequence_);
    return status::done;
  }
  void describe_allocate(chunks_type& chunks, void* block, pending_report& one) noexcept {
    if constexpr (!Spec::guards && !Traits::has_chunk_table) return on_astray(chunks, block, one);  // the only possible error
    const place at = place::of(chunks, block);
    if (at.c == nullptr || at.slot >= at.records().ready() || at.in_use()) return on_astray(chunks, block, one);
    if constexpr (Spec::guards) {
      detail::note_damage_around(chunks, at, block, kept(), one);
      if constexpr (Spec::traits.fills) detail::note_damage_inside(chunks, at, block, one);
    }
    at.records()[at.slot].take(sequence_);
  }

  /// A number that is unique to this use of the block; 0: it isn't in use, or isn't a block.
  static std::uint64_t generation_of(chunks_type& chunks, const void* block) noexcept
    requires(Spec::traits.has_generations)
  {
    const place at = place::of(chunks, block);
    return at.in_use() ? at.records().generation(at.slot) : 0;
  }

  /// Records where a block in use was allocated. Any other address is ignored.
  void note_site(chunks_type& chunks, const void* block, call_site where) noexcept
    requires(Spec::traits.has_sites)
  {
    const place at = place::of(chunks, block);
    if (at.in_use()) at.records()[at.slot].site = where;
  }

  /// The free list contains an address that isn't a free block.
  void on_astray(chunks_type&, const void* address, pending_report& one) noexcept {
    one.note(misuse_kind::corrupt_free_list, address);
  }

  // ---- with nothing held ---------------------------------------------------------------------------------------------------

  /// A pool without a lock belongs to the thread that used it first, until hand_over().
  bool admits_caller(pending_report& one) noexcept
    requires(Spec::traits.knows_owner && Traits::locking::traits.one_thread)
  {
    return owner_of_pool().load(memory_order_relaxed) == this_thread_number() || takes_over(one);
  }
  void hand_over() noexcept {
    if constexpr (Spec::traits.knows_owner) owner_of_pool().store(0, memory_order_relaxed);
  }

  void report(misuse& what) noexcept {
    what.pool_name = name();
    if constexpr (Spec::guards) {
      if (what.kind == misuse_kind::foreign_pointer) find_other(what);
    }
    reporter_of<Spec>::report(what);
  }

  /// From now on, until it is destroyed, the pool can report what is in use.
  void be_listed(void* pool, in_use_teller tell) noexcept
    requires(Spec::traits.tells_in_use)
  {
    asked_.enter(pool, name(), tell);
  }
  /// The pool is destroyed. \param leaks  the first blocks that are still in use
  void on_end([[maybe_unused]] chunks_type& chunks, [[maybe_unused]] pending_report& one,
              [[maybe_unused]] span<const void*> leaks) noexcept {
    asked_.leave();
    ended_ = true;
    if constexpr (!Spec::traits.may_end_in_use) {
      told_sites told;
      note_in_use(chunks, one, leaks, told, true);
    }
  }
  /// Notes the blocks in use, and lists the first of them; if their sites are known and `all` is false, those of one site that
  /// wasn't reported.
  void note_in_use(chunks_type& chunks, pending_report& one, span<const void*> leaks, told_sites& told,
                   bool all = !Spec::traits.has_sites) noexcept {
    std::size_t n = 0;
    const record* first = nullptr;
    chunks.each([&](chunk& c) {
      for (place at{detail::pointer_to(c), 0}; at.slot != at.records().ready(); ++at.slot) {
        if (!at.records().in_use(at.slot)) continue;
        const record* const its = at.records().find(at.slot);
        if constexpr (Spec::traits.has_sites)
          if (!all && (told.has(its->site) || (n != 0 && !told.is_full() && !detail::same_site(its->site, first->site))))
            continue;
        if (n == 0) first = its;
        if (n < leaks.size()) leaks[n] = at.block(chunks);
        ++n;
      }
    });
    if (n == 0) return;
    if constexpr (Spec::traits.has_sites) told.add(first->site);
    misuse& what = one.note(misuse_kind::leak, nullptr);
    what.leaked = n;
    if constexpr (Spec::lists_leaks) what.leaks = leaks.first(smaller(n, leaks.size()));
    first->describe(what);
  }

  /// Checks every block from `from` on, and moves `from` past the next damaged one. Returns whether there was one.
  bool next_damaged(chunks_type& chunks, const void*& from, pending_report& one) noexcept
    requires(Spec::traits.can_verify)
  {
    chunks.each_from(from, [&](chunk& c) {
      const bool starts_inside = address_of(from) >= address_of(c.first);
      const std::size_t in_front = address_of(from) - address_of(c.first);
      place at{detail::pointer_to(c), starts_inside ? chunks.geometry().slot_around(in_front) + 1 : 0};
      for (; at.slot < at.records().ready() && !one.seen(); ++at.slot) {
        if (!at.records()[at.slot].was_handed_out()) continue;
        std::byte* const block = at.block(chunks);
        from = block;
        detail::note_damage_around(chunks, at, block, kept(), one);
        if (!at.records().in_use(at.slot)) detail::note_damage_inside(chunks, at, block, one);
      }
      return !one.seen();
    });
    return one.seen();
  }

 private:
  const char* name() const noexcept { return name_ != nullptr ? name_ : ""; }

  /// Whether no thread owns the pool; if so, this thread owns it from now on.
  TARN_COLD bool takes_over(pending_report& one) noexcept {
    const thread_number me = this_thread_number();
    thread_number known = 0;
    if (owner_of_pool().compare_exchange_strong(known, me, memory_order_relaxed)) return true;
    misuse& what = one.note(misuse_kind::wrong_thread, nullptr);
    what.thread = me;
    what.owner = known;
    return false;
  }

  TARN_STEP std::uintptr_t kept() const noexcept { return address_of(pool_); }
  TARN_STEP static guard_words words_around(chunks_type& chunks, const void* block) noexcept {
    return {block, chunks.geometry().payload()};
  }
  TARN_STEP bool is_as_left(chunks_type& chunks, const void* block) const noexcept {
    if (!words_around(chunks, block).stand(kept())) [[unlikely]] return false;
    if constexpr (Spec::traits.fills)
      return free_fill::stands(static_cast<const std::byte*>(block), chunks.geometry().payload());
    return true;
  }

  /// Finds out whether the guard bytes of another checked pool are in front of the address.
  static void find_other(misuse& what) noexcept {
    const std::byte* const at = static_cast<const std::byte*>(what.address) - guard_words::bytes;
    std::uint64_t copy[2];
    if (!platform::system::read_anywhere(at, copy, sizeof copy)) return;
    const auto* const other = reinterpret_cast<const void*>(guard_words::kept_in(what.address, copy));
    const char* const name = other == nullptr ? nullptr : named_pools().find(other);
    if (name == nullptr) return;
    what.kind = misuse_kind::other_pool;
    what.other_pool = other;
    what.other_name = name;
  }

  TARN_STEP atomic_word<thread_number>& owner_of_pool() noexcept {
    if constexpr (Traits::locking::traits.has_owner) return Traits::locking::owner();
    else return owner_;
  }

  // All zero in a pool that has no name and no guard bytes: it takes no space in the executable.
  const char* name_;            // null: none
  const void* pool_ = nullptr;  // if there are guard bytes
  std::uint64_t sequence_ = 0;
  // Order: relaxed; as group_owner.
  atomic_word<thread_number> owner_ = 0;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Spec::traits.tells_in_use, asked_in_use, never_asked_in_use> asked_;
  bool ended_ = false;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_BLOCK_CHECKS_H_
