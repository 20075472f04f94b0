// Guarded slots and the sampler: what is done to a block must fault at the very byte, or be told when the block is given back.
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/policies/checking/sampled_guard_pages.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/test/policies/store/processes.h"

namespace {

using tarn::detail::guarded_slots;
using tarn::detail::sampler;
using tarn::detail::slot_view;
using kind = tarn::detail::slot_verdict::kind;
using place = slot_view::place;
using tarn::test::in_child;
using tarn::test::mapped_bytes;
using tarn::test::page_bytes;

constinit guarded_slots before_main;  // no code runs for it
constinit sampler before_main_too;
static_assert(std::is_trivially_destructible_v<guarded_slots> && std::is_trivially_destructible_v<sampler>);

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
bool at_left_end(const void* block) { return number(block) % page_bytes() == 0; }

/// Ends what it holds.
struct slots : guarded_slots {
  using guarded_slots::guarded_slots;
  ~slots() { end(); }
  std::byte* get(std::size_t bytes, std::size_t alignment = 1) { return static_cast<std::byte*>(take(bytes, alignment)); }
};

// What the child expects, for its signal handler.
const guarded_slots* watched;
const std::byte* expected;
const std::byte* expected_block;
place expected_place;

constexpr int as_expected = 42;

/// find() must know of the address in the handler, too.
extern "C" void fault(int, siginfo_t* what, void*) {
  if (what->si_addr != expected) _exit(43);
  const slot_view seen = watched->find(what->si_addr);
  _exit(seen.block != expected_block || seen.where != expected_place ? 44 : as_expected);
}

enum class access { read, write };

/// Whether an access faults at exactly this byte, and find() says this of it.
bool faults(const guarded_slots& from, const std::byte* at, access how, const std::byte* block, place where) {
  watched = &from;
  expected = at;
  expected_block = block;
  expected_place = where;
  return in_child([&] {
           struct sigaction action = {};
           action.sa_sigaction = fault;
           action.sa_flags = SA_SIGINFO;
           sigaction(SIGSEGV, &action, nullptr);
           volatile std::byte* const p = const_cast<std::byte*>(at);
           if (how == access::read) (void)*p;
           else *p = std::byte{1};
           return 0;
         }) == as_expected;
}

struct shape {
  std::size_t bytes;
  std::size_t alignment;
};
std::vector<shape> shapes() {
  std::vector<shape> all;
  for (const std::size_t bytes : std::vector<std::size_t>{1, 7, 64, 100, 4096, 5000})
    for (const std::size_t alignment : {1u, 8u, 64u, 4096u}) all.push_back({bytes, alignment});
  all.push_back({100, 4 * page_bytes()});
  all.push_back({5000, 4 * page_bytes()});
  all.push_back({3 * page_bytes(), 2 * page_bytes()});
  return all;
}

BOOST_AUTO_TEST_CASE(an_access_beside_a_block_or_to_a_freed_one_faults_at_its_byte) {
  int wrong = 0;
  for (const shape s : shapes()) {
    slots from(4);
    std::vector<std::byte*> blocks;
    for (int i = 0; i != 4; ++i) blocks.push_back(from.get(s.bytes, s.alignment));
    BOOST_REQUIRE(std::count(blocks.begin(), blocks.end(), nullptr) == 0);
    BOOST_REQUIRE(from.get(s.bytes, s.alignment) == nullptr);
    const std::size_t slack = (s.alignment - s.bytes % s.alignment) % s.alignment % page_bytes();
    bool left = false, right = false;
    for (std::byte* const block : blocks) {
      BOOST_REQUIRE(number(block) % s.alignment == 0);
      std::memset(block, 0x5A, s.bytes);  // each byte can be written
      const std::byte* const end = block + s.bytes;
      if ((number(end) + slack) % page_bytes() == 0 && !right) {
        right = true;
        const std::byte* const first = end + slack;
        wrong += !faults(from, first, access::write, block, place::guard_behind);
        wrong += !faults(from, first, access::read, block, place::guard_behind);
      }
      if (at_left_end(block) && !left) {
        left = true;
        wrong += !faults(from, block - 1, access::write, block, place::guard_before);
        wrong += !faults(from, block - 1, access::read, block, place::guard_before);
      }
    }
    BOOST_TEST((left && right));
    for (std::byte* const block : blocks) {
      BOOST_REQUIRE((from.give(block).is == kind::done));
      if (block != blocks[0] && block != blocks[1]) continue;
      for (const access how : {access::read, access::write}) {
        wrong += !faults(from, block, how, block, place::in_block);
        wrong += !faults(from, block + s.bytes - 1, how, block, place::in_block);
        wrong += !faults(from, block + s.bytes / 2, how, block, place::in_block);
      }
    }
    if (wrong != 0) BOOST_ERROR(s.bytes << " bytes, aligned to " << s.alignment << ": " << wrong << " wrong");
    wrong = 0;
  }
}

BOOST_AUTO_TEST_CASE(half_of_the_blocks_end_where_the_slot_ends) {
  slots from;
  int right = 0, left = 0, run = 0, longest = 0;
  bool before = false;
  for (int i = 0; i != 2000; ++i) {
    std::byte* const block = from.get(100, 4);
    const bool at_left = at_left_end(block);
    BOOST_REQUIRE((at_left || (number(block) + 100) % page_bytes() == 0));
    run = at_left == before ? run + 1 : 1;
    longest = std::max(longest, run);
    before = at_left;
    ++(at_left ? left : right);
    BOOST_REQUIRE((from.give(block).is == kind::done));
  }
  BOOST_TEST(std::abs(right - left) <= 2);
  BOOST_TEST(longest == 2);
}

BOOST_AUTO_TEST_CASE(every_byte_beside_the_block_is_looked_at) {
  int sides = 0;
  for (const shape s : {shape{100, 16}, shape{1, 8}, shape{5000, 64}, shape{4096, 4096}, shape{4095, 1}, shape{3, 4096}}) {
    slots from(4);
    for (int round = 0; round != 8; ++round) {
      std::byte* block = from.get(s.bytes, s.alignment);
      std::byte* const first = block - number(block) % page_bytes();
      std::byte* const last = first + (number(block) % page_bytes() + s.bytes + page_bytes() - 1) / page_bytes() * page_bytes();
      std::vector<std::byte*> beside;
      for (std::byte* p = first; p != last; ++p)
        if (p < block || p >= block + s.bytes) beside.push_back(p);
      std::mt19937 random(1);
      while (beside.size() > 70) {  // both ends of both sides stay, and some between
        const std::size_t i = 4 + random() % (beside.size() - 8);
        const std::byte* const p = beside[i];
        if (p + 4 >= block && p < block + s.bytes + 4) continue;
        beside.erase(beside.begin() + static_cast<std::ptrdiff_t>(i));
      }
      for (std::byte* const victim : beside) {
        const std::ptrdiff_t distance = victim - block;
        BOOST_REQUIRE((from.find(victim).where == (distance < 0 ? place::slack_before : place::slack_behind)));
        const std::byte old = *victim;
        *victim = old ^ std::byte{0x40};
        const tarn::detail::slot_verdict told = from.give(block);
        BOOST_REQUIRE((told.is == kind::damaged));
        BOOST_REQUIRE(told.offset == distance);
        BOOST_REQUIRE(told.damaged == 1u);
        BOOST_REQUIRE((told.value == (old ^ std::byte{0x40})));
        BOOST_REQUIRE((from.give(block).is == kind::double_free));  // it was taken back all the same
        // The same place once more: damage doesn't outlive the block.
        std::byte* again = nullptr;
        for (int i = 0; i != 20 && (again = from.get(s.bytes, s.alignment)) != block; ++i)
          BOOST_REQUIRE((from.give(again).is == kind::done));
        BOOST_REQUIRE(again == block);
      }
      sides |= block == first ? 1 : 2;
      BOOST_REQUIRE((from.give(block).is == kind::done));
    }
  }
  BOOST_TEST(sides == 3);
}

BOOST_AUTO_TEST_CASE(several_damaged_bytes_are_told_from_the_block_on) {
  slots from(1);
  for (int round = 0; round != 8; ++round) {
    std::byte* const block = from.get(33, 16);
    BOOST_REQUIRE(block != nullptr);
    std::memset(block + 33 + 2, 0, 5);
    std::byte value{0};
    if (!at_left_end(block)) {
      block[-3] = std::byte{7};
      block[-4] = std::byte{8};
      if (round > 3) {
        std::memset(block + 33, int(block[33]), 15);  // only in front
        value = std::byte{7};
      }
    }
    const tarn::detail::slot_verdict told = from.give(block);
    BOOST_TEST((told.is == kind::damaged));
    BOOST_TEST(told.offset == (value == std::byte{0} ? 35 : -3));
    BOOST_TEST(told.damaged == (value == std::byte{0} ? 5u : 2u));
    BOOST_TEST((told.value == value));
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_live_block_is_refused) {
  slots from(3);
  const auto refuses = [&](void* p, kind expected_kind) { BOOST_TEST((from.give(p).is == expected_kind)); };
  int elsewhere = 0;
  refuses(&elsewhere, kind::foreign);  // nothing was taken yet
  refuses(nullptr, kind::foreign);
  std::byte* const block = from.get(100, 8);
  std::byte* const second = from.get(100, 8);
  refuses(&elsewhere, kind::foreign);
  refuses(nullptr, kind::foreign);
  std::byte* const slot = block - number(block) % page_bytes();
  for (std::byte* p : {block - 1, block + 1, block + 8, block + 99, block + 100})
    refuses(p, p < slot || p >= slot + page_bytes() ? kind::foreign : kind::interior);
  refuses(slot - 1, kind::foreign);
  refuses(slot - page_bytes(), kind::foreign);
  refuses(slot + page_bytes(), kind::foreign);
  refuses(slot + 4 * page_bytes(), kind::foreign);  // never taken
  refuses(slot + 5 * page_bytes(), kind::foreign);  // the last guard
  refuses(slot + 6 * page_bytes(), kind::foreign);  // behind it
  refuses(slot - page_bytes() - 1, kind::foreign);  // the records
  BOOST_TEST((from.give(block).is == kind::done));
  refuses(block, kind::double_free);
  refuses(block + 1, kind::interior);
  BOOST_TEST(from.find(second).live);
  BOOST_TEST((from.give(second).is == kind::done));
  refuses(second, kind::double_free);
  refuses(block, kind::double_free);
}

BOOST_AUTO_TEST_CASE(slots_are_reused_in_the_order_in_which_they_were_freed) {
  for (const std::uint32_t n : {1u, 2u, 3u, 16u, 200u}) {
    slots from(n);
    std::vector<std::byte*> live;
    std::deque<std::uint32_t> free;
    for (std::uint32_t i = 0; i != n; ++i) free.push_back(i);
    std::mt19937 random(n);
    std::uint64_t sequence = 0;
    std::size_t exhausted = 0;
    std::map<const void*, std::pair<std::size_t, std::uint64_t>> model;
    for (int step = 0; step != 3000; ++step) {
      if (random() % 5 < 3) {
        const std::size_t bytes = 1 + random() % page_bytes(), alignment = std::size_t{1} << random() % 13;
        auto* const block = static_cast<std::byte*>(from.take(bytes, alignment, {++sequence, sequence + 7}));
        BOOST_REQUIRE((block == nullptr) == free.empty());
        if (block == nullptr) {
          ++exhausted;
          continue;
        }
        const slot_view seen = from.find(block);
        BOOST_REQUIRE(seen.slot == free.front());
        BOOST_REQUIRE(seen.bytes == bytes);
        BOOST_REQUIRE(seen.live);
        BOOST_REQUIRE(seen.taken.sequence == sequence);
        BOOST_REQUIRE(seen.taken.thread == sequence + 7);
        BOOST_REQUIRE(from.owns(block));
        free.pop_front();
        std::memset(block, static_cast<int>(sequence & 0xFF), bytes);
        live.push_back(block);
        model[block] = {bytes, sequence};
      } else if (!live.empty()) {
        std::swap(live[random() % live.size()], live.back());
        std::byte* const block = live.back();
        live.pop_back();
        const auto [bytes, written] = model[block];
        const auto mine = static_cast<std::byte>(written & 0xFF);
        BOOST_REQUIRE(std::count(block, block + bytes, mine) == static_cast<std::ptrdiff_t>(bytes));
        model.erase(block);
        free.push_back(from.find(block).slot);
        tarn::detail::memory_tools::poison(block, bytes);  // as pools do with what is free
        BOOST_REQUIRE((from.give(block, {++sequence, 9}).is == kind::done));
        const slot_view seen = from.find(block);
        BOOST_REQUIRE(!seen.live);
        BOOST_REQUIRE(seen.block == block);
        BOOST_REQUIRE(seen.taken.sequence == written);
        BOOST_REQUIRE(seen.given.sequence == sequence);
        BOOST_REQUIRE(seen.given.thread == 9u);
      }
      std::size_t visited = 0;
      from.each_live([&](const slot_view& v) {
        ++visited;
        BOOST_REQUIRE(model.count(v.block) == 1u);
        BOOST_REQUIRE(v.bytes == model[v.block].first);
        BOOST_REQUIRE(v.taken.sequence == model[v.block].second);
        BOOST_REQUIRE((v.live && v.offset == 0 && v.where == place::in_block));
      });
      BOOST_REQUIRE(visited == model.size());
    }
    BOOST_TEST((exhausted > 100u || n == 200));
  }
}

BOOST_AUTO_TEST_CASE(an_address_in_a_guard_belongs_to_the_nearer_slot) {
  slots from(3);
  std::byte* blocks[3];
  blocks[0] = from.get(page_bytes(), 1);
  const std::byte* const first = blocks[0];
  // Its neighbour never was: all of the guard is its own.
  BOOST_TEST(from.find(first + 2 * page_bytes() - 1).block == first);
  BOOST_TEST((from.find(first + 2 * page_bytes() - 1).where == place::guard_behind));
  BOOST_TEST(from.find(first + 2 * page_bytes() - 1).offset == static_cast<std::ptrdiff_t>(2 * page_bytes() - 1));
  BOOST_TEST(!from.find(first + 2 * page_bytes()));  // the neighbour itself
  blocks[1] = from.get(page_bytes(), 1);
  blocks[2] = from.get(page_bytes(), 1);
  const auto check = [&](const std::byte* address, int slot, place where) {
    const slot_view v = from.find(address);
    BOOST_TEST(v.block == blocks[slot]);
    BOOST_TEST(v.slot == static_cast<std::uint32_t>(slot));
    BOOST_TEST((v.where == where));
    BOOST_TEST(v.offset == address - blocks[slot]);
  };
  const std::size_t half = page_bytes() / 2;
  check(first - page_bytes(), 0, place::guard_before);
  check(first - half, 0, place::guard_before);
  check(first - 1, 0, place::guard_before);
  for (int slot = 0; slot != 3; ++slot) {
    check(blocks[slot], slot, place::in_block);
    check(blocks[slot] + page_bytes() - 1, slot, place::in_block);
    check(blocks[slot] + page_bytes(), slot, place::guard_behind);
    check(blocks[slot] + page_bytes() + half - 1, slot, place::guard_behind);
    if (slot != 2) check(blocks[slot] + page_bytes() + half, slot + 1, place::guard_before);
    if (slot != 2) check(blocks[slot] + 2 * page_bytes() - 1, slot + 1, place::guard_before);
    else check(blocks[slot] + 2 * page_bytes() - 1, slot, place::guard_behind);
  }
  for (const std::byte* outside : {first - page_bytes() - 1, first + 6 * page_bytes()}) {
    BOOST_TEST(!from.owns(outside));
    BOOST_TEST(!from.find(outside));
  }
  for (const std::byte* inside : {first - page_bytes(), first + 6 * page_bytes() - 1}) BOOST_TEST(from.owns(inside));
}

BOOST_AUTO_TEST_CASE(nothing_is_mapped_before_the_first_use_nor_after_the_end) {
  int elsewhere = 0;
  for (const void* p : {static_cast<const void*>(&elsewhere), static_cast<const void*>(nullptr),
                        reinterpret_cast<const void*>(std::uintptr_t(-1))}) {
    BOOST_TEST(!before_main.owns(p));
    BOOST_TEST(!before_main.find(p));
  }
  int visited = 0;
  before_main.each_live([&](const slot_view&) { ++visited; });
  BOOST_TEST(visited == 0);
  before_main.end();  // nothing to end
  (void)mapped_bytes();  // has its own memory from now on
  for (int round = 0; round != 3; ++round) {
    const std::size_t before = mapped_bytes();
    auto* const block = static_cast<std::byte*>(before_main.take(64, 8));
    BOOST_REQUIRE(block != nullptr);
    BOOST_TEST(before_main.find(block).slot == 0u);
    BOOST_TEST(!before_main.owns(&elsewhere));
    BOOST_TEST(mapped_bytes() - before == 35 * page_bytes());  // 16 slots, 17 guards, the records, a guard before them
    BOOST_TEST((before_main.give(before_main.take(64, 8)).is == kind::done));
    std::byte* const start = block - number(block) % page_bytes() - 3 * page_bytes();
    BOOST_TEST(faults(before_main, start + page_bytes() - 1, access::write, nullptr, place::in_block));  // of no block
    BOOST_TEST(!faults(before_main, start + page_bytes(), access::read, nullptr, place::in_block));  // the records
    before_main.end();
    BOOST_TEST(mapped_bytes() == before);
    BOOST_TEST(!before_main.owns(block));
    BOOST_TEST(!before_main.find(block));
    BOOST_TEST((before_main.give(block).is == kind::foreign));
  }
}

BOOST_AUTO_TEST_CASE(all_together_have_a_bound) {
  const std::size_t used = tarn::detail::slots_of_process().load(tarn::detail::memory_order_relaxed);
  guarded_slots rest(static_cast<std::uint32_t>(tarn::detail::most_slots_of_process - used));
  guarded_slots one_more(1);
  BOOST_TEST(rest.take(64, 8) != nullptr);
  BOOST_TEST(one_more.take(64, 8) == nullptr);
  rest.end();
  BOOST_TEST(one_more.take(64, 8) != nullptr);
  one_more.end();
  BOOST_TEST(tarn::detail::slots_of_process().load(tarn::detail::memory_order_relaxed) == used);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  constexpr std::size_t huge = static_cast<std::size_t>(-1);
  slots from(2);
  const std::size_t before = mapped_bytes();
  for (const std::size_t bytes : {huge, huge - page_bytes(), huge / 2 + 1, huge / 8, huge / 8 + 1, huge / 64, std::size_t{0}}) {
    BOOST_TEST(from.get(bytes, 1) == nullptr);
    BOOST_TEST(from.get(bytes, huge / 2 + 1) == nullptr);
    BOOST_TEST(from.get(1, huge / 2 + 1) == nullptr);
  }
  BOOST_TEST(mapped_bytes() == before);
  std::byte* const block = from.get(10, 8);
  BOOST_TEST(from.get(page_bytes() + 1, 1) == nullptr);  // slots are a page
  BOOST_TEST(from.get(1, 2 * page_bytes()) == nullptr);
  BOOST_TEST(from.get(huge, 1) == nullptr);
  BOOST_TEST(from.get(0, 1) == nullptr);
  std::byte* const other = from.get(page_bytes(), page_bytes());
  BOOST_TEST(other != nullptr);
  BOOST_TEST(from.get(1, 1) == nullptr);
  BOOST_TEST(from.find(block).live);
  slots none(0);
  BOOST_TEST(none.get(1, 1) == nullptr);
}

#if defined(TARN_TSAN)
constexpr bool can_refuse = false;  // it maps memory for itself meanwhile
#else
constexpr bool can_refuse = true;
#endif

/// New writable memory is refused to this process, as when there is none.
struct no_memory {
  no_memory() {
    getrlimit(RLIMIT_DATA, &before);
    rlimit none = before;
    none.rlim_cur = 1;  // 0 means something else to Linux
    setrlimit(RLIMIT_DATA, &none);
  }
  ~no_memory() { setrlimit(RLIMIT_DATA, &before); }
  rlimit before;
};

BOOST_AUTO_TEST_CASE(without_memory_nothing_changes, *boost::unit_test::enable_if<can_refuse>()) {
  slots from(4);
  const std::size_t before = mapped_bytes();
  std::byte* refused;
  {
    const no_memory now;
    refused = from.get(64, 8);
  }
  BOOST_TEST(refused == nullptr);
  BOOST_TEST(mapped_bytes() == before);
  BOOST_TEST(!from.owns(refused));
  std::byte* const block = from.get(64, 8);
  BOOST_REQUIRE(block != nullptr);
  int refusals = 0;
  {
    const no_memory now;
    for (int i = 0; i != 10; ++i) refusals += from.get(64, 8) == nullptr;
  }
  BOOST_TEST(refusals == 10);
  int live = 0;
  from.each_live([&](const slot_view& v) { live += v.block == block; });
  BOOST_TEST(live == 1);
  for (std::uint32_t slot = 1; slot != 4; ++slot) BOOST_TEST(from.find(from.get(64, 8)).slot == slot);
  BOOST_TEST(from.get(64, 8) == nullptr);
  BOOST_TEST((from.give(block).is == kind::done));
}

BOOST_AUTO_TEST_CASE(blocks_larger_than_a_page_hold_memory_while_they_are_live) {
  slots from(4);
  const std::size_t bytes = 8 * page_bytes();
  std::byte* const block = from.get(bytes, 64);
  std::memset(block, 1, bytes);
  std::byte* const smaller = from.get(page_bytes() + 1, 1);  // of its slot's eight pages, two can be accessed
  const std::byte* const second = block + 9 * page_bytes();
  const bool left = smaller == second;
  BOOST_TEST((left || smaller + page_bytes() + 1 == second + 8 * page_bytes()));
  BOOST_TEST(faults(from, left ? second + 2 * page_bytes() : second + 6 * page_bytes() - 1, access::write, smaller,
                    left ? place::guard_behind : place::guard_before));
  std::vector<unsigned char> in_memory(8);
  const auto resident = [&] {
    BOOST_REQUIRE(mincore(block, bytes, in_memory.data()) == 0);
    return std::count_if(in_memory.begin(), in_memory.end(), [](unsigned char p) { return (p & 1) != 0; });
  };
  BOOST_TEST(resident() == 8);
  BOOST_TEST((from.give(block).is == kind::done));
  BOOST_TEST(resident() == 0);
}

/// Mappings that overlap a range.
int mappings_in(const std::byte* start, std::size_t bytes) {
  std::FILE* const file = std::fopen("/proc/self/maps", "r");
  int n = 0;
  char line[512];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    std::uintptr_t first = 0, last = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &last) == 2)
      n += first < number(start) + bytes && last > number(start);
  }
  std::fclose(file);
  return n;
}

