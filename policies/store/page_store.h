// decides    chunks are pages of the operating system, mapped for this pool and unmapped when they are returned
// costs      a system call for each chunk; its size is rounded up to whole pages, which the pool uses as far as growth allows
// conflicts  none (on systems with pages of memory)
// use when   memory must go back to the system immediately; there are enough blocks for huge pages; blocks must stay in memory
//            (locked_pages), or be in memory before their first use (prefilled). Code that runs past a chunk's end must fault
//            (guard_pages)
#ifndef TARN_POLICIES_STORE_PAGE_STORE_H_
#define TARN_POLICIES_STORE_PAGE_STORE_H_

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/store.h"

namespace tarn {

/// What the system granted of the huge pages that a store requested. All figures are bytes of its pool's memory now, without
/// guard pages and records. If `huge` equals `resident`, all resident pages are huge.
struct page_report {
  std::size_t mapped = 0;    // what the store got from the system
  std::size_t refused = 0;   // of `mapped`: the system allows no huge pages there
  std::size_t resident = 0;  // of `mapped`: in memory now. Pages that were never touched are not
  std::size_t huge = 0;      // of `resident`: in whole huge pages now
  bool measured = false;     // `resident` and `huge` were read; false if the system doesn't report them
};

namespace detail {

// What the system says about this process's memory, mapping by mapping: /proc/self/smaps, read without a heap. Linux only;
// elsewhere nothing is known.

/// One mapping: addresses from `first` to before `last`, and bytes of it.
struct process_mapping {
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
  std::size_t resident = 0;
  std::size_t huge = 0;      // resident in whole huge pages
  bool may_be_huge = true;   // the system's settings allow them here; kernels before 5.0 don't say

  std::size_t overlap(std::uintptr_t from, std::size_t bytes) const noexcept {
    const std::uintptr_t low = from > first ? from : first;
    const std::uintptr_t high = from + bytes < last ? from + bytes : last;
    return low < high ? high - low : 0;
  }
};

/// Assembles the lines of smaps into mappings. A mapping is complete when the next one's first line comes.
template <class Visit>
class process_map_reader {
 public:
  explicit process_map_reader(Visit& visit) noexcept : visit_(visit) {}

  void take(char c) noexcept {
    if (c != '\n') {
      if (length_ != sizeof line_) line_[length_++] = c;  // the wanted part is at the front
      return;
    }
    take_line({line_, line_ + length_});
    length_ = 0;
  }
  void end() noexcept {
    if (now_.last != 0) visit_(now_);
  }

 private:
  /// The part of a line that wasn't read yet.
  struct rest {
    const char* at;
    const char* end;
    bool empty() const noexcept { return at == end; }
  };

  void take_line(rest line) noexcept {
    if (line.empty()) return;
    if (*line.at < 'A' || *line.at > 'Z') {  // 7f0e5c000000-7f0e5c021000 rw-p ...
      end();
      now_ = {};
      now_.first = number(line, 16);
      if (!line.empty()) ++line.at;
      now_.last = number(line, 16);
    } else if (starts(line, "Rss:")) {
      now_.resident = number(line, 10) * 1024;
    } else if (starts(line, "AnonHugePages:")) {
      now_.huge = number(line, 10) * 1024;
    } else if (starts(line, "THPeligible:")) {
      now_.may_be_huge = number(line, 10) != 0;
    }
  }
  static bool starts(rest& line, const char* key) noexcept {
    const std::size_t n = std::strlen(key);
    if (static_cast<std::size_t>(line.end - line.at) < n || std::memcmp(line.at, key, n) != 0) return false;
    line.at += n;
    while (!line.empty() && *line.at == ' ') ++line.at;
    return true;
  }
  /// Takes the digits at the start of the line.
  static std::uintptr_t number(rest& line, unsigned base) noexcept {
    std::uintptr_t n = 0;
    for (; !line.empty(); ++line.at) {
      const char c = *line.at;
      if (c >= '0' && c <= '9') n = n * base + static_cast<unsigned>(c - '0');
      else if (base == 16 && c >= 'a' && c <= 'f') n = n * base + static_cast<unsigned>(c - 'a' + 10);
      else break;
    }
    return n;
  }

