// In place of observe.h and observing_thread.h, where the target has no sockets with a path, or no threads.
#ifndef TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_
#define TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_

#include <cstddef>

#include "tarn/policies/platform/standard.h"

#if !defined(TARN_HAS_LOCAL_SOCKETS)

namespace tarn {

class observer {
 public:
  int descriptor() const noexcept;
  std::size_t serve() noexcept;
};

template <class Path>
observer observe(const Path&) {
  static_assert(sizeof(Path) == 0,
                "tarn: [Y11] observe was called, but this target has no sockets with a path to answer at; write what "
                "to_json(snapshot()) returns where it can be read");
  return {};
}

}  // namespace tarn

#endif

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

#endif  // TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_
