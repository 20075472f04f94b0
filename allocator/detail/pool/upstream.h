// Where a pool's memory comes from: its store, and the second store that an exhaustion policy may add. It takes a request and
// returns a region; it doesn't use chunks, lists or locks, and calls nothing back.
//
//   fetch, fetch_second, give_back   regions for chunks; a `supplied` records which of the two stores its region is from
//   allocate_metadata, release_metadata
//                                    memory for the pool itself, such as a thread cache's arrays: metadata_memory
//   retry, freed, asked, line        what the exhaustion policy does when no block is left
//
// Members that call a store are called under the growth lock, or by the only user of the pool; retry, freed, tell and
// asked_through with nothing held.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_UPSTREAM_H_
#define TARN_ALLOCATOR_DETAIL_POOL_UPSTREAM_H_

#include <cstddef>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/store.h"

namespace tarn::detail {

// ---- memory for the pool itself --------------------------------------------------------------------------------------------

/// Calls a store for it.
template <class Source, bool Apart>
struct store_of_metadata {
  Source& source;
  memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (Apart) return source.acquire_own(bytes, alignment);
    else return source.acquire(bytes, alignment);
  }
  void release(memory region, std::size_t alignment) noexcept {
    if constexpr (Apart) source.release_own(region, alignment);
    else source.release(region, alignment);
  }
};

/// A list of regions, linked through a record in front of each. They stay until all of the pool's memory is returned.
class metadata_memory {
 public:
  /// At least `bytes`, aligned to a cache line. Null: the store refuses, or its region isn't sound(region, alignment).
  /// `second`: the store is the second of two. A Call is held while a store is called, and while nothing here changes.
  template <class Call, class Source, class Sound>
  memory fetch(Source&& from, std::size_t bytes, Sound sound, bool second = false) noexcept {
    if (bytes > size_limit - cache_line) return {};
    memory all;
    {
      [[maybe_unused]] const Call call;
      all = from.acquire(cache_line + bytes, cache_line);
    }
    if (!all || !sound(all, cache_line)) return {};
    first_ = ::new (all.start) record{first_, all, second};
    return {static_cast<std::byte*>(all.start) + cache_line, all.bytes - cache_line};
  }
  bool overlaps(memory region) const noexcept {
    const record* r = first_;
    while (r != nullptr && !overlap(r->region, region)) r = r->next;
    return r != nullptr;
  }
  /// Returns all of it to the stores.
  template <class Call, class Source, class Second>
  void drop(Source&& to, Second&& second) noexcept {
    while (first_ != nullptr) {
      const record last = *first_;  // the record is in the region
      first_ = last.next;
      [[maybe_unused]] const Call call;
      if (last.second) second.release(last.region, cache_line);
      else to.release(last.region, cache_line);
    }
  }

 private:
  struct record {
    record* next;
    memory region;
    bool second;
  };
  static_assert(sizeof(record) <= cache_line);

  record* first_ = nullptr;
};

/// For a pool that needs none.
struct no_metadata_memory {
  template <class Call, class Source, class Sound>
  TARN_STEP static memory fetch(Source&&, std::size_t, Sound, bool = false) noexcept {
    return {};
  }
  static constexpr bool overlaps(memory) noexcept { return false; }
  template <class Call, class Source, class Second>
  TARN_STEP static void drop(Source&&, Second&&) noexcept {}
};

// ---- what the policies may have, or not ------------------------------------------------------------------------------------

/// What an exhaustion policy keeps for one operation that found nothing.
struct no_attempt {};
template <class State, bool Keeps>
struct attempt_of {
  using type = no_attempt;
};
template <class State>
struct attempt_of<State, true> {
  using type = typename State::attempt;
};

/// Whether an exhaustion policy requests another attempt.
template <class State, class Own>
bool looks_again(State& state, std::size_t bytes, [[maybe_unused]] Own& own) noexcept {
  if constexpr (std::is_same_v<Own, no_attempt>) return state.retry(bytes);
  else return state.retry(bytes, own);
}

/// For a pool whose blocks exist from the start.
struct no_source {
  constexpr explicit no_source(const auto&) noexcept {}
};
template <class Traits>
struct source_of {
  using type = typename Traits::store::template source<Traits>;
};
template <class Traits>
  requires(Traits::in_place)
struct source_of<Traits> {
  using type = no_source;
};

/// A region for a chunk, how many blocks the pool carves from it, and which store it is from.
struct supplied {
  memory region;
  std::size_t blocks = 0;
  bool from_second = false;
  bool is_cheap = false;  // no more alignment than is cheap was requested
  TARN_STEP explicit constexpr operator bool() const noexcept { return static_cast<bool>(region); }
};

