// A pool taken apart into its policies, and the same pool with another policy on one axis. Only this file lists the axes.
#ifndef TARN_TEST_SUPPORT_ANATOMY_H_
#define TARN_TEST_SUPPORT_ANATOMY_H_

#include <type_traits>
#include <utility>

#include "tarn/allocator/pool.h"

namespace tarn::test {

template <class Pool>
struct anatomy;
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
struct anatomy<basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>> {
  using size = Size;
  using locking = Locking;
  using growth = Growth;
  using store = Store;
  using reuse = Reuse;
  using retention = Retention;
  using exhaustion = Exhaustion;
  using checking = Checking;
  using statistics = Statistics;
  using name = Name;
  using traits = detail::pool_traits<void, Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics,
                                     std::conditional_t<Name::traits.is_listed, detail::listed, unnamed>>;

  template <class S>
  using with_store = basic_pool<Size, Locking, Growth, S, Reuse, Retention, Exhaustion, Checking, Statistics, Name>;
  template <class E>
  using with_exhaustion = basic_pool<Size, Locking, Growth, Store, Reuse, Retention, E, Checking, Statistics, Name>;
};

/// The machinery's traits of a pool. Pools that share their code have the same.
template <class Traits>
Traits traits_of_members(const detail::pool_members<Traits>&);
template <class Pool>
using machinery_of = decltype(traits_of_members(std::declval<const Pool&>()));

/// Neither pool is instantiated by its name: the one between two of these need not be legal.
template <class Pool, class Store>
using with_store = typename anatomy<Pool>::template with_store<Store>;
template <class Pool, class Exhaustion>
using with_exhaustion = typename anatomy<Pool>::template with_exhaustion<Exhaustion>;

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_ANATOMY_H_
