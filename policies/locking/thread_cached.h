// decides    every thread keeps its own magazines (arrays) of free blocks, and locks only to exchange a whole magazine
// costs      13 instructions to allocate a block and 15 to free it; 1.7 KiB in the pool object, and memory from the
//            store, about 9 bytes for each free block. Up to two magazines of blocks, at most 64 KiB or 28 blocks, stay in each
//            thread that used the pool
// conflicts  bounded stores, whose blocks could all be in other threads' magazines when a thread needs one
// use when   several threads allocate and free their own blocks, or each other's
#ifndef TARN_POLICIES_LOCKING_THREAD_CACHED_H_
#define TARN_POLICIES_LOCKING_THREAD_CACHED_H_

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/locking/thread_ids.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/statistics.h"

// What is where:
//
//   slots_[id]   top, bottom, limit | current magazine | spare magazine, empty or full
//   depot        full magazines, empty ones            under the core guard
//   list         other free blocks, blocks never used  under the core guard
//
// What happens:
//
//   pop          a block of the current magazine
//    pop_slow      mine(): the thread's slot; its first call takes one, its first call after another thread's trim() empties it
//     refill         the spare; else a full magazine of the depot; else blocks of the list; else those of threads that exited
//   push         into the current magazine
//    push_slow     mine()
//     make_space     an empty spare; else an empty magazine of the depot, to which the full spare goes; else into the list
//     unload         before that, if chunks go back automatically: few blocks wait in front of the list
//   drain        the caller's slot, the depot and the slots of threads that exited go to the list; other threads are asked
//   shortage     after a slow call that found no memory for a magazine, the pool asks its store for it, and calls supply()
//
// Only the holder of number `id` of the domain uses slot `id`: the thread that took the number, or a scavenger that took the
// number of a thread that exited. When a thread exits, its magazines stay where they are: the next holder of its number gets
// its slots as they are. A block is in exactly one place: in use, in the magazines of one slot, in the depot, or in the list.
//
// A thread without a number (it is exiting, or there are 1023 others) or of another domain takes the core guard each time.

namespace tarn::detail {

// ---- magazines and the depot -------------------------------------------------------------------------------------------

// Magazines: arrays of block pointers that only one thread uses, and the depot where full ones are exchanged for empty ones
// (Bonwick and Adams, "Magazines and Vmem", 2001).
//
//   bottom                              top                        limit
//   | oldest | ...             | newest |  room for blocks ...     |
//
// Arrays, not lists: 0.66 instead of 1.25 ns a pair, and exact bounds without a counter (prototype, Sapphire Rapids). A free
// doesn't touch the block, except once for each magazine: see write_each().

/// One of six sizes: 128 bytes for 14 blocks to 4 KiB for 510. The blocks' addresses follow it.
struct magazine {
  static constexpr std::size_t sizes = 6;
  static constexpr std::size_t capacity(std::size_t size) noexcept { return (std::size_t{16} << size) - 2; }  // blocks
  static constexpr std::size_t bytes(std::size_t size) noexcept { return (std::size_t{16} << size) * sizeof(void*); }
  /// Of blocks in a magazine that isn't of the smallest size. If 64 threads, one after the other, each free 4 MB of blocks of
  /// 16 to 1024 bytes, they keep 44 to 50 MB. With 512 KiB instead they keep 214 to 295 MB. Mixed sizes take up to 8 % more
  /// time; with 16 KiB, 15 to 25 % (AMD EPYC).
  static constexpr std::size_t grown_bytes = 32 * 1024;
  static constexpr std::size_t most_bytes = 512 * 1024;  // of blocks in one of the smallest size

  /// How many of the sizes are small enough for blocks with that stride; 0: no magazine is.
  static constexpr std::size_t sizes_for(std::size_t stride, std::size_t largest) noexcept {
    if (capacity(0) > most_bytes / stride) return 0;
    std::size_t n = largest + 1;
    while (n > 1 && capacity(n - 1) > grown_bytes / stride) --n;
    return n;
  }

  void** bottom() noexcept { return reinterpret_cast<void**>(this + 1); }
  void** limit() noexcept { return bottom() + capacity(size); }

  magazine* next;  // in a list of the depot
  std::size_t size;
};
static_assert(sizeof(magazine) == 2 * sizeof(void*));

/// What no thread holds: full and empty magazines, and memory for further ones. A full magazine isn't changed while it is here.
/// The caller holds the core guard.
class depot {
 public:
  magazine* take_full() noexcept {
    if (full_ != nullptr) --fulls_;
    return pop(full_);
  }
  void give_full(magazine* m) noexcept {
    ++fulls_;
    push(full_, m);
  }
  bool has_full() const noexcept { return full_ != nullptr; }
  std::size_t full() const noexcept { return fulls_; }
  /// Blocks in the full ones. O(full ones).
  std::size_t full_blocks() const noexcept {
    std::size_t n = 0;
    for (const magazine* m = full_; m != nullptr; m = m->next) n += magazine::capacity(m->size);
    return n;
  }

