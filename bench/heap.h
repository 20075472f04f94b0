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

/// Which malloc is in this process. One that wasn't found is never measured under its name: where $TARN_BENCH_PEER says
/// NAME=LIBRARY, malloc must be that library's; the others have a symbol that no other has.
inline const char* name_of_malloc() {
  const auto find = [](const char* symbol) { return dlsym(RTLD_DEFAULT, symbol); };
  if (const char* const peer = std::getenv("TARN_BENCH_PEER"); peer != nullptr) {
    static const std::string name{peer, std::strcspn(peer, "=")};
    Dl_info found{};
    const bool known = dladdr(find("malloc"), &found) != 0 && found.dli_fname != nullptr;
    return known && peer + name.size() == std::string{"="} + found.dli_fname ? name.c_str() : "another malloc";
  }
  if (find("mallctl") != nullptr) return "jemalloc";
  if (find("tc_version") != nullptr) return "tcmalloc";
  return find("mi_version") != nullptr ? "mimalloc" : "malloc";
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
