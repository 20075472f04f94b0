// Where threads put blocks for each other, and what finds out that a block has two holders.
#ifndef TARN_TEST_LIBRARIES_BLOCKS_H_
#define TARN_TEST_LIBRARIES_BLOCKS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "tarn/test/libraries/pools.h"

namespace tarn::test {

inline constexpr std::size_t stamp_words = block_bytes / sizeof(std::uint64_t);

// Not in a named namespace: a library that is loaded may use no code of another copy.
namespace {

std::uint64_t word_of(const void* block, std::uint64_t salt, std::size_t i) noexcept {
  return (reinterpret_cast<std::uintptr_t>(block) + i) * 0x9E3779B97F4A7C15u ^ salt;
}
void write_stamp(void* block, std::uint64_t salt) noexcept {
  for (std::size_t i = 0; i != stamp_words; ++i) static_cast<std::uint64_t*>(block)[i] = word_of(block, salt, i);
}
bool has_stamp(const void* block, std::uint64_t salt) noexcept {
  for (std::size_t i = 0; i != stamp_words; ++i)
    if (static_cast<const std::uint64_t*>(block)[i] != word_of(block, salt, i)) return false;
  return true;
}

}  // namespace

/// A block that somebody holds. The salt is no other holder's, and isn't kept in the block: whoever gets the same block
/// writes another one into it.
struct held_block {
  void* at = nullptr;
  std::uint64_t salt = 0;
};

struct board {
  struct place {
    std::mutex mutex;
    held_block held;
  };
  std::array<place, 8> places;
  std::mutex mutex;
  std::vector<held_block> left;  // what threads still hold when they end
  std::atomic<std::size_t> handed_over = 0;  // blocks of another thread that a thread freed
  std::atomic<std::size_t> faults = 0;
  std::size_t rounds = 0;
  std::size_t at_least = 0;  // blocks that are handed over before the rounds are enough: a thread can have done its own at once
  std::atomic<bool> begun = false;
  std::atomic<bool> stop = false;  // for threads that have no number of rounds
};

namespace {

/// Allocates, stamps, exchanges with others, checks and frees.
template <class Pool>
void churn(Pool& pool, board& b, std::uint64_t thread) {
  std::array<held_block, 48> mine{};
  std::uint64_t random = thread * 0x9E3779B97F4A7C15u + 1;
  std::uint64_t salt = thread << 40;
  const auto take = [&](void* at) {
    write_stamp(at, ++salt);
    return held_block{at, salt};
  };
  const auto check = [&](const held_block& held) {
    if (!has_stamp(held.at, held.salt)) b.faults.fetch_add(1);
    if (held.salt >> 40 != thread) b.handed_over.fetch_add(1, std::memory_order_relaxed);
  };
  const auto goes_on = [&](std::size_t round) {
    if (b.rounds == 0) return !b.stop.load(std::memory_order_relaxed);
    return round < b.rounds || b.handed_over.load(std::memory_order_relaxed) < b.at_least;
  };
  for (std::size_t round = 0; goes_on(round); ++round) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    held_block& one = mine[(random >> 33) % mine.size()];
    if (one.at == nullptr) {
      one = take(pool.try_allocate());
    } else if ((random >> 60) < 7) {
      board::place& place = b.places[(random >> 50) % b.places.size()];
      const std::lock_guard lock(place.mutex);
      std::swap(place.held, one);
    } else if ((random >> 60) == 7) {
      std::array<void*, 8> some;
      const std::size_t got = pool.try_allocate_batch(some);
      std::array<held_block, 8> stamped;
      for (std::size_t i = 0; i != got; ++i) stamped[i] = take(some[i]);
      for (std::size_t i = 0; i != got; ++i) check(stamped[i]);
      pool.deallocate_batch(std::span(some).first(got));
    } else {
      check(one);
      pool.deallocate(one.at);
      one = {};
    }
  }
  const std::lock_guard lock(b.mutex);
  for (const held_block& one : mine)
    if (one.at != nullptr) b.left.push_back(one);
}

}  // namespace
}  // namespace tarn::test

#endif  // TARN_TEST_LIBRARIES_BLOCKS_H_
