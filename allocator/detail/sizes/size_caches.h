// Caches of blocks of many classes for each thread, behind which a core has the free blocks. A thread's part is one pointer a
// class, `top`, and what is needed when that runs out:
//
//   take    top's word, unless null                      else take: the spare magazine, one of the depot, or the core's fill
//   give    above top, unless the mark is there          else give: the spare magazine, which goes to the depot or to drain
//   enrol   a part for a thread: one of a thread that is gone, as it left it, or a new one
//   leave   the thread ends: its part waits for the next thread. Beyond a few parts, its blocks go to the core first
//   sweep   what nobody asked for since the last one goes to the core: classes, depots, parts of threads that are gone
//
//   a magazine of 2^k words:   | k | null, or the next magazine | block ... | mark |
//                                    ^ top, if it is empty              ^ top, if it is full
//
// So null and the mark are bounds that the hot half finds in the words it reads anyway. A thread without a part has tops that
// point at null and the mark in one place (nobodys_words), and takes the slow way both times: nothing else is asked.
//
// Locks, in this order: the parts' that wait, a class', what the core has. What a thread does to its own part takes none.
#ifndef TARN_ALLOCATOR_DETAIL_SIZES_SIZE_CACHES_H_
#define TARN_ALLOCATOR_DETAIL_SIZES_SIZE_CACHES_H_

#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/allocator/detail/sizes/class_table.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// A block's address, or a bound.
using cache_word = std::uintptr_t;
inline constexpr cache_word no_block = 0, limit_mark = 1;
/// All tops of a thread without a part.
TARN_ONE_IN_LIBRARY inline constinit cache_word nobodys_words[2] = {no_block, limit_mark};

/// The hot half: the newest block of the magazine whose top this is; null: the slow half.
TARN_STEP void* take_from(cache_word*& top) noexcept {
  cache_word* const at = top;
  const cache_word block = *at;
  if (block != no_block) [[likely]]
    top = at - 1;
  return reinterpret_cast<void*>(block);
}
/// Returns whether there was room; otherwise the slow half takes the block. Precondition: not null.
TARN_STEP bool give_to(cache_word*& top, void* block) noexcept {
  cache_word* const at = top;
  if (at[1] == limit_mark) [[unlikely]]
    return false;
  at[1] = reinterpret_cast<cache_word>(block);
  top = at + 1;
  return true;
}

/// One of the mutexes that a fork locks together, in the owner's order. The owner is the fork_member, and asks admits() before
/// it locks the first.
class joint_mutex {
 public:
  void lock() noexcept {
    if (!process_forks().holds_all()) mutex_.lock();
  }
  void unlock() noexcept {
    if (!process_forks().holds_all()) mutex_.unlock();
  }
  /// While the process has one thread, it may fork in a signal handler, and what it interrupted may hold the mutex: then that
  /// goes on holding it, in both processes.
  void act(fork_step step) noexcept {
    if (step != fork_step::lock && is_left_) is_left_ = false;
    else if (step != fork_step::lock || !is_single_threaded()) act_on_leaf(mutex_, step);
    else is_left_ = !mutex_.try_lock();
  }

 private:
  tarn::mutex mutex_;
  bool is_left_ = false;
};

struct cache_magazine {
  cache_word k;
  cache_magazine* link;  // null while a thread has it

  std::uint32_t capacity() const noexcept { return (1u << k) - 3; }
  cache_word* empty_top() noexcept { return reinterpret_cast<cache_word*>(&link); }
  cache_word* first() noexcept { return empty_top() + 1; }
  cache_word* full_top() noexcept { return empty_top() + capacity(); }

  /// \param memory  2^k words, or null
  static cache_magazine* make(void* memory, unsigned k) noexcept {
    if (memory == nullptr) return nullptr;
    cache_magazine* const made = ::new (memory) cache_magazine{k, nullptr};
    *(made->full_top() + 1) = limit_mark;
    return made;
  }
};

