// The list of the process, and the handlers that each library with pools has for forks.
#ifndef TARN_POLICIES_DETAIL_FORK_HANDLERS_H_
#define TARN_POLICIES_DETAIL_FORK_HANDLERS_H_

#include <cstdlib>
#include <type_traits>

#include "tarn/policies/detail/fork_gate.h"
#include "tarn/policies/detail/fork_list.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

TARN_ONE_IN_LIBRARY inline fork_position& position_of_thread() noexcept {
  static constinit TARN_THREAD_LOCAL fork_position position;
  return position;
}
TARN_FOUND_IN_PROCESS inline constinit fork_list library_list{position_of_thread};
inline fork_list& process_forks() noexcept { return one_in_process<library_list, 0x102>::get(); }

// Functions of a library's own, as its variable is: another's would install handlers that go with that one.
TARN_ONE_IN_LIBRARY void install_fork_handlers() noexcept;
TARN_ONE_IN_LIBRARY inline constinit fork_library library_forks{.install = install_fork_handlers};
TARN_ONE_IN_LIBRARY inline void before_fork() noexcept {
  if (process_forks().is_first(library_forks)) process_forks().before();
}
TARN_ONE_IN_LIBRARY inline void after_fork_in_parent() noexcept { process_forks().after_in_parent(); }
TARN_ONE_IN_LIBRARY inline void after_fork_in_child() noexcept { process_forks().after_in_child(); }
TARN_ONE_IN_LIBRARY inline void at_end_of_library() noexcept { process_forks().remove(library_forks); }
/// Registering may allocate, so nothing is held.
TARN_COLD TARN_ONE_IN_LIBRARY inline void install_fork_handlers() noexcept {
  if (library_forks.is_installed.exchange(true, memory_order_relaxed)) return;
  if (!platform::system::at_fork(before_fork, after_fork_in_parent, after_fork_in_child))  // no memory: the next tries again
    return library_forks.is_installed.store(false, memory_order_relaxed);
  process_forks().add(library_forks);
  std::atexit(at_end_of_library);
}
/// Handlers that are registered first run last before a fork: then those of the program have locked what they need. A template,
/// so that only programs with such mutexes have it.
struct TARN_ONE_IN_LIBRARY early_fork_handlers {
  TARN_STEP early_fork_handlers() noexcept { this_thread_number(), install_fork_handlers(); }
};
template <class>
TARN_FIRST_AT_LOAD static const early_fork_handlers fork_handlers;

constexpr fork_member::fork_member(bool has_end) noexcept
    : library_(std::is_constant_evaluated() && !has_end ? &library_forks : nullptr),
      is_static_(std::is_constant_evaluated() && !has_end) {}
inline bool fork_member::admits_slow(handler act) noexcept {
  fork_library* library = library_.load(memory_order_relaxed);
  if (library == nullptr) library = &library_forks;
  fork_list& list = process_forks();
  if (list.holds_all()) return false;
  if (phase_.load(memory_order_acquire) == phase::taken) return list.wait_for_fork(), true;
  library->install();
  list.add(*this, act, library);
  return true;
}
inline void fork_member::leave() noexcept {
  if (library_.load(memory_order_acquire) != nullptr) process_forks().remove(*this);
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_FORK_HANDLERS_H_
