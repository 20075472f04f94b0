// Axis exhaustion: what happens when the pool gets no further chunk. Here: all its policies and the line of waiting threads.
#ifndef TARN_POLICIES_EXHAUSTION_H_
#define TARN_POLICIES_EXHAUSTION_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/store.h"

namespace tarn {

/// What an exhaustion policy declares about itself.
struct exhaustion_traits {
  std::size_t extra_chunks = 0;             // the most chunks from the policy's own second store
  bool store_is_sized_by_geometry = false;  // that store's region is computed when the pool is compiled
  bool store_is_bounded = false;            // that store has only one region
  bool retries = true;                      // retry() may ask the pool to try again; false: an allocation that finds nothing
                                            // fails at once
  bool has_end = false;                     // end(): called when the pool is destroyed
  bool keeps_attempt = false;               // a type `attempt`: state for one allocation, which retry() is given
  bool tells_later = false;                 // tell(): called after that store was asked, at the end of the operation, with
                                            // nothing held
  bool hears_frees = false;                 // freed(blocks): that many blocks were freed, and are available
  bool waits = false;                       // line(): the threads that wait for a block; nanoseconds(): how long a call waits
  bool hears_asks = false;                  // asked(): another pool asked this one to trim, which it does next
  bool reclaims = false;  // member(): through which other pools ask this one. retry() is called only after the store refused

  /// Whether it needs a locking policy under which every thread can get a freed block.
  constexpr bool needs_frees() const noexcept { return hears_frees || waits; }
  /// Whether there is a second store.
  constexpr bool has_second() const noexcept { return extra_chunks != 0; }
};

namespace detail {
/// The second store of an exhaustion policy that has none: it refuses.
struct no_second_store {
  constexpr chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {}; }
  constexpr memory acquire(std::size_t, std::size_t) noexcept { return {}; }
  constexpr void release(memory, std::size_t) noexcept {}
};
}  // namespace detail

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
// use when   something can be discarded to free memory: a cache, a reserve, the oldest entries
/// \tparam Handler  bool handler(std::size_t bytes): whether the pool tries again to get a block of that many bytes; false: it
///                  gives up, as with report_exhaustion. It must return, and not throw. Several threads may call it at the same
///                  time. If the type has no default value, such as a pointer to a function, the pool copies the handler it is
///                  given; what that throws, the pool's constructor throws. A pool of many sizes copies it for each class when
///                  the class is first used, and such a copy must not throw
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
        "tarn: [X2] retry_with was given a handler that can't be copied, or that doesn't return bool when it is called with a "
        "number of bytes; write bool operator()(std::size_t bytes)");
  };
  static constexpr exhaustion_traits traits{};

  constexpr retry_with() noexcept
    requires(std::default_initializable<Handler> && !std::is_pointer_v<Handler>)
  = default;
  /// With this handler. Throws: what moving it throws.
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

// decides    if the store refuses, the pool asks all pools with this policy to trim, and tries again; they may ask this one as
//            well
// costs      nothing until then; 72 bytes in the pool, and a mutex at its first chunk
// conflicts  bounded stores, because no other pool's memory can go to them; recycling_pool. A pool without a lock is asked only
//            by the thread that last called its store, so it must not be handed to another thread while that one continues to
//            use other pools
// use when   several pools share scarce memory, and each peaks at a different time
/// The pools are asked with no lock held, without waiting for them, one priority after the other, until the store no longer
/// refuses.
/// \tparam Priority  pools with a lower one are asked first
template <int Priority = 0>
struct reclaim_and_retry {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits{.keeps_attempt = true, .reclaims = true};

  template <class Traits>
  class state : public detail::no_second_store {
   public:
    constexpr explicit state(const reclaim_and_retry&) noexcept : member_(Priority) {}

    using attempt = detail::reclaim_round;
    bool retry(std::size_t, attempt& round) noexcept {
      while (!round.ended)
        if (detail::pools_of_process().trim_next(round) != 0) {
          round.met_busy = false;
          return true;
        }
      // A pool that was busy may have returned something by now.
      const bool again = round.met_busy;
      round.met_busy = false;
      return again;
    }

