// How a pool gets chunks, and how it returns them. A store is called under the growth lock, and no other.
//
//   grow             a chunk: the one that maintain() got, or else get_chunks
//   get_chunks       as many as it takes, or none; a `growth` is a transaction:
//     fetch          [core: how many blocks?] · region · record
//     top_up         what the chunk map and the locking policy need for themselves · store
//     adopt          [core: into the chunk map and the list]         not adopted: back to the store
//
//   give_surplus_back  called by a free: return_surplus, if the growth lock is available without waiting
//   return_chunks    [core: unlink] · store
//   return_pages     [core: take idle pages] · store · [core: those that it refused are as before]
//   come_back        [core: blocks whose pages were returned may be taken again]
//
//   maintenance      what maintain() does
#ifndef TARN_ALLOCATOR_DETAIL_POOL_GROWTH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_GROWTH_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/allocator/detail/pool/upstream.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

template <class State>
using attempt_at = typename upstream<typename State::traits>::attempt;

std::size_t capacity_of(const auto& s) noexcept {
  const ask_lock guard(s);
  return s.chunks.capacity();
}

/// The capacity, including what an untouched bounded store will provide.
template <class State>
std::size_t most_capacity_of(const State& s) noexcept {
  if constexpr (State::traits::in_place) {
    return s.chunks.capacity();
  } else {
    const store_look growing(s);
    const auto& g = s.chunks.geometry();
    const std::size_t blocks = detail::capacity_of(s);
    return blocks != 0 ? blocks : State::traits::layout::blocks_in(s.upstream.room(g), s.chunks.next(0, 0).at_most, g);
  }
}

/// Whether the pool has every block that it can have. If so, no thread need wait for the growth lock, whose holder may be at
/// the store. Always false if the lock waits for no thread.
template <class State>
bool is_at_cap([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::in_place || State::traits::may_grow_past_cap ||
                again_of<typename State::locking_state> == growth_again::nests) {
    return false;
  } else if constexpr (requires { s.locking.has_nothing_more(); }) {
    return s.locking.has_nothing_more();
  } else {
    const core_lock guard(s);
    return s.chunks.next(0, 0).wanted == 0;
  }
}

// ---- the chunk that maintain() fills ---------------------------------------------------------------------------------------

/// The chunk that maintain() got in advance and fills, a slice of its pages at a time. Changed under the growth lock. A slice
/// is filled with nothing held, so during this the chunk may become part of the pool, be used and be empty again. It must not
/// be returned to the store before: wait_for_fillers().
template <class Traits, bool GrowsAhead = Traits::grows_ahead>
class chunk_ahead {
  using chunk = typename Traits::chunk;

 public:
  static constexpr std::size_t slice_pages = 16;

  chunk* get() const noexcept { return chunk_; }
  std::size_t blocks() const noexcept { return chunk_ != nullptr ? chunk_->blocks : 0; }
  bool overlaps(memory region) const noexcept { return chunk_ != nullptr && detail::overlap(chunk_->region, region); }

  /// Precondition: there is none, and no thread fills.
  void begin(chunk& c) noexcept {
    chunk_ = detail::pointer_to(c);
    taken_ = 0;
    refused_.store(false, memory_order_relaxed);
  }
  /// It becomes part of the pool, or is returned.
  chunk* end() noexcept { return detail::replace(chunk_, nullptr); }

  /// Pages that no thread has filled or is filling; null: there are none. The caller fills them and calls filled().
  memory take_slice() noexcept {
    const std::size_t page = system_pages::page_bytes();
    auto* const start = static_cast<std::byte*>(chunk_->region.start);
    const std::size_t skew = address_of(start) % page;  // a heap's region starts in a page
    const std::size_t bytes = chunk_->region.bytes + skew;
    if (taken_ >= bytes) return {};
    const std::size_t at = replace(taken_, taken_ + slice_pages * page);
    fillers_.fetch_add(1, memory_order_relaxed);
    return {start - skew + at, smaller(slice_pages * page, bytes - at)};
  }
  void filled(bool well) noexcept {
    if (!well) refused_.store(true, memory_order_relaxed);
    if (fillers_.fetch_sub(1, memory_order_release) == (awaited | 1)) wake_all(fillers_.address());
  }
  bool is_being_filled() const noexcept { return fillers_.load(memory_order_acquire) != 0; }
  /// A thread calls maintain(). The only change that needs no growth lock.
  void be_maintained() noexcept { maintained_.store(true, memory_order_relaxed); }
  bool is_maintained() const noexcept { return maintained_.load(memory_order_relaxed); }
  /// Whether the system refused memory for it.
  bool was_refused() const noexcept { return refused_.load(memory_order_relaxed); }

