// Preloaded into a program, it writes each call of malloc and of the C++ operators to a log: format.h. tools/tarn-record starts
// a program with it, and says by the environment where the log goes.
//
// It needs no more than the C library, and allocates nothing. Each thread writes into a block of the log, which is mapped: what
// was written is there, whatever becomes of the process. All else is rare, and in next_block().

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

#include "blocks.h"
#include "format.h"
#include "frames.h"

namespace tarn_record {
namespace {

// ---- a call -------------------------------------------------------------------------------------------------------------

struct call {
  operation what;
  std::uint64_t time;
  std::uint64_t address;
  std::uint64_t size = 0;
  std::uint64_t alignment = 0;  // 0: none was given
  std::uint64_t old = 0;
  std::uint64_t began = 0;
  caller from{};  // of calls that allocate
};

char* put_address(char* at, std::uint64_t address) {
  at = put(at, code_of(address, own.last_address));
  if (address != 0) own.last_address = address;
  return at;
}

void log(const call& it) {
  if (__builtin_expect(own.generation != process->generation.load(std::memory_order_relaxed) || own.block == nullptr ||
                           own.end - own.at < static_cast<std::ptrdiff_t>(most_call_bytes),
                       0)) {
    if (!next_block()) return;
  }
  auto first = static_cast<unsigned>(it.what);
  char* at = put(own.at + 1, it.time > own.last_ticks ? it.time - own.last_ticks : 0);
  if (it.time > own.last_ticks) own.last_ticks = it.time;
  if (has_stacks && it.from.returns_to != 0) {
    const std::uint64_t stack = stack_of(it.from, it.time);
    if (stack != 0) {
      first |= has_stack;
      at = put(at, stack);
    }
  }
  if (it.alignment != 0) {
    first |= has_alignment;
    at = put(at, static_cast<std::uint64_t>(__builtin_ctzll(it.alignment)));
  }
  if (frees(it.what) && it.size != 0) first |= has_size;
  if (!frees(it.what) || it.size != 0) at = put(at, it.size);
  at = put_address(at, it.address);
  if (moves(it.what)) at = put(put_address(at, it.old), it.time - it.began);
  commit(own.at, first);
  own.at = at;
  ++own.calls;
}

// ---- the functions behind -----------------------------------------------------------------------------------------------

struct functions {
  decltype(&::malloc) malloc;
  decltype(&::free) free;
  decltype(&::calloc) calloc;
  decltype(&::realloc) realloc;
  decltype(&::reallocarray) reallocarray;
  decltype(&::posix_memalign) posix_memalign;
  decltype(&::aligned_alloc) aligned_alloc;
  decltype(&::memalign) memalign;
  decltype(&::valloc) valloc;
  decltype(&::pvalloc) pvalloc;
  bool own_operators;  // of the program or one of its libraries: what they call is logged, not they
};
functions real;

/// What dlsym() itself asks for while it looks for malloc.
alignas(16) char early[16384];
std::size_t early_used;
void* take_early(std::size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  if (bytes > sizeof(early) - early_used) abort();
  early_used += bytes;
  return early + early_used - bytes;
}
bool is_early(const void* block) { return block >= early && block < early + sizeof(early); }

/// Whether the program calls this malloc, and has none of its own.
bool is_called() {
  const std::size_t before = early_used;
  void* volatile block = ::malloc(1);
  const bool it_is = early_used != before;
  ::free(block);
  return it_is;
}

/// Whether the operators are those of a C++ library or of the malloc, for which malloc and operator new are one heap.
bool known_operators() {
  if (!is_called()) return false;  // they get blocks of the program's malloc
  Dl_info found{}, heap{};
  void* const next = dlsym(RTLD_NEXT, "_Znwm");
  if (next == nullptr || dladdr(next, &found) == 0 || found.dli_fname == nullptr) return true;
  if (dladdr(reinterpret_cast<void*>(real.malloc), &heap) != 0 && heap.dli_fbase == found.dli_fbase) return true;
  return strstr(found.dli_fname, "/libstdc++.so") != nullptr || strstr(found.dli_fname, "/libc++") != nullptr;
}

[[gnu::noinline, gnu::cold]] void find_functions() {
  static bool busy;
  if (busy) return;
  busy = true;
  const whole_call call;
  const auto find = [](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_NEXT, name));
  };
  functions all{};
  find(all.free, "free");
  find(all.calloc, "calloc");
  find(all.realloc, "realloc");
  find(all.reallocarray, "reallocarray");
  find(all.posix_memalign, "posix_memalign");
  find(all.aligned_alloc, "aligned_alloc");
  find(all.memalign, "memalign");
  find(all.valloc, "valloc");
  find(all.pvalloc, "pvalloc");
  find(all.malloc, "malloc");
  if (all.malloc == nullptr || all.free == nullptr || all.calloc == nullptr || all.realloc == nullptr) abort();
  real = all;
  real.own_operators = !known_operators();
  void* const state =
      mmap(nullptr, (sizeof(process_state) + 4095) / 4096 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (state == MAP_FAILED) abort();
  if (madvise(state, (sizeof(process_state) + 4095) / 4096 * 4096, MADV_WIPEONFORK) != 0) {  // Linux before 4.14
    static_cast<process_state*>(state)->generation.store(over, std::memory_order_relaxed);
  }
  __atomic_store_n(&process, static_cast<process_state*>(state), __ATOMIC_RELEASE);
}

/// Whether there are functions to call; there are none while they are looked for.
bool has_functions() {
  if (__builtin_expect(process == nullptr, 0)) find_functions();
  return process != nullptr;
}

std::uint64_t number(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }
std::uint64_t times(std::size_t count, std::size_t bytes) {
  std::size_t all;
  return __builtin_mul_overflow(count, bytes, &all) ? ~std::size_t{0} : all;
}

/// Calls `function`, which returns a block, and logs it.
template <class Function>
void* taken(const caller& from, operation what, std::size_t bytes, std::size_t alignment, Function function) {
  const whole_call outer;
  void* const block = function();
  if (outer.is_logged()) log({what, ticks(), number(block), bytes, alignment, 0, 0, from});
  return block;
}

template <class Function>
void* moved(const caller& from, operation what, void* old, std::size_t bytes, Function function) {
  const whole_call outer;
  const std::uint64_t began = ticks();
  void* const block = function();
  if (outer.is_logged()) log({what, ticks(), number(block), bytes, 0, number(old), began, from});
  return block;
}

void given(operation what, void* block, std::size_t bytes = 0, std::size_t alignment = 0) {
  if (block == nullptr || is_early(block)) return;
  const whole_call outer;
  if (outer.is_logged()) log({what, ticks(), number(block), bytes, alignment});
  real.free(block);
}

// ---- operators ----------------------------------------------------------------------------------------------------------

/// The operator behind this one: of libraries, or of one that was loaded later.
void* next_operator(const char* name) {
  const whole_call outer;
  void* found = dlsym(RTLD_NEXT, name);
  for (const char* library : {"libstdc++.so.6", "libc++.so.1"}) {
    void* const loaded = found == nullptr ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (loaded != nullptr) found = dlsym(loaded, name);
  }
  if (found == nullptr) abort();
  return found;
}

/// Gets a block as malloc does. Where there is none, the operator behind does what C++ wants: it calls handlers, and throws.
template <class... Rest>
void* operator_new(const caller& from, operation what, const char* name, std::size_t bytes, std::size_t alignment,
                   Rest... rest) {
  if (has_functions() && !real.own_operators) {
    void* const block = taken(from, what, bytes, alignment, [&] {
      if (alignment == 0) return real.malloc(bytes == 0 ? 1 : bytes);
      const std::size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);
      return rounded < bytes ? nullptr : real.aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
    });
    if (block != nullptr) return block;
  }
  return reinterpret_cast<void* (*)(std::size_t, Rest...)>(next_operator(name))(bytes, rest...);
}

