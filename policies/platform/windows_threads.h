// Threads on Windows: how they wait, and how their end is told.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_THREADS_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_THREADS_H_

#if defined(_WIN32)

#include <cstdint>

#include "tarn/policies/platform/windows_calls.h"

namespace tarn::platform::windows {

/// Nanoseconds to `unit`, rounded up, and at most the largest wait that isn't endless.
constexpr std::uint64_t units_of(std::uint64_t nanoseconds, std::uint64_t unit) noexcept {
  const std::uint64_t n = nanoseconds / unit + (nanoseconds % unit != 0 ? 1 : 0);
  return n < 0xFFFF'FFFE ? n : 0xFFFF'FFFE;
}
inline constexpr std::uint64_t millisecond = 1'000'000;

/// Sleep() rounds up to a tick of 15.6 ms; a timer that asks for high resolution (Windows 10 1803) keeps half a millisecond.
inline void sleep(std::uint64_t nanoseconds) noexcept {
  const same_last_error same;
  constexpr dword manual_reset = 1, high_resolution = 2, may_set_and_wait = 0x100002;
  void* const timer = CreateWaitableTimerExW(nullptr, nullptr, manual_reset | high_resolution, may_set_and_wait);
  const long long due = -static_cast<long long>(units_of(nanoseconds, 100));  // from now, in steps of 100 ns
  const bool waits =
      timer != nullptr && SetWaitableTimer(timer, reinterpret_cast<const ::_LARGE_INTEGER*>(&due), 0, nullptr, nullptr, 0) != 0;
  if (!waits || WaitForSingleObject(timer, ~dword{0}) != 0) Sleep(static_cast<dword>(units_of(nanoseconds, millisecond)));
  if (timer != nullptr) CloseHandle(timer);
}

/// WaitOnAddress and what wakes from it: since Windows 8, and of a library of their own, which nobody needs to link.
struct address_waiting {
  using wait_function = int(__stdcall*)(volatile void*, void*, size, dword);
  using wake_function = void(__stdcall*)(void*);

  static void wait(const unsigned* word, unsigned value, std::uint64_t limit) noexcept {
    const same_last_error same;
    constexpr std::uint64_t while_ = 1'000'000;
    const auto act = reinterpret_cast<wait_function>(found(wait_, "WaitOnAddress"));
    if (act != nullptr)
      act(const_cast<unsigned*>(word), &value, sizeof value,
          limit != 0 ? static_cast<dword>(units_of(limit, millisecond)) : ~dword{0});
    else if (*static_cast<const volatile unsigned*>(word) == value)  // looks again after a while
      windows::sleep(limit != 0 && limit < while_ ? limit : while_);
  }
  static void wake(const unsigned* word, int threads) noexcept {
    const same_last_error same;
    const auto act = reinterpret_cast<wake_function>(threads == 1 ? found(wake_one_, "WakeByAddressSingle")
                                                                  : found(wake_all_, "WakeByAddressAll"));
    if (act != nullptr) act(const_cast<unsigned*>(word));
  }

 private:
  /// Every thread that looks finds the same, and it points to code that is there: the order doesn't matter.
  static void* found(void* volatile& known, const char* name) noexcept {
    void* at = known;
    if (at == nullptr) {
      at = reinterpret_cast<void*>(find<void (*)()>(L"kernelbase.dll", name));
      known = at != nullptr ? at : missing();
    }
    return at != missing() ? at : nullptr;
  }
  static void* missing() noexcept { return &known_missing_; }

  static inline char known_missing_ = 0;
  static inline void* volatile wait_ = nullptr;
  static inline void* volatile wake_one_ = nullptr;
  static inline void* volatile wake_all_ = nullptr;
};

/// Two values for each key. One of fiber-local storage, which has a function for a thread's end; FlsFree() calls it, too, for
/// other threads' values: so each key has a place here, from which what it calls is taken first. (It is also called otherwise
/// than `act`: __stdcall.) And one of thread-local storage, which is there until nothing of the thread runs any more, and says
/// to what runs later that the end was told: destructors of variables may, and g++'s variables are new to them.
class thread_end_keys {
 public:
  using handler = void (*)(void*);
  static constexpr unsigned count = 8;  // one for each module, and some for tests
  static constexpr unsigned none = ~0u;

  static unsigned make(handler act) noexcept {
    for (unsigned place = 0; place != count; ++place) {
      key& k = keys_[place];
      if (change_if(k.act, nullptr, reinterpret_cast<void*>(act)) != nullptr) continue;
      k.value = TlsAlloc();
      k.end = k.value != failed ? FlsAlloc(at_end[place]) : failed;
      if (k.end != failed) {
#if defined(_MSC_VER)
        keep_module(keys_);  // nobody tells of its end: see TARN_AT_UNLOAD
#endif
        return place;
      }
      if (k.value != failed) TlsFree(k.value);
      k.act = nullptr;
      break;
    }
    return none;
  }
  /// Refused: there is no memory, or the thread's end was told.
  static bool set(unsigned place, void* value) noexcept {
    const key& k = keys_[place];
    return value_of(k) != ended() && TlsSetValue(k.value, value) != 0 && FlsSetValue(k.end, value) != 0;
  }
  static void* get(unsigned place) noexcept {
    void* const value = value_of(keys_[place]);
    return value != ended() ? value : nullptr;
  }
  static void drop(unsigned place) noexcept {
    key& k = keys_[place];
    k.act = reinterpret_cast<void*>(&nothing);
    FlsFree(k.end);
    TlsFree(k.value);
    k.act = nullptr;
  }

 private:
  struct key {
    void* volatile act;  // null: the place is free
    dword end;
    dword value;
  };
  static constexpr dword failed = ~dword{0};

  static void* value_of(const key& k) noexcept {
    const same_last_error same;  // success changes it, too
    return TlsGetValue(k.value);
  }
  static void* ended() noexcept { return keys_; }
  static void nothing(void*) noexcept {}
  template <unsigned Place>
  static void __stdcall act(void* value) {
    void* const act = keys_[Place].act;
    if (act == nullptr || act == reinterpret_cast<void*>(&nothing)) return;
    TlsSetValue(keys_[Place].value, ended());
    reinterpret_cast<handler>(act)(value);
  }

  static constexpr void(__stdcall* at_end[count])(void*) = {act<0>, act<1>, act<2>, act<3>, act<4>, act<5>, act<6>, act<7>};
  static inline constinit key keys_[count] = {};
};

}  // namespace tarn::platform::windows

#endif  // _WIN32

#endif  // TARN_POLICIES_PLATFORM_WINDOWS_THREADS_H_