  /// Called under the growth lock, so that no slice begins. Waits for those in progress: microseconds.
  void wait_for_fillers() noexcept {
    if (fillers_.load(memory_order_acquire) == 0) return;
    fillers_.fetch_or(awaited, memory_order_relaxed);
    for (unsigned seen = 0; (seen = fillers_.load(memory_order_acquire)) != awaited;) wait_while(fillers_.address(), seen);
    fillers_.store(0, memory_order_relaxed);
  }

 private:
  static constexpr unsigned awaited = 1u << 31;

  chunk* chunk_ = nullptr;
  std::size_t taken_ = 0;  // bytes, from the start of the chunk's first page on
  // Order: end of filling release, wait acquire; others relaxed. Filled pages are seen before the chunk is used or returned.
  atomic_word<unsigned> fillers_ = 0;
  atomic_word<bool> refused_ = false;
  atomic_word<bool> maintained_ = false;
};

/// For a pool that doesn't grow ahead: there is never one.
template <class Traits>
class chunk_ahead<Traits, false> {
 public:
  static constexpr typename Traits::chunk* get() noexcept { return nullptr; }
  static constexpr typename Traits::chunk* end() noexcept { return nullptr; }
  static constexpr std::size_t blocks() noexcept { return 0; }
  static constexpr bool overlaps(memory) noexcept { return false; }
  static constexpr bool is_being_filled() noexcept { return false; }
  static constexpr void be_maintained() noexcept {}
  static constexpr bool is_maintained() noexcept { return false; }
  static constexpr void wait_for_fillers() noexcept {}
};

// ---- getting chunks --------------------------------------------------------------------------------------------------------

/// Returns a list of chunks, linked by `next`, to their stores. Returns how many bytes.
template <class State>
TARN_COLD std::size_t give_back(State& s, typename State::chunk* c) noexcept {
  const auto& g = s.chunks.geometry();
  std::size_t bytes = 0;
  if (c != nullptr) s.ahead.wait_for_fillers();
  while (c != nullptr) {
    const supplied its{c->region, c->blocks, c->from_second, State::traits::aligns_first && c->is_cheap};
    memory_tools::hand_out(c->first, g.extent(its.blocks));
    c = c->next;  // the record may be in the region
    bytes += its.region.bytes;
    s.upstream.give_back(its, g);
  }
  return bytes;
}

/// Chunks that were fetched and aren't part of the pool yet. Its destructor returns them, unless they were adopted. That calls
/// the store, so it needs the lock, which must outlive it.
template <class State>
class growth {
  using traits = typename State::traits;
  using chunk = typename State::chunk;
  static constexpr bool looks = traits::checking::traits.refuses;

 public:
  static constexpr bool has_second = decltype(State::upstream)::has_second;

  template <at_store How>
  growth(State& its, const store_scope<State, How>&) noexcept : s_(its), second_before_(its.upstream.second()) {}
  ~growth() {
    if (first_ != nullptr) drop();
  }
  growth(const growth&) = delete;
  growth& operator=(const growth&) = delete;

  std::size_t blocks() const noexcept { return blocks_; }
  void push(chunk& c) noexcept {
    last_ = c.blocks;
    blocks_ += c.blocks;
    c.next = first_;
    first_ = detail::pointer_to(c);
    if constexpr (maps) map_.insert(c, s_.chunks.geometry());
  }
  /// Gives up the chunks. Returns the first.
  chunk* forget() noexcept { return detail::replace(first_, nullptr); }

