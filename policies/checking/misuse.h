// What checking policies report: a misuse of a pool, and its handler.
//
//   tarn: double free: pool "orders" <64 bytes>@0x5581a0 block 0x5581c0 (#3 of chunk 0x558100), allocated seq 7 thread 1; freed
//   seq 9 thread 2
//
// The default handler writes that line to standard error and aborts, except for a leak. If a handler returns, the call does
// nothing and the pool is unchanged. A policy may have its own handler, reported_to<handler>.
#ifndef TARN_POLICIES_CHECKING_MISUSE_H_
#define TARN_POLICIES_CHECKING_MISUSE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn {

/// What was found.
enum class misuse_kind : unsigned char {
  double_free,         // the block is free already
  foreign_pointer,     // not a block of this pool
  other_pool,          // a block of another pool
  interior_pointer,    // not the start of a block; in an arena: an object that the arena destroys itself
  ended_pool,          // the pool was destroyed
  write_past_end,      // bytes behind a block were written
  write_in_front,      // bytes in front of a block were written
  write_after_free,    // a free block was written
  wrong_size,          // a sized free of another size, or of a stricter alignment
  array_delete,        // delete[] of one object
  wrong_thread,        // a pool without a lock, used by a thread that isn't its owner
  corrupt_free_list,   // what the pool keeps in its free blocks was overwritten
  leak,                // blocks were in use when the pool was destroyed, or in report_in_use()
  broken_store,        // the store gave memory that breaks its contract
  reentry,             // the pool was called from inside its own call, by a signal handler; or release(), by its store; an
                       // arena goes back within a destructor that it runs
  page_fault,          // an access that faulted, to a block on its own pages: see explain_fault()
  corrupt_chunk,       // what the pool keeps in front of a chunk's blocks was overwritten; its blocks are no longer used
  stale_mark,          // an arena was rewound to a mark that is gone: it went back further, or was reset
  other_arena,         // an arena was rewound to another arena's mark
};

/// A misuse. Members that aren't known are null, 0 or `unknown`. What it points to is valid while the handler runs.
struct misuse {
  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);  // of `number`

  misuse_kind kind = misuse_kind::foreign_pointer;  // what was found
  const char* pool_name = "";      // as the checking policy was given it; never null
  const void* pool = nullptr;      // that was called, or detected it
  std::size_t block_size = 0;      // bytes
  const void* address = nullptr;   // that was freed, or the damaged block
  const void* block = nullptr;     // start of the block that contains the address
  const void* chunk = nullptr;     // slot 0 of its chunk
  std::size_t number = unknown;    // of the block in its chunk
  std::uint64_t allocated = 0;     // sequence number of the operation in its pool; for a leak: of the first block
  std::uint64_t allocated_by = 0;  // number of the thread
  std::uint64_t freed = 0;         // sequence number of the operation that freed the block
  std::uint64_t freed_by = 0;      // number of the thread
  const char* file = nullptr;      // where the block was allocated
  unsigned line = 0;               // of that file
  std::uint64_t thread = 0;        // that called; 0: not determined
  std::uint64_t owner = 0;         // thread that owns the pool
  std::ptrdiff_t offset = 0;       // bytes from the block's start to the first that is damaged, or was accessed
  std::size_t damaged = 0;         // how many are damaged, as far as was checked
  unsigned char value = 0;         // of the first damaged byte
  std::size_t size = 0;            // bytes that a sized free was given, or that the store returned
  std::size_t alignment = 0;       // bytes, likewise
  const void* other_pool = nullptr;  // that the block, or the mark, belongs to
  const char* other_name = "";     // never null
  std::size_t leaked = 0;          // blocks
  span<const void* const> leaks = {};  // the first of them
  bool is_arena = false;           // `pool` is an arena, and `other_pool`, if it isn't null
};

/// Called for every misuse, with no lock held except for a reentry. It may use pools, including this one (which refuses all
/// calls after a reentry).
using misuse_handler = void (*)(const misuse&) noexcept;

// ---- the line that reports a misuse -----------------------------------------------------------------------------------
//
// It is written into the caller's array: nothing is allocated, and no lock taken.

namespace detail {
/// Appends to an array, and truncates what doesn't fit. Names may contain anything, so control characters become '?' and the
/// report stays one line.
class line_writer {
 public:
  line_writer(char* text, std::size_t bytes) noexcept : at_(text), end_(text + (bytes - 1)) {}

