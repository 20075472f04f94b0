// Where the pools of a size_class_pool get their chunks: from one store for all of them, called by one thread at a time.
//
//   direct_chunks   straight from the store, each as large as the pool's growth policy says
//   tagged_chunks   granules of one size and alignment, cut from the store by a pool of their own. A cache line of each, the
//                   tag, names the pool, so a block's address alone identifies it. A bounded store serves all classes. What
//                   else a pool can have blocks from, here is the granules': a second store, other pools that are asked to trim
//
//   | no. % 8 lines | tag | chunk ...                                 |    a granule
//   | no. % 8 lines | tag | ...          | record | block ...              a region of a block without a class
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_STORES_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_STORES_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/detail/pool/upstream.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/store.h"

namespace tarn::detail {

// What all pools of a size_class_pool share: its stores. They are called by one thread at a time.
//
//   owner_stores       calls the store, and the second store of an exhaustion policy that has one
//   regions_to_return  what goes back while a thread is at the store

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

/// The locking policy of an owner that has a destructor, and starts zero: it contains an array of blocks.
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
    while (!first_.compare_exchange_weak(n->next, reinterpret_cast<std::uintptr_t>(n), memory_order_acq_rel)) {}
  }
  /// Writes, so that of two threads, one that pushes and then tries the mutex, and one that unlocks it and then asks here, at
  /// least one sees what the other did.
  bool any() noexcept { return first_.fetch_or(0, memory_order_acq_rel) != 0; }
  void take_each(auto visit) noexcept {
    for (auto at = first_.exchange(0, memory_order_acq_rel); at != 0;) {
      const node n = *reinterpret_cast<const node*>(at);
      at = n.next;
      visit(n.what, n.alignment);
    }
  }

 private:
  // Order: acquire and release. A region's node is written before it is pushed. After an unlock, any() *changes* the word, as a
  // push does: of a thread that pushes and then tries the mutex, and one that unlocks it and then looks, the second sees the
  // first. A load isn't enough.
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
  static constexpr std::size_t cheap_alignment = Store::traits.cheap_alignment;

  static constexpr std::size_t best_size(std::size_t bytes, std::size_t alignment) noexcept {
    return Store::best_size(bytes, alignment);
  }

  constexpr explicit owner_stores(const auto& values) noexcept
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

  /// The owner is destroyed.
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

  auto at_store(auto call) noexcept {
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
  // Order: relaxed; a number.
  atomic_word<std::size_t> own_bytes_ = 0;
};

// The policies of a pool whose stores are its owner's.
//
//   store_of_owner   the store policy: chunks come from the owner
//   second_of_owner  the exhaustion policy, where the owner has a second store
//
// A pool inside its owner gets the owner's address later, with belong_to().

/// The machinery of store_of_owner.
template <class Owner>
class source_of_owner {
 public:
  constexpr source_of_owner(Owner* owner, void* whose) noexcept : owner_(owner), whose_(whose) {}
  void belong_to(Owner* owner) noexcept { owner_ = owner; }
  memory acquire(std::size_t bytes, std::size_t alignment) noexcept { return owner_->acquire(bytes, alignment, whose_); }
  void release(memory region, std::size_t alignment) noexcept { owner_->release(region, alignment); }
  memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept { return owner_->acquire_own(bytes, alignment); }
  void release_own(memory region, std::size_t alignment) noexcept { owner_->release_own(region, alignment); }
  bool owner_is_at_store() const noexcept { return owner_ != nullptr && owner_->is_at_store(); }

 protected:
  Owner* owner_;
  void* whose_;
};
/// The same where the owner's stores tell. Not a requirement of tell(): after another error, g++ 12 takes that for met.
template <class Owner>
struct telling_source_of_owner : source_of_owner<Owner> {
  using source_of_owner<Owner>::source_of_owner;
  void tell() noexcept { this->owner_->tell(); }
};

/// With each request it says whose it is, for an owner that writes that into the memory.
template <class Owner>
class store_of_owner {
 public:
  using axis = tarn::axis::store;
  static constexpr store_traits traits{
      .own_apart = true, .has_best_size = Owner::has_best_size, .cheap_alignment = Owner::cheap_alignment,
      .tells_later = Owner::tells_later};

