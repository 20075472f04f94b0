// What Windows has, from Windows 7 on; later functions are looked up. In this order: what is called in kernel32, how threads
// wait and how their exit is reported, what the modules of a process (its program and its DLLs) know about each other, and the
// system.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_H_

#if defined(_WIN32)

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/none.h"

#define TARN_THREAD_LOCAL thread_local

// What tarn calls in kernel32, declared as in the Windows SDK, without <windows.h>, which has 70,000 lines and macros such as
// min. A program may include it before or after. Names in a different namespace are still the same C functions.

// The SDK's own types, which stay incomplete here.
struct _FILETIME;
struct _MEMORY_BASIC_INFORMATION;
struct _OVERLAPPED;
struct _SECURITY_ATTRIBUTES;
union _LARGE_INTEGER;
#if !defined(NO_STRICT)
struct HINSTANCE__;
#endif

#if defined(_MSC_VER)
extern "C" void* _InterlockedCompareExchangePointer(void* volatile*, void*, void*);
#endif

namespace tarn::platform::windows {

using dword = unsigned long;
using size = std::conditional_t<sizeof(void*) == 8, unsigned long long, unsigned long>;  // SIZE_T
using procedure = std::conditional_t<sizeof(void*) == 8, long long, int>(__stdcall*)();  // FARPROC
#if defined(NO_STRICT)
using module = void*;
#else
using module = ::HINSTANCE__*;
#endif

extern "C" {
// ---- memory
__declspec(dllimport) void* __stdcall VirtualAlloc(void*, size, dword, dword);
__declspec(dllimport) int __stdcall VirtualFree(void*, size, dword);
__declspec(dllimport) int __stdcall VirtualLock(void*, size);
__declspec(dllimport) int __stdcall VirtualUnlock(void*, size);
__declspec(dllimport) size __stdcall VirtualQuery(const void*, ::_MEMORY_BASIC_INFORMATION*, size);
__declspec(dllimport) int __stdcall ReadProcessMemory(void*, const void*, void*, size, size*);
__declspec(dllimport) void* __stdcall CreateFileMappingW(void*, ::_SECURITY_ATTRIBUTES*, dword, dword, dword, const wchar_t*);
__declspec(dllimport) void* __stdcall MapViewOfFile(void*, dword, dword, dword, size);
__declspec(dllimport) int __stdcall UnmapViewOfFile(const void*);
__declspec(dllimport) void* __stdcall GetProcessHeap();
// ---- threads and time
__declspec(dllimport) int __stdcall SwitchToThread();
__declspec(dllimport) void __stdcall Sleep(dword);
__declspec(dllimport) void* __stdcall CreateWaitableTimerExW(::_SECURITY_ATTRIBUTES*, const wchar_t*, dword, dword);
__declspec(dllimport) int __stdcall SetWaitableTimer(void*, const ::_LARGE_INTEGER*, long,
                                                     void(__stdcall*)(void*, dword, dword), void*, int);
__declspec(dllimport) dword __stdcall WaitForSingleObject(void*, dword);
__declspec(dllimport) int __stdcall QueryPerformanceCounter(::_LARGE_INTEGER*);
__declspec(dllimport) int __stdcall QueryPerformanceFrequency(::_LARGE_INTEGER*);
__declspec(dllimport) dword __stdcall FlsAlloc(void(__stdcall*)(void*));
__declspec(dllimport) int __stdcall FlsFree(dword);
__declspec(dllimport) int __stdcall FlsSetValue(dword, void*);
__declspec(dllimport) dword __stdcall TlsAlloc();
__declspec(dllimport) int __stdcall TlsFree(dword);
__declspec(dllimport) int __stdcall TlsSetValue(dword, void*);
__declspec(dllimport) void* __stdcall TlsGetValue(dword);
__declspec(dllimport) dword __stdcall GetCurrentThreadId();
// ---- the process, its modules, and what it says
__declspec(dllimport) void* __stdcall GetCurrentProcess();
__declspec(dllimport) dword __stdcall GetCurrentProcessId();
__declspec(dllimport) int __stdcall GetProcessTimes(void*, ::_FILETIME*, ::_FILETIME*, ::_FILETIME*, ::_FILETIME*);
__declspec(dllimport) void* __stdcall EncodePointer(void*);
__declspec(dllimport) module __stdcall GetModuleHandleW(const wchar_t*);
__declspec(dllimport) int __stdcall GetModuleHandleExW(dword, const wchar_t*, module*);
__declspec(dllimport) procedure __stdcall GetProcAddress(module, const char*);
__declspec(dllimport) dword __stdcall GetLastError();
__declspec(dllimport) void __stdcall SetLastError(dword);
__declspec(dllimport) int __stdcall CloseHandle(void*);
__declspec(dllimport) void* __stdcall GetStdHandle(dword);
__declspec(dllimport) int __stdcall WriteFile(void*, const void*, dword, dword*, ::_OVERLAPPED*);
}

/// Changes a word from `expected`. Returns what it was.
inline void* change_if(void* volatile& word, void* expected, void* value) noexcept {
#if defined(_MSC_VER)
  return ::_InterlockedCompareExchangePointer(&word, value, expected);
#else
  return __sync_val_compare_and_swap(&word, expected, value);
#endif
}

/// A function that not every Windows has, in a library that every process has loaded. Null: it isn't there.
template <class Function>
Function find(const wchar_t* library, const char* name) noexcept {
  const module where = GetModuleHandleW(library);
  const procedure found = where != nullptr ? GetProcAddress(where, name) : nullptr;
  return reinterpret_cast<Function>(reinterpret_cast<void (*)()>(found));
}

/// From now on the module that contains the address is never unloaded.
inline void keep_module(const volatile void* address) noexcept {
  constexpr dword pin = 1, by_address = 4;
  module ours;
  GetModuleHandleExW(pin | by_address, static_cast<const wchar_t*>(const_cast<const void*>(address)), &ours);
}

/// Restores GetLastError(), because a free may wait, and look up functions that don't exist.
class same_last_error {
 public:
  same_last_error() noexcept : before_(GetLastError()) {}
  ~same_last_error() { SetLastError(before_); }
  same_last_error(const same_last_error&) = delete;
  same_last_error& operator=(const same_last_error&) = delete;

