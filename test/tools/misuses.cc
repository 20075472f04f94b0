// Misuses the blocks of a pool, kind by kind, each in a child process, so that a tool can be seen to report it; or uses
// them well.
//
//   misuses list                      the families
//   misuses FAMILY                    every kind: "== kind" in front of it, "-- N" behind it: the child's exit status,
//                                     or "-- no" where the family can't do that, or may
//   misuses FAMILY OPERATIONS         operations as they should be
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tarn/policies/checking/misuse.h"
#include "tarn/test/tools/specimen.h"

namespace tarn::test {
namespace {

constexpr std::size_t many = 1000;  // blocks: what is freed first lies deep in the list

/// Each touch as its own call, so that no optimiser sees what it is for.
[[gnu::noinline]] void write(void* at) { *static_cast<volatile unsigned char*>(at) = 1; }
[[gnu::noinline]] void read(const void* at) {
  if (*static_cast<const volatile unsigned char*>(at) == 0xA7) std::fputs("so it is\n", stderr);
}
unsigned char* byte_of(void* block, std::size_t i) { return static_cast<unsigned char*>(block) + i; }

struct bench {
  const family& of;
  std::unique_ptr<specimen> pool = of.make();

  void* take() {
    void* const block = pool->take();
    std::memset(block, 7, pool->size());
    return block;
  }
  std::vector<void*> take(std::size_t n) {
    std::vector<void*> blocks(n);
    for (void*& b : blocks) b = take();
    return blocks;
  }
  void* freed() {
    void* const block = take();
    pool->give(block);
    return block;
  }
  std::vector<void*> freed(std::size_t n) {
    const std::vector<void*> blocks = take(n);
    for (void* const b : blocks) pool->give(b);
    return blocks;
  }
  /// Two blocks in use that lie side by side.
  std::array<unsigned char*, 2> neighbours() {
    std::vector<void*> blocks = take(40);
    std::ranges::sort(blocks, std::less<>());
    std::array<unsigned char*, 2> best = {};
    for (std::size_t i = 1; i != blocks.size(); ++i) {
      auto* const a = static_cast<unsigned char*>(blocks[i - 1]);
      auto* const b = static_cast<unsigned char*>(blocks[i]);
      if (best[0] == nullptr || b - a < best[1] - best[0]) best = {a, b};
    }
    return best;
  }
};

// ---- the kinds. Each returns whether the family can do that ------------------------------------------------------------

bool write_to_first_byte(bench& b) { return write(b.freed()), true; }
bool write_to_last_byte(bench& b) { return write(byte_of(b.freed(), b.pool->size() - 1)), true; }
bool read_first_byte(bench& b) { return read(b.freed()), true; }
bool read_last_byte(bench& b) { return read(byte_of(b.freed(), b.pool->size() - 1)), true; }
bool fill(bench& b) { return std::memset(b.freed(), 0, b.pool->size()), true; }
bool compare(bench& b) {
  void* const other = b.take();
  if (std::memcmp(b.freed(), other, b.pool->size()) == 1234567) std::fputs("so it is\n", stderr);
  return true;
}
bool read_before_write(bench& b) {
  void* const block = b.freed();
  void* const again = b.pool->take();
  if (again == block || b.of.many_threads) read(byte_of(again, b.pool->size() - 1));
  else read(again);
  return true;
}

bool free_twice(bench& b) {
  if (b.of.refuses) return false;
  void* const other = b.take();
  void* const block = b.freed();
  b.pool->give(other);
  b.pool->give(block);
  return true;
}
bool free_twice_in_a_batch(bench& b) {
  if (b.of.refuses) return false;
  const std::array<void*, 3> blocks = {b.take(), b.take(), nullptr};
  const std::array<void*, 3> twice = {blocks[0], blocks[1], blocks[0]};
  return b.pool->give_batch(twice);
}
bool free_a_pointer_into_a_freed_block(bench& b) {
  if (b.of.refuses || b.pool->size() < 16) return false;
  b.pool->give(byte_of(b.freed(), 8));
  return true;
}

bool overflow_into_a_free_neighbour(bench& b) {
  const auto [lower, upper] = b.neighbours();
  b.pool->give(upper);
  write(lower + (upper - lower));
  return true;
}
bool overflow_by_one_byte(bench& b) {
  const auto [lower, upper] = b.neighbours();
  b.pool->give(upper);
  write(lower + b.pool->size());
  return true;
}
bool read_past_the_end(bench& b) {
  const auto [lower, upper] = b.neighbours();
  b.pool->give(upper);
  read(lower + (upper - lower));
  return true;
}
bool underflow_into_a_free_neighbour(bench& b) {
  const auto [lower, upper] = b.neighbours();
  b.pool->give(lower);
  write(upper - (upper - lower) + b.pool->size() - 1);
  return true;
}
bool write_to_a_block_never_handed_out(bench& b) {
  b.pool->reserve(many + 200);
  const auto [lower, upper] = b.neighbours();
  const std::ptrdiff_t stride = upper - lower;
  std::vector<void*> blocks = b.take(many);
  std::ranges::sort(blocks, std::less<>());
  for (void* const block : blocks) {
    unsigned char* next = byte_of(block, 0);
    for (std::ptrdiff_t n = 0; b.pool->owns(next + stride); ++n) {  // the first that follow may lie in the list already
      next += stride;
      const auto after = std::ranges::upper_bound(blocks, next, std::less<>());
      if (after != blocks.begin() && next - byte_of(after[-1], 0) < stride) break;
      if (n == 80) return write(next), true;
    }
  }
  return false;
}

bool write_deep_in_the_list(bench& b) { return write(b.freed(many).front()), true; }
bool write_in_the_middle_of_the_list(bench& b) { return write(byte_of(b.freed(many)[many / 2], b.pool->size() - 1)), true; }
bool read_deep_in_the_list(bench& b) { return read(b.freed(many).front()), true; }
bool write_after_batch_free(bench& b) {
  const std::vector<void*> blocks = b.take(200);
  return b.pool->give_batch(blocks) && (write(blocks[100]), true);
}
bool write_while_others_are_used(bench& b) {  // trimmed, sorted, walked through and refilled since
  std::vector<void*> blocks = b.take(many);
  for (std::size_t i = 0; i != many; i += 2) b.pool->give(blocks[i]);
  b.pool->trim();
  b.pool->objects();
  write(blocks[many / 2]);
  return true;
}

bool write_after_trim(bench& b) {
  const std::vector<void*> blocks = b.freed(many);
  return b.pool->trim() && (write(blocks[many / 2]), true);
}
bool read_after_release(bench& b) {
  const std::vector<void*> blocks = b.take(many);
  return b.pool->release() && (read(blocks[many / 2]), true);
}
bool read_after_the_end(bench& b) {
  if (!b.of.ends) return false;
  const std::vector<void*> blocks = b.take(many);
  b.pool.reset();
  return read(blocks[many / 2]), true;
}

/// Another thread frees blocks, and lives.
std::vector<void*> freed_by_another(bench& b) {
  static std::atomic<bool> done;
  const std::vector<void*> blocks = b.take(many);
  std::thread([&b, blocks] {
    for (void* const block : blocks) b.pool->give(block);
    done = true;
    ::pause();
  }).detach();
  while (!done) std::this_thread::yield();
  return blocks;
}
bool write_to_what_another_freed_last(bench& b) { return b.of.many_threads && (write(freed_by_another(b).back()), true); }
bool write_to_what_another_freed_first(bench& b) { return b.of.many_threads && (write(freed_by_another(b).front()), true); }
bool read_what_another_freed(bench& b) { return b.of.many_threads && (read(freed_by_another(b)[many / 2]), true); }

struct kind {
  const char* name;
  bool (*run)(bench&);
};
#define KIND(name) kind{#name, name}
constexpr std::array kinds = {KIND(write_to_first_byte),
                              KIND(write_to_last_byte),
                              KIND(read_first_byte),
                              KIND(read_last_byte),
                              KIND(fill),
                              KIND(compare),
                              KIND(read_before_write),
                              KIND(free_twice),
                              KIND(free_twice_in_a_batch),
                              KIND(free_a_pointer_into_a_freed_block),
                              KIND(overflow_into_a_free_neighbour),
                              KIND(overflow_by_one_byte),
                              KIND(read_past_the_end),
                              KIND(underflow_into_a_free_neighbour),
                              KIND(write_to_a_block_never_handed_out),
                              KIND(write_deep_in_the_list),
                              KIND(write_in_the_middle_of_the_list),
                              KIND(read_deep_in_the_list),
                              KIND(write_after_batch_free),
                              KIND(write_while_others_are_used),
                              KIND(write_after_trim),
                              KIND(read_after_release),
                              KIND(read_after_the_end),
                              KIND(write_to_what_another_freed_last),
                              KIND(write_to_what_another_freed_first),
                              KIND(read_what_another_freed)};

constexpr int cannot = 42;

void run_in_a_child(const family& of, const kind& what) {
  std::fprintf(stderr, "== %s\n", what.name);
  const pid_t child = ::fork();
  if (child == 0) {
    bench b{of};
    const bool could = of.frees && what.run(b);
    ::_exit(could ? 0 : cannot);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == cannot) std::fputs("-- no\n", stderr);
  else std::fprintf(stderr, "-- %d\n", code);
}

}  // namespace
}  // namespace tarn::test

int main(int count, char** words) {
  using namespace tarn::test;
  tarn::set_misuse_handler([](const tarn::misuse&) noexcept {});
  const std::string wanted = count > 1 ? words[1] : "list";
  if (wanted == "list")
    for (const family& f : families()) std::puts(f.name);
  for (const family& f : families()) {
    if (wanted != f.name) continue;
    if (count > 2) {
      const char* const wrong = use_well(f, static_cast<std::size_t>(std::atol(words[2])));
      if (wrong != nullptr) std::fprintf(stderr, "wrong: %s\n", wrong);
      return wrong != nullptr;
    }
    for (const kind& k : kinds) run_in_a_child(f, k);
    return 0;
  }
  return wanted == "list" ? 0 : 2;
}
