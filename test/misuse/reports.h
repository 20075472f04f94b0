// What a test sees of a report: the handler's argument, kept; and what a child wrote before it died.
#ifndef TARN_TEST_MISUSE_REPORTS_H_
#define TARN_TEST_MISUSE_REPORTS_H_

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tarn/policies/checking/misuse.h"

namespace tarn::test {

struct report {
  misuse what;  // whose pointers may be stale, but for addresses
  std::string pool_name;
  std::string other_name;
  std::vector<const void*> leaks;
  std::string text;
};

inline std::string text_of(const misuse& what) {
  char text[1024];
  to_text(what, text, sizeof text);
  return text;
}

/// Keeps every report of one thread at a time, while it lives; the call that was reported goes on.
class recorder {
 public:
  recorder() : before_(set_misuse_handler(record)) { seen().clear(); }
  ~recorder() { set_misuse_handler(before_); }
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  static std::vector<report>& seen() {
    static std::vector<report> reports;
    return reports;
  }

 private:
  static void record(const misuse& what) noexcept {
    seen().push_back({what, what.pool_name, what.other_name, {what.leaks.begin(), what.leaks.end()}, text_of(what)});
  }
  misuse_handler before_;
};

/// Compilers that know where a pointer comes from would warn of what is done with it here.
inline void* hidden(void* block) noexcept {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

/// How a child ended, and what it wrote to its standard error output.
struct ending {
  int status = 0;  // its result, or minus the signal
  std::string words;

  /// Lines that tarn wrote.
  std::size_t reports() const {
    std::size_t n = 0;
    for (std::size_t at = words.find("tarn: "); at != std::string::npos; at = words.find("tarn: ", at + 1)) ++n;
    return n;
  }
  /// Whether it wrote one line and nothing else.
  bool wrote_one_line() const { return !words.empty() && words.find('\n') == words.size() - 1; }
};

/// \param body  returns the child's result
template <class Body>
ending in_child(Body body) {
  int ends[2];
  if (pipe(ends) != 0) return {-1, "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    close(STDOUT_FILENO);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGXCPU}) std::signal(signal, SIG_DFL);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const rlimit circles{2, 600};  // seconds of the processor: what isn't checked may run in circles
    setrlimit(RLIMIT_CPU, &circles);
    alarm(300);  // or wait for ever
    _exit(body());
  }
  close(ends[1]);
  ending seen;
  char some[4096];
  for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;) seen.words.append(some, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  seen.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return seen;
}

}  // namespace tarn::test

#endif  // TARN_TEST_MISUSE_REPORTS_H_