  /// Fetches another chunk. Returns whether it could. If not, growth or the store refused, and nothing has changed.
  bool fetch([[maybe_unused]] attempt_at<State>& one) noexcept {
    const chunk_request request = [&] {
      const core_lock guard(s_);
      return s_.chunks.next(last_, blocks_ + s_.ahead.blocks() - s_.upstream.second().all);
    }();
    if (make(s_.upstream.fetch(request, s_.chunks.geometry()))) return true;
    if constexpr (has_second) return fetch_second();
    else return one.store_refused = request.wanted != 0, false;
  }
  bool fetch_second() noexcept { return make(s_.upstream.fetch_second(s_.chunks.geometry())); }

  /// Gives the chunk map and the locking policy memory to adopt the chunks or, if there are none, to continue. If the store
  /// refuses, the map works without it and finds chunks in its tree. Returns whether the locking policy has what it needs.
  bool top_up() noexcept {
    const auto lacking_in_map = [this] {
      const core_lock guard(s_);
      return s_.chunks.shortage(first_);
    };
    const auto is_ours = [this](memory region) { return !is_new(region, cache_line); };
    while (const std::size_t bytes = lacking_in_map()) {
      const memory got = s_.upstream.allocate_metadata(bytes, is_ours);
      if (!got) break;
      const core_lock guard(s_);
      s_.chunks.supply(got);
    }
    while (const std::size_t bytes = s_.locking.shortage(s_, first_)) {
      const memory got = s_.upstream.allocate_metadata(bytes, is_ours);
      s_.locking.supply(s_, got);
      if (!got) return first_ != nullptr && s_.locking.shortage(s_, first_) == 0;  // not needed for now
    }
    return true;
  }

  /// Makes the chunks part of the pool.
  TARN_STEP void adopt() noexcept { adopt(s_, forget()); }

 private:
  static constexpr bool maps = looks && !traits::one_chunk;
  struct no_map {};

  /// Separate from the other, so that compilers see that nothing is left to return.
  static void adopt(State& s, chunk* c) noexcept {
    for (chunk* next = c; c != nullptr; c = next) {
      next = c->next;
      [[maybe_unused]] served_of<State> served;
      const core_lock guard(s);
      if constexpr (requires { s.checking.lies_in(detail::pointer_to(s)); }) s.checking.lies_in(detail::pointer_to(s));
      s.locking.adopt(s, *c);
      detail::on_chunk(s, c->region);
      detail::serve(s, served);
    }
  }
  /// Creates a chunk in a region. Returns whether it could: there is a region, and it is valid.
  bool make(const supplied& got) noexcept {
    if (!got || !is_new(got.region, traits::chunk_alignment(s_.chunks.geometry()))) return false;
    TARN_NOT_IF(store_idle);
    chunk* const c = s_.chunks.make(got.region, got.blocks);
    if (c == nullptr) return false;
    c->from_second = got.from_second;
    if constexpr (State::traits::aligns_first) c->is_cheap = got.is_cheap;
    s_.upstream.count(got);
    push(*c);
    return true;
  }
  /// Whether a region doesn't overlap the pool, if the checking policy checks that. A region that does is left alone, because
  /// it may belong to another pool.
  bool is_new([[maybe_unused]] memory region, [[maybe_unused]] std::size_t alignment) noexcept {
    if constexpr (looks) {
      const core_lock guard(s_);
      bool is_known = s_.chunks.overlaps(region) || s_.upstream.metadata_overlaps(region) || s_.ahead.overlaps(region);
      if constexpr (maps) is_known = is_known || detail::overlaps(map_, region);
      if (is_known) s_.upstream.note_broken(region, alignment);
      return !is_known;
    } else {
      return true;
    }
  }
  void drop() noexcept {
    detail::give_back(s_, first_);
    s_.upstream.restore(second_before_);
  }

  State& s_;
  chunk* first_ = nullptr;  // linked by `next`
  std::size_t last_ = 0;    // blocks in the one that was fetched last
  std::size_t blocks_ = 0;  // in all
  decltype(static_cast<State*>(nullptr)->upstream.second()) second_before_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<maps, chunk_tree<chunk, typename traits::geometry>, no_map> map_;
};

