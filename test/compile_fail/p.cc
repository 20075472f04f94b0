// P: policies of your own that lack something.
#include <cstddef>
#include <cstdlib>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/detail/protocol.h"

// Stores for several cases: one whose acquire() may throw, one without traits, one that takes nothing back.
template <bool Throws>
struct some_store : tarn::heap_store {
  template <class Traits>
  struct source : tarn::heap_store::source<Traits> {
    using base = tarn::heap_store::source<Traits>;
    using base::base;
    tarn::detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept(!Throws) {
      return base::acquire(bytes, alignment);
    }
  };
};
struct unknown_store {
  using axis = tarn::axis::store;
  template <class Traits>
  using source = tarn::heap_store::source<Traits>;
};
struct known_store : tarn::heap_store {};
struct leaking_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  template <class Traits>
  struct source {
    constexpr explicit source(const leaking_store&) noexcept {}
    tarn::detail::memory acquire(std::size_t bytes, std::size_t) noexcept { return {std::malloc(bytes), bytes}; }
  };
};

// case p1_size_without_alignment: tarn: [P1] this size policy lacks a member that the pool uses
// It names no alignment.
template <std::size_t Bytes>
struct rounded_size {
  using axis = tarn::axis::size;
  static constexpr tarn::size_traits traits{};
  static constexpr std::size_t bytes() noexcept { return (Bytes + 7) / 8 * 8; }
};
template <std::size_t Bytes>
struct aligned_size : rounded_size<Bytes> {
  static constexpr std::size_t alignment() noexcept { return 8; }
};

RIGHT(tarn::pool<aligned_size<60>> right;)
WRONG(tarn::pool<rounded_size<60>> wrong;)

// case p2_locking_with_mutable_guards: tarn: [P2] this locking policy lacks a member that the pool uses
// owns() and capacity() lock too, in a pool that is const.
struct mutable_locking : tarn::no_locking {
  template <class Traits>
  struct state : tarn::no_locking::state<Traits> {
    tarn::detail::no_guard core_guard() noexcept { return {}; }
  };
};

RIGHT(tarn::pool<tarn::static_size<64>, tarn::no_locking> right;)
WRONG(tarn::pool<tarn::static_size<64>, mutable_locking> wrong; bool use(const void* p) { return wrong.owns(p); })

// case p3_growth_that_may_throw: tarn: [P3] this growth policy lacks a member that the pool uses
// next_chunk() isn't noexcept, but runs under a lock.
struct throwing_growth {
  using axis = tarn::axis::growth;
  static constexpr tarn::growth_traits traits{.max_chunks = tarn::unlimited};
  tarn::detail::chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const { return {32, 32}; }
};
struct even_growth : throwing_growth {
  tarn::detail::chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {32, 32}; }
};

RIGHT(tarn::pool<tarn::static_size<64>, even_growth> right;)
WRONG(tarn::pool<tarn::static_size<64>, throwing_growth> wrong;)

// case p4_store_that_may_throw: tarn: [P4] this store policy lacks a member that the pool uses
// mentions: acquire
// acquire() isn't noexcept. The notes name it. A refused pool has store(), too.
RIGHT(tarn::pool<tarn::static_size<64>, some_store<false>> right; auto& use() { return right.store(); })
WRONG(tarn::pool<tarn::static_size<64>, some_store<true>> wrong; auto& use() { return wrong.store(); })

// case p4_second_store_that_may_throw: tarn: [P4] this store policy lacks a member that the pool uses
// mentions: acquire
// The second store is asked, too.
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<some_store<false>>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<some_store<true>>> wrong;)

// case p4_second_store_without_traits: tarn: [P4] this store policy lacks a member that the pool uses
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<known_store>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<unknown_store>> wrong;)

// case p4_store_of_classes_without_release: tarn: [P4] this store policy lacks a member that the pool uses
// mentions: release
// The store that size classes share.
RIGHT(using store = tarn::heap_store;)
WRONG(using store = leaking_store;)
tarn::size_class_pool<store> pool;
void use() { pool.deallocate(pool.allocate(100, 8), 100, 8); }

// case p4_store_of_a_heap_that_may_throw: tarn: [P4] this store policy lacks a member that the pool uses
// mentions: acquire
struct messages;
RIGHT(using heap = tarn::xallocator<messages, some_store<false>>;)
WRONG(using heap = tarn::xallocator<messages, some_store<true>>;)
void use() { heap::deallocate(heap::allocate(10)); }

