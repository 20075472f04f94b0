// The slots of thread_cached: each is a thread's part of a pool. As many as the pool has room for lie in it and are reached by
// an offset; others lie in groups, each made when the first of its threads comes.
#ifndef TARN_POLICIES_LOCKING_DETAIL_THREAD_SLOTS_H_
#define TARN_POLICIES_LOCKING_DETAIL_THREAD_SLOTS_H_

#include <cstddef>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/locking/detail/magazine.h"
#include "tarn/policies/locking/detail/thread_ids.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Whether a slot is within an exchange, and of what for what.
enum class exchange_step : unsigned char { none, full_comes, empty_comes };

/// A thread's part of a pool. All zero, it belongs to no thread: every operation goes to its slow half.
template <template <class> class Atomic>
struct alignas(slot_bytes) thread_slot {
  void** top = nullptr;
  void** bottom = nullptr;
  void** limit = nullptr;
  Atomic<const void*> domain = nullptr;  // whose number `id` this slot belongs to
  magazine* current = nullptr;
  magazine* spare = nullptr;  // null, empty or full
  magazine* replaced = nullptr;  // by the last exchange: it was current
  bool spare_is_full = false;
  unsigned char wanted = 0;     // the size of the next magazine
  unsigned char exchanges = 0;  // since it was raised
  Atomic<exchange_step> changing = exchange_step::none;  // where a fork may copy it half changed

  /// Whether this is the thread's own slot: not under another domain's number, nor slot 0, unless it has no number.
  TARN_STEP bool is_of(const thread_record& me) const noexcept { return domain.load(memory_order_relaxed) == me.domain; }
  void use(magazine* m, bool full) noexcept {
    current = m;
    limit = m->limit();
    store_relaxed(bottom, m->bottom());
    store_relaxed(top, full ? limit : bottom);
  }
  /// One of the two is full, the other empty. Meanwhile the slot is nobody's, so that in the child of a fork the next thread
  /// under this number doesn't go on with half of it, but finishes first. What ask_for_blocks() writes meanwhile is lost.
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
  /// In the child of a fork that stopped the slot's thread within exchange(): does the rest. Else nothing. Called under the
  /// core guard, for a slot whose thread isn't there.
  void finish_exchange() noexcept {
    const exchange_step step = changing.load(memory_order_relaxed);
    if (step == exchange_step::none) return;
    change(current != replaced ? current : spare, step == exchange_step::full_comes);
  }
  /// What a fork copies is right at any time: the block is there before the top says so.
  TARN_STEP void put(void* block) noexcept {
    void** const place = top;
    *place = block;
    store_release(top, place + 1);
  }
  bool is_used() const noexcept { return current != nullptr; }
  /// In its magazines. Called under the core guard, while its thread takes and gives: what that exchanges meanwhile may count
  /// for nothing.
  std::size_t blocks() const noexcept {
    void** const from = load_relaxed(bottom);
    void** const to = load_relaxed(top);
    const magazine* const other = load_relaxed(spare);
    constexpr std::size_t most = magazine::capacity(magazine::sizes - 1);
    std::size_t n = (address_of(to) - address_of(from)) / sizeof(void*);  // of two magazines, it's any number
    if (n > most) n = 0;
    return load_relaxed(spare_is_full) && other != nullptr ? n + magazine::capacity(other->size) : n;
  }
  /// A thread of another domain may read `domain` meanwhile.
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
  /// Magazines grow with use, by one size after every second exchange; not beyond a quarter of the pool, nor grown_bytes.
  template <class Chunks>
  void used(std::size_t largest, const Chunks& chunks) noexcept {
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

/// \tparam Threads  slots inside; those of further threads lie elsewhere, `group` at a time
/// \tparam Ids      its `count` says how many there may be
template <template <class> class Atomic, class Ids, unsigned Threads>
class thread_slots {
  static constexpr unsigned group = 16;
  static constexpr unsigned groups = (Ids::count - Threads) / group;
  static constexpr std::size_t tier = tier_of(Threads);

 public:
  using slot = thread_slot<Atomic>;

  /// The thread's slot among those inside; slot 0 if it has none of them. In one register: otherwise clang 19 addresses it
  /// through two, and a pair costs 4.2 instead of 1.3 ns.
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
  template <class Depot>
  slot* make_group(unsigned id, Depot& depot) noexcept {
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
  template <class Visit>
  void each(Visit visit) noexcept {
    for (unsigned id = 1; id != Threads; ++id) visit(id, slots_[id]);
    for (unsigned g = 0; g != groups; ++g)
      if (slot* const slots = far_[g].load(memory_order_acquire))
        for (unsigned i = 0; i != group; ++i) visit(Threads + g * group + i, slots[i]);
  }

  /// Whether no other slot has a thread. One of a further thread may, as soon as its group exists. Called under the core guard,
  /// under which a thread comes to its slot.
  bool no_other_than(const slot* one) const noexcept {
    for (const slot& s : slots_)
      if (detail::pointer_to(s) != one && s.domain.load(memory_order_relaxed) != nullptr) return false;
    for (const auto& g : far_)
      if (g.load(memory_order_relaxed) != nullptr) return false;
    return true;
  }

  /// Makes all slots as new; the memory of groups goes back.
  void forget() noexcept {
    each([](unsigned, slot& its) { its.renew(); });
    for (auto& g : far_) g.store(nullptr, memory_order_relaxed);
  }

 private:
  slot slots_[Threads];  // first: the hot path finds the caller's by its offset alone; slot 0 is no thread's
  Atomic<slot*> far_[groups] = {};
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_THREAD_SLOTS_H_