BOOST_AUTO_TEST_CASE(a_slot_stays_a_mapping_of_its_own) {
  slots from(8);
  std::byte* blocks[8];
  for (std::byte*& block : blocks) *(block = from.get(page_bytes())) = std::byte{1};
  // Merged with the guards around it, and torn out again, each call would take twice as long.
  const auto count = [&] { return mappings_in(blocks[0] - page_bytes(), 17 * page_bytes()); };
  BOOST_TEST(count() == 17);
  for (int round = 0; round != 3; ++round) {
    for (std::byte* const block : blocks) BOOST_REQUIRE((from.give(block).is == kind::done));
    BOOST_TEST(count() == 17);
    for (std::byte*& block : blocks) block = from.get(page_bytes());
    BOOST_TEST(count() == 17);
  }
}

BOOST_AUTO_TEST_CASE(a_child_has_slots_of_its_own) {
  slots from(2);
  std::byte* const block = from.get(64, 8);
  block[0] = std::byte{1};
  BOOST_TEST(in_child([&] {
               block[0] = std::byte{2};
               return from.give(block).is == kind::done && from.get(64, 8) != nullptr ? 7 : 8;
             }) == 7);
  BOOST_TEST((block[0] == std::byte{1}));
  BOOST_TEST((from.give(block).is == kind::done));
}

