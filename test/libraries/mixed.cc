// Compiled twice, once without exceptions: the linker takes either's copy of what both use.
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory_resource>
#include <new>

#include "tarn/allocator/pool.h"
#include "tarn/policies/locking.h"

namespace tarn::test {

struct refusing : std::pmr::memory_resource {
  void* do_allocate(std::size_t, std::size_t) override { return nullptr; }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};
using bounded = pool<static_size<64>, static_array_store<4>, mutex_locking<>, checked>;
using refused = pool<static_size<64>, resource_store>;

/// Whether all blocks could be had and freed.
bool use_without_exceptions(bounded& few, refused& none);

#if defined(__cpp_exceptions)
template <class Pool>
bool throws(Pool& pool) {
  try {
    static_cast<void>(pool.allocate() == nullptr);
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}
#else
bool use_without_exceptions(bounded& few, refused& none) {
  std::array<void*, 4> blocks;
  for (void*& block : blocks) block = few.try_allocate();
  const bool right = blocks[3] != nullptr && few.try_allocate() == nullptr && none.try_allocate() == nullptr;
  for (void* block : blocks) few.deallocate(block);
  return right;
}
#endif

}  // namespace tarn::test

#if defined(__cpp_exceptions)
int main() {
  using namespace tarn::test;
  bounded few;
  refusing resource;
  refused none{tarn::resource_store{&resource}};
  if (!use_without_exceptions(few, none)) return 1;
  for (int i = 0; i != 4; ++i)
    if (few.allocate() == nullptr) return 2;
  if (!throws(few) || !throws(none) || few.try_allocate() != nullptr) return 3;
  tarn::set_misuse_handler([](const tarn::misuse&) noexcept {});  // four are in use
  std::puts("done");
}
#endif
