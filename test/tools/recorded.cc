// A program whose calls of malloc are known, for check_record.py: `recorded MODE`. What it says on stdout it wrote without
// allocating. The calls that count are between one of malloc(77777) and one of malloc(77778).
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

char text[1 << 16];
std::size_t length;

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  length += static_cast<std::size_t>(std::vsnprintf(text + length, sizeof(text) - length, format, words));
  va_end(words);
}
int done() { return ::write(1, text, length) == static_cast<ssize_t>(length) ? 0 : 1; }

/// The compiler may neither leave a call out nor know what it returns.
template <class T>
T* kept(T* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}
void mark(std::size_t bytes) { std::free(kept(std::malloc(bytes))); }
std::uintptr_t number(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

/// A call as tarn-record prints it, without time and thread.
void* taken(const char* name, std::size_t bytes, void* block, std::size_t alignment = 0, std::uintptr_t old = 0) {
  const auto optional = [](const char* format, std::uintptr_t value) {
    if (value == 0) say(" -");
    else say(format, value);
  };
  say("%s %zu", name, bytes);
  optional(" %zu", alignment);
  optional(" %#zx", number(block));
  optional(" %#zx", old);
  say("\n");
  return kept(block);
}
void given(const char* name, const void* block, std::size_t bytes = 0, std::size_t alignment = 0) {
  say("%s ", name);
  if (bytes == 0) say("- ");
  else say("%zu ", bytes);
  if (alignment == 0) say("- ");
  else say("%zu ", alignment);
  say("%#zx -\n", number(block));
}

void c_calls() {
  void* a = taken("malloc", 100, std::malloc(100));
  void* b = taken("calloc", 21, std::calloc(3, 7));
  given("free", a);
  std::free(a);
  const std::uintptr_t old = number(b);
  b = taken("realloc", 300000, std::realloc(b, 300000), 0, old);
  const std::uintptr_t same = number(b);
  b = taken("reallocarray", 44, ::reallocarray(b, 4, 11), 0, same);
  void* nothing = nullptr;
  void* c = taken("realloc", 5, std::realloc(kept(nothing), 5));
  void* d = nullptr;
  if (::posix_memalign(&d, 256, 1000) != 0) std::abort();
  taken("posix_memalign", 1000, d, 256);
  void* e = taken("aligned_alloc", 4096, std::aligned_alloc(64, 4096), 64);
  void* f = taken("memalign", 10, ::memalign(32, 10), 32);
  void* g = taken("valloc", 6, ::valloc(6));
  void* h = taken("pvalloc", 7, ::pvalloc(7));
  std::size_t all = ~std::size_t{0} / 4;
  taken("malloc", all, std::malloc(*kept(&all)));  // there is not so much
  for (void* const block : {b, c, d, e, f, g, h}) {
    given("free", block);
    std::free(block);
  }
  std::free(nullptr);
}

struct alignas(128) wide {
  char bytes[384];
};

void cc_calls() {
  int* const a = static_cast<int*>(taken("new", 4, new int{7}));
  char* const b = static_cast<char*>(taken("new[]", 33, new char[33]));
  wide* const c = static_cast<wide*>(taken("new", 384, new wide, 128));
  void* const d = taken("new", 50, ::operator new(50, std::nothrow));
  given("delete", a, 4);
  delete a;
  given("delete[]", b);
  delete[] b;
  given("delete", c, 384, 128);
  delete c;
  given("delete", d);
  ::operator delete(d);
}

int calls() {
  mark(77777);
  c_calls();
  cc_calls();
  mark(77778);
  return done();
}

/// Each thread takes blocks and gives them to the next, through a place, and frees what the one before gave.
int threads(unsigned count, unsigned rounds) {
  static std::atomic<void*> places[64];
  mark(77777);
  {
    const auto work = [=](unsigned me) {
      for (unsigned i = 0; i < rounds; ++i) {
        std::free(places[(me + i) % count].exchange(kept(std::malloc(1000 + me))));
        if (i % 16 == 0) std::free(kept(std::realloc(kept(std::malloc(8)), 3000)));
      }
    };
    std::thread all[64];
    for (unsigned i = 0; i < count; ++i) all[i] = std::thread{work, i};
    for (unsigned i = 0; i < count; ++i) all[i].join();
  }
  for (auto& place : places) std::free(place.exchange(nullptr));
  mark(77778);
  return done();
}

/// Many threads, one after the other.
int in_turns(unsigned count) {
  for (unsigned i = 0; i < count; ++i) std::thread{[=] { std::free(kept(std::malloc(5000 + i))); }}.join();
  return done();
}

/// A child while other threads allocate.
int forks() {
  std::atomic<bool> over = false;
  std::thread others[2];
  for (std::thread& one : others) {
    one = std::thread{[&] {
      while (!over) std::free(kept(std::malloc(48)));
    }};
  }
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    void* const before = kept(std::malloc(4321));
    const pid_t child = ::fork();
    if (child == 0) {
      errno = 77;
      void* const own = kept(std::malloc(1234));
      const bool keeps_errno = errno == 77;
      std::free(before);
      std::free(own);
      std::exit(keeps_errno ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    wrong += status != 0;
    std::free(before);
  }
  over = true;
  for (std::thread& one : others) one.join();
  say("%d\n", wrong);
  return done();
}

/// The other thread gets the block before free() has returned here, if the malloc behind makes it so.
int hands_over() {
  void* const block = kept(std::malloc(424242));
  std::thread other{[] {
    mark(1);
    void* const same = kept(std::malloc(424242));
    mark(424243);
    std::free(same);
  }};
  mark(424244);  // the other thread is within malloc()
  std::free(block);
  other.join();
  return done();
}

/// Counts in a file how many blocks it has freed, until somebody kills it.
int endless(const char* path) {
  const int file = ::open(path, O_RDWR);
  auto* const count = static_cast<std::atomic<std::uint64_t>*>(::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  for (;;) {
    std::free(kept(std::malloc(640)));
    count->fetch_add(1);
  }
}

/// Who calls whom: where the functions return to that are running.
std::uintptr_t running[32];
unsigned depth;
struct runs {
  explicit runs(void* returns_to) { running[depth++] = number(returns_to); }
  runs(const runs&) = delete;
  runs& operator=(const runs&) = delete;
  ~runs() { --depth; }
};

[[gnu::noinline]] void* leaf(std::size_t bytes, bool says) {
  const runs here{__builtin_return_address(0)};
  if (says) {
    say("%zu", bytes);
    for (unsigned i = depth; i-- != 0;) say(" %#zx", running[i]);
    say("\n");
  }
  return kept(std::malloc(bytes));
}

/// By the digits of `path` through functions whose frames are alike, and one whose frame has different sizes.
void down(unsigned path, unsigned left, std::size_t bytes, bool says);
[[gnu::noinline]] void one_way(unsigned path, unsigned left, std::size_t bytes, bool says) {
  const runs here{__builtin_return_address(0)};
  down(path, left, bytes, says);
}
[[gnu::noinline]] void other_way(unsigned path, unsigned left, std::size_t bytes, bool says) {
  const runs here{__builtin_return_address(0)};
  down(path, left, bytes, says);
}
[[gnu::noinline]] void wide_way(unsigned path, unsigned left, std::size_t bytes, bool says) {
  const runs here{__builtin_return_address(0)};
  kept(static_cast<char*>(__builtin_alloca(left * 48 + path % 5)));
  down(path, left, bytes, says);
}
[[gnu::noinline]] void down(unsigned path, unsigned left, std::size_t bytes, bool says) {
  const runs here{__builtin_return_address(0)};
  if (left == 0) std::free(leaf(bytes, says));
  else if (path % 3 == 0) one_way(path / 3, left - 1, bytes, says);
  else if (path % 3 == 1) other_way(path / 3, left - 1, bytes, says);
  else wide_way(path / 3, left - 1, bytes, says);
}

int stacks() {
  for (unsigned i = 0; i != 162; ++i) down(i % 81, 4, 9000 + i, true);
  return done();
}
/// Rarely twice the same stack.
int many_stacks(unsigned count) {
  for (unsigned i = 0; i != count; ++i) down(i * 2654435761U >> 17, 8, 9000, false);
  return done();
}

/// Threads that allocate on many ways, until somebody kills them.
int endless_stacks() {
  std::thread others[3];
  for (std::thread& other : others)
    other = std::thread{[] {
      for (;;) std::free(std::realloc(kept(std::malloc(70)), 7000));
    }};
  return many_stacks(~0U);
}

int loop(unsigned count) {
  for (unsigned i = 0; i < count; ++i) std::free(kept(std::malloc(i % 1000 + 1)));
  return done();
}

/// Says how many nanoseconds there are between two marks.
int pause_once() {
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  mark(77777);
  usleep(400000);
  mark(77778);
  clock_gettime(CLOCK_MONOTONIC, &after);
  say("%ld\n", (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec);
  return done();
}

/// Calls at other depths of stacks that are there for one call each, of different sizes at one place.
ucontext_t outside;
int levels_down;
[[gnu::noinline]] void go_down(int levels) {
  if (levels != 0) go_down(levels - 1);
  else mark(50);
  asm volatile("" : : : "memory");
}
void run_fiber(std::size_t bytes, int levels) {
  void* const stack = mmap(reinterpret_cast<void*>(std::uintptr_t{0x700000000000}), bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ucontext_t fiber;
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = bytes;
  fiber.uc_link = &outside;
  levels_down = levels;
  makecontext(&fiber, [] { go_down(levels_down); }, 0);
  swapcontext(&outside, &fiber);
  munmap(stack, bytes);
}
int fibers() {
  for (int i = 0; i < 2000; ++i) {
    run_fiber(65536, 300 + i % 500);
    run_fiber(65536 - 2048 * (i % 9), 700);
    run_fiber(32768, i % 500);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argv[1];
  const auto word = [&](int at) { return static_cast<unsigned>(at < argc ? std::atoi(argv[at]) : 0); };
  if (mode == "calls") return calls();
  if (mode == "threads") return threads(word(2), word(3));
  if (mode == "turns") return in_turns(word(2));
  if (mode == "forks") return forks();
  if (mode == "hands-over") return hands_over();
  if (mode == "endless") return endless(argv[2]);
  if (mode == "stacks") return stacks();
  if (mode == "many-stacks") return many_stacks(word(2));
  if (mode == "endless-stacks") return endless_stacks();
  if (mode == "pause") return pause_once();
  if (mode == "fibers") return fibers();
  if (mode == "loop") return loop(word(2));
  if (mode == "crash") return loop(word(2)), std::raise(SIGSEGV);
  return 2;
}
