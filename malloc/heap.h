// The heap of a process: the implementation of malloc and its relatives. The layer for many sizes is in allocator/detail/sizes.
// Here, the caller's tops are in a thread-local variable, at a fixed distance from the thread's register.
//
//   allocate    a class' top; else allocate_slow: the thread's part, made first if need be; else large runs
//   deallocate  the address' class, its top; else deallocate_slow: null, a large run, the thread's part
//   settle      after a slow call, with nothing locked: sweep, clean, report
//
// In hardened mode threads have no tops, so every call takes the slow path, which notes and checks each block's use.
#ifndef TARN_MALLOC_HEAP_H_
#define TARN_MALLOC_HEAP_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tarn/allocator/detail/sizes/class_spans.h"
#include "tarn/allocator/detail/sizes/class_table.h"
#include "tarn/allocator/detail/sizes/size_caches.h"
#include "tarn/allocator/detail/sizes/span_heap.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/none.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/size.h"

namespace tarn::malloc_library {

static_assert(platform::system::has_pages && platform::system::has_thread_locals && platform::system::thread_keys != 0,
              "tarn: libtarn_malloc needs pages of memory, thread_local variables and keys that report a thread's exit, "
              "which this target lacks; use pools, or xmalloc");

using classes = geometric_classes<16, 32768>;
using runs_of_process = detail::span_heap<>;
using spans_of_process = detail::class_spans<classes, runs_of_process>;
using caches_of_process = detail::size_caches<spans_of_process>;
using table = spans_of_process::table;
using plan = caches_of_process::plan;

inline constexpr plan usual_plan{detail::cache_limits{}};
inline constexpr plan small_plan{
    detail::cache_limits{.magazine = 8 * 1024, .first = 512, .depot = 64 * 1024, .part = 256 * 1024}};

/// The options in TARN_MALLOC.
struct options {
  bool small = false;  // less memory in caches and free runs
  bool huge = false;  // huge pages
  bool hardened = false;  // foreign and interior pointers and double frees are found in the call
};

/// Reads words separated by commas. Reports unknown words on the standard error.
inline options read_options(const char* text) noexcept {
  options read;
  while (text != nullptr && *text != 0) {
    std::size_t length = std::strcspn(text, ",");
    const auto is = [text, length](const char* word) noexcept {
      return std::strlen(word) == length && std::memcmp(text, word, length) == 0;
    };
    if (is("small")) {
      read.small = true;
    } else if (is("huge")) {
      read.huge = true;
    } else if (is("hardened")) {
      read.hardened = true;
    } else if (length != 0) {
      char line[160], word[40] = {};
      std::memcpy(word, text, length < sizeof word ? length : sizeof word - 1);
      detail::line_writer said(line, sizeof line);
      said << "tarn: TARN_MALLOC knows small, huge and hardened, not \"" << word << "\"; it is ignored";
      char* const end = said.end();
      *end = '\n';
      platform::system::write_error(line, static_cast<std::size_t>(end + 1 - line));
    }
    text += length;
    if (*text == ',') ++text;
  }
  return read;
}

// ---- the process' heap, and what a thread has of it -------------------------------------------------------------------------

TARN_ONE_IN_LIBRARY inline constinit runs_of_process runs;  // 20 MiB of zeros, of which the used pages have memory
TARN_ONE_IN_LIBRARY inline constinit spans_of_process spans{runs};
TARN_ONE_IN_LIBRARY inline constinit caches_of_process caches{spans, usual_plan};
TARN_ONE_IN_LIBRARY inline constinit detail::thread_end ends_of_threads;
TARN_ONE_IN_LIBRARY inline constinit detail::atomic_word<bool> is_started = false;
TARN_ONE_IN_LIBRARY inline constinit bool is_hardened = false;

struct thread_tops {
  detail::cache_word* of[table::count];
  constexpr thread_tops() noexcept : of() {
    for (detail::cache_word*& one : of) one = detail::nobodys_words;
  }
};
struct thread_state {
  caches_of_process::part* part = nullptr;
  bool has_ended = false;  // gave its part back, and continues without one
};
TARN_ONE_IN_LIBRARY TARN_NEAR_TLS inline constinit thread_local thread_tops tops;
TARN_ONE_IN_LIBRARY TARN_NEAR_TLS inline constinit thread_local thread_state me;

/// Once in the process, in its first call.
TARN_COLD inline void start() noexcept {
  static constinit tarn::mutex once;
  const detail::held lock(once);
  if (is_started.load(detail::memory_order_relaxed)) return;
  const options asked = read_options(std::getenv("TARN_MALLOC"));
  if (asked.small) caches.use(small_plan);
  is_hardened = asked.hardened;
  runs.use({.kept_bytes = std::size_t{asked.small ? 2u : 16u} << 20, .huge_pages = asked.huge, .notes_use = asked.hardened});
  is_started.store(true, detail::memory_order_release);
}
TARN_STEP void start_once() noexcept {
  if (!is_started.load(detail::memory_order_acquire)) [[unlikely]]
    start();
}

inline void settle() noexcept;
inline void leave(void*) noexcept {
  caches_of_process::part* const mine = me.part;
  me = {nullptr, true};
  if (mine == nullptr) return;
  if (caches.leave(*mine)) {
    caches.reclaim(nullptr);
    runs.clean_some();
  }
  settle();
}
/// The thread's part; null if it is exiting, or there is no memory.
inline caches_of_process::part* my_part() noexcept {
  if (me.part != nullptr || me.has_ended) [[likely]]
    return me.part;
  start_once();
  caches.admit();  // may allocate, and so call this again
  if (me.part == nullptr && ends_of_threads.tell(leave, &me)) me.part = caches.enrol(is_hardened ? nullptr : tops.of);
  return me.part;
}

// ---- reports ----------------------------------------------------------------------------------------------------------------

TARN_COLD inline void report(misuse_kind kind, const void* address, const void* block = nullptr, std::size_t bytes = 0,
                             std::size_t given = 0) noexcept {
  misuse what;
  what.kind = kind;
  what.pool_name = "malloc";
  what.pool = &runs;
  what.address = address;
  what.block = block;
  what.block_size = bytes;
  what.size = given;
  detail::report_misuse(what);
}

/// A block of a class, as far as the records say.
struct found_block {
  misuse_kind wrong = misuse_kind::foreign_pointer;
  detail::span_record* span = nullptr;
  std::uint32_t number = 0;
  std::size_t bytes = 0;
  std::byte* start = nullptr;
  bool is_block = false;
};
inline found_block find_block(void* address) noexcept {
  found_block found;
  found.span = runs.span_of(address);
  if (found.span == nullptr) return found;
  found.wrong = misuse_kind::double_free;
  if (found.span->is == detail::span_record::large && found.span->start == address) found.wrong = misuse_kind::wrong_size;
  if (found.span->is != detail::span_record::blocks) return found;
  const unsigned c = found.span->class_;
  if (c == 0) return found;  // on its way back to the heap
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(address) - found.span->start);
  found.number = table::block_at(c, offset);
  found.bytes = table::bytes(c);
  found.start = found.span->start + found.number * found.bytes;
  found.is_block = found.start == address && found.number < found.span->block_count;
  if (found.start != address) found.wrong = misuse_kind::interior_pointer;
  return found;
}

