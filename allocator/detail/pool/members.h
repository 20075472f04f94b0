// The state of a pool, and its members, each written once, in the order of the documentation.
//
//   pool_state     one struct; no member contains another's state. Paths and growth are functions on it
//   pool_members   those that don't depend on the size of its blocks: pools of many sizes share them
//   pool_body      the others
//
// take and put belong to the path: paths.h. slow_path.h has the order of events.
// There is no destructor, so that a static pool is constant-initialised and never destroyed.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_MEMBERS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_MEMBERS_H_

#include <cstddef>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/compose/pool_traits.h"
#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/allocator/detail/pool/paths.h"
#include "tarn/allocator/detail/pool/slow_path.h"
#include "tarn/allocator/detail/pool/upstream.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/config.h"

namespace tarn {
template <class Members>
class block_reservation;
}  // namespace tarn

namespace tarn::detail {

/// What a hit needs, kept at the front.
template <class Traits>
struct hot_state {
  template <class Values>
  TARN_STEP constexpr explicit hot_state(const Values& values) noexcept(Values::nothrow) : chunks(values) {}

  TARN_NO_UNIQUE_ADDRESS typename Traits::locking::template state<Traits> locking;  // guards; a thread cache or a stack
  typename Traits::reuse::template list<Traits> list;                               // free blocks
  typename Traits::chunks chunks;  // carving, finding a block's chunk, what growth and retention decide
};
/// What a hit touches is in front of the array, where the shortest instructions reach it. On Cortex-M0+ a distance of more than
/// 124 bytes takes one more word in each function, and on M4 each access is twice as long. The array pads itself after it: see
/// Traits::bytes_in_front_of_array().
template <class Traits>
  requires(Traits::is_plain_array)
struct alignas(Traits::array_alignment()) hot_state<Traits> {
  template <class Values>
  TARN_STEP constexpr explicit hot_state(const Values& values) noexcept(Values::nothrow) : chunks(values) {}

  typename Traits::reuse::template list<Traits> list;
  TARN_NO_UNIQUE_ADDRESS typename Traits::chunks chunks;
  TARN_NO_UNIQUE_ADDRESS typename Traits::locking::template state<Traits> locking;
};

/// The pool itself; the address of its state is the address of the pool.
template <class Traits>
struct pool_state : hot_state<Traits> {
  using traits = Traits;
  using chunk = typename Traits::chunk;
  using locking_state = typename Traits::locking::template state<Traits>;

  template <class Values>
  TARN_STEP constexpr explicit pool_state(const Values& values) noexcept(Values::nothrow)
      : hot_state<Traits>(values),
        upstream(values),
        checking(values.template get<typename Traits::checking>()),
        statistics(values.template get<typename Traits::statistics>()),
        name(values.template get<typename Traits::name>()) {
    if constexpr (Traits::checking::traits.knows_pool) checking.belongs_to(this);
  }
  pool_state(const pool_state&) = delete;
  pool_state& operator=(const pool_state&) = delete;

  /// Whether a hit holds no lock. Only in that case may make_room() be a separate step, because otherwise another thread could
  /// push into a full list between the two locks.
  static constexpr bool hits_unguarded =
      std::is_same_v<decltype(static_cast<const locking_state*>(nullptr)->hit_guard()), no_guard>;
  /// Whether nothing synchronises threads.
  static constexpr bool is_confined =
      std::is_same_v<decltype(static_cast<const locking_state*>(nullptr)->core_guard()), no_guard>;

  TARN_NO_UNIQUE_ADDRESS detail::upstream<Traits> upstream;  // the store, and what exhaustion adds to it
  TARN_NO_UNIQUE_ADDRESS typename Traits::checking::template state<Traits> checking;
  TARN_NO_UNIQUE_ADDRESS typename Traits::statistics::template state<Traits> statistics;
  TARN_NO_UNIQUE_ADDRESS typename Traits::name::state name;  // its entry in the registry
  TARN_NO_UNIQUE_ADDRESS chunk_ahead<Traits> ahead;  // what maintain() got, before it is part of the pool
};

template <class Traits>
class pool_members {
  using state = pool_state<Traits>;
  static constexpr bool refuses = Traits::checking::traits.refuses;
  static constexpr bool may_end_in_use = Traits::checking::traits.may_end_in_use;
  using path = path_of<state>;
  using slow = slow_path<state>;
  using sampled = sampled_path<state>;
  friend struct inspector;
  template <class Members>
  friend class tarn::block_reservation;

