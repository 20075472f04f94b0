// decides    another store's chunks count against a limit in bytes, a memory_budget, which several pools may share
// costs      four atomic operations for each chunk; a pointer in the pool, or nothing if the budget is named
// conflicts  none; a static pool's budget is named: budgeted<Store, &budget>
// use when   several pools must together stay within so many bytes, or someone must hear of it when they need more
#ifndef TARN_POLICIES_STORE_BUDGETED_H_
#define TARN_POLICIES_STORE_BUDGETED_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/declared.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/store/memory_budget.h"
#include "tarn/policies/store/traits.h"

namespace tarn {

namespace detail {

/// What a budgeted store derives from where its argument is no store: it is refused.
struct budgeted_nothing {
  static constexpr store_traits traits{};
  template <class Traits>
  struct source {};
};
template <class Inner>
concept store_in_budget = defined<Inner> && policy_on<Inner, axis::store> && says<Inner, store_traits>;
template <class Inner>
using known_inner = std::conditional_t<store_in_budget<Inner>, Inner, budgeted_nothing>;

/// Whose budget it is: that of its type, or one that its value names. g++ 12 with -fsanitize=undefined can't compare the
/// argument with null.
template <memory_budget* Budget>
struct which_budget {
  static constexpr memory_budget& get() noexcept { return *Budget; }
};
template <>
struct which_budget<nullptr> {
  constexpr memory_budget& get() const noexcept { return *budget; }
  memory_budget* budget;
};

}  // namespace detail

/// \tparam Inner   a store, of any kind: also a budgeted one, whose budget is charged, too
/// \tparam Budget  with static storage duration; null: the constructor is given one
template <class Inner, memory_budget* Budget = nullptr>
class budgeted : public detail::known_inner<Inner> {
  using known = detail::known_inner<Inner>;
  static constexpr bool named = !std::is_same_v<detail::which_budget<Budget>, detail::which_budget<nullptr>>;

 public:
  using axis = tarn::axis::store;
  static constexpr bool arguments_hold = detail::store_in_budget<Inner>;
  struct complaint : detail::home<Inner> {
    static_assert(arguments_hold || !detail::defined<Inner>,
                  "tarn: [T3] budgeted was given something that is no store; write budgeted<heap_store>, or "
                  "budgeted<heap_store, &budget>");
  };
  static constexpr store_traits traits = [] {
    store_traits all = known::traits.wrapped();
    all.own_apart = known::traits.own_apart;
    all.can_discard = known::traits.can_discard;
    all.tells_later = true;
    return all;
  }();

  /// \param budget  must outlive the pool
  constexpr explicit budgeted(memory_budget& budget) noexcept
    requires(!named && std::default_initializable<known>)
      : whose_{&budget} {}
  constexpr budgeted(memory_budget& budget, const Inner& inner) noexcept
    requires(!named)
      : known(inner), whose_{&budget} {}

  constexpr budgeted() noexcept  // after a complaint, there shall be no other
    requires((named && std::default_initializable<known>) || !arguments_hold)
  = default;
  /// \param inner  the inner store, or what that is made from
  template <class Given>
    requires(named && std::constructible_from<known, const Given&>)
  constexpr explicit budgeted(const Given& inner) noexcept : known(inner) {}

  /// Returns the budget that chunks are charged to.
  constexpr memory_budget& budget() const noexcept { return whose_.get(); }

  template <class Traits>
  class source : public Inner::template source<Traits> {
    using inner = typename Inner::template source<Traits>;

   public:
    constexpr explicit source(const budgeted& store) noexcept : inner(store), whose_(store.whose_) {}

    constexpr memory_budget& budget() const noexcept { return whose_.get(); }

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      return budget().charge(
          expected(bytes, alignment), [&] { return inner::acquire(bytes, alignment); },
          [&](detail::memory region) { inner::release(region, alignment); });
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      inner::release(region, alignment);
      budget().give_back(region.bytes);
    }

    detail::memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept
      requires(Inner::traits.own_apart)
    {
      return budget().charge(
          bytes, [&] { return inner::acquire_own(bytes, alignment); },
          [&](detail::memory region) { inner::release_own(region, alignment); });
    }
    void release_own(detail::memory region, std::size_t alignment) noexcept
      requires(Inner::traits.own_apart)
    {
      inner::release_own(region, alignment);
      budget().give_back(region.bytes);
    }

    /// Nothing, if the budget doesn't have as much: a bounded store gives all or nothing.
    std::size_t room(std::size_t alignment) const noexcept
      requires(Inner::traits.bounded)
    {
      const std::size_t bytes = inner::room(alignment);
      return bytes <= budget().left() ? bytes : 0;
    }

    /// Calls back what the budgets have to say, the outermost first.
    void tell() noexcept {
      budget().tell();
      if constexpr (Inner::traits.tells_later) inner::tell();
    }

   private:
    /// The bytes that the inner store would give, so that they are charged before it does.
    std::size_t expected(std::size_t bytes, [[maybe_unused]] std::size_t alignment) const noexcept {
      if constexpr (Inner::traits.bounded) return detail::larger(bytes, inner::room(alignment));
      else if constexpr (Inner::traits.rounds_up) return detail::larger(bytes, inner::rounded_up(bytes, alignment));
      else return bytes;
    }

    TARN_NO_UNIQUE_ADDRESS detail::which_budget<Budget> whose_;
  };

 private:
  TARN_NO_UNIQUE_ADDRESS detail::which_budget<Budget> whose_;
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_BUDGETED_H_
