// What tarn calls of kernel32, declared as the Windows SDK declares it, without <windows.h>: that costs 70,000 lines and brings
// macros such as min. A program may include it before or after. Names that a namespace keeps apart are the same C functions.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_CALLS_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_CALLS_H_

#if defined(_WIN32)

#include <type_traits>

#include "tarn/policies/platform/standard.h"

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

/// A function that not every Windows has, of a library that every process has loaded. Null: it has none.
template <class Function>
Function find(const wchar_t* library, const char* name) noexcept {
  const module where = GetModuleHandleW(library);
  const procedure found = where != nullptr ? GetProcAddress(where, name) : nullptr;
  return reinterpret_cast<Function>(reinterpret_cast<void (*)()>(found));
}

/// The module that the address lies in is never unloaded from now on.
inline void keep_module(const volatile void* address) noexcept {
  constexpr dword pin = 1, by_address = 4;
  module ours;
  GetModuleHandleExW(pin | by_address, static_cast<const wchar_t*>(const_cast<const void*>(address)), &ours);
}

/// Leaves GetLastError() as it was: a free may wait, and looks for functions that aren't there.
class same_last_error {
 public:
  same_last_error() noexcept : before_(GetLastError()) {}
  ~same_last_error() { SetLastError(before_); }
  same_last_error(const same_last_error&) = delete;
  same_last_error& operator=(const same_last_error&) = delete;

 private:
  dword before_;
};

}  // namespace tarn::platform::windows

#endif  // _WIN32

#endif  // TARN_POLICIES_PLATFORM_WINDOWS_CALLS_H_
