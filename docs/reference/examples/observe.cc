#include <cstdio>

#include "tarn/allocator/observe.h"
#include "tarn/allocator/pool.h"

int main() {
  tarn::pool<tarn::static_size<64>, tarn::named<"orders">> orders;
  tarn::observer watched = tarn::observe("/tmp/tarn_observe_example.sock");
  // In the program's own loop: when watched.descriptor() is readable.
  std::printf("%zu requests answered\n", watched.serve());
}
