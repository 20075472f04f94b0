// The columns of the containers: what gives a container its allocator. The names are keys for report.py.
//
//   allocator<T>  the allocator, by value type
//   get<T>()      one of them. A column lives through the runs of one repetition; a memory resource lies in it
//   forget<T>()   gives back what the static pools behind allocator<T> hold, so that the next run is a first one
#ifndef TARN_BENCH_CONTAINER_COLUMNS_H_
#define TARN_BENCH_CONTAINER_COLUMNS_H_

#include <cstddef>
#include <memory>
#include <memory_resource>

#include <boost/pool/pool_alloc.hpp>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/own_pool_allocator.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/bench/reference_allocator.h"

namespace tarn_bench {

struct std_allocator {
  static constexpr const char* name = "std_allocator";
  template <class T>
  using allocator = std::allocator<T>;
  template <class T>
  allocator<T> get() noexcept {
    return {};
  }
  template <class T>
  static void forget() {}
};

/// Written by hand: no lock.
struct hand_allocator {
  static constexpr const char* name = "bare_allocator";
  template <class T>
  using allocator = bare_allocator<T>;
  template <class T>
  allocator<T> get() noexcept {
    return {};
  }
  template <class T>
  static void forget() {
    start_anew(allocator<T>::nodes());
    start_anew(allocator<T>::arrays());
  }
};

/// Boost's allocator for nodes, without a lock.
struct boost_allocator {
  static constexpr const char* name = "boost_pool";
  using source = boost::default_user_allocator_new_delete;
  using lock = boost::details::pool::null_mutex;
  template <class T>
  using allocator = boost::fast_pool_allocator<T, source, lock>;
  template <class T>
  allocator<T> get() noexcept {
    return {};
  }
  template <class T>
  static void forget() {
    using in_force = allocator<T>;
    boost::singleton_pool<boost::fast_pool_allocator_tag, sizeof(T), source, lock, in_force::next_size>::purge_memory();
  }
};

/// A memory resource behind a pointer whose dynamic type the compiler doesn't know, as a user's containers have it.
template <class Resource>
class resource_column {
 public:
  template <class T>
  using allocator = std::pmr::polymorphic_allocator<T>;
  template <class T>
  allocator<T> get() noexcept {
    std::pmr::memory_resource* hidden = &resource_;
    asm("" : "+r"(hidden));
    return hidden;
  }
  template <class T>
  static void forget() {}

 private:
  Resource resource_;
};
struct std_resource : resource_column<std::pmr::unsynchronized_pool_resource> {
  static constexpr const char* name = "pmr_unsync";
};
struct tarn_resource : resource_column<tarn::pmr::unsynchronized_pool_resource> {
  static constexpr const char* name = "tarn_pmr";
};

/// stl_allocator over static pools.
template <class... Policies>
struct stl_column {
  template <class T>
  using allocator = tarn::stl_allocator<T, Policies...>;
  template <class T>
  allocator<T> get() noexcept {
    return {};
  }
  /// The pools are nobody's business but the allocator's, so they are named here as they are there. Should that change, the
  /// first run would not be one, and `containers` says so.
  template <class T>
  static void forget() {
    using policies = tarn::detail::stl_policies<Policies...>;
    policies::template into<nodes, T>::instance().release();
    policies::template into<arrays>::instance().release();
  }

 private:
  template <class T, class... Ps>
  using nodes = tarn::static_pool<tarn::detail::stl_pools, tarn::static_size<sizeof(T), alignof(T)>, Ps...>;
  template <class... Ps>
  using arrays = tarn::detail::static_classes<tarn::detail::stl_pools, 0, Ps...>;
};
struct stl_default : stl_column<> {
  static constexpr const char* name = "tarn_stl";
};
struct stl_unlocked : stl_column<tarn::no_locking> {
  static constexpr const char* name = "tarn_stl_unlocked";
};
struct stl_batch : stl_column<tarn::no_locking, tarn::batch_reuse<>> {
  static constexpr const char* name = "tarn_stl_batch";
};

/// Each container has a pool of its own, which ends with it: no run finds what the one before gave back.
struct own_column {
  static constexpr const char* name = "tarn_own_pool";
  template <class T>
  using allocator = tarn::own_pool_allocator<T>;
  template <class T>
  allocator<T> get() noexcept {
    return {};
  }
  template <class T>
  static void forget() {}
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_CONTAINER_COLUMNS_H_
