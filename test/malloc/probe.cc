// A program for check_malloc.py, over whichever malloc is preloaded: probe DEED. It knows nothing of tarn.
#include <malloc.h>
#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

extern "C" {
[[gnu::weak]] void free_sized(void*, std::size_t) noexcept;
[[gnu::weak]] void free_aligned_sized(void*, std::size_t, std::size_t) noexcept;
}

namespace {

template <class T>
T* unknown(T* p) {
  asm volatile("" : "+r"(p));
  return p;
}
[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "probe: %s\n", why);
  std::_Exit(3);
}

struct node {
  node* next;
  std::size_t bytes;
};

/// Blocks of many sizes until there are no more. Returns how many bytes.
std::size_t eat(std::size_t most, node*& all) {
  std::size_t sum = 0;
  for (unsigned i = 0; sum < most; ++i) {
    const std::size_t bytes = i % 50 == 0 ? 300'000 : i % 7 == 0 ? 20'000 + i % 13 * 3000 : 16 + i * 37 % 2000;
    errno = 0;
    void* const block = i % 5 == 0 ? std::calloc(bytes, 1) : i % 11 == 0 ? memalign(256, bytes) : std::malloc(bytes);
    if (block == nullptr) {
      if (errno != ENOMEM) fail("no memory, but errno doesn't say so");
      return sum;
    }
    all = ::new (block) node{all, bytes};
    sum += bytes;
  }
  return sum;
}
void drop(node*& all) {
  while (all != nullptr) std::free(std::exchange(all, all->next));
}

/// Two large blocks that grow in turns, as far as there is memory.
void grow_in_turns(std::size_t most) {
  constexpr std::size_t step = 2 << 20;
  char* blocks[2] = {};
  for (std::size_t bytes = step; bytes <= most / 4 && bytes <= 20 * step; bytes += step)
    for (char*& block : blocks) {
      auto* const more = static_cast<char*>(unknown(std::realloc(block, bytes)));
      if (more == nullptr && errno != ENOMEM) fail("a block can't grow, but errno doesn't say so");
      if (more == nullptr) break;
      block = more;
      block[bytes - 1] = static_cast<char>(bytes / step);
      for (std::size_t was = step; was <= bytes; was += step)
        if (block[was - 1] != static_cast<char>(was / step)) fail("a block that grew has changed");
    }
  for (char* const block : blocks) std::free(block);
}

/// Under a limit: what was there once is there again, and a refusal is an answer.
int hungry(std::size_t most) {
  node* all = nullptr;
  const std::size_t first = eat(most, all);
  const bool is_endless = first >= most;
  if (!is_endless && std::realloc(nullptr, most) != nullptr) fail("a realloc of all of it came true");
  if (all != nullptr) {
    void* const last = all;
    const std::size_t bytes = all->bytes;
    all = all->next;
    std::memset(last, 5, bytes);
    if (void* const more = std::realloc(last, most * 4)) std::free(more);
    else if (static_cast<char*>(last)[bytes - 1] != 5) fail("a realloc that failed changed the block");
    else std::free(last);
  }
  drop(all);
  grow_in_turns(most);
  malloc_trim(0);
  const std::size_t second = eat(most, all);
  drop(all);
  std::printf("%s, and again %s\n", is_endless ? "all" : "a part", second >= first / 10 * 8 ? "as much" : "less");
  if (second < first / 10 * 8) std::printf("%zu, then %zu\n", first, second);
  pthread_t thread;  // all is free, so others have addresses
  if (pthread_create(&thread, nullptr, [](void*) -> void* { return std::free(std::malloc(100)), nullptr; }, nullptr) == 0)
    pthread_join(thread, nullptr);
  else if (first != 0) fail("no thread can be made");
  return 0;
}

void* other_thread(void* block) {
  std::free(block);
  return nullptr;
}
void free_elsewhere(void* block) {
  pthread_t thread;
  pthread_create(&thread, nullptr, other_thread, block);
  pthread_join(thread, nullptr);
}

