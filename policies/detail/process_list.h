// The pools of the process that any thread may ask to trim (because another pool ran out of memory, or the program wants memory
// back), for their figures, or to switch their checks. One list, whichever libraries the pools are in.
//
//   enter      a pool, when it is created or before its first chunk: from now on it may be asked
//   ask_each…  a thread: goes from one pool to the next, marks it as asked, and asks it with nothing held
//   pause      a pool: waits until nobody asks it; then nobody does until resume
//   leave      a pool, or its library at the end, for all of its pools: the same, and it is out of the list
//
// Pools of the registry and those that can trim are two chains: no question passes the other's pools.
//
// Nothing here waits while it holds something: the list's mutex is never held while a pool is asked. Entering, leaving and
// advancing to the next pool take constant time, except that a walk to a rank passes the lower ones, and a pool that enters
// passes the higher ones.
#ifndef TARN_POLICIES_DETAIL_PROCESS_LIST_H_
#define TARN_POLICIES_DETAIL_PROCESS_LIST_H_

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <type_traits>

#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn {
struct pool_record;
}

namespace tarn::detail {

/// What a pool that was asked returned. `busy`: another thread is at its store.
struct trimmed {
  std::size_t bytes = 0;
  bool busy = false;
};

/// What a pool may be asked, by its type. Null: it can't.
struct process_calls {
  trimmed (*trim)(void* pool) noexcept = nullptr;
  // The registry's: if it has one, it has the first two.
  void (*entered)(void* pool) noexcept = nullptr;                       // notes what the registry shows for every pool
  void (*tell)(const void* pool, pool_record& out) noexcept = nullptr;  // writes what can be seen under its core guard
  bool (*switch_checks)(void* pool, bool on, bool is_owner) noexcept = nullptr;  // returns whether it could
};

/// A library with pools in the list. They are removed when it is unloaded, and none enters after that.
struct process_library {
  enum class phase { before_any, some, over };
  // Order: relaxed. Exchanged once.
  atomic_word<phase> now = phase::before_any;
  void (*const at_first)() noexcept;  // the library's own function, whichever library calls

  /// Returns whether pools may still enter.
  bool begin() noexcept {
    phase before = phase::before_any;
    if (now.compare_exchange_strong(before, phase::some, memory_order_relaxed)) at_first();
    return before != phase::over;
  }
};

/// What a pool keeps for the list. Constant-initialised, without a destructor, so that static pools have none: an owner that is
/// destroyed before the process exits calls leave().
class process_node {
 public:
  process_node(const process_node&) = delete;
  process_node& operator=(const process_node&) = delete;

  /// Called with nothing held, before the pool gets its first chunk, and any other. `confined`: no lock synchronises threads,
  /// so only the thread that was here last may inspect the pool, or ask it to trim.
  void enter(void* pool, const process_calls& its, bool confined) noexcept {
    if (confined) owner_.store(this_thread_number(), memory_order_relaxed);
    if (!entered_.load(memory_order_acquire)) [[unlikely]]
      enter_now(pool, its);
  }
  /// Waits for threads that are asking the pool.
  void leave() noexcept;
  /// No thread, including this one, asks the pool until resume(), because its owner is walking its blocks. Waits for threads
  /// that are asking it.
  void pause() noexcept;
  void resume() noexcept;

 protected:
  /// \param rank     in which order pools are asked to trim
  /// \param has_end  its owner has a destructor, and calls leave(): a new one is then all zero, if its rank is
  constexpr explicit process_node(int rank, bool has_end = false) noexcept;

  /// Whether the pool has a lock, or belongs to this thread.
  bool is_owner() const noexcept {
    const thread_number owner = owner_.load(memory_order_relaxed);
    return owner == 0 || owner == this_thread_number();
  }
  void* pool() const noexcept { return pool_; }
  const process_calls& calls() const noexcept { return *calls_; }

