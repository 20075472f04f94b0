// The 24 kinds of misuse: what each does to a pool, and what a policy makes of it.
#ifndef TARN_TEST_MISUSE_KINDS_H_
#define TARN_TEST_MISUSE_KINDS_H_

#include <span>

#include "tarn/test/misuse/trial.h"

namespace tarn::test {

enum class answer : unsigned char {
  caught,          // reported, once
  missed,          // a known miss
  allowed,         // no misuse of such a pool: nothing is reported
  not_applicable,  // such a pool has no way to do it
};

struct kind {
  int row;           // 1 to 24
  const char* name;
  answer (*expected)(const traits&);
  void (*act)(trial&);
};

/// Rows that can be done in several ways stand there several times.
std::span<const kind> all_kinds();

}  // namespace tarn::test

#endif  // TARN_TEST_MISUSE_KINDS_H_