  void give_empty(magazine* m) noexcept { push(empty_[m->size], m); }

  /// An empty magazine: of the size wanted, or a new one, or the nearest smaller one. Null if there is none.
  magazine* take_empty(std::size_t wanted) noexcept {
    if (magazine* const m = pop(empty_[wanted])) return m;
    if (void* const fresh = carve(magazine::bytes(wanted))) return ::new (fresh) magazine{nullptr, wanted};
    for (std::size_t size = wanted; size-- != 0;)
      if (magazine* const m = pop(empty_[size])) return m;
    return nullptr;
  }

  /// Cache lines of the pool's own memory, or null if supply() must come first.
  void* carve(std::size_t bytes) noexcept {
    if (bytes > left_.bytes) {
      if (patience_ != 0) --patience_;
      else lacks_ = larger(lacks_, bytes);
      return nullptr;
    }
    void* const start = left_.start;
    left_ = {static_cast<std::byte*>(start) + bytes, left_.bytes - bytes};
    return start;
  }

  /// That many blocks will exist: requests memory for magazines that hold them, and for one thread's magazines as they grow.
  void expect(std::size_t blocks) noexcept {
    const std::size_t bytes = add(1024 + multiply(blocks, 10), smaller(multiply(blocks, 15), 16 * 1024));
    if (bytes > left_.bytes) lacks_ = larger(lacks_, bytes);
  }

  /// Bytes to request from the store; 0: none are missing. Doubles, so that the store is rarely called.
  std::size_t shortage() const noexcept { return lacks_ == 0 ? 0 : larger(lacks_, clamped(2 * supplied_, 1024, 64 * 1024)); }
  /// Null: the store refused, and isn't called again immediately.
  void supply(memory more) noexcept {
    lacks_ = 0;
    if (!more) {
      patience_ = 16;
      return;
    }
    left_ = more;  // the rest of the last is less than a magazine, and unused until all is returned
    supplied_ = more.bytes;
  }

 private:
  static magazine* pop(magazine*& list) noexcept {
    magazine* const m = list;
    if (m != nullptr) list = m->next;
    return m;
  }
  static void push(magazine*& list, magazine* m) noexcept { m->next = replace(list, m); }

  magazine* full_ = nullptr;
  std::size_t fulls_ = 0;
  magazine* empty_[magazine::sizes] = {};
  memory left_;
  std::size_t lacks_ = 0;  // bytes
  unsigned patience_ = 0;  // calls to skip before the store is called again
  std::size_t supplied_ = 0;  // bytes, the last time
};

/// Called when a full magazine goes to the depot, or comes from it. A cache line that the freeing thread only read stays
/// shared, so each later store to it must request it again, one after the other. If it is written once here, it moves to the
/// next thread in one transfer, and the prefetches on the other side overlap. Producer and consumer with magazines of 510: 29
/// to 11 ns a block, batched 13 to 8; only one of the two is worse than none (prototype, Sapphire Rapids). Not into blocks of a
/// page or more: they may have no memory yet, or no longer, and the system would have to find some for each. Not with one
/// thread either, for which it is only a cost: python over malloc takes 1.65 s without it and 1.90 s with it (AMD EPYC).
void write_each(magazine& m, const auto& geometry) noexcept {
  constexpr std::size_t page = 4096;
  if (geometry.stride() >= page || is_single_threaded()) return;
  for (void** b = m.bottom(); b != m.limit(); ++b) {
    auto* const byte = static_cast<std::byte*>(geometry.links(*b));
    [[maybe_unused]] const memory_tools::window look(byte, 1);
    *byte = std::byte{};
  }
}

// ---- slots -------------------------------------------------------------------------------------------------------------

// As many as the pool has room for are inside it and reached by an offset. The others are in groups, each created for the first
// of its threads.

/// Whether a slot is being exchanged, and which magazine for which.
enum class exchange_step : unsigned char { none, full_comes, empty_comes };

/// A thread's part of a pool. All zero, it belongs to no thread, and every operation takes the slow path.
template <template <class> class Atomic>
struct alignas(slot_bytes) thread_slot {
  void** top = nullptr;
  void** bottom = nullptr;
  void** limit = nullptr;
  // Order: relaxed, with release fences and one release store between the steps of an exchange. A slot belongs to one thread;
  // the fences order the steps for the child of a fork. trim() writes another value as a hint, after which the owner takes the
  // guard.
  Atomic<const void*> domain = nullptr;  // whose number `id` this slot belongs to
  magazine* current = nullptr;
  magazine* spare = nullptr;  // null, empty or full
  magazine* replaced = nullptr;  // by the last exchange: it was current
  bool spare_is_full = false;
  unsigned char wanted = 0;     // the size of the next magazine
  unsigned char exchanges = 0;  // since it was raised
  // Order: as of domain: relaxed, with release fences.
  Atomic<exchange_step> changing = exchange_step::none;  // a fork may copy it half changed

