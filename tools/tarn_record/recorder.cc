// Preloaded into a program, it writes each call of malloc and of the C++ operators to a log: format.h. tools/tarn-record starts
// a program with it, and says by the environment where the log goes.
//
// It needs no more than the C library, and allocates nothing. Each thread writes into a block of the log, which is mapped: what
// was written is there, whatever becomes of the process. All else is rare, and in next_block().

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format.h"

namespace tarn_record {
namespace {

// ---- the clock ----------------------------------------------------------------------------------------------------------

std::uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U + static_cast<std::uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)
constexpr clock_kind clock_here = clock_kind::rdtsc;
inline std::uint64_t ticks() {
  unsigned core;
  return __builtin_ia32_rdtscp(&core);  // once what came before is done; rdtsc doesn't wait
}
#elif defined(__aarch64__)
constexpr clock_kind clock_here = clock_kind::cntvct;
inline std::uint64_t ticks() {
  std::uint64_t now;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(now) : : "memory");
  return now;
}
#else
constexpr clock_kind clock_here = clock_kind::nanoseconds;
inline std::uint64_t ticks() { return nanoseconds(); }
#endif

// ---- what the process and its threads have ------------------------------------------------------------------------------

constexpr std::uint32_t over = ~std::uint32_t{0};  // a generation: nothing is written any more

/// The child of a fork finds zeros here (MADV_WIPEONFORK), so whatever its parent's other threads were doing: it begins anew.
struct process_state {
  std::atomic<std::uint32_t> generation;  // 0: there is no log yet. No thread has another process's
  std::atomic<std::uint32_t> locked;
  std::uint32_t threads, blocks, spares;
  std::uint64_t end;  // of the file
  file_header* header;
  block_header* spare[64];  // open blocks that threads left when they ended
  char path[PATH_MAX + 32];
};

// What a fork's child keeps.
process_state* process;
std::uint32_t generations;
char base_path[PATH_MAX];
std::uint64_t most_bytes;
pthread_key_t at_thread_end;

struct thread_state {
  char* at;
  char* end;  // of the block
  block_header* block;
  std::uint64_t last_ticks;
  std::uint64_t last_address;
  std::uint32_t calls;
  std::uint32_t generation;
  std::uint32_t number;
  bool inside;  // what is called now isn't the program's call
};
[[gnu::tls_model("initial-exec")]] thread_local thread_state own;

/// What is called meanwhile is part of the outermost call.
class whole_call {
 public:
  whole_call() : is_outermost_(!own.inside) { own.inside = true; }
  ~whole_call() {
    if (is_outermost_) own.inside = false;
  }
  bool is_logged() const { return is_outermost_; }

 private:
  bool is_outermost_;
};

class locked {
 public:
  locked() {
    while (process->locked.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  ~locked() { process->locked.store(0, std::memory_order_release); }
};

// ---- the file: by system calls alone, since a thread that is cancelled in the C library's would keep the lock ---------------

int open_file(const char* path, int flags) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0666));
}

/// Makes the file longer by `bytes` zeros, which lie on the disk then, and maps them. Null: it can't, and errno says why. The
/// program may close what it didn't open, so that no file stays open.
void* grown(const char* path, int flags, std::size_t bytes) {
  static const char zeros[block_bytes] = {};
  const int file = open_file(path, O_RDWR | flags);
  if (file < 0) return nullptr;
  void* found = MAP_FAILED;
  const long written = syscall(SYS_pwrite64, file, zeros, bytes, static_cast<off_t>(process->end));
  if (written == static_cast<long>(bytes)) {
    found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, static_cast<off_t>(process->end));
  } else if (written >= 0) {
    errno = ENOSPC;
  }
  const int error = errno;
  syscall(SYS_close, file);
  errno = error;
  if (found == MAP_FAILED) return nullptr;
  process->end += bytes;
  return found;
}

/// The path of this process's log: one that isn't there yet.
void name_log() {
  char* to = stpcpy(process->path, base_path);
  for (unsigned number = 0; number != 10000 && access(process->path, F_OK) == 0; ++number) {
    char digits[24] = {};
    char* from = digits + sizeof(digits) - 1;
    const auto add = [&](unsigned value) {
      do *--from = static_cast<char>('0' + value % 10);
      while ((value /= 10) != 0);
      *--from = '.';
    };
    if (number != 0) add(number + 1);
    add(static_cast<unsigned>(getpid()));
    strcpy(to, from);
  }
}

