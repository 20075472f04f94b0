#include "tarn/test/platforms/core/check.h"

#include <cstddef>

#if TARN_TEST_THREADS
#include "tarn/allocator/pool.h"
#endif
#if TARN_TEST_BARE
extern "C" void tarn_test_write(const char* text, std::size_t bytes);
#else
#include <cstdio>
#include <cstring>
#endif

namespace tarn::test {
namespace {

#if TARN_TEST_BARE
std::size_t length(const char* text) noexcept {
  std::size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}
#endif

bool contains(const char* text, const char* part) noexcept {
  for (; *text != '\0'; ++text) {
    std::size_t i = 0;
    while (part[i] != '\0' && text[i] == part[i]) ++i;
    if (part[i] == '\0') return true;
  }
  return false;
}

const char* running = "";
#if TARN_TEST_THREADS
constinit detail::atomic_word<unsigned> failures = 0;
unsigned seen_failures() noexcept { return failures.load(detail::memory_order_relaxed); }
void note_failure() noexcept { failures.fetch_add(1, detail::memory_order_relaxed); }
#else
unsigned failures = 0;
unsigned seen_failures() noexcept { return failures; }
void note_failure() noexcept { failures = failures + 1; }
#endif

}  // namespace

void say(const char* text) noexcept {
#if TARN_TEST_BARE
  tarn_test_write(text, length(text));
#else
  std::fwrite(text, 1, std::strlen(text), stdout);
#endif
}

void say(unsigned long long number) noexcept {
  char digits[24];
  char* at = digits + sizeof digits - 1;
  *at = '\0';
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  say(at);
}

bool check_that(bool holds, const char* what, const char* file, int line) noexcept {
  if (holds) return true;
  note_failure();
  say(file);
  say(":");
  say(static_cast<unsigned long long>(line));
  say(": ");
  say(running);
  say(": check failed: ");
  say(what);
  say("\n");
  return false;
}

static void say_part(const part& of, unsigned long long ran, unsigned long long absent) noexcept {
  say(of.name);
  say(": ");
  say(ran);
  say(" cases ran");
  if (absent != 0) {
    say(", ");
    say(absent);
    say(" don't exist here");
  }
  say("\n");
}

int run_parts(const part* parts, std::size_t count, const char* filter, teller tell) noexcept {
  unsigned long long passed = 0, failed = 0;
  for (const part* one = parts; one != parts + count; ++one) {
    unsigned long long ran = 0, absent = 0;
    for (const entry* e = one->entries; e != one->entries + one->count; ++e) {
      if (e->name == nullptr || !contains(e->name, filter)) continue;
      if (e->run == nullptr) {
        ++absent;
        continue;
      }
      running = e->name;
      const unsigned before = seen_failures();
      e->run();
      ++ran;
      const bool holds = seen_failures() == before;
      ++(holds ? passed : failed);
      if (tell != nullptr) tell(*one, *e, holds);
    }
    if (tell == nullptr) say_part(*one, ran, absent);
#if !TARN_TEST_BARE
    std::fflush(stdout);
#endif
  }
  say(passed);
  say(" passed, ");
  say(failed);
  say(" failed\n");
#if !TARN_TEST_BARE
  std::fflush(stdout);
#endif
  return failed != 0 || passed == 0 ? 1 : 0;
}

}  // namespace tarn::test