  static constexpr std::size_t best_size(std::size_t bytes, std::size_t alignment) noexcept {
    return Owner::best_size(bytes, alignment);
  }

  constexpr store_of_owner() noexcept : owner_(nullptr), whose_(nullptr) {}
  constexpr store_of_owner(Owner* owner, void* whose) noexcept : owner_(owner), whose_(whose) {}

  template <class Traits>
  struct source : std::conditional_t<Owner::tells_later, telling_source_of_owner<Owner>, source_of_owner<Owner>> {
    using base = std::conditional_t<Owner::tells_later, telling_source_of_owner<Owner>, source_of_owner<Owner>>;
    constexpr explicit source(const store_of_owner& store) noexcept : base(store.owner_, store.whose_) {}
  };

 private:
  Owner* owner_;
  void* whose_;
};

/// It asks nobody again: a policy with a second store has no more to say.
template <class Owner, class Exhaustion>
class second_of_owner {
 public:
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits{.extra_chunks = Exhaustion::traits.extra_chunks};

  constexpr explicit second_of_owner(Owner* owner = nullptr) noexcept : owner_(owner) {}

  template <class Traits>
  class state {
   public:
    constexpr explicit state(const second_of_owner& policy) noexcept : owner_(policy.owner_) {}
    void belong_to(Owner* owner) noexcept { owner_ = owner; }
    constexpr bool retry(std::size_t) noexcept { return false; }
    chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) noexcept {
      return owner_->next_chunk(last, total, stride);
    }
    memory acquire(std::size_t bytes, std::size_t alignment) noexcept { return owner_->acquire_second(bytes, alignment); }
    void release(memory region, std::size_t alignment) noexcept { owner_->release(owned{region, true}, alignment); }

   private:
    Owner* owner_;
  };

 private:
  Owner* owner_;
};

// What becomes of an exhaustion policy whose classes take granules from their owner. It is divided: what concerns the stores is
// the granules', whether to try again is the classes'.
//
//   a second store    the granules' own; the classes only report
//   reclaims          the granules are in the list of those who can be asked, and the classes trim first, since what a class
//                     gives back is a granule
//   anything else     the classes' own
//
// Whichever it is, a class that found nothing asks its siblings first: what they hold and nobody uses is one memory for all.

/// The pools of the classes, as their granules know them.
struct class_pools {
  void* owner = nullptr;
  std::size_t (*trim_idle)(void* owner) noexcept = nullptr;  // trims those that no other thread is at; returns how many bytes
  std::size_t trim() const noexcept { return trim_idle(owner); }
  /// Asks them unless they were asked. Returns whether they gave something back.
  bool help_once(bool& were_asked) const noexcept { return !detail::replace(were_asked, true) && trim() != 0; }
};

/// Of the granules, if Exhaustion reclaims.
template <class Exhaustion>
struct granules_reclaim {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits = [] {
    exhaustion_traits all = Exhaustion::traits;
    all.hears_asks = true;
    return all;
  }();

  template <class Traits>
  struct state : Exhaustion::template state<Traits> {
    using base = typename Exhaustion::template state<Traits>;
    constexpr explicit state(const granules_reclaim& policy) noexcept : base(policy.own) {}
    void belong_to(class_pools all) noexcept { classes = all; }
    /// The class asks, with nothing held.
    template <class... Attempt>
      requires requires(base& b, Attempt&... one) { b.retry(std::size_t{}, one...); }
    bool retry(std::size_t, Attempt&...) noexcept {
      return false;
    }
    void asked() noexcept { classes.trim(); }

    class_pools classes;
  };

  Exhaustion own;
};

/// Of a class that asks its siblings, and then does what Exhaustion does.
template <class Exhaustion>
struct class_asks {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits = [] {
    exhaustion_traits all = Exhaustion::traits;
    all.retries = true;
    all.keeps_attempt = true;
    return all;
  }();

