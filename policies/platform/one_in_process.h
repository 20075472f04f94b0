// What exists once in a process, and what a library can find in others: objects of tarn's (one_in_process), functions of a tool
// (looked_up), and LeakSanitizer.
//
// Objects that exist once in the process, whatever its libraries are: linked or loaded, with visible symbols or not. Each
// library has its own object, and an ELF note, loaded with it, that contains its address. All use the object of the first
// library with such a note, in the loader's order. That is the program, if it has a note; any other library then stays loaded.
// On Windows a small piece of named memory (a file mapping without a file) contains the address: that of the first module that
// asked, which stays loaded.
#ifndef TARN_POLICIES_PLATFORM_ONE_IN_PROCESS_H_
#define TARN_POLICIES_PLATFORM_ONE_IN_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

#if defined(__ELF__) && defined(__linux__) && defined(__LP64__)
#if defined(__x86_64__)
#define TARN_HAS_NOTES 1
#define TARN_SYMBOL "i"
#elif defined(__aarch64__)
#define TARN_HAS_NOTES 1
#define TARN_SYMBOL "S"
#endif
#endif

#if defined(_WIN32) && !defined(TARN_PLATFORM_HEADER)
#define TARN_HAS_NAMED_MEMORY 1
#endif

#if defined(TARN_HAS_NOTES) || defined(TARN_HAS_NAMED_MEMORY)
#define TARN_IS_FOUND 1
#define TARN_FOUND_IN_PROCESS TARN_ONE_IN_LIBRARY
#else
#define TARN_FOUND_IN_PROCESS TARN_ONE_IN_PROCESS  // one if libraries share their variables
#endif

namespace tarn::detail {

#if defined(TARN_HAS_NOTES)

// What <link.h> and <dlfcn.h> declare in a thousand lines.
struct loaded_segment {
  std::uint32_t type, flags;
  std::uintptr_t in_file, start, physical, bytes_in_file, bytes, alignment;
};
struct loaded_library {
  std::uintptr_t start;
  const char* path;
  const loaded_segment* segments;
  std::uint16_t count;
};
extern "C" int tarn_each_library(int (*)(const loaded_library*, std::size_t, void*), void*) noexcept asm("dl_iterate_phdr");
extern "C" [[gnu::weak]] void* tarn_open_library(const char*, int) noexcept asm("dlopen");  // null: nothing can be unloaded

/// A note of ours: the distance from here to the object follows.
struct process_note {
  std::uint32_t name_bytes = 5, content_bytes = 8, kind = 0;
  char name[8] = "tarn";
};
struct note_search {
  process_note wanted;
  void* object = nullptr;
  const char* path = "";
};

inline int find_note(const loaded_library* library, std::size_t, void* search) noexcept {
  constexpr std::uint32_t notes = 4;
  auto& s = *static_cast<note_search*>(search);
  for (const loaded_segment* at = library->segments; at != library->segments + library->count; ++at) {
    if (at->type != notes) continue;
    const std::size_t step = at->alignment == 8 ? 8 : 4;
    const auto rounded = [step](std::size_t n) { return (n + step - 1) & ~(step - 1); };
    for (std::size_t left = at->bytes, next = 0; left > sizeof(process_note) + 7; left = next < left ? left - next : 0) {
      const char* const note = reinterpret_cast<const char*>(library->start + at->start + at->bytes - left);
      if (std::memcmp(note, &s.wanted, sizeof s.wanted) == 0) {
        std::uintptr_t distance;
        std::memcpy(&distance, note + sizeof s.wanted, sizeof distance);
        s.object = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(note + sizeof s.wanted) + distance);
        s.path = library->path;
        return 1;
      }
      process_note other;
      std::memcpy(&other, note, sizeof other);
      next = 12 + rounded(other.name_bytes) + rounded(other.content_bytes);
    }
  }
  return 0;
}
/// Keeps the library loaded. Returns whether it is there. Allocates.
inline bool keep_loaded(const char* path) noexcept {
  constexpr int lazy_noload_nodelete = 1 | 4 | 0x1000;
  return *path == 0 || &tarn_open_library == nullptr || tarn_open_library(path, lazy_noload_nodelete) != nullptr;
}
inline note_search first_note(std::uint32_t kind, void* mine) noexcept {
  note_search s{{.kind = kind}};
  tarn_each_library(find_note, &s);
  if (s.object == nullptr) s.object = mine;
  return s;
}
/// May be called in an allocation, even that of malloc, so it allocates nothing.
TARN_COLD inline void* find_in_process(std::uint32_t kind, void* mine, atomic_word<void*>& found) noexcept {
  void* const object = first_note(kind, mine).object;
  found.store(object, memory_order_release);
  return object;
}
/// Called when this library is loaded: the library that has the object stays loaded. A library that is a malloc used the object
/// before; but it is one of those that the program starts with, and so are all before it.
TARN_COLD inline void keep_in_process(std::uint32_t kind, void* mine, atomic_word<void*>& found) noexcept {
  for (int tries = 0;; ++tries) {
    const note_search s = first_note(kind, mine);
    if (!keep_loaded(s.path) && tries != 9) continue;  // it was unloaded in between
    if (found.load(memory_order_acquire) == nullptr) found.store(s.object, memory_order_release);
    return;
  }
}
#endif