    /// Through which other pools ask this one.
    detail::reclaim_member& member() noexcept { return member_; }

   private:
    detail::reclaim_member member_;
  };
};

namespace detail {
template <class Store>
concept has_one_chunk = policy_on<Store, axis::store> && Store::traits.bounded;
template <class Store>
using growth_for = std::conditional_t<has_one_chunk<Store>, no_growth<>, geometric_growth<>>;

/// A second store, and its tell() if it has one. Not a requirement for tell(), because g++ 12 takes that for satisfied after
/// another error.
template <class Source, bool Tells>
class told_source {
 protected:
  constexpr explicit told_source(const auto& store) noexcept : source_(store) {}
  TARN_NO_UNIQUE_ADDRESS Source source_;
};
template <class Source>
class told_source<Source, true> {
 public:
  void tell() noexcept { source_.tell(); }

 protected:
  constexpr explicit told_source(const auto& store) noexcept : source_(store) {}
  Source source_;
};
}  // namespace detail

// decides    a pool whose store gives no further chunk, or whose growth policy wants none, continues with chunks from another
//            store
// costs      nothing until then; each chunk records the store it goes back to
// conflicts  none
// use when   the preferred memory is small (an array inside the pool, huge pages, fast memory), and nothing may fail
/// \tparam Store   where further chunks come from and go back to
/// \tparam Growth  how large they are, and how many blocks they may hold; the pool's own growth policy doesn't apply to them
template <class Store, class Growth = detail::growth_for<Store>>
class fall_back_to {
  struct unknown_store {};
  using known_store = std::conditional_t<detail::defined<Store>, Store, unknown_store>;

 public:
  using axis = tarn::axis::exhaustion;
  using second_store = known_store;
  using second_growth = Growth;
  static constexpr bool arguments_hold =
      detail::defined<Store> && policy_on<Store, tarn::axis::store> && policy_on<Growth, tarn::axis::growth>;
  struct complaint : detail::home<Store> {
    static_assert(
        arguments_hold || !detail::defined<Store>,
        "tarn: [X3] fall_back_to was given something that isn't a store, or isn't a growth policy; write "
        "fall_back_to<heap_store> or fall_back_to<heap_store, fixed_growth<Blocks>>");
  };
  static constexpr exhaustion_traits traits = [] {
    exhaustion_traits t{.extra_chunks = 1, .has_end = true};
    if constexpr (arguments_hold && detail::says<Store, store_traits>) {
      t.store_is_bounded = Store::traits.bounded;
      t.store_is_sized_by_geometry = Store::traits.sized_by_geometry;
      t.extra_chunks = Growth::traits.max_chunks;
      t.tells_later = Store::traits.tells_later;
    }
    return t;
  }();

  constexpr fall_back_to() noexcept
    requires std::default_initializable<known_store>
  = default;
  /// With this store, and this growth policy of its chunks.
  constexpr explicit fall_back_to(const Store& store, const Growth& growth = {}) noexcept : store_(store), growth_(growth) {}

  template <class Traits>
  class state : public detail::told_source<typename Store::template source<Traits>, traits.tells_later> {
    using told = detail::told_source<typename Store::template source<Traits>, traits.tells_later>;
    using told::source_;

   public:
    constexpr explicit state(const fall_back_to& policy) noexcept : told(policy.store_), growth_(policy.growth_) {}
    constexpr bool retry(std::size_t) noexcept { return false; }
    constexpr detail::chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) const noexcept {
      return growth_.next_chunk(last, total, stride);
    }
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept { return source_.acquire(bytes, alignment); }
    void release(detail::memory region, std::size_t alignment) noexcept { source_.release(region, alignment); }
    /// See static_array_store.
    template <class Values>
    constexpr void lie_beside(const Values& values) noexcept {
      if constexpr (requires { source_.template lie_beside<2>(values); }) source_.template lie_beside<2>(values);
    }
    void end() noexcept {
      if constexpr (Store::traits.has_end) source_.end();
    }

