// malloc's family over an array in the program: no heap at all. While a trap is set, every way to the heap is counted.
//
// Without Boost.Test, which allocates as it likes.
#define TARN_XMALLOC_STATIC_BYTES 1048576
#include "tarn/allocator/xmalloc.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

// A sanitizer brings a malloc and an operator new of its own: no trap there, only the rest.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define SANITIZED 1
#endif

namespace {

constinit thread_local bool trapped = false;
constinit std::atomic<int> heap_calls = 0;  // while it was set

/// No heap for this thread, as long as it lives.
struct no_heap {
  no_heap() { trapped = true; }
  ~no_heap() { trapped = false; }
  no_heap(const no_heap&) = delete;
  no_heap& operator=(const no_heap&) = delete;
};

}  // namespace

#if !defined(SANITIZED)
#include "tarn/test/allocator/replaced_malloc.h"

void tarn::test::on_malloc() noexcept { heap_calls += trapped; }
void tarn::test::on_free() noexcept { heap_calls += trapped; }
#endif

namespace {

using tarn::xaligned_alloc;
using tarn::xcalloc;
using tarn::xfree;
using tarn::xmalloc;
using tarn::xmalloc_statistics;
using tarn::xmalloc_trim;
using tarn::xmalloc_usable_size;
using tarn::xrealloc;

constexpr std::size_t array_bytes = TARN_XMALLOC_STATIC_BYTES;
constexpr std::size_t granule = 16 * 1024;
constexpr auto most = static_cast<std::size_t>(-1);

// ---- checks -----------------------------------------------------------------------------------------------------------------

int passed = 0;
int failed = 0;
int faults = 0;  // of the running case

void fault(const char* what, int line) {
  ++faults;
  std::printf("line %d: %s\n", line, what);
}
#define CHECK(...) (static_cast<bool>(__VA_ARGS__) ? void() : fault(#__VA_ARGS__, __LINE__))

#if !defined(SANITIZED)
/// Whether the call uses the heap.
template <class Call>
bool uses_heap(Call call) {
  const int before = heap_calls;
  {
    const no_heap none;
    call();
  }
  return heap_calls.exchange(before) != before;
}

/// Nothing of it can be optimised away.
template <class T>
T* seen(T* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}
#endif

bool inside_the_program(const void* block) {  // the array is static: below every break and far from every mapping
  static const char here = 0;
  const auto a = reinterpret_cast<std::uintptr_t>(block), b = reinterpret_cast<std::uintptr_t>(&here);
  return (a > b ? a - b : b - a) < 64u * 1024 * 1024;
}
bool aligned(const void* block, std::size_t alignment = 16) { return reinterpret_cast<std::uintptr_t>(block) % alignment == 0; }
bool holds(const void* block, int byte, std::size_t bytes) {
  const auto* const b = static_cast<const unsigned char*>(block);
  return std::all_of(b, b + bytes, [=](unsigned char c) { return c == static_cast<unsigned char>(byte); });
}
std::size_t in_use() {
  const auto all = xmalloc_statistics();
  std::size_t blocks = all.large.blocks;
  for (const auto& row : all.by_class) blocks += row.counts.in_use;
  return blocks;
}

/// Blocks in a list through their own bytes: no memory of ours.
struct chain {
  struct link {
    link* next;
  };
  link* first = nullptr;
  std::size_t blocks = 0;

