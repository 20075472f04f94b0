// What checking policies report: a misuse of a pool, and its handler.
//
//   tarn: double free: pool "orders" <64 bytes>@0x5581a0 block 0x5581c0 (#3 of chunk 0x558100), allocated seq 7 thread 1; freed
//   seq 9 thread 2
//
// The default handler writes that line to standard error and aborts, except for a leak. A handler may return: then the call was
// a no-op, and the pool is unchanged. A policy may name a handler of its own, reported_to<handler>.
#ifndef TARN_POLICIES_CHECKING_MISUSE_H_
#define TARN_POLICIES_CHECKING_MISUSE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"

namespace tarn {

/// What was found.
enum class misuse_kind : unsigned char {
  double_free,         // the block is free already
  foreign_pointer,     // no block of this pool
  other_pool,          // a block of another pool
  interior_pointer,    // not the start of a block
  ended_pool,          // the pool was destroyed
  write_past_end,      // bytes behind a block were written
  write_in_front,      // bytes in front of a block were written
  write_after_free,    // a free block was written
  wrong_size,          // a sized free of another size, or of a stricter alignment
  array_delete,        // delete[] of one object
  wrong_thread,        // a pool without a lock, used by a thread that isn't its owner
  corrupt_free_list,   // what the pool keeps in its free blocks was overwritten
  leak,                // blocks were in use when the pool ended, or when report_in_use() asked
  broken_store,        // the store gave memory that breaks its contract
  reentry,             // the pool was called from inside its own call, by a signal handler; or release(), by its store
  page_fault,          // an access that faulted, to a block on pages of its own: see explain_fault()
  corrupt_chunk,       // what the pool keeps in front of a chunk's blocks was overwritten; its blocks are no longer handed out
};

/// A misuse. Members that aren't known are null, 0 or `unknown`. What it points to is valid while the handler runs.
struct misuse {
  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);  // of `number`

  misuse_kind kind = misuse_kind::foreign_pointer;  // what was found
  const char* pool_name = "";      // as the checking policy was given it; never null
  const void* pool = nullptr;      // that was called, or found it
  std::size_t block_size = 0;      // bytes
  const void* address = nullptr;   // that was given back, or the damaged block
  const void* block = nullptr;     // start of the block that the address lies in
  const void* chunk = nullptr;     // slot 0 of its chunk
  std::size_t number = unknown;    // of the block in its chunk
  std::uint64_t allocated = 0;     // sequence number of the operation in its pool; of a leak: of the first block
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
  std::size_t size = 0;            // bytes that a sized free named, or that the store gave
  std::size_t alignment = 0;       // bytes, likewise
  const void* other_pool = nullptr;  // that the block belongs to
  const char* other_name = "";     // never null
  std::size_t leaked = 0;          // blocks
  span<const void* const> leaks = {};  // the first of them
};

/// Called for every misuse, with no lock held, except for a reentry. It may use pools, including this one, which refuses all
/// calls after a reentry; several threads may call it at once.
using misuse_handler = void (*)(const misuse&) noexcept;

/// Writes the line, without a newline, and a null character. Returns its length, truncated to bytes - 1.
inline std::size_t to_text(const misuse& what, char* text, std::size_t bytes) noexcept;

/// Writes the line to the standard error output, at once. Allocates nothing, takes no lock.
inline void print_misuse(const misuse& what) noexcept;

/// The default handler.
inline void print_and_abort(const misuse& what) noexcept {
  print_misuse(what);
  if (what.kind != misuse_kind::leak) std::abort();
}

namespace detail {
TARN_FOUND_IN_PROCESS inline constinit atomic_word<misuse_handler> library_handler = print_and_abort;
inline atomic_word<misuse_handler>& misuse_handler_now() noexcept { return one_in_process<library_handler, 0x105>::get(); }

/// The last misuse that an operation found, kept until nothing is held and it can be reported. Costs a byte until then.
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

TARN_COLD inline void report_misuse(const misuse& what) noexcept { misuse_handler_now().load(memory_order_acquire)(what); }
}  // namespace detail

/// For hardened_with and checked_with: misuse of the pool is reported to this function, and not to the handler of the process.
/// The program then links no text of the default handler, which is most of the code of a small one.
template <misuse_handler Handler>
struct reported_to {};

namespace detail {
template <class Option>
inline constexpr std::size_t handlers_in = 0;
template <misuse_handler Handler>
inline constexpr std::size_t handlers_in<reported_to<Handler>> = 1;
template <class... Options>
inline constexpr std::size_t handlers_among = (std::size_t{0} + ... + handlers_in<Options>);

/// To whom a policy with such options reports.
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

/// To whom a checking policy reports: that of the process if it doesn't say.
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

}  // namespace tarn

#include "tarn/policies/checking/detail/misuse_text.h"  // to_text, print_misuse

#endif  // TARN_POLICIES_CHECKING_MISUSE_H_