  /// Whether this is the thread's own slot: not under another domain's number, nor slot 0, unless it has no number.
  TARN_STEP bool is_of(const thread_record& me) const noexcept { return domain.load(memory_order_relaxed) == me.domain; }
  void use(magazine* m, bool full) noexcept {
    current = m;
    limit = m->limit();
    store_relaxed(bottom, m->bottom());
    store_relaxed(top, full ? limit : bottom);
  }
  /// One of the two is full, the other empty. During this no thread owns the slot, so that in the child of a fork the next
  /// thread with this number finishes the exchange before it uses the slot. What ask_for_blocks() writes during this is lost.
  void exchange() noexcept {
    const void* const whose = domain.load(memory_order_relaxed);
    domain.store(this, memory_order_relaxed);
    replaced = current;
    release_fence();
    changing.store(spare_is_full ? exchange_step::full_comes : exchange_step::empty_comes, memory_order_relaxed);
    release_fence();
    change(spare, spare_is_full);
    domain.store(whose, memory_order_release);
  }
  /// In the child of a fork that stopped the slot's thread within exchange(): does the rest. Otherwise nothing. Called under
  /// the core guard, for a slot whose thread doesn't exist.
  void finish_exchange() noexcept {
    const exchange_step step = changing.load(memory_order_relaxed);
    if (step == exchange_step::none) return;
    change(current != replaced ? current : spare, step == exchange_step::full_comes);
  }
  /// A fork may copy it at any time: the block is written before the top counts it.
  TARN_STEP void put(void* block) noexcept {
    void** const place = top;
    *place = block;
    store_release(top, place + 1);
  }
  bool is_used() const noexcept { return current != nullptr; }
  /// Blocks in its magazines. Called under the core guard while its thread allocates and frees; a magazine that is exchanged
  /// during this may not be counted.
  std::size_t blocks() const noexcept {
    void** const from = load_relaxed(bottom);
    void** const to = load_relaxed(top);
    const magazine* const other = load_relaxed(spare);
    constexpr std::size_t most = magazine::capacity(magazine::sizes - 1);
    std::size_t n = (address_of(to) - address_of(from)) / sizeof(void*);  // of two magazines, it's any number
    if (n > most) n = 0;
    return load_relaxed(spare_is_full) && other != nullptr ? n + magazine::capacity(other->size) : n;
  }
  /// A thread of another domain may read `domain` during this.
  void renew() noexcept {
    domain.store(nullptr, memory_order_relaxed);
    top = nullptr;
    bottom = nullptr;
    limit = nullptr;
    current = nullptr;
    spare = nullptr;
    spare_is_full = false;
    wanted = 0;
    exchanges = 0;
    replaced = nullptr;
    changing.store(exchange_step::none, memory_order_relaxed);
  }
  /// Magazines grow with use, by one size after every second exchange, up to a quarter of the pool or grown_bytes.
  void used(std::size_t largest, const auto& chunks) noexcept {
    if (++exchanges % 2 != 0) return;
    const std::size_t next = wanted + std::size_t{1};
    if (next < magazine::sizes_for(chunks.geometry().stride(), largest) && 4 * magazine::capacity(next) <= chunks.capacity())
      ++wanted;
  }

 private:
  /// The spare is written after the current one, so that at any time one of them is the magazine that isn't `replaced`.
  void change(magazine* next, bool full) noexcept {
    use(next, full);
    release_fence();
    store_relaxed(spare, replaced);
    store_relaxed(spare_is_full, !full);
    changing.store(exchange_step::none, memory_order_release);
  }
};

/// \tparam Threads  slots inside; those of further threads are elsewhere, `group` at a time
/// \tparam Ids      its `count` is the most there may be
template <template <class> class Atomic, class Ids, unsigned Threads>
class thread_slots {
  static constexpr unsigned group = 16;
  static constexpr unsigned groups = (Ids::count - Threads) / group;
  static constexpr std::size_t tier = tier_of(Threads);

 public:
  using slot = thread_slot<Atomic>;

  /// The thread's slot among those inside; slot 0 if it has none of them. In one register, because clang 19 otherwise addresses
  /// it through two, and a pair costs 4.2 instead of 1.3 ns.
  TARN_STEP slot& slot_for(const thread_record& me) noexcept {
    return *detail::launder_address(reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(slots_) + me.offset[tier]));
  }

