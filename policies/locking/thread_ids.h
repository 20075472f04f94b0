// Dense numbers for threads, so that a pool can have an array indexed by thread. A thread takes the lowest free number when it
// first needs one, and gives it back when it exits. Only the holder of a number uses what pools keep under it.
//
// The number is given back by the destructor of a thread_local variable (janitor), which is registered in an allocation and
// also keeps the library loaded. A free must not need memory, so it sets a key of the system instead (waiting.h), which is
// used until the thread's next allocation that finds no block. Threads that only free (consumers) are common, and would
// otherwise take a lock for each block. Where keys run last (Windows), the key always does it, from the thread's number,
// because the thread's record no longer exists at that time.
//
// A thread whose first use comes so late that neither is called any more, as in a key's destructor, still holds its number
// after it has exited. Others detect that (number_holders): they check two numbers whenever one is taken or blocks are short,
// and all of them in trim().
#ifndef TARN_POLICIES_LOCKING_THREAD_IDS_H_
#define TARN_POLICIES_LOCKING_THREAD_IDS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/detail/fork.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// The numbers 1 to 1023, each free or taken. Taking a number synchronises with its last return.
template <template <class> class Atomic>
class thread_ids {
 public:
  static constexpr unsigned count = 1024;

  /// Takes and returns the lowest free number, or 0 if there is none.
  unsigned take() noexcept {
    for (unsigned w = 0; w != count / 64; ++w) {
      std::uint64_t seen = words_[w].load(memory_order_relaxed);
      while (~seen != 0) {
        const auto bit = static_cast<unsigned>(std::countr_one(seen));
        seen = words_[w].fetch_or(mask(bit), memory_order_acquire);
        if ((seen & mask(bit)) == 0) return w * 64 + bit;
      }
    }
    return 0;
  }
  /// Takes a number if it is free. Returns whether it was.
  bool take(unsigned id) noexcept {
    auto& word = words_[id / 64];
    if ((word.load(memory_order_relaxed) & mask(id)) != 0) return false;  // most are taken: their line stays shared
    return (word.fetch_or(mask(id), memory_order_acquire) & mask(id)) == 0;
  }
  /// In the child of a fork: all numbers but 0 and the caller's, which may be 0, are free.
  void keep_only(unsigned id) noexcept {
    for (auto& word : words_) word.store(0, memory_order_relaxed);
    words_[0].fetch_or(mask(0), memory_order_relaxed);
    words_[id / 64].fetch_or(mask(id), memory_order_release);
  }
  void give_back(unsigned id) noexcept { words_[id / 64].fetch_and(~mask(id), memory_order_release); }

 private:
  static constexpr std::uint64_t mask(unsigned id) noexcept { return std::uint64_t{1} << (id % 64); }

  // Order: take: fetch_or acquire; give back: fetch_and release. A thread that takes a number sees what its last holder did to
  // the slots under it.
  Atomic<std::uint64_t> words_[count / 64]{Atomic<std::uint64_t>{1}};  // 0 is never free
};

/// The sizes that the array of slots in a pool can have. A thread keeps its offset into each.
inline constexpr std::size_t tiers = 3;
inline constexpr unsigned slot_counts[tiers]{16, 64, 256};
/// The index of `slots` in slot_counts, or `tiers`.
constexpr std::size_t tier_of(std::size_t slots) noexcept {
  std::size_t i = 0;
  while (i != tiers && slot_counts[i] != slots) ++i;
  return i;
}
inline constexpr std::size_t slot_bytes = 64;

/// What a thread knows about itself.
struct thread_record {
  /// enrolling: in the first allocation, which comes here again if the janitor's registration allocates. by_key: enrolled in a
  /// free. ended: no longer has a number.
  enum class state : unsigned char { fresh, by_key, enrolling, enrolled, ended };

  const void* domain = nullptr;  // the set that its number belongs to; null: it has no number
  std::uint32_t offset[tiers] = {};  // bytes to its slot in arrays of slot_counts; 0: slot 0, no thread's own
  std::uint16_t id = 0;
  state is = state::fresh;
  unsigned char waits = 0;  // slow calls without a number before it requests one again

  void enrol(const void* ids, unsigned number) noexcept {
    for (std::size_t i = 0; i != tiers; ++i)
      offset[i] = number < slot_counts[i] ? static_cast<std::uint32_t>(number * slot_bytes) : 0;
    id = static_cast<std::uint16_t>(number);
    domain = ids;
  }
  void resign() noexcept {
    *this = {};
    is = state::ended;
  }
};

