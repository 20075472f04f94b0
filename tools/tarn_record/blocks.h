// What the recorder writes to, and the process and its threads have: the clock, the file, blocks. Part of recorder.cc.
#ifndef TARN_TOOLS_TARN_RECORD_BLOCKS_H_
#define TARN_TOOLS_TARN_RECORD_BLOCKS_H_

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/// Where stacks and mappings are written: stacks.h, mappings.h.
struct stack_writer {
  block_header* block;
  char* at;
  std::uint32_t entries;  // of the block
  std::uint32_t last;  // the number of the last stack
  std::uint64_t last_address;
  std::uint32_t ranges;
  struct {
    std::uint64_t begin, end;
  } range[1024];  // of the addresses whose mappings are in the log
  char text[8192];  // of /proc/self/maps
  char page[4096];  // of a mapped file
};

/// The child of a fork finds zeros here (MADV_WIPEONFORK), so whatever its parent's other threads were doing: it begins anew.
struct process_state {
  std::atomic<std::uint32_t> generation;  // 0: there is no log yet. No thread has another process's
  std::atomic<std::uint32_t> locked;
  std::uint32_t threads, blocks, spares;
  std::uint64_t end;  // of the file
  file_header* header;
  block_header* spare[64];  // open blocks that threads left when they ended
  stack_writer stacks;
  char path[PATH_MAX + 32];
};

// What a fork's child keeps.
process_state* process;
std::uint32_t generations;
char base_path[PATH_MAX];
std::uint64_t most_bytes;
bool has_stacks, each_stack;
pthread_key_t at_thread_end;

struct thread_frames;
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
  thread_frames* frames;  // frames.h
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
  rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && process->end + bytes > most.rlim_cur) {  // to write would be a signal, SIGXFSZ
    errno = EFBIG;
    return nullptr;
  }
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
bool make_stack_table();
void forget_frames();

/// The first of this program: where logs go.
bool read_environment() {
  const char* const path = getenv("TARN_RECORD_LOG");
  const char* const most = getenv("TARN_RECORD_MAX");
  if (path == nullptr || *path != '/' || strlen(path) >= sizeof(base_path)) return false;
  strcpy(base_path, path);
  most_bytes = most == nullptr ? ~std::uint64_t{0} : strtoull(most, nullptr, 10);
  const char* const stacks = getenv("TARN_RECORD_STACKS");
  has_stacks = stacks != nullptr && *stacks != '0' && make_stack_table();
  each_stack = stacks != nullptr && *stacks == '2';
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

/// How long a tick is, is known at the end, and of a program that is killed, from the last time that something rare happened.
void note_time() {
  process->header->last_ticks = ticks();
  process->header->last_nanoseconds = nanoseconds();
}

char* start_of(block_header* block) { return reinterpret_cast<char*>(block + 1); }

void seal(block_header& block, const char* end, std::uint32_t calls) {
  block.used = static_cast<std::uint32_t>((end - start_of(&block) + 7) / 8 * 8);
  block.calls = calls;
  note_time();
  block.last_ticks = process->header->last_ticks;
  block.last_nanoseconds = process->header->last_nanoseconds;
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

/// Null: nothing is written any more.
block_header* new_block(block_kind kind, std::uint32_t thread, std::uint32_t first_stack) {
  if (process->end + block_bytes > most_bytes) return stop_here(stop::full, 0), nullptr;
  auto* const block = static_cast<block_header*>(grown(process->path, 0, block_bytes));
  if (block == nullptr) return stop_here(stop::error, errno), nullptr;
  block->kind = kind;
  block->stored = block_bytes - sizeof(block_header);
  block->number = process->blocks++;
  block->thread = thread;
  block->first_stack = first_stack;
  block->first_ticks = ticks();
  __atomic_store_n(&block->mark, block_mark, __ATOMIC_RELEASE);
  process->header->blocks = process->blocks;
  return block;
}

bool take_new() {
  block_header* const block = new_block(block_kind::calls, own.number, 0);
  if (block != nullptr) take(block, start_of(block), block->first_ticks, 0);
  return block != nullptr;
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
    if (own.generation != generation) {
      own.number = ++process->threads;
      forget_frames();
    }
    if (goes_on) seal(*own.block, own.at, own.calls);
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
  forget_frames();
  const locked lock;
  if (own.generation != process->generation.load(std::memory_order_relaxed) || own.block == nullptr) return;
  if (process->spares == sizeof(process->spare) / sizeof(*process->spare)) {
    seal(*own.block, own.at, own.calls);
  } else {
    own.block->used = static_cast<std::uint32_t>(own.at - start_of(own.block));
    own.block->calls = own.calls;
    own.block->last_ticks = own.last_ticks;
    process->spare[process->spares++] = own.block;
  }
  own.block = nullptr;
  own.at = own.end = nullptr;
  note_time();
}

[[gnu::destructor]] void process_ends() {
  if (process == nullptr) return;
  const std::uint32_t generation = process->generation.load(std::memory_order_relaxed);
  if (generation == 0 || process->header == nullptr) return;
  note_time();
  process->header->ended = ending::exit;
}

}  // namespace
}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_BLOCKS_H_
