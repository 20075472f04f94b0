// What a rejected composition becomes: it has every member of a pool and does nothing, so that its one complaint stays the only
// error. Choosing it causes no error yet. The error comes where a pool of that type is instantiated, few steps from the user's
// line. Products choose it as a whole, or their own replacement (rejected_objects, rejected_body), so code that works on pools
// never gets one.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_REJECTED_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_REJECTED_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Whether a verdict differs from this mistake. A function, so that compilers add no note about the two numbers.
template <class Verdict>
constexpr bool differs(Verdict found, Verdict mistake) noexcept {
  return found != mistake;
}

/// \tparam Complaints  classes, one of which doesn't compile: its assertion is the sentence for the user
template <class... Complaints>
class rejected {
  static_assert(((sizeof(Complaints) != 0) && ...));

 public:
  using reservation = rejected;
  static constexpr bool refuses = false;

  constexpr explicit(false) rejected(const auto&...) noexcept {}

  void* allocate(const auto&...) noexcept { return nullptr; }
  void* try_allocate(const auto&...) noexcept { return nullptr; }
  void* allocate_or_null() noexcept { return nullptr; }
  void* allocate_within(const auto&...) noexcept { return nullptr; }
  void deallocate(const auto&...) noexcept {}
  std::size_t allocate_batch(span<void*>) noexcept { return 0; }
  std::size_t try_allocate_batch(span<void*>) noexcept { return 0; }
  std::size_t allocate_batch_within(const auto&, span<void*>) noexcept { return 0; }
  void deallocate_batch(span<void* const>) noexcept {}
  void* try_allocate_large(std::size_t, std::size_t) noexcept { return nullptr; }
  void deallocate_large(void*) noexcept {}
  void reserve(std::size_t) noexcept {}
  bool try_reserve(std::size_t) noexcept { return false; }
  rejected reserve_blocks(std::size_t) noexcept { return {}; }
  rejected try_reserve_blocks(std::size_t) noexcept { return {}; }
  constexpr explicit operator bool() const noexcept { return true; }
  std::size_t remaining() const noexcept { return 0; }
  void release() noexcept {}
  std::size_t trim() noexcept { return 0; }
  maintained maintain(const auto&...) noexcept { return maintained::done; }
  void hand_over() noexcept {}
  void note_site(const auto&...) noexcept {}
  std::size_t verify() noexcept { return 0; }
  bool owns(const void*) const noexcept { return false; }
  static constexpr std::size_t block_size() noexcept { return 1; }
  static constexpr std::size_t block_alignment() noexcept { return 1; }
  std::size_t capacity() const noexcept { return 0; }
  static constexpr std::size_t bytes_for(const auto&...) noexcept { return 1; }
  static constexpr std::size_t bytes_for_peak(const auto&...) noexcept { return 1; }
  static constexpr std::size_t blocks_in(const auto&...) noexcept { return 1; }
  int statistics() const noexcept { return 0; }
  const rejected& store() const noexcept { return *this; }
  int pages() const noexcept { return 0; }
  bool explain_fault(const auto&...) const noexcept { return false; }

 protected:
  void open() noexcept {}
  void close() noexcept {}
};

/// The rejected<...> that a pool is, found without instantiating it; void: none.
template <class Pool>
struct rejection_of : std::type_identity<void> {};
template <class... Complaints>
struct rejection_of<rejected<Complaints...>> : std::type_identity<rejected<Complaints...>> {};
template <class Pool>
inline constexpr bool is_rejected = !std::is_void_v<typename rejection_of<Pool>::type>;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_REJECTED_H_