 private:
  dword before_;
};

// ---- threads

/// Nanoseconds to `unit`, rounded up, and at most the longest finite wait.
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

/// WaitOnAddress and its wake functions: since Windows 8, in a separate library, which needn't be linked.
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
    else if (*static_cast<const volatile unsigned*>(word) == value)  // polls
      windows::sleep(limit != 0 && limit < while_ ? limit : while_);
  }
  static void wake(const unsigned* word, int threads) noexcept {
    const same_last_error same;
    const auto act = reinterpret_cast<wake_function>(threads == 1 ? found(wake_one_, "WakeByAddressSingle")
                                                                  : found(wake_all_, "WakeByAddressAll"));
    if (act != nullptr) act(const_cast<unsigned*>(word));
  }

 private:
  /// Every thread finds the same function, which is already loaded, so the memory order doesn't matter.
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

/// Two values for each key. One is in fiber-local storage, which has a function for a thread's exit. FlsFree() also calls that
/// for other threads' values, so each key has a place here, and the function to call is removed from it first. (Its calling
/// convention also differs from that of `act`: __stdcall.) The other value is in thread-local storage, which exists as long as
/// anything of the thread runs. It shows later code, such as destructors of variables (which see new g++ variables), that the
/// exit was reported.
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
        keep_module(keys_);  // its unloading isn't reported: see TARN_AT_UNLOAD
#endif
        return place;
      }
      if (k.value != failed) TlsFree(k.value);
      k.act = nullptr;
      break;
    }
    return none;
  }
  /// Refused if there is no memory, or the thread's exit was already reported.
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
    const same_last_error same;  // success also changes it
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

// ---- the modules of a process

/// Two words that differ between processes and are the same in all modules of one, at each call. Made of the 32 bits that
/// EncodePointer() mixes in, the address of the heap, and the start time of the process.
inline void process_words(std::uint64_t* words) noexcept {
  std::uint64_t times[4] = {};
  const auto time = [&times](int i) noexcept { return reinterpret_cast<::_FILETIME*>(&times[i]); };
  GetProcessTimes(GetCurrentProcess(), time(0), time(1), time(2), time(3));
  const auto heap = reinterpret_cast<std::uintptr_t>(GetProcessHeap());
  words[0] = reinterpret_cast<std::uintptr_t>(EncodePointer(nullptr)) ^ std::uint64_t{heap} << 20;
  words[1] = times[0] ^ std::uint64_t{GetCurrentProcessId()} << 40 ^ heap;
}