  /// The slot of a number, or null if its group doesn't exist.
  slot* find(unsigned id) noexcept {
    if (id < Threads) return detail::pointer_to(slots_[id]);
    slot* const slots = far_[(id - Threads) / group].load(memory_order_acquire);
    return slots != nullptr ? slots + (id - Threads) % group : nullptr;
  }
  /// Called with the core guard held. Null if there is no memory.
  slot* make_group(unsigned id, auto& depot) noexcept {
    auto& place = far_[(id - Threads) / group];
    if (place.load(memory_order_relaxed) == nullptr) {
      void* const start = depot.carve(group * sizeof(slot));
      if (start == nullptr) return nullptr;
      slot* const slots = static_cast<slot*>(start);
      for (unsigned i = 0; i != group; ++i) ::new (static_cast<void*>(slots + i)) slot;
      place.store(slots, memory_order_release);
    }
    return find(id);
  }
  void each(auto visit) noexcept {
    for (unsigned id = 1; id != Threads; ++id) visit(id, slots_[id]);
    for (unsigned g = 0; g != groups; ++g)
      if (slot* const slots = far_[g].load(memory_order_acquire))
        for (unsigned i = 0; i != group; ++i) visit(Threads + g * group + i, slots[i]);
  }

  /// Whether no other slot has a thread. A slot in a group counts as used once its group exists. Called under the core guard,
  /// which a thread holds when it gets its slot.
  bool no_other_than(const slot* one) const noexcept {
    for (const slot& s : slots_)
      if (detail::pointer_to(s) != one && s.domain.load(memory_order_relaxed) != nullptr) return false;
    for (const auto& g : far_)
      if (g.load(memory_order_relaxed) != nullptr) return false;
    return true;
  }

  /// Resets all slots; the memory of groups is returned.
  void forget() noexcept {
    each([](unsigned, slot& its) { its.renew(); });
    for (auto& g : far_) g.store(nullptr, memory_order_relaxed);
  }

 private:
  slot slots_[Threads];  // first: the hot path finds the caller's by its offset alone; no thread owns slot 0
  // Order: store release, load acquire. It publishes a group of slots that is created under the core guard.
  Atomic<slot*> far_[groups] = {};
};

// ---- the calls ---------------------------------------------------------------------------------------------------------

/// \tparam Threads  slots inside the pool; others come from the store for further threads
/// \tparam Largest  the largest size of magazine; for large blocks a smaller one, or none
/// \tparam Guards   hot(), growth() and end(), as for direct_calls
template <class Guards, class Process, unsigned Threads, std::size_t Largest>
class magazine_calls {
  template <class T>
  using atomic = typename Process::template atomic<T>;
  using ids = std::remove_reference_t<decltype(Process::ids())>;
  using slots = thread_slots<Process::template atomic, ids, Threads>;
  using slot = typename slots::slot;

 public:
  TARN_STEP static no_guard hit_guard() noexcept { return {}; }
  auto core_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  auto growth_guard() const noexcept(noexcept(guards_.growth())) { return guards_.growth(); }
  auto try_growth_guard() const { return guards_.try_growth(); }
  static constexpr growth_again again = again_of<Guards>;
  bool grows_here() const noexcept { return guards_.grows_here(); }

  // ---- the hot half --------------------------------------------------------------------------------------------------

  TARN_STEP void* pop(auto&) noexcept {
    const thread_record& me = Process::self();
    slot& s = slots_.slot_for(me);
    if (!s.is_of(me) || s.top == s.bottom) [[unlikely]] return nullptr;
    void** const top = s.top - 1;
    store_relaxed(s.top, top);
    void* const block = *top;
    if (block == nullptr) TARN_UNREACHABLE();  // so that this is also the caller's test for null
    return block;
  }
  TARN_STEP status push(auto&, void* block) noexcept {
    const thread_record& me = Process::self();
    slot& s = slots_.slot_for(me);
    if (!s.is_of(me) || s.top == s.limit) [[unlikely]] return status::full;
    s.put(block);
    return status::done;
  }

  // ---- the slow half: once a magazine --------------------------------------------------------------------------------