/// Gets the memory that the chunk map and the locking policy need for themselves. Returns whether the locking policy has it.
template <class State, at_store How>
bool top_up(State& s, const store_scope<State, How>& held) noexcept {
  return growth<State>(s, held).top_up();
}
/// The chunk that maintain() got in advance becomes part of the pool, filled or not. Returns whether it does: there is one, and
/// memory for its tables.
template <class State, at_store How>
bool adopt_ahead(State& s, const store_scope<State, How>& held) noexcept {
  if (s.ahead.get() == nullptr) return false;
  growth<State> fresh(s, held);
  fresh.push(*s.ahead.get());
  if (!fresh.top_up()) return fresh.forget(), false;
  fresh.adopt();
  return s.ahead.end() != nullptr;
}
/// Gets chunks with at least that many blocks in total, or none. Returns how many blocks they have; 0: growth or a store
/// refused. Without tables for chunks of the first store, those of the second, which may need none, are used.
template <class State, at_store How>
TARN_STEP std::size_t get_chunks_here(State& s, const store_scope<State, How>& held, std::size_t blocks,
                                      attempt_at<State>& one) noexcept {
  constexpr bool may_do_without = growth<State>::has_second && State::traits::locking::traits.keeps_memory;
  for (bool second_only = false;; second_only = true) {
    growth<State> fresh(s, held);
    const auto fetch = [&] {
      if constexpr (may_do_without)
        if (second_only) return fresh.fetch_second();
      return fresh.fetch(one);
    };
    do {
      if (!fetch()) return 0;
      TARN_NOT_IF(store_idle);
    } while (blocks > 1 && fresh.blocks() < blocks);
    if (fresh.top_up()) return fresh.adopt(), fresh.blocks();
    one.store_refused = true;
    if (!may_do_without || second_only) return 0;
  }
}
template <class State, at_store How>
TARN_COLD std::size_t get_chunks_apart(State& s, const store_scope<State, How>& held, std::size_t blocks,
                                       attempt_at<State>& one) noexcept {
  return detail::get_chunks_here(s, held, blocks, one);
}
/// Inlined in a pool of one chunk, as on firmware: a tenth of such a pool's code.
template <class State, at_store How>
std::size_t get_chunks(State& s, const store_scope<State, How>& held, std::size_t blocks, attempt_at<State>& one) noexcept {
  if constexpr (State::traits::one_chunk) return detail::get_chunks_here(s, held, blocks, one);
  else return detail::get_chunks_apart(s, held, blocks, one);
}

/// Gets the chunk fetched in advance or, if there is none, at least that many blocks. Returns whether it could.
/// \param expects  whether they are reserved, so that the locking policy prepares for them
template <class State, at_store How>
bool grow(State& s, const store_scope<State, How>& held, std::size_t blocks, attempt_at<State>& one,
          bool expects = false) noexcept {
  if (detail::adopt_ahead(s, held)) return true;
  const std::size_t more = detail::get_chunks(s, held, blocks, one);
  if (more != 0) TARN_NOT_IF(store_idle);
  if (expects && more != 0) s.locking.expect(more);
  return more != 0;
}
/// Gets chunks until there are at least that many blocks, or gets none. Takes the growth lock.
template <class State>
bool grow_to(State& s, std::size_t blocks, attempt_at<State>& one) noexcept {
  if (detail::is_at_cap(s)) {
    if (detail::capacity_of(s) >= blocks) return true;
    if (detail::is_at_cap(s)) return false;  // otherwise a chunk was returned in between
  }
  const growth_lock growing(s);
  if (!growing.is_held()) return one.is_hopeless = true, detail::capacity_of(s) >= blocks;
  const std::size_t had = detail::capacity_of(s) + s.ahead.blocks();
  const std::size_t more = had < blocks ? detail::get_chunks(s, growing, blocks - had, one) : 0;
  if (had + more < blocks || (detail::capacity_of(s) < blocks && !detail::adopt_ahead(s, growing))) return false;
  if (more == 0) return true;
  s.locking.expect(more);
  detail::top_up(s, growing);  // if this fails, the next operations top up themselves
  return true;
}

