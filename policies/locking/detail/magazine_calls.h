// The calls of thread_cached: a hit in the magazine of the calling thread's slot, and once a magazine an exchange
// (magazine_exchange.h, which says what lies where).
#ifndef TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_CALLS_H_
#define TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_CALLS_H_

#include <cstddef>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/detail/magazine_exchange.h"
#include "tarn/policies/locking/detail/thread_ids.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Threads, Largest, Guards, Process  as for magazine_exchange
template <class Guards, class Process, unsigned Threads, std::size_t Largest>
class magazine_calls : public magazine_exchange<Guards, Process, Threads, Largest> {
  using exchange = magazine_exchange<Guards, Process, Threads, Largest>;
  using typename exchange::slot;

 public:
  using exchange::core_guard;
  TARN_STEP static no_guard hit_guard() noexcept { return {}; }
  auto growth_guard() const noexcept(noexcept(guards_.growth())) { return guards_.growth(); }
  auto try_growth_guard() const { return guards_.try_growth(); }
  static constexpr growth_again again = again_of<Guards>;
  bool grows_here() const noexcept
    requires(again == growth_again::told)
  {
    return guards_.grows_here();
  }

  // ---- the hot half --------------------------------------------------------------------------------------------------

  template <class Pool>
  TARN_STEP void* pop(Pool&) noexcept {
    const thread_record& me = Process::self();
    slot& s = slots_.slot_for(me);
    if (!s.is_of(me) || s.top == s.bottom) [[unlikely]] return nullptr;
    void** const top = s.top - 1;
    store_relaxed(s.top, top);
    void* const block = *top;
    if (block == nullptr) TARN_UNREACHABLE();  // so that this is also the caller's test for null
    return block;
  }
  template <class Pool>
  TARN_STEP status push(Pool&, void* block) noexcept {
    const thread_record& me = Process::self();
    slot& s = slots_.slot_for(me);
    if (!s.is_of(me) || s.top == s.limit) [[unlikely]] return status::full;
    s.put(block);
    return status::done;
  }

  // ---- the slow half: once a magazine --------------------------------------------------------------------------------

  template <class Pool>
  TARN_NOINLINE void* pop_slow(Pool& pool) noexcept {
    slot* const s = mine(pool, call::allocates);
    if (s == nullptr) return pop_locked(pool);
    if (s->top == s->bottom && !refill(pool, *s)) return nullptr;  // further threads' slots are always reached here
    void** const top = s->top - 1;
    store_relaxed(s->top, top);
    return *top;
  }
  template <class Pool>
  TARN_NOINLINE status push_slow(Pool& pool, void* block) noexcept {
    slot* const s = mine(pool, call::frees);
    status answer = status::done;
    if (s == nullptr) return push_locked(pool, block);
    if constexpr (Pool::traits::retention::traits.returns_chunks)
      if (s->top == s->limit) answer = unload(pool, *s);
    if (s->top == s->limit && make_space(pool, *s) == status::surplus) answer = status::surplus;
    s->put(block);
    return answer;
  }
  template <class Pool>
  static status make_room(Pool&) noexcept { return status::done; }  // push() answers `full` instead

  template <class Pool>
  std::size_t pop_batch(Pool& pool, void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    for (; got != n; ++got) {
      void* const block = pop(pool);
      out[got] = block != nullptr ? block : pop_slow(pool);
      if (out[got] == nullptr) break;
    }
    return got;
  }
  template <class Pool>
  status push_batch(Pool& pool, void* const* in, std::size_t n) noexcept {
    status answer = status::done;
    while (n != 0) {  // from the end, so that the first of the batch is handed out first
      void* const block = in[--n];
      if (push(pool, block) != status::done && push_slow(pool, block) == status::surplus) answer = status::surplus;
    }
    return answer;
  }

  // ---- everything back to the list -----------------------------------------------------------------------------------

