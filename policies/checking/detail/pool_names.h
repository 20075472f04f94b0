// The checked pools of the process by address, so that a report can name the pool that a block belongs to. Entering and looking
// up need no lock and no memory: a report must need neither.
#ifndef TARN_POLICIES_CHECKING_DETAIL_POOL_NAMES_H_
#define TARN_POLICIES_CHECKING_DETAIL_POOL_NAMES_H_

#include <array>
#include <cstddef>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

#if defined(__linux__)
#include <sys/uio.h>
#include <unistd.h>
#endif

namespace tarn::detail {

/// At most 256. Further pools work as well, but aren't named in reports of other pools.
class pool_names {
 public:
  void enter(const void* pool, const char* name) noexcept {
    for (entry& e : entries_) {
      const void* none = nullptr;
      if (e.pool.load(memory_order_relaxed) == nullptr &&
          e.pool.compare_exchange_strong(none, pool, memory_order_acquire, memory_order_relaxed)) {
        e.name.store(name, memory_order_release);
        return;
      }
    }
  }
  void leave(const void* pool) noexcept {
    for (entry& e : entries_) {
      if (e.pool.load(memory_order_relaxed) != pool) continue;
      e.name.store(nullptr, memory_order_relaxed);
      e.pool.store(nullptr, memory_order_release);
    }
  }
  /// The name of a pool that is entered, or null. A name may end with its pool: look up living pools only.
  const char* find(const void* pool) const noexcept {
    for (const entry& e : entries_)
      if (e.pool.load(memory_order_acquire) == pool) return e.name.load(memory_order_acquire);
    return nullptr;
  }

 private:
  struct entry {
    atomic_word<const void*> pool = nullptr;
    atomic_word<const char*> name = nullptr;
  };
  std::array<entry, 256> entries_;
};

TARN_ONE_IN_PROCESS inline constinit pool_names named_pools;

/// Copies bytes from any address, valid or not. Returns whether it could.
inline bool read_anywhere([[maybe_unused]] const void* from, [[maybe_unused]] void* to,
                          [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
  const iovec here{to, bytes};
  const iovec there{const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
#else
  return false;
#endif
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_POOL_NAMES_H_
