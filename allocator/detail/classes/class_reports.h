// What the owner of the classes' pools reports itself, if a checking policy is named: calls that reach the pool of no class.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_REPORTS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_REPORTS_H_

#include <cstddef>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// A call that was refused.
struct refused_free {
  const void* block;
  std::size_t bytes = 0;  // 0: none were named
  std::size_t alignment = 0;  // likewise
};

struct class_owner {
  const void* pools = nullptr;
  const char* name = "";
  void (*report)(const misuse&) noexcept = report_misuse;
  bool has_ended = false;
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
  owner.report(what);
}

inline void report_leak(const class_owner& owner, memory large) noexcept {
  const void* const block = large.start;
  misuse what;
  what.kind = misuse_kind::leak;
  what.pool = owner.pools;
  what.pool_name = owner.name;
  what.block_size = large.bytes;
  what.leaked = 1;
  what.leaks = {&block, 1};
  owner.report(what);
}
/// Reports the large blocks in use, each by itself, since they differ in size. Returns how many. The classes report theirs.
template <class Large>
std::size_t report_leaks(const class_owner& owner, const Large& large) noexcept {
  std::size_t blocks = 0;
  for (memory at; (at = large.next_after(at.start)); ++blocks) report_leak(owner, at);
  return blocks;
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_REPORTS_H_