 public:
  template <class Values>
  TARN_STEP constexpr explicit pool_members(const Values& values) noexcept(Values::nothrow) : state_(values) {}
  pool_members(const pool_members&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");

  // ---- blocks --------------------------------------------------------------------------------------------------------------
#if TARN_EXCEPTIONS
  /// Returns a block: block_size() bytes, aligned to block_alignment(), their content unspecified. Waits for one under
  /// wait_for_block.
  /// Throws: std::bad_alloc if the pool is exhausted; it is then unchanged.
  [[nodiscard("tarn: a discarded block is leaked")]] void* allocate() {  // changes the pool: not for a const one
    if constexpr (refuses)
      if (!path::admits_caller(state_)) [[unlikely]] throw std::bad_alloc();
    if constexpr (Traits::samples)
      if (void* const block = sampled::take(state_)) [[unlikely]] return block;
    void* const block = path::take(state_);
    if constexpr (path::leaves_checks) if (path::is_checked(state_)) [[unlikely]] return slow::allocate_on(state_, block);
    if (block != nullptr) [[likely]] return block;
    return slow::allocate(state_);
  }
#endif

  /// Like allocate(), but returns null if the pool is exhausted, and never waits for a block.
  [[nodiscard("tarn: a discarded block is leaked")]] void* try_allocate() noexcept {  // not for a const pool
    if constexpr (refuses)
      if (!path::admits_caller(state_)) [[unlikely]] return nullptr;
    if constexpr (Traits::samples)
      if (void* const block = sampled::take(state_)) [[unlikely]] return block;
    void* const block = path::take(state_);
    if constexpr (path::leaves_checks) if (path::is_checked(state_)) [[unlikely]] return slow::try_allocate_on(state_, block);
    if ((Traits::has_one_way && Traits::ends_empty && !hears_events<state>) || block != nullptr) [[likely]] return block;
    return slow::try_allocate(state_);
  }

  /// Like allocate(), but waits for at most `timeout`, a std::chrono::duration or a similar type. Returns null when the time is
  /// over. First come, first served.
  template <detail::time_span Duration>
  [[nodiscard("tarn: a discarded block is leaked")]] void* allocate_within(const Duration& timeout) noexcept
    requires(Traits::waits)
  {
    return allocate_under(waits_within{nanoseconds_of(timeout)});
  }

  /// Like allocate(), but returns null where that throws. For builds without exceptions.
  [[nodiscard("tarn: a discarded block is leaked")]] void* allocate_or_null() noexcept {
    if constexpr (Traits::waits) return allocate_under(waits_as_usual());
    else return try_allocate();
  }

  /// Frees a block; null: does nothing. Never fails, needs memory, or waits for a thread that is at the store. Precondition:
  /// `block` is null, or came from this pool and was not freed since. A checking policy reports a block that can't be freed;
  /// then nothing happens.
  void deallocate(void* block) noexcept {  // changes the pool: not for a const one
    if (!Traits::takes_null && block == nullptr) [[unlikely]] return;
    if constexpr (refuses)
      if (!path::admits_caller(state_)) [[unlikely]] return;
    if constexpr (Traits::samples)
      if (sampled::owns(state_, block)) [[unlikely]] return sampled::put(state_, block);
    if constexpr (path::leaves_checks) if (path::is_checked(state_)) [[unlikely]] return slow::deallocate_on(state_, block);
    const status answer = path::put(state_, block);
    if constexpr (Traits::hears_frees) return slow::settle_any(state_, block, answer);
    if (answer == status::crowded) [[unlikely]]
      return slow::make_room(Traits::is_static ? block : detail::pointer_to(state_), state_);
    if (answer != status::done && (!refuses || answer != status::refused)) [[unlikely]] slow::settle(state_, block, answer);
  }

  /// The same, with the size and alignment that the caller requested.
  /// Precondition: they are at most block_size() and block_alignment(). A checking policy reports other values, and nothing
  /// happens.
  void deallocate(void* block, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t alignment = 1) noexcept {
    if constexpr (refuses)
      if (block != nullptr && !path::admits_size(state_, block, bytes, alignment)) [[unlikely]] return;
    deallocate(block);
  }

#if TARN_EXCEPTIONS
  /// Fills `out` with blocks. Returns out.size(). Under wait_for_block it waits for all of them together, and holds none while
  /// it waits; if the pool has fewer blocks in all, it doesn't wait.
  /// Throws: std::bad_alloc if it can't get all of them; then none is allocated. New chunks stay.
  std::size_t allocate_batch(span<void*> out) {
    const std::size_t got = take_batch(out, waits_as_usual());
    if (got == out.size()) return got;
    deallocate_batch(out.first(got));
    throw std::bad_alloc();
  }
#endif

  /// Fills `out` with blocks from its start. Returns how many: fewer than out.size() if the pool is exhausted. Never waits.
  std::size_t try_allocate_batch(span<void*> out) noexcept {
    return path::admits_caller(state_) ? slow::take_batch(state_, out) : 0;
  }

  /// Like allocate_batch(), but waits for at most `timeout`, as allocate_within(). Returns how many blocks are in `out`, from
  /// its start: fewer than out.size() if the time is over.
  template <detail::time_span Duration>
  std::size_t allocate_batch_within(const Duration& timeout, span<void*> out) noexcept
    requires(Traits::waits)
  {
    return take_batch(out, waits_within{nanoseconds_of(timeout)});
  }

  /// Frees many blocks; ignores null. Precondition: as for deallocate(); none twice.
  void deallocate_batch(span<void* const> blocks) noexcept {
    while (!blocks.empty()) {
      const auto some = blocks.first(smaller(64, blocks.size()));  // so that no lock is held for long
      blocks = blocks.subspan(some.size());
      if constexpr (!refuses && !Traits::samples) slow::put_batch(state_, some);
      else
        for (std::size_t i = some.size(); i-- != 0;) deallocate(some[i]);  // the first of the batch is allocated first
    }
  }

  /// Records where a block was allocated, for reports, if the checking policy keeps that. Precondition: the block is in use.
  void note_site([[maybe_unused]] const void* block, [[maybe_unused]] call_site where = call_site::current()) noexcept {
    if constexpr (Traits::has_sites) path::note_site(state_, block, where);
  }

  // ---- chunks --------------------------------------------------------------------------------------------------------------
#if TARN_EXCEPTIONS
  /// Gets chunks until capacity() is at least `blocks`, and does what the first calls would otherwise do: creates the random
  /// numbers of hardened and checked, and numbers the blocks of lock_free, O(capacity()). So the next allocations cost no more
  /// than later ones. Blocks aren't touched.
  /// Throws: std::bad_alloc if the store or the growth policy refuses; the pool is then unchanged, except that
  /// reclaim_and_retry may have returned empty chunks.
  void reserve(std::size_t blocks) {
    if (!try_reserve(blocks)) throw std::bad_alloc();
  }
#endif

  /// Like reserve(), but returns whether it succeeded.
  bool try_reserve(std::size_t blocks) noexcept { return path::admits_caller(state_) && slow::reserve(state_, blocks); }

  /// Gets chunks until there are as many unused blocks as the growth policy requires, with their pages in memory, and frees
  /// what the retention policy doesn't keep. Returns the result; a refusal leaves the pool unchanged. Only threads that return
  /// memory wait for it, for one slice at most. O(work to be done).
  maintained maintain() noexcept
    requires(Traits::has_maintenance)
  {
    return path::admits_caller(state_) ? slow::maintain(state_, deadline()) : maintained::refused;
  }
  /// The same until a time, such as a std::chrono::time_point. It returns at most one step later, and does at least one: a
  /// slice of 16 pages, or the calls of the store for one chunk.
  template <point_in_time TimePoint>
  maintained maintain(const TimePoint& until) noexcept
    requires(Traits::has_maintenance)
  {
    return path::admits_caller(state_) ? slow::maintain(state_, deadline(until)) : maintained::refused;
  }

  /// Frees empty chunks and, if the retention policy does, idle pages; if no chunk is left, also the pool's own memory,
  /// unless another thread uses it. Returns the bytes of chunks and pages. O(log chunks) for each chunk that is freed.
  /// Visits the blocks in the front with page_local_reuse, otherwise every free block, O(log chunks) each; with batch_reuse
  /// none if nothing changed since the last call.
  std::size_t trim() noexcept
    requires(Traits::may_return_chunks)
  {
    return path::admits_caller(state_) ? slow::trim(state_) : 0;
  }

  /// Returns every chunk to the store, including blocks in use. O(chunks).
  /// Precondition: no other thread, including a maintenance_thread, uses the pool.
  void release() noexcept
    requires(Traits::may_return_chunks)
  {
    if (path::admits_caller(state_)) slow::release(state_);
  }

  // ---- blocks set aside: defined in a header of its own, which pool.h need not include -------------------------------------

  /// What reserve_blocks() and try_reserve_blocks() return.
  using reservation = block_reservation<pool_members>;

#if TARN_EXCEPTIONS
  /// Reserves blocks, and brings their pages into memory. That many allocations through the reservation that it returns can't
  /// fail. Needs "tarn/allocator/block_reservation.h". O(blocks).
  /// Throws: std::bad_alloc if it can't get all of them; then it takes none, and the pool keeps no new chunk.
  template <class Reservation = reservation>
  auto reserve_blocks(std::size_t blocks) {
    auto all = try_reserve_blocks<Reservation>(blocks);
    if (!static_cast<bool>(all)) throw std::bad_alloc();
    return all;
  }
#endif

  /// Like reserve_blocks(), but what it returns is false if the pool can't get all of them.
  template <class Reservation = reservation>
  auto try_reserve_blocks(std::size_t blocks) noexcept {
    static_assert(defined<Reservation>, "tarn: [I4] reserve_blocks() needs tarn/allocator/block_reservation.h; include it");
    if constexpr (defined<Reservation>) return Reservation(*this, blocks);
    else return rejected<>();
  }

  // ---- questions -----------------------------------------------------------------------------------------------------------
  /// Returns whether the address is within the blocks of one of the pool's chunks, free or in use.
  bool owns(const void* address) const noexcept {
    if constexpr (Traits::samples)
      if (sampled::owns(state_, address)) return true;
    const ask_lock guard(state_);
    return state_.chunks.find(address) != nullptr;
  }

  /// Returns how many blocks the pool's chunks have, free or in use. Over a bounded store it has them from the start.
  std::size_t capacity() const noexcept {
    if constexpr (Traits::store::traits.bounded) return detail::most_capacity_of(state_);
    else return detail::capacity_of(state_);
  }

  /// Returns what the statistics policy counted.
  auto statistics() const noexcept
    requires(Traits::counts)
  {
    const ask_lock guard(state_);
    return state_.statistics.read();
  }

  /// Returns the pool's source, to read what its store reports.
  /// Precondition: no chunk is added or removed while you read what depends on the chunks.
  const auto& store() const noexcept
    requires(Traits::has_source)
  {
    return state_.upstream.store();
  }

  /// Returns a page_report. Reads a system file: 5 ms per GiB.
  auto pages() const noexcept
    requires(Traits::reports_pages)
  {
    const store_look growing(state_);
    return growing.is_held() ? state_.upstream.pages() : decltype(state_.upstream.pages())();
  }

  // ---- checking ------------------------------------------------------------------------------------------------------------
  /// Checks every block, in use or free, and reports those with overwritten bytes. Returns how many. O(bytes).
  std::size_t verify() noexcept
    requires(Traits::can_verify)
  {
    return path::verify(state_);
  }

  /// Lets another thread take over the pool and its group: a checking policy that records the owner forgets it. Precondition:
  /// what this thread did happens before what that one does.
  void hand_over() noexcept {
    if constexpr (Traits::checking::traits.knows_owner) state_.checking.hand_over();
  }

  /// For a SIGSEGV handler: describes the sampled block near the faulting address, if any. Returns false, and leaves `what`
  /// unchanged, if there is none. Allocates nothing, takes no lock.
  bool explain_fault(const void* address, misuse& what) const noexcept
    requires(Traits::samples)
  {
    return sampled::explain_fault(state_, address, what);
  }

 protected:
  decltype(auto) geometry() const noexcept { return state_.chunks.geometry(); }

  TARN_STEP void open() noexcept { detail::be_registered(state_); }  // with nothing held
  void close() noexcept {
    slow::close(state_);
    if constexpr (refuses) detail::keep_stores(this);  // so that a later check finds that the pool was destroyed
  }

 private:
  /// As try_allocate(), but waits up to `limit`.
  void* allocate_under(auto limit) noexcept {
    if constexpr (refuses)
      if (!path::admits_caller(state_)) [[unlikely]] return nullptr;
    if constexpr (Traits::samples)
      if (void* const block = sampled::take(state_)) [[unlikely]] return block;
    void* const block = path::take(state_);
    return block != nullptr ? block : slow::allocate_within(state_, limit);
  }
  /// As try_allocate_batch(), but waits up to `limit`.
  template <class Limit>
  std::size_t take_batch(span<void*> out, [[maybe_unused]] Limit limit) noexcept {
    if constexpr (!waits_under<state, Limit>) {
      return try_allocate_batch(out);
    } else {
      if (!path::admits_caller(state_)) return 0;
      const bool could = slow::can_have(state_, out.size());  // before: chunks may be freed and allocated in between
      std::size_t got = slow::take_batch(state_, out, only_looks());
      if (got == out.size()) return got;
      if (!could && !slow::can_have(state_, out.size())) return detail::on_refusal(state_), got;
      deallocate_batch(out.first(got));
      return slow::wait_for_batch(state_, out, limit);
    }
  }

  state state_;
};

/// The exact number of bytes that a buffer needs for N blocks, and of blocks that fit into N bytes, before there is a pool. For
/// pools with a store, or a second one, over the caller's bounded region.
template <class Traits>
struct buffer_sizes {
  using geometry = typename Traits::geometry;
  using layout = typename Traits::layout;