TARN_COLD inline void report_suspect(void* address) noexcept {
  const found_block found = find_block(address);
  report(found.wrong, address, found.start, found.bytes);
}

/// After a slow call, with nothing locked.
inline void settle() noexcept {
  if (runs.has_grown()) [[unlikely]] {
    runs.forget_growth();
    caches.sweep(me.part);
  }
  if (runs.is_dirty()) [[unlikely]]
    runs.clean_some();
  if (void* const address = spans.suspect()) [[unlikely]]
    report_suspect(address);
}

// ---- blocks of classes ------------------------------------------------------------------------------------------------------

inline void* take_block(unsigned c) noexcept {
  caches_of_process::part* const mine = my_part();
  if (mine == nullptr) return start_once(), caches.take_alone(c);
  if (void* const block = detail::take_from(mine->top[c])) return block;
  return caches.take(*mine, c);
}
inline void note_taken(void* block) noexcept {
  const found_block found = find_block(block);
  if (found.is_block) runs.note_use(*found.span, found.number, true);
}
/// Sets errno if a call has no memory; otherwise errno is unchanged.
inline void* or_no_memory(void* block) noexcept {
  if (block == nullptr) [[unlikely]]
    errno = ENOMEM;
  return block;
}
inline void* allocate_carefully(unsigned c) noexcept {
  const platform::same_errno same;
  void* block = take_block(c);
  if (block == nullptr) {
    caches.reclaim(me.part);
    block = take_block(c);
  }
  if (is_hardened && block != nullptr) note_taken(block);
  settle();
  return block;
}
TARN_NOINLINE inline void* allocate_slow(unsigned c) noexcept { return or_no_memory(allocate_carefully(c)); }
TARN_STEP void* allocate_class(unsigned c) noexcept {
  if (void* const block = detail::take_from(tops.of[c])) [[likely]]
    return block;
  return allocate_slow(c);
}

inline void give_block(unsigned c, void* block) noexcept {
  caches_of_process::part* const mine = my_part();
  if (mine == nullptr) caches.give_alone(c, block);
  else if (!detail::give_to(mine->top[c], block)) caches.give(*mine, c, block);
}