/// The store that an exhaustion policy adds, if it has one.
struct no_named_store {
  static constexpr store_traits traits{};
};
template <class Exhaustion>
struct second_store_named {
  using type = no_named_store;
};
template <class Exhaustion>
  requires requires { typename Exhaustion::second_store; }
struct second_store_named<Exhaustion> {
  using type = typename Exhaustion::second_store;
};

/// The blocks that the pool has from the second store, on which its growth depends.
template <bool HasSecond>
struct blocks_of_second {
  std::size_t newest = 0;  // in the newest chunk
  std::size_t all = 0;
  void add(std::size_t blocks) noexcept { newest = blocks, all += blocks; }
  void remove(std::size_t blocks) noexcept {
    if ((all -= blocks) == 0) newest = 0;
  }
};
template <>
struct blocks_of_second<false> {
  static constexpr std::size_t all = 0;
  static constexpr void add(std::size_t) noexcept {}
  static constexpr void remove(std::size_t) noexcept {}
};

template <class Traits>
class upstream {
  using geometry_type = typename Traits::geometry;
  using layout = typename Traits::layout;
  using source = typename source_of<Traits>::type;
  using exhaustion = typename Traits::exhaustion::template state<Traits>;
  struct call_of_store {
    TARN_NO_UNIQUE_ADDRESS store_call_under<typename Traits::locking, Traits::reclaims> gate;
    TARN_NO_UNIQUE_ADDRESS std::conditional_t<Traits::tells_reentry, store_mark, no_guard> mark;
  };
  static constexpr bool looks = Traits::checking::traits.refuses;
  static constexpr bool notes_grower =
      Traits::store_comes_back && again_of<typename Traits::locking::template state<Traits>> == growth_again::waits;

 public:
  static constexpr bool has_second = Traits::exhaustion::traits.has_second();

  template <class Values>
  TARN_STEP constexpr explicit upstream(const Values& values) noexcept(Values::nothrow)
      : source_(values.template get<typename Traits::store>()),
        exhaustion_(values.template get<typename Traits::exhaustion>()) {
    if constexpr (Traits::arrays_lie_beside) {
      if constexpr (requires { source_.template lie_beside<1>(values); }) source_.template lie_beside<1>(values);
      if constexpr (requires { exhaustion_.lie_beside(values); }) exhaustion_.lie_beside(values);
    }
  }

  /// What is kept for one operation that found nothing.
  struct attempt {
    TARN_NO_UNIQUE_ADDRESS typename attempt_of<exhaustion, Traits::exhaustion::traits.keeps_attempt>::type own;
    bool store_refused = false;
    bool is_hopeless = false;  // the growth lock isn't available
  };

  // ---- regions for chunks --------------------------------------------------------------------------------------------------

  /// Null: growth or the store refused, and nothing has changed.
  supplied fetch(chunk_request request, const geometry_type& g) noexcept {
    return fetch_from<Traits::store_is_bounded, typename Traits::store>(source_, request, g);
  }
  /// The bytes that fetch() requests first, and how many blocks it then carves from them.
  static constexpr auto size_of_chunk(const chunk_request& request, const geometry_type& g) noexcept {
    return size_of_chunk<typename Traits::store>(request, g);
  }
  /// From the second store, whose chunks grow independently: what its growth policy wants next, or another request.
  supplied fetch_second(const geometry_type& g) noexcept { return fetch_second(next_of_second(g.stride()), g); }
  /// \param more  blocks of the second store that the pool doesn't have yet
  chunk_request next_of_second(std::size_t stride, std::size_t more = 0) noexcept {
    return exhaustion_.next_chunk(second_.newest, add(second_.all, more), stride);
  }
  supplied fetch_second(const chunk_request& request, const geometry_type& g) noexcept {
    using store = typename second_store_named<typename Traits::exhaustion>::type;
    supplied got = fetch_from<Traits::second_store_is_bounded, store>(exhaustion_, request, g);
    got.from_second = true;
    return got;
  }
  /// A region became a chunk.
  TARN_STEP void count(const supplied& its) noexcept {
    if (has_second && its.from_second) second_.add(its.blocks);
  }
  void give_back(const supplied& its, const geometry_type& g) noexcept {
    TARN_NOT_IF(store_idle);
    if (has_second && its.from_second) second_.remove(its.blocks);
    [[maybe_unused]] const call_of_store call;
    const std::size_t alignment = alignment_of(its, g);
    if constexpr (has_second)
      if (its.from_second) return exhaustion_.release(its.region, alignment);
    source_.release(its.region, alignment);
  }
  /// What the growth of the second store depends on. If fresh chunks go back unadopted, restore() restores it.
  TARN_STEP auto second() const noexcept { return second_; }
  TARN_STEP void restore(const blocks_of_second<has_second>& before) noexcept { second_ = before; }
  /// Frees the memory of pages, but not their addresses. Returns how many of the runs were freed, from the first on.
  std::size_t discard(const memory* runs, std::size_t n) noexcept {
    [[maybe_unused]] const call_of_store call;
    return source_.discard(runs, n, Traits::retention::advice);
  }

