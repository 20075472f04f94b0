// What all pools of a size_class_pool share: its stores. They are called by one thread at a time.
//
//   owner_stores       calls the store, and the second store of an exhaustion policy that has one
//   regions_to_return  what goes back while a thread is at the store
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_OWNER_STORES_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_OWNER_STORES_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/store_mutex.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/store.h"

namespace tarn::detail {

/// The traits that a store shared by several pools is given: none, since each pool has its own geometry.
struct owner_traits {};

/// Tells only whether this thread is inside.
class no_mutex {
 public:
  class guard {
   public:
    explicit guard(no_mutex& m) noexcept : mutex_(m.try_lock() ? &m : nullptr) {}
    guard(no_mutex& m, only_try) noexcept : guard(m) {}
    ~guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    explicit operator bool() const noexcept { return mutex_ != nullptr; }

   private:
    no_mutex* mutex_;
  };

  constexpr void lock() noexcept { held_ = true; }
  constexpr bool try_lock() noexcept { return held_ ? false : (held_ = true); }
  constexpr void unlock() noexcept { held_ = false; }
  constexpr bool is_mine() const noexcept { return held_; }
  constexpr void leave() noexcept {}

 private:
  bool held_ = false;
};

/// The mutexes for what all classes share; a store is called under the second. A fork knows them, until everything is released.
template <class Locking>
using owner_mutex = std::conditional_t<Locking::traits.one_thread, no_mutex, fork_mutex_as<fork_member_in<Locking>>>;
template <class Locking>
using owner_store_mutex =
    std::conditional_t<Locking::traits.one_thread, no_mutex, fork_store_mutex_as<fork_member_in<Locking>>>;

/// The locking policy of an owner that has a destructor, and starts zero: an array of blocks lies in it.
template <class Locking>
struct locking_of_array : Locking {
  static constexpr bool holds_array = true;
  static constexpr bool is_static = false;
};

/// A store that has nothing.
struct refusing_store {
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};
  template <class Traits>
  struct source {
    constexpr explicit source(const refusing_store&) noexcept {}
    constexpr memory acquire(std::size_t, std::size_t) noexcept { return {}; }
    constexpr void release(memory, std::size_t) noexcept {}
  };
};

/// Which store a region came from.
struct owned {
  memory region;
  bool from_second = false;
  TARN_STEP explicit constexpr operator bool() const noexcept { return static_cast<bool>(region); }
};

/// Regions on their way back to a store at which another thread is. Each holds its place in the list, so that needs no memory.
class regions_to_return {
 public:
  struct node {
    std::uintptr_t next;
    owned what;
    std::size_t alignment;
  };

  void push(owned what, std::size_t alignment) noexcept {
    auto* const n = ::new (what.region.start) node{first_.load(memory_order_relaxed), what, alignment};
    while (!first_.compare_exchange_weak(n->next, reinterpret_cast<std::uintptr_t>(n), memory_order_acq_rel)) {
    }
  }
  /// Writes, so that of two threads, one that pushes and then tries the mutex, and one that unlocks it and then asks here, at
  /// least one sees what the other did.
  bool any() noexcept { return first_.fetch_or(0, memory_order_acq_rel) != 0; }
  template <class Visit>
  void take_each(Visit visit) noexcept {
    for (auto at = first_.exchange(0, memory_order_acq_rel); at != 0;) {
      const node n = *reinterpret_cast<const node*>(at);
      at = n.next;
      visit(n.what, n.alignment);
    }
  }

 private:
  atomic_word<std::uintptr_t> first_ = 0;
};

template <class Exhaustion>
struct second_store_of {
  struct type {
    constexpr explicit type(const Exhaustion&) noexcept {}
  };
};
template <class Exhaustion>
  requires(Exhaustion::traits.has_second())
struct second_store_of<Exhaustion> {
  using type = typename Exhaustion::template state<owner_traits>;
};

/// \tparam Store, Exhaustion  neither has a bounded store
template <class Store, class Exhaustion, class Locking>
class owner_stores {
 public:
  static constexpr bool has_second = Exhaustion::traits.has_second();
  static constexpr bool can_tell = Store::traits.tells_later || (has_second && Exhaustion::traits.tells_later);
  static constexpr bool tells_later = false;  // whoever gets a granule holds the guard of a class, which tells later
  static constexpr bool has_best_size = Store::traits.has_best_size;