void write_header(file_header& to) {
  to.byte_order = byte_order;
  to.version = version;
  to.header_bytes = header_bytes;
  to.clock = clock_here;
  to.process = static_cast<std::uint32_t>(getpid());
  to.parent = static_cast<std::uint32_t>(getppid());
  to.is_fork = generations > 1;
  to.most_bytes = most_bytes;
  to.first_ticks = ticks();
  to.first_nanoseconds = nanoseconds();
  const int file = open_file("/proc/self/cmdline", O_RDONLY);
  if (file >= 0) {
    if (syscall(SYS_read, file, to.command, sizeof(to.command) - 1) < 0) to.command[0] = 0;
    syscall(SYS_close, file);
  }
  memcpy(to.magic, magic, sizeof(magic));
}

void stop_here(stop reason, int error) {
  if (process->header != nullptr) {
    process->header->stopped_ticks = ticks();
    process->header->error = static_cast<std::uint32_t>(error);
    process->header->stopped = reason;
  }
  process->generation.store(over, std::memory_order_relaxed);
}

void thread_ends(void*);

/// The first of this program: where logs go.
bool read_environment() {
  const char* const path = getenv("TARN_RECORD_LOG");
  const char* const most = getenv("TARN_RECORD_MAX");
  if (path == nullptr || *path != '/' || strlen(path) >= sizeof(base_path)) return false;
  strcpy(base_path, path);
  most_bytes = most == nullptr ? ~std::uint64_t{0} : strtoull(most, nullptr, 10);
  return pthread_key_create(&at_thread_end, thread_ends) == 0;
}

/// Begins this process's log.
void begin() {
  if (generations == 0 && !read_environment()) return stop_here(stop::error, EINVAL);
  ++generations;
  for (int tries = 0; process->header == nullptr && (tries == 0 || errno == EEXIST) && tries != 9; ++tries) {
    name_log();  // another process may be faster
    process->header = static_cast<file_header*>(grown(process->path, O_CREAT | O_EXCL, header_bytes));
  }
  if (process->header == nullptr) return stop_here(stop::error, errno);
  write_header(*process->header);
  process->generation.store(generations, std::memory_order_relaxed);
}

// ---- blocks -------------------------------------------------------------------------------------------------------------

char* start_of(block_header* block) { return reinterpret_cast<char*>(block + 1); }

void seal() {
  block_header& block = *own.block;
  block.used = static_cast<std::uint32_t>((own.at - start_of(&block) + 7) / 8 * 8);
  block.calls = own.calls;
  block.last_ticks = ticks();
  block.last_nanoseconds = nanoseconds();
  __atomic_store_n(&block.sum, sum_of(reinterpret_cast<char*>(&block)), __ATOMIC_RELEASE);
  munmap(&block, block_bytes);
}