  template <class Traits>
  class state : public Exhaustion::template state<Traits> {
    using base = typename Exhaustion::template state<Traits>;

   public:
    struct attempt {
      bool asked_siblings = false;
      TARN_NO_UNIQUE_ADDRESS typename attempt_of<base, Exhaustion::traits.keeps_attempt>::type own;
    };
    constexpr explicit state(const class_asks& policy) noexcept(std::is_nothrow_constructible_v<base, const Exhaustion&>)
        : base(policy.own), siblings_(policy.classes) {}
    bool retry(std::size_t bytes, attempt& one) noexcept {
      if (siblings_.help_once(one.asked_siblings)) return true;
      if (!detail::looks_again(static_cast<base&>(*this), bytes, one.own)) return false;
      one.asked_siblings = false;  // what it freed may be a sibling's
      return true;
    }

   private:
    class_pools siblings_;
  };

  Exhaustion own;
  class_pools classes;
};

/// The same if Exhaustion reclaims.
template <class Exhaustion>
struct class_reclaim {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits{.keeps_attempt = true};

  template <class Traits>
  class state : public report_exhaustion::state<Traits> {
    using asks = typename Exhaustion::template state<owner_traits>;

   public:
    struct attempt {
      bool asked_siblings = false;
      typename attempt_of<asks, Exhaustion::traits.keeps_attempt>::type own;
    };
    constexpr explicit state(const class_reclaim& policy) noexcept
        : report_exhaustion::state<Traits>(report_exhaustion{}), asks_(policy.own), siblings_(policy.classes) {}
    bool retry(std::size_t bytes, attempt& one) noexcept {
      if (siblings_.help_once(one.asked_siblings)) return true;
      return detail::looks_again(asks_, bytes, one.own);
    }

   private:
    asks asks_;  // it is in no list
    class_pools siblings_;
  };

  Exhaustion own;
  class_pools classes;
};

/// Whether blocks beyond those of the first store come one by one, from a store without an end.
template <class Exhaustion>
inline constexpr bool has_endless_second = Exhaustion::traits.has_second() && !Exhaustion::traits.store_is_bounded;

/// The exhaustion policy of the granules, whose endless stores are those of Stores. An array has nothing for other pools.
template <class Store, class Exhaustion, class Stores>
using exhaustion_of_granules =
    std::conditional_t<Exhaustion::traits.reclaims && !Store::traits.bounded, granules_reclaim<Exhaustion>,
                       std::conditional_t<has_endless_second<Exhaustion>, second_of_owner<Stores, Exhaustion>,
                                          std::conditional_t<Exhaustion::traits.has_second(), Exhaustion, report_exhaustion>>>;

/// The exhaustion policy of a class that takes granules.
template <class Exhaustion>
using exhaustion_of_class =
    std::conditional_t<Exhaustion::traits.reclaims, class_reclaim<Exhaustion>,
                       class_asks<std::conditional_t<Exhaustion::traits.has_second(), report_exhaustion, Exhaustion>>>;

/// Exhaustion for malloc's functions: where the pool gives up, it says so in errno.
template <class Exhaustion>
struct tells_errno {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits = Exhaustion::traits;
  static constexpr bool is_malloc = true;  // perhaps the program's

  template <class Traits>
  struct state : Exhaustion::template state<Traits> {
    using base = typename Exhaustion::template state<Traits>;
    constexpr explicit state(const tells_errno& policy) noexcept : base(policy.own) {}
    template <class... Attempt>
      requires requires(base& b, Attempt&... one) { b.retry(std::size_t{}, one...); }
    bool retry(std::size_t bytes, Attempt&... one) noexcept {
      if (base::retry(bytes, one...)) return true;
      give_up();
      return false;
    }
    void give_up() noexcept { errno = ENOMEM; }
  };

  Exhaustion own;
};

// The spans of memory that are in use, for checking policies: any address may be looked up, and only the owner's own memory is
// read.

/// What the record of a span has, as chunk_tree calls it. Its owner decides where it is stored.
template <class Record>
struct known_span {
  static constexpr bool is_guarded = false;
  std::byte* first = nullptr;
  std::size_t blocks = 0;  // bytes
  Record* left = nullptr;
  Record* right = nullptr;
};

