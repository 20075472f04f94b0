// What the owner of the classes' pools reports itself, if a checking policy is named: calls that reach the pool of no class.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_REPORTS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_REPORTS_H_

#include <cstddef>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// A call that was refused.
struct refused_free {
  const void* block;
  std::size_t bytes = 0;  // 0: none were named
  std::size_t alignment = 0;  // likewise
};

struct class_owner {
  const void* pools;
  const char* name;
  bool has_ended;
};

/// No block of that size starts there. `class_size` is the size of the blocks among which the address lies, or 0.
template <class Large>
TARN_COLD void report_refused(const class_owner& owner, const refused_free& call, const Large& large,
                              std::size_t class_size) noexcept {
  misuse what;
  what.pool = owner.pools;
  what.pool_name = owner.name;
  what.address = call.block;
  what.size = call.bytes;
  what.alignment = call.alignment;
  what.block = large.around(call.block);
  what.block_size = what.block != nullptr ? large.usable_size(what.block) : class_size;
  what.kind = owner.has_ended                                     ? misuse_kind::ended_pool
              : what.block_size == 0                              ? misuse_kind::foreign_pointer
              : what.block != nullptr && what.block != call.block ? misuse_kind::interior_pointer
                                                                  : misuse_kind::wrong_size;
  report_misuse(what);
}

/// Each by itself, since they differ in size. The classes report theirs.
template <class Large>
void report_leaks(const class_owner& owner, const Large& large) noexcept {
  large.each([&owner](const void* block, std::size_t bytes) {
    misuse what;
    what.kind = misuse_kind::leak;
    what.pool = owner.pools;
    what.pool_name = owner.name;
    what.block_size = bytes;
    what.leaked = 1;
    what.leaks = {&block, 1};
    report_misuse(what);
  });
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_REPORTS_H_