char* put(char* at, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

/// Last, so that no call is half written.
void commit(char* at, unsigned first) { __atomic_store_n(at, static_cast<char>(first), __ATOMIC_RELEASE); }

void take(block_header* block, char* at, std::uint64_t ticks, std::uint32_t calls) {
  own.block = block;
  own.at = at;
  own.end = reinterpret_cast<char*>(block) + block_bytes;
  own.last_ticks = ticks;
  own.last_address = 0;
  own.calls = calls;
  own.generation = process->generation.load(std::memory_order_relaxed);
}

/// An open block of a thread that ended, where there is one: threads that do little share blocks. Its header says meanwhile
/// what it says once it is sealed.
bool take_spare() {
  if (process->spares == 0) return false;
  block_header* const block = process->spare[--process->spares];
  take(block, start_of(block) + block->used, block->last_ticks, block->calls);
  char* const first = own.at;
  own.at = put(put(first + 1, 0), own.number);
  commit(first, static_cast<unsigned>(operation::is_thread));
  return true;
}

bool take_new() {
  if (process->end + block_bytes > most_bytes) return stop_here(stop::full, 0), false;
  auto* const block = static_cast<block_header*>(grown(process->path, 0, block_bytes));
  if (block == nullptr) return stop_here(stop::error, errno), false;
  block->kind = block_kind::calls;
  block->stored = block_bytes - sizeof(block_header);
  block->number = process->blocks++;
  block->thread = own.number;
  block->first_ticks = ticks();
  __atomic_store_n(&block->mark, block_mark, __ATOMIC_RELEASE);
  take(block, start_of(block), block->first_ticks, 0);
  return true;
}

/// Gives the thread room for a call. False: nothing is written any more.
[[gnu::noinline, gnu::cold]] bool next_block() {
  if (process->generation.load(std::memory_order_relaxed) == over) return false;
  const int before = errno;
  const locked lock;
  if (process->generation.load(std::memory_order_relaxed) == 0) begin();
  const std::uint32_t generation = process->generation.load(std::memory_order_relaxed);
  bool done = false;
  if (generation != over) {
    const bool goes_on = own.generation == generation && own.block != nullptr;
    if (own.generation != generation) own.number = ++process->threads;
    if (goes_on) seal();
    own.block = nullptr;
    done = (!goes_on && take_spare()) || take_new();
    if (done) pthread_setspecific(at_thread_end, &own);
  }
  errno = before;
  return done;
}

/// Leaves the block to another thread. Destructors that run later may call free: the thread then takes a block again.
void thread_ends(void*) {
  const whole_call call;
  const locked lock;
  if (own.generation != process->generation.load(std::memory_order_relaxed) || own.block == nullptr) return;
  if (process->spares == sizeof(process->spare) / sizeof(*process->spare)) {
    seal();
  } else {
    own.block->used = static_cast<std::uint32_t>(own.at - start_of(own.block));
    own.block->calls = own.calls;
    own.block->last_ticks = own.last_ticks;
    process->spare[process->spares++] = own.block;
  }
  own.block = nullptr;
  own.at = own.end = nullptr;
}

[[gnu::destructor]] void process_ends() {
  if (process == nullptr) return;
  const std::uint32_t generation = process->generation.load(std::memory_order_relaxed);
  if (generation != 0 && process->header != nullptr) process->header->ended = ending::exit;
}

// ---- a call -------------------------------------------------------------------------------------------------------------

struct call {
  operation what;
  std::uint64_t time;
  std::uint64_t address;
  std::uint64_t size = 0;
  std::uint64_t alignment = 0;  // 0: none was given
  std::uint64_t old = 0;
  std::uint64_t began = 0;
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

/// Whether the operators are those of a C++ library or of the malloc, for which malloc and operator new are one heap.
bool known_operators() {
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
void* taken(operation what, std::size_t bytes, std::size_t alignment, Function function) {
  const whole_call outer;
  void* const block = function();
  if (outer.is_logged()) log({what, ticks(), number(block), bytes, alignment});
  return block;
}

template <class Function>
void* moved(operation what, void* old, std::size_t bytes, Function function) {
  const whole_call outer;
  const std::uint64_t began = ticks();
  void* const block = function();
  if (outer.is_logged()) log({what, ticks(), number(block), bytes, 0, number(old), began});
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
void* operator_new(operation what, const char* name, std::size_t bytes, std::size_t alignment, Rest... rest) {
  if (has_functions() && !real.own_operators) {
    void* const block = taken(what, bytes, alignment, [&] {
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

using namespace tarn_record;

extern "C" {

TARN_CALLED void* malloc(std::size_t bytes) noexcept {
  if (!has_functions()) return take_early(bytes);
  return taken(operation::malloc, bytes, 0, [&] { return real.malloc(bytes); });
}
TARN_CALLED void free(void* block) noexcept {
  if (has_functions()) given(operation::free, block);
}
TARN_CALLED void* calloc(std::size_t count, std::size_t bytes) noexcept {
  if (!has_functions()) return take_early(count * bytes);
  return taken(operation::calloc, times(count, bytes), 0, [&] { return real.calloc(count, bytes); });
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
  return moved(operation::realloc, old, bytes, [&] { return real.realloc(old, bytes); });
}
TARN_CALLED void* reallocarray(void* old, std::size_t count, std::size_t bytes) noexcept {
  if (!has_functions() || is_early(old)) return realloc(old, times(count, bytes));
  return moved(operation::reallocarray, old, times(count, bytes), [&] { return real.reallocarray(old, count, bytes); });
}
TARN_CALLED int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) noexcept {
  if (!has_functions()) return ENOMEM;
  int result = 0;
  void* const before = *to;
  taken(operation::posix_memalign, bytes, alignment, [&]() -> void* {
    result = real.posix_memalign(to, alignment, bytes);
    return result == 0 ? *to : nullptr;
  });
  if (result != 0) *to = before;
  return result;
}
TARN_CALLED void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (!has_functions()) return nullptr;
  return taken(operation::aligned_alloc, bytes, alignment, [&] { return real.aligned_alloc(alignment, bytes); });
}
TARN_CALLED void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (!has_functions()) return nullptr;
  return taken(operation::memalign, bytes, alignment, [&] { return real.memalign(alignment, bytes); });
}
TARN_CALLED void* valloc(std::size_t bytes) noexcept {
  if (!has_functions()) return nullptr;
  return taken(operation::valloc, bytes, 0, [&] { return real.valloc(bytes); });
}
TARN_CALLED void* pvalloc(std::size_t bytes) noexcept {
  if (!has_functions()) return nullptr;
  return taken(operation::pvalloc, bytes, 0, [&] { return real.pvalloc(bytes); });
}

// The C++ operators by the names that they have for the linker: so they may throw what the operator behind throws, and nothing
// of C++'s library is needed.
#define TARN_NEW(name, what, alignment, ...)                                 \
  TARN_CALLED void* name(std::size_t bytes __VA_ARGS__) {                    \
    return operator_new(operation::what, #name, bytes, alignment TARN_REST); \
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
