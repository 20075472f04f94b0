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
  constexpr asked_in_use() noexcept : library_(std::is_constant_evaluated() ? &library_names : nullptr) {}

  /// From now on tell(who) is asked. Called often, with nothing held; only the first call does something, also after leave().
  /// A template, since what it instantiates has no place in a program that asks for nothing.
  template <class Teller>
  void enter(void* who, const char* name, Teller tell) noexcept {
    if (listed_.load(memory_order_relaxed) || listed_.exchange(true, memory_order_relaxed)) return;
    static_cast<void>(&forget_names<void>);  // instantiates it
    names_library* const library = library_ != nullptr ? library_ : &library_names;
    library->begin();
    named_pools().enter(who, name, tell, library);
  }
  void leave(const void* who) const noexcept {
    if (listed_.load(memory_order_relaxed)) named_pools().leave(who);
  }

 private:
  names_library* library_;  // of a static object: the library whose it is
  atomic_word<bool> listed_ = false;
};

struct never_asked_in_use {
  static void leave(const void*) noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_ASKED_IN_USE_H_