  TARN_NOINLINE void* pop_slow(auto& pool) noexcept {
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

  std::size_t pop_batch(auto& pool, void** out, std::size_t n) noexcept {
    std::size_t got = 0;
    for (; got != n; ++got) {
      void* const block = pop(pool);
      out[got] = block != nullptr ? block : pop_slow(pool);
      if (out[got] == nullptr) break;
    }
    return got;
  }
  status push_batch(auto& pool, void* const* in, std::size_t n) noexcept {
    status answer = status::done;
    while (n != 0) {  // from the end, so that the first of the batch is handed out first
      void* const block = in[--n];
      if (push(pool, block) != status::done && push_slow(pool, block) == status::surplus) answer = status::surplus;
    }
    return answer;
  }

  // ---- everything back to the list -----------------------------------------------------------------------------------

  /// The caller's blocks, the depot's, and those of threads that have exited. Other threads are asked for theirs.
  void drain(auto& pool) noexcept {
    Process::free_numbers(true);
    [[maybe_unused]] const auto lock = core_guard();
    slot* const own = own_slot();
    if (own != nullptr) empty(pool, *own);
    while (unload_full(pool)) {}
    scavenge(pool);
    ask_for_blocks(own);
  }
  void drain_all(auto& pool) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    slots_.each([&](unsigned, slot& its) { empty(pool, its); });
    while (unload_full(pool)) {}
  }
  void drop_all() noexcept {
    slots_.forget();
    depot_ = {};
    starves_.store(false, memory_order_relaxed);
  }
  /// Blocks in threads' magazines and in the depot. While a thread exchanges its magazines, one of its two isn't counted.
  std::size_t waiting(const auto&) const noexcept {
    std::size_t blocks = depot_.full_blocks();
    const_cast<magazine_calls*>(this)->slots_.each([&](unsigned, const slot& its) { blocks += its.blocks(); });
    return blocks;
  }
  bool forget_if_alone() noexcept {
    slot* const own = own_slot();
    if (!slots_.no_other_than(own)) return false;
    if (own != nullptr) own->renew();  // no other: its thread may be using it
    depot_ = {};
    starves_.store(false, memory_order_relaxed);
    return true;
  }
  void end() noexcept { guards_.end(); }

  // ---- memory for magazines ------------------------------------------------------------------------------------------