/// Makes some blocks whose pages were returned available again. Returns whether there were some. \param may_grow  whether the
/// growth lock is held; if not, the caller may be at the store, and hold it in an outer call.
template <class State>
bool come_back([[maybe_unused]] State& s, [[maybe_unused]] bool may_grow) noexcept {
  if constexpr (State::traits::returns_pages) {
    if (!may_grow && !detail::grows_here(s)) return false;
    [[maybe_unused]] served_of<State> served;
    const core_lock guard(s);
    if (!may_grow && s.chunks.pages_go()) return false;  // their pages may be in the process of being returned
    const bool some = s.list.recommit();
    detail::serve(s, served);
    return some;
  } else {
    return false;
  }
}
/// Tops up what the locking policy keeps for itself, with nothing held; never waits. After the first maintain(), which does
/// this, allocations no longer call the store for it.
template <class State>
TARN_COLD void feed(State& s) noexcept {
  if constexpr (State::traits::keeps_memory && State::traits::locking::traits.can_try) {
    if (s.ahead.is_maintained() || detail::grows_here(s)) return;
    if (const growth_try_lock growing(s); growing.is_held()) detail::top_up(s, growing);
    s.upstream.tell();
  }
}

// ---- giving them back ------------------------------------------------------------------------------------------------------

/// Returns the chunks that unlink(s) takes out to the store. Returns how many bytes.
template <class State, class Unlink>
std::size_t return_chunks(State& s, Unlink unlink) noexcept {
  typename State::chunk* leaving;
  {
    const core_lock guard(s);
    leaving = unlink(s);
    for (const auto* c = leaving; c != nullptr; c = c->next) detail::off_chunk(s, c->region);
    detail::on_outside(s);
  }
  return detail::give_back(s, leaving);
}
/// Returns idle pages of chunks to the system: all, or few enough for a free to wait. Only the growth lock is held while the
/// system works. Returns how many bytes.
enum class pages_go { some, all };
template <class State>
std::size_t return_pages(State& s, pages_go how) noexcept {
  constexpr std::size_t most = 64;  // runs that one system call takes
  memory runs[most];
  typename State::chunk* of[most];
  std::size_t bytes = 0;
  std::size_t n = 0;
  std::size_t gone = 0;
  do {
    n = [&] {
      const core_lock guard(s);
      s.chunks.set_pages_go(true);
      return s.list.take_idle(s.chunks, runs, of, most);
    }();
    gone = n != 0 ? s.upstream.discard(runs, n) : 0;
    for (std::size_t i = 0; i != gone; ++i) bytes += runs[i].bytes;
    const core_lock guard(s);
    s.chunks.set_pages_go(false);
    for (std::size_t i = gone; i != n; ++i) s.list.put_back(s.chunks, runs[i], *of[i]);
  } while (how == pages_go::all && n != 0 && gone == n);
  return bytes;
}
/// Called by trim(). Frees the empty chunks, idle pages and, if no chunk is left and no other thread uses a part of it, what
/// the pool keeps for itself. Returns the bytes of chunks and pages.
template <class State>
std::size_t return_idle(State& s) noexcept {
  if (s.chunks.are_kept()) return 0;
  std::size_t bytes = 0;
  if constexpr (State::traits::in_place) {
    const core_lock guard(s);
    bytes = detail::forget_if_idle(s);
  } else {
    bytes = detail::give_back(s, s.ahead.end());
    bytes += detail::return_chunks(s, [](State& its) { return detail::unlink_empty(its); });
  }
  if constexpr (State::traits::returns_pages) bytes += detail::return_pages(s, pages_go::all);
  constexpr auto locking = State::traits::locking::traits;
  if constexpr (State::traits::keeps_memory && (locking.can_forget || !locking.keeps_memory)) {
    {
      const core_lock guard(s);
      if (s.chunks.capacity() != 0) return bytes;
      if constexpr (locking.can_forget)
        if (!s.locking.forget_if_alone()) return bytes;
      s.chunks.forget();
    }
    s.upstream.release_metadata();
  }
  return bytes;
}
/// Frees every chunk, including those with blocks in use, and the memory that the pool kept for itself.
template <class State>
void return_all(State& s) noexcept {
  s.locking.drop_all();
  if constexpr (State::traits::in_place) {
    const core_lock guard(s);
    detail::on_release(s);
    s.list.forget();
    s.chunks.forget();
  } else {
    if constexpr (State::traits::grows_ahead) detail::give_back(s, s.ahead.end());
    detail::return_chunks(s, [](State& its) {
      detail::on_release(its);
      return detail::unlink_all(its);
    });
    s.upstream.release_metadata();
  }
  s.locking.end();
}

