#include "tarn/test/stress/workload.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

namespace tarn::test {
namespace {

// A stamp: a mark that no address and no fresh memory has, the worker, and its so-and-so-many-th block.
constexpr std::uint64_t mark = 0xB10Cu;
constexpr std::uint64_t free_stamp = 0xF4EEF4EEF4EEF4EEu;
constexpr bool is_stamp(std::uint64_t word) { return word >> 48 == mark; }
constexpr std::uint64_t stamp_of(std::uint32_t worker, std::uint32_t serial) {
  return mark << 48 | std::uint64_t{worker & 0xFFFFFF} << 24 | (serial & 0xFFFFFF);
}
constexpr std::uint32_t worker_of(std::uint64_t stamp) { return static_cast<std::uint32_t>(stamp >> 24 & 0xFFFFFF); }

constexpr std::size_t words = block_bytes / sizeof(std::uint64_t) - 1;
constexpr std::uint64_t word_of(std::uint64_t stamp, std::size_t i) { return (stamp + i) * 0x9E3779B97F4A7C15u; }

std::uint64_t* words_of(void* block) { return static_cast<std::uint64_t*>(block); }
std::atomic_ref<std::uint64_t> owner_of(void* block) { return std::atomic_ref(words_of(block)[words]); }

constexpr std::uint32_t most_workers = 1 << 17;
std::atomic<std::uint32_t> workers{0};
std::array<std::atomic<bool>, most_workers> ended{};

}  // namespace

bool nightly() { return std::getenv("TARN_NIGHTLY") != nullptr; }

worker::worker(any_pool& pool, tally& counts)
    : pool_(pool), tally_(counts), number_(workers.fetch_add(1, std::memory_order_relaxed)), random_(number_ * 7919 + 1) {
  ended[number_ % most_workers].store(false, std::memory_order_relaxed);
}
worker::~worker() {
  tally_.operations.fetch_add(operations_, std::memory_order_relaxed);
  ended[number_ % most_workers].store(true, std::memory_order_relaxed);
}

void* worker::take() {
  void* const block = pool_.try_allocate();
  did(1);
  if (block == nullptr) tally_.refused.fetch_add(1, std::memory_order_relaxed);
  else stamp(block);
  return block;
}
std::size_t worker::take(std::span<void*> out) {
  const std::size_t got = pool_.try_allocate_batch(out);
  did(got);
  if (got != out.size()) tally_.refused.fetch_add(out.size() - got, std::memory_order_relaxed);
  for (void* const block : out.first(got)) stamp(block);
  return got;
}
void worker::give(void* block) {
  unstamp(block);
  pool_.deallocate(block);
  did(1);
}
void worker::give(std::span<void* const> blocks) {
  for (void* const block : blocks) unstamp(block);
  pool_.deallocate_batch(blocks);
  did(blocks.size());
}
bool worker::is_whole(void* block) {
  const std::uint64_t stamp = owner_of(block).load(std::memory_order_relaxed);
  bool whole = is_stamp(stamp);
  for (std::size_t i = 0; i < words; ++i) whole &= words_of(block)[i] == word_of(stamp, i);
  return whole;
}

void worker::stamp(void* block) {
  const std::uint64_t mine = stamp_of(number_, ++serial_);
  if (is_stamp(owner_of(block).exchange(mine, std::memory_order_relaxed))) tally_.twice.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < words; ++i) words_of(block)[i] = word_of(mine, i);
}
void worker::unstamp(void* block) {
  if (!is_whole(block)) tally_.spoiled.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t stamp = owner_of(block).exchange(free_stamp, std::memory_order_relaxed);
  if (!is_stamp(stamp)) tally_.spoiled.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < words; ++i) words_of(block)[i] = free_stamp;
  const std::uint32_t taker = worker_of(stamp);
  if (taker == number_) return;
  tally_.handed_over.fetch_add(1, std::memory_order_relaxed);
  if (ended[taker % most_workers].load(std::memory_order_relaxed)) tally_.orphans.fetch_add(1, std::memory_order_relaxed);
}
void worker::did(std::size_t operations) {
  operations_ += operations;
  books.work.note(number_);
}

