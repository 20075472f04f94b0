// What a pool does when a hit isn't enough: every 64th call or so. The order of events:
//
//   allocate     take [hit: pop, count]   miss: slow
//   slow         [hit: pop_slow, count]   miss: cold
//   cold         [growth: slow again, since another thread may have grown the pool; grow]  failed: retry, with nothing held
//   deallocate   put [hit: verdict, count, push; crowded: make_room, or after it where a hit holds no lock]  not done: settle
//   settle       full: [hit: push_slow; crowded: make_room]   surplus: [growth: give back]
//   refused      reported, with nothing held
//
// [x: …] under that guard.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_SLOW_PATH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_SLOW_PATH_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/pool/checked_path.h"
#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/guards.h"
#include "tarn/allocator/detail/pool/maintenance.h"
#include "tarn/allocator/detail/pool/plain_path.h"
#include "tarn/allocator/detail/pool/state.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

template <class Traits>
using path_of =
    std::conditional_t<Traits::checking::traits.refuses, checked_path<pool_state<Traits>>, plain_path<pool_state<Traits>>>;

template <class Traits>
struct slow_path {
  using state = pool_state<Traits>;
  using path = path_of<Traits>;
  using attempt = attempt_at<state>;

#if TARN_EXCEPTIONS
  TARN_NOINLINE static void* allocate(state& s) {
    void* block = nullptr;
    if constexpr (Traits::waits) block = allocate_within(s, waits_as_usual());
    else block = try_allocate(s);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
#endif
  TARN_NOINLINE static void* try_allocate(state& s) noexcept { return allocate_within(s, limit_of_try()); }
  template <class Limit>
  static void* allocate_within(state& s, Limit limit) noexcept {
    void* const block = path::take_slow(s);
    if (block == nullptr) {
      if constexpr (Traits::ends_empty) return detail::tell_of_refusal(s), nullptr;
      else return try_allocate_cold(s, limit);
    }
    if (s.locking.starves()) [[unlikely]] detail::feed(s);
    detail::tell_of_leaving(s);
    return block;
  }

  // Calls of a pool whose checks are on, if a hit holds no lock.
#if TARN_EXCEPTIONS
  TARN_COLD static void* allocate_on(state& s, void* taken) {
    void* const block = path::checked_now(s, taken);
    return block != nullptr ? block : allocate(s);
  }
#endif
  TARN_COLD static void* try_allocate_on(state& s, void* taken) noexcept {
    void* const block = path::checked_now(s, taken);
    return block != nullptr ? block : try_allocate(s);
  }
  TARN_COLD static void deallocate_on(state& s, void* block) noexcept {
    memory_tools::take_back(block);
    const status answer = path::put_checked(s, block);
    if constexpr (Traits::hears_frees) return settle_heard(s, block, answer);
    if (answer == status::crowded) make_room(detail::pointer_to(s), s);
    else if (answer != status::done) settle(s, block, answer);
  }
  /// The rest of a free, for a policy that hears of it once the block can be had.
  static void settle_heard(state& s, void* block, status answer) noexcept {
    if (answer == status::crowded) make_room(detail::pointer_to(s), s);
    else if (answer != status::done) settle(s, block, answer);
    if (answer != status::refused) s.supply.freed(1);
  }

  /// \tparam Tells  false: the caller holds something, and calls supply.tell() once it holds nothing
  template <bool Tells = true, class Limit = limit_of_try>
  TARN_COLD static void* try_allocate_cold(state& s, [[maybe_unused]] Limit limit = {}) noexcept {
    attempt one;
    typename path::notes seen;
    void* block = nullptr;
    bool asked = false;
    if constexpr (Traits::in_place) {
      while ((block = path::take_slow(s, seen)) == nullptr && retry(s, one)) {
      }
    } else {
      do {
        detail::be_asked(s);
        path::be_listed(s);
        if (detail::is_at_cap(s)) {
          block = path::take_slow(s, seen);  // another thread may have got the last chunk
          if (block != nullptr || detail::is_at_cap(s)) continue;  // or given one back meanwhile
        }
        asked = true;
        const auto growing = detail::growth_guard(s);
        const bool may_grow = detail::is_held(growing);
        if (may_grow) detail::return_surplus_of_frees(s);
        else one.is_hopeless = true;
        do {
          if (may_grow) detail::top_up(s);
          block = path::take_slow(s, seen);
        } while (block == nullptr && (detail::come_back(s, may_grow) || (may_grow && detail::grow(s, one))));
      } while (block == nullptr && retry(s, one));
    }
    if constexpr (waits_under<Traits, Limit>)
      if (block == nullptr) block = wait_for_one(s, detail::end_of(s, limit), one, seen, asked);
    if (block == nullptr && !std::is_same_v<Limit, only_looks>) {
      detail::note_refusal(s);
      detail::tell_of_refusal(s);
    }
    path::tell(s, seen);
    path::tell_of_store(s, asked);
    if (Tells && !detail::grows_here(s)) s.supply.tell();
    return block;
  }

  /// Fills `out` from its start with as many blocks as can be had. Returns how many.
  template <class Limit = limit_of_try>
  static std::size_t take_batch(state& s, span<void*> out, [[maybe_unused]] Limit limit = {}) noexcept {
    std::size_t got = path::take_batch(s, out);
    while (got != out.size()) {
      void* block = nullptr;
      if constexpr (Traits::waits) block = allocate_within(s, limit);
      else block = try_allocate(s);
      if (block == nullptr) break;
      out[got++] = block;
      got += path::take_batch(s, out.subspan(got));
    }
    return got;
  }

  /// Whether it is worth waiting for so many at once.
  static bool can_have(const state& s, std::size_t blocks) noexcept { return blocks <= detail::capacity_of(s); }
  /// Waits for all blocks of `out`, and takes no place before all who came earlier have theirs: two that hold some each and
  /// wait for the other's would wait in vain. Returns how many came before the time was over.
  template <class Limit>
  TARN_COLD static std::size_t wait_for_batch(state& s, span<void*> out, Limit limit) noexcept {
    attempt one;
    typename path::notes seen;
    bool asked = false;
    const std::size_t came = wait(s, out, detail::end_of(s, limit), one, asked);
    std::size_t got = 0;
    for (void* const given : out.first(came))
      if (void* const block = path::take_given(s, given, seen)) out[got++] = block;
    if (got != out.size()) {
      detail::note_refusal(s);
      detail::tell_of_refusal(s);
    }
    path::tell(s, seen);
    path::tell_of_store(s, asked);
    if (!detail::grows_here(s)) s.supply.tell();
    return got;
  }

  static void put_batch(state& s, span<void* const> blocks) noexcept {
    if constexpr (!Traits::takes_null) {
      const std::size_t n = first_null(blocks.data(), blocks.size());
      if (n != blocks.size()) {
        put_batch(s, blocks.subspan(n + 1));
        blocks = blocks.first(n);
      }
    }
    if (path::put_batch(s, blocks) == status::surplus) detail::give_surplus_back(s);
    detail::tell_of_leaving(s);
    if constexpr (Traits::hears_frees) s.supply.freed(blocks.size());
  }

  /// Gets chunks until there are at least that many blocks. Returns whether it could.
  static bool reserve(state& s, std::size_t blocks) noexcept {
    if (s.chunks.geometry().extent(blocks) > size_limit) return false;
    attempt one;
    bool done = false;
    const bool asks = !detail::is_at_cap(s);
    do {
      if constexpr (Traits::in_place) {
        if (blocks <= s.chunks.capacity()) return true;
      } else {
        detail::be_asked(s);
        path::be_listed(s);
        done = detail::grow_to(s, blocks, one);
      }
    } while (!done && !Traits::hears_frees && retry(s, one));  // such a policy wants a free, which would bring no chunk
    path::tell_of_store(s, asks);
    if (!detail::grows_here(s)) s.supply.tell();
    return done;
  }

  /// The first argument is what deallocate() already has in the first register: the pool object, or the block of a static pool.
  /// That saves deallocate() a move on every call, with g++ 12 and clang 14 to 19.
  TARN_NOINLINE static void make_room(const void* first, state& s) noexcept {
    keep_argument(first);
    const status answer = [&s] {
      [[maybe_unused]] const auto calling = detail::call_guard(s);
      return s.locking.make_room(s);
    }();
    detail::tell_of_leaving(s);
    if constexpr (Traits::retention::traits.returns_chunks) {
      if (answer == status::surplus) [[unlikely]] detail::give_surplus_back(s);
    }
  }
  TARN_NOINLINE static void settle(state& s, void* block, status answer) noexcept {
    if (answer == status::refused) return detail::tell_of_noted(s);  // the pool may have ended: it must not enter a list again
    if (answer == status::uncounted) path::count_put(s, block);
    if (answer == status::uncounted || answer == status::full) answer = path::put_slow(s, block);
    detail::tell_of_leaving(s);
    if (answer == status::surplus) detail::give_surplus_back(s);
  }

  static maintained maintain(state& s, deadline until) noexcept {
    detail::be_asked(s);
    path::be_listed(s);
    const maintained result = maintenance<state>::run(s, until);
    detail::tell_of_leaving(s);
    path::tell_of_store(s);
    if (!detail::grows_here(s)) s.supply.tell();
    return result;
  }

  static std::size_t trim(state& s) noexcept {
    const std::size_t bytes = [&s] {
      [[maybe_unused]] const auto calling = detail::call_guard(s);
      s.locking.drain(s);
      detail::serve(s);
      return trim_drained(s);
    }();
    detail::tell_of_leaving(s);
    return bytes;
  }
  static void release(state& s) noexcept {
    if (detail::grows_here(s)) return path::tell_of_own_store(s);
    if constexpr (Traits::samples) sampled_path<state>::drop(s);
    [[maybe_unused]] const auto calling = detail::call_guard(s);
    [[maybe_unused]] const auto growing = detail::growth_guard(s);
    detail::return_all(s);
  }
  /// The pool ends: everything goes back.
  static void close(state& s) noexcept {
    [[maybe_unused]] const unasked<state> alone(s);
    path::end(s);
    if constexpr (Traits::samples) sampled_path<state>::drop(s);
    if constexpr (Traits::checks_leaving)
      if (path::admits_caller(s)) trim(s);  // so that every block in a front leaves it
    detail::be_left_alone(s);
    detail::tell_of_overrun(s);
    if constexpr (Traits::in_place) {
      detail::return_all(s);
    } else {
      // A store that comes back gets no chunk that would be lost.
      [[maybe_unused]] const auto growing = detail::growth_guard(s);
      detail::return_all(s);
    }
    s.supply.end();
    if constexpr (Traits::in_place) s.chunks.end();
  }

 private:
  /// A thread that is at the store of another pool doesn't wait: whoever holds this guard may trim that pool in the same way.
  static std::size_t trim_drained(state& s) noexcept {
    if constexpr (Traits::locking::traits.can_try) {
      if (is_at_some_store()) {
        const auto growing = detail::try_growth_guard(s);
        return detail::is_held(growing) && !detail::is_filling(s) ? detail::return_idle(s) : 0;
      }
    }
    const auto growing = detail::growth_guard(s);
    return detail::is_held(growing) ? detail::return_idle(s) : 0;
  }
  /// Whether to try again. Called with nothing held.
  static bool retry(state& s, attempt& one) noexcept { return s.supply.retry(s.chunks.geometry().block_size(), one); }

  /// Waits for blocks that somebody frees, or that a chunk has which can be had by now. Not at the pool's own store: who is
  /// waited for may wait for that.
  static std::size_t wait(state& s, span<void*> out, std::uint64_t deadline, [[maybe_unused]] attempt& one,
                          [[maybe_unused]] bool& asked) noexcept {
    if (detail::grows_here(s)) return 0;
    return detail::wait_for(s, out, deadline, [&]([[maybe_unused]] auto is_served) {
      if constexpr (!Traits::in_place) {
        if (detail::is_at_cap(s)) return;  // no chunk goes while this one waits
        const auto growing = detail::growth_guard(s);
        if (!detail::is_held(growing)) return;
        asked = true;
        detail::top_up(s);
        while (!is_served() && (detail::come_back(s, true) || detail::grow(s, one))) {
        }
      }
    });
  }
  /// A block that a checking policy refuses is no block: it waits for another.
  static void* wait_for_one(state& s, std::uint64_t deadline, attempt& one, typename path::notes& seen,
                            bool& asked) noexcept {
    void* block = nullptr;
    while (block == nullptr && wait(s, {&block, 1}, deadline, one, asked) != 0) block = path::take_given(s, block, seen);
    return block;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_SLOW_PATH_H_
