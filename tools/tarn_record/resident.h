// How much memory a process has.
#ifndef TARN_TOOLS_TARN_RECORD_RESIDENT_H_
#define TARN_TOOLS_TARN_RECORD_RESIDENT_H_

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace tarn_record {

/// Bytes of this process in memory. Pages that it has offered to the system and that are still there (MADV_FREE) don't count.
/// Not /proc/self/statm, which the kernel may know only roughly. Allocates nothing.
inline std::size_t resident_bytes() {
  std::array<char, 4096> text{};
  const int file = ::open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  for (std::size_t size = 0; file >= 0;) {
    const ssize_t got = ::read(file, text.data() + size, text.size() - 1 - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (file >= 0) ::close(file);
  const auto kilobytes = [&](const char* key) -> std::size_t {
    const char* const at = std::strstr(text.data(), key);
    return at == nullptr ? 0 : std::strtoull(at + std::strlen(key), nullptr, 10);
  };
  return (kilobytes("\nRss:") - kilobytes("\nLazyFree:")) * 1024;
}

}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_RESIDENT_H_
