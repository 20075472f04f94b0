// The columns that have blocks of any size: classes with `take(bytes, alignment)`, `give(block, bytes, alignment)` and a name.
#ifndef TARN_BENCH_SIZED_COLUMNS_H_
#define TARN_BENCH_SIZED_COLUMNS_H_

#include <cstddef>
#include <cstdlib>
#include <memory_resource>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/bench/heap.h"
#include "tarn/bench/trace.h"

namespace tarn_bench {

/// malloc's functions have two more: resize() and zeroed().
struct heap_of_sizes {
  static inline const char* const name = name_of_malloc();
  void* take(std::size_t bytes, std::size_t alignment = usual_alignment) {
    return alignment <= usual_alignment ? std::malloc(bytes) : ::memalign(alignment, bytes);
  }
  void give(void* block, std::size_t, std::size_t = usual_alignment) { std::free(block); }
  void* resize(void* block, std::size_t bytes) { return std::realloc(block, bytes); }
  void* zeroed(std::size_t bytes) { return std::calloc(1, bytes); }
};
struct tarn_xmalloc {
  static constexpr const char* name = "tarn_xmalloc";
  void* take(std::size_t bytes, std::size_t alignment = usual_alignment) {
    return alignment <= usual_alignment ? tarn::xmalloc(bytes) : tarn::xaligned_alloc(alignment, bytes);
  }
  void give(void* block, std::size_t, std::size_t = usual_alignment) { tarn::xfree(block); }
  void* resize(void* block, std::size_t bytes) { return tarn::xrealloc(block, bytes); }
  void* zeroed(std::size_t bytes) { return tarn::xcalloc(1, bytes); }
};

template <class... Policies>
class owned_classes {
 public:
  void* take(std::size_t bytes, std::size_t alignment = usual_alignment) { return blocks_.allocate(bytes, alignment); }
  void give(void* block, std::size_t bytes, std::size_t alignment = usual_alignment) {
    blocks_.deallocate(block, bytes, alignment);
  }

 private:
  tarn::size_class_pool<Policies...> blocks_;
};
struct tarn_classes : owned_classes<> {
  static constexpr const char* name = "tarn_classes";
};
struct tarn_classes_cached : owned_classes<tarn::thread_cached<>> {
  static constexpr const char* name = "tarn_classes_cached";
};

/// Behind a pointer, as programs have it: the compiler doesn't know what that points to.
template <class Resource>
class owned_resource {
 public:
  owned_resource() { asm("" : "+r"(pointer_)); }
  void* take(std::size_t bytes, std::size_t alignment = usual_alignment) { return pointer_->allocate(bytes, alignment); }
  void give(void* block, std::size_t bytes, std::size_t alignment = usual_alignment) {
    pointer_->deallocate(block, bytes, alignment);
  }

 private:
  Resource resource_;
  std::pmr::memory_resource* pointer_ = &resource_;
};
struct std_unsync : owned_resource<std::pmr::unsynchronized_pool_resource> {
  static constexpr const char* name = "pmr_unsync";
};
struct std_sync : owned_resource<std::pmr::synchronized_pool_resource> {
  static constexpr const char* name = "pmr_sync";
};
struct tarn_unsync : owned_resource<tarn::pmr::unsynchronized_pool_resource> {
  static constexpr const char* name = "tarn_pmr";
};
struct tarn_sync : owned_resource<tarn::pmr::synchronized_pool_resource> {
  static constexpr const char* name = "tarn_pmr_sync";
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_SIZED_COLUMNS_H_
