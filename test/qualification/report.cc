// The report of the qualification kit: a line for each case, which `run` turns into JUnit XML.
//
//   case mutex.exhaustion passed
//   case mutex.misuse failed
//   12 passed, 1 failed
#include "tarn/test/qualification/report.h"

#include <cstddef>

// Where text goes: on your target, a function of yours, such as one that writes to a serial port.
#ifdef TARN_KIT_BARE
extern "C" void tarn_test_write(const char* text, std::size_t bytes);
#else
#include <cstdio>
static void tarn_test_write(const char* text, std::size_t bytes) { std::fwrite(text, 1, bytes, stdout); }
#endif

namespace tarn::test {
namespace {
bool holds_all = true;  // in the case that runs

void say(const char* text) noexcept {
  std::size_t n = 0;
  while (text[n] != '\0') ++n;
  tarn_test_write(text, n);
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

}  // namespace

bool check_that(bool holds, const char* what, const char* file, int line) noexcept {
  if (holds) return true;
  holds_all = false;
  say(file);
  say(":");
  say(static_cast<unsigned long long>(line));
  say(": ");
  say(what);
  say("\n");
  return false;
}

int run_parts(const part* parts, std::size_t count) noexcept {
  unsigned long long passed = 0, failed = 0;
  for (const part* one = parts; one != parts + count; ++one)
    for (const entry* e = one->entries; e != one->entries + one->count; ++e) {
      holds_all = true;
      e->run();
      ++(holds_all ? passed : failed);
      say("case ");
      say(one->name);
      say(".");
      say(e->name);
      say(holds_all ? " passed\n" : " failed\n");
    }
  say(passed);
  say(" passed, ");
  say(failed);
  say(" failed\n");
  return failed == 0 && passed != 0 ? 0 : 1;
}

}  // namespace tarn::test