  /// The caller's blocks, the depot's, and those of threads that have ended. Other threads are asked for theirs.
  template <class Pool>
  void drain(Pool& pool) noexcept {
    Process::free_numbers(true);
    [[maybe_unused]] const auto lock = core_guard();
    slot* const own = own_slot();
    if (own != nullptr) empty(pool, *own);
    while (unload_full(pool)) {}
    scavenge(pool);
    ask_for_blocks(own);
  }
  template <class Pool>
  void drain_all(Pool& pool) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    slots_.each([&](unsigned, slot& its) { empty(pool, its); });
    while (unload_full(pool)) {}
  }
  void drop_all() noexcept {
    slots_.forget();
    depot_ = {};
    starves_.store(false, memory_order_relaxed);
  }
  /// Blocks in threads' magazines and in the depot. While a thread exchanges its magazines, one of its two counts for nothing.
  template <class Pool>
  std::size_t waiting(const Pool&) const noexcept {
    std::size_t blocks = depot_.full_blocks();
    const_cast<magazine_calls*>(this)->slots_.each([&](unsigned, const slot& its) { blocks += its.blocks(); });
    return blocks;
  }
  bool forget_if_alone() noexcept {
    slot* const own = own_slot();
    if (!slots_.no_other_than(own)) return false;
    if (own != nullptr) own->renew();  // no other: its thread may be looking at it
    depot_ = {};
    starves_.store(false, memory_order_relaxed);
    return true;
  }
  void end() noexcept { guards_.end(); }

  // ---- memory for magazines ------------------------------------------------------------------------------------------

  /// Fresh chunks need no memory.
  template <class Pool, class Chunk>
  std::size_t shortage(Pool&, const Chunk* fresh) const noexcept {
    if (fresh != nullptr) return 0;
    [[maybe_unused]] const auto lock = core_guard();
    return depot_.shortage();
  }
  template <class Pool>
  void supply(Pool&, memory more) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    depot_.supply(more);
    starves_.store(false, memory_order_relaxed);
  }
  void expect(std::size_t blocks) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    depot_.expect(blocks);
  }
  bool starves() const noexcept { return starves_.load(memory_order_relaxed); }
  template <class Pool, class Chunk>
  static void adopt(Pool& pool, Chunk& fresh) noexcept {
    pool.chunks.adopt(fresh, pool.list);
  }

 private:
  /// The caller's slot, or null.
  slot* own_slot() noexcept {
    const thread_record& me = Process::self();
    return me.domain != nullptr && me.domain == domain_.load(memory_order_relaxed) ? slots_.find(me.id) : nullptr;
  }
  /// Without a slot, or without room in it.
  template <class Pool>
  status push_locked(Pool& pool, void* block) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    return pool.list.push_batch(pool.chunks, &block, 1);
  }
  template <class Pool>
  void* pop_locked(Pool& pool) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    void* block = nullptr;
    if (pool.list.pop_batch(pool.chunks, &block, 1) == 0 && (unload_full(pool) || scavenge(pool)))
      pool.list.pop_batch(pool.chunks, &block, 1);
    return block;
  }
  /// Nobody can take blocks from a slot whose thread lives. But in the word that tells a hit whose slot it is this writes
  /// something else, so that the thread's next call here is a slow one, which flushes. Called under the core guard.
  void ask_for_blocks(const slot* own) noexcept {
    slots_.each([&](unsigned, slot& its) {
      if (detail::pointer_to(its) != own && its.domain.load(memory_order_relaxed) != nullptr)
        its.domain.store(this, memory_order_relaxed);
    });
  }

  using exchange::depot_;
  using exchange::domain_;
  using exchange::empty;
  using exchange::guards_;
  using exchange::make_space;
  using exchange::mine;
  using exchange::refill;
  using exchange::scavenge;
  using exchange::slots_;
  using exchange::starves_;
  using exchange::unload;
  using exchange::unload_full;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_MAGAZINE_CALLS_H_