  bool add(std::size_t bytes) {
    void* const block = xmalloc(bytes);
    if (block == nullptr) return false;
    first = ::new (block) link{first};
    ++blocks;
    return true;
  }
  void free_all() {
    while (first != nullptr) {
      link* const next = first->next;
      xfree(first);
      first = next;
    }
    blocks = 0;
  }
};

// ---- cases ------------------------------------------------------------------------------------------------------------------

constinit void* made_before_main = nullptr;
struct early {
  early() {
    const no_heap none;
    made_before_main = xmalloc(100);
    if (made_before_main != nullptr) std::memset(made_before_main, 0x11, 100);
  }
} const early_bird;

void works_before_main() {
  CHECK(made_before_main != nullptr);
  CHECK(holds(made_before_main, 0x11, 100));
  CHECK(in_use() == 1);
  xfree(made_before_main);
  CHECK(in_use() == 0);
}

#if !defined(SANITIZED)
void the_trap_is_armed() {
  CHECK(!uses_heap([] {}));
  CHECK(uses_heap([] { ::operator delete(seen(::operator new(10))); }));
  CHECK(uses_heap([] { delete[] seen(new (std::nothrow) char[10]); }));
  CHECK(uses_heap([] { ::operator delete(seen(::operator new(128, std::align_val_t{64})), std::align_val_t{64}); }));
  void* blocks[5];
  CHECK(uses_heap([&] { blocks[0] = seen(std::malloc(10)); }));
  CHECK(uses_heap([&] { blocks[1] = seen(std::calloc(10, 1)); }));
  CHECK(uses_heap([&] { blocks[2] = seen(std::realloc(nullptr, 10)); }));
  CHECK(uses_heap([&] { blocks[3] = seen(std::aligned_alloc(64, 128)); }));
  CHECK(uses_heap([&] { blocks[4] = seen(strdup("a copy")); }));  // also what the C library does by itself
  for (void* const block : blocks) CHECK(uses_heap([&] { std::free(block); }));
  CHECK(!uses_heap([] { xfree(seen(xmalloc(10))); }));
}
#endif

void every_size_and_alignment() {
  for (std::size_t bytes = 0; bytes <= 4096; ++bytes) {
    void* const block = xaligned_alloc(bytes % 3 == 0 ? 64 : 8, bytes);
    CHECK(block != nullptr && aligned(block, bytes % 3 == 0 ? 64 : 16));
    CHECK(inside_the_program(block));
    CHECK(xmalloc_usable_size(block) >= bytes);
    std::memset(block, 0xEE, xmalloc_usable_size(block));
    xfree(block);
  }
  for (const std::size_t alignment : {0u, 3u, 24u, 128u, 65536u}) CHECK(xaligned_alloc(alignment, 8) == nullptr);
  xmalloc_trim();
  CHECK(in_use() == 0);
}

void larger_blocks_are_refused() {
  for (const std::size_t bytes : {std::size_t{4097}, std::size_t{5000}, array_bytes, most / 2, most - 20, most}) {
    CHECK(xmalloc(bytes) == nullptr);
    CHECK(xcalloc(1, bytes) == nullptr);
    CHECK(xcalloc(bytes, 1) == nullptr);
    CHECK(xrealloc(nullptr, bytes) == nullptr);
  }
  CHECK(xcalloc(most / 2 + 2, 2) == nullptr);
  CHECK(xcalloc(std::size_t{1} << 33, std::size_t{1} << 33) == nullptr);
  CHECK(in_use() == 0);
}

void reallocation() {
  void* const block = xrealloc(nullptr, 1000);
  std::memset(block, 0x22, 1000);
  CHECK(xrealloc(block, 10) == block);
  void* const larger = xrealloc(block, 3000);
  CHECK(larger != block);
  CHECK(xrealloc(larger, 5000) == nullptr);  // never had: the old one stays
  CHECK(xrealloc(larger, most) == nullptr);
  CHECK(holds(larger, 0x22, 1000));
  CHECK(xrealloc(larger, 0) == nullptr);
  CHECK(in_use() == 0);
}

void defect_9_exhausted_with_a_handler_that_returns() {
  const std::new_handler before = std::set_new_handler([] {});
  chain all;
  while (all.add(1024)) {
  }
  CHECK(all.blocks > 0);
  for (int i = 0; i < 10; ++i) {
    CHECK(xmalloc(1024) == nullptr);
    CHECK(xmalloc(1000) == nullptr);
    CHECK(xmalloc(64) == nullptr);
    CHECK(xcalloc(1, 4000) == nullptr);
    CHECK(xaligned_alloc(64, 1024) == nullptr);
    CHECK(xrealloc(nullptr, 1024) == nullptr);
    CHECK(xrealloc(all.first, 2000) == nullptr);
  }
  CHECK(in_use() == all.blocks);  // 12: what was not had is not counted
  // One comes back, and is had again.
  void* const one = all.first;
  all.first = all.first->next;
  xfree(one);
  CHECK(xmalloc(1024) == one);
  CHECK(xmalloc(1024) == nullptr);
  xfree(one);
  all.free_all();
  CHECK(in_use() == 0);
  std::set_new_handler(before);
}

void defect_10_the_array_is_used_to_the_end() {
  for (const std::size_t bytes : {16u, 64u, 1024u, 4096u}) {
    xmalloc_trim();
    for (int round = 0; round < 2; ++round) {
      chain all;
      while (all.add(bytes)) {
      }
      CHECK(all.blocks >= array_bytes / granule * ((granule - 256) / bytes));
      CHECK(all.blocks <= array_bytes / bytes);
      all.free_all();
    }
  }
  // And every class is there at once.
  xmalloc_trim();
  chain all;
  for (const auto& row : xmalloc_statistics().by_class) CHECK(all.add(row.block_size));
  CHECK(all.blocks == 28);
  all.free_all();
}

/// What one class holds and nobody uses is there for each other one, large or small, without a trim.
void one_class_gives_to_the_next() {
  chain small;
  xmalloc_trim();
  while (small.add(32)) {
  }
  CHECK(xmalloc(2048) == nullptr);
  small.free_all();
  for (int round = 0; round != 3; ++round)
    for (const std::size_t bytes : {std::size_t{2048}, std::size_t{16}, std::size_t{4096}, std::size_t{600}}) {
      chain all;
      while (all.add(bytes)) {
      }
      CHECK(all.blocks >= array_bytes / granule * ((granule - 256) / (bytes + bytes / 4)));
      CHECK(xmalloc(bytes) == nullptr);
      all.free_all();
    }
  chain large;
  while (large.add(2048)) {
  }
  CHECK(large.blocks >= array_bytes / granule * 7);
  large.free_all();
}

void threads_share_the_array() {
  trapped = false;  // std::thread is no business of ours
  std::atomic<int> wrong{0};
  std::atomic<unsigned char*> slots[16] = {};
  const auto work = [&](unsigned who) {
    const no_heap none;
    unsigned random = who * 7919 + 1;
    for (int i = 0; i < 8000; ++i) {
      random = random * 1664525 + 1013904223;
      auto* block = static_cast<unsigned char*>(xmalloc(16 + (random >> 8) % (i % 50 == 0 ? 4000u : 300u)));
      if (block != nullptr) std::memset(block, static_cast<int>(random >> 20) % 16, 16);
      block = slots[(random >> 20) % 16].exchange(block);  // another thread may free it
      if (block != nullptr && !holds(block, static_cast<int>(random >> 20) % 16, 16)) ++wrong;
      xfree(block);
    }
  };
  std::vector<std::thread> all;
  for (unsigned who = 0; who < 4; ++who) all.emplace_back(work, who);
  for (std::thread& t : all) t.join();
  for (auto& slot : slots) xfree(slot.exchange(nullptr));
  CHECK(wrong == 0);
  CHECK(in_use() == 0);
}

void run(const char* name, void (*test)(), bool heap) {
  faults = 0;
  trapped = !heap;
  test();
  trapped = false;
  if (heap_calls.exchange(0) != 0) fault("the heap was used", __LINE__);
  std::printf("%s  %s\n", faults == 0 ? "ok   " : "FAIL ", name);
  ++(faults == 0 ? passed : failed);
}
#define RUN(test) run(#test, test, false)

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // or printf would use the heap
  RUN(works_before_main);
#if !defined(SANITIZED)
  run("the_trap_is_armed", the_trap_is_armed, true);
#endif
  RUN(every_size_and_alignment);
  RUN(larger_blocks_are_refused);
  RUN(reallocation);
  RUN(defect_9_exhausted_with_a_handler_that_returns);
  RUN(defect_10_the_array_is_used_to_the_end);
  RUN(one_class_gives_to_the_next);
  RUN(threads_share_the_array);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
