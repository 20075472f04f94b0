// What must be found out: code without a bound, and marks that aren't true.
#if defined(WITH_MARKS)
#include "tarn/policies/platform/config.h"
#else
#define TARN_AT_MOST(...) static_cast<void>(0)
#define TARN_NOT_IF(name) static_cast<void>(0)
#define TARN_ROUNDS(name, ...) static_cast<void>(0)
#define TARN_ROUND(name, ...) static_cast<void>(0)
#define TARN_CHOICE(name) static_cast<void>(0)
#define TARN_CHOSEN(name) static_cast<void>(0)
#endif
#define CONTROL extern "C" [[gnu::noinline, gnu::used]]

volatile int sink;
int (*volatile other)(int);

CONTROL int no_mark(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += sink;
  return sum;
}
CONTROL int indirect(int n) { return other(n) + 1; }
CONTROL int recursive(int n) { return n < 2 ? 1 : sink + recursive(n - 1) + recursive(n - 2); }
CONTROL int table(int n) {
  switch (n) {
    case 0:
      return sink + 3;
    case 1:
      sink = 7;
      return sink;
    case 2:
      return sink * sink;
    case 3:
      sink = sink + 1;
      return 9;
    case 4:
      return sink ^ 0x55;
    case 5:
      sink = 3;
      return 4;
    case 6:
      return sink - 11;
    case 7:
      sink = sink * 3;
      return 1;
    default:
      return 0;
  }
}
CONTROL int two_loops(int n) {  // the mark is the inner one's
  int sum = 0;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < sink; ++k) {
      TARN_AT_MOST(4);
      sum += sink;
    }
  return sum;
}
CONTROL int sometimes_marked(int n) {  // and each round passes the inner loop
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if ((sink & 1) != 0) {
      TARN_AT_MOST(4);
      sum -= sink;
    }
    int k = 0;
    do {
      TARN_AT_MOST(3);
      sum += sink;
    } while (++k < 3);
  }
  return sum;
}
CONTROL int sized(int n) {
  volatile char* const bytes = static_cast<char*>(__builtin_alloca(static_cast<unsigned>(n)));
  bytes[0] = 1;
  return sink + bytes[0];
}
CONTROL int ungranted(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    TARN_ROUND(nobody_grants, 1);
    sum += sink;
  }
  return sum;
}

// With facts: of the inner line, and that log is never called, which log_more isn't.
CONTROL int around(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum -= sink;
    for (int k = 0; k < sink; ++k) {
      sum += sink;  // the inner line
    }
  }
  return sum;
}
CONTROL void log(int n) { sink = n; }
CONTROL void log_more(int n) { sink = n + sink; }
CONTROL int logs(int n) {
  if (n == 8) log_more(n);
  else log(n);
  return sink;
}
CONTROL int aligned(int n) {
  alignas(64) int volatile values[4];
  values[0] = n;
  log(n);
  return values[0];
}

// These have a bound, and it isn't true for what check_bounds.py calls them with.
CONTROL int right_mark(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    TARN_AT_MOST(8);
    sum += sink;
  }
  return sum;
}
CONTROL int wrong_mark(int n) {  // too low, and the bound is above what is found: a dearer way is never taken
  int sum = 0;
  if (n > 1000) {
#define TEN sum += sink, sum += sink, sum += sink, sum += sink, sum += sink, sum += sink, sum += sink, sum += sink, sum += sink
    TEN, TEN, TEN, TEN;
  }
  for (int i = 0; i < n; ++i) {
    TARN_AT_MOST(3);
    sum += sink;
  }
  return sum;
}
CONTROL int wrong_not_if(int n) {
  if (n > 3) {
    TARN_NOT_IF(small);
    for (int i = 0; i < n; ++i) {
      TARN_AT_MOST(8);
      sink = sink + i;
    }
  }
  return sink;
}
CONTROL int wrong_rounds(int n) {
  int sum = 0;
  TARN_ROUNDS(few, 2);
  for (int i = 0; i < n; ++i) {
    TARN_ROUND(few, 1);
    sum += sink;
  }
  return sum;
}
CONTROL int wrong_choice(int n) {
  TARN_CHOICE(way);
  if (n > 3) {
    TARN_CHOSEN(way);
    sink = sink + 1;
  }
  if (n > 2) {
    TARN_CHOSEN(way);
    sink = sink + 2;
  }
  return sink;
}
int main() {}