struct unknown_span {};
struct no_spans {};

template <class Record, class Locking>
class known_spans {
 public:
  void insert(Record& r, void* start, std::size_t bytes) noexcept {
    const held lock(mutex_);
    r.first = static_cast<std::byte*>(start);
    r.blocks = bytes;
    tree_.insert(r, {});
  }
  void take_out(Record& r) noexcept {
    const held lock(mutex_);
    tree_.take_out(r, {});
  }
  /// Takes out the span that starts at the address. Returns its record, or null.
  Record* take(const void* address) noexcept {
    const held lock(mutex_);
    Record* const r = tree_.find(address, {});
    if (r == nullptr || r->first != address) return nullptr;
    tree_.take_out(*r, {});
    return r;
  }
  /// Calls visit(record) for the span that contains the address. Returns whether there is one.
  bool find(const void* address, auto visit) const noexcept {
    const held lock(mutex_);
    const Record* const r = tree_.find(address, {});
    if (r != nullptr) visit(*r);
    return r != nullptr;
  }
  /// Calls visit(record) for the span that starts next after the address, if there is one.
  void next_after(const void* address, auto visit) const noexcept {
    const held lock(mutex_);
    if (const Record* const r = tree_.after(address)) visit(*r);
  }
  /// The owner is destroyed: nothing is known any more.
  void leave() noexcept {
    tree_ = {};
    mutex_.leave();
  }

 private:
  struct in_bytes {
    static constexpr std::size_t extent(std::size_t bytes) noexcept { return bytes; }
  };

  chunk_tree<Record, in_bytes> tree_;
  mutable owner_mutex<Locking> mutex_;
};

/// Whether granules are a multiple of their size apart, wherever the first is, because the only region is the array or the
/// buffer.
template <class Store, class Exhaustion>
inline constexpr bool in_one_region = Store::traits.bounded && !Exhaustion::traits.has_second();

/// Whether a bounded store tells what happened there.
template <class Store, class Exhaustion>
inline constexpr bool granules_store_tells =
    (Store::traits.bounded && Store::traits.tells_later) ||
    (Exhaustion::traits.store_is_bounded && Exhaustion::traits.tells_later);

template <class Store, class Exhaustion, class Locking>
class direct_chunks : public owner_stores<Store, Exhaustion, Locking> {
 public:
  static constexpr bool tagged = false;
  static constexpr bool tells_later = owner_stores<Store, Exhaustion, Locking>::can_tell;
  static constexpr bool serves_large = true;
  static constexpr std::size_t large_prefix = 0;
  static constexpr std::size_t large_alignment = alignof(std::max_align_t);
  using exhaustion = std::conditional_t<
      Exhaustion::traits.has_second(), second_of_owner<owner_stores<Store, Exhaustion, Locking>, Exhaustion>,
      std::conditional_t<Exhaustion::traits.reclaims, Exhaustion, class_asks<Exhaustion>>>;  // who reclaims asks siblings, too

  constexpr explicit direct_chunks(const auto& values) noexcept : owner_stores<Store, Exhaustion, Locking>(values) {}

  static void belong_to(class_pools) noexcept {}

  /// The exhaustion policy of a class.
  constexpr exhaustion exhaustion_of(const Exhaustion& own, class_pools classes) noexcept {
    if constexpr (Exhaustion::traits.has_second()) return exhaustion(this);
    else if constexpr (Exhaustion::traits.reclaims) return own;
    else return exhaustion{own, classes};
  }

  owned acquire_large(std::size_t bytes, std::size_t alignment) noexcept { return this->acquire_any(bytes, alignment); }
  void release_large(owned region, std::size_t alignment) noexcept { this->release(region, alignment); }

  static constexpr std::size_t trim() noexcept { return 0; }
  static constexpr std::size_t trim_if_idle() noexcept { return 0; }
  static void be_left_alone() noexcept {}
};

