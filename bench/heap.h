// The malloc of the process as a column: the C library's, or the one that LD_PRELOAD put in its place. bench/processes.py runs
// a program once for each.
#ifndef TARN_BENCH_HEAP_H_
#define TARN_BENCH_HEAP_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <malloc.h>

namespace tarn_bench {

/// Which malloc is in this process, by a symbol that no other has: one that wasn't found is never measured under its name.
inline const char* name_of_malloc() {
  const auto find = [](const char* symbol) { return dlsym(RTLD_DEFAULT, symbol); };
  if (find("mallctl") != nullptr) return "jemalloc";
  if (find("tc_version") != nullptr) return "tcmalloc";
  if (void* const version = find("mi_version"); version != nullptr) {
    const int number = reinterpret_cast<int (*)()>(version)();  // 209 is 2.0.9, 30403 is 3.4.3
    return number >= 30000 ? "mimalloc3" : "mimalloc";
  }
  // It has no symbol of its own, but a library.
  Dl_info found{};
  const bool known = dladdr(find("malloc"), &found) != 0 && found.dli_fname != nullptr;
  return known && std::strstr(found.dli_fname, "libsnmalloc") != nullptr ? "snmalloc" : "malloc";
}

template <std::size_t Bytes>
struct heap {
  static inline const char* const name = name_of_malloc();
  void* take() { return std::malloc(Bytes); }
  void give(void* block) { std::free(block); }
};

/// The same, told by the environment to ask for huge pages.
template <std::size_t Bytes>
struct heap_huge : heap<Bytes> {
  static inline const std::string name = std::string{name_of_malloc()} + "_huge";
};

/// The same; settle() asks it to give back what it can, in its own way.
template <std::size_t Bytes>
struct heap_trimmed : heap<Bytes> {
  static inline const std::string name = std::string{name_of_malloc()} + "_trimmed";
  void settle() {
    const auto call = [](const char* symbol, auto* type, auto... arguments) {
      void* const found = dlsym(RTLD_DEFAULT, symbol);
      if (found == nullptr) return false;
      reinterpret_cast<decltype(type)>(found)(arguments...);
      return true;
    };
    int (*mallctl)(const char*, void*, std::size_t*, void*, std::size_t) = nullptr;
    void (*mi_collect)(bool) = nullptr;
    void (*tc_release)() = nullptr;
    call("mallctl", mallctl, "arena.4096.purge", nullptr, nullptr, nullptr, std::size_t{0}) ||
        call("mi_collect", mi_collect, true) || call("MallocExtension_ReleaseFreeMemory", tc_release) || malloc_trim(0);
  }
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_HEAP_H_