/// What a thread has of all classes.
/// \tparam Count  of classes, with class 0
template <unsigned Count>
struct thread_part {
  /// What only the slow half needs.
  struct cold {
    cache_magazine* current = nullptr;
    cache_magazine* spare = nullptr;
    bool spare_is_full = false, touched = false;  // touched: since the last sweep
    unsigned char wanted = 0;  // k of its next magazine; 0: none yet
    unsigned char exchanges = 0;
  };

  cache_word** top = kept;  // of each class: `kept`, or where the owner's hot half has them
  cache_word* kept[Count];
  cold classes[Count];
  thread_part* next = nullptr;
  bool waits_with_blocks = false;
  std::uint32_t room = 0;  // bytes of blocks that the magazines have room for

  thread_part() noexcept {
    for (cache_word*& one : kept) one = nobodys_words;
  }
};

/// \tparam Core  what has the free blocks: `table`, a class_table; for a class whose lock is held, fill(c, words, n), which
///               returns how many blocks it gave, and drain(c, words, n), which never fails; own_memory(bytes), aligned to 64,
///               null if there is none, for as long as the core lives; act_at_fork(step), for its locks
template <class Core>
class size_caches {
 public:
  using table = typename Core::table;
  static constexpr unsigned count = table::count;
  using plan = magazine_plan<table>;
  using part = thread_part<count>;

  constexpr size_caches(Core& core, const plan& magazines) noexcept : core_(core), plan_(&magazines) {}
  size_caches(const size_caches&) = delete;
  size_caches& operator=(const size_caches&) = delete;
  /// Before the first part is enrolled.
  void use(const plan& magazines) noexcept { plan_ = &magazines; }
  /// The owner is destroyed: a fork no longer calls it. The core has all memory.
  void end() noexcept { at_fork_.leave(); }

  // ---- a thread's calls, when its top has nothing, or no room -----------------------------------------------------------

  /// A block, or null if the core has none.
  TARN_NOINLINE void* take(part& mine, unsigned c) noexcept {
    at_fork_.admits(act);
    auto& my = mine.classes[c];
    my.touched = true;
    if (my.spare_is_full) {
      swap(mine, c);
    } else {
      if (my.wanted == 0) begin(mine, c);
      if (!refill(mine, c)) return nullptr;
    }
    return take_from(mine.top[c]);
  }
  /// Never fails: without memory for a magazine, the core takes the block.
  TARN_NOINLINE void give(part& mine, unsigned c, void* block) noexcept {
    at_fork_.admits(act);
    auto& my = mine.classes[c];
    my.touched = true;
    if (my.wanted == 0) begin(mine, c);
    if (my.current == nullptr && is_shared() && give_foreign(mine, c, block)) return;
    if (my.current != nullptr && my.spare != nullptr && !my.spare_is_full) swap(mine, c);
    else if (!make_room(mine, c)) return give_alone(c, block);
    give_to(mine.top[c], block);
  }

  /// For threads without a part: one that ends, or for which there is no memory.
  TARN_COLD void* take_alone(unsigned c) noexcept {
    at_fork_.admits(act);
    depot& its = depots_[c];
    const held lock(its.mutex);
    cache_word block = no_block;
    if (core_.fill(c, &block, 1) == 0 && its.full != nullptr) {
      drain_one(its, c);
      core_.fill(c, &block, 1);
    }
    return reinterpret_cast<void*>(block);
  }
  TARN_COLD void give_alone(unsigned c, void* block) noexcept {
    at_fork_.admits(act);
    const held lock(depots_[c].mutex);
    cache_word word = reinterpret_cast<cache_word>(block);
    core_.drain(c, &word, 1);
  }

  // ---- threads come and go ----------------------------------------------------------------------------------------------

