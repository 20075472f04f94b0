// The policy objects that the pools of a size_class_pool are made from, besides size and store. They were given to the owner's
// constructor, or are the defaults.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_KEPT_POLICIES_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_KEPT_POLICIES_H_

#include <type_traits>

#include "tarn/allocator/detail/classes/class_exhaustion.h"
#include "tarn/policies/checking.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/name.h"
#include "tarn/policies/name/listed_pools.h"
#include "tarn/policies/retention.h"

namespace tarn::detail {

/// A byte for one that is empty: with [[no_unique_address]], g++ 12 loses the constants of those that aren't.
template <class P>
class kept_policy {
 public:
  constexpr explicit kept_policy(const P& given) noexcept(std::is_nothrow_copy_constructible_v<P>) : value_(given) {}
  constexpr const P& value() const noexcept { return value_; }

 private:
  P value_;
};
/// Of a checking policy that is a name: null if that is empty, since an owner that has an array is to start zero.
template <class P>
  requires(checking_policy<P> && sizeof(P) == sizeof(const char*) && requires(const P& p) { P{p.name}; })
class kept_policy<P> {
 public:
  constexpr explicit kept_policy(const P& given) noexcept : name_(*given.name != '\0' ? given.name : nullptr) {}
  constexpr P value() const noexcept { return P{name_ != nullptr ? name_ : ""}; }

 private:
  const char* name_;
};

template <class P>
inline constexpr bool returns_memory = false;
template <class P>
  requires policy_on<P, axis::retention>
inline constexpr bool returns_memory<P> = P::traits.returns_chunks;

/// The name policy of each class.
template <class Name>
using name_in_classes = std::conditional_t<Name::traits.is_listed, name_of_class, Name>;

/// \tparam Exhaustion    of the owner
/// \tparam Chunks        make of it what a class needs
/// \tparam ForMalloc     where a class gives up, errno says so
/// \tparam Checking, Ps  of the owner and of each class
template <class Exhaustion, class Chunks, bool ForMalloc, class Checking, class... Ps>
class kept_policies : kept_policy<Exhaustion>, kept_policy<Checking>, kept_policy<Ps>... {
  using of_chunks = typename Chunks::exhaustion;

 public:
  static constexpr bool for_malloc = ForMalloc;
  /// Whether free memory may stay until trim().
  static constexpr bool keeps_memory = !(... || returns_memory<Ps>);
  static constexpr bool tells_in_use = Checking::traits.tells_in_use;
  static constexpr void (*report)(const misuse&) noexcept = &reporter_of<Checking>::report;
  using exhaustion = std::conditional_t<ForMalloc, tells_errno<of_chunks>, of_chunks>;

  template <class Values>
  constexpr explicit kept_policies(const Values& values) noexcept
      : kept_policy<Exhaustion>(values.template get<Exhaustion>()),
        kept_policy<Checking>(values.template get<Checking>()),
        kept_policy<Ps>(values.template get<Ps>())... {}

  /// Calls use(policy...) with those of a class.
  template <class Use>
  auto give_to(Chunks& chunks, class_pools classes, Use use) const noexcept {
    return use(of_class(chunks.exhaustion_of(kept_policy<Exhaustion>::value(), classes)), kept_policy<Checking>::value(),
               for_class(kept_policy<Ps>::value())...);
  }
  /// The owner's name in reports.
  constexpr const char* name() const noexcept {
    if constexpr (Checking::traits.has_name) return kept_policy<Checking>::value().name;
    else return "";
  }

 private:
  template <class P>
  static constexpr decltype(auto) for_class(const P& own) noexcept {
    if constexpr (!policy_on<P, axis::name>) {
      return (own);
    } else if constexpr (!P::traits.is_listed) {
      return (own);
    } else {
      pool_listing its = own.listing();
      its.has_size = true;
      return name_of_class{its};
    }
  }
  static constexpr exhaustion of_class(const of_chunks& own) noexcept {
    if constexpr (ForMalloc) return exhaustion{own};
    else return own;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_KEPT_POLICIES_H_
