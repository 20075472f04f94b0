// What Windows has, from Windows 7 on; what came later is looked for.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_H_

#if defined(_WIN32)

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/none.h"
#include "tarn/policies/platform/windows_calls.h"
#include "tarn/policies/platform/windows_modules.h"
#include "tarn/policies/platform/windows_threads.h"

#define TARN_THREAD_LOCAL thread_local

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

  /// A value may need memory, of the process' heap, and is refused without it.
  static constexpr unsigned thread_keys = windows::thread_end_keys::count;
  static unsigned make_thread_key(void (*act)(void*)) noexcept { return windows::thread_end_keys::make(act); }
  static bool set_thread_value(unsigned key, void* value) noexcept { return windows::thread_end_keys::set(key, value); }
  static void* thread_value(unsigned key) noexcept { return windows::thread_end_keys::get(key); }
  /// g++'s own variables of a thread (emulated TLS) are freed before this comes. Before their destructors run, too, which then
  /// read freed memory: seen with g++ 12 and threads of winpthreads.
  static constexpr bool keys_run_last = true;
  static void drop_thread_key(unsigned key) noexcept { windows::thread_end_keys::drop(key); }

  /// On every processor that Windows runs on. Addresses are given out in steps of 64 KiB.
  static std::size_t page_bytes() noexcept { return 4096; }
  /// Nothing can be given back of addresses but all that were given at once: so those that alignment skips stay reserved, until
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
    void* about[8] = {};  // MEMORY_BASIC_INFORMATION: the second is where the addresses began that were given at once
    if (windows::VirtualQuery(start, reinterpret_cast<::_MEMORY_BASIC_INFORMATION*>(about), sizeof about) != 0)
      windows::VirtualFree(about[1], 0, release);
  }
  static bool open_pages(void* start, std::size_t bytes) noexcept {
    return windows::VirtualAlloc(start, bytes, commit, read_write) != nullptr;
  }
  /// Their memory goes, and what the process was promised of it.
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
    // Of pages that aren't locked, this takes what lies in memory out of the process: now, not when memory is short.
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
