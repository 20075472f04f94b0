// A pool that threads of the process ask something: what it keeps for the list of those (asked_list.h).
#ifndef TARN_POLICIES_DETAIL_ASKED_MEMBER_H_
#define TARN_POLICIES_DETAIL_ASKED_MEMBER_H_

#include <type_traits>

#include "tarn/policies/detail/ranked_list.h"
#include "tarn/policies/platform/atomic_word.h"

namespace tarn::detail {

template <class Member>
class asked_list;

/// A library with pools in a list. They are removed when it ends, and none enters after that.
struct asked_library {
  enum class phase { before_any, some, over };
  atomic_word<phase> now = phase::before_any;
  void (*const at_first)() noexcept;  // the library's own function, whichever library calls

  /// Returns whether pools may still enter.
  bool begin() noexcept {
    phase before = phase::before_any;
    if (now.compare_exchange_strong(before, phase::some, memory_order_relaxed)) at_first();
    return before != phase::over;
  }
};

/// Constant-initialised, without a destructor, so that static pools have none: an owner that ends before the process leaves.
/// \tparam Member  derived from this
template <class Member>
class asked_member {
 public:
  asked_member(const asked_member&) = delete;
  asked_member& operator=(const asked_member&) = delete;

 protected:
  /// \param library  a static object without an end ends with it
  /// \param has_end  its owner has a destructor, and calls leave(): it is then all zero
  constexpr explicit asked_member(asked_library& library, bool has_end = false) noexcept
      : is_static_(std::is_constant_evaluated() && !has_end), library_(is_static_ ? &library : nullptr) {}

  bool has_entered() const noexcept { return entered_.load(memory_order_acquire); }
  /// Returns whether the member may enter the list now. \param own  of the code that enters it
  bool begins(asked_library& own) noexcept {
    asked_library* library = nullptr;
    if (library_.compare_exchange_strong(library, &own, memory_order_relaxed)) library = &own;
    if (library->begin()) return true;
    forget_library();
    return false;
  }

 private:
  friend class asked_list<Member>;
  friend class ranked_list<Member>;
  /// Its library has ended. A static object ends with it; any other may continue, in code of another library.
  void forget_library() noexcept {
    if (!is_static_) library_.store(nullptr, memory_order_relaxed);
  }

  const bool is_static_;
  atomic_word<bool> entered_ = false;
  atomic_word<asked_library*> library_;  // at whose end it leaves: a static object's own, or that of the code that entered it
  // The rest belongs to the list.
  int asked_by_ = 0;  // threads that are asking it now: it stays until they are done
  int paused_ = 0;    // how often it was paused and not resumed
  ranked<Member> links;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_ASKED_MEMBER_H_