  static constexpr std::size_t bytes_for(std::size_t n, const geometry& g, std::size_t alignment) noexcept {
    if (n > at_most(g)) return size_max;
    return n == 0 ? 0 : add(skipped(g, alignment), layout::bytes(n, g));
  }
  static constexpr std::size_t blocks_in(std::size_t bytes, const geometry& g, std::size_t alignment) noexcept {
    const std::size_t lost = skipped(g, alignment);
    return bytes < lost ? 0 : layout::blocks_in(bytes - lost, at_most(g), g);
  }

 private:
  /// The bytes that the store skips in front.
  static constexpr std::size_t skipped(const geometry& g, std::size_t alignment) noexcept {
    const std::size_t needed = Traits::chunk_alignment(g);
    return needed - smaller(needed, larger(alignment, 1));
  }
  static constexpr std::size_t at_most(const geometry& g) noexcept {
    return typename Traits::growth_in_buffer().next_chunk(0, 0, g.stride()).at_most;
  }
};

/// The bytes that a pool has from its store once that many blocks were in use at a time.
template <class Traits>
  requires(Traits::bytes_follow_from_peak)
constexpr std::size_t bytes_at_peak(std::size_t peak, const typename Traits::geometry& g) noexcept {
  using store = typename Traits::store;
  if constexpr (Traits::holds_array) return peak <= store::blocks ? 0 : size_max;
  if (g.extent(peak) > size_limit) return size_max;  // as reserve(), before many steps
  std::size_t bytes = 0;
  for (std::size_t total = 0, last = 0; total < peak; total += last) {
    const chunk_request request = typename Traits::growth().next_chunk(last, total, g.stride());
    auto its = upstream<Traits>::size_of_chunk(request, g);
    if (request.wanted == 0 || its.bytes > size_limit) return size_max;
    if constexpr (store::traits.rounds_up) {
      its.bytes = typename store::template source<Traits>(store()).rounded_up(its.bytes, Traits::chunk_alignment(g));
      its.blocks = Traits::layout::blocks_in(its.bytes, request.at_most, g);
    }
    bytes = add(bytes, its.bytes);
    last = its.blocks;
  }
  return bytes;
}

/// If the size is known before there is a pool.
/// \tparam Traits  the machinery's; their size is Size, or one that many pools share
/// \tparam Size    the pool's size policy
template <class Traits, class Size>
class pool_body : public pool_members<Traits> {
  using members = pool_members<Traits>;
  static constexpr bool shares_code = !std::is_same_v<typename Traits::size, Size>;