  // ---- memory for the pool itself ------------------------------------------------------------------------------------------

  /// At least `bytes` bytes, valid until release_metadata(), or null. Never from a bounded store, whose memory is for users'
  /// blocks.
  /// is_ours(region): whether the store should not have returned that.
  memory allocate_metadata(std::size_t bytes, auto is_ours) noexcept {
    TARN_NOT_IF(store_idle);
    memory got;
    const auto sound = [&](memory region, std::size_t alignment) { return is_aligned(region, alignment) && !is_ours(region); };
    if constexpr (!Traits::store::traits.bounded)  // it would return all that it has
      got = own_.template fetch<call_of_store>(of_source(), bytes, sound);
    if constexpr (has_second && !Traits::exhaustion::traits.store_is_bounded)
      if (!got) got = own_.template fetch<call_of_store>(exhaustion_, bytes, sound, true);
    return got;
  }
  bool metadata_overlaps(memory region) const noexcept { return own_.overlaps(region); }
  void release_metadata() noexcept { own_.template drop<call_of_store>(of_source(), exhaustion_); }

  // ---- what else the policies say ------------------------------------------------------------------------------------------

  /// Whether this thread is at a store of the product that the pool is a part of.
  bool owner_is_at_store() const noexcept {
    if constexpr (requires { source_.owner_is_at_store(); }) return source_.owner_is_at_store();
    else return false;
  }
  /// The thread that is at a store, if the locking policy can't tell; 0: none is.
  thread_number grower() const noexcept { return grower_.load(memory_order_relaxed); }
  void set_grower(thread_number now) noexcept { grower_.store(now, memory_order_relaxed); }
  /// The pool is destroyed: what its stores poisoned belongs to the program again.
  TARN_STEP void end() noexcept {
    if constexpr (Traits::store::traits.has_end && !Traits::in_place) source_.end();
    if constexpr (Traits::exhaustion::traits.has_end) exhaustion_.end();
  }
  /// The stores report what happened there. Called with nothing held, after memory was requested from them.
  TARN_STEP void tell() noexcept {
    if constexpr (Traits::store::traits.tells_later && !Traits::in_place) source_.tell();
    if constexpr (Traits::exhaustion::traits.tells_later) exhaustion_.tell();
  }
  /// Whether to try again. Called with nothing held.
  TARN_STEP bool retry(std::size_t bytes, attempt& one) noexcept {
    if (one.is_hopeless) return gives_up();
    if (Traits::reclaims && !one.store_refused) return false;
    return detail::looks_again(exhaustion_, bytes, one.own);
  }
  void freed(std::size_t blocks) noexcept { exhaustion_.freed(blocks); }
  /// The threads that wait for a block, under the pool's guard. And how long a call without a time waits.
  TARN_STEP auto& line() noexcept { return exhaustion_.line(); }
  auto nanoseconds_to_wait() const noexcept { return exhaustion_.nanoseconds(); }
  /// Another pool asked this one to trim. Called under the growth lock, before it does.
  TARN_STEP void asked() noexcept {
    if constexpr (Traits::exhaustion::traits.hears_asks) exhaustion_.asked();
  }
  /// Through which other pools ask this one.
  auto& asked_through() noexcept { return exhaustion_.member(); }
  /// For policies that need the pool's owner.
  template <class Owner>
  void belong_to(Owner owner) noexcept {
    if constexpr (requires { source_.belong_to(owner); }) source_.belong_to(owner);
    if constexpr (requires { exhaustion_.belong_to(owner); }) exhaustion_.belong_to(owner);
  }
  auto pages() const noexcept { return source_.report(); }
  const source& store() const noexcept { return source_; }
  /// Bytes that an untouched bounded store will return.
  std::size_t room(const geometry_type& g) const noexcept { return source_.room(Traits::chunk_alignment(g)); }

