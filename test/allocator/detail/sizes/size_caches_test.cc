// Caches for many sizes, over a core that knows where each block is.
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tarn/test/allocator/detail/sizes/noted_core.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using table = noted_core::table;
using caches_type = detail::size_caches<noted_core>;
using plan = caches_type::plan;
constexpr plan usual{detail::cache_limits{}};
constexpr plan tight{detail::cache_limits{.magazine = 2048, .first = 256, .depot = 4096, .part = 16 * 1024}};

struct rig {
  explicit rig(const plan& magazines = usual, std::size_t most = 20'000) : core(most), caches(core, magazines) {}
  ~rig() {
    caches.reclaim(nullptr);
    CHECK(core.out() == 0);
    CHECK(core.is_sound());
    CHECK(core.wrong == 0);
    caches.end();
  }
  noted_core core;
  caches_type caches;
};

/// What a face of the layer does, with the tops in the part.
class user {
 public:
  explicit user(rig& its) : its_(its), part_(its.caches.enrol(nullptr)) {}
  ~user() {
    if (part_ != nullptr) its_.caches.leave(*part_);
  }
  user(const user&) = delete;
  user& operator=(const user&) = delete;

  void* take(unsigned c) {
    if (part_ == nullptr) return its_.caches.take_alone(c);
    if (void* const block = detail::take_from(part_->top[c])) return block;
    return its_.caches.take(*part_, c);
  }
  void give(unsigned c, void* block) {
    if (part_ == nullptr) return its_.caches.give_alone(c, block);
    if (!detail::give_to(part_->top[c], block)) its_.caches.give(*part_, c, block);
  }
  caches_type::part* part() { return part_; }

