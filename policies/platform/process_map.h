// What the system says about this process's memory, mapping by mapping: /proc/self/smaps, read without a heap. Linux only;
// elsewhere nothing is known.
#ifndef TARN_POLICIES_PLATFORM_PROCESS_MAP_H_
#define TARN_POLICIES_PLATFORM_PROCESS_MAP_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/policies/platform/system.h"

namespace tarn::detail {

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
/// them. The kernel walks all page tables for this: 5 ms if 1 GiB lies in small pages.
template <class Visit>
bool each_process_mapping(Visit visit) noexcept {
  process_map_reader<Visit> reader(visit);
  const bool is_whole = platform::system::read_memory_map([&reader](const char* text, std::size_t bytes) noexcept {
    for (const char* const end = text + bytes; text != end; ++text) reader.take(*text);
  });
  if (is_whole) reader.end();
  return is_whole;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_PROCESS_MAP_H_
