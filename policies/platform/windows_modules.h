// What the modules of a process, its program and its DLLs, know of each other on Windows.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_MODULES_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_MODULES_H_

#if defined(_WIN32)

#include <cstdint>

#include "tarn/policies/platform/windows_calls.h"

namespace tarn::platform::windows {

/// Two words of what differs between processes and is the same in all modules of one, at each call: the 32 bits that
/// EncodePointer() mixes in, the place of the heap, and when the process began.
inline void process_words(std::uint64_t* words) noexcept {
  std::uint64_t times[4] = {};
  const auto time = [&times](int i) noexcept { return reinterpret_cast<::_FILETIME*>(&times[i]); };
  GetProcessTimes(GetCurrentProcess(), time(0), time(1), time(2), time(3));
  const auto heap = reinterpret_cast<std::uintptr_t>(GetProcessHeap());
  words[0] = reinterpret_cast<std::uintptr_t>(EncodePointer(nullptr)) ^ std::uint64_t{heap} << 20;
  words[1] = times[0] ^ std::uint64_t{GetCurrentProcessId()} << 40 ^ heap;
}

/// The name of a thing of this process: no other process knows what is in it, to make that thing first.
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

/// The object of the first module that asks for its kind; that module stays loaded. `mine`, if the system refuses the memory
/// that says so.
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

#endif  // _WIN32

#endif  // TARN_POLICIES_PLATFORM_WINDOWS_MODULES_H_