  /// A part for the calling thread; null: no memory.
  /// \param tops  where its hot half has them, or null: in the part
  TARN_COLD part* enrol(cache_word** tops) noexcept {
    at_fork_.admits(act);
    part* got;
    {
      const held lock(waiting_mutex_);
      got = waiting_;
      if (got != nullptr) {
        waiting_ = got->next;
        if (detail::replace(got->waits_with_blocks, false)) with_blocks_.fetch_sub(1, memory_order_relaxed);
      }
    }
    if (got == nullptr) {
      void* const memory = core_.own_memory(sizeof(part));
      if (memory == nullptr) return nullptr;
      got = ::new (memory) part;
    }
    if (tops != nullptr) place(*got, got->kept, tops);
    threads_.fetch_add(1, memory_order_relaxed);
    return got;
  }
  /// The calling thread no longer uses its part. Returns whether reclaim() is due: more threads have exited than may leave
  /// blocks, and no thread is left that would use them.
  TARN_COLD bool leave(part& mine) noexcept {
    at_fork_.admits(act);
    if (mine.top != mine.kept) place(mine, mine.top, mine.kept);
    const bool is_one_more = with_blocks_.load(memory_order_relaxed) >= parts_with_blocks;
    if (is_one_more) flush(mine);
    const held lock(waiting_mutex_);
    mine.next = waiting_;
    waiting_ = &mine;
    mine.waits_with_blocks = !is_one_more;
    if (is_one_more) were_more_ = true;
    else with_blocks_.fetch_add(1, memory_order_relaxed);
    const bool was_last = threads_.fetch_sub(1, memory_order_relaxed) <= 2;  // but for one
    return was_last && detail::replace(were_more_, false);
  }

  // ---- blocks go back to the core ---------------------------------------------------------------------------------------

  /// What nobody asked for since the last sweep. \param mine  the caller's part, or null
  TARN_COLD void sweep(part* mine) noexcept {
    at_fork_.admits(act);
    flush_waiting();
    for (unsigned c = 1; c != count; ++c) {
      if (mine != nullptr && !detail::replace(mine->classes[c].touched, false)) flush(*mine, c);
      depot& its = depots_[c];
      const held lock(its.mutex);
      for (std::uint32_t n = its.fewest; n != 0; --n) drain_one(its, c);
      its.fewest = its.fulls;
    }
  }
  /// All that no other thread has.
  TARN_COLD void reclaim(part* mine) noexcept {
    at_fork_.admits(act);
    flush_waiting();
    for (unsigned c = 1; c != count; ++c) {
      if (mine != nullptr) flush(*mine, c);
      const held lock(depots_[c].mutex);
      while (depots_[c].full != nullptr) drain_one(depots_[c], c);
      depots_[c].fewest = 0;
    }
  }

  /// Calls visit(c, blocks) for each class, with the blocks in the depot, under its lock.
  template <class Visit>
  void each_depot(Visit visit) noexcept {
    at_fork_.admits(act);
    for (unsigned c = 1; c != count; ++c) {
      const held lock(depots_[c].mutex);
      visit(c, depots_[c].blocks);
    }
  }
  /// Waits if a fork is in progress. Called before the core's own locks are taken for something else.
  void admit() noexcept { at_fork_.admits(act); }

 private:
  static constexpr unsigned parts_with_blocks = 4;  // that wait for a thread

  /// Full magazines of a class that no thread has, and empty ones by k.
  struct alignas(128) depot {
    joint_mutex mutex;
    std::uint32_t fulls = 0;
    std::uint32_t fewest = 0;  // of `fulls` since the last sweep
    std::size_t blocks = 0;
    cache_magazine* full = nullptr;
    cache_magazine* empty[plan::most + 1] = {};

    void put_empty(cache_magazine* one) noexcept { one->link = empty[one->k], empty[one->k] = one; }
    void put_full(cache_magazine* one) noexcept {
      one->link = full;
      full = one;
      ++fulls;
      blocks += one->capacity();
    }
    cache_magazine* take_full() noexcept {
      cache_magazine* const one = full;
      full = one->link;
      one->link = nullptr;
      if (--fulls < fewest) fewest = fulls;
      blocks -= one->capacity();
      return one;
    }
  };

  bool is_shared() const noexcept { return threads_.load(memory_order_relaxed) > 1; }

  static void place(part& its, cache_word** from, cache_word** to) noexcept {
    for (unsigned c = 0; c != count; ++c) to[c] = detail::replace(from[c], nobodys_words);
    its.top = to;
  }

  // ---- magazines --------------------------------------------------------------------------------------------------------