  Visit& visit_;
  process_mapping now_;
  char line_[64];
  std::size_t length_ = 0;
};

/// Calls visit(process_mapping) for each mapping of this process, by ascending address. Returns whether the system provided
/// them. The kernel walks all page tables for this: 5 ms if 1 GiB is in small pages.
template <class Visit>
bool each_process_mapping(Visit visit) noexcept {
  process_map_reader<Visit> reader(visit);
  const bool is_whole = platform::system::read_memory_map([&reader](const char* text, std::size_t bytes) noexcept {
    for (const char* const end = text + bytes; text != end; ++text) reader.take(*text);
  });
  if (is_whole) reader.end();
  return is_whole;
}

/// A doubly linked list through a record for each chunk, which the store keeps in its own page in front of the chunk. Not
/// thread-safe, not even if const.
class page_records {
 public:
  /// \param page  room for the record
  void add(void* page, memory region, bool refused) noexcept {
    record* const r = ::new (page) record{{first_}, nullptr, region, refused};
    if (first_ != nullptr) first()->before = r;
    first_ = r;
  }
  void remove(void* page) noexcept {
    record* const r = std::launder(static_cast<record*>(page));
    (r->before != nullptr ? r->before->next : first_) = r->next;
    if (r->next != nullptr) r->following()->before = r->before;
  }

  page_report report() const noexcept {
    sort();
    page_report sum;
    for (const record* r = first(); r != nullptr; r = r->following()) {
      sum.mapped += r->region.bytes;
      if (r->refused) sum.refused += r->region.bytes;
    }
    const record* next = first();  // that ends past the mappings seen so far
    sum.measured = each_process_mapping([&](const process_mapping& m) {
      std::size_t ours = 0;
      for (; next != nullptr && next->start() < m.last; next = next->following()) {
        const std::size_t part = m.overlap(next->start(), next->region.bytes);
        ours += part;
        if (!next->refused && !m.may_be_huge) sum.refused += part;  // if the system's setting is "never", the request succeeds
        if (next->start() + next->region.bytes > m.last) break;
      }
      // A chunk is a mapping of its own, except if huge pages were refused: then its record is in front of it.
      sum.resident += detail::smaller(m.resident, ours);
      sum.huge += detail::smaller(m.huge, ours);
    });
    return sum;
  }

 private:
  struct record : free_link {
    record* before;
    memory region;
    bool refused;

    record* following() const noexcept { return static_cast<record*>(next); }
    std::uintptr_t start() const noexcept { return address_of(region.start); }
  };

  record* first() const noexcept { return static_cast<record*>(first_); }

  /// By address, the order in which the system lists mappings: each is searched for in one place only. 1000 chunks: 186 to 5
  /// ms.
  void sort() const noexcept {
    first_ = sort_links(first_);
    record* before = nullptr;
    for (record* r = first(); r != nullptr; r = r->following()) r->before = replace(before, r);
  }

  mutable free_link* first_ = nullptr;
};

}  // namespace detail

/// Chunks that a page_store could map but not use. Each attempt counts; growth that is refused tries half the size.
struct page_refusals {
  std::size_t locks = 0;  // that the system wouldn't lock in memory
  std::size_t fills = 0;  // that it wouldn't bring into memory
  int error = 0;          // errno of the last (GetLastError() on Windows): mlock() and MADV_POPULATE_WRITE say what it means
};

namespace detail {

/// Read at any time, changed by one thread at a time.
class refusal_counts {
 public:
  void add_lock(int error) noexcept { add(locks_, error); }
  void add_fill(int error) noexcept { add(fills_, error); }

  page_refusals get() const noexcept {
    return {locks_.load(memory_order_relaxed), fills_.load(memory_order_relaxed), error_.load(memory_order_relaxed)};
  }