/// The name of an object of this process: no other process can guess it and create the object first.
class process_name {
 public:
  explicit process_name(std::uint32_t kind) noexcept {
    std::uint64_t words[2];
    process_words(words);
    add(GetCurrentProcessId());
    add(words[0]);
    add(words[1]);
    add(kind);
  }
  const wchar_t* text() const noexcept { return text_; }

 private:
  void add(std::uint64_t n) noexcept {
    *end_++ = L'-';
    for (int shift = 60; shift >= 0; shift -= 4) *end_++ = L"0123456789abcdef"[n >> shift & 15];
  }

  wchar_t text_[11 + 4 * 17 + 1] = L"Local\\tarn";
  wchar_t* end_ = text_ + 10;
};

/// The object of the first module that requests this kind; that module stays loaded. `mine`, if the system refuses the shared
/// memory.
inline void* first_in_process(std::uint32_t kind, void* mine) noexcept {
  constexpr dword read_write = 4, to_write = 2 | 4, page = 4096;
  const process_name name(kind);
  void* const no_file = reinterpret_cast<void*>(~std::uintptr_t{0});
  void* const mapping = CreateFileMappingW(no_file, nullptr, read_write, 0, page, name.text());
  void* const view = mapping != nullptr ? MapViewOfFile(mapping, to_write, 0, 0, page) : nullptr;
  if (view == nullptr) return mine;
  void* const before = change_if(*static_cast<void* volatile*>(view), nullptr, mine);
  UnmapViewOfFile(view);
  if (before == nullptr) keep_module(mine);  // and the mapping is never closed
  else CloseHandle(mapping);
  return before != nullptr ? before : mine;
}

}  // namespace tarn::platform::windows

namespace tarn::platform {

struct windows_system : no_system {
  static constexpr bool has_threads = true;
  static constexpr bool has_thread_locals = true;
  static constexpr bool has_clock = true;
  static constexpr bool has_pages = true;

  static void yield() noexcept { windows::SwitchToThread(); }
  static void sleep(std::uint64_t nanoseconds) noexcept { windows::sleep(nanoseconds); }
  static bool is_single_threaded() noexcept { return false; }
  static std::uintptr_t this_thread() noexcept { return windows::GetCurrentThreadId(); }
  static std::uint64_t nanoseconds() noexcept {
    constexpr std::uint64_t second = 1'000'000'000;
    std::uint64_t ticks = 0, in_second = 1;
    windows::QueryPerformanceCounter(reinterpret_cast<::_LARGE_INTEGER*>(&ticks));
    windows::QueryPerformanceFrequency(reinterpret_cast<::_LARGE_INTEGER*>(&in_second));
    return ticks / in_second * second + ticks % in_second * second / in_second;
  }
  static void wait_while(const unsigned* word, unsigned value, std::uint64_t limit) noexcept {
    windows::address_waiting::wait(word, value, limit);
  }
  static void wake(const unsigned* word, int threads) noexcept { windows::address_waiting::wake(word, threads); }

  /// A value may need memory from the process' heap, and is refused without it.
  static constexpr unsigned thread_keys = windows::thread_end_keys::count;
  static unsigned make_thread_key(void (*act)(void*)) noexcept { return windows::thread_end_keys::make(act); }
  static bool set_thread_value(unsigned key, void* value) noexcept { return windows::thread_end_keys::set(key, value); }
  static void* thread_value(unsigned key) noexcept { return windows::thread_end_keys::get(key); }
  /// g++'s thread-local variables (emulated TLS) are freed before this runs, and even before their destructors run, which then
  /// read freed memory: seen with g++ 12 and threads of winpthreads.
  static constexpr bool keys_run_last = true;
  static void drop_thread_key(unsigned key) noexcept { windows::thread_end_keys::drop(key); }

