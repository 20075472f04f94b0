// An arena as a memory resource of the standard library: for containers of std::pmr, whose memory is dropped at once.
//
//   tarn::pmr::arena_resource request;
//   std::pmr::vector<std::pmr::string> words(&request);
//   ...                                    // the containers end
//   request.reset();                       // the chunks stay for the next
//
// Over an arena that you have: pmr::resource_over<Arena&>.
#ifndef TARN_ALLOCATOR_ARENA_RESOURCE_H_
#define TARN_ALLOCATOR_ARENA_RESOURCE_H_

#include <cstddef>
#include <memory_resource>

#include "tarn/allocator/arena.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/policies/store/resource_store.h"

namespace tarn::pmr {

/// A memory resource with its own arena, instead of std::pmr::monotonic_buffer_resource. Its chunks come from an upstream
/// resource.
class arena_resource : public std::pmr::memory_resource {
  using its_arena = tarn::arena<resource_store>;

 public:
  /// Takes its chunks from the standard's default resource, or from `upstream`, which isn't null and must outlive it.
  arena_resource() noexcept : arena_resource(std::pmr::get_default_resource()) {}
  explicit arena_resource(std::pmr::memory_resource* upstream) noexcept
      : upstream_(upstream), arena_(resource_store(upstream)) {}
  arena_resource(const arena_resource&) = TARN_DELETED("tarn: [V13] an arena can't be copied or moved; take a reference");
  void operator=(const arena_resource&) = TARN_DELETED("tarn: [V13] an arena can't be copied or moved; take a reference");

  /// As of a basic_arena.
  void reset(std::size_t keep = detail::size_max) noexcept { arena_.reset(keep); }
  /// As of std::pmr::monotonic_buffer_resource.
  void release() noexcept { arena_.release(); }
  /// As of std::pmr::monotonic_buffer_resource.
  std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_; }
  /// Returns the arena.
  its_arena& arena() noexcept { return arena_; }

 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return arena_.allocate(bytes, alignment); }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    arena_.deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

 private:
  std::pmr::memory_resource* upstream_;
  its_arena arena_;
};

}  // namespace tarn::pmr

#endif  // TARN_ALLOCATOR_ARENA_RESOURCE_H_