  // ---- regions that a store should not have given --------------------------------------------------------------------------

  struct broken_region {
    memory region;
    std::size_t alignment = 0;  // as it should have been
  };
  void note_broken(memory region, std::size_t alignment) noexcept { broken_ = {region, alignment}; }
  /// The last one since the previous call.
  broken_region take_broken() noexcept { return detail::replace(broken_, {}); }

 private:
  TARN_STEP store_of_metadata<source, Traits::store::traits.own_apart> of_source() noexcept { return {source_}; }

  struct sized {
    std::size_t bytes;
    std::size_t blocks;
  };
  /// What is requested for a chunk: the store's best size, if growth doesn't fix the number of blocks and they fill that size
  /// up to an eighth.
  template <class Store>
  static constexpr sized size_of_chunk(const chunk_request& request, const geometry_type& g) noexcept {
    const std::size_t bytes = layout::bytes(request.wanted, g);
    if constexpr (Store::traits.has_best_size) {
      if (request.at_most > request.wanted && bytes <= size_limit) {
        const std::size_t best = Store::best_size(bytes, Traits::chunk_alignment(g));
        if (best == bytes) return {bytes, request.wanted};
        const std::size_t blocks = layout::blocks_in(best, request.at_most, g);
        if (blocks != 0 && blocks >= smaller(request.wanted, request.at_least) && best - layout::bytes(blocks, g) <= best / 9)
          return {best, blocks};
      }
    }
    return {bytes, request.wanted};
  }

  template <bool Bounded, class Store, class Source>
  supplied fetch_from(Source& from, chunk_request request, const geometry_type& g) noexcept {
    if (Bounded) request.wanted = smaller(request.wanted, 1);  // it returns all it has
    while (request.wanted != 0) {
      TARN_NOT_IF(store_idle);
      const sized size = size_of_chunk<Store>(request, g);
      if (size.bytes <= size_limit) {
        supplied got{{}, size.blocks, false, Traits::aligns_first && size.bytes <= small_bytes};
        const std::size_t alignment = alignment_of(got, g);
        {
          [[maybe_unused]] const call_of_store call;
          got.region = from.acquire(size.bytes, alignment);
        }
        if (got) {
          if (!is_aligned(got.region, alignment)) return {};
          if (got.region.bytes != size.bytes) got.blocks = layout::blocks_in(got.region.bytes, request.at_most, g);
          return got;
        }
      }
      if (request.wanted <= request.at_least) break;
      request.wanted = larger(request.wanted / 2, request.at_least);
    }
    return {};
  }
  /// Regions up to this are requested with no more alignment than is cheap, larger ones with that of a cache line, needed or
  /// not. While glibc holds a piece that it split off to align a region, it doesn't return a pool's memory to the system, only
  /// to get it again for the next pool. That takes 1.4 instead of 10 ns a block where a pool of 10,000 blocks of 48 bytes is
  /// created and destroyed again and again (Zen 5). glibc holds seven pieces of a size, and smaller regions should leave it
  /// none.
  static constexpr std::size_t small_bytes = 64 * 1024;
  static std::size_t alignment_of(const supplied& its, const geometry_type& g) noexcept {
    if constexpr (!Traits::aligns_first) return Traits::chunk_alignment(g);
    else return its.is_cheap ? Traits::least_alignment(g) : larger(Traits::chunk_alignment(g), cache_line);
  }
  /// Without another attempt.
  TARN_STEP bool gives_up() noexcept {
    if constexpr (requires { exhaustion_.give_up(); }) exhaustion_.give_up();
    return false;
  }
  /// Checked only if a policy requires it. A misaligned region is left alone, because it may belong to another pool.
  TARN_STEP bool is_aligned([[maybe_unused]] memory region, [[maybe_unused]] std::size_t alignment) noexcept {
    if constexpr (looks) {
      if (address_of(region.start) % alignment != 0) {
        note_broken(region, alignment);
        return false;
      }
    }
    return true;
  }

  struct no_broken_region {};
  struct no_grower {};

  TARN_NO_UNIQUE_ADDRESS source source_;
  TARN_NO_UNIQUE_ADDRESS exhaustion exhaustion_;
  TARN_NO_UNIQUE_ADDRESS blocks_of_second<has_second> second_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Traits::keeps_memory, metadata_memory, no_metadata_memory> own_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<looks, broken_region, no_broken_region> broken_;
  // Order: relaxed; own.
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<notes_grower, atomic_word<thread_number>, no_grower> grower_{};
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_UPSTREAM_H_