  template <class Values>
  TARN_STEP static constexpr decltype(auto) with_size(const Values& values) noexcept {
    using size = typename Traits::size;
    if constexpr (shares_code) return values_and<const Values&, size>(values, size(Size::bytes(), Size::alignment()));
    else return (values);
  }

 public:
  template <class Values>
  TARN_STEP constexpr explicit pool_body(const Values& values) noexcept(Values::nothrow) : members(with_size(values)) {}
  pool_body(const pool_body&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");

  /// Return the size and the alignment of a block in bytes, from the size policy.
  static constexpr std::size_t block_size() noexcept { return Size::bytes(); }
  static constexpr std::size_t block_alignment() noexcept { return Size::alignment(); }

  /// Returns the bytes of a buffer that yields exactly `blocks` blocks. `alignment`, a power of two: the known alignment of the
  /// buffer's address. size_max: the pool never has that many blocks.
  static constexpr std::size_t bytes_for(std::size_t blocks, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer)
  {
    return buffer_sizes<Traits>::bytes_for(blocks, typename Traits::geometry(), alignment);
  }
  /// Returns how many blocks a buffer of that many bytes yields if its address is a multiple of `alignment` and of no larger
  /// power of two. With a higher alignment there may be one more.
  static constexpr std::size_t blocks_in(std::size_t bytes, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer)
  {
    return buffer_sizes<Traits>::blocks_in(bytes, typename Traits::geometry(), alignment);
  }
  /// Returns the bytes that a pool gets from its store until `blocks` blocks are in use at a time. The pool then holds them,
  /// whatever is freed. If the blocks are in the pool object, returns 0; if it never has that many, size_max. Exact, unless the
  /// pool was trimmed, or the store refused or gave more (what page_store adds is included). O(chunks).
  static constexpr std::size_t bytes_for_peak(std::size_t blocks) noexcept
    requires(Traits::bytes_follow_from_peak)
  {
    return bytes_at_peak<Traits>(blocks, peak_geometry());
  }

 private:
  static constexpr auto peak_geometry() noexcept {
    using geometry = typename Traits::geometry;
    if constexpr (shares_code) return geometry(typename Traits::size(Size::bytes(), Size::alignment()));
    else return geometry();
  }
};

/// The same if the size is given to the pool at run time.
template <class Traits, class Size>
  requires(Size::traits.at_run_time)
class pool_body<Traits, Size> : public pool_members<Traits> {
 public:
  using pool_members<Traits>::pool_members;
  pool_body(const pool_body&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");

  std::size_t block_size() const noexcept { return this->geometry().block_size(); }
  std::size_t block_alignment() const noexcept { return this->geometry().block_alignment(); }

  static constexpr std::size_t bytes_for(std::size_t blocks, const Size& of, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer)
  {
    return buffer_sizes<Traits>::bytes_for(blocks, typename Traits::geometry(of), alignment);
  }
  static constexpr std::size_t blocks_in(std::size_t bytes, const Size& of, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer)
  {
    return buffer_sizes<Traits>::blocks_in(bytes, typename Traits::geometry(of), alignment);
  }
  static constexpr std::size_t bytes_for_peak(std::size_t blocks, const Size& of) noexcept
    requires(Traits::bytes_follow_from_peak)
  {
    return bytes_at_peak<Traits>(blocks, typename Traits::geometry(of));
  }
  // Declared without the size as well, so that the error says why.
  static std::size_t bytes_for(std::size_t blocks, std::size_t alignment = 1) noexcept
    requires(!Traits::size_is_given_at_run_time);
  static std::size_t blocks_in(std::size_t bytes, std::size_t alignment = 1) noexcept
    requires(!Traits::size_is_given_at_run_time);
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_MEMBERS_H_