 private:
  rig& its_;
  caches_type::part* part_;
};

struct box {
  void* block;
  unsigned c;
  unsigned char stamp;
};
void fill(const box& b) { std::memset(b.block, b.stamp, table::bytes(b.c)); }
bool is_whole(const box& b) {
  const auto* const at = static_cast<const unsigned char*>(b.block);
  return std::all_of(at, at + table::bytes(b.c), [&](unsigned char byte) { return byte == b.stamp; });
}

/// Takes and gives at random, and counts blocks with another's stamp. Returns how often there was no block.
unsigned churn(user& mine, unsigned seed, unsigned steps, unsigned& damaged, unsigned held = 200) {
  std::mt19937 dice(seed);
  std::vector<box> boxes;
  unsigned refused = 0;
  for (unsigned i = 0; i != steps; ++i) {
    if (boxes.size() < held && dice() % 5 != 0) {
      const unsigned c = 1 + static_cast<unsigned>(dice() % (table::count - 1));
      const box b{mine.take(c), c, static_cast<unsigned char>(dice())};
      if (b.block == nullptr) ++refused;
      else fill(b), boxes.push_back(b);
    } else if (!boxes.empty()) {
      const std::size_t at = dice() % boxes.size();
      damaged += !is_whole(boxes[at]);
      mine.give(boxes[at].c, boxes[at].block);
      boxes[at] = boxes.back();
      boxes.pop_back();
    }
  }
  for (const box& b : boxes) damaged += !is_whole(b), mine.give(b.c, b.block);
  return refused;
}

BOOST_AUTO_TEST_CASE(the_table_knows_the_classes) {
  for (std::size_t bytes = 0; bytes <= table::largest; ++bytes) {
    const unsigned c = table::of(bytes);
    CHECK(c >= 1 && c < table::count);
    CHECK(table::bytes(c) >= bytes && (c == 1 || table::bytes(c - 1) < bytes));
  }
  for (unsigned c = 1; c != table::count; ++c)
    for (std::size_t offset = 0; offset < 256 * 1024; offset += offset % 97 == 0 ? 1 : 7)
      REQUIRE(table::block_at(c, offset) == offset / table::bytes(c));
  using listed = detail::class_table<listed_classes<24, 40, 100>>;
  CHECK(listed::of(0) == 1 && listed::of(24) == 1 && listed::of(25) == 2 && listed::of(41) == 3 && listed::of(100) == 3);
}

BOOST_AUTO_TEST_CASE(magazines_hold_as_many_bytes_as_the_plan_says) {
  for (unsigned c = 1; c != table::count; ++c) {
    CHECK(usual.first[c] <= usual.largest[c]);
    CHECK(plan::blocks(usual.largest[c]) == 1 || plan::blocks(usual.largest[c]) * table::bytes(c) <= 32 * 1024);
    CHECK(usual.depot[c] >= 2);
  }
  CHECK(plan::blocks(usual.largest[1]) == 509);
}

BOOST_AUTO_TEST_CASE(no_block_is_handed_out_twice) {
  for (const plan* magazines : {&usual, &tight}) {
    rig r(*magazines);
    unsigned damaged = 0;
    {
      user mine(r);
      CHECK(churn(mine, 1, 60'000, damaged, 2000) == 0);
    }
    CHECK(damaged == 0);
  }
}

BOOST_AUTO_TEST_CASE(fresh_blocks_come_in_the_order_of_the_core) {
  rig r;
  user mine(r);
  std::vector<void*> got;
  for (int i = 0; i != 40; ++i) got.push_back(mine.take(1));
  CHECK(std::is_sorted(got.begin(), got.end()));
  for (void* const block : got) mine.give(1, block);
}

BOOST_AUTO_TEST_CASE(a_thread_and_a_depot_hold_no_more_than_the_plan_says) {
  rig r(tight);
  user mine(r);
  std::vector<box> all;
  for (unsigned round = 0; round != 20; ++round) {
    for (unsigned c = 1; c != table::count; ++c)
      for (int i = 0; i != 300; ++i) all.push_back({mine.take(c), c, 0});
    for (const box& b : all) mine.give(b.c, b.block);
    all.clear();
    std::size_t room = 0;
    for (unsigned c = 1; c != table::count; ++c) {
      const auto& my = mine.part()->classes[c];
      for (const detail::cache_magazine* const one : {my.current, my.spare})
        if (one != nullptr) room += one->capacity() * table::bytes(c);
      const std::size_t full = plan::blocks(tight.largest[c]) * tight.depot[c];
      CHECK(r.core.out(c) <= full + 2 * plan::blocks(tight.largest[c]));
    }
    std::size_t first = 0;
    for (unsigned c = 1; c != table::count; ++c) first += 2 * plan::blocks(tight.first[c]) * table::bytes(c);
    CHECK(room <= tight.part + first);
    CHECK(mine.part()->room <= tight.part + first);
  }
}

BOOST_AUTO_TEST_CASE(magazines_grow_with_use) {
  rig r;
  user mine(r);
  std::vector<void*> got;
  unsigned before = r.core.fills;
  for (int i = 0; i != 5000; ++i) got.push_back(mine.take(1));
  CHECK(r.core.fills - before < 5000 / 61);
  for (void* const block : got) mine.give(1, block);
  CHECK(mine.part()->classes[1].wanted == usual.largest[1]);
}

BOOST_AUTO_TEST_CASE(a_pair_around_the_edge_of_a_magazine_asks_the_core_for_nothing) {
  rig r;
  user mine(r);
  std::vector<void*> got;
  for (int i = 0; i != 3000; ++i) got.push_back(mine.take(2));
  for (void* const block : got) mine.give(2, block);
  const unsigned before = r.core.fills;
  for (int round = 0; round != 1000; ++round) {
    got.clear();
    for (int i = 0; i != 64; ++i) got.push_back(mine.take(2));
    for (void* const block : got) mine.give(2, block);
  }
  CHECK(r.core.fills == before);
}

BOOST_AUTO_TEST_CASE(the_first_block_of_another_thread_comes_last) {
  rig r;
  user one(r), other(r);
  void* const foreign = one.take(1);
  other.give(1, foreign);
  std::vector<void*> got;
  for (std::uint32_t i = 0; i != plan::blocks(usual.first[1]) - 1; ++i) {
    got.push_back(other.take(1));
    CHECK(got.back() != foreign);
  }
  CHECK(other.take(1) == foreign);
  for (void* const block : got) other.give(1, block);
  other.give(1, foreign);
}

BOOST_AUTO_TEST_CASE(a_sweep_takes_what_nobody_asked_for) {
  rig r;
  user mine(r);
  mine.give(1, mine.take(1));
  mine.give(2, mine.take(2));
  r.caches.sweep(mine.part());  // both were asked for
  CHECK(r.core.out(1) != 0 && r.core.out(2) != 0);
  std::vector<void*> got;
  for (std::uint32_t i = 0; i != plan::blocks(usual.first[1]) + 1; ++i) got.push_back(mine.take(1));
  r.caches.sweep(mine.part());
  CHECK(r.core.out(1) != 0);
  CHECK(r.core.out(2) == 0);
  for (void* const block : got) mine.give(1, block);
  CHECK(mine.part()->room == 2 * plan::blocks(mine.part()->classes[1].wanted) * table::bytes(1));
}

BOOST_AUTO_TEST_CASE(a_sweep_takes_the_magazines_that_a_depot_didnt_need) {
  rig r;
  user mine(r);
  std::vector<void*> got;
  for (int i = 0; i != 10'000; ++i) got.push_back(mine.take(1));
  for (void* const block : got) mine.give(1, block);
  std::size_t in_depot = 0;
  const auto count = [&] {
    r.caches.each_depot([&](unsigned c, std::size_t blocks) {
      if (c == 1) in_depot = blocks;
    });
    return in_depot;
  };
  CHECK(count() > 5000);
  r.caches.sweep(nullptr);
  CHECK(count() > 5000);  // they came since the last sweep
  got.clear();
  for (int i = 0; i != 3000; ++i) got.push_back(mine.take(1));
  const std::size_t fewest = count();
  for (void* const block : got) mine.give(1, block);
  const std::size_t before = count();
  CHECK(fewest != 0 && before > fewest);
  r.caches.sweep(nullptr);
  CHECK(count() == before - fewest);
}

BOOST_AUTO_TEST_CASE(the_next_thread_gets_what_one_leaves) {
  rig r;
  caches_type::part* left;
  void* block;
  {
    user mine(r);
    left = mine.part();
    block = mine.take(3);
    mine.give(3, block);
  }
  const unsigned before = r.core.fills;
  user next(r);
  CHECK(next.part() == left);
  CHECK(next.take(3) == block);
  CHECK(r.core.fills == before);
  next.give(3, block);
}

BOOST_AUTO_TEST_CASE(of_many_threads_that_end_a_few_leave_blocks) {
  rig r;
  {
    std::vector<std::unique_ptr<user>> all;
    for (int i = 0; i != 30; ++i) {
      all.push_back(std::make_unique<user>(r));
      all.back()->give(1, all.back()->take(1));
    }
    CHECK(r.core.out() >= 30);
  }
  CHECK(r.core.out() != 0);
  CHECK(r.core.out() <= 4 * plan::blocks(usual.first[1]));
  r.caches.sweep(nullptr);
  CHECK(r.core.out() == 0);
}

BOOST_AUTO_TEST_CASE(it_is_told_when_many_threads_ended) {
  rig r;
  user main_thread(r);
  const auto threads = [&r](unsigned n) {  // that end, and what the last one is told
    std::vector<caches_type::part*> all;
    for (unsigned i = 0; i != n; ++i) {
      all.push_back(r.caches.enrol(nullptr));
      caches_type::part& its = *all.back();
      void* block = detail::take_from(its.top[1]);
      if (block == nullptr) block = r.caches.take(its, 1);
      CHECK(detail::give_to(its.top[1], block));
    }
    unsigned told = 0;
    for (std::size_t i = 0; i != all.size(); ++i) {
      const bool now = r.caches.leave(*all[i]);
      CHECK(!now || i + 1 == all.size());
      told += now;
    }
    return told != 0;
  };
  for (int round = 0; round != 3; ++round) CHECK(!threads(4));  // four leave blocks, which the next four take
  CHECK(r.core.out(1) != 0);
  CHECK(threads(5));
  r.caches.reclaim(nullptr);
  CHECK(r.core.out(1) == 0);
  for (int round = 0; round != 3; ++round) CHECK(!threads(4));
  CHECK(r.core.out(1) != 0);
}

BOOST_AUTO_TEST_CASE(tops_may_lie_elsewhere) {
  rig r;
  detail::cache_word* tops[table::count];
  for (auto*& top : tops) top = detail::nobodys_words;
  caches_type::part* const mine = r.caches.enrol(tops);
  CHECK(mine->top == tops);
  void* const block = r.caches.take(*mine, 4);
  CHECK(detail::give_to(tops[4], block));
  r.caches.leave(*mine);
  CHECK(std::all_of(std::begin(tops), std::end(tops), [](auto* top) { return top == detail::nobodys_words; }));
  CHECK(mine->top == mine->kept);
  caches_type::part* const again = r.caches.enrol(tops);
  CHECK(again == mine);
  CHECK(detail::take_from(tops[4]) == block);
  CHECK(detail::give_to(tops[4], block));
  r.caches.leave(*again);
}

BOOST_AUTO_TEST_CASE(an_empty_core_is_said_and_all_comes_back) {
  rig r(tight, 50);
  user mine(r);
  std::vector<void*> got;
  for (void* block = mine.take(1); block != nullptr; block = mine.take(1)) got.push_back(block);
  CHECK(got.size() == 50);
  CHECK(r.caches.take_alone(1) == nullptr);
  for (void* const block : got) mine.give(1, block);
  r.caches.reclaim(mine.part());
  CHECK(r.core.out() == 0);
  got.clear();
  for (void* block = mine.take(1); block != nullptr; block = mine.take(1)) got.push_back(block);
  CHECK(got.size() == 50);
  for (void* const block : got) mine.give(1, block);
}

BOOST_AUTO_TEST_CASE(a_thread_without_a_part_finds_what_lies_in_the_depot) {
  rig r(tight, 2000);
  user mine(r);
  std::vector<void*> got;
  for (void* block = mine.take(1); block != nullptr; block = mine.take(1)) got.push_back(block);
  for (void* const block : got) mine.give(1, block);
  std::size_t in_depot = 0;
  r.caches.each_depot([&](unsigned c, std::size_t blocks) {
    if (c == 1) in_depot = blocks;
  });
  REQUIRE(in_depot != 0);
  got.clear();
  for (void* block = r.caches.take_alone(1); block != nullptr; block = r.caches.take_alone(1)) got.push_back(block);
  CHECK(got.size() >= in_depot);
  for (void* const block : got) r.caches.give_alone(1, block);
}

BOOST_AUTO_TEST_CASE(without_memory_for_magazines_blocks_come_and_go) {
  for (const bool all : {false, true})
    for (unsigned at = 1; at != 80; ++at) {
      rig r(tight);
      r.core.refuses_at = at;
      r.core.refuses_all = all;
      unsigned damaged = 0;
      {
        user mine(r);
        churn(mine, at, 3000, damaged);
        user other(r);
        churn(other, at + 1, 500, damaged);
      }
      CHECK(damaged == 0);
      r.core.refuses_at = 0;
    }
}

BOOST_AUTO_TEST_CASE(threads_pass_blocks_on) {
  rig r(tight);
  std::array<std::atomic<box*>, 64> table_of_all{};
  std::atomic<unsigned> damaged = 0;
  const auto work = [&](unsigned seed, unsigned steps) {
    user mine(r);
    std::mt19937 dice(seed);
    std::vector<box> boxes;
    for (unsigned i = 0; i != steps; ++i) {
      const unsigned what = static_cast<unsigned>(dice() % 8);
      if (what < 4 || boxes.empty()) {
        const unsigned c = 1 + static_cast<unsigned>(dice() % 20);
        const box b{mine.take(c), c, static_cast<unsigned char>(dice())};
        if (b.block != nullptr) fill(b), boxes.push_back(b);
        continue;
      }
      box b = boxes.back();
      boxes.pop_back();
      damaged += !is_whole(b);
      if (what < 6) {
        box* const theirs = table_of_all[dice() % table_of_all.size()].exchange(new box(b));
        if (theirs == nullptr) continue;
        b = *theirs;
        delete theirs;
        damaged += !is_whole(b);
      }
      mine.give(b.c, b.block);
      if (i % 1000 == 0) r.caches.sweep(mine.part());
    }
    for (const box& b : boxes) mine.give(b.c, b.block);
  };
  for (unsigned round = 0; round != 6; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i != 4; ++i) threads.emplace_back(work, round * 4 + i, round == 0 ? 20'000u : 500u);
    for (auto& thread : threads) thread.join();
  }
  user last(r);
  for (auto& place : table_of_all)
    if (box* const b = place.exchange(nullptr)) {
      damaged += !is_whole(*b);
      last.give(b->c, b->block);
      delete b;
    }
  CHECK(damaged == 0);
}

}  // namespace
}  // namespace tarn::test