   private:
    TARN_NO_UNIQUE_ADDRESS Growth growth_;
  };

 private:
  TARN_NO_UNIQUE_ADDRESS known_store store_{};
  TARN_NO_UNIQUE_ADDRESS Growth growth_{};
};

namespace detail {
// Threads that wait for blocks, first come, first served: a freed block goes to the first of them, and not into the list, from
// which a thread that came later would take it.
//
//   join     [guard: the last of the line]
//   give     [guard: a block to the first; it leaves the line once it has all]      after it: it is woken
//   leave    [guard: the time is over]
//
// [guard: …] under the pool's own guard, which synchronises the thread that frees a block with the one that waits.

/// One that waits. It is on that thread's stack, and must not be destroyed before is_served() is true or leave() returned true.
class waiting_thread {
 public:
  /// \param out  where its blocks are stored: it waits for all of them
  explicit waiting_thread(span<void*> out) noexcept : out_(out) {}
  waiting_thread(const waiting_thread&) = delete;
  waiting_thread& operator=(const waiting_thread&) = delete;

  bool is_served() const noexcept { return served_.load(memory_order_acquire) != 0; }
  /// Returns whether it was served before the time, by steady_nanoseconds().
  bool wait_until(std::uint64_t deadline) noexcept {
    const uncancelled whole;
    while (!is_served()) {
      const std::uint64_t now = steady_nanoseconds();
      if (now >= deadline) return false;
      wait_while(served_.address(), 0, deadline == UINT64_MAX ? 0 : deadline - now);
    }
    return true;
  }
  /// The blocks that it was given, from the first of `out` on. Precondition: it is served, or has left.
  std::size_t got() const noexcept { return got_; }

 private:
  friend class waiting_line;
  friend class served_threads;

  span<void*> out_;
  std::size_t got_ = 0;
  waiting_thread* next_ = nullptr;
  waiting_thread* previous_ = nullptr;
  // Order: store release, load acquire. It is written last, under the pool's mutex. After that, the record of the waiting
  // thread may be gone.
  atomic_word<unsigned> served_ = 0;
};

/// Those that have all they wait for. Its destructor wakes them, so it must outlive the guard.
class served_threads {
 public:
  served_threads() noexcept = default;
  ~served_threads() {
    while (first_ != nullptr) {
      waiting_thread& one = *first_;
      first_ = one.next_;
      const unsigned* const word = one.served_.address();
      one.served_.store(1, memory_order_release);  // from now on it may be gone: what is woken is an address
      wake_one(word);
    }
  }
  served_threads(const served_threads&) = delete;
  served_threads& operator=(const served_threads&) = delete;

 private:
  friend class waiting_line;
  waiting_thread* first_ = nullptr;
};

/// All members are called under the pool's guard.
class waiting_line {
 public:
  /// Also true in the child of a fork, for threads that don't exist there: see has_first().
  TARN_STEP bool is_awaited() const noexcept { return first_ != nullptr; }
  /// Whether a thread of this process waits.
  bool has_first() noexcept {
    if (first_ != nullptr && process_ != platform::system::this_process()) first_ = last_ = nullptr;
    return first_ != nullptr;
  }

  /// While all objects of a pool are destroyed, no other thread can free a block.
  void close() noexcept { is_closed_ = true; }
  void open() noexcept { is_closed_ = false; }
  bool is_closed() const noexcept { return is_closed_; }

  void join(waiting_thread& one) noexcept {
    if (!has_first()) process_ = platform::system::this_process();
    one.previous_ = last_;
    one.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &one;
    last_ = &one;
  }
  /// Gives the first one a block. Precondition: has_first().
  void give(void* block, served_threads& served) noexcept {
    waiting_thread& one = *first_;
    one.out_[one.got_++] = block;
    if (one.got_ != one.out_.size()) return;
    unlink(one);
    one.next_ = served.first_;
    served.first_ = &one;
  }
  /// Returns false if it is no longer in the line, because it is about to be served.
  bool leave(waiting_thread& one) noexcept {
    if (one.got_ == one.out_.size()) return false;
    unlink(one);
    return true;
  }

