// The policy objects that were given to a pool's constructor, in any order; missing ones are default-constructed.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_VALUES_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_VALUES_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/name.h"
#include "tarn/policies/name/listed_pools.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class P, class... Given>
inline constexpr std::size_t times_given = (std::size_t{0} + ... + std::size_t{std::same_as<P, Given>});

enum class giving { good, unknown, twice, missing };

/// Several policies as one type.
template <class... Ps>
struct policy_types {};

/// \tparam Policies  the pool's policies, as policy_types
template <class Policies, class... Given>
struct judge_values;
template <class... Ps, class... Given>
struct judge_values<policy_types<Ps...>, Given...> {
  static constexpr giving verdict = !(one_of<Given, Ps...> && ...)           ? giving::unknown
                                    : ((times_given<Ps, Given...> > 1) || ...) ? giving::twice
                                    : ((times_given<Ps, Given...> == 1 || std::default_initializable<Ps>) && ...)
                                        ? giving::good
                                        : giving::missing;
};

template <giving Verdict>
struct value_complaint {
  static_assert(Verdict != giving::unknown,
                "tarn: [C6] the constructor was given an object that is no policy of this pool; give it policy objects of just "
                "the types that the pool names");
  static_assert(Verdict != giving::twice, "tarn: [C4] the constructor was given two objects of one policy; keep one");
  static_assert(Verdict != giving::missing,
                "tarn: [C5] a policy of this pool has no default value (dynamic_size, buffer_store, resource_store, budgeted "
                "without the budget's name, retry_with a function, run_time_name); pass an object of it to the constructor");
};

template <class P>
struct given_value {
  const P& value;
};

/// Whether copies of these objects can't fail. A handler of retry_with may need memory for one.
template <class... Given>
inline constexpr bool copies_cannot_throw = (std::is_nothrow_copy_constructible_v<Given> && ...);

template <class... Given>
class values : given_value<Given>... {
 public:
  static constexpr bool nothrow = copies_cannot_throw<Given...>;

  TARN_STEP constexpr explicit values(const Given&... given) noexcept : given_value<Given>{given}... {}

  template <class P>
  TARN_STEP constexpr decltype(auto) get() const noexcept {
    if constexpr (times_given<P, Given...> == 1) return (static_cast<const given_value<P>&>(*this).value);  // not a copy of it
    else return P{};
  }
};

/// The same and the size of the blocks, for a pool whose code knows it as a number.
template <class Values, class Size>
class values_and_size {
 public:
  static constexpr bool nothrow = Values::nothrow;

  TARN_STEP constexpr values_and_size(const Values& values, Size size) noexcept : values_(values), size_(size) {}

  template <class P>
  TARN_STEP constexpr decltype(auto) get() const noexcept {
    if constexpr (std::same_as<P, Size>) return (size_);
    else return values_.template get<P>();
  }
  /// See static_pool.h.
  template <class Array>
  static constexpr Array* array_of() noexcept
    requires requires { Values::template array_of<Array>(); }
  {
    return Values::template array_of<Array>();
  }

 private:
  const Values& values_;
  Size size_;
};

/// The same and the pool's entry in the registry.
template <class Values>
class values_and_listing {
 public:
  static constexpr bool nothrow = Values::nothrow;

  TARN_STEP constexpr values_and_listing(Values values, pool_listing its) noexcept : values_(values), its_{its} {}

  template <class P>
  TARN_STEP constexpr decltype(auto) get() const noexcept {
    if constexpr (std::same_as<P, listed>) return (its_);
    else return values_.template get<P>();
  }
  /// See static_pool.h.
  template <class Array>
  static constexpr Array* array_of() noexcept
    requires requires { Values::template array_of<Array>(); }
  {
    return Values::template array_of<Array>();
  }

 private:
  Values values_;
  listed its_;
};
template <class Name, class Values>
TARN_STEP constexpr auto with_listing(const Values& values) noexcept {
  if constexpr (!name_policy<Name>) return values;  // refused
  else if constexpr (!Name::traits.is_listed) return values;
  else return values_and_listing<Values>(values, values.template get<Name>().listing());
}

/// After a complaint: what the pool's constructor needs to compile. Never run.
struct no_values {
  static constexpr bool nothrow = true;
  template <class P>
  constexpr const P& get() const noexcept {
    TARN_UNREACHABLE();  // not a null that is dereferenced, of which clang warns in each pool
  }
};

template <class Policies, class... Given>
constexpr auto accept_values(const Given&... given) noexcept {
  constexpr giving verdict = judge_values<Policies, Given...>::verdict;
  if constexpr (verdict == giving::good) {
    return values<Given...>(given...);
  } else {
    [[maybe_unused]] value_complaint<verdict> c;
    return no_values{};
  }
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_VALUES_H_
