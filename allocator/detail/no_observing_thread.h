// In place of observing_thread.h, where the target has no threads, or no sockets with a path.
#ifndef TARN_ALLOCATOR_DETAIL_NO_OBSERVING_THREAD_H_
#define TARN_ALLOCATOR_DETAIL_NO_OBSERVING_THREAD_H_

#include <cstddef>

namespace tarn {

class observing_thread {
 public:
  template <class... Path>
  explicit observing_thread(const Path&...) {
    static_assert(sizeof...(Path) > 1,
                  "tarn: [Y12] observing_thread was named, but this target has no std::thread to run it, or no sockets with a "
                  "path to answer at; call serve() of an observer in between");
  }
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_DETAIL_NO_OBSERVING_THREAD_H_
