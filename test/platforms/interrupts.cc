// A program and a timer's interrupt that allocate from one pool, free each other's blocks, and come in between each other
// anywhere: nothing is lost, nothing is owned twice. For test/platforms/bare.
//
//   TARN_TEST_OPERATIONS   how many calls, of both sides together (1,000,000)
//   TARN_TEST_MASK         a type in the place of interrupt_mask: no_mask, which is wrong, must be found
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <new>

#include "tarn/allocator/pool.h"

#if !defined(TARN_TEST_OPERATIONS)
#define TARN_TEST_OPERATIONS 1'000'000
#endif
#if !defined(TARN_TEST_MASK)
#define TARN_TEST_MASK tarn::interrupt_mask
#endif

namespace {

/// Masks nothing.
struct no_mask {
  static int save_and_mask() noexcept { return 0; }
  static void restore(int) noexcept {}
};

constexpr std::uint32_t blocks = 48;
constexpr std::size_t words = 12;  // of a block

// ---- the timer: the next interrupt comes so many ticks after this one's end -------------------------------------------------

template <class T>
volatile T& device(std::uintptr_t address) noexcept {
  return *reinterpret_cast<volatile T*>(address);
}

#if defined(__arm__)
constexpr std::uint32_t longest = 32;
void start_timer(std::uint32_t ticks) noexcept {
  device<std::uint32_t>(0xe000e014) = ticks;
  device<std::uint32_t>(0xe000e018) = 0;
  device<std::uint32_t>(0xe000ed04) = 1u << 25;  // one that came meanwhile doesn't count
  device<std::uint32_t>(0xe000e010) = 7;
}
void stop_timer() noexcept { device<std::uint32_t>(0xe000e010) = 0; }
void let_interrupts_in() noexcept {}
#else
constexpr std::uint32_t longest = 12;
void start_timer(std::uint32_t ticks) noexcept {
  // At most 100 s from the start: the upper half stays 0.
  device<std::uint32_t>(0x2004000) = device<std::uint32_t>(0x200bff8) + ticks;
  device<std::uint32_t>(0x2004004) = 0;
}
void stop_timer() noexcept { device<std::uint32_t>(0x2004004) = 0xffffffff; }
void let_interrupts_in() noexcept { asm volatile("csrs mie, %0\n\tcsrs mstatus, %1" : : "r"(1u << 7), "r"(1u << 3)); }
#endif

// ---- the two sides ---------------------------------------------------------------------------------------------------------

struct block {
  std::uint32_t word[words];
};
/// What one side wrote before, the other sees: the processor is the same, only the compiler could get in the way.
void barrier() noexcept { asm volatile("" : : : "memory"); }

struct letter_box {
  block* volatile letter = nullptr;

  bool is_empty() const noexcept { return letter == nullptr; }
  void put(block* b) noexcept {
    barrier();
    letter = b;
  }
  block* take() noexcept {
    block* const b = letter;
    barrier();
    if (b != nullptr) letter = nullptr;
    return b;
  }
};

/// What one side has and did. Never used by the other.
struct side {
  std::uint32_t random;
  std::uint32_t stamp = 0;
  block* mine[blocks] = {};
  std::uint32_t held = 0;
  std::uint32_t allocated = 0;
  std::uint32_t freed = 0;
  std::uint32_t refused = 0;
  std::uint32_t sum_allocated = 0;  // of stamps
  std::uint32_t sum_freed = 0;
  std::uint32_t wrong = 0;

  std::uint32_t any(std::uint32_t below) noexcept {
    random ^= random << 13, random ^= random >> 17, random ^= random << 5;  // Marsaglia, 2003
    return (random >> 8) % below;
  }
  std::uint32_t calls() const noexcept { return allocated + freed + refused; }