 private:
  void unlink(waiting_thread& one) noexcept {
    (one.previous_ != nullptr ? one.previous_->next_ : first_) = one.next_;
    (one.next_ != nullptr ? one.next_->previous_ : last_) = one.previous_;
  }

  waiting_thread* first_ = nullptr;
  waiting_thread* last_ = nullptr;
  bool is_closed_ = false;
  unsigned process_ = 0;  // that the threads belong to: another process's have no stack here
};

}  // namespace detail

// decides    a thread that finds no block and gets no further chunk sleeps until another thread frees a block, or until a
//            timeout. First come, first served
// costs      a load and a branch for each block freed. While threads wait, each free wakes one, which costs some microseconds
// conflicts  locking policies under which no other thread can free a block (no_locking), or under which a block stays with the
//            thread that freed it (thread_cached); lock_free
// use when   the number of blocks is the intended limit: buffers of a device, jobs in flight
/// \tparam Milliseconds  time until an allocation fails as with report_exhaustion, counted from its first failed attempt.
///                       A call named try_… doesn't wait, and one named …_within waits for its own time
template <std::size_t Milliseconds = 1000>
struct wait_for_block {
  using axis = tarn::axis::exhaustion;
  static constexpr bool arguments_hold =  // evaluated where it is used: sizeof depends on the parameter
      sizeof(wait_for_block*) != 0 && platform::system::has_threads && platform::system::has_clock;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [Y6] wait_for_block was used, but this target has no other thread that could free a block, or no "
                  "clock; use report_exhaustion or retry_with<Handler>, or provide a platform header (docs/platforms.md)");
  };
  static constexpr exhaustion_traits traits{.waits = true};

  template <class Traits>
  class state : public detail::no_second_store {
   public:
    constexpr explicit state(const wait_for_block&) noexcept {}

    static constexpr bool retry(std::size_t) noexcept { return false; }
    /// The waiting threads, under the pool's guard.
    TARN_STEP detail::waiting_line& line() noexcept { return line_; }
    /// How long a call without a time waits.
    static constexpr std::uint64_t nanoseconds() noexcept {
      constexpr std::uint64_t in_one = 1'000'000;  // in a millisecond
      return Milliseconds < UINT64_MAX / in_one ? Milliseconds * in_one : UINT64_MAX;
    }

   private:
    detail::waiting_line line_;
  };
};

namespace detail {
template <class State>
concept retries_with_attempt = requires(State& state, std::size_t bytes, typename State::attempt& one) {
  { state.retry(bytes, one) } noexcept -> std::same_as<bool>;
};

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

/// Everything that the pool uses of an exhaustion policy, in addition to its traits.
/// The machinery is `state<Traits>`, made from the policy.
///   retry(bytes)                    called with nothing held. True: try again; false: give up. `bytes`: the size of a block.
///                                   Functions named try_… call it as well, so it must not wait for another thread.
///                                   Alternatively retry(bytes, attempt), where the type `attempt` keeps state for one
///                                   allocation
///   freed(blocks)                   if `hears_frees` is true: that many blocks were freed, and are available
///   line(), nanoseconds()           if `waits` is true: the threads that wait for a block, and how long a call without a
///                                   time waits
///   member()                        if `reclaims` is true: through which other pools ask this one. retry() is then called only
///                                   after the store refused, not growth
///   asked()                         if `hears_asks` is true: another pool asked this one to trim, which it does next
///   tell()                          if `tells_later` is true: called after that store was asked, with nothing held
///   next_chunk, acquire, release    the second growth and store, called under the growth guard like the first
///   second_store                    optional: the store policy behind these, whose members are then also required
template <class P>
concept exhaustion_policy = policy_on<P, axis::exhaustion> && detail::says<P, exhaustion_traits> && requires {
  typename detail::template_name<P::template state>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_H_