void mingle(worker& me, boxes& shared, std::vector<void*>& mine, std::size_t most) {
  for (int i = 0; i < 4; ++i) {
    if (mine.size() < most && me.random() % 2 == 0) {
      if (void* const block = me.take()) mine.push_back(block);
    } else if (!mine.empty()) {
      std::swap(mine[me.random() % mine.size()], mine.back());
      me.give(mine.back());
      mine.pop_back();
    }
  }
  void* const parcel = me.take();
  if (parcel == nullptr) return;
  if (void* const other = shared.swap(me.random(), parcel)) mine.push_back(other);
  if (me.random() % 32 == 0) std::this_thread::yield();  // they meet on one core, too
  if (me.random() % 64 == 0) {
    std::array<void*, 40> some;
    me.give(std::span(some).first(me.take(some)));
  }
}

struct deadline::clock {
  std::string what;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;
};

deadline::deadline(std::string what, unsigned seconds) : clock_(new clock) {
  clock_->what = std::move(what);
  clock_->thread = std::thread([c = clock_, seconds] {
    std::unique_lock lock(c->mutex);
    if (c->changed.wait_for(lock, std::chrono::seconds(seconds), [c] { return c->over; })) return;
    std::printf("%s: not done after %u s\n", c->what.c_str(), seconds);
    std::fflush(stdout);
    std::abort();
  });
}
deadline::~deadline() {
  {
    const std::lock_guard lock(clock_->mutex);
    clock_->over = true;
  }
  clock_->changed.notify_all();
  clock_->thread.join();
  delete clock_;
}

namespace {
std::atomic<std::size_t> shakes{0};
thread_local timer_t shaking_timer;

/// Once. From when the thread runs, not from when it was due: whoever waits long for its turn gets something done then.
void shake_soon() {
  const itimerspec when{{0, 0}, {0, 60'000}};
  timer_settime(shaking_timer, 0, &when, nullptr);
}
void shake(int) {
  shakes.fetch_add(1, std::memory_order_relaxed);
  const int before = errno;
  sched_yield();
  shake_soon();
  errno = before;
}
}  // namespace

shaken::shaken() {
  if (under_tsan) return;
  static const bool handled = [] {
    struct sigaction action{};
    action.sa_handler = shake;
    action.sa_flags = SA_RESTART;
    return sigaction(SIGURG, &action, nullptr) == 0;
  }();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGURG;
  event._sigev_un._tid = gettid();
  on_ = handled && timer_create(CLOCK_MONOTONIC, &event, &shaking_timer) == 0;
  if (on_) shake_soon();
}
shaken::~shaken() {
  if (on_) timer_delete(shaking_timer);
}
std::size_t shaken::times() { return shakes; }

/// A crowd in which each is interrupted whenever its turn comes gets nothing else done.
constexpr std::size_t most_shaken = 4;

void in_threads(std::size_t n, const std::function<void(std::size_t)>& body) {
  std::barrier start(static_cast<std::ptrdiff_t>(n));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < n; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      std::optional<shaken> disturbed;
      if (t < most_shaken) disturbed.emplace();
      body(t);
    });
  for (std::thread& thread : threads) thread.join();
}

std::size_t blocks_at_hand(any_pool& pool, tally& counts) {
  worker all(pool, counts);
  const std::size_t capacity = pool.capacity();
  std::vector<void*> blocks;
  void* block = all.take();
  for (; block != nullptr && pool.capacity() == capacity; block = all.take()) blocks.push_back(block);
  const std::size_t at_hand = blocks.size();
  if (block != nullptr) blocks.push_back(block);
  for (void* const b : blocks) all.give(b);
  return at_hand;
}

}  // namespace tarn::test