// ---- large blocks -----------------------------------------------------------------------------------------------------------

constexpr std::size_t units_for(std::size_t bytes) noexcept { return (bytes + detail::span_unit - 1) / detail::span_unit; }

inline void* allocate_run(std::size_t bytes, std::size_t alignment, bool& is_zero) noexcept {
  const platform::same_errno same;
  start_once();
  caches.admit();
  if (bytes > detail::size_limit || alignment > detail::size_limit) return nullptr;
  const std::size_t units = bytes != 0 ? units_for(bytes) : 1;
  const std::size_t aligned = alignment > detail::span_unit ? alignment / detail::span_unit : 1;
  detail::span_record* run = runs.take(units, detail::span_record::large, aligned);
  if (run == nullptr) {
    caches.reclaim(me.part);
    if (runs.is_limited()) runs.trim();
    run = runs.take(units, detail::span_record::large, aligned);
  }
  if (run == nullptr) return nullptr;
  is_zero = !run->is_dirty;
  void* const start = run->start;
  settle();
  return start;
}
/// \param alignment  in bytes, a power of two
TARN_NOINLINE inline void* allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
  bool is_zero;
  return or_no_memory(allocate_run(bytes, alignment, is_zero));
}
/// Of an address at which no large block starts.
TARN_COLD inline void report_large(detail::run_verdict found, void* address) noexcept {
  report(found == detail::run_verdict::is_free    ? misuse_kind::double_free
         : found == detail::run_verdict::not_ours ? misuse_kind::foreign_pointer
                                                  : misuse_kind::interior_pointer,
         address);
}
inline void deallocate_large(void* start) noexcept {
  caches.admit();
  const detail::run_verdict found = runs.give_at(start);
  found == detail::run_verdict::done ? settle() : report_large(found, start);
}

// ---- frees ------------------------------------------------------------------------------------------------------------------

/// Whether the block may be freed, in hardened mode. \param c  what its size says, or its address
inline bool is_right(unsigned c, void* block) noexcept {
  const found_block found = find_block(block);
  if (!found.is_block) return report(found.wrong, block, found.start, found.bytes), false;
  if (found.span->class_ != c) return report(misuse_kind::wrong_size, block, found.start, found.bytes, table::bytes(c)), false;
  if (!runs.note_use(*found.span, found.number, false))
    return report(misuse_kind::double_free, block, found.start, found.bytes), false;
  return true;
}
/// The class of such a block; 0: it is a run. \param alignment  a power of two
constexpr unsigned class_for(std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment > table::largest || bytes > table::largest) return 0;
  unsigned c = table::of(bytes < alignment && alignment > 16 ? alignment : bytes);
  while (c != table::count && table::bytes(c) % alignment != 0) ++c;
  return c != table::count ? c : 0;
}
/// Whether a block has the size that a free was given, in hardened mode. True if it isn't a block, which is detected later.
/// \param c  of its address \param may_be_less  realloc left it where it was
inline bool has_size(unsigned c, void* block, std::size_t alignment, std::size_t bytes, bool may_be_less) noexcept {
  const detail::span_record* const run = runs.span_of(block);
  if (run == nullptr || run->start > block || (c == 0 && (run->is != detail::span_record::large || run->start != block)))
    return true;
  const unsigned said = class_for(alignment, bytes);
  const std::size_t has = c != 0 ? table::bytes(c) : run->bytes_to_use();
  if (c == 0 ? said == 0 && units_for(bytes != 0 ? bytes : 1) * detail::span_unit == has
             : said == c || (may_be_less && bytes <= has && bytes >= has / 2))
    return true;
  return report(misuse_kind::wrong_size, block, run->start, has, bytes), false;
}
/// Whether a block of a class may be given to realloc, in hardened mode.
inline bool is_block(void* block) noexcept {
  const found_block found = find_block(block);
  if (found.is_block && runs.note_use(*found.span, found.number, false)) {
    runs.note_use(*found.span, found.number, true);
    return true;
  }
  report(found.wrong, block, found.start, found.bytes);
  return false;
}
TARN_NOINLINE inline void deallocate_slow(unsigned c, void* block) noexcept {
  if (block == nullptr) return;
  const platform::same_errno same;
  if (c == 0) return deallocate_large(block);
  if (is_hardened && !is_right(c, block)) return;
  give_block(c, block);
  settle();
}
TARN_NOINLINE inline void deallocate_sized_slow(unsigned c, void* block, std::size_t alignment, std::size_t bytes,
                                               bool may_be_less) noexcept {
  if (is_hardened && block != nullptr && !has_size(c, block, alignment, bytes, may_be_less)) return;
  deallocate_slow(c, block);
}
/// By its address. In hardened mode the size must be right. \param may_be_less  realloc may have left it where it was
TARN_STEP void deallocate_sized(void* block, std::size_t alignment, std::size_t bytes, bool may_be_less) noexcept {
  const unsigned c = runs.class_at(block);
  if (!detail::give_to(tops.of[c], block)) [[unlikely]]
    deallocate_sized_slow(c, block, alignment, bytes, may_be_less);
}
TARN_STEP void deallocate(void* block) noexcept {
  const unsigned c = runs.class_at(block);
  if (!detail::give_to(tops.of[c], block)) [[unlikely]]
    deallocate_slow(c, block);
}
/// \param bytes  as requested from allocate()
TARN_STEP void deallocate(void* block, std::size_t bytes) noexcept {
  if (bytes > table::largest || block == nullptr) [[unlikely]]
    return deallocate_sized(block, 1, bytes, false);
  const unsigned c = table::of(bytes);
  if (!detail::give_to(tops.of[c], block)) [[unlikely]]
    deallocate_slow(c, block);
}