  static void use(part& mine, unsigned c, cache_magazine* one, bool is_full) noexcept {
    mine.classes[c].current = one;
    mine.top[c] = is_full ? one->full_top() : one->empty_top();
  }
  static void swap(part& mine, unsigned c) noexcept {
    auto& my = mine.classes[c];
    cache_magazine* const before = my.current;
    use(mine, c, my.spare, my.spare_is_full);
    my.spare = before;
    my.spare_is_full = !my.spare_is_full;
  }
  static std::uint32_t room_of(unsigned c, unsigned k) noexcept {
    return 2 * plan::blocks(k) * static_cast<std::uint32_t>(table::bytes(c));
  }
  void begin(part& mine, unsigned c) noexcept {
    mine.classes[c].wanted = plan_->first[c];
    mine.room += room_of(c, plan_->first[c]);
  }
  /// Magazines grow with the exchanges, as long as all of the thread's have room for no more than the plan says.
  void note_exchange(part& mine, unsigned c) noexcept {
    auto& my = mine.classes[c];
    if (++my.exchanges % 2 != 0 || my.wanted == plan_->largest[c]) return;
    const std::uint32_t more = room_of(c, my.wanted + 1u) - room_of(c, my.wanted);
    if (mine.room + more <= plan_->part) mine.room += more, ++my.wanted;
  }
  /// Under the depot's lock. Null: no memory.
  cache_magazine* empty_of(depot& its, unsigned k) noexcept {
    cache_magazine* const one = its.empty[k];
    if (one == nullptr) return cache_magazine::make(core_.own_memory(sizeof(cache_word) << k), k);
    its.empty[k] = one->link;
    one->link = nullptr;
    return one;
  }

  /// Fills the current magazine. Both are empty.
  bool refill(part& mine, unsigned c) noexcept {
    depot& its = depots_[c];
    its.mutex.lock();
    if (its.full != nullptr) {
      cache_magazine* const full = its.take_full();
      put_smaller(its, mine.classes[c]);
      its.mutex.unlock();
      use(mine, c, full, true);
      // Other threads wrote to them: their lines come while the first is used.
      if (is_shared())
        for (cache_word* at = full->first(); *at != limit_mark; ++at) prefetch_for_write(reinterpret_cast<void*>(*at));
      note_exchange(mine, c);
      return true;
    }
    cache_magazine* const empty = larger_of(its, mine, c);
    const std::uint32_t got = empty != nullptr ? core_.fill(c, empty->first(), empty->capacity()) : 0;
    its.mutex.unlock();
    if (got == 0) return false;
    for (cache_word *low = empty->first(), *high = low + got - 1; low < high; ++low, --high) {  // the lowest address on top
      const cache_word block = *low;
      *low = *high;
      *high = block;
    }
    mine.top[c] = empty->empty_top() + got;
    note_exchange(mine, c);
    return true;
  }
  /// The smaller of two empty magazines goes to the depot; the other is the spare.
  static void put_smaller(depot& its, typename part::cold& my) noexcept {
    if (my.spare == nullptr || (my.current != nullptr && my.spare->k < my.current->k)) {
      cache_magazine* const smaller = my.spare;
      my.spare = my.current;
      my.current = smaller;
    }
    if (my.current != nullptr) its.put_empty(my.current);
  }
  /// The current magazine, empty, and as large as is wanted by now, if there is memory. Null: there is none.
  cache_magazine* larger_of(depot& its, part& mine, unsigned c) noexcept {
    const auto& my = mine.classes[c];
    if (my.current != nullptr && my.current->k >= my.wanted) return my.current;
    if (cache_magazine* const larger = empty_of(its, my.wanted)) {
      if (my.current != nullptr) its.put_empty(my.current);
      use(mine, c, larger, false);
    }
    return my.current;
  }

