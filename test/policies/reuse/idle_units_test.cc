// Idle units of a bitmap and blocks that have gone, against a vector that says of each block what became of it.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "tarn/policies/reuse/block_bitmap.h"
#include "tarn/policies/reuse/page_local_reuse.h"

namespace {

using tarn::detail::idle_units;
using block_bitmap = tarn::detail::block_bitmap<idle_units>;

enum class block_is : char { used, free, gone };

struct counts {
  std::size_t runs = 0, left = 0, left_twice = 0, came_back = 0, taken = 0;
};

/// A bitmap and what it should say.
class modelled {
 public:
  modelled(std::size_t blocks, std::size_t page_words, unsigned unit_shift)
      : unit_(std::size_t{1} << unit_shift),
        memory_(block_bitmap::bytes(blocks, page_words, unit_shift) / 8 + 2, guard_word),
        model_(blocks, block_is::used) {
    bits_.open(reinterpret_cast<std::byte*>(memory_.data() + 1), blocks, page_words, unit_shift);
  }

  /// Frees what is used of `n` blocks, or some of it.
  void free(std::size_t first, std::size_t n, std::mt19937& random, bool all) {
    for (std::size_t w = first / 64; n != 0 && w * 64 < first + n; ++w) {
      std::uint64_t mask = 0;
      std::size_t marked = 0;
      for (std::size_t i = w * 64; i != w * 64 + 64 && i < first + n && i < model_.size(); ++i) {
        if (i < first || model_[i] != block_is::used || (!all && random() % 8 == 0)) continue;
        mask |= std::uint64_t{1} << i % 64;
        model_[i] = block_is::free;
        ++marked;
      }
      if (mask != 0) bits_.mark(w, mask, marked);
    }
  }
  void take(std::size_t n, counts& sum) {
    sum.taken += bits_.take(n, [&](std::size_t block) {
      BOOST_REQUIRE(model_[block] == block_is::free);
      model_[block] = block_is::used;
    });
  }
  /// The lowest run goes: all of it, or without its ends, or with the free blocks beside it, as where blocks lie in two pages.
  void decommit(std::size_t from, std::size_t most, std::size_t how, counts& sum) {
    auto run = bits_.idle_run(from, most);
    check_run(run, from, most);
    if (run.blocks == 0) return;
    if (how == 1 && run.blocks > 2) ++run.first, run.blocks -= 2;
    if (how == 2 && run.first != 0 && bits_.is_free(run.first - 1)) --run.first, ++run.blocks;
    if (how == 2 && run.first + run.blocks != model_.size() && bits_.is_free(run.first + run.blocks)) ++run.blocks;
    std::size_t free = 0;
    for (std::size_t i = run.first; i != run.first + run.blocks; ++i) {
      BOOST_REQUIRE(model_[i] != block_is::used);
      free += model_[i] == block_is::free;
      sum.left_twice += model_[i] == block_is::gone;
      model_[i] = block_is::gone;
    }
    BOOST_REQUIRE(bits_.decommit(run) == free);
    ++sum.runs;
    sum.left += free;
  }
  void recommit(counts& sum) {
    const std::size_t w = bits_.lowest_decommitted();
    std::size_t lowest = 0;
    while (lowest != model_.size() && model_[lowest] != block_is::gone) ++lowest;
    BOOST_REQUIRE(w == (lowest == model_.size() ? idle_units::none : lowest / 64));
    if (w == idle_units::none) return;
    std::size_t came = 0;
    for (std::size_t i = w * 64; i != w * 64 + 64 && i != model_.size(); ++i) {
      if (model_[i] != block_is::gone) continue;
      model_[i] = block_is::free;
      ++came;
    }
    BOOST_REQUIRE(bits_.recommit(w) == came);
    sum.came_back += came;
  }