/// Frees the empty chunks that the retention policy doesn't keep, or some of the idle pages that it doesn't keep. Returns how
/// many bytes.
template <class State>
std::size_t return_surplus(State& s) noexcept {
  if (s.chunks.are_kept()) return 0;
  if constexpr (State::traits::returns_pages) {
    constexpr std::size_t most = 4 * 1024 * 1024;  // so that the caller doesn't wait for long
    const std::size_t bytes = detail::return_chunks(s, [](State& its) { return detail::unlink_idle(its, most); });
    const auto has_surplus_pages = [&s] {
      const core_lock guard(s);
      return s.list.has_surplus_pages(s.chunks);
    };
    return bytes != 0 || !has_surplus_pages() ? bytes : detail::return_pages(s, pages_go::some);
  } else {
    return detail::return_chunks(s, [](State& its) -> typename State::chunk* {
      if constexpr (State::traits::retention::traits.tells_surplus)
        if (!its.chunks.has_surplus()) return nullptr;
      return detail::unlink_surplus(its, its.chunks.keep());
    });
  }
}
/// Whether it is known without waiting for another thread that the growth lock is available, or isn't.
template <class State>
inline constexpr bool need_not_wait = State::is_confined || State::traits::locking::traits.can_try;
/// Calls use() under the growth lock, unless that would wait for another thread, which may be at the store or fill pages.
/// Returns whether it did.
template <class State, class Use>
bool without_waiting(State& s, Use use) noexcept {
  const std::conditional_t<State::is_confined, growth_lock<State>, growth_try_lock<State>> growing(s);
  if (!growing.is_held() || s.ahead.is_being_filled()) return false;
  use();
  return true;
}
/// Called by a free. What would have to wait is left for the next time; if the mutex has no try_lock(), until an allocation
/// finds no block.
template <class State>
TARN_COLD void give_surplus_back(State& s) noexcept {
  if constexpr (State::traits::retention::traits.returns_chunks && need_not_wait<State>)
    detail::without_waiting(s, [&s] { detail::return_surplus(s); });
}
/// As trim(), called by another pool's thread, which must not wait.
template <class State>
trimmed trim_if_idle(State& s) noexcept {
  trimmed result;
  if constexpr (State::is_confined) s.locking.drain(s);
  const bool could = detail::without_waiting(s, [&] {
    s.upstream.asked();
    if constexpr (!State::is_confined) s.locking.drain(s);
    result.bytes = detail::return_idle(s);
  });
  result.busy = !could && !State::is_confined;
  return result;
}

// ---- maintain() ------------------------------------------------------------------------------------------------------------
//
//   step    [growth: a slice is taken, or: a chunk is adopted, fetched or given back] · the slice is filled, with nothing held
//
// A step at a time, so that it exceeds a deadline by at most one. A chunk is fetched, filled and adopted before the next is.
// While it is filled it is part of the state (chunk_ahead), so no thread owns it. Another maintain() continues with it; an
// allocation that finds no block takes it as it is; trim() and release() return it. A slice is filled inside the gate of forks,
// so in a child none is half filled.

/// When maintain() has to return, for any clock.
class deadline {
 public:
  constexpr deadline() noexcept = default;  // never
  template <class TimePoint>
  explicit deadline(const TimePoint& at) noexcept
      : at_(detail::pointer_to(at)), has_passed_([](const void* its) noexcept {
          return !(TimePoint::clock::now() < *static_cast<const TimePoint*>(its));
        }) {}
  bool has_passed() const noexcept { return has_passed_ != nullptr && has_passed_(at_); }

 private:
  const void* at_ = nullptr;
  bool (*has_passed_)(const void*) noexcept = nullptr;
};
/// A std::chrono::time_point, or a similar type.
template <class T>
concept point_in_time = requires(const T& at) {
  { T::clock::now() < at } -> std::convertible_to<bool>;
};

