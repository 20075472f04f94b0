// The members of a pool, each written once, in the order of the documentation; and the order of events, top to bottom.
//
//   allocate     take [hit: pop, count]   miss: slow
//   slow         [hit: pop_slow, count]   miss: cold
//   cold         [growth: slow again, since another thread may have grown; grow]  failed: retry, with nothing held
//   deallocate   put [hit: verdict, count, push; crowded: make_room]  not done: settle
//   settle       full: [hit: push_slow; crowded: make_room]   surplus: [growth: give back]
//   refused      reported, with nothing held
//
// [x: …] under that guard. take and put are the path's: plain_path, or checked_path where a call can be refused. It has no destructor, so
// that a static pool is constant-initialised and never ends.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_MEMBERS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_MEMBERS_H_

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

#include "tarn/allocator/detail/pool/checked_path.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/plain_path.h"
#include "tarn/allocator/detail/pool/sampled_path.h"
#include "tarn/allocator/detail/pool/state.h"
#include "tarn/policies/checking/call_site.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

struct inspector;

template <class Traits>
class pool_members {
  using state = pool_state<Traits>;
  static constexpr bool refuses = Traits::checking::traits.refuses;
  using path = std::conditional_t<refuses, checked_path<state>, plain_path<state>>;
  using sampled = sampled_path<state>;
  using attempt = attempt_at<state>;
  using size_policy = typename Traits::size;
  friend struct inspector;

 public:
  template <class Values>
  constexpr explicit pool_members(const Values& values) noexcept : state_(values) {}

  // ---- blocks --------------------------------------------------------------------------------------------------------------

#if TARN_EXCEPTIONS
  /// Returns a block: block_size() bytes, aligned to block_alignment(), their content unspecified.
  /// Throws: std::bad_alloc where no further chunk can be had; the pool is as it was.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* allocate() {
    if constexpr (refuses) {
      if (!path::admits_caller(state_)) [[unlikely]] throw std::bad_alloc();
    }
    if constexpr (Traits::samples) {
      if (void* const block = sampled::take(state_)) [[unlikely]] return block;
    }
    void* const block = path::take(state_);
    if (block != nullptr) [[likely]]
      return block;
    return allocate_slow();
  }
#endif

  /// As allocate(), but returns null where no further chunk can be had.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* try_allocate() noexcept {
    if constexpr (refuses) {
      if (!path::admits_caller(state_)) [[unlikely]] return nullptr;
    }
    if constexpr (Traits::samples) {
      if (void* const block = sampled::take(state_)) [[unlikely]] return block;
    }
    void* const block = path::take(state_);
    if (block != nullptr) [[likely]]
      return block;
    return try_allocate_slow();
  }

  /// Takes a block back. Never fails, never needs memory, never waits for a store.
  /// Precondition: `block` came from this pool and was not given back since; it is not null. A checking policy reports a block
  /// that can't be given back; then, as for null, nothing happens.
  void deallocate(void* block) noexcept {
    if constexpr (refuses) {
      if (block == nullptr || !path::admits_caller(state_)) [[unlikely]] return;
    }
    if constexpr (Traits::samples) {
      if (sampled::owns(state_, block)) [[unlikely]] return sampled::put(state_, block);
    }
    const outcome answer = path::put(state_, block);
    if constexpr (Traits::hears_frees) state_.supply.freed(1);
    if (answer == outcome::crowded) [[unlikely]]
      return make_room(Traits::is_static ? block : this, *this);
    if (answer != outcome::done) [[unlikely]]
      settle(block, answer);
  }

  /// The same, for who knows what was asked for: bytes, and perhaps an alignment. Precondition: they are at most block_size()
  /// and block_alignment(). A checking policy reports others, and then nothing happens.
  void deallocate(void* block, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t alignment = 1) noexcept {
    if constexpr (refuses) {
      if (block != nullptr && !path::admits_size(state_, block, bytes, alignment)) [[unlikely]] return;
    }
    deallocate(block);
  }

#if TARN_EXCEPTIONS
  /// Fills `out` with blocks. Returns out.size().
  /// Throws: std::bad_alloc where not all of them can be had; none is taken then. Chunks that were got for it stay.
  std::size_t allocate_batch(std::span<void*> out) {
    const std::size_t got = try_allocate_batch(out);
    if (got != out.size()) {
      deallocate_batch(out.first(got));
      throw std::bad_alloc();
    }
    return got;
  }