  template <class Pool>
  void allocate(Pool& pool) noexcept {
    auto* const b = static_cast<block*>(pool.try_allocate());
    if (b == nullptr) return void(++refused);
    stamp += 2;
    for (std::uint32_t i = 0; i != words; ++i) b->word[i] = stamp + i * 0x9e3779b9u;
    ++allocated;
    sum_allocated += stamp;
    mine[held++] = b;
  }
  template <class Pool>
  void free(Pool& pool, block* b) noexcept {
    const std::uint32_t its = b->word[0];
    for (std::uint32_t i = 0; i != words; ++i) {
      wrong += b->word[i] != its + i * 0x9e3779b9u;
      b->word[i] = 0;
    }
    pool.deallocate(b);
    ++freed;
    sum_freed += its;
  }
  block* take(std::uint32_t i) noexcept {
    block* const b = mine[i];
    mine[i] = mine[--held];
    return b;
  }
  template <class Pool>
  void step(Pool& pool, letter_box& in, letter_box& out) noexcept {
    if (block* const b = in.take()) free(pool, b);
    const std::uint32_t what = any(16);
    if (what < 8) {
      if (held != blocks) allocate(pool);
    } else if (held != 0) {
      block* const b = take(any(held));
      if (what == 15 && out.is_empty()) out.put(b);
      else free(pool, b);
    }
  }
};

void (*on_tick)() = [] {};

/// Many rounds, each with a new pool, so that blocks are carved and chunks fetched again and again.
template <class Pool>
class trial {
 public:
  static bool run(const char* name) {
    program.random = 1, program.stamp = 0;
    handler.random = 2, handler.stamp = 1;
    on_tick = tick;
    while (calls() < TARN_TEST_OPERATIONS && wrong == 0) {
      pool = ::new (static_cast<void*>(&storage)) Pool;
      start_timer(first_tick = (first_tick + 1) % 64 + 1);
      let_interrupts_in();
      for (const std::uint32_t end = calls() + in_a_round; calls() < end; barrier()) {
        program.step(*pool, to_program, to_handler);
        if constexpr (requires { pool->trim(); })
          if (program.any(16) == 0) pool->trim();
      }
      stop_timer();
      look_at_the_end();
      pool->~Pool();
      ++rounds;
    }
    on_tick = [] {};
    return tell(name);
  }

 private:
  static constexpr std::uint32_t in_a_round = 200;  // calls

  static void tick() noexcept {
    ++interrupts;
    for (std::uint32_t n = handler.any(12); n != 0; --n) handler.step(*pool, to_handler, to_program);
    start_timer(1 + handler.any(longest));
  }
  static std::uint32_t calls() noexcept { return program.calls() + handler.calls(); }

  /// Every block comes back, and there is no other.
  static void look_at_the_end() noexcept {
    for (letter_box* box : {&to_program, &to_handler})
      if (block* const b = box->take()) program.free(*pool, b);
    while (program.held != 0) program.free(*pool, program.take(0));
    while (handler.held != 0) handler.free(*pool, handler.take(0));
    static block* all[blocks + 1];
    std::uint32_t got = 0;
    while (got <= blocks && (all[got] = static_cast<block*>(pool->try_allocate())) != nullptr) {
      for (std::uint32_t& word : all[got]->word) word = got;
      ++got;
    }
    wrong += program.wrong + handler.wrong + (got != blocks);
    for (std::uint32_t i = 0; i != got; ++i)
      for (const std::uint32_t word : all[i]->word) wrong += word != i;
    for (std::uint32_t i = 0; i != got; ++i) pool->deallocate(all[i]);
  }

  static bool tell(const char* name) {
    const bool right = wrong == 0 && program.allocated + handler.allocated == program.freed + handler.freed &&
                       program.sum_allocated + handler.sum_allocated == program.sum_freed + handler.sum_freed &&
                       program.calls() > TARN_TEST_OPERATIONS / 10 && handler.calls() > TARN_TEST_OPERATIONS / 10;
    for (const side* s : {&program, &handler})
      std::printf("%s, %s: %lu allocated, %lu freed, %lu refused\n", name, s == &program ? "program" : "interrupt",
                  static_cast<unsigned long>(s->allocated), static_cast<unsigned long>(s->freed),
                  static_cast<unsigned long>(s->refused));
    std::printf("%s: %lu interrupts, %lu rounds, %lu wrong: %s\n", name, static_cast<unsigned long>(interrupts),
                static_cast<unsigned long>(rounds), static_cast<unsigned long>(wrong), right ? "right" : "WRONG");
    return right;
  }

  alignas(Pool) static inline unsigned char storage[sizeof(Pool)];
  static inline Pool* pool;
  static inline side program, handler;
  static inline letter_box to_program, to_handler;
  static inline std::uint32_t first_tick = 0, interrupts = 0, rounds = 0, wrong = 0;
};

template <class Locking>
using array_pool = tarn::pool<tarn::static_size<sizeof(block)>, Locking, tarn::static_array_store<blocks>>;
/// Either side may be the one that calls malloc().
template <class Locking>
using growing_pool = tarn::pool<tarn::static_size<sizeof(block)>, Locking, tarn::fixed_growth<8, blocks>>;

}  // namespace

extern "C" void tarn_test_tick() { on_tick(); }

int main() {
  int passed = 0, failed = 0;
  const auto count = [&](bool right) { ++(right ? passed : failed); };
  using masked = tarn::interrupt_locking<TARN_TEST_MASK>;
  count(trial<array_pool<masked>>::run("interrupt_locking"));
  count(trial<growing_pool<masked>>::run("interrupt_locking, growing"));
#if !defined(__ARM_ARCH_6M__)
  count(trial<array_pool<tarn::lock_free>>::run("lock_free"));
  count(trial<growing_pool<tarn::lock_free>>::run("lock_free, growing"));
#endif
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed;
}