// ---- the calls: each returns null, and sets errno, if there is no memory ----------------------------------------------------

TARN_STEP void* allocate(std::size_t bytes) noexcept {
  if (bytes > table::largest) [[unlikely]]
    return allocate_large(bytes, 1);
  return allocate_class(table::of(bytes));
}
/// \param alignment  a power of two
inline void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment <= 16) return allocate(bytes);
  if (const unsigned c = class_for(alignment, bytes); c != 0) return allocate_class(c);
  return allocate_large(bytes, alignment);
}
inline void* allocate_zeroed(std::size_t bytes) noexcept {
  bool is_zero = false;
  void* const block = bytes > table::largest ? or_no_memory(allocate_run(bytes, 1, is_zero)) : allocate_class(table::of(bytes));
  if (block != nullptr && !is_zero) std::memset(block, 0, bytes);
  return block;
}

/// Bytes of a block in use; 0: it isn't one.
inline std::size_t usable_bytes(void* block) noexcept {
  if (block == nullptr) return 0;
  if (const unsigned c = runs.class_at(block); c != 0) return table::bytes(c);
  const detail::span_record* const run = runs.span_of(block);
  const bool starts_here = run != nullptr && run->is == detail::span_record::large && run->start == block;
  return starts_here ? run->bytes_to_use() : 0;
}

/// Large blocks grow and shrink in place if they can. Others stay where they are while at least half is used.
inline void* reallocate(void* block, std::size_t bytes) noexcept {
  const std::size_t has = usable_bytes(block);
  if (has == 0) return report_large(runs.verdict_at(block), block), nullptr;
  if (is_hardened && runs.class_at(block) != 0 && !is_block(block)) return nullptr;
  if (has > table::largest && bytes > table::largest && bytes <= detail::size_limit) {
    const platform::same_errno same;
    caches.admit();
    detail::span_record& run = *runs.span_of(block);
    if (runs.resize(run, units_for(bytes))) return settle(), block;
    if (const detail::span_record* const moved = runs.relocate(run, units_for(bytes))) {
      void* const start = moved->start;
      settle();
      return start;
    }
  } else if (bytes <= has && bytes >= has / 2 && has <= table::largest) {
    return block;
  }
  void* const moved = allocate(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, has < bytes ? has : bytes);
  deallocate(block);
  return moved;
}

/// Frees all memory that no block and no other thread needs. Returns whether there was any.
inline bool trim() noexcept {
  const platform::same_errno same;
  start_once();
  caches.reclaim(me.part);
  return runs.trim() != 0;
}

struct usage {
  std::size_t mapped = 0;  // bytes of runs, and of what the heap keeps for itself
  std::size_t large = 0;  // bytes of large blocks, in use
  std::size_t blocks = 0;  // bytes of blocks of classes that are in use, or in the cache of a thread
  std::size_t kept = 0;  // bytes of free runs that have memory
};
inline usage count() noexcept {
  start_once();
  usage sum;
  std::size_t in_spans = 0;
  caches.each_depot([&](unsigned c, std::size_t in_depot) noexcept {
    sum.blocks += (spans.handed_out(c) - in_depot) * table::bytes(c);
    in_spans += spans.units(c) * detail::span_unit;
  });
  const detail::heap_counts now = runs.counts();
  sum.mapped = now.open + now.own;
  sum.kept = now.kept;
  sum.large = now.in_use > in_spans ? now.in_use - in_spans : 0;  // the figures aren't from one moment
  return sum;
}

}  // namespace tarn::malloc_library

#endif  // TARN_MALLOC_HEAP_H_
