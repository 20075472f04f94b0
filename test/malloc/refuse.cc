// A library whose mmap, mprotect, mremap and madvise are refused from the REFUSE_AT-th call on, or only then (REFUSE_ONCE):
// those of tarn's malloc, since the C library calls its own by other names.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>

namespace {

bool refuses() {
  static int left = -1;
  static bool once = false;
  if (left == -1) {
    const char* const text = getenv("REFUSE_AT");
    left = text != nullptr ? atoi(text) : 0;
    once = getenv("REFUSE_ONCE") != nullptr;
  }
  if (left == 0) return false;
  if (left > 1) return --left, false;
  if (once) left = 0;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] void* mmap(void* start, size_t bytes, int rights, int flags, int file, off_t offset) noexcept {
  if (refuses()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, start, bytes, rights, flags, file, offset));
}
[[gnu::visibility("default")]] int mprotect(void* start, size_t bytes, int rights) noexcept {
  return refuses() ? -1 : static_cast<int>(syscall(SYS_mprotect, start, bytes, rights));
}
[[gnu::visibility("default")]] void* mremap(void* start, size_t bytes, size_t more, int flags, ...) noexcept {
  if (refuses()) return MAP_FAILED;
  va_list words;
  va_start(words, flags);
  void* const to = va_arg(words, void*);
  va_end(words);
  return reinterpret_cast<void*>(syscall(SYS_mremap, start, bytes, more, flags, to));
}
[[gnu::visibility("default")]] int madvise(void* start, size_t bytes, int advice) noexcept {
  return refuses() ? -1 : static_cast<int>(syscall(SYS_madvise, start, bytes, advice));
}
}