/// \tparam Growth   in granules
/// \tparam Granule  bytes, a power of two
/// \tparam Checks   an address outside all granules may also be looked up
/// \tparam Identity  void; of granules in a static owner: some_static_pool, or part_of_static
template <class Store, class Exhaustion, class Locking, class Growth, std::size_t Granule, bool Checks, class Identity>
class tagged_chunks {
  static constexpr bool bounded = Store::traits.bounded;
  static constexpr bool one_region = in_one_region<Store, Exhaustion>;
  // The stores without an end. A bounded one is the granules' own.
  using stores = owner_stores<std::conditional_t<bounded, refusing_store, Store>,
                              std::conditional_t<has_endless_second<Exhaustion>, Exhaustion, report_exhaustion>, Locking>;
  using granule_store = std::conditional_t<bounded, Store, store_of_owner<stores>>;
  using granule_exhaustion = exhaustion_of_granules<Store, Exhaustion, stores>;

  // Where there can be more than one region, granules are aligned to their size. Otherwise to more than a cache line, so that
  // the pool doesn't colour them.
  static constexpr std::size_t granule_alignment = one_region ? 2 * cache_line : Granule;
  using granules = pool<static_size<Granule, granule_alignment>,
                        std::conditional_t<Locking::traits.one_thread, no_locking, shared_locking_of_bounded>, Growth,
                        granule_store, lifo_reuse<>, granule_exhaustion>;

  /// Whether the granules call a store that tells: one with an end, which is theirs.
  static constexpr bool granules_tell = granules_store_tells<Store, Exhaustion>;

  struct alignas(cache_line) tag : std::conditional_t<Checks, known_span<tag>, unknown_span> {
    void* whose;  // first, if there is nothing to look up
  };

  // Granules are a multiple of their size apart, so their first lines would share a set of the first cache, which has 8 or 12
  // lines. With 26 classes, an unsized pair of mixed sizes then takes 5.8 instead of 4.9 ns (Zen 5). An array has no room for
  // it.
  static constexpr std::size_t colours = one_region ? 1 : 8;

 public:
  static constexpr bool tagged = true;
  static constexpr bool tells_later = stores::can_tell || granules_tell;
  static constexpr bool has_best_size = false;  // each chunk is a granule
  static constexpr std::size_t cheap_alignment = 0;
  static constexpr bool serves_large = !bounded || has_endless_second<Exhaustion>;
  static constexpr std::size_t large_prefix = colours * sizeof(tag);
  static constexpr std::size_t large_alignment = Granule;  // of every region for a large block, at least
  static constexpr std::size_t room = Granule - colours * sizeof(tag);
  using exhaustion = exhaustion_of_class<Exhaustion>;

  template <class Values>
  constexpr explicit tagged_chunks(const Values& values) noexcept
      : stores_(values), granules_(granule_values<Values>{values}) {}

  /// Called before anything else, and again for each class, by one thread at a time. Not in the constructor: an array that
  /// holds a constant other than zero would be in the executable.
  void belong_to(class_pools classes) noexcept {
    if (belongs_) return;
    inspector::belong_to(granules_, detail::pointer_to(stores_));
    inspector::belong_to(granules_, classes);
    belongs_ = true;
  }

  /// The exhaustion policy of a class.
  constexpr exhaustion exhaustion_of([[maybe_unused]] const Exhaustion& own, [[maybe_unused]] class_pools classes) noexcept {
    if constexpr (Exhaustion::traits.has_second()) return exhaustion{{}, classes};
    else return exhaustion{own, classes};
  }

  memory acquire(std::size_t bytes, std::size_t, void* whose) noexcept {
    void* const granule = bytes <= room ? inspector::allocate_untold(granules_) : nullptr;
    if (granule == nullptr) return {};
    if constexpr (one_region) phase_.store(address_of(granule) % Granule, memory_order_relaxed);  // always the same
    tag* const t = write_tag(static_cast<std::byte*>(granule), whose);
    if constexpr (Checks) used_.insert(*t, t + 1, room);
    return {t + 1, room};
  }
  void release(memory region, std::size_t) noexcept {
    tag* const t = static_cast<tag*>(region.start) - 1;
    if constexpr (Checks) used_.take_out(*t);
    granules_.deallocate(granule_of(region.start));
  }

