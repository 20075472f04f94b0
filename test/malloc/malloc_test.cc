// The functions of libtarn_malloc, linked into this program: all of it allocates with them.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/policies/checking/misuse.h"
#include "tarn/test/support/check.h"

extern "C" {
void free_sized(void*, std::size_t) noexcept;
void free_aligned_sized(void*, std::size_t, std::size_t) noexcept;
}

namespace tarn::test {
namespace {

/// So that no compiler knows what a call returns, and drops a pair.
template <class T>
T* unknown(T* p) {
  asm volatile("" : "+r"(p));
  return p;
}
std::size_t unknown(std::size_t n) {
  asm volatile("" : "+r"(n));
  return n;
}
bool is_aligned(const void* p, std::size_t alignment) { return reinterpret_cast<std::uintptr_t>(p) % alignment == 0; }

constexpr std::size_t endless = ~std::size_t{0};
const std::size_t sizes[] = {0,    1,     7,     16,    17,    24,     100,    1000,      4096,    8192,
                             8193, 28672, 32767, 32768, 32769, 65'536, 65'537, 1'000'000, 1 << 24, 300'000'000};

BOOST_AUTO_TEST_CASE(blocks_have_room_and_are_aligned) {
  for (const std::size_t bytes : sizes) {
    void* const block = std::malloc(bytes);
    REQUIRE(block != nullptr);
    CHECK(is_aligned(block, 16));
    CHECK(malloc_usable_size(block) >= bytes);
    std::memset(block, 1, std::min<std::size_t>(malloc_usable_size(block), 1 << 20));
    std::free(block);
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 22; alignment *= 2) {
      void* const aligned = unknown(std::aligned_alloc(alignment, bytes));
      REQUIRE(aligned != nullptr);
      CHECK(is_aligned(aligned, std::max<std::size_t>(alignment, 16)));
      CHECK(malloc_usable_size(aligned) >= bytes);
      free_aligned_sized(aligned, alignment, bytes);
      void* got = nullptr;
      const int said = posix_memalign(&got, alignment, bytes);
      CHECK(said == (alignment < sizeof(void*) ? EINVAL : 0));
      if (said == 0) CHECK(is_aligned(got, alignment));
      std::free(got);
    }
  }
  std::free(nullptr);
  free_sized(nullptr, 100);
  CHECK(malloc_usable_size(nullptr) == 0);
}

BOOST_AUTO_TEST_CASE(memalign_takes_the_next_power_of_two) {
  for (const std::size_t alignment : std::initializer_list<std::size_t>{0, 1, 24, 100, 5000, 65537}) {
    void* const block = memalign(unknown(alignment), 100);
    CHECK(block != nullptr && is_aligned(block, std::bit_ceil(alignment)));
    std::free(block);
  }
}

BOOST_AUTO_TEST_CASE(what_no_memory_has_is_refused_with_errno) {
  const auto refuses = [](auto call, int error = ENOMEM) {
    errno = 0;
    return call() == nullptr && errno == error;
  };
  CHECK(refuses([] { return std::malloc(unknown(endless)); }));
  CHECK(refuses([] { return std::malloc(unknown(endless / 2)); }));
  CHECK(refuses([] { return std::malloc(unknown(std::size_t{1} << 46)); }));
  CHECK(refuses([] { return std::calloc(unknown(endless), 1); }));
  CHECK(refuses([] { return std::calloc(unknown(std::size_t{1} << 40), std::size_t{1} << 40); }));
  CHECK(refuses([] { return reallocarray(nullptr, unknown(std::size_t{1} << 40), std::size_t{1} << 40); }));
  CHECK(refuses([] { return std::aligned_alloc(16, unknown(endless - 20)); }));
  CHECK(refuses([] { return memalign(unknown(std::size_t{1} << 62), 1); }));
  CHECK(refuses([] { return std::aligned_alloc(unknown(24), 100); }, EINVAL));
  CHECK(refuses([] { return memalign(unknown(endless - 5), 100); }, EINVAL));
  CHECK(refuses([] { return pvalloc(unknown(endless - 5)); }));
  void* block = std::malloc(100);
  std::memset(block, 7, 100);
  CHECK(refuses([=] { return std::realloc(block, unknown(endless)); }));
  CHECK(static_cast<char*>(block)[99] == 7);  // it is as it was
  errno = 0;
  void* out = &block;
  CHECK(posix_memalign(&out, 16, unknown(endless)) == ENOMEM);
  CHECK(out == &block && errno == 0);
  std::free(block);
}

BOOST_AUTO_TEST_CASE(errno_stays_where_there_is_memory) {
  errno = 77;
  std::vector<void*> all;
  for (int i = 0; i != 3000; ++i) all.push_back(std::malloc(static_cast<std::size_t>(i) * 40));
  for (void* const block : all) std::free(block);
  malloc_trim(0);
  CHECK(errno == 77);
}

BOOST_AUTO_TEST_CASE(calloc_is_zero_where_others_wrote) {
  for (int round = 0; round != 3; ++round)
    for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 100, 5000, 32768, 40'000, 3'000'000}) {
      void* const dirty = unknown(std::malloc(bytes));
      std::memset(dirty, 255, bytes);
      std::free(dirty);
      auto* const zero = static_cast<char*>(unknown(std::calloc(bytes, 1)));
      CHECK(std::all_of(zero, zero + bytes, [](char byte) { return byte == 0; }));
      std::memset(zero, 255, bytes);
      std::free(zero);
    }
}