 private:
  void add(atomic_word<std::size_t>& count, int error) noexcept {
    error_.store(error, memory_order_relaxed);
    count.store(count.load(memory_order_relaxed) + 1, memory_order_relaxed);
  }

  // Order: relaxed; numbers, written under a guard of the pool.
  atomic_word<std::size_t> locks_ = 0;
  atomic_word<std::size_t> fills_ = 0;
  atomic_word<int> error_ = 0;
};

}  // namespace detail

/// Option of page_store: chunks of whole huge pages (2 MiB), if the system grants them, which pages() reports. First fill of a
/// million 64-byte blocks: 18 to 8 ns a block. A chunk takes one more small page. If the last huge page would waste more than
/// an eighth of the requested chunk, its end is in small pages.
struct huge_pages {};

/// Option of page_store: an inaccessible page before each chunk and one after it, so that code that runs past an end faults.
/// Writes to unused bytes after a chunk's last block aren't detected. Costs a system call and two mappings (of 65,530 that
/// Linux allows a process) for each chunk.
struct guard_pages {};

/// Option of page_store: chunks are brought into memory when they are mapped, and locked there. A chunk that the system refuses
/// to lock (ulimit -l) is unmapped, and counted by refusals(). A child of fork() doesn't have the lock.
struct locked_pages {};

/// Option of page_store: chunks are brought into memory when they are mapped, so that no block's first write is a page fault. A
/// chunk for which the system has no memory is unmapped, and counted by refusals(). The thread that grows the pool waits for
/// the whole chunk: 1.2 ms for 4 MiB, in huge pages 0.06 ms. So grow it in advance, with reserve().
struct prefilled {};

/// \tparam Options  any of huge_pages, guard_pages, locked_pages and prefilled, in any order, each at most once
template <class... Options>
struct page_store {
 private:
  using huge_page = detail::huge_pages_of_system;

 public:
  using axis = tarn::axis::store;
  static constexpr bool options_hold =
      (detail::one_of<Options, huge_pages, guard_pages, locked_pages, prefilled> && ...) &&
      ([]<class Option>(std::type_identity<Option>) {
        return (std::size_t{std::same_as<Option, Options>} + ...) == 1;
      }(std::type_identity<Options>{}) && ...);
  static constexpr bool arguments_hold = options_hold && platform::system::has_pages;
  struct complaint {
    static_assert(options_hold,
                  "tarn: [T2] page_store was given an unknown option, or one option twice; its options are huge_pages, "
                  "guard_pages, locked_pages and prefilled");
    static_assert(!options_hold || arguments_hold,
                  "tarn: [Y5] page_store was used, but this target has no system that provides pages of memory; use "
                  "heap_store, static_array_store<Blocks> or buffer_store, or provide a platform header (docs/platforms.md)");
  };
  static constexpr bool huge = detail::one_of<huge_pages, Options...>;
  static constexpr bool guarded = detail::one_of<guard_pages, Options...>;
  static constexpr bool locked = detail::one_of<locked_pages, Options...>;
  static constexpr bool filled = detail::one_of<prefilled, Options...>;
  static constexpr store_traits traits{
      .zeroed = true,  // code that needs zeros need not write them
      .reports_pages = huge,
      // The system keeps a huge page as a whole until all of it is discarded, and doesn't discard what is locked.
      .can_discard = detail::page_calls::exist && !huge && !locked,
      .rounds_up = true,
      .has_best_size = huge,
  };

  /// Whole huge pages, which blocks fill if growth allows.
  static constexpr std::size_t best_size(std::size_t bytes, std::size_t) noexcept {
    return detail::larger(huge_page::whole_near(bytes), huge_page::bytes);
  }

