// decides    a pool that can't get another chunk calls a handler, with no lock held. The handler may free blocks of the pool,
//            or memory of the program; as long as it returns true, the pool tries again
// costs      nothing until then
// conflicts  none; a static pool's handler must be a constant without a destructor
// use when   something can be given up to free memory: a cache, a reserve, the oldest entries
#ifndef TARN_POLICIES_EXHAUSTION_RETRY_WITH_H_
#define TARN_POLICIES_EXHAUSTION_RETRY_WITH_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/exhaustion/detail/no_second_store.h"
#include "tarn/policies/exhaustion/traits.h"
#include "tarn/policies/platform/cancellation.h"

namespace tarn {

/// \tparam Handler  bool handler(std::size_t bytes): whether the pool tries again to get a block of that many bytes; false: it
///                  gives up, as with report_exhaustion. It must return, and not throw. Several threads may call it at once. If
///                  the type has no default value, such as a pointer to a function, the pool copies the handler it is given;
///                  what that throws, the pool's constructor throws. A pool of many sizes makes a copy for each class when it
///                  is first needed: there, copying must not throw
template <class Handler>
class retry_with {
 public:
  using axis = tarn::axis::exhaustion;
  static constexpr bool arguments_hold = std::copy_constructible<Handler> && requires(Handler& handler, std::size_t bytes) {
    { handler(bytes) } -> std::convertible_to<bool>;
  };
  struct complaint {
    static_assert(
        arguments_hold,
        "tarn: [X2] retry_with was given a handler that can't be copied, or not be called with a number of bytes for a "
        "bool; write bool operator()(std::size_t bytes)");
  };
  static constexpr exhaustion_traits traits{};

  constexpr retry_with() noexcept
    requires(std::default_initializable<Handler> && !std::is_pointer_v<Handler>)
  = default;
  constexpr explicit retry_with(Handler handler) noexcept(std::is_nothrow_move_constructible_v<Handler>)
      : handler_(static_cast<Handler&&>(handler)) {}

  template <class Traits>
  class state : public detail::no_second_store {
   public:
    constexpr explicit state(const retry_with& policy) noexcept(std::is_nothrow_copy_constructible_v<Handler>)
        : handler_(policy.handler_) {}
    bool retry(std::size_t bytes) noexcept {
      const detail::uncancelled whole;
      return handler_(bytes);
    }

   private:
    Handler handler_;
  };

 private:
  Handler handler_{};
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_RETRY_WITH_H_