  line_writer& operator<<(const char* words) noexcept {
    for (; *words != 0 && at_ != end_; ++words)
      *at_++ = static_cast<unsigned char>(*words) < ' ' || *words == 0x7F ? '?' : *words;
    return *this;
  }
  line_writer& operator<<(std::uint64_t number) noexcept { return digits(number, 10); }
  line_writer& operator<<(const void* address) noexcept {
    *this << "0x";
    return digits(reinterpret_cast<std::uintptr_t>(address), 16);
  }
  line_writer& hex(unsigned value) noexcept {
    *this << "0x";
    return digits(value, 16);
  }
  char* end() noexcept {
    *at_ = '\0';
    return at_;
  }

 private:
  line_writer& digits(std::uint64_t number, unsigned base) noexcept {
    char figures[24];
    char* first = figures + sizeof figures - 1;
    *first = '\0';
    do {
      *--first = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    return *this << first;
  }

  char* at_;
  char* end_;
};

inline const char* name_of(misuse_kind kind) noexcept {
  switch (kind) {
    case misuse_kind::double_free: return "double free";
    case misuse_kind::foreign_pointer: return "foreign pointer";
    case misuse_kind::other_pool: return "block of another pool";
    case misuse_kind::interior_pointer: return "interior pointer";
    case misuse_kind::ended_pool: return "destroyed pool";
    case misuse_kind::write_past_end: return "write past the end";
    case misuse_kind::write_in_front: return "write in front";
    case misuse_kind::write_after_free: return "write after free";
    case misuse_kind::wrong_size: return "wrong size";
    case misuse_kind::array_delete: return "array delete";
    case misuse_kind::wrong_thread: return "wrong thread";
    case misuse_kind::corrupt_free_list: return "corrupt free list";
    case misuse_kind::leak: return "leak";
    case misuse_kind::broken_store: return "broken store";
    case misuse_kind::reentry: return "reentry";
    case misuse_kind::page_fault: return "page fault";
    case misuse_kind::corrupt_chunk: return "corrupt chunk";
    case misuse_kind::stale_mark: return "stale mark";
    case misuse_kind::other_arena: return "mark of another arena";
  }
  return "misuse";
}

/// A pool without a name is "pool", and identified by its address.
inline void write_name(line_writer& line, const char* name, bool is_arena = false) noexcept {
  line << (is_arena ? "arena" : "pool");
  if (*name != 0) line << " \"" << name << "\"";
}

inline bool is_aligned(const misuse& what) noexcept {
  return what.alignment == 0 || reinterpret_cast<std::uintptr_t>(what.address) % what.alignment == 0;
}

inline void write_offset(line_writer& line, std::ptrdiff_t from) noexcept {
  line << (from < 0 ? "-" : "+") << static_cast<std::uint64_t>(from < 0 ? -from : from);
}

// What a kind of misuse adds after the block.

inline void write_interior(line_writer& line, const misuse& what) noexcept {
  if (what.is_arena) line << ": an object of create() or make_span(), which the arena destroys itself";
  if (what.block == nullptr) return;
  line << ": the block starts "
       << static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(what.address) -
                                     reinterpret_cast<std::uintptr_t>(what.block))
       << " bytes earlier, at " << what.block;
}
inline void write_damage(line_writer& line, const misuse& what) noexcept {
  line << ": " << std::uint64_t{what.damaged} << (what.damaged == 1 ? " byte" : " bytes") << " from ";
  write_offset(line, what.offset);
  (line << ", value ").hex(what.value);
}
inline void write_wrong_size(line_writer& line, const misuse& what) noexcept {
  line << ": freed as " << std::uint64_t{what.size} << " bytes";
  if (what.alignment > 1) line << " aligned to " << std::uint64_t{what.alignment};
  line << "; is the destructor of a base class not virtual?";
}
inline void write_leak(line_writer& line, const misuse& what) noexcept {
  line << ": " << std::uint64_t{what.leaked} << (what.leaked == 1 ? " block, " : " blocks, ")
       << std::uint64_t{what.leaked * what.block_size} << " bytes" << (what.leaks.empty() ? "" : ":");
  for (const void* const block : what.leaks) line << " " << block;
  if (!what.leaks.empty() && what.leaks.size() < what.leaked) line << " ...";
  if (what.allocated != 0 && what.leaked != 1) line << "; the first";
}
inline void write_broken_store(line_writer& line, const misuse& what) noexcept {
  line << ": the store returned " << std::uint64_t{what.size} << " bytes at " << what.address;
  if (is_aligned(what)) line << ", which are already in a chunk";
  else line << ", which are not aligned to " << std::uint64_t{what.alignment};
}
inline void write_page_fault(line_writer& line, const misuse& what) noexcept {
  line << ": access at ";
  write_offset(line, what.offset);
  if (what.freed != 0) line << ", after it was freed";
  else line << (what.offset < 0 ? ", in front of it" : ", past its end");
}

inline void write_details(line_writer& line, const misuse& what) noexcept {
  switch (what.kind) {
    case misuse_kind::interior_pointer: return write_interior(line, what);
    case misuse_kind::other_pool:
      line << " of ";
      write_name(line, what.other_name);
      line << "@" << what.other_pool;
      return;
    case misuse_kind::write_past_end:
    case misuse_kind::write_in_front:
    case misuse_kind::write_after_free: return write_damage(line, what);
    case misuse_kind::wrong_size: return write_wrong_size(line, what);
    case misuse_kind::array_delete: line << ": it is one object; write delete, without []"; return;
    case misuse_kind::wrong_thread:
      line << ": owner thread " << what.owner << ", called by thread " << what.thread;
      return;
    case misuse_kind::leak: return write_leak(line, what);
    case misuse_kind::broken_store: return write_broken_store(line, what);
    case misuse_kind::reentry:
      if (what.is_arena) {
        line << ": a destructor that it runs rewinds it further, or resets it";
        return;
      }
      line << ": thread " << what.thread << " is already in a call of it; a signal handler or the pool's own store called it";
      return;
    case misuse_kind::page_fault: return write_page_fault(line, what);
    case misuse_kind::corrupt_chunk:
      line << ": bytes in front of its record at " << what.address << " were overwritten; did the block before it overflow?";
      return;
    case misuse_kind::stale_mark: line << ": it went back further since the mark was set, or was reset"; return;
    case misuse_kind::other_arena: line << ": the mark is of arena@" << what.other_pool; return;
    default: return;
  }
}

}  // namespace detail

