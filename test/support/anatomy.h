// A pool taken apart into its policies, and the same pool with another policy on one axis. Only this file lists the axes.
#ifndef TARN_TEST_SUPPORT_ANATOMY_H_
#define TARN_TEST_SUPPORT_ANATOMY_H_

#include "tarn/allocator/pool.h"

namespace tarn::test {

template <class Pool>
struct anatomy;
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics>
struct anatomy<basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics>> {
  using size = Size;
  using locking = Locking;
  using growth = Growth;
  using store = Store;
  using reuse = Reuse;
  using retention = Retention;
  using exhaustion = Exhaustion;
  using checking = Checking;
  using statistics = Statistics;
  using traits =
      detail::pool_traits<void, Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics>;

  template <class S>
  using with_store = basic_pool<Size, Locking, Growth, S, Reuse, Retention, Exhaustion, Checking, Statistics>;
  template <class E>
  using with_exhaustion = basic_pool<Size, Locking, Growth, Store, Reuse, Retention, E, Checking, Statistics>;
};

/// Neither pool is instantiated by its name: the one between two of these need not be legal.
template <class Pool, class Store>
using with_store = typename anatomy<Pool>::template with_store<Store>;
template <class Pool, class Exhaustion>
using with_exhaustion = typename anatomy<Pool>::template with_exhaustion<Exhaustion>;

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_ANATOMY_H_
