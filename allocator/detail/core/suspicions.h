// Errors that a list came across, kept until its caller can deal with them: an invalid link in a free block, and an address
// that left a front and is no block. Empty if no checking policy asks.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_SUSPICIONS_H_
#define TARN_ALLOCATOR_DETAIL_CORE_SUSPICIONS_H_

#include <type_traits>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// For lists that encode their links.
class invalid_link {
 public:
  /// A link read from a free block is invalid. Kept until trust_again().
  void distrust(const void* address) noexcept { address_ = address; }
  const void* distrusted() const noexcept { return address_; }
  void trust_again() noexcept { address_ = nullptr; }

 private:
  const void* address_ = nullptr;
};

/// For the reuse policy that checks what leaves its front.
class wrong_leaver {
 public:
  /// The address is no block, or is free already.
  void leaves_wrong(const void* address, misuse_kind kind) noexcept {
    address_ = address;
    kind_ = kind;
  }
  /// Takes the last one since the previous call. Returns whether there was one.
  bool take_left_wrong(pending_report& one) noexcept {
    const void* const address = replace(address_, nullptr);
    if (address != nullptr) one.note(kind_, address);
    return address != nullptr;
  }

 private:
  const void* address_ = nullptr;
  misuse_kind kind_ = {};
};

struct nothing_invalid {};
struct nothing_wrong {};

template <class Traits>
class suspicions : public std::conditional_t<Traits::hides_links, invalid_link, nothing_invalid>,
                   public std::conditional_t<Traits::checks_leaving, wrong_leaver, nothing_wrong> {};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_SUSPICIONS_H_