 private:
  friend class process_list;
  TARN_ONE_IN_LIBRARY void enter_now(void* pool, const process_calls& its) noexcept;
  /// Its library was unloaded. A static object is gone with it; any other may continue, in code of another library.
  void forget_library() noexcept {
    if (!is_static_) library_.store(nullptr, memory_order_relaxed);
  }

  const int rank_;
  const bool is_static_;
  // Order: store release, load acquire. The mutex orders it, and the quick look is only about this pool.
  atomic_word<bool> entered_ = false;
  // Order: relaxed; written under the list's mutex.
  atomic_word<process_library*> library_;  // it leaves when this goes: a static object's own, or that of the entering code
  // Order: relaxed; own.
  atomic_word<thread_number> owner_ = 0;   // if confined: the thread that was here last
  // The rest belongs to the list.
  int asked_by_ = 0;  // threads that are asking it now: it stays listed until they are done
  int paused_ = 0;    // how often it was paused and not resumed
  void* pool_ = nullptr;
  const process_calls* calls_ = nullptr;
  process_node* before_ = nullptr;
  process_node* after_ = nullptr;
};

/// What a pool keeps that other pools can ask to trim. A pool that stays busy in another thread is skipped after a moment; so
/// is one whose store this thread is in.
class reclaim_member : public process_node {
 public:
  constexpr explicit reclaim_member(int priority) noexcept : process_node(priority) {}

  /// Held while this thread is at the pool's store, together with the guard that shows this to other threads.
  template <class Guard>
  class at_store {
   public:
    at_store(reclaim_member& m, auto make) : guard_(make()), member_(m), before_(m.visitor_.load(memory_order_relaxed)) {
      if (*this) member_.visitor_.store(this_thread_number(), memory_order_relaxed);
    }
    ~at_store() {
      if (*this) member_.visitor_.store(before_, memory_order_relaxed);
    }
    at_store(const at_store&) = delete;
    at_store& operator=(const at_store&) = delete;
    /// Whether the guard is held: an attempt to lock it may have failed.
    explicit operator bool() const noexcept { return detail::is_held(guard_); }

   private:
    Guard guard_;
    reclaim_member& member_;
    thread_number before_;
  };

  /// Called by the list. Retries for a moment if the pool is busy, because another thread may be asking it.
  trimmed ask() const noexcept {
    if (!is_owner() || visitor_.load(memory_order_relaxed) == this_thread_number()) return {};
    constexpr int patience = 100;
    for (int tries = 0;; ++tries) {
      const trimmed answer = calls().trim(pool());
      if (!answer.busy || tries == patience) return answer;
      yield_thread();
    }
  }

 private:
  // Order: relaxed; own.
  atomic_word<thread_number> visitor_ = 0;  // the thread that is at the store
};

/// One walk through the pools that can trim: one rank after the other, from the lowest.
struct reclaim_round {
  int from = INT_MIN;
  bool ended = false;
  bool met_busy = false;  // since the last rank that returned something
};

/// One for the process.
class process_list : fork_member {
 public:
  /// Calls ask(node) for each node in the registry, in the order in which they entered.
  void ask_each_listed(auto ask) noexcept { ask_each(first_, [](const process_node&) { return true; }, ask); }
  /// Calls ask(node) for each that can trim and has that rank, in the order in which they entered.
  void ask_each_of_rank(int rank, auto ask) noexcept {
    ask_each(first_to_trim_, [rank](const process_node& node) { return node.rank_ == rank; }, ask);
  }
  /// Asks the pools of the next rank to trim. Returns how many bytes they returned.
  std::size_t trim_next(reclaim_round& round) noexcept {
    std::size_t bytes = 0;
    round.ended = !find_rank(round.from);
    if (round.ended) return 0;
    ask_each_of_rank(round.from, [&round, &bytes](const process_node& node) {
      const trimmed answer = static_cast<const reclaim_member&>(node).ask();
      bytes += answer.bytes;
      round.met_busy |= answer.busy;
    });
    if (round.from == INT_MAX) round.ended = true;
    else ++round.from;
    return bytes;
  }

