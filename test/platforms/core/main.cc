#include "tarn/test/platforms/core/parts.h"

int main([[maybe_unused]] int count, [[maybe_unused]] char** arguments) {
  using namespace tarn::test;
  const part parts[] = {compositions_part_0, compositions_part_1, compositions_part_2, compositions_part_3,
                        compositions_part_4, compositions_part_5, products_part,       threads_part};
  return run_parts(parts, sizeof parts / sizeof *parts, count > 1 ? arguments[1] : "");
}