BOOST_AUTO_TEST_CASE(realloc_keeps_what_fits) {
  auto* block = static_cast<unsigned char*>(std::realloc(nullptr, 10));
  std::size_t before = 10;
  std::memset(block, 1, 10);
  for (const std::size_t bytes :
       std::initializer_list<std::size_t>{20, 10'000, 30, 40'000, 200'000, 70'000, 2'000'000, 33'000, 32'000, 5'000'000, 1}) {
    block = static_cast<unsigned char*>(unknown(std::realloc(block, bytes)));
    REQUIRE(block != nullptr);
    CHECK(malloc_usable_size(block) >= bytes);
    CHECK(std::all_of(block, block + std::min(before, bytes), [](unsigned char byte) { return byte == 1; }));
    std::memset(block, 1, bytes);
    before = bytes;
  }
  CHECK(std::realloc(block, unknown(std::size_t{0})) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_large_block_grows_where_it_lies) {
  void* block = std::malloc(1 << 20);
  unsigned moves = 0;
  for (std::size_t bytes = 1 << 20; bytes < 64 << 20; bytes += 1 << 20) {
    void* const next = unknown(std::realloc(block, bytes));
    moves += next != block;
    block = next;
  }
  CHECK(moves < 20);  // of 63; each leaves room for a quarter more
  std::free(block);
}

BOOST_AUTO_TEST_CASE(large_blocks_grow_in_turns) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  std::array<unsigned char*, 6> blocks{};
  for (std::size_t bytes = mib; bytes <= 12 * mib; bytes += mib)
    for (std::size_t i = 0; i != blocks.size(); ++i) {
      blocks[i] = static_cast<unsigned char*>(unknown(std::realloc(blocks[i], bytes)));
      REQUIRE(blocks[i] != nullptr);
      CHECK(is_aligned(blocks[i], 65'536) && malloc_usable_size(blocks[i]) == bytes);
      std::memset(blocks[i] + bytes - mib, static_cast<int>(bytes / mib + i), mib);
    }
  for (std::size_t i = 0; i != blocks.size(); ++i) {
    for (std::size_t at = 0; at != 12 * mib; ++at) REQUIRE(blocks[i][at] == at / mib + 1 + i);
    blocks[i] = static_cast<unsigned char*>(unknown(std::realloc(blocks[i], 2 * mib)));
    CHECK(blocks[i][2 * mib - 1] == 2 + i && malloc_usable_size(blocks[i]) == 2 * mib);
    free_sized(blocks[i], 2 * mib);
  }
}

// ---- C++ --------------------------------------------------------------------------------------------------------------------

unsigned handled = 0;
void give_up() {
  if (++handled == 3) std::set_new_handler(nullptr);
}
void throw_out() { throw std::bad_alloc(); }

BOOST_AUTO_TEST_CASE(new_asks_its_handler_until_there_is_none) {
  std::set_new_handler(give_up);
  handled = 0;
  CHECK(throws_bad_alloc([] { ::operator delete(::operator new(unknown(endless))); }));
  CHECK(handled == 3);
  std::set_new_handler(give_up);
  handled = 0;
  CHECK(throws_bad_alloc(
      [] { ::operator delete[](::operator new[](unknown(endless), std::align_val_t(64)), std::align_val_t(64)); }));
  CHECK(handled == 3);
  std::set_new_handler(throw_out);
  CHECK(::operator new(unknown(endless), std::nothrow) == nullptr);
  CHECK(::operator new[](unknown(endless), std::align_val_t(4096), std::nothrow) == nullptr);
  std::set_new_handler(nullptr);
  CHECK(::operator new[](unknown(endless), std::nothrow) == nullptr);
  CHECK(throws_bad_alloc([] { ::operator delete[](::operator new[](unknown(endless))); }));
}

BOOST_AUTO_TEST_CASE(every_new_has_its_delete) {
  for (const std::size_t bytes : std::initializer_list<std::size_t>{0, 1, 100, 5000, 40'000}) {
    const auto check = [](void* block, std::size_t alignment) {
      REQUIRE(block != nullptr);
      CHECK(is_aligned(block, alignment));
      return block;
    };
    ::operator delete(check(::operator new(bytes), 16));
    ::operator delete(check(::operator new(bytes), 16), bytes);
    ::operator delete[](check(::operator new[](bytes), 16), bytes);
    ::operator delete(check(::operator new(bytes, std::nothrow), 16), std::nothrow);
    ::operator delete[](check(::operator new[](bytes, std::nothrow), 16), std::nothrow);
    for (const std::size_t alignment : std::initializer_list<std::size_t>{32, 4096, 1 << 17}) {
      const std::align_val_t a{alignment};
      ::operator delete(check(::operator new(bytes, a), alignment), a);
      ::operator delete(check(::operator new(bytes, a), alignment), bytes, a);
      ::operator delete[](check(::operator new[](bytes, a), alignment), bytes, a);
      ::operator delete(check(::operator new(bytes, a, std::nothrow), alignment), a, std::nothrow);
      ::operator delete[](check(::operator new[](bytes, a, std::nothrow), alignment), a, std::nothrow);
    }
  }
  ::operator delete(nullptr, std::size_t{24});
}

BOOST_AUTO_TEST_CASE(freed_memory_goes_back) {
#if defined(__GLIBC__)
  const std::size_t before = mallinfo2().uordblks;
  std::vector<void*> all(3000);
  for (void*& block : all) std::memset(block = std::malloc(30'000), 1, 30'000);
  CHECK(mallinfo2().uordblks >= before + 3000 * 30'000u);
  CHECK(mallinfo2().arena >= mallinfo2().uordblks);
  for (void* const block : all) std::free(block);
  malloc_trim(0);
  CHECK(mallinfo2().uordblks < before + 1'000'000);
  CHECK(mallinfo2().keepcost < 2 << 20);  // what this test's own calls freed since
#endif
}

BOOST_AUTO_TEST_CASE(freed_memory_goes_back_unasked) {
#if defined(__GLIBC__)
  malloc_trim(0);
  void* const block = std::malloc(64 << 20);
  std::memset(block, 1, 64 << 20);
  std::free(unknown(block));
  CHECK(mallinfo2().keepcost <= 16 << 20);
#endif
}

BOOST_AUTO_TEST_CASE(a_block_as_large_as_its_alignment_is_no_larger) {
  for (std::size_t bytes = 16; bytes <= 32'768; bytes *= 2) {
    void* const block = aligned_alloc(bytes, bytes);
    CHECK(malloc_usable_size(block) == bytes);
    std::free(block);
  }
}

// ---- blocks with stamps, threads and forks ----------------------------------------------------------------------------------

struct box {
  unsigned char* block;
  std::size_t bytes;
  unsigned char stamp;
};
void fill(const box& b) { std::memset(b.block, b.stamp, b.bytes); }
bool is_whole(const box& b) {
  return std::all_of(b.block, b.block + b.bytes, [&](unsigned char byte) { return byte == b.stamp; });
}

std::array<std::atomic<box*>, 256> shared{};
std::atomic<unsigned> damaged = 0;

void make(box& b, std::mt19937& dice) {
  b.bytes = 1 + (dice() % 100 == 0 ? dice() % 200'000 : dice() % 2000);
  b.stamp = static_cast<unsigned char>(dice());
  const std::size_t alignment = std::size_t{16} << dice() % 13;
  switch (dice() % 8) {
    case 0:
      b.block = static_cast<unsigned char*>(memalign(alignment, b.bytes));
      damaged += !is_aligned(b.block, alignment);
      break;
    case 1:
      b.block = static_cast<unsigned char*>(std::calloc(1, b.bytes));
      damaged += !is_whole({b.block, b.bytes, 0});
      break;
    default:
      b.block = static_cast<unsigned char*>(std::malloc(b.bytes));
  }
  damaged += !is_aligned(b.block, 16) || malloc_usable_size(b.block) < b.bytes;
  fill(b);
}
void change(box& b, std::mt19937& dice) {
  damaged += !is_whole(b);
  switch (dice() % 4) {
    case 0: {  // for another thread, in exchange for one of its
      box* const theirs = shared[dice() % shared.size()].exchange(new box(b));
      b.block = nullptr;
      if (theirs == nullptr) return;
      damaged += !is_whole(*theirs);
      std::free(theirs->block);
      delete theirs;
      return;
    }
    case 1: {
      const std::size_t bytes = 1 + (dice() % 50 == 0 ? dice() % (dice() % 8 == 0 ? 3'000'000 : 300'000) : dice() % 3000);
      b.block = static_cast<unsigned char*>(std::realloc(b.block, bytes));
      b.bytes = std::min(b.bytes, bytes);
      damaged += !is_whole(b);
      b.bytes = bytes;
      return fill(b);
    }
    default:
      std::free(b.block);
      b.block = nullptr;
  }
}
void work(unsigned seed, unsigned steps) {
  std::mt19937 dice(seed);
  std::vector<box> boxes(300);
  for (unsigned i = 0; i != steps; ++i) {
    box& b = boxes[dice() % boxes.size()];
    if (b.block != nullptr) change(b, dice);
    else make(b, dice);
  }
  for (const box& b : boxes)
    if (b.block != nullptr) damaged += !is_whole(b), std::free(b.block);
}
void empty_shared() {
  for (auto& place : shared)
    if (box* const b = place.exchange(nullptr)) {
      damaged += !is_whole(*b);
      std::free(b->block);
      delete b;
    }
}

BOOST_AUTO_TEST_CASE(threads_share_the_heap) {
  damaged = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != 4; ++i) threads.emplace_back(work, i, 40'000);
  for (auto& thread : threads) thread.join();
  for (unsigned round = 0; round != 40; ++round) {  // and come and go
    threads.clear();
    for (unsigned i = 0; i != 8; ++i) threads.emplace_back(work, round * 8 + i, 400);
    for (auto& thread : threads) thread.join();
  }
  empty_shared();
  CHECK(damaged == 0);
}

/// What a thread does as it ends, in the destructors of its variables and keys, is served.
struct late {
  ~late() { std::free(std::malloc(100)), std::free(block); }
  void* block = std::malloc(50);
};
BOOST_AUTO_TEST_CASE(a_thread_that_ends_has_memory) {
  static pthread_key_t key;
  pthread_key_create(&key, [](void* block) {
    for (int i = 0; i != 2000; ++i) std::free(std::malloc(64));
    std::free(block);
    static thread_local int rounds = 0;
    if (++rounds != 3) pthread_setspecific(key, std::malloc(48));
  });
  for (int i = 0; i != 50; ++i)
    std::thread([] {
      static thread_local late l;
      CHECK(l.block != nullptr);
      pthread_setspecific(key, std::malloc(32));
    }).join();
  pthread_key_delete(key);
}

/// Beyond the rounds in which a system calls the destructors of keys, nobody tells of a thread's end any more.
BOOST_AUTO_TEST_CASE(a_thread_that_never_stops_ending_leaves_nothing) {
#if defined(__GLIBC__)
  static pthread_key_t key;
  pthread_key_create(&key, [](void*) {
    for (std::size_t bytes = 16; bytes < 2000; bytes += 16) std::free(unknown(std::malloc(bytes)));
    pthread_setspecific(key, &key);
  });
  const auto end_some = [](int threads) {
    for (int i = 0; i != threads; ++i) std::thread([] { pthread_setspecific(key, &key); }).join();
  };
  end_some(10);
  const std::size_t before = mallinfo2().uordblks;  // with the blocks in caches
  end_some(300);
  CHECK(mallinfo2().uordblks < before + (2 << 20));
  pthread_key_delete(key);
#endif
}

BOOST_AUTO_TEST_CASE(what_threads_leave_is_used_again) {
#if defined(__GLIBC__)
  const auto churn = [] {
    std::vector<void*> all(2000);
    for (void*& block : all) block = std::malloc(64 + reinterpret_cast<std::uintptr_t>(&block) / 8 % 1000);
    for (void* const block : all) std::free(block);
  };
  for (int i = 0; i != 20; ++i) std::thread(churn).join();
  const std::size_t before = mallinfo2().uordblks;  // with the blocks in caches
  for (int i = 0; i != 200; ++i) std::thread(churn).join();
  CHECK(mallinfo2().uordblks < before + (2 << 20));
#endif
}

BOOST_AUTO_TEST_CASE(children_of_a_fork_have_memory_while_threads_are_busy) {
  damaged = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != 2; ++i)
    threads.emplace_back([&stop, i] {
      for (unsigned k = 0; !stop; ++k) work(i + 100 * k, 200);
    });
  for (unsigned i = 0; i != 40; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);  // one that hangs is seen
      damaged = 0;
      empty_shared();
      work(i, 300);
      std::thread(work, i, 300).join();
      const pid_t grandchild = i % 10 == 0 ? ::fork() : -1;
      if (grandchild == 0) work(i, 50), ::_exit(damaged != 0);
      int status = 0;
      if (grandchild > 0) ::waitpid(grandchild, &status, 0);
      ::_exit(damaged != 0 || status != 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  empty_shared();
  CHECK(damaged == 0);
}

// ---- what is found without being asked --------------------------------------------------------------------------------------

misuse seen;
unsigned reports = 0;
void note(const misuse& what) noexcept { seen = what, ++reports; }

BOOST_AUTO_TEST_CASE(large_blocks_that_are_wrong_are_reported) {
  const misuse_handler before = set_misuse_handler(note);
  constexpr std::size_t bytes = 1 << 20;
  char* all[64];  // some lie side by side: what is free between two that are in use stays a run of its own
  for (char*& one : all) one = static_cast<char*>(unknown(std::malloc(bytes)));
  std::size_t i = 1;
  while (i != 63 && !(all[i - 1] + bytes == all[i] && all[i] + bytes == all[i + 1])) ++i;
  REQUIRE(i != 63);
  char* const block = std::exchange(all[i], nullptr);
  reports = 0;
  std::free(unknown(block + 64));
  CHECK(reports == 1 && seen.kind == misuse_kind::interior_pointer && seen.address == block + 64);
  std::free(block);
  CHECK(reports == 1);
  std::free(unknown(block));
  CHECK(reports == 2 && seen.kind == misuse_kind::double_free);
  int local = 0;
  std::free(unknown(&local));
  CHECK(reports == 3 && seen.kind == misuse_kind::foreign_pointer && seen.address == &local);
  CHECK(std::realloc(unknown(block), bytes) == nullptr && reports == 4 && seen.kind == misuse_kind::double_free);
  CHECK(std::realloc(unknown(&local), bytes) == nullptr && reports == 5 && seen.kind == misuse_kind::foreign_pointer);
  char* const next = all[i + 1];
  CHECK(std::realloc(unknown(next + 64), bytes) == nullptr && reports == 6 && seen.kind == misuse_kind::interior_pointer);
  set_misuse_handler(before);
  for (char* const one : all) std::free(one);
}

}  // namespace
}  // namespace tarn::test