  /// The current magazine is full, or there is none: it becomes the spare, and a new one the current. Returns whether there was
  /// one.
  bool make_room(part& mine, unsigned c) noexcept {
    auto& my = mine.classes[c];
    depot& its = depots_[c];
    // Brings the lines of what leaves out of this processor's cache while nothing is locked.
    if (my.spare != nullptr && is_shared())
      for (cache_word* at = my.spare->first(); *at != limit_mark; ++at) *reinterpret_cast<unsigned char volatile*>(*at) = 0;
    {
      const held lock(its.mutex);
      cache_magazine* const empty = empty_of(its, my.wanted);
      if (empty == nullptr) return false;
      if (my.spare != nullptr) put_away(its, c, my.spare);
      my.spare = my.current;
      my.spare_is_full = my.current != nullptr;
      use(mine, c, empty, false);
    }
    note_exchange(mine, c);
    return true;
  }
  void put_away(depot& its, unsigned c, cache_magazine* full) noexcept {
    if (its.fulls < plan_->depot[c] && full->k >= plan_->first[c]) return its.put_full(full);
    core_.drain(c, full->first(), full->capacity());
    its.put_empty(full);
  }
  void drain_one(depot& its, unsigned c) noexcept {
    cache_magazine* const full = its.take_full();
    core_.drain(c, full->first(), full->capacity());
    its.put_empty(full);
  }

  /// The thread never had a block of this class, so this one is from another thread, whose blocks are next to it. If it were
  /// allocated next, two threads would write to one cache line; so it goes below the thread's own blocks. Returns whether it is
  /// put away.
  bool give_foreign(part& mine, unsigned c, void* block) noexcept {
    auto& my = mine.classes[c];
    if (!refill(mine, c)) return false;
    void* const own = take_from(mine.top[c]);
    cache_word foreign = reinterpret_cast<cache_word>(block);
    if (mine.top[c] != my.current->empty_top()) {
      cache_word& lowest = *my.current->first();
      const cache_word displaced = lowest;
      lowest = foreign;
      foreign = displaced;
    }
    give_to(mine.top[c], own);
    const held lock(depots_[c].mutex);
    core_.drain(c, &foreign, 1);
    return true;
  }

  // ---- flushing ---------------------------------------------------------------------------------------------------------

  void flush(part& its) noexcept {
    for (unsigned c = 1; c != count; ++c) flush(its, c);
  }
  void flush(part& mine, unsigned c) noexcept {
    auto& my = mine.classes[c];
    if (my.wanted == 0) return;
    {
      depot& its = depots_[c];
      const held lock(its.mutex);
      if (my.current != nullptr) {
        core_.drain(c, my.current->first(), static_cast<std::uint32_t>(mine.top[c] - my.current->empty_top()));
        its.put_empty(my.current);
      }
      if (my.spare != nullptr) {
        if (my.spare_is_full) core_.drain(c, my.spare->first(), my.spare->capacity());
        its.put_empty(my.spare);
      }
    }
    mine.room -= room_of(c, my.wanted);
    my = {};
    mine.top[c] = nobodys_words;
  }
  void flush_waiting() noexcept {
    const held lock(waiting_mutex_);
    for (part* one = waiting_; one != nullptr; one = one->next) {
      if (detail::replace(one->waits_with_blocks, false)) flush(*one);
    }
    with_blocks_.store(0, memory_order_relaxed);
  }

  // ---- forks ------------------------------------------------------------------------------------------------------------

  struct member : fork_member {
    size_caches* owner;
    constexpr explicit member(size_caches* its) noexcept : owner(its) {}
  };
  static void act(fork_member& m, fork_step step) noexcept {
    size_caches& its = *static_cast<member&>(m).owner;
    its.waiting_mutex_.act(step);
    for (unsigned c = 1; c != count; ++c) its.depots_[c].mutex.act(step);
    its.core_.act_at_fork(step);
    // In the child, the parts of other threads are lost, with what they held.
    if (step == fork_step::renew) its.threads_.store(1, memory_order_relaxed);
  }

  Core& core_;
  const plan* plan_;
  depot depots_[count];
  joint_mutex waiting_mutex_;
  part* waiting_ = nullptr;  // of threads that are gone
  // Order: relaxed; a hint.
  atomic_word<unsigned> with_blocks_ = 0;  // of those
  bool were_more_ = false;
  // Order: relaxed; a hint.
  atomic_word<unsigned> threads_ = 0;  // with a part
  member at_fork_{this};
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_SIZES_SIZE_CACHES_H_
