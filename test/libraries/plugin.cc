// The library: loaded by dlopen(), or linked to the program.
#include "tarn/test/libraries/side.h"

namespace tarn::test {
namespace {
own_pools<3 * block_bytes> own;
}
}  // namespace tarn::test

extern "C" [[gnu::visibility("default")]] const tarn::test::side* plugin_side() {
  static constinit tarn::test::side mine{};
  mine = tarn::test::this_side();
  return &mine;
}