  /// On every processor that Windows runs on. Addresses are allocated in steps of 64 KiB.
  static std::size_t page_bytes() noexcept { return 4096; }
  /// Addresses can only be freed in the unit in which they were reserved, so those that alignment skips stay reserved until
  /// unmap_pages(). They cost no memory.
  static void* map_pages(std::size_t bytes, std::size_t alignment, std::size_t offset, bool open) noexcept {
    constexpr std::size_t step = 64 * 1024;
    const std::size_t unit = alignment < step ? step : alignment;
    const std::size_t slack = unit == step && offset % alignment == 0 ? 0 : unit;
    if (bytes + slack < bytes) return nullptr;
    const windows::dword how = slack == 0 && open ? reserve | commit : reserve;
    void* const mapped = windows::VirtualAlloc(nullptr, bytes + slack, how, open ? read_write : no_access);
    if (mapped == nullptr || slack == 0) return mapped;
    const std::size_t above = (reinterpret_cast<std::uintptr_t>(mapped) + offset) % alignment;
    char* const start = static_cast<char*>(mapped) + (above != 0 ? alignment - above : 0);
    if (!open || open_pages(start, bytes)) return start;
    windows::VirtualFree(mapped, 0, release);
    return nullptr;
  }
  static void unmap_pages(void* start, std::size_t) noexcept {
    void* about[8] = {};  // MEMORY_BASIC_INFORMATION: the second is the start of the reservation
    if (windows::VirtualQuery(start, reinterpret_cast<::_MEMORY_BASIC_INFORMATION*>(about), sizeof about) != 0)
      windows::VirtualFree(about[1], 0, release);
  }
  static bool open_pages(void* start, std::size_t bytes) noexcept {
    return windows::VirtualAlloc(start, bytes, commit, read_write) != nullptr;
  }
  /// Their memory and their commitment are freed.
  static void close_pages(void* start, std::size_t bytes) noexcept { windows::VirtualFree(start, bytes, decommit); }
  static void empty_pages(void* start, std::size_t bytes) noexcept { close_pages(start, bytes); }
  /// A process may lock some 200 KiB, unless it asks for more (SetProcessWorkingSetSize). The error is GetLastError()'s.
  static int lock_pages(void* start, std::size_t bytes) noexcept {
    return windows::VirtualLock(start, bytes) != 0 ? 0 : static_cast<int>(windows::GetLastError());
  }

  static constexpr bool has_page_advice = true;
  static constexpr int discard = 1;
  static constexpr int free_lazily = 2;
  static constexpr int populate_write = -1;  // not known: page_memory writes to each page
  static int advise(void* start, std::size_t bytes, int advice) noexcept {
    const windows::same_last_error same;
    bool gone = false;
    if (advice == free_lazily || advice == discard) gone = windows::VirtualAlloc(start, bytes, reset, no_access) != nullptr;
    // For pages that aren't locked, this removes them from the working set: now, not when memory is short.
    if (gone && advice == discard) windows::VirtualUnlock(start, bytes);
    if (!gone) errno = EINVAL;
    return gone ? 0 : -1;
  }
  static long advise_all(const void*, std::size_t, int) noexcept {
    errno = ENOSYS;
    return -1;
  }

  static bool read_anywhere(const void* from, void* to, std::size_t bytes) noexcept {
    const windows::same_last_error same;
    windows::size got = 0;
    return windows::ReadProcessMemory(windows::GetCurrentProcess(), from, to, bytes, &got) != 0 && got == bytes;
  }

  static bool random_words(std::uint64_t* words) noexcept {
    windows::process_words(words);
    return true;
  }
  static void write_error(const char* text, std::size_t bytes) noexcept {
    const windows::same_last_error same;
    constexpr windows::dword error_output = static_cast<windows::dword>(-12);
    void* const where = windows::GetStdHandle(error_output);
    for (std::size_t done = 0; done != bytes;) {
      const std::size_t left = bytes - done;
      windows::dword written = 0;
      const auto part = static_cast<windows::dword>(left < 65536 ? left : 65536);
      if (windows::WriteFile(where, text + done, part, &written, nullptr) == 0 || written == 0) break;
      done += written;
    }
  }

 private:
  static constexpr windows::dword commit = 0x1000, reserve = 0x2000, decommit = 0x4000, release = 0x8000, reset = 0x80000;
  static constexpr windows::dword no_access = 1, read_write = 4;
};

}  // namespace tarn::platform

#endif  // _WIN32

#endif  // TARN_POLICIES_PLATFORM_WINDOWS_H_