  static constexpr std::size_t best_size(std::size_t bytes, std::size_t alignment) noexcept {
    return Store::best_size(bytes, alignment);
  }

  template <class Values>
  constexpr explicit owner_stores(const Values& values) noexcept
      : source_(values.template get<Store>()), second_(values.template get<Exhaustion>()) {}

  memory acquire(std::size_t bytes, std::size_t alignment, const void* = nullptr) noexcept {
    return at_store([&] { return source_.acquire(size(bytes), aligned(alignment)); });
  }
  /// For what a class needs besides its chunks.
  memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept {
    const memory got = acquire(bytes, alignment);
    own_bytes_.fetch_add(got.bytes, memory_order_relaxed);
    return got;
  }
  void release_own(memory region, std::size_t alignment) noexcept {
    own_bytes_.fetch_sub(region.bytes, memory_order_relaxed);
    release(owned{region}, alignment);
  }
  std::size_t own_bytes() const noexcept { return own_bytes_.load(memory_order_relaxed); }
  /// From the store or, if that refuses, from the second.
  owned acquire_any(std::size_t bytes, std::size_t alignment) noexcept {
    return at_store([&]() -> owned {
      if (const memory region = source_.acquire(size(bytes), aligned(alignment))) return {region, false};
      if constexpr (has_second) return {second_.acquire(size(bytes), aligned(alignment)), true};
      else return {};
    });
  }
  /// Waits for no store: if another thread is at one, that thread gives the region back as it leaves.
  void release(owned what, std::size_t alignment) noexcept {
    returned_.push(what, alignment);
    return_all();
  }
  void release(memory region, std::size_t alignment) noexcept { release(owned{region}, alignment); }

  // What second_of_owner calls.
  chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) noexcept {
    if (mutex_.is_mine()) return {};
    const at_stores held(mutex_);
    if (!held) return {};
    return second_.next_chunk(last, total, stride);
  }
  memory acquire_second(std::size_t bytes, std::size_t alignment) noexcept {
    return at_store([&] { return second_.acquire(size(bytes), aligned(alignment)); });
  }

  /// Whether this thread is at one of them. Then it grows no class: another thread that does may wait for these stores.
  bool is_at_store() const noexcept { return mutex_.is_mine(); }
  /// The stores tell what happened there. Called with nothing held.
  void tell() noexcept {
    if constexpr (Store::traits.tells_later) source_.tell();
    if constexpr (has_second && Exhaustion::traits.tells_later) second_.tell();
  }

  /// The owner ends.
  void release_all() noexcept {
    {
      const at_stores held(mutex_);
      give_back();
    }
    mutex_.leave();
    if constexpr (Store::traits.has_end) source_.end();
    if constexpr (has_second && Exhaustion::traits.has_end) second_.end();
  }

 private:
  using at_stores = typename owner_store_mutex<Locking>::guard;

  // Every region has room for its place in the list of those to return.
  static constexpr std::size_t size(std::size_t bytes) noexcept { return larger(bytes, sizeof(regions_to_return::node)); }
  static constexpr std::size_t aligned(std::size_t alignment) noexcept {
    return larger(alignment, alignof(regions_to_return::node));
  }

  template <class Call>
  auto at_store(Call call) noexcept {
    if (mutex_.is_mine()) return decltype(call())();  // a store came back: it isn't called within its own call
    const auto got = [&]() -> decltype(call()) {
      const at_stores held(mutex_);
      if (!held) return {};
      give_back();
      [[maybe_unused]] const store_call_under<Locking> now;
      return call();
    }();
    return_all();
    return got;
  }
  void return_all() noexcept {
    while (returned_.any()) {
      const at_stores held(mutex_, only_try{});
      if (!held) return;
      give_back();
    }
  }
  void give_back() noexcept {
    [[maybe_unused]] const store_call_under<Locking> now;
    returned_.take_each([this](const owned& what, std::size_t alignment) {
      if constexpr (has_second)
        if (what.from_second) return second_.release(what.region, aligned(alignment));
      source_.release(what.region, aligned(alignment));
    });
  }

  TARN_NO_UNIQUE_ADDRESS typename Store::template source<owner_traits> source_;
  TARN_NO_UNIQUE_ADDRESS typename second_store_of<Exhaustion>::type second_;
  TARN_NO_UNIQUE_ADDRESS owner_store_mutex<Locking> mutex_;
  regions_to_return returned_;
  atomic_word<std::size_t> own_bytes_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_OWNER_STORES_H_