template <class... Rest>
void operator_delete(operation what, const char* name, void* block, std::size_t bytes, std::size_t alignment, Rest... rest) {
  if (has_functions() && !real.own_operators) return given(what, block, bytes, alignment);
  reinterpret_cast<void (*)(void*, Rest...)>(next_operator(name))(block, rest...);
}

}  // namespace
}  // namespace tarn_record

// ---- what the program calls ---------------------------------------------------------------------------------------------

#define TARN_CALLED [[gnu::visibility("default")]]
// Who called the function that has this.
#define TARN_CALLER                                                     \
  caller {                                                              \
    number(__builtin_return_address(0)), number(__builtin_dwarf_cfa()), \
        number(*static_cast<void**>(__builtin_frame_address(0)))        \
  }

using namespace tarn_record;

extern "C" {

TARN_CALLED void* malloc(std::size_t bytes) noexcept {
  if (!has_functions()) return take_early(bytes);
  return taken(TARN_CALLER, operation::malloc, bytes, 0, [&] { return real.malloc(bytes); });
}
TARN_CALLED void free(void* block) noexcept {
  if (has_functions()) given(operation::free, block);
}
TARN_CALLED void* calloc(std::size_t count, std::size_t bytes) noexcept {
  if (!has_functions()) return take_early(count * bytes);
  return taken(TARN_CALLER, operation::calloc, times(count, bytes), 0, [&] { return real.calloc(count, bytes); });
}
TARN_CALLED void* realloc(void* old, std::size_t bytes) noexcept {
  if (!has_functions() || is_early(old)) {
    void* const block = malloc(bytes);
    if (block != nullptr && old != nullptr) {
      const auto rest = static_cast<std::size_t>(early + sizeof(early) - static_cast<char*>(old));
      memcpy(block, old, bytes < rest ? bytes : rest);
    }
    return block;
  }
  return moved(TARN_CALLER, operation::realloc, old, bytes, [&] { return real.realloc(old, bytes); });
}
TARN_CALLED void* reallocarray(void* old, std::size_t count, std::size_t bytes) noexcept {
  if (!has_functions() || is_early(old)) return realloc(old, times(count, bytes));
  return moved(TARN_CALLER, operation::reallocarray, old, times(count, bytes),
               [&] { return real.reallocarray(old, count, bytes); });
}
TARN_CALLED int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) noexcept {
  if (!has_functions()) return ENOMEM;
  int result = 0;
  void* const before = *to;
  taken(TARN_CALLER, operation::posix_memalign, bytes, alignment, [&]() -> void* {
    result = real.posix_memalign(to, alignment, bytes);
    return result == 0 ? *to : nullptr;
  });
  if (result != 0) *to = before;
  return result;
}
TARN_CALLED void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (!has_functions()) return nullptr;
  return taken(TARN_CALLER, operation::aligned_alloc, bytes, alignment, [&] { return real.aligned_alloc(alignment, bytes); });
}
TARN_CALLED void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (!has_functions()) return nullptr;
  return taken(TARN_CALLER, operation::memalign, bytes, alignment, [&] { return real.memalign(alignment, bytes); });
}
TARN_CALLED void* valloc(std::size_t bytes) noexcept {
  if (!has_functions()) return nullptr;
  return taken(TARN_CALLER, operation::valloc, bytes, 0, [&] { return real.valloc(bytes); });
}
TARN_CALLED void* pvalloc(std::size_t bytes) noexcept {
  if (!has_functions()) return nullptr;
  return taken(TARN_CALLER, operation::pvalloc, bytes, 0, [&] { return real.pvalloc(bytes); });
}

