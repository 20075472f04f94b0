// Threads with blocks of any product: what they write into each, to look for before they give it back, and how they pass it on.
#ifndef TARN_TEST_STRESS_USERS_H_
#define TARN_TEST_STRESS_USERS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace tarn::test {

/// Where threads leave blocks for whoever comes by. It orders the two that pass a block, and no others.
class boxes {
 public:
  static constexpr std::size_t count = 64;

  /// Puts a block, or none, where another may lie. Returns that, or null.
  void* swap(std::size_t which, void* block) { return slots_[which % count].exchange(block, std::memory_order_acq_rel); }
  template <class Take>
  void empty(Take take) {
    for (auto& slot : slots_)
      if (void* const block = slot.exchange(nullptr)) take(block);
  }

 private:
  std::array<std::atomic<void*>, count> slots_{};
};

/// A block's first word is its stamp, from which all others follow: another for each taking, in its lower half; the upper half
/// says of which block it is. All words of a small block are written and read; of a large one, those at both ends. No block is
/// smaller than a word.
class stamps {
 public:
  static void put(void* block, std::size_t bytes, std::uint32_t low) {
    const std::uint64_t stamp = stamp_of(block, low);
    each_word(block, bytes, [&](std::byte* at, std::size_t i, std::size_t n) {
      const std::uint64_t word = word_of(stamp, i);
      std::memcpy(at, &word, n);
    });
  }
  /// The lower half, if nobody has changed it.
  static std::uint32_t look(const void* block) {
    std::uint64_t stamp = 0;
    std::memcpy(&stamp, block, sizeof stamp);
    return static_cast<std::uint32_t>(stamp);
  }
  /// Returns how many words aren't what was put there, and spoils them all.
  static std::size_t take(void* block, std::size_t bytes) {
    std::uint64_t stamp = 0;
    std::memcpy(&stamp, block, sizeof stamp);
    std::size_t spoiled = stamp != stamp_of(block, static_cast<std::uint32_t>(stamp));
    each_word(block, bytes, [&](std::byte* at, std::size_t i, std::size_t n) {
      const std::uint64_t word = word_of(stamp, i);
      if (std::memcmp(at, &word, n) != 0) ++spoiled;
      std::memset(at, 0xDD, n);
    });
    return spoiled;
  }

 private:
  static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  static constexpr std::uint64_t factor = 0x9E3779B97F4A7C15u;

  static std::uint64_t stamp_of(const void* block, std::uint64_t low) {
    const std::uint64_t mark = (low + 1) * (reinterpret_cast<std::uintptr_t>(block) | 1) * factor;
    return (mark & ~std::uint64_t{0xFFFFFFFF}) | low;
  }
  static std::uint64_t word_of(std::uint64_t stamp, std::size_t i) { return i == 0 ? stamp : (stamp + i) * factor; }

  template <class Visit>
  static void each_word(void* block, std::size_t bytes, Visit visit) {
    auto* const start = static_cast<std::byte*>(block);
    for (std::size_t at = 0; at < bytes; at += word_bytes) {
      if (at == 4 * word_bytes && bytes > 12 * word_bytes) at = bytes / word_bytes * word_bytes - 4 * word_bytes;
      visit(start + at, at / word_bytes, std::min(word_bytes, bytes - at));
    }
  }
};

/// What a thread holds, and what it has done: it takes and gives back blocks at random, around a level that wanders, and passes
/// some on to others.
class user {
 public:
  /// \param shared  where other threads' blocks lie, if there are any
  /// \param most    so many blocks it holds at most
  user(boxes* shared, std::size_t most, std::uint64_t seed)
      : shared_(shared), random_(static_cast<std::uint32_t>(seed)), most_(most), level_(most / 2) {}
  virtual ~user() = default;

  void work(std::size_t operations) {
    for (const std::size_t end = done_ + operations; done_ < end;) {
      const std::uint32_t dice = random() % 8192;
      if (dice == 0) trim();
      else if (does_more(dice)) continue;
      else if (dice < 16) level_ = random() % most_;
      else if (dice < 1024 && shared_ != nullptr) pass_on();
      else if (live_.size() < level_) take();
      else if (holds_some()) give();
      else level_ = random() % most_;
    }
  }
  void give_all() {
    while (holds_some()) give();
  }
  void found(void* block) { live_.push_back(block); }
  std::size_t done() const { return done_; }
  std::size_t spoiled() const { return spoiled_; }
  std::size_t passed_on() const { return passed_on_; }
  std::size_t refused() const { return refused_; }

 protected:
  struct left {
    void* start;
    std::size_t bytes;
  };
  std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }
  bool holds_some() const { return !live_.empty(); }
  void took(void* block, std::uint32_t low) {
    stamps::put(block, bytes_with(low), low);
    live_.push_back(block);
    ++done_;
  }
  left leave() {
    const std::size_t i = random() % live_.size();
    void* const block = live_[i];
    live_[i] = live_.back();
    live_.pop_back();
    const std::size_t bytes = bytes_with(stamps::look(block));
    spoiled_ += stamps::take(block, bytes);
    ++done_;
    return {block, bytes};
  }

 private:
  virtual void* take_block(std::uint32_t low) = 0;  // null: there is none
  virtual void give_block(void* block, std::size_t bytes) = 0;
  virtual std::size_t bytes_with(std::uint32_t low) const = 0;  // of a block with that in its stamp
  virtual void trim() = 0;
  virtual bool does_more(std::uint32_t) { return false; }  // whether it did

  void take() {
    const std::uint32_t low = random();
    if (void* const block = take_block(low)) return took(block, low);
    ++refused_;
    ++done_;
    for (std::size_t n = live_.size() / 2; n != 0; --n) give();  // another thread may hold what is missing
  }
  void give() {
    const left one = leave();
    give_block(one.start, one.bytes);
  }
  void pass_on() {
    void* mine = nullptr;
    if (holds_some()) {
      mine = live_.back();
      live_.pop_back();
    }
    if (void* const theirs = shared_->swap(random(), mine)) live_.push_back(theirs), ++passed_on_;
  }

  boxes* shared_;
  std::minstd_rand random_;
  std::vector<void*> live_;
  std::size_t most_;
  std::size_t level_;
  std::size_t done_ = 0;
  std::size_t spoiled_ = 0;
  std::size_t passed_on_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_USERS_H_
