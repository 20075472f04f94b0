// Operations as they should be: taking and giving, one by one and in batches, from two threads where that is allowed, with all
// that walks through free blocks in between.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "tarn/test/tools/specimen.h"

namespace tarn::test {
namespace {

/// Blocks that one thread leaves for another to free.
struct exchange {
  std::mutex mutex;
  std::vector<void*> blocks;
};

class user {
 public:
  user(specimen& pool, exchange* with, unsigned seed) : pool_(pool), with_(with), random_(seed) {}

  void work(std::size_t operations) {
    while (done_ < operations && wrong_ == nullptr) {
      const unsigned what = random_() % 4096;
      if (what == 0) pool_.trim();
      else if (what == 1) pool_.reserve(most);
      else if (what == 2 && with_ == nullptr) count_objects();
      else if (what == 3 && with_ == nullptr) start_anew();
      else if (what < 64) take_batch();
      else if (what < 128) give_batch();
      else if (what < 256) hand_over();
      else if (live_.size() < wanted()) take();
      else give();
    }
    while (!live_.empty()) give();
  }

  std::size_t done() const { return done_; }
  const char* wrong() const { return wrong_; }
  void give_what_is_left(exchange& with) {
    for (void* const block : with.blocks) took(block, true);
    with.blocks.clear();
    while (!live_.empty()) give();
  }

 private:
  static constexpr std::size_t most = 500;  // blocks in use by one thread

  std::size_t wanted() {
    if (random_() % 1024 == 0) wanted_ = random_() % most;
    return wanted_;
  }
  void take() {
    took(pool_.take(), false);
    ++done_;
  }
  void give() {
    if (live_.empty()) return;
    pool_.give(leave());
    ++done_;
  }
  void take_batch() {
    std::array<void*, 100> out;
    const std::size_t n = std::min<std::size_t>(random_() % out.size(), most - std::min(most, live_.size()));
    const std::size_t got = pool_.take_batch(std::span(out).first(n));
    for (std::size_t i = 0; i != got; ++i) took(out[i], false);
    done_ += got;
  }
  void give_batch() {
    std::array<void*, 100> in;
    std::size_t n = 0;
    for (const std::size_t wanted = random_() % in.size(); n != wanted && !live_.empty(); ++n) in[n] = leave();
    const std::span<void* const> blocks = std::span(in).first(n);
    if (!pool_.give_batch(blocks))
      for (void* const block : blocks) pool_.give(block);
    done_ += n;
  }
  void hand_over() {
    if (with_ == nullptr) return;
    const std::scoped_lock lock(with_->mutex);
    for (int i = 0; i != 20 && !live_.empty() && with_->blocks.size() < 100; ++i) {
      with_->blocks.push_back(live_.back());
      live_.pop_back();
    }
    if (!with_->blocks.empty()) std::swap(with_->blocks.front(), with_->blocks.back());
    for (int i = 0; i != 10 && with_->blocks.size() > 1; ++i) {
      took(with_->blocks.back(), true);
      with_->blocks.pop_back();
    }
  }
  void count_objects() {
    const std::size_t n = pool_.objects();
    if (n != 0 && n != live_.size()) wrong_ = "for_each visits other objects than there are";
  }
  void start_anew() {
    for (void* const block : live_) check(block);
    if (pool_.release()) live_.clear();
  }

  // Every byte of a block says which block it is.
  unsigned char mark(void* block) const {
    return static_cast<unsigned char>(reinterpret_cast<std::size_t>(block) / 8 % 251 + 1);
  }
  void took(void* block, bool filled) {
    if (block == nullptr) {
      wrong_ = "no block";
      return;
    }
    if (!filled) std::memset(block, mark(block), pool_.size());
    live_.push_back(block);
  }
  void check(void* block) {
    const auto* const bytes = static_cast<const unsigned char*>(block);
    if (!std::all_of(bytes, bytes + pool_.size(), [m = mark(block)](unsigned char b) { return b == m; }))
      wrong_ = "a block isn't as it was left";
  }
  void* leave() {
    const std::size_t i = random_() % live_.size();
    void* const block = live_[i];
    live_[i] = live_.back();
    live_.pop_back();
    check(block);
    return block;
  }

  specimen& pool_;
  exchange* with_;
  std::minstd_rand random_;
  std::vector<void*> live_;
  std::size_t wanted_ = 100;
  std::size_t done_ = 0;
  const char* wrong_ = nullptr;
};

}  // namespace

const char* use_well(const family& what, std::size_t operations) {
  const std::unique_ptr<specimen> pool = what.make();
  exchange between;
  exchange* const with = what.many_threads ? &between : nullptr;
  user first(*pool, with, 1);
  user second(*pool, with, 2);
  if (with == nullptr) {
    first.work(operations);
  } else {
    std::thread other([&] { second.work(operations / 2); });
    first.work(operations - operations / 2);
    other.join();
    first.give_what_is_left(between);
  }
  std::printf("operations %zu\n", first.done() + second.done());
  return first.wrong() != nullptr ? first.wrong() : second.wrong();
}

}  // namespace tarn::test
