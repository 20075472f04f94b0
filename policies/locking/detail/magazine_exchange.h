// What thread_cached exchanges: magazines of blocks between a slot for each thread, a depot behind them, and behind that the
// pool's list.
//
//   slots_[id]   top, bottom, limit | current magazine | spare magazine, empty or full
//   depot        full magazines, empty ones            under the core guard
//   list         other free blocks, blocks never used  under the core guard
//
// Only the holder of number `id` of the domain uses slot `id`: the thread that took the number, or a scavenger that took the
// number of a thread that ended. A thread that ends hands nothing over: the next holder of its number gets its slots as they
// are. A block is in one place: in use, in the magazines of one slot, in the depot, or in the list.
//
// A thread without a number (it is ending, or there are 1023 others) or of another domain takes the core guard each time.
#ifndef TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_EXCHANGE_H_
#define TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_EXCHANGE_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/locking/detail/magazine.h"
#include "tarn/policies/locking/detail/thread_ids.h"
#include "tarn/policies/locking/detail/thread_slots.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Threads  slots inside the pool; others come from the store for further threads
/// \tparam Largest  the largest size of magazine; for large blocks a smaller one, or none
/// \tparam Guards   hot(), growth() and end(), as for direct_calls
template <class Guards, class Process, unsigned Threads, std::size_t Largest>
class magazine_exchange {
  template <class T>
  using atomic = typename Process::template atomic<T>;
  using ids = std::remove_reference_t<decltype(Process::ids())>;
  using slots = thread_slots<Process::template atomic, ids, Threads>;