template <class State>
struct maintenance {
  using traits = typename State::traits;

  static maintained run(State& s, deadline until) noexcept {
    so_far seen;
    s.ahead.be_maintained();
    do {
      switch (step(s, seen)) {
        case next::step: break;
        case next::nothing: return seen.refused ? maintained::refused : maintained::done;
        case next::others: return maintained::unfinished;
      }
    } while (!until.has_passed());
    return seen.refused ? maintained::refused : maintained::unfinished;
  }

 private:
  enum class next { step, nothing, others };  // others: another thread is doing it
  struct so_far {
    bool refused = false;  // growth refused: it isn't tried again
    bool surplus = false;  // there was one: chunks are returned down to what the policy keeps
  };

  static next step(State& s, so_far& seen) noexcept {
    // Also around the growth lock, so that a slice that is taken is filled before a fork continues.
    [[maybe_unused]] const std::conditional_t<traits::locking::traits.one_thread, no_guard, inside_gate> stay;
    memory slice;
    next answer = next::nothing;
    {
      const growth_lock growing(s);
      if (!growing.is_held()) return next::others;
      if constexpr (traits::grows_ahead) answer = prepare(s, growing, slice, seen);
      if (answer == next::nothing) answer = thin(s, seen);
      if constexpr (traits::grows_ahead)
        if (answer == next::nothing && !seen.refused) answer = get_ahead(s, growing, seen);
    }
    if constexpr (traits::grows_ahead)
      if (slice) s.ahead.filled(traits::growth::fill(static_cast<std::byte*>(slice.start), slice.bytes));
    return answer;
  }

  /// Continues with the chunk that was fetched, if there is one.
  static next prepare(State& s, const growth_lock<State>& growing, memory& slice, so_far& seen) noexcept {
    const auto* const c = s.ahead.get();
    if (c == nullptr) return next::nothing;
    if (!s.ahead.was_refused() && (slice = s.ahead.take_slice())) return next::step;
    if (s.ahead.is_being_filled()) return next::others;
    const std::size_t blocks = c->blocks;
    if (!s.ahead.was_refused() && detail::adopt_ahead(s, growing)) {
      s.locking.expect(blocks);
    } else {
      seen.refused = true;
      detail::give_back(s, s.ahead.end());
    }
    return next::step;
  }
  /// Blocks whose pages were returned count as well, because otherwise chunks would repeatedly replace returned pages.
  static bool lacks_blocks(State& s) noexcept {
    if constexpr (traits::returns_pages) return s.chunks.capacity() - s.list.outside(s.chunks) < s.chunks.watermark();
    else return s.chunks.is_below_watermark();
  }
  /// Gets a chunk if fewer blocks are ready than required; before that, the other memory that allocations would need.
  static next get_ahead(State& s, const growth_lock<State>& growing, so_far& seen) noexcept {
    if (!detail::top_up(s, growing)) return seen.refused = true, next::step;
    {
      const core_lock guard(s);
      if (!lacks_blocks(s)) return next::nothing;
    }
    if (s.ahead.is_being_filled()) return next::others;  // one that an allocation took
    attempt_at<State> one;
    growth<State> fresh(s, growing);
    if (fresh.fetch(one)) s.ahead.begin(*fresh.forget());
    else seen.refused = true;
    return next::step;
  }
  /// Frees one of the chunks, or some of the pages, that the retention policy doesn't keep.
  static next thin(State& s, [[maybe_unused]] so_far& seen) noexcept {
    if (s.chunks.are_kept()) return next::nothing;
    if constexpr (traits::returns_pages) {
      if (detail::return_surplus(s) != 0) return next::step;
    } else if constexpr (traits::retention::traits.tells_surplus) {
      const auto one = [&](State& its) {
        seen.surplus = seen.surplus || its.chunks.has_surplus();
        const std::size_t empty = its.list.empty_chunks();
        return detail::unlink_surplus(its, seen.surplus && empty != 0 ? larger(its.chunks.keep(), empty - 1) : empty);
      };
      if (detail::return_chunks(s, one) != 0) return next::step;
    }
    return next::nothing;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_GROWTH_H_
