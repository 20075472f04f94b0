// Axis exhaustion: what happens when the pool gets no further chunk.
#ifndef TARN_POLICIES_EXHAUSTION_H_
#define TARN_POLICIES_EXHAUSTION_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/store.h"

// The second store of an exhaustion policy that has none: it refuses.

namespace tarn::detail {

struct no_second_store {
  constexpr chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {}; }
  constexpr memory acquire(std::size_t, std::size_t) noexcept { return {}; }
  constexpr void release(memory, std::size_t) noexcept {}
};

}  // namespace tarn::detail

namespace tarn {

/// What an exhaustion policy declares about itself.
struct exhaustion_traits {
  std::size_t extra_chunks = 0;             // the most chunks from the policy's own second store
  bool store_is_sized_by_geometry = false;  // that store's region is computed when the pool is compiled
  bool store_is_bounded = false;            // that store has only one region
  bool retries = true;                      // retry() may ask the pool to try again; false: an allocation that finds nothing
                                            // fails at once
  bool has_end = false;                     // end(): called when the pool ends
  bool keeps_attempt = false;               // a type `attempt`: state for one allocation, which retry() is given
  bool tells_later = false;                 // tell(): called after that store was asked, at the end of the operation, with
                                            // nothing held
  bool hears_frees = false;                 // freed(blocks): that many blocks were freed, and can be had
  bool waits = false;                       // line(): the threads that wait for a block; nanoseconds(): how long a call waits
  bool hears_asks = false;                  // asked(): another pool asked this one to trim, which it does next
  bool reclaims = false;  // member(): through which other pools ask this one. retry() is called only after the store refused

  /// Whether it needs a locking policy under which a freed block is there for every thread.
  constexpr bool needs_frees() const noexcept { return hears_frees || waits; }
  /// Whether there is a second store.
  constexpr bool has_second() const noexcept { return extra_chunks != 0; }
};

// decides    a pool that can't get another chunk reports it: allocate() throws std::bad_alloc, try_allocate() returns null
// costs      nothing
// conflicts  none
// use when   the caller knows best what to do (the default)
struct report_exhaustion {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits{.retries = false};

  template <class Traits>
  struct state : detail::no_second_store {
    constexpr explicit state(const report_exhaustion&) noexcept {}
    constexpr bool retry(std::size_t) noexcept { return false; }
  };
};

// decides    a pool that can't get another chunk calls a handler, with no lock held. The handler may free blocks of the pool,
//            or memory of the program; as long as it returns true, the pool tries again
// costs      nothing until then
// conflicts  none; a static pool's handler must be a constant without a destructor
// use when   something can be given up to free memory: a cache, a reserve, the oldest entries
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

namespace detail {
template <class State>
concept retries_with_attempt = requires(State& state, std::size_t bytes, typename State::attempt& one) {
  { state.retry(bytes, one) } noexcept -> std::same_as<bool>;
};

class waiting_line;  // wait_for_block.h

template <class P, class Traits>
concept exhaustion_members =
    requires(typename P::template state<Traits>& state, memory region, std::size_t n) {
      { state.next_chunk(n, n, n) } noexcept -> std::same_as<chunk_request>;
      { state.acquire(n, n) } noexcept -> std::same_as<memory>;
      { state.release(region, n) } noexcept -> std::same_as<void>;
    } &&
    as_promised<!P::traits.keeps_attempt,
                requires(typename P::template state<Traits>& state, std::size_t bytes) {
                  { state.retry(bytes) } noexcept -> std::same_as<bool>;
                }> &&
    as_promised<P::traits.keeps_attempt, retries_with_attempt<typename P::template state<Traits>>> &&
    as_promised<P::traits.hears_frees, requires(typename P::template state<Traits>& state, std::size_t blocks) {
      { state.freed(blocks) } noexcept -> std::same_as<void>;
    }> && as_promised<P::traits.waits, requires(typename P::template state<Traits>& state) {
      { state.line() } noexcept -> std::same_as<waiting_line&>;
      { state.nanoseconds() } noexcept -> std::same_as<std::uint64_t>;
    }> && as_promised<P::traits.reclaims, requires(typename P::template state<Traits>& state) {
      { state.member() } noexcept -> std::same_as<reclaim_member&>;
    }> && as_promised<P::traits.hears_asks, requires(typename P::template state<Traits>& state) {
      { state.asked() } noexcept -> std::same_as<void>;
    }> && as_promised<P::traits.has_end, requires(typename P::template state<Traits>& state) {
      { state.end() } noexcept -> std::same_as<void>;
    }> && as_promised<P::traits.tells_later, requires(typename P::template state<Traits>& state) {
      { state.tell() } noexcept -> std::same_as<void>;
    }> && std::constructible_from<typename P::template state<Traits>, const P&>;

/// Whether the second store of an exhaustion policy that has one, `second_store`, has what a store needs.
template <class P, class Traits>
inline constexpr bool second_store_holds = true;
template <class P, class Traits>
  requires requires { typename P::second_store; }
inline constexpr bool second_store_holds<P, Traits> = serving_store<typename P::second_store, Traits>;
}  // namespace detail

/// Everything that the pool uses of an exhaustion policy besides its traits.
/// The machinery is `state<Traits>`, made from the policy.
///   retry(bytes)                    called with nothing held. True: try again; false: give up. `bytes`: the size of a block.
///                                   Functions named try_… call it as well, so it must not wait for another thread.
///                                   Alternatively retry(bytes, attempt), where the type `attempt` keeps state for one
///                                   allocation
///   freed(blocks)                   if `hears_frees` is true: that many blocks were freed, and can be had
///   line(), nanoseconds()           if `waits` is true: the threads that wait for a block, and how long a call without a
///                                   time waits
///   member()                        if `reclaims` is true: through which other pools ask this one. retry() is then called only
///                                   after the store refused, not growth
///   asked()                         if `hears_asks` is true: another pool asked this one to trim, which it does next
///   tell()                          if `tells_later` is true: called after that store was asked, with nothing held
///   next_chunk, acquire, release    the second growth and store, called under the growth guard like the first
///   second_store                    optional: the store policy behind these, whose members are then asked for, too
template <class P>
concept exhaustion_policy = policy_on<P, axis::exhaustion> && detail::says<P, exhaustion_traits> && requires {
  typename detail::template_name<P::template state>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_H_