// case p6_retention_without_part: tarn: [P6] this retention policy lacks a member that the pool uses
struct partless {
  using axis = tarn::axis::retention;
  static constexpr tarn::retention_traits traits{};
};

RIGHT(tarn::pool<tarn::static_size<64>, tarn::keep_chunks> right;)
WRONG(tarn::pool<tarn::static_size<64>, partless> wrong;)

// shows: FM-9
// case p7_exhaustion_that_may_throw: tarn: [P7] this exhaustion policy lacks a member that the pool uses
// retry() isn't noexcept; a handler that throws would leave a call half done.
struct throwing_handler : tarn::report_exhaustion {
  template <class Traits>
  struct state : tarn::report_exhaustion::state<Traits> {
    using tarn::report_exhaustion::state<Traits>::state;
    bool retry(std::size_t) { throw 1; }
  };
};

RIGHT(tarn::pool<tarn::static_size<64>, tarn::report_exhaustion> right;)
WRONG(tarn::pool<tarn::static_size<64>, throwing_handler> wrong;)

// case p8_checking_without_verdict: tarn: [P8] this checking policy lacks a member that the pool uses
// on_deallocate() says nothing of the block.
template <class Verdict>
struct checking_of : tarn::no_checking {
  static constexpr tarn::checking_traits traits{.refuses = true};
  template <class Traits>
  struct state {
    using core = typename Traits::chunks;
    constexpr explicit state(const checking_of&) noexcept {}
    tarn::detail::status on_allocate(core&, void*) noexcept { return tarn::detail::status::done; }
    Verdict on_deallocate(core&, void*) noexcept { return Verdict(); }
    void describe_allocate(core&, void*, tarn::detail::pending_report&) noexcept {}
    void describe_deallocate(core&, void*, tarn::detail::pending_report&) noexcept {}
    void report(tarn::misuse&) noexcept {}
  };
};

RIGHT(tarn::pool<tarn::static_size<64>, checking_of<tarn::detail::status>> right;)
WRONG(tarn::pool<tarn::static_size<64>, checking_of<void>> wrong;)

// case p9_statistics_that_cannot_be_read: tarn: [P9] this statistics policy lacks a member that the pool uses
// What counts must have read().
struct secretive : tarn::no_statistics {
  static constexpr tarn::statistics_traits traits{.counts = true};
  template <class Traits>
  struct state : tarn::no_statistics::state<Traits> {
    using tarn::no_statistics::state<Traits>::state;
  };
};
struct open_book : tarn::no_statistics {
  static constexpr tarn::statistics_traits traits{.counts = true};
  template <class Traits>
  struct state : secretive::state<Traits> {
    constexpr explicit state(const open_book&) noexcept : secretive::state<Traits>(secretive{}) {}
    constexpr int read() const noexcept { return 0; }
  };
};

RIGHT(tarn::pool<tarn::static_size<64>, open_book> right;)
WRONG(tarn::pool<tarn::static_size<64>, secretive> wrong; void use() { static_cast<void>(wrong.statistics()); })

// case p10_a_name_without_its_text: tarn: [P10] this name policy lacks a member that the pool uses
struct nameless {
  using axis = tarn::axis::name;
  static constexpr tarn::name_traits traits{.is_listed = true};
};
struct with_text : nameless {
  constexpr tarn::pool_listing listing() const noexcept { return {"orders", {}}; }
};

RIGHT(tarn::pool<tarn::static_size<64>, with_text> right;)
WRONG(tarn::pool<tarn::static_size<64>, nameless> wrong;)

// case p5_a_named_pool_over_a_reuse_policy_that_cannot_count: tarn: [P5] this reuse policy lacks a member that the pool uses
// The registry couldn't count what is free.
struct without_counts : tarn::lifo_reuse<> {
  template <class Traits>
  struct list : tarn::lifo_reuse<>::list<Traits> {
    void in_front() const noexcept {}
  };
};

RIGHT(tarn::pool<tarn::static_size<64>, without_counts> right;)
WRONG(tarn::pool<tarn::static_size<64>, without_counts, tarn::named<"orders">> wrong;)