int misuse(const std::string& kind) {
  auto* const block = static_cast<char*>(unknown(std::malloc(100)));
  auto* const large = static_cast<char*>(unknown(std::malloc(200'000)));
  static char local[200];
  constexpr std::align_val_t wide{64};
  if (kind == "double") std::free(block), std::free(unknown(block));
  else if (kind == "double_later") {
    std::free(block);
    std::vector<void*> others;
    for (int i = 0; i != 5000; ++i) others.push_back(std::malloc(100 + 16));
    for (void* const other : others) std::free(other);
    std::free(unknown(block));
  } else if (kind == "double_elsewhere") free_elsewhere(block), std::free(unknown(block));
  else if (kind == "double_here_then_there") std::free(block), free_elsewhere(unknown(block));
  else if (kind == "double_after_trim") std::free(block), malloc_trim(0), std::free(unknown(block)), malloc_trim(0);
  else if (kind == "double_realloc") std::free(block), std::free(std::realloc(unknown(block), 5000));
  else if (kind == "interior") std::free(unknown(block + 16));
  else if (kind == "interior_odd") std::free(unknown(block + 1));
  else if (kind == "interior_realloc") std::free(std::realloc(unknown(block + 16), 100));
  else if (kind == "foreign") std::free(unknown(local + 16));
  else if (kind == "foreign_realloc") std::free(std::realloc(unknown(local + 16), 10));
  else if (kind == "size") ::operator delete(unknown(static_cast<void*>(::operator new(40))), std::size_t{400});
  else if (kind == "size_free") free_sized(unknown(block), 40);
  else if (kind == "size_aligned_free") free_aligned_sized(unknown(aligned_alloc(64, 256)), 64, 1000);
  else if (kind == "size_aligned") ::operator delete(unknown(::operator new(100, wide)), 5000, wide);
  else if (kind == "size_said_large") ::operator delete(unknown(static_cast<void*>(::operator new(40))), std::size_t{40'000});
  else if (kind == "size_large") ::operator delete(unknown(::operator new(200'000)), std::size_t{300'000});
  else if (kind == "size_said_small") ::operator delete(unknown(::operator new(200'000)), std::size_t{40});
  else if (kind == "large_double") std::free(large), std::free(unknown(large));
  else if (kind == "large_interior") std::free(unknown(large + 4096));
  else if (kind == "never_used") std::free(unknown(block + 112 * 50));
  else fail("no such kind");
  return 0;
}

/// Right uses of all calls, of which none may be reported.
int right() {
  std::vector<char*> all;
  for (unsigned round = 0; round != 40; ++round) {
    for (unsigned i = 0; i != 500; ++i) {
      const std::size_t bytes = i * i * 7 % 50'000;
      char* block = i % 3 == 0 ? static_cast<char*>(std::calloc(1, bytes)) : static_cast<char*>(std::malloc(bytes));
      if (i % 4 == 0) block = static_cast<char*>(std::realloc(block, bytes / 2 + 1));
      if (i % 4 == 1) block = static_cast<char*>(std::realloc(block, bytes * 2 + 1));
      block[0] = 1;
      all.push_back(block);
    }
    for (unsigned i = 0; i != 300; ++i) {
      std::swap(all[i * 7919 % all.size()], all.back());
      if (i % 20 == 0) free_elsewhere(all.back());
      else std::free(all.back());
      all.pop_back();
    }
    for (std::size_t bytes = 1; bytes < 300'000; bytes = bytes * 5 / 4 + 1) {
      ::operator delete(unknown(::operator new(bytes)), bytes);
      for (std::size_t alignment = 1; alignment != 1 << 18; alignment *= 2) {
        const std::align_val_t a{alignment};
        ::operator delete(unknown(::operator new(bytes, a)), bytes, a);
        free_aligned_sized(unknown(aligned_alloc(alignment, bytes)), alignment, bytes);
      }
      free_sized(unknown(std::realloc(std::malloc(bytes), bytes * 2 / 3 + 1)), bytes * 2 / 3 + 1);
    }
    delete[] unknown(new std::string[round + 1]);
    delete unknown(new std::string(100, 'x'));
  }
  for (char* const block : all) std::free(block);
  std::puts("well");
  return 0;
}

}  // namespace

int main(int words, char** word) {
  if (words < 2) fail("no deed");
  const std::string deed = word[1];
  if (deed == "hungry") return hungry(std::strtoull(word[2], nullptr, 10));
  if (deed == "misuse") return misuse(word[2]);
  if (deed == "right") return right();
  fail("no such deed");
}