  //   | record       | guard         | chunk ...                  | guard         |      each one small page but the chunk
  //   | (huge_pages) | (guard_pages) ^ region.start, aligned      | (guard_pages) |
  template <class Traits>
  class source {
   public:
    constexpr explicit source(const page_store&) noexcept {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const std::size_t page = small_page_size();
      const std::size_t unit = huge ? huge_page::bytes : page;
      const std::size_t start_alignment = detail::larger(alignment, unit);
      if (bytes > detail::size_limit || start_alignment > detail::size_limit) return {};
      const std::size_t size = rounded_up(bytes, alignment);
      const std::size_t whole = pages_before * page + size + pages_behind * page;
      auto* const begin = static_cast<std::byte*>(system::map_pages(whole, start_alignment, pages_before * page, !guarded));
      if (begin == nullptr) return {};
      const detail::memory region{begin + pages_before * page, size};
      if (open(region, page)) return detail::add_leak_root(region.start, region.bytes), region;
      system::unmap_pages(begin, whole);
      return {};
    }

    void release(detail::memory region, std::size_t) noexcept {
      const std::size_t page = small_page_size();
      std::byte* const begin = static_cast<std::byte*>(region.start) - pages_before * page;
      if constexpr (huge) records_.remove(begin);
      detail::drop_leak_root(region.start, region.bytes);
      system::unmap_pages(begin, pages_before * page + region.bytes + pages_behind * page);
    }

    std::size_t rounded_up(std::size_t bytes, std::size_t) const noexcept {
      if (bytes > detail::size_limit) return bytes;
      const std::size_t whole = detail::round_up(bytes, huge_page::bytes);
      // If the last huge page would waste more than an eighth of the chunk, as many small pages as needed replace it.
      const bool in_whole = huge && (bytes <= huge_page::bytes || whole - bytes <= bytes / 8);
      return in_whole ? whole : detail::round_up(bytes, small_page_size());
    }

    /// Returns the result of the requests for huge pages. Reads the system's figures for the whole process, which takes some
    /// milliseconds. Called under the same guard as acquire() and release().
    page_report report() const noexcept
      requires(huge)
    {
      return records_.report();
    }

    /// Returns how many chunks the system refused to lock or to fill, and why. May be called at any time.
    page_refusals refusals() const noexcept
      requires(locked || filled)
    {
      return refused_.get();
    }

    /// Frees the pages of runs inside regions, which start and end on unused pages; the addresses stay. Returns how many runs
    /// were freed, from the first on. A system call for up to 64 runs (before Linux 6.15 for each).
    std::size_t discard(const detail::memory* runs, std::size_t n, page_advice how) noexcept
      requires(traits.can_discard)
    {
      return detail::page_memory::discard(runs, n, how);
    }

   private:
    static constexpr std::size_t pages_before = std::size_t{huge} + std::size_t{guarded};
    static constexpr std::size_t pages_behind = std::size_t{guarded};
    using system = platform::system;
    static std::size_t small_page_size() noexcept { return detail::page_memory::page_bytes(); }

    /// Applies the options to mapped pages. Returns whether the system allowed everything that is required.
    bool open(detail::memory region, [[maybe_unused]] std::size_t page) noexcept {
      [[maybe_unused]] std::byte* const record = static_cast<std::byte*>(region.start) - pages_before * page;
      if constexpr (guarded) {
        if (!system::open_pages(region.start, region.bytes) || (huge && !system::open_pages(record, page))) return false;
      }
      [[maybe_unused]] bool refused = false;
      if constexpr (huge) refused = !huge_page::ask(static_cast<std::byte*>(region.start), region.bytes);
      if constexpr (locked) {
        if (const int error = system::lock_pages(region.start, region.bytes)) return refused_.add_lock(error), false;
      }
      if constexpr (filled) {  // after the request for huge pages, because the first write decides which pages are used
        if (!detail::page_memory::fill(static_cast<std::byte*>(region.start), region.bytes))
          return refused_.add_fill(errno), false;
      }
      if constexpr (huge) records_.add(record, region, refused);
      return true;
    }

    struct no_records {};
    struct no_counts {};
    TARN_NO_UNIQUE_ADDRESS std::conditional_t<huge, detail::page_records, no_records> records_;
    TARN_NO_UNIQUE_ADDRESS std::conditional_t<locked || filled, detail::refusal_counts, no_counts> refused_;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_PAGE_STORE_H_
