// What the system says of this process, asked without a heap but for what returns or needs text; and children whose system
// calls fail.
#ifndef TARN_TEST_POLICIES_STORE_PROCESSES_H_
#define TARN_TEST_POLICIES_STORE_PROCESSES_H_

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "tarn/policies/platform/memory_tools.h"

namespace tarn::test {

// The sanitizers' runtimes answer mlock with success, and do nothing.
#if defined(TARN_ASAN) || defined(TARN_TSAN) || defined(TARN_MSAN)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// Calls take(c) for every character of a file.
template <class Take>
bool read_file(const char* path, Take take) {
  const int file = open(path, O_RDONLY);
  if (file < 0) return false;
  char text[4096];
  for (ssize_t got; (got = read(file, text, sizeof text)) > 0;)
    for (ssize_t i = 0; i < got; ++i) take(text[i]);
  close(file);
  return true;
}

inline std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// The n-th number of a file of numbers.
inline std::size_t number_in(const char* path, int n) {
  std::size_t numbers[8] = {};
  int at = 0;
  read_file(path, [&](char c) {
    if (at == 8) return;
    if (c >= '0' && c <= '9') numbers[at] = numbers[at] * 10 + static_cast<std::size_t>(c - '0');
    else ++at;
  });
  return numbers[n];
}
/// Bytes of addresses that are mapped.
inline std::size_t mapped_bytes() { return number_in("/proc/self/statm", 0) * page_bytes(); }

/// Bytes of memory in use, also of what a machine that is short of memory has put away. Each page is looked at; statm adds up
/// what each processor has noted so far.
inline std::size_t resident_bytes() {
  char text[4096] = {};
  std::size_t n = 0;
  read_file("/proc/self/smaps_rollup", [&](char c) {
    if (n + 1 < sizeof text) text[n++] = c;
  });
  std::size_t sum = 0;
  for (const char* const name : {"\nRss:", "\nSwap:"})
    if (const char* const line = std::strstr(text, name)) sum += std::strtoull(line + std::strlen(name), nullptr, 10) * 1024;
  return sum;
}

inline std::size_t mappings() {
  std::size_t lines = 0;
  read_file("/proc/self/maps", [&](char c) { lines += c == '\n'; });
  return lines;
}

/// Bytes that are locked in memory.
inline std::size_t locked_bytes() {
  char status[4096] = {};
  std::size_t n = 0;
  read_file("/proc/self/status", [&](char c) {
    if (n + 1 < sizeof status) status[n++] = c;
  });
  const char* const line = std::strstr(status, "VmLck:");
  return line == nullptr ? 0 : std::strtoull(line + 6, nullptr, 10) * 1024;
}

/// A file as text.
inline std::string text_of(const char* path) {
  std::string text;
  text.reserve(1 << 20);
  read_file(path, [&](char c) { text += c; });
  return text;
}

/// How many pages of a range are mapped, and how many of these are in memory.
struct pages {
  std::size_t mapped = 0;
  std::size_t resident = 0;
};
inline pages pages_in(const void* start, std::size_t bytes) {
  pages sum;
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  for (std::uintptr_t at = first; at < first + bytes; at += page_bytes()) {
    unsigned char in_memory = 0;
    if (mincore(reinterpret_cast<void*>(at), 1, &in_memory) != 0) continue;
    ++sum.mapped;
    sum.resident += in_memory & 1;
  }
  return sum;
}

/// What became of a child that runs the body: its result, or minus the signal that ended it.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would report and exit
    std::signal(SIGBUS, SIG_DFL);
    alarm(300);
    _exit(body());
  }
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// From now on these system calls fail in this process with the given error. Returns whether the system allowed that.
inline bool refuse_calls(std::initializer_list<long> calls, int error) {
  std::vector<sock_filter> program;
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const long call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

}  // namespace tarn::test

#endif  // TARN_TEST_POLICIES_STORE_PROCESSES_H_
