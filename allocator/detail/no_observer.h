// In place of observe.h, where the target has no sockets with a path.
#ifndef TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_
#define TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

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

#endif  // TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_