  /// How many are in the registry.
  std::size_t listed() noexcept {
    const held lock(mutex());
    return listed_;
  }

  /// Only the first call has an effect.
  void add(process_node& n, void* pool, const process_calls& its) noexcept {
    const held lock(mutex());
    if (n.entered_.load(memory_order_relaxed)) return;
    n.pool_ = pool;
    n.calls_ = &its;
    if (its.entered != nullptr) its.entered(pool);
    const chain its_chain = chain_of(n);
    for (n.before_ = its_chain.last; n.before_ != nullptr && n.before_->rank_ > n.rank_;) n.before_ = n.before_->before_;
    process_node*& link = n.before_ != nullptr ? n.before_->after_ : its_chain.first;
    n.after_ = link;
    (n.after_ != nullptr ? n.after_->before_ : its_chain.last) = &n;
    link = &n;
    listed_ += is_listed(n);
    n.entered_.store(true, memory_order_release);
  }
  void remove(process_node& n) noexcept {
    pause(n);
    const held lock(mutex());
    if (n.entered_.load(memory_order_relaxed)) unlink(n);  // its library may have removed it in between
    --n.paused_;
  }
  /// The library is unloaded, or the process exits.
  void remove(const process_library& library) noexcept {
    remove(library, first_);
    remove(library, first_to_trim_);
  }

  /// From now on no thread asks it. Waits for threads that are asking it.
  void pause(process_node& n) noexcept {
    tarn::mutex& held_one = mutex();
    const held lock(held_one);
    ++n.paused_;
    while (n.asked_by_ != 0) wait_a_moment(held_one);
  }
  void resume(process_node& n) noexcept {
    const held lock(mutex());
    --n.paused_;
  }

 private:
  /// The pools that can trim, by rank, or those of the registry. Within a rank: in the order in which they entered.
  struct chain {
    process_node*& first;
    process_node*& last;
  };
  chain chain_of(const process_node& n) noexcept {
    return n.calls_->trim != nullptr ? chain{first_to_trim_, last_to_trim_} : chain{first_, last_};
  }
  void remove(const process_library& library, process_node*& first) noexcept {
    tarn::mutex& held_one = mutex();
    const held lock(held_one);
    for (process_node* next = first; next != nullptr;) {
      process_node& n = *next;
      next = n.after_;
      if (n.library_.load(memory_order_relaxed) != &library) continue;
      if (n.asked_by_ == 0) {
        unlink(n);
      } else {
        wait_a_moment(held_one);
        next = first;  // any may have entered or left
      }
    }
  }
  void ask_each(process_node*& first, auto wanted, auto ask) noexcept {
    const inside_gate inside;
    for (asking now; next(now, first, wanted);) ask(*now.node);
  }

  /// What a thread asks now.
  struct asking {
    process_node* node = nullptr;
    asking* next = nullptr;
    const thread_number thread = this_thread_number();
  };

  static bool is_listed(const process_node& n) noexcept { return n.calls_->tell != nullptr; }
  tarn::mutex& mutex() noexcept { return admits(act) ? mutex_ : mutex_of_forker<tarn::mutex>; }
  /// In the child, threads that asked are gone.
  static void act(fork_member& m, fork_step step) noexcept {
    auto& list = static_cast<process_list&>(m);
    detail::act_on_leaf(list.mutex_, step);
    if (step != fork_step::renew) return;
    for (asking** at = &list.asking_; *at != nullptr;) {
      asking& other = **at;
      if (other.thread == this_thread_number()) {
        at = &other.next;
      } else {
        --other.node->asked_by_;
        *at = other.next;
      }
    }
  }

