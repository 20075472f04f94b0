// A place among those that report_in_use() asks: a pool's, or that of blocks in use that lie in no pool.
#ifndef TARN_POLICIES_CHECKING_ASKED_IN_USE_H_
#define TARN_POLICIES_CHECKING_ASKED_IN_USE_H_

#include <type_traits>

#include "tarn/policies/checking/detail/pool_names.h"
#include "tarn/policies/checking/told_sites.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

class asked_in_use {
 public:
  /// \param has_end  its owner has a destructor, and calls leave(): it is then all zero
  constexpr explicit asked_in_use(bool has_end = false) noexcept
      : library_(std::is_constant_evaluated() && !has_end ? &library_names : nullptr) {}

  /// From now on tell(who) is asked. Called often, with nothing held; only the first call does something, also after leave().
  /// A template, since what it instantiates has no place in a program that asks for nothing.
  template <class Teller>
  void enter(void* who, const char* name, Teller tell) noexcept {
    void* nobody = nullptr;
    if (listed_.load(memory_order_relaxed) != nullptr ||
        !listed_.compare_exchange_strong(nobody, who, memory_order_relaxed))
      return;
    static_cast<void>(&forget_names<void>);  // instantiates it
    names_library* const library = library_ != nullptr ? library_ : &library_names;
    library->begin();
    named_pools().enter(who, name, tell, library);
  }
  void leave() const noexcept {
    if (void* const who = listed_.load(memory_order_relaxed)) named_pools().leave(who);
  }

 private:
  names_library* library_;  // of a static object without an end: the library whose it is
  atomic_word<void*> listed_ = nullptr;
};

struct never_asked_in_use {
  constexpr explicit never_asked_in_use(bool = false) noexcept {}
  static void leave() noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_ASKED_IN_USE_H_