// The C++ operators by the names that they have for the linker: so they may throw what the operator behind throws, and nothing
// of C++'s library is needed.
#define TARN_NEW(name, what, alignment, ...)                                              \
  TARN_CALLED void* name(std::size_t bytes __VA_ARGS__) {                                 \
    return operator_new(TARN_CALLER, operation::what, #name, bytes, alignment TARN_REST); \
  }
#define TARN_DELETE(name, what, bytes, alignment, ...) \
  TARN_CALLED void name(void* block __VA_ARGS__) { operator_delete(operation::what, #name, block, bytes, alignment TARN_REST); }
#define TARN_COMMA ,

#define TARN_REST
TARN_NEW(_Znwm, new_, 0)
TARN_NEW(_Znam, new_array, 0)
TARN_DELETE(_ZdlPv, delete_, 0, 0)
TARN_DELETE(_ZdaPv, delete_array, 0, 0)
#undef TARN_REST
#define TARN_REST , size
TARN_DELETE(_ZdlPvm, delete_, size, 0, TARN_COMMA std::size_t size)
TARN_DELETE(_ZdaPvm, delete_array, size, 0, TARN_COMMA std::size_t size)
#undef TARN_REST
#define TARN_REST , nothrow
TARN_NEW(_ZnwmRKSt9nothrow_t, new_, 0, TARN_COMMA const void* nothrow)
TARN_NEW(_ZnamRKSt9nothrow_t, new_array, 0, TARN_COMMA const void* nothrow)
TARN_DELETE(_ZdlPvRKSt9nothrow_t, delete_, 0, 0, TARN_COMMA const void* nothrow)
TARN_DELETE(_ZdaPvRKSt9nothrow_t, delete_array, 0, 0, TARN_COMMA const void* nothrow)
#undef TARN_REST
#define TARN_REST , at
TARN_NEW(_ZnwmSt11align_val_t, new_, at, TARN_COMMA std::size_t at)
TARN_NEW(_ZnamSt11align_val_t, new_array, at, TARN_COMMA std::size_t at)
TARN_DELETE(_ZdlPvSt11align_val_t, delete_, 0, at, TARN_COMMA std::size_t at)
TARN_DELETE(_ZdaPvSt11align_val_t, delete_array, 0, at, TARN_COMMA std::size_t at)
#undef TARN_REST
#define TARN_REST , at, nothrow
TARN_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, new_, at, TARN_COMMA std::size_t at TARN_COMMA const void* nothrow)
TARN_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, new_array, at, TARN_COMMA std::size_t at TARN_COMMA const void* nothrow)
TARN_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, delete_, 0, at, TARN_COMMA std::size_t at TARN_COMMA const void* nothrow)
TARN_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, delete_array, 0, at, TARN_COMMA std::size_t at TARN_COMMA const void* nothrow)
#undef TARN_REST
#define TARN_REST , size, at
TARN_DELETE(_ZdlPvmSt11align_val_t, delete_, size, at, TARN_COMMA std::size_t size TARN_COMMA std::size_t at)
TARN_DELETE(_ZdaPvmSt11align_val_t, delete_array, size, at, TARN_COMMA std::size_t size TARN_COMMA std::size_t at)
#undef TARN_REST

}  // extern "C"