  void check() const {
    std::size_t free = 0, gone = 0, idle = 0;
    for (std::size_t i = 0; i != model_.size(); ++i) {
      free += model_[i] == block_is::free;
      gone += model_[i] == block_is::gone;
      if (bits_.is_free(i) != (model_[i] != block_is::used)) BOOST_FAIL("block " << i);
    }
    for (std::size_t at = 0; at + unit_ <= model_.size(); at += unit_) idle += is_idle(at);
    BOOST_REQUIRE(bits_.free_blocks() == free);
    BOOST_REQUIRE(bits_.units().decommitted() == gone);
    BOOST_REQUIRE(bits_.units().idle() == idle);
    BOOST_REQUIRE(memory_.front() == guard_word);
    BOOST_REQUIRE(memory_.back() == guard_word);
  }
  void forget() {
    bits_.forget();
    model_.assign(model_.size(), block_is::used);
  }

 private:
  static constexpr std::uint64_t guard_word = 0xABABABABABABABAB;

  /// All its blocks are free or gone, and not all gone.
  bool is_idle(std::size_t first) const {
    if (first + unit_ > model_.size()) return false;
    std::size_t gone = 0;
    for (std::size_t i = first; i != first + unit_; ++i) {
      if (model_[i] == block_is::used) return false;
      gone += model_[i] == block_is::gone;
    }
    return gone != unit_;
  }
  void check_run(block_bitmap::run run, std::size_t from, std::size_t most) const {
    std::size_t first = (from + unit_ - 1) / unit_ * unit_;
    while (first < model_.size() && !is_idle(first)) first += unit_;
    std::size_t blocks = 0;
    while (is_idle(first + blocks) && (blocks == 0 || blocks + unit_ <= most)) blocks += unit_;
    BOOST_REQUIRE(run.blocks == blocks);
    BOOST_REQUIRE((blocks == 0 || run.first == first));
  }

  std::size_t unit_;
  std::vector<std::uint64_t> memory_;  // with a word before it and one behind it that nobody may write
  std::vector<block_is> model_;
  block_bitmap bits_;
};

BOOST_AUTO_TEST_CASE(a_unit_always_covers_a_page) {
  for (const std::size_t page : {4096u, 16384u, 65536u}) {
    for (std::size_t stride = 8; stride <= 3 * page; stride += stride < 4096 ? 8 : 2048) {
      const std::size_t unit = std::size_t{1} << idle_units::shift_for(stride, page);
      if (page % stride == 0) BOOST_REQUIRE(unit * stride == page);
      else BOOST_REQUIRE((unit == 1 || unit * stride > 2 * page));  // wherever its first block starts
      BOOST_REQUIRE((unit == 1 || unit * stride <= 4 * page));
    }
  }
}

BOOST_AUTO_TEST_CASE(it_agrees_with_a_vector) {
  counts sum;
  for (const std::size_t stride : {8u, 16u, 48u, 64u, 100u, 1000u, 1024u, 4096u, 5000u}) {
    const unsigned shift = idle_units::shift_for(stride, 4096);
    for (const std::size_t blocks : {1u, 64u, 100u, 1500u, 9000u}) {
      std::mt19937 random(static_cast<unsigned>(blocks + stride));
      modelled map(blocks, std::size_t{1} << random() % 7, shift);
      for (int round = 0; round != 120; ++round) {
        const std::size_t what = random() % 12;
        if (what < 5) map.free(random() % blocks, random() % blocks + 1, random, what != 0);
        if (what >= 5 && what < 7) map.take(random() % blocks / 3 + 1, sum);
        for (std::size_t n = random() % 4; what >= 7 && what < 10 && n != 0; --n)
          map.decommit(random() % 2 * (random() % blocks), random() % 1024 + 1, random() % 3, sum);
        for (std::size_t n = random() % 40; what >= 10 && n != 0; --n) map.recommit(sum);
        if (round == 80) map.forget();
        map.check();
      }
    }
  }
  std::printf("%zu runs went: %zu blocks, and %zu that had gone; %zu came back, %zu were taken\n", sum.runs, sum.left,
              sum.left_twice, sum.came_back, sum.taken);
  BOOST_TEST(sum.runs > 500u);
  BOOST_TEST(sum.left > 100'000u);
  BOOST_TEST(sum.left_twice > 3000u);
  BOOST_TEST(sum.came_back > 50'000u);
  BOOST_TEST(sum.taken > 100'000u);
}

}  // namespace