BOOST_AUTO_TEST_CASE(any_thread_may_ask) {
  slots from(4);
  int elsewhere = 0;
  std::atomic<std::byte*> shared = nullptr;
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::atomic<std::size_t> asked = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t != 2; ++t)
    threads.emplace_back([&] {
      int mine = 0;
      do {  // nothing in here waits for what the other thread did, but find() itself
        std::byte* const block = shared.load(std::memory_order_relaxed);
        mine += from.owns(&elsewhere) || from.find(&elsewhere);
        if (block != nullptr) {
          mine += !from.owns(block);
          const slot_view v = from.find(block);
          mine += v && v.bytes != 0 && v.bytes != 100;
          asked.fetch_add(1, std::memory_order_relaxed);
        }
      } while (!stop.load(std::memory_order_relaxed));
      wrong += mine;
    });
  int failed = 0;
  for (int i = 0; i < 5'000 || asked.load(std::memory_order_relaxed) < 5'000; ++i) {
    void* const block = from.take(100, 4, {1, 2});
    shared.store(static_cast<std::byte*>(block), std::memory_order_relaxed);
    failed += from.give(block, {3, 4}).is != kind::done;
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  BOOST_TEST(failed == 0);
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(one_call_in_n_is_due) {
  constexpr int calls = 4'000'000;
  struct rate {
    std::uint32_t mean;
    std::uint32_t seed;
  };
  for (const auto [mean, seed] : {rate{1, 0}, rate{2, 1}, rate{100, 0}, rate{5000, 0}, rate{5000, 1}}) {
    sampler s(seed);
    std::uint32_t gap = 0, longest = 0;
    int due = 0;
    bool each = false;
    for (int i = 0; i != calls; ++i) {
      ++gap;
      if (!s.due(mean)) continue;
      ++due;
      each |= gap == 1;
      longest = std::max(longest, gap);
      gap = 0;
    }
    // The gaps' deviation is mean / sqrt(3): five deviations of the sum either way.
    const double expected_due = double(calls) / mean;
    const double tolerance = mean == 1 ? 0 : 5 * std::sqrt(expected_due / 3);
    BOOST_TEST(std::abs(due - expected_due) <= tolerance);
    BOOST_TEST(longest <= 2 * mean - 1);
    BOOST_TEST(longest >= (mean == 1 ? 1 : 2 * mean - 1 - mean / 20));
    BOOST_TEST((each || mean == 5000));
  }
}

BOOST_AUTO_TEST_CASE(threads_that_share_a_sampler_go_on_being_sampled) {
  constexpr int calls = 1'000'000, threads = 3;
  sampler s, each;
  std::atomic<int> due = 0, missed = 0;
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t)
    all.emplace_back([&] {
      int mine = 0, not_due = 0;
      for (int i = 0; i != calls; ++i) mine += s.due(100), not_due += !each.due(1);
      due += mine;
      missed += not_due;
    });
  for (std::thread& t : all) t.join();
  BOOST_TEST(missed == 0);
  BOOST_TEST(due > calls * threads / 100 / 10);  // calls that meet may count as one
  BOOST_TEST(due < calls * threads / 100 * 10);

  int later = 0;
  for (int i = 0; i != calls; ++i) later += s.due(100);
  BOOST_TEST(std::abs(later - calls / 100) < 300);
}

BOOST_AUTO_TEST_CASE(which_calls_are_due_is_up_to_the_seed) {
  const auto calls = [](std::uint32_t seed) {
    sampler s(seed);
    std::vector<int> due;
    for (int i = 0; i != 100'000; ++i)
      if (s.due(50)) due.push_back(i);
    return due;
  };
  const std::vector<int> once = calls(7);
  BOOST_TEST(once.size() > 1500u);
  BOOST_TEST((once == calls(7)));
  BOOST_TEST((once != calls(8)));
  sampler one, other;  // where a seed isn't given
  int different = 0;
  for (int i = 0; i != 10'000; ++i) different += one.due(50) != other.due(50);
  BOOST_TEST(different > 100);
  BOOST_TEST(!(before_main_too.due(5000) && before_main_too.due(5000)));

  // The first call is one as any other: of 2000 samplers 10 or so begin with a hit.
  int first = 0;
  std::deque<sampler> many;
  for (int i = 0; i != 2000; ++i) first += many.emplace_back().due(100);
  BOOST_TEST(first <= 35);
}

}  // namespace
