// The state of a program that has one thread, for as long as one of these lives.
#ifndef TARN_BENCH_ALONE_H_
#define TARN_BENCH_ALONE_H_

#include <sys/single_threaded.h>

namespace tarn_bench {

/// tarn::thread_aware_mutex does nothing while glibc says that the process has one thread. main.cc ends that, since most
/// programs that lock have had a second thread; here it is said again. And it is true: that thread was joined.
class alone {
 public:
  alone() { __libc_single_threaded = 1; }
  ~alone() { __libc_single_threaded = 0; }
  alone(const alone&) = delete;
  alone& operator=(const alone&) = delete;
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_ALONE_H_