/// Writes the line and a null character. Returns its length, truncated to bytes - 1.
inline std::size_t to_text(const misuse& what, char* text, std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  detail::line_writer line(text, bytes);
  line << "tarn" << ": " << detail::name_of(what.kind) << ": ";
  detail::write_name(line, what.pool_name, what.is_arena);
  if (!what.is_arena) line << " <" << std::uint64_t{what.block_size} << " bytes>";
  line << "@" << what.pool;
  const bool has_block = what.address != nullptr && what.kind != misuse_kind::broken_store &&
                         what.kind != misuse_kind::corrupt_chunk;
  if (has_block) line << " block " << what.address;
  if (has_block && what.number != misuse::unknown)
    line << " (#" << std::uint64_t{what.number} << " of chunk " << what.chunk << ")";
  detail::write_details(line, what);
  if (what.allocated != 0) line << ", allocated seq " << what.allocated << " thread " << what.allocated_by;
  if (what.file != nullptr) line << " at " << what.file << ":" << std::uint64_t{what.line};
  if (what.freed != 0) line << "; freed seq " << what.freed << " thread " << what.freed_by;
  return static_cast<std::size_t>(line.end() - text);
}

/// Writes the line to stderr in one call. Allocates nothing, takes no lock.
inline void print_misuse(const misuse& what) noexcept {
  const detail::uncancelled whole;
  char text[1024];
  const std::size_t length = to_text(what, text, sizeof text - 1);
  text[length] = '\n';
  platform::system::write_error(text, length + 1);
}

// ---- handlers ----------------------------------------------------------------------------------------------------------

/// The default handler.
inline void print_and_abort(const misuse& what) noexcept {
  print_misuse(what);
  if (what.kind != misuse_kind::leak) std::abort();
}

namespace detail {
// Order: exchange acquire and release, load acquire. What a handler needs is written before it is set.
TARN_FOUND_IN_PROCESS inline constinit atomic_word<misuse_handler> library_handler = print_and_abort;
inline atomic_word<misuse_handler>& misuse_handler_now() noexcept { return one_in_process<library_handler, 0x105>::get(); }

/// The last misuse that an operation found, kept until nothing is held and it can be reported. Without a misuse it costs a
/// byte.
class pending_report {
 public:
  pending_report() noexcept {}  // what_ is constructed when there is a misuse
  pending_report(const pending_report&) = delete;
  pending_report& operator=(const pending_report&) = delete;