/// The threads of the process. Libraries that don't share this variable are separate domains, and never use each other's slots;
/// see magazine_calls.
TARN_ONE_IN_PROCESS inline constinit thread_ids<atomic_word> process_ids;
TARN_ONE_IN_PROCESS TARN_NEAR_TLS inline constinit thread_local thread_record this_thread;

// Order: relaxed; own, or ordered by the loader's locks.
/// Whether the library is being unloaded, or the process exits. Set before its static objects are destroyed.
TARN_ONE_IN_LIBRARY inline constinit atomic_word<bool> library_ends = false;
TARN_ONE_IN_LIBRARY inline constinit thread_end ends_of_threads;
/// A template, so that only programs with thread caches have it.
template <class>
TARN_AT_UNLOAD static void note_end_of_library() noexcept {
  library_ends.store(true, memory_order_relaxed);
  ends_of_threads.close();
}

/// Which thread has each number.
template <template <class> class Atomic>
class number_holders {
 public:
  void note(unsigned id) noexcept {
    marks_of_[id].store(marks_.next(), memory_order_relaxed);
    unsigned end = end_.load(memory_order_relaxed);
    while (end <= id && !end_.compare_exchange_weak(end, id + 1, memory_order_relaxed)) {}
  }
  /// Called before the number is given back.
  void forget(unsigned id) noexcept { marks_of_[id].store(0, memory_order_relaxed); }
  /// In the child of a fork.
  void keep_only(unsigned id) noexcept {
    for (auto& mark : marks_of_) mark.store(0, memory_order_relaxed);
    marks_.renew();
    if (id != 0) note(id);
  }
  /// Checks the threads of some numbers, each time the next ones, and frees the numbers of threads that are gone. A thread that
  /// takes such a number sees what its previous holder did, because the system reports a thread as gone only after its last
  /// step. \param numbers  the most to check
  TARN_COLD void look([[maybe_unused]] auto& ids, [[maybe_unused]] unsigned numbers) noexcept {
    if constexpr (platform::system::knows_threads) {
      const unsigned end = end_.load(memory_order_relaxed);
      for (unsigned seen = 0; seen != end && numbers != 0; ++seen) {
        const unsigned id = next_.fetch_add(1, memory_order_relaxed) % end;
        thread_marks::mark whose = marks_of_[id].load(memory_order_relaxed);
        if (whose == 0) continue;
        --numbers;
        if (marks_.is_gone(whose) && marks_of_[id].compare_exchange_strong(whose, 0, memory_order_relaxed)) ids.give_back(id);
      }
    }
  }

 private:
  static constexpr unsigned count = thread_ids<Atomic>::count;

  // Order: relaxed. Each mark is unique, so only one thread gives back the number of a thread that is gone. The system orders
  // the rest.
  Atomic<thread_marks::mark> marks_of_[count] = {};
  Atomic<unsigned> end_ = 0;  // above each number that was ever taken: few, where the lowest are taken first
  Atomic<unsigned> next_ = 0;
  thread_marks marks_;
};
TARN_ONE_IN_PROCESS inline constinit number_holders<atomic_word> holders_of_numbers;

/// In the child of a fork the other threads don't exist, and the contents of their slots can be taken over.
struct ids_at_fork : fork_member {
  static void act(fork_member&, fork_step step) noexcept {
    if (step != fork_step::renew) return;
    process_ids.keep_only(this_thread.id);
    holders_of_numbers.keep_only(this_thread.id);
  }
};
TARN_ONE_IN_PROCESS inline constinit ids_at_fork process_ids_at_fork;

/// Gives the thread's number back when the thread exits. Resets the record first, so that nothing that the thread runs later,
/// such as the destructor of a thread_local object, uses a slot that another thread may own by then.
class janitor {
 public:
  explicit janitor(thread_record& record) noexcept : record_(record) {}
  ~janitor() {
    const unsigned id = record_.id;
    holders_of_numbers.forget(id);
    record_.resign();
    process_ids.give_back(id);
  }
  janitor(const janitor&) = delete;
  janitor& operator=(const janitor&) = delete;

 private:
  thread_record& record_;
};

/// For threads that enrolled in a free. Each library has its own, as it has its own key.
TARN_ONE_IN_LIBRARY inline void resign_at_end(void* record) noexcept {
  thread_record& me = *static_cast<thread_record*>(record);
  if (me.is == thread_record::state::by_key) const janitor at_once(me);
}