#endif

  /// Fills `out` with blocks from its start. Returns how many: fewer than out.size() where no further chunk can be had.
  std::size_t try_allocate_batch(std::span<void*> out) noexcept {
    if constexpr (refuses) {
      if (!path::admits_caller(state_)) [[unlikely]] return 0;
    }
    std::size_t got = path::take_batch(state_, out);
    while (got != out.size()) {
      void* const block = try_allocate_slow();
      if (block == nullptr) break;
      out[got++] = block;
      got += path::take_batch(state_, out.subspan(got));
    }
    return got;
  }

  /// Takes many blocks back; `blocks` is read only.
  /// Precondition: as for deallocate(), for each; no block stands in it twice.
  void deallocate_batch(std::span<void* const> blocks) noexcept {
    for (constexpr std::size_t group = 64; !blocks.empty();) {  // so that no lock is held for long
      const auto some = blocks.first(smaller(group, blocks.size()));
      blocks = blocks.subspan(some.size());
      if constexpr (refuses || Traits::samples) {
        for (std::size_t i = some.size(); i-- != 0;) deallocate(some[i]);  // the first of the batch is handed out first
      } else {
        if (path::put_batch(state_, some) == outcome::surplus) give_surplus_back(state_);
        tell_of_leaving(state_);
        if constexpr (Traits::hears_frees) state_.supply.freed(some.size());
      }
    }
  }

  /// Says where a block was asked for, which reports of it will say: a line of the program, or a std::source_location. Does nothing
  /// where the checking policy doesn't keep that. Precondition: the block is in use.
  void note_site([[maybe_unused]] const void* block, [[maybe_unused]] call_site where = call_site::current()) noexcept {
    if constexpr (Traits::has_sites) {
      if (!path::admits_caller(state_)) return;
      [[maybe_unused]] const auto guard = core_guard(state_);
      state_.checking.note_site(state_.chunks, block, where);
    }
  }

  // ---- chunks --------------------------------------------------------------------------------------------------------------

#if TARN_EXCEPTIONS
  /// Gets chunks until capacity() is at least `blocks`.
  /// Throws: std::bad_alloc where the store or the growth policy refuses; the pool is as it was, but for empty chunks, which
  /// reclaim_and_retry may have given back.
  void reserve(std::size_t blocks) {
    if (!try_reserve(blocks)) throw std::bad_alloc();
  }
#endif

  /// As reserve(), but returns whether it could.
  bool try_reserve(std::size_t blocks) noexcept {
    if (!path::admits_caller(state_) || state_.chunks.geometry().extent(blocks) > size_limit) return false;
    attempt one;
    do {
      if constexpr (Traits::in_place) {
        if (blocks <= state_.chunks.capacity()) return true;
      } else {
        be_asked(state_);
        if (grow_to(state_, blocks, one)) return true;
      }
    } while (!Traits::hears_frees && retry(one));  // it waits for a block, which would bring no chunk
    path::tell_of_store(state_);
    return false;
  }

  /// Gives the wholly free chunks back to the store. Returns their bytes. Looks at every free block.
  std::size_t trim() noexcept
    requires(Traits::may_return_chunks)
  {
    if (!path::admits_caller(state_)) return 0;
    const std::size_t bytes = [this] {
      [[maybe_unused]] const auto calling = call_guard(state_);
      state_.locking.drain(state_);
      [[maybe_unused]] const auto growing = growth_guard(state_);
      return return_empty(state_);
    }();
    tell_of_leaving(state_);
    return bytes;
  }

  /// Gives every chunk back to the store at once, in O(chunks). Every block of the pool ends, also those in use.
  /// Precondition: no other thread uses the pool.
  void release() noexcept
    requires(Traits::may_return_chunks)
  {
    if (!path::admits_caller(state_)) return;
    if constexpr (Traits::samples) sampled::drop(state_);
    [[maybe_unused]] const auto calling = call_guard(state_);
    [[maybe_unused]] const auto growing = growth_guard(state_);
    return_all(state_);
  }

  // ---- questions -----------------------------------------------------------------------------------------------------------

  /// Returns whether the address lies in the blocks of one of the pool's chunks: free, in use, or padding between two.
  bool owns(const void* address) const noexcept {
    if constexpr (Traits::samples)
      if (sampled::owns(state_, address)) return true;
    [[maybe_unused]] const auto guard = state_.locking.core_guard();
    return state_.chunks.find(address) != nullptr;
  }

  /// Returns bytes that a block has, and their alignment, as the size policy gave them.
  static constexpr std::size_t block_size() noexcept
    requires(!Traits::size_is_given_at_run_time)
  {
    return size_policy::bytes();
  }
  std::size_t block_size() const noexcept
    requires(Traits::size_is_given_at_run_time)
  {
    return state_.chunks.geometry().block_size();
  }
  static constexpr std::size_t block_alignment() noexcept
    requires(!Traits::size_is_given_at_run_time)
  {
    return size_policy::alignment();
  }
  std::size_t block_alignment() const noexcept
    requires(Traits::size_is_given_at_run_time)
  {
    return state_.chunks.geometry().block_alignment();
  }

  /// Returns blocks in the pool's chunks, free or in use. A pool over a bounded store has them from the start.
  std::size_t capacity() const noexcept {
    if constexpr (Traits::in_place) {
      return state_.chunks.capacity();
    } else if constexpr (Traits::store::traits.bounded) {
      [[maybe_unused]] const auto growing = state_.locking.growth_guard();
      const std::size_t blocks = capacity_of(state_);
      return blocks != 0 ? blocks : capacity_of_store(state_);
    } else {
      return capacity_of(state_);
    }
  }

  /// Returns what the statistics policy counted.
  auto statistics() const noexcept
    requires(Traits::counts)
  {
    [[maybe_unused]] const auto guard = state_.locking.core_guard();
    return state_.statistics.read();
  }

  /// Returns what became of the pages that the store asked for: a page_report. It reads a file of the system, in about 5 ms for
  /// each GiB of small pages.
  auto pages() const noexcept
    requires(Traits::reports_pages)
  {
    [[maybe_unused]] const auto growing = state_.locking.growth_guard();
    return state_.supply.pages();
  }

  // ---- checking ------------------------------------------------------------------------------------------------------------

  /// Looks at every block, in use or free, and reports each that was written where it should not. Returns how many. O(bytes).
  std::size_t verify() noexcept
    requires(Traits::can_verify)
  {
    return path::verify(state_);
  }

  /// Another thread goes on with the pool, and the pools of its group: a checking policy that knows the owner forgets it. Nothing
  /// else happens. Precondition: what this thread did happens before what that one does.
  void hand_over() noexcept {
    if constexpr (Traits::checking::traits.knows_owner) state_.checking.hand_over();
  }

  /// For a handler of SIGSEGV: which sampled block the address belongs to whose access faulted, and what became of the block. Returns
  /// false, and leaves `what` alone, where no such block is near. Allocates nothing, takes no lock.
  bool explain_fault(const void* address, misuse& what) const noexcept
    requires(Traits::samples)
  {
    if (!state_.checking.describe_fault(address, what)) return false;
    what.pool = &state_;
    what.block_size = state_.chunks.geometry().block_size();
    return true;
  }

 protected:
  /// What the destructor of a pool that is an object does.
  void close() noexcept {
    path::end(state_);
    if constexpr (Traits::samples) sampled::drop(state_);
    if constexpr (Traits::checks_leaving) trim();  // so that all that is in a front leaves it
    be_left_alone(state_);
    return_all(state_);
    state_.supply.end();
    if constexpr (Traits::in_place) state_.chunks.end();
    if constexpr (refuses) keep_stores(this);  // who looks into a pool that has ended finds that it has
  }

 private:
  // ---- the slow half: every 64th call or so --------------------------------------------------------------------------------

