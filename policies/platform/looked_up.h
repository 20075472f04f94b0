// Functions that a tool brings into the process, looked up by name when they are called first. A weak reference of a program,
// as opposed to a library's, may be bound to nothing when it is linked.
#ifndef TARN_POLICIES_PLATFORM_LOOKED_UP_H_
#define TARN_POLICIES_PLATFORM_LOOKED_UP_H_

#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::platform {

#if defined(__linux__) && defined(__ELF__)
template <class = void>
inline constexpr bool looks_up = true;
// Of <dlfcn.h>. Weak: null in a program without dynamic libraries, into which no tool comes.
extern "C" [[gnu::weak]] void* tarn_look_up(void*, const char*) noexcept asm("dlsym");
inline void* look_up(const char* name) noexcept {
  return &tarn_look_up == nullptr ? nullptr : tarn_look_up(nullptr, name);  // in the whole process: RTLD_DEFAULT
}
#else
template <class = void>
inline constexpr bool looks_up = false;
inline void* look_up(const char*) noexcept { return nullptr; }
#endif

/// \tparam Function  the type of a pointer to it
template <class Function>
class looked_up {
 public:
  constexpr explicit looked_up(const char* name) noexcept : name_(name) {}

  /// The function, or null if no tool brought it.
  TARN_STEP Function get() noexcept {
    const std::uintptr_t known = known_.load(detail::memory_order_acquire);
    if (known > not_there) return reinterpret_cast<Function>(known);
    return known == not_there ? nullptr : find();
  }

 private:
  static constexpr std::uintptr_t not_there = 1;

  TARN_COLD Function find() noexcept {
    const auto found = reinterpret_cast<std::uintptr_t>(look_up(name_));
    known_.store(found == 0 ? not_there : found, detail::memory_order_release);
    return reinterpret_cast<Function>(found);
  }

  const char* name_;
  detail::atomic_word<std::uintptr_t> known_ = 0;
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_LOOKED_UP_H_