/// Where keys run last: the thread's number and its identity, because another thread may destroy what holds it (a fiber). If
/// the thread's variables are gone, the new ones say that it has exited.
/// \tparam Threads  process_threads
template <class Threads>
struct told_number {
  static constexpr std::uintptr_t count = std::remove_reference_t<decltype(Threads::ids())>::count;

  static std::uintptr_t least() noexcept { return platform::system::this_thread() * count; }
  static void* of(unsigned id) noexcept { return reinterpret_cast<void*>(least() + id); }
  /// 0: it isn't this thread's.
  static unsigned number(void* told) noexcept {
    const std::uintptr_t id = reinterpret_cast<std::uintptr_t>(told) - least();
    return id < count ? static_cast<unsigned>(id) : 0;
  }
  static void resign(void* told) noexcept {
    const unsigned id = number(told);
    if (id == 0) return;
    holders_of_numbers.forget(id);
    Threads::self().resign();
    Threads::ids().give_back(id);
  }
};

/// is_malloc: an allocation of malloc itself, which any allocation here would call again.
enum class call { allocates, frees, is_malloc };

/// What thread_cached uses of the process; a test passes other threads.
struct process_threads {
  template <class T>
  using atomic = atomic_word<T>;
  TARN_STEP static thread_record& self() noexcept { return this_thread; }
  static thread_ids<atomic_word>& ids() noexcept { return process_ids; }

  /// Gives the calling thread a number. Returns whether it has one: not if all are taken (it tries again after 64 slow calls),
  /// and not if it is exiting. In a free this needs no memory; if it would, the thread is served without a number.
  template <class Unused = void>
  TARN_COLD static bool enrol(call what) noexcept {
    static_cast<void>(&note_end_of_library<Unused>);  // instantiates it
    thread_record& me = self();
    const bool is_done = me.is >= thread_record::state::enrolling || (what != call::allocates && me.domain != nullptr);
    if (is_done) return me.domain != nullptr;
    if (library_ends.load(memory_order_relaxed)) return me.domain != nullptr;  // what is called at its exit would be gone
    if (me.waits != 0 && --me.waits != 0) return false;
    if constexpr (platform::system::keys_run_last) return enrol_by_key(me, ends_of_threads);
    if (what == call::frees) return enrol_in_free(me);
    process_ids_at_fork.admits(ids_at_fork::act);
    return what == call::is_malloc && platform::system::knows_threads ? enrol_in_malloc(me) : enrol_in_allocation(me);
  }
  /// Frees the numbers of threads that are gone: checks a few numbers, or all.
  static void free_numbers(bool all) noexcept { holders_of_numbers.look(ids(), all ? ids().count : 2); }

 private:
  static bool enrol_by_key(thread_record& me, auto& key) noexcept {
    using told = told_number<process_threads>;
    const unsigned before = told::number(key.told());  // its variables are new, but it has a number
    if (before != 0) {
      me.enrol(&ids(), before);
    } else if (!take_number(me)) {
      return false;
    } else if (!key.tell(told::resign, told::of(me.id))) {
      ids().give_back(me.id);
      me = {};
      me.waits = 64;
      return false;
    }
    me.is = thread_record::state::enrolled;
    return true;
  }
  static bool enrol_in_free(thread_record& me) noexcept {
    if (process_ids_at_fork.is_apart()) return false;  // to enter the list may need memory
    if (!ends_of_threads.tell(resign_at_end, &me) || !take_number(me)) return false;
    me.is = thread_record::state::by_key;
    return true;
  }
  /// Without a key, other threads detect that the thread is gone.
  static bool enrol_in_malloc(thread_record& me) noexcept {
    ends_of_threads.tell(resign_at_end, &me);
    if (!take_number(me)) return false;
    me.is = thread_record::state::by_key;
    return true;
  }
  static bool enrol_in_allocation(thread_record& me) noexcept {
    if (me.domain == nullptr && !take_number(me)) return false;
    me.is = thread_record::state::enrolling;  // a call that comes here again has the number
    thread_local janitor at_exit(me);
    static_cast<void>(at_exit);
    me.is = thread_record::state::enrolled;
    return true;
  }
  static bool take_number(thread_record& me) noexcept {
    free_numbers(false);
    const unsigned id = process_ids.take();
    if (id == 0) return me.waits = 64, false;
    me.enrol(&process_ids, id);
    holders_of_numbers.note(id);
    return true;
  }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_THREAD_IDS_H_