#if TARN_EXCEPTIONS
  TARN_NOINLINE void* allocate_slow() {
    void* const block = try_allocate_slow();
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
#endif
  TARN_NOINLINE void* try_allocate_slow() noexcept {
    void* const block = path::take_slow(state_);
    if (block == nullptr) {
      if constexpr (Traits::ends_empty) return nullptr;
      else return try_allocate_cold();
    }
    if (state_.locking.starves()) [[unlikely]] feed(state_);
    tell_of_leaving(state_);
    return block;
  }
  TARN_COLD void* try_allocate_cold() noexcept {
    attempt one;
    typename path::notes seen;
    void* block = nullptr;
    if constexpr (Traits::in_place) {
      while ((block = path::take_slow(state_, seen)) == nullptr && retry(one)) {
      }
    } else {
      do {
        be_asked(state_);
        [[maybe_unused]] const auto growing = growth_guard(state_);
        do {
          top_up(state_, nullptr);
          block = path::take_slow(state_, seen);
        } while (block == nullptr && grow(state_, one));
      } while (block == nullptr && retry(one));
    }
    path::tell(state_, seen);
    path::tell_of_store(state_);
    return block;
  }
  /// With nothing held: whether to try again.
  bool retry(attempt& one) noexcept { return state_.supply.retry(state_.chunks.geometry().block_size(), one); }

  /// The first argument is whatever deallocate() has in the first register already: the pool that is an object, or the block
  /// of a static pool. It spares deallocate() a move on every call, with g++ 12 and clang 14 to 19.
  TARN_NOINLINE static void make_room(const void* first, pool_members& pool) noexcept {
    keep_argument(first);
    state& s = pool.state_;
    const outcome answer = [&s] {
      [[maybe_unused]] const auto calling = call_guard(s);
      return s.locking.make_room(s);
    }();
    tell_of_leaving(s);
    if constexpr (Traits::retention::traits.returns_chunks) {
      if (answer == outcome::surplus) [[unlikely]] give_surplus_back(s);
    }
  }
  TARN_NOINLINE void settle(void* block, outcome answer) noexcept {
    if (answer == outcome::full) {
      answer = path::put_slow(state_, block);
      if (state_.locking.starves()) [[unlikely]] feed(state_);
    }
    tell_of_leaving(state_);
    if (answer == outcome::surplus) give_surplus_back(state_);
  }

  state state_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_MEMBERS_H_
