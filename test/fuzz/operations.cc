// One pool of pools.h, which the first byte chooses, and operations on it.
#include <cstddef>
#include <cstdint>

#include "tarn/test/fuzz/input.h"
#include "tarn/test/fuzz/made_pool.h"
#include "tarn/test/fuzz/pool_driver.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tarn::test;
  input in(data, size);
  made_pool made;
  pools_of<as_it_is>::make(made, in);
  pool_driver pool(made);
  const bool takes_all = in.byte() % 4 == 0;
  while (!in.ended()) pool.step(in);
  if (takes_all) pool.take_all();
  pool.end();
  return 0;
}