  /// Goes from the node that is asked now to the next one, or from none to the first. Returns false after the last.
  bool next(asking& now, process_node*& first, auto wanted) noexcept {
    const held lock(mutex());
    process_node* const before = now.node;
    if (before != nullptr) --before->asked_by_;
    process_node* n = before != nullptr ? before->after_ : first;
    while (n != nullptr && (n->paused_ != 0 || !wanted(*n))) n = n->after_;
    now.node = n;
    if (n != nullptr) ++n->asked_by_;
    if (n != nullptr && before == nullptr) {
      now.next = asking_;
      asking_ = &now;
    } else if (n == nullptr && before != nullptr) {
      asking** at = &asking_;
      while (*at != &now) at = &(*at)->next;
      *at = now.next;
    }
    return n != nullptr;
  }
  /// Looks for the lowest rank from a given one on. Returns whether a pool has one.
  bool find_rank(int& from) noexcept {
    const held lock(mutex());
    const process_node* n = first_to_trim_;
    while (n != nullptr && (n->paused_ != 0 || n->rank_ < from)) n = n->after_;
    if (n != nullptr) from = n->rank_;
    return n != nullptr;
  }

  static void wait_a_moment(tarn::mutex& held_one) noexcept {
    held_one.unlock();
    sleep_microseconds(20);
    held_one.lock();
  }
  void unlink(process_node& n) noexcept {
    const chain its_chain = chain_of(n);
    (n.before_ != nullptr ? n.before_->after_ : its_chain.first) = n.after_;
    (n.after_ != nullptr ? n.after_->before_ : its_chain.last) = n.before_;
    n.before_ = n.after_ = nullptr;
    listed_ -= is_listed(n);
    n.forget_library();
    n.entered_.store(false, memory_order_release);
  }

  tarn::mutex mutex_;
  process_node* first_ = nullptr;  // of the registry
  process_node* last_ = nullptr;
  process_node* first_to_trim_ = nullptr;
  process_node* last_to_trim_ = nullptr;
  std::size_t listed_ = 0;
  asking* asking_ = nullptr;  // by other threads, and by those at whose stores they are
};

// ---- the list of the process, and each library's part in it ----------------------------------------------------------------

TARN_FOUND_IN_PROCESS inline constinit process_list library_pools;
inline process_list& pools_of_process() noexcept { return one_in_process<library_pools, 0x10A>::get(); }
/// Found when loaded, because later a thread holds what the loader may wait for. A template, so that only programs with such
/// pools have it.
struct TARN_ONE_IN_LIBRARY early_process_list {
  TARN_STEP early_process_list() noexcept { pools_of_process(); }
};
template <class>
TARN_FIRST_AT_LOAD static const early_process_list process_list_at_load;

// Each library has its own copy of these functions and of the variable, because another library's would be unloaded with it.
TARN_ONE_IN_LIBRARY void begin_of_library() noexcept;
TARN_ONE_IN_LIBRARY inline constinit process_library library_in_list{.at_first = begin_of_library};
TARN_ONE_IN_LIBRARY inline void end_of_library() noexcept {
  library_in_list.now.store(process_library::phase::over, memory_order_relaxed);
  pools_of_process().remove(library_in_list);
}
TARN_ONE_IN_LIBRARY inline void begin_of_library() noexcept { std::atexit(end_of_library); }

constexpr process_node::process_node(int rank, bool has_end) noexcept
    : rank_(rank),
      is_static_(std::is_constant_evaluated() && !has_end),
      library_(is_static_ ? &library_in_list : nullptr) {}
inline void process_node::enter_now(void* pool, const process_calls& its) noexcept {
  process_library* library = nullptr;
  if (library_.compare_exchange_strong(library, &library_in_list, memory_order_relaxed)) library = &library_in_list;
  if (library->begin()) pools_of_process().add(*this, pool, its);
  else forget_library();
}
inline void process_node::leave() noexcept {
  if (entered_.load(memory_order_acquire)) pools_of_process().remove(*this);
}
inline void process_node::pause() noexcept { pools_of_process().pause(*this); }
inline void process_node::resume() noexcept { pools_of_process().resume(*this); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_PROCESS_LIST_H_
