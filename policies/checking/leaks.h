// The checked pools of the process by address, so that a report can name the pool that a block belongs to, and all pools can
// report what is in use. Entering and looking up need no lock and no memory, because a report must need neither.
#ifndef TARN_POLICIES_CHECKING_LEAKS_H_
#define TARN_POLICIES_CHECKING_LEAKS_H_

#include <cstddef>
#include <cstdlib>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"

namespace tarn::detail {

/// At most `most`. Further pools work, but aren't named in reports of other pools, and don't report what is in use.
class pool_names {
 public:
  static constexpr std::size_t most = 1024;

  /// \param library  when it is unloaded, the pool is gone, or the code that reports for it
  void enter(void* pool, const char* name, in_use_teller tell = nullptr, const void* library = nullptr) noexcept {
    for (entry& e : entries_) {
      void* none = nullptr;
      if (e.pool.load(memory_order_relaxed) == nullptr &&
          e.pool.compare_exchange_strong(none, pool, memory_order_acquire, memory_order_relaxed)) {
        e.library.store(library, memory_order_relaxed);
        e.name.store(name, memory_order_release);
        e.tell.store(tell, memory_order_release);
        return;
      }
    }
  }
  void leave(const void* pool) noexcept {
    for (entry& e : entries_)
      if (e.pool.load(memory_order_relaxed) == pool) e.forget();
  }
  void leave_library(const void* library) noexcept {
    for (entry& e : entries_)
      if (e.pool.load(memory_order_relaxed) != nullptr && e.library.load(memory_order_relaxed) == library) e.forget();
  }
  /// Makes every pool report what is in use. Returns the number of blocks. Precondition: no pool is destroyed during this.
  std::size_t report_all() const noexcept {
    std::size_t blocks = 0;
    for (const entry& e : entries_)
      if (const in_use_teller tell = e.tell.load(memory_order_acquire)) blocks += tell(e.pool.load(memory_order_relaxed));
    return blocks;
  }
  /// The name of a pool that is entered, or null. A name may be destroyed with its pool, so look up living pools only.
  const char* find(const void* pool) const noexcept {
    for (const entry& e : entries_)
      if (e.pool.load(memory_order_acquire) == pool) return e.name.load(memory_order_acquire);
    return nullptr;
  }

 private:
  struct entry {
    // Order: release of `name` and `tell`, and when `pool` is reset; looking is acquire; others are relaxed. An exchange takes
    // an entry. Name and teller are read only if they are set. Entries are looked up only for living pools, which their users
    // order.
    atomic_word<void*> pool = nullptr;
    atomic_word<const char*> name = nullptr;
    atomic_word<in_use_teller> tell = nullptr;
    atomic_word<const void*> library = nullptr;

    void forget() noexcept {
      tell.store(nullptr, memory_order_relaxed);
      name.store(nullptr, memory_order_relaxed);
      pool.store(nullptr, memory_order_release);
    }
  };
  entry entries_[most];
};

TARN_FOUND_IN_PROCESS inline constinit pool_names library_named;
inline pool_names& named_pools() noexcept { return one_in_process<library_named, 0x104>::get(); }

/// A library that has checked pools. When it is unloaded, they and the code that reports for them are gone. When the process
/// exits, they stay, so that leaks can be reported after the last static object is destroyed.
struct names_library {
  // Order: relaxed. One exchange decides which thread calls at_first; nothing else is read because of either.
  atomic_word<bool> begun = false;
  atomic_word<bool> process_ends = false;
  void (*const at_first)() noexcept;  // the library's own function, whichever library calls

  void begin() noexcept {
    if (!begun.exchange(true, memory_order_relaxed)) at_first();
  }
};
TARN_ONE_IN_LIBRARY void begin_of_names() noexcept;
TARN_ONE_IN_LIBRARY inline constinit names_library library_names{.at_first = begin_of_names};
/// Called before forget_names() when the process exits, after it when the library is unloaded.
TARN_ONE_IN_LIBRARY inline void mark_end_of_process() noexcept {
  library_names.process_ends.store(true, memory_order_relaxed);
}
TARN_ONE_IN_LIBRARY inline void begin_of_names() noexcept { std::atexit(mark_end_of_process); }
/// A template, so that only programs with checked pools have it.
template <class>
TARN_AT_UNLOAD static void forget_names() noexcept {
  if (!library_names.process_ends.load(memory_order_relaxed)) named_pools().leave_library(&library_names);
}

/// An entry for report_in_use(): a pool's, or that of blocks in use outside all pools.
class asked_in_use {
 public:
  /// \param has_end  its owner has a destructor, and calls leave(); the object is then all zero
  constexpr explicit asked_in_use(bool has_end = false) noexcept
      : library_(std::is_constant_evaluated() && !has_end ? &library_names : nullptr) {}

  /// From now on report_in_use() calls tell(who). Called often, with nothing held; only the first call has an effect, even
  /// after leave(). A template, so that programs that don't use it don't instantiate its code.
  void enter(void* who, const char* name, auto tell) noexcept {
    void* nobody = nullptr;
    if (listed_.load(memory_order_relaxed) != nullptr ||
        !listed_.compare_exchange_strong(nobody, who, memory_order_relaxed))
      return;
    static_cast<void>(&forget_names<void>);  // instantiates it
    names_library* const library = library_ != nullptr ? library_ : &library_names;
    library->begin();
    named_pools().enter(who, name, tell, library);
  }
  void leave() const noexcept {
    if (void* const who = listed_.load(memory_order_relaxed)) named_pools().leave(who);
  }

 private:
  names_library* library_;  // of a static object that is never destroyed: its library
  // Order: relaxed. Set once in a pool's life.
  atomic_word<void*> listed_ = nullptr;
};

struct never_asked_in_use {
  constexpr explicit never_asked_in_use(bool = false) noexcept {}
  static void leave() noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_LEAKS_H_