  /// No granule, which a class would fill with a magazine or two.
  memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept { return stores_.acquire_own(bytes, alignment); }
  void release_own(memory region, std::size_t alignment) noexcept { stores_.release_own(region, alignment); }
  std::size_t own_bytes() const noexcept { return stores_.own_bytes(); }

  owned acquire_large(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (!serves_large) return {};
    const owned got = stores_.acquire_any(bytes, larger(alignment, Granule));
    if (got) write_tag(static_cast<std::byte*>(got.region.start), nullptr);
    return got;
  }
  void release_large(owned region, std::size_t alignment) noexcept { stores_.release(region, larger(alignment, Granule)); }

  bool is_at_store() const noexcept { return stores_.is_at_store(); }
  /// As the same in owner_stores.
  void tell() noexcept {
    stores_.tell();
    if constexpr (granules_tell) inspector::tell(granules_);
  }

  /// The owner of the chunk that contains the block; null: none, the block has no class.
  void* owner_of(const void* block) const noexcept {
    if constexpr (Checks) {
      void* whose = nullptr;
      used_.find(block, [&](const tag& t) { whose = t.whose; });
      return whose;
    }
    if constexpr (serves_large)
      if (address_of(block) % Granule == 0) [[unlikely]] return nullptr;  // aligned so much; a class' blocks never start there
    return std::launder(reinterpret_cast<const tag*>(place_of_tag(granule_of(block))))->whose;
  }

  std::size_t trim() noexcept { return granules_.trim(); }
  std::size_t trim_if_idle() noexcept { return inspector::trim_if_idle(granules_); }
  template <class... Until>
  maintained maintain(const Until&... until) noexcept
    requires requires(granules& all) { all.maintain(until...); }
  {
    return granules_.maintain(until...);
  }
  /// No other pool asks this one any more.
  void be_left_alone() noexcept { inspector::be_left_alone(granules_); }
  void release_all() noexcept {
    granules_.release();
    inspector::end_stores(granules_);
    if constexpr (Checks) used_.leave();
    stores_.release_all();
  }

 private:
  /// The values given to the owner, and those of its own policies.
  template <class Values>
  struct granule_values {
    static constexpr bool nothrow = Values::nothrow;
    const Values& given;
    template <class P>
    constexpr P get() const noexcept {
      if constexpr (one_of<P, store_of_owner<stores>, second_of_owner<stores, Exhaustion>>) return P();
      else if constexpr (std::is_same_v<P, granules_reclaim<Exhaustion>>) return P{given.template get<Exhaustion>()};
      else return given.template get<P>();
    }
    template <class Array>
    static constexpr Array* array_of() noexcept
      requires requires { Values::template array_of<Array>(); }
    {
      return Values::template array_of<Array>();
    }
  };

  /// The start of the granule that the address lies in.
  std::byte* granule_of(const void* address) const noexcept {
    std::size_t at = address_of(address);
    if constexpr (one_region) at -= phase_.load(memory_order_relaxed);
    return static_cast<std::byte*>(const_cast<void*>(address)) - at % Granule;
  }
  static std::byte* place_of_tag(std::byte* granule) noexcept {
    return granule + address_of(granule) / Granule % colours * sizeof(tag);
  }
  static tag* write_tag(std::byte* granule, void* whose) noexcept {
    auto* const t = ::new (place_of_tag(granule)) tag;
    t->whose = whose;
    return t;
  }

  stores stores_;
  typename body_without_end<granules, Identity>::type granules_;
  bool belongs_ = false;
  // Order: relaxed. Always the same value, written before the region's first block is allocated.
  atomic_word<std::size_t> phase_ = 0;  // where granules start, modulo their size
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Checks, known_spans<tag, Locking>, no_spans> used_;
};

/// Every region from tagged_chunks has the same size, and all of it becomes the chunk.
struct whole_region {
  using axis = tarn::axis::growth;
  static constexpr growth_traits traits{};
  constexpr chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {1, unlimited}; }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_STORES_H_
