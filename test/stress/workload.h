// What the stress tests do with pools: blocks that are stamped, written, handed to other threads, read and given back.
#ifndef TARN_TEST_STRESS_WORKLOAD_H_
#define TARN_TEST_STRESS_WORKLOAD_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tarn/policies/platform/memory_tools.h"
#include "tarn/test/stress/contenders.h"
#include "tarn/test/stress/ledger_store.h"
#include "tarn/test/stress/users.h"

namespace tarn::test {

#if defined(TARN_TSAN)
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif
#if defined(TARN_ASAN)
inline constexpr bool under_asan = true;
#else
inline constexpr bool under_asan = false;
#endif

/// Whether this is the long run.
bool nightly();

/// So many, or fewer where each takes long: under a sanitizer, and not optimised.
constexpr std::size_t up_to(std::size_t n) {
  if (under_tsan || under_asan) return n / 10;
#if defined(__OPTIMIZE__)
  return n;
#else
  return n / 4;
#endif
}

/// What went wrong, and what happened. All relaxed: a test that orders threads hides what the pool forgets to order.
struct tally {
  std::atomic<std::size_t> operations{0};  // allocations and frees, of threads that ended
  std::atomic<std::size_t> handed_over{0};  // blocks that another thread gave back than had taken them
  std::atomic<std::size_t> orphans{0};  // of them: those whose taker had ended
  std::atomic<std::size_t> refused{0};  // allocations that got nothing
  std::atomic<std::size_t> trims{0};  // that gave something back, while other threads used the pool
  std::atomic<std::size_t> twice{0};  // blocks handed out that were in use
  std::atomic<std::size_t> spoiled{0};  // blocks whose content or stamp another thread changed
};

/// A thread's view of a pool. Each block that it takes gets a stamp that no other block in use has, in its last word, and
/// the other words are computed from the stamp. The stamp goes in and out by an atomic exchange: the second taker of a block
/// finds that of the first, or the first finds that of the second.
class worker {
 public:
  worker(any_pool& pool, tally& counts);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// A stamped block, or null.
  void* take();
  /// Fills `out`, stamped. Returns how many there are.
  std::size_t take(std::span<void*> out);
  /// Reads it, and gives it back.
  void give(void* block);
  void give(std::span<void* const> blocks);
  /// Whether the block in use holds what its taker wrote.
  bool is_whole(void* block);

  std::uint32_t random() { return random_ = random_ * 1664525 + 1013904223, random_ >> 8; }
  any_pool& pool() { return pool_; }

 private:
  void stamp(void* block);
  void unstamp(void* block);
  void did(std::size_t operations);

  any_pool& pool_;
  tally& tally_;
  std::uint32_t number_;  // of the worker, over the whole process
  std::uint32_t serial_ = 0;
  std::uint32_t random_;
  std::size_t operations_ = 0;
};

/// One thread puts in, one takes out.
class ring {
 public:
  static constexpr std::size_t room = 1024;

  bool put(void* block) {
    const std::size_t at = in_.load(std::memory_order_relaxed);
    if (at - out_.load(std::memory_order_acquire) == room) return false;
    items_[at % room] = block;
    in_.store(at + 1, std::memory_order_release);
    return true;
  }
  void* get() {
    const std::size_t at = out_.load(std::memory_order_relaxed);
    if (at == in_.load(std::memory_order_acquire)) return nullptr;
    void* const block = items_[at % room];
    out_.store(at + 1, std::memory_order_release);
    return block;
  }

 private:
  std::array<void*, room> items_{};
  alignas(64) std::atomic<std::size_t> in_{0};
  alignas(64) std::atomic<std::size_t> out_{0};
};

/// What a thread does over and over: takes and gives back, alone and in batches, and swaps a block for another thread's.
/// `mine` holds about `most` blocks then.
void mingle(worker& me, boxes& shared, std::vector<void*>& mine, std::size_t most);

/// Aborts, naming the test, where something takes longer than `seconds`: threads that wait for each other never end.
class deadline {
 public:
  explicit deadline(std::string what, unsigned seconds = nightly() ? 7200 : 800);
  ~deadline();
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;

 private:
  struct clock;
  clock* clock_;
};

/// Interrupts the calling thread some ten thousand times a second and lets others run, wherever it is: inside a critical
/// section, or between the load and the exchange of a lock-free list. By itself the system does that a few hundred times a
/// second, and on one core nothing else interleaves. Not under TSan, which puts signals off.
class shaken {
 public:
  shaken();
  ~shaken();
  shaken(const shaken&) = delete;
  shaken& operator=(const shaken&) = delete;
  static std::size_t times();  // so far, of all threads

 private:
  bool on_ = false;
};

/// Runs body(thread's number) on so many threads, all at once; the first few are shaken.
void in_threads(std::size_t n, const std::function<void(std::size_t)>& body);

/// Blocks that one thread can take without the pool growing, when nobody else uses it: all there are, and each once. The pool
/// may keep some in what ended threads left; it looks there before it grows. Counts what is found twice.
std::size_t blocks_at_hand(any_pool& pool, tally& counts);

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_WORKLOAD_H_