#if defined(TARN_HAS_NAMED_MEMORY)
TARN_COLD inline void* find_in_process(std::uint32_t kind, void* mine, atomic_word<void*>& found) noexcept {
  const platform::windows::same_last_error same;
  void* const object = platform::windows::first_in_process(kind, mine);
  found.store(object, memory_order_release);
  return object;
}
#endif

/// \tparam Mine  this library's object
/// \tparam Kind  identifies its type and layout: libraries with other numbers have another object
template <auto& Mine, std::uint32_t Kind>
class TARN_ONE_IN_LIBRARY one_in_process {
  using type = std::remove_reference_t<decltype(Mine)>;

 public:
  static type& get() noexcept {
#if defined(TARN_IS_FOUND)
    void* known = found_.load(memory_order_acquire);
    if (known == nullptr) [[unlikely]]
      known = find();
    return *static_cast<type*>(known);
#else
    return Mine;
#endif
  }

#if defined(TARN_IS_FOUND)
 private:
  TARN_COLD static void* find() noexcept {
#if defined(TARN_HAS_NOTES)
    // The note, and a call when the library is loaded, before its objects are constructed. Not an object with a constructor,
    // which every file that includes this would have. This exists only where the function does.
    asm volatile(
        ".pushsection .note.tarn, \"aGR\", %%note, tarn_note_%c1, comdat\n"
        ".balign 4\n.long 5, 8, %c1\n.asciz \"tarn\"\n.balign 4\n.quad %c0 - .\n.popsection\n"
        ".pushsection .init_array.00101, \"awG\", %%init_array, tarn_note_%c1, comdat\n"
        ".balign 8\n.quad %c2\n.popsection"
        :
        : TARN_SYMBOL(&Mine), "i"(Kind), TARN_SYMBOL(&keep));
#endif
    return detail::find_in_process(Kind, &Mine, found_);
  }
#if defined(TARN_HAS_NOTES)
  static void keep() noexcept { keep_in_process(Kind, &Mine, found_); }
#endif
  // Order: store release, load acquire. All threads that look find the same object.
  static inline constinit atomic_word<void*> found_ = nullptr;
#endif
};

}  // namespace tarn::detail

#undef TARN_HAS_NOTES
#undef TARN_HAS_NAMED_MEMORY
#undef TARN_IS_FOUND
#undef TARN_SYMBOL

namespace tarn::platform {

// ---- functions that a tool adds to the process, looked up by name at the first call ---------------------------
//
// A program's weak reference, unlike a library's, may be resolved to null when it is linked.

#if defined(__linux__) && defined(__ELF__)
template <class = void>
inline constexpr bool looks_up = true;
// Of <dlfcn.h>. Weak: null in a program without dynamic libraries, to which no tool can be added.
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

  /// The function, or null if no tool provides it.
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
  // Order: load acquire, store release. It publishes what the loader wrote for the function. Two threads that look it up find
  // the same.
  detail::atomic_word<std::uintptr_t> known_ = 0;
};

}  // namespace tarn::platform

namespace tarn::detail {

// ---- LeakSanitizer ---------------------------------------------------------------------------------------------------------
//
// It looks for pointers in memory from malloc and in the program's variables, but not in pages from mmap. So those are reported
// to it, because memory that only a block points to isn't leaked.

#if defined(__linux__) && defined(__ELF__)
// Of <sanitizer/lsan_interface.h>. Null if the program has no LeakSanitizer, which no compiler's macro shows reliably.
extern "C" [[gnu::weak]] void tarn_add_leak_root(const void*, std::size_t) noexcept asm("__lsan_register_root_region");
extern "C" [[gnu::weak]] void tarn_drop_leak_root(const void*, std::size_t) noexcept asm("__lsan_unregister_root_region");

inline void add_leak_root(const void* start, std::size_t bytes) noexcept {
  if (&tarn_add_leak_root != nullptr) tarn_add_leak_root(start, bytes);
}
/// With the same arguments as add_leak_root().
inline void drop_leak_root(const void* start, std::size_t bytes) noexcept {
  if (&tarn_drop_leak_root != nullptr) tarn_drop_leak_root(start, bytes);
}
#else
inline void add_leak_root(const void*, std::size_t) noexcept {}
inline void drop_leak_root(const void*, std::size_t) noexcept {}
#endif

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_ONE_IN_PROCESS_H_