  bool seen() const noexcept { return seen_; }
  /// Precondition: seen().
  misuse& what() noexcept { return what_; }

  /// Notes a misuse, replacing an earlier one. Returns where its details go.
  misuse& note(misuse_kind kind, const void* address) noexcept {
    TARN_NOT_IF(no_misuse);
    seen_ = true;
    ::new (&what_) misuse{};
    what_.kind = kind;
    what_.address = address;
    return what_;
  }
  /// The same, for a call that is refused.
  status refuse(misuse_kind kind, const void* address) noexcept {
    note(kind, address);
    return status::refused;
  }

 private:
  bool seen_ = false;
  union {
    misuse what_;
  };
};

TARN_COLD inline void report_misuse(const misuse& what) noexcept {
  TARN_NOT_IF(no_misuse);
  misuse_handler_now().load(memory_order_acquire)(what);
}
}  // namespace detail

/// For hardened_with and checked_with: misuse of the pool is reported to this function instead of the process's handler, whose
/// text is most of the code in a small program.
template <misuse_handler Handler>
struct reported_to {};

namespace detail {
template <class Option>
inline constexpr std::size_t handlers_in = 0;
template <misuse_handler Handler>
inline constexpr std::size_t handlers_in<reported_to<Handler>> = 1;
template <class... Options>
inline constexpr std::size_t handlers_among = (std::size_t{0} + ... + handlers_in<Options>);

/// The handler that a policy with such options reports to.
template <class... Options>
struct reporter_among {
  static void report(const misuse& what) noexcept { report_misuse(what); }
};
template <class First, class... Others>
struct reporter_among<First, Others...> : reporter_among<Others...> {};
template <misuse_handler Handler, class... Others>
struct reporter_among<reported_to<Handler>, Others...> {
  TARN_STEP static void report(const misuse& what) noexcept { Handler(what); }
};

/// The handler that a checking policy reports to: that of the process if the policy has none.
template <class Checking>
struct reporter_of : reporter_among<> {};
template <class Checking>
  requires requires { typename Checking::reporter; }
struct reporter_of<Checking> : Checking::reporter {};
}  // namespace detail

/// Sets the handler of the process; null: the default. Returns the previous one.
inline misuse_handler set_misuse_handler(misuse_handler handler) noexcept {
  return detail::misuse_handler_now().exchange(handler != nullptr ? handler : print_and_abort, detail::memory_order_acq_rel);
}

// ---- where a block was allocated, and what is in use ------------------------------------------------------------------

/// The line that allocates a block, for reports. A std::source_location, which clang 14 lacks, converts to it.
struct call_site {
  const char* file = nullptr;  // a string literal, or text that lives as long
  unsigned line = 0;           // of that file

  /// No line; a line of a file; that of a std::source_location or a similar type.
  constexpr call_site() noexcept = default;
  constexpr call_site(const char* of_file, unsigned of_line) noexcept : file(of_file), line(of_line) {}
  template <class Location>
    requires requires(const Location& where) {
      where.file_name();
      where.line();
    }
  constexpr call_site(const Location& where) noexcept : file(where.file_name()), line(static_cast<unsigned>(where.line())) {}

  /// Returns the line that calls this or, as a default argument, the function.
  static constexpr call_site current(const char* file = TARN_CALLER_FILE, unsigned line = TARN_CALLER_LINE) noexcept {
    return {file, line};
  }
};

namespace detail {
/// Reports what is in use in a pool, and returns how many blocks.
using in_use_teller = std::size_t (*)(void* pool) noexcept;

inline bool same_site(const call_site& a, const call_site& b) noexcept { return a.file == b.file && a.line == b.line; }

/// The sites whose blocks in use were reported: at most 15 individually, the others together.
class told_sites {
 public:
  static constexpr std::size_t most = 16;
  bool has(const call_site& site) const noexcept {
    for (std::size_t i = 0; i != count_; ++i)
      if (same_site(sites_[i], site)) return true;
    return false;
  }
  void add(const call_site& site) noexcept { sites_[count_++] = site; }
  bool is_new() const noexcept { return count_ == 0; }
  bool is_full() const noexcept { return count_ == most - 1; }
  bool is_over() const noexcept { return count_ == most; }

 private:
  call_site sites_[most];
  std::size_t count_ = 0;
};
}  // namespace detail

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_MISUSE_H_
