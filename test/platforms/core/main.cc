#include "tarn/test/platforms/core/parts.h"

int main([[maybe_unused]] int count, [[maybe_unused]] char** arguments) {
  using namespace tarn::test;
  const part parts[] = {compositions_part, products_part, threads_part};
  return run_parts(parts, sizeof parts / sizeof *parts, count > 1 ? arguments[1] : "");
}
