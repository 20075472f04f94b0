// The line that reports a misuse. It is written into the caller's array: nothing is allocated, and no lock taken.
#ifndef TARN_POLICIES_CHECKING_DETAIL_MISUSE_TEXT_H_
#define TARN_POLICIES_CHECKING_DETAIL_MISUSE_TEXT_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/platform/cancellation.h"
#include "tarn/policies/platform/system.h"

namespace tarn {
namespace detail {

/// Appends to an array, and truncates what doesn't fit. Names may hold anything: control characters become '?', so that it
/// stays one line.
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
    case misuse_kind::ended_pool: return "pool that has ended";
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
  }
  return "misuse";
}

/// A pool without a name is "pool", and known by its address.
inline void write_name(line_writer& line, const char* name) noexcept {
  line << "pool";
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
  line << ": given back as " << std::uint64_t{what.size} << " bytes";
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
  line << ": it gave " << std::uint64_t{what.size} << " bytes at " << what.address;
  if (is_aligned(what)) line << ", which are in a chunk already";
  else line << ", which are not aligned to " << std::uint64_t{what.alignment};
}
inline void write_page_fault(line_writer& line, const misuse& what) noexcept {
  line << ": access at ";
  write_offset(line, what.offset);
  if (what.freed != 0) line << ", after it was given back";
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
      line << ": thread " << what.thread << " is in a call of it already; a signal handler, or the pool's own store, uses it";
      return;
    case misuse_kind::page_fault: return write_page_fault(line, what);
    case misuse_kind::corrupt_chunk:
      line << ": somebody wrote in front of its record at " << what.address << "; did the block before it overflow?";
      return;
    default: return;
  }
}

}  // namespace detail

inline std::size_t to_text(const misuse& what, char* text, std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  detail::line_writer line(text, bytes);
  line << "tarn" << ": " << detail::name_of(what.kind) << ": ";
  detail::write_name(line, what.pool_name);
  line << " <" << std::uint64_t{what.block_size} << " bytes>@" << what.pool;
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

inline void print_misuse(const misuse& what) noexcept {
  const detail::uncancelled whole;
  char text[1024];
  const std::size_t length = to_text(what, text, sizeof text - 1);
  text[length] = '\n';
  platform::system::write_error(text, length + 1);
}

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_DETAIL_MISUSE_TEXT_H_