  /// Fresh chunks need no memory.
  std::size_t shortage(auto&, const auto* fresh) const noexcept {
    if (fresh != nullptr) return 0;
    [[maybe_unused]] const auto lock = core_guard();
    return depot_.shortage();
  }
  void supply(auto&, memory more) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    depot_.supply(more);
    starves_.store(false, memory_order_relaxed);
  }
  void expect(std::size_t blocks) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    depot_.expect(blocks);
  }
  bool starves() const noexcept { return starves_.load(memory_order_relaxed); }
  static void adopt(auto& pool, auto& fresh) noexcept { pool.chunks.adopt(fresh, pool.list); }

 private:
  // ---- the caller's slot --------------------------------------------------------------------------------------------

  /// The caller's slot, or null.
  slot* own_slot() noexcept {
    const thread_record& me = Process::self();
    return me.domain != nullptr && me.domain == domain_.load(memory_order_relaxed) ? slots_.find(me.id) : nullptr;
  }
  /// The caller's slot, with a magazine in it; or null, also if the blocks are too large for magazines.
  template <class Pool>
  slot* mine(Pool& pool, call what) noexcept {
    if (magazine::sizes_for(pool.chunks.geometry().stride(), Largest) == 0) return nullptr;
    if (what == call::allocates && requires { requires Pool::traits::exhaustion::is_malloc; }) what = call::is_malloc;
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
    mark_shortage();
    if (first == nullptr) return nullptr;
    s->use(first, false);
    s->domain.store(me.domain, memory_order_relaxed);
    return s;
  }
  /// Called under the core guard if trim() asked for the slot's blocks, see ask_for_blocks(), or after a fork.
  slot* flush(auto& pool, slot& s, const thread_record& me) noexcept {
    empty(pool, s);
    if (magazine* const least = depot_.take_empty(0)) {  // so that this call doesn't take the same number again
      depot_.give_empty(s.current);
      s.use(least, false);
      s.wanted = 0;
    }
    s.domain.store(me.domain, memory_order_relaxed);
    return detail::pointer_to(s);
  }
  /// Without a slot, or without room in it.
  status push_locked(auto& pool, void* block) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    return pool.list.push_batch(pool.chunks, &block, 1);
  }
  void* pop_locked(auto& pool) noexcept {
    [[maybe_unused]] const auto lock = core_guard();
    void* block = nullptr;
    if (pool.list.pop_batch(pool.chunks, &block, 1) == 0 && (unload_full(pool) || scavenge(pool)))
      pool.list.pop_batch(pool.chunks, &block, 1);
    return block;
  }

  // ---- exchange ------------------------------------------------------------------------------------------------------

  /// Puts blocks into the empty current magazine, or replaces it. Returns whether there is a block now.
  bool refill(auto& pool, slot& s) noexcept {
    if (s.spare_is_full) {
      s.exchange();
      return true;
    }
    {
      [[maybe_unused]] const auto lock = core_guard();
      if (!depot_.has_full()) {
        const bool got = carve(pool, s) || (scavenge(pool) && carve(pool, s));
        mark_shortage();
        return got;
      }
      take_full(pool, s);
    }
    for (void** b = s.bottom; b != s.limit; ++b) detail::prefetch_for_write(*b);
    return true;
  }
  /// The slot keeps the larger of its two empty magazines.
  void take_full(auto& pool, slot& s) noexcept {
    if (s.spare == nullptr || s.spare->size < s.current->size) detail::swap_both(s.spare, s.current);
    if (s.current != nullptr) depot_.give_empty(s.current);
    s.use(depot_.take_full(), true);
    s.used(Largest, pool.chunks);
  }
  /// Takes blocks from the list, free or unused. They are not touched.
  bool carve(auto& pool, slot& s) noexcept {
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
  /// of the two is emptied into the list at once, because a thread's first frees come before the store can be called. A list of
  /// 10,000 nodes, built and cleared for the second time: 25 to 5 ns a node (Zen 5).
  status make_space(auto& pool, slot& s) noexcept {
    if (s.spare != nullptr && !s.spare_is_full) {
      s.exchange();
      return status::done;
    }
    if (s.spare != nullptr) detail::write_each(*s.spare, pool.chunks.geometry());
    [[maybe_unused]] const auto lock = core_guard();
    magazine* const fresh = depot_.take_empty(s.wanted);
    mark_shortage();
    if (fresh == nullptr) return unload_oldest(pool, s);
    if (s.spare != nullptr) depot_.give_full(s.spare);
    s.spare = s.current;
    s.spare_is_full = true;
    s.use(fresh, false);
    s.used(Largest, pool.chunks);
    return status::done;
  }
  status unload_oldest(auto& pool, slot& s) noexcept {
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

  /// If chunks are returned automatically: every block in front of the list keeps its chunk here, so the depot keeps only a few
  /// full magazines. If nearly all memory is idle, it keeps none, and the caller's magazine only a few blocks.
  status unload(auto& pool, slot& s) noexcept {
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
  bool unload_full(auto& pool) noexcept {
    magazine* const m = depot_.take_full();
    if (m == nullptr) return false;
    pool.list.push_batch(pool.chunks, m->bottom(), magazine::capacity(m->size));
    depot_.give_empty(m);
    return true;
  }
  /// Returns whether there was a block.
  bool empty(auto& pool, slot& s) noexcept {
    if (!s.is_used()) return false;
    s.finish_exchange();
    const bool any = s.top != s.bottom || s.spare_is_full;
    pool.list.push_batch(pool.chunks, s.bottom, static_cast<std::size_t>(s.top - s.bottom));
    s.top = s.bottom;
    if (s.spare_is_full) pool.list.push_batch(pool.chunks, s.spare->bottom(), magazine::capacity(s.spare->size));
    s.spare_is_full = false;
    return any;
  }
  /// Takes over the slots of threads that exited. Returns whether there was a block in one.
  bool scavenge(auto& pool) noexcept {
    ids& numbers = Process::ids();
    // These are the numbers of a library that may be unloaded.
    if (domain_.load(memory_order_relaxed) != detail::pointer_to(numbers)) return false;
    Process::free_numbers(false);
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
  /// No other thread can take blocks from a slot whose thread still runs. So this changes the word by which a hit recognises
  /// its slot; the thread's next call here then takes the slow path, which flushes. Called under the core guard.
  void ask_for_blocks(const slot* own) noexcept {
    slots_.each([&](unsigned, slot& its) {
      if (detail::pointer_to(its) != own && its.domain.load(memory_order_relaxed) != nullptr)
        its.domain.store(this, memory_order_relaxed);
    });
  }
  void mark_shortage() noexcept {
    if (depot_.shortage() != 0) starves_.store(true, memory_order_relaxed);
  }

  slots slots_;  // first: the hot path finds the caller's slot by its offset alone
  depot depot_;
  TARN_NO_UNIQUE_ADDRESS Guards guards_;
  // Order: relaxed. Set once and only compared.
  atomic<const void*> domain_ = nullptr;  // that the slots' numbers belong to: that of the first thread here
  // Order: relaxed; a hint, verified under the core guard.
  atomic<bool> starves_ = false;
};

// ---- statistics --------------------------------------------------------------------------------------------------------

// Counts blocks in a cache line for each thread, which no other thread writes, so no call of one thread waits for another's.
//
//   lines_[number]   allocations | frees | peak of the difference            written by the holder of the number alone
//   others_          the same, for threads without a line, each change atomic
//
// What is in use is the sum of the differences, since a block may be freed by another thread. Its peak is exact as long as one
// thread counts. With several it is the most that was seen, never more than there was. A thread checks all lines whenever its
// own difference has risen by a sixteenth of what was in use at its last check, and by at least 64.

/// \tparam Threads  lines: one of slot_counts
template <class Process, unsigned Threads>
class thread_tally {
  template <class T>
  using atomic = typename Process::template atomic<T>;

 public:
  /// Counts one block, if that needs no call. Returns whether it did. Precondition of the first: the thread has a slot, and the
  /// block came from it.
  TARN_STEP bool try_add() noexcept {
    const thread_record& me = Process::self();
    line& mine = line_for(me);
    if (mine.domain.load(memory_order_relaxed) != me.domain) [[unlikely]] return false;
    const std::size_t handed_out = read(mine.allocations) + 1;
    const std::size_t now = handed_out - read(mine.frees);
    if (as_signed(now) > as_signed(read(mine.peak))) {
      if (now >= mine.next_look) [[unlikely]] return false;
      write(mine.peak, now);
    }
    mine.allocations.store(handed_out, memory_order_release);
    return true;
  }
  TARN_STEP bool try_subtract() noexcept {
    const thread_record& me = Process::self();
    line& mine = line_for(me);
    if (!mine.is_of(me)) [[unlikely]] return false;
    write(mine.frees, read(mine.frees) + 1);
    return true;
  }
  TARN_NOINLINE void add(std::size_t blocks) noexcept {
    const thread_record& me = Process::self();
    line& mine = line_for(me);
    if (!mine.is_of(me)) {
      keep_peak();
      if (claim(me)) return add(blocks);
      const std::size_t before = others_.allocations.fetch_add(blocks, memory_order_release);
      if (only_others() || (before + blocks) % step < blocks) seen_.raise_to(in_use());
      return;
    }
    mine.allocations.store(read(mine.allocations) + blocks, memory_order_release);
    const std::size_t now = mine.difference();
    if (as_signed(now) <= as_signed(read(mine.peak))) return;
    write(mine.peak, now);
    if (now < mine.next_look) return;
    const std::size_t all = in_use();
    seen_.raise_to(all);
    mine.next_look = now + larger(all / 16, step);
  }
  TARN_NOINLINE void subtract(std::size_t blocks) noexcept {
    const thread_record& me = Process::self();
    line& mine = line_for(me);
    if (mine.is_of(me)) return write(mine.frees, read(mine.frees) + blocks);
    keep_peak();
    if (claim(me)) return subtract(blocks);  // a thread that only frees, such as a consumer, also has its own line
    others_.frees.fetch_add(blocks, memory_order_relaxed);
  }
  /// All blocks are free. Precondition: no other thread counts.
  void settle() noexcept {
    for (line& l : lines_) write(l.frees, read(l.allocations));
    write(others_.frees, read(others_.allocations));
  }

  /// While others count: at most what was in use when the last allocation was read. The frees are read after it, and those that
  /// came before an allocation are seen with it, because each allocation is a release.
  std::size_t in_use() const noexcept {
    const std::size_t handed_out = allocations();
    std::size_t freed = read(others_.frees);
    for (const line& l : lines_) freed += read(l.frees);
    return handed_out - smaller(handed_out, freed);
  }
  std::size_t peak() const noexcept {
    if (const line* const only = only_line()) return read(only->peak);
    seen_.raise_to(in_use());  // so that it never falls
    return seen_;
  }
  std::size_t allocations() const noexcept {
    std::size_t all = others_.allocations.load(memory_order_acquire);
    for (const line& l : lines_) all += l.allocations.load(memory_order_acquire);
    return all;
  }

 private:
  static constexpr std::size_t step = 64;  // blocks

  struct alignas(slot_bytes) line {
    // Order: relaxed; own.
    atomic<const void*> domain = nullptr;  // that its number belongs to; null: none yet
    // Order: allocations: store release, load acquire. A reader that sees an allocation sees the frees before it, so it never
    // counts more in use than there was. The others: relaxed; own.
    atomic<std::size_t> allocations = 0;
    atomic<std::size_t> frees = 0;
    atomic<std::size_t> peak = 0;     // of their difference
    std::size_t next_look = 0;        // the difference at which its thread checks all lines

    TARN_STEP bool is_of(const thread_record& me) const noexcept {
      return domain.load(memory_order_relaxed) == me.domain && me.domain != nullptr;
    }
    TARN_STEP std::size_t difference() const noexcept { return read(allocations) - read(frees); }
  };
  struct shared {
    // Order: as of a line's: allocations release, acquire; frees relaxed.
    atomic<std::size_t> allocations = 0;
    atomic<std::size_t> frees = 0;
  };
  static constexpr std::size_t tier = tier_of(Threads);

  TARN_STEP static std::size_t read(const atomic<std::size_t>& number) noexcept { return number.load(memory_order_relaxed); }
  TARN_STEP static void write(atomic<std::size_t>& number, std::size_t value) noexcept {
    number.store(value, memory_order_relaxed);
  }
  TARN_STEP static std::ptrdiff_t as_signed(std::size_t difference) noexcept { return static_cast<std::ptrdiff_t>(difference); }

  TARN_STEP line& line_for(const thread_record& me) noexcept {
    return *detail::launder_address(reinterpret_cast<line*>(reinterpret_cast<std::byte*>(lines_) + me.offset[tier]));
  }

  /// Takes the line of the thread's number, unless it is another domain's.
  bool claim(const thread_record& me) noexcept {
    line& mine = line_for(me);
    const void* nobody = nullptr;
    return detail::pointer_to(mine) != lines_ && mine.domain.compare_exchange_strong(nobody, me.domain, memory_order_relaxed);
  }
  /// Called before a second thread counts.
  void keep_peak() noexcept {
    if (const line* const only = only_line()) seen_.raise_to(read(only->peak));
  }
  bool only_others() const noexcept {
    for (const line& l : lines_)
      if (l.domain.load(memory_order_relaxed) != nullptr) return false;
    return true;
  }
  /// The line of the only thread that ever counted, or null if there were several, or none has one.
  const line* only_line() const noexcept {
    const line* only = nullptr;
    if (read(others_.allocations) != 0 || read(others_.frees) != 0) return nullptr;
    for (const line& l : lines_) {
      if (l.domain.load(memory_order_relaxed) == nullptr) continue;
      if (only != nullptr) return nullptr;
      only = detail::pointer_to(l);
    }
    return only;
  }

  line lines_[Threads];  // no thread owns the first
  shared others_;
  // Order: relaxed; own.
  mutable shared_cell<std::size_t> seen_ = 0;
};

}  // namespace tarn::detail

namespace tarn {

/// \tparam Threads   slots in the pool object, of 64 bytes: 16, 64 or 256. Threads - 1 threads at the same time find theirs
///                   directly; further ones, up to 1023, through a table, which takes four times as long; more take a lock each
///                   time
/// \tparam Magazine  blocks in the largest magazine: 14, 30, 62, 126, 254 or 510. A thread begins with 14. Except for the
///                   smallest, of 14, no magazine holds more than 32 KiB of blocks. If 14 blocks are more than 512 KiB, there
///                   is no magazine, and each call takes a lock
template <std::size_t Threads = 16, std::size_t Magazine = 510>
struct thread_cached {
  using axis = tarn::axis::locking;

 private:
  static constexpr std::size_t largest() noexcept {
    std::size_t size = 0;
    while (size != detail::magazine::sizes && detail::magazine::capacity(size) != Magazine) ++size;
    return size;
  }

 public:
  static constexpr bool numbers_hold = detail::tier_of(Threads) != detail::tiers && largest() != detail::magazine::sizes;
  static constexpr bool arguments_hold = numbers_hold && platform::system::has_threads && platform::system::has_thread_locals;
  struct complaint {
    static_assert(numbers_hold,
                  "tarn: [L3] thread_cached was given a number of threads or blocks that it doesn't support; use 16, 64 or 256 "
                  "threads, and 14, 30, 62, 126, 254 or 510 blocks");
    static_assert(!numbers_hold || arguments_hold,
                  "tarn: [Y2] thread_cached was used, but this target has no threads, or no thread-local variables, which it "
                  "needs; use no_locking, interrupt_locking<> or mutex_locking<your_mutex>, or provide a platform header "
                  "(docs/platforms.md)");
  };
  static constexpr locking_traits traits{
      .keeps_memory = true, .can_forget = true, .keeps_blocks = true, .can_try = true, .has_tally = true};
  template <class T>
  using cell = detail::shared_cell<T>;
  using tally = detail::thread_tally<detail::process_threads, unsigned{Threads}>;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  template <class Traits>
  using state =
      detail::magazine_calls<detail::mutex_pair<mutex, detail::fork_member_in<Traits>>, detail::process_threads,
                             unsigned{Threads}, largest()>;
};

/// The default of products that any thread may use, such as DECLARE_MEMORY_POOL and stl_allocator: thread_cached<>; over a
/// bounded store, mutex_locking<thread_aware_mutex> takes its place. Without threads, both are no_locking; without thread-local
/// variables, this is mutex_locking<>.
using shared_locking = std::conditional_t<
    !platform::system::has_threads, no_locking,
    typename std::conditional_t<platform::system::has_thread_locals, std::type_identity<thread_cached<>>,
                                std::type_identity<mutex_locking<>>>::type>;

namespace detail {
using shared_locking_of_bounded =
    std::conditional_t<platform::system::has_threads, mutex_locking<thread_aware_mutex>, no_locking>;
}  // namespace detail

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_THREAD_CACHED_H_