 public:
  auto core_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }

 protected:
  using slot = typename slots::slot;

  // ---- slots ---------------------------------------------------------------------------------------------------------

  /// The caller's slot, with a magazine in it; or null: also if the blocks are too large for magazines.
  template <class Pool>
  slot* mine(Pool& pool, call what) noexcept {
    if (magazine::sizes_for(pool.chunks.geometry().stride(), Largest) == 0) return nullptr;
    const thread_record& me = Process::self();
    if (me.is != thread_record::state::enrolled && !Process::enrol(what)) return nullptr;
    const void* owner = domain_.load(memory_order_relaxed);
    if (owner == nullptr && domain_.compare_exchange_strong(owner, me.domain, memory_order_relaxed)) owner = me.domain;
    if (owner != me.domain) return nullptr;

    slot* s = slots_.find(me.id);
    const bool is_used = s != nullptr && s->is_used();
    if (is_used && s->is_of(me)) return s;
    [[maybe_unused]] const auto lock = core_guard();
    if (is_used) return flush(pool, *s, me);
    if (s == nullptr) s = slots_.make_group(me.id, depot_);
    magazine* const first = s != nullptr ? depot_.take_empty(0) : nullptr;
    note_shortage();
    if (first == nullptr) return nullptr;
    s->use(first, false);
    s->domain.store(me.domain, memory_order_relaxed);
    return s;
  }
  /// Called under the core guard if trim() asked for the slot's blocks, see ask_for_blocks(), or after a fork.
  template <class Pool>
  slot* flush(Pool& pool, slot& s, const thread_record& me) noexcept {
    empty(pool, s);
    if (magazine* const least = depot_.take_empty(0)) {  // so that this call doesn't take as many again
      depot_.give_empty(s.current);
      s.use(least, false);
      s.wanted = 0;
    }
    s.domain.store(me.domain, memory_order_relaxed);
    return detail::pointer_to(s);
  }

  // ---- exchange ------------------------------------------------------------------------------------------------------

  /// Puts blocks into the empty current magazine, or replaces it. Returns whether there is a block now.
  template <class Pool>
  bool refill(Pool& pool, slot& s) noexcept {
    if (s.spare_is_full) {
      s.exchange();
      return true;
    }
    {
      [[maybe_unused]] const auto lock = core_guard();
      if (!depot_.has_full()) {
        const bool got = carve(pool, s) || (scavenge(pool) && carve(pool, s));
        note_shortage();
        return got;
      }
      take_full(pool, s);
    }
    detail::prefetch_each(*s.current);
    return true;
  }
  /// The slot keeps the larger of its two empty magazines.
  template <class Pool>
  void take_full(Pool& pool, slot& s) noexcept {
    if (s.spare == nullptr || s.spare->size < s.current->size) detail::swap_both(s.spare, s.current);
    if (s.current != nullptr) depot_.give_empty(s.current);
    s.use(depot_.take_full(), true);
    s.used(Largest, pool.chunks);
  }
  /// Takes blocks from the list, free or never used. They are not touched.
  template <class Pool>
  bool carve(Pool& pool, slot& s) noexcept {
    if (s.current->size < s.wanted) {
      if (magazine* const other = depot_.take_empty(s.wanted)) {
        const bool larger = other->size > s.current->size;
        depot_.give_empty(larger ? s.current : other);
        if (larger) s.use(other, false);
      }
    }
    const std::size_t got = pool.list.pop_batch(pool.chunks, s.bottom, magazine::capacity(s.current->size));
    s.limit = s.current->limit();  // unload() may have lowered it
    for (std::size_t i = 0; i != got / 2; ++i)
      detail::swap_both(s.bottom[i], s.bottom[got - 1 - i]);  // the first of the batch is handed out first
    s.top = s.bottom + got;
    if (got != 0) s.used(Largest, pool.chunks);
    return got != 0;
  }

  /// Makes room in the full current magazine, or puts an empty one in its place. If there is no memory for another, the older
  /// of the two empties into the list at once: a list of 10,000 nodes, made and cleared for the second time, 25 to 5 ns a node
  /// (Zen 5), since a thread's first frees come before the store can be asked.
  template <class Pool>
  status make_space(Pool& pool, slot& s) noexcept {
    if (s.spare != nullptr && !s.spare_is_full) {
      s.exchange();
      return status::done;
    }
    if (s.spare != nullptr) detail::write_each(*s.spare, pool.chunks.geometry());
    [[maybe_unused]] const auto lock = core_guard();
    magazine* const fresh = depot_.take_empty(s.wanted);
    note_shortage();
    if (fresh == nullptr) return unload_oldest(pool, s);
    if (s.spare != nullptr) depot_.give_full(s.spare);
    s.spare = s.current;
    s.spare_is_full = true;
    s.use(fresh, false);
    s.used(Largest, pool.chunks);
    return status::done;
  }
  template <class Pool>
  status unload_oldest(Pool& pool, slot& s) noexcept {
    magazine& oldest = s.spare != nullptr ? *s.spare : *s.current;
    const status answer = pool.list.push_batch(pool.chunks, oldest.bottom(), magazine::capacity(oldest.size));
    if (s.spare == nullptr) {
      s.top = s.bottom;
    } else {
      s.spare_is_full = false;
      s.exchange();
    }
    return answer;
  }

  /// If chunks go back automatically: every block in front of the list keeps its chunk here. So the depot keeps only a few full
  /// magazines; if nearly all memory is idle, none, and the caller's magazine only a few blocks.
  template <class Pool>
  status unload(Pool& pool, slot& s) noexcept {
    constexpr std::size_t enough = 4;
    [[maybe_unused]] const auto lock = core_guard();
    const std::size_t few = pool.list.front_capacity(pool.chunks);
    status answer = status::done;
    const auto give = [&](void** blocks, std::size_t n) {
      if (pool.list.push_batch(pool.chunks, blocks, n) == status::surplus) answer = status::surplus;
    };
    if (few < magazine::capacity(s.current->size)) {
      give(s.bottom, static_cast<std::size_t>(s.top - s.bottom));
      s.top = s.bottom;
      while (magazine* const m = depot_.take_full()) {
        give(m->bottom(), magazine::capacity(m->size));
        depot_.give_empty(m);
      }
    } else if (s.limit != s.current->limit()) {  // it was lowered, and isn't full
      s.limit = s.current->limit();
      return answer;
    } else if (depot_.full() < enough) {
      return answer;
    }
    if (s.spare_is_full) give(s.spare->bottom(), magazine::capacity(s.spare->size));
    s.spare_is_full = false;
    s.limit = s.bottom + smaller(few, magazine::capacity(s.current->size));
    return answer;
  }

  // ---- under the core guard ------------------------------------------------------------------------------------------

  /// Takes a full magazine from the depot. Returns whether there was one.
  template <class Pool>
  bool unload_full(Pool& pool) noexcept {
    magazine* const m = depot_.take_full();
    if (m == nullptr) return false;
    pool.list.push_batch(pool.chunks, m->bottom(), magazine::capacity(m->size));
    depot_.give_empty(m);
    return true;
  }
  /// Returns whether there was a block.
  template <class Pool>
  bool empty(Pool& pool, slot& s) noexcept {
    if (!s.is_used()) return false;
    s.finish_exchange();
    const bool any = s.top != s.bottom || s.spare_is_full;
    pool.list.push_batch(pool.chunks, s.bottom, static_cast<std::size_t>(s.top - s.bottom));
    s.top = s.bottom;
    if (s.spare_is_full) pool.list.push_batch(pool.chunks, s.spare->bottom(), magazine::capacity(s.spare->size));
    s.spare_is_full = false;
    return any;
  }
  /// Takes over the slots of threads that ended. Returns whether there was a block in one.
  template <class Pool>
  bool scavenge(Pool& pool) noexcept {
    ids& numbers = Process::ids();
    if (domain_.load(memory_order_relaxed) != detail::pointer_to(numbers)) return false;  // those of a library that may be gone
    bool found = false;
    slots_.each([&](unsigned id, slot& its) {
      if (its.domain.load(memory_order_relaxed) == nullptr || !numbers.take(id)) return;
      if (its.is_used()) {
        found |= empty(pool, its);
        depot_.give_empty(its.current);
        if (its.spare != nullptr) depot_.give_empty(its.spare);
      }
      its.renew();
      numbers.give_back(id);
    });
    return found;
  }
  void note_shortage() noexcept {
    if (depot_.shortage() != 0) starves_.store(true, memory_order_relaxed);
  }

  slots slots_;  // first: the hot path finds the caller's slot by its offset alone
  depot depot_;
  TARN_NO_UNIQUE_ADDRESS Guards guards_;
  atomic<const void*> domain_ = nullptr;  // whose numbers the slots belong to: those of the first thread here
  atomic<bool> starves_ = false;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_EXCHANGE_H_
