// stack_calls and block_numbers under every order that few preemptions make: blocks are carved by two threads at once, and
// found by their numbers, and numbers by blocks, while chunks are added and larger tables take the place of others.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/size.h"
#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"
#include "tarn/test/schedule/stack_calls_variants.h"

namespace tarn::test {
namespace {

/// \tparam Head  the word of the stack
template <bool OneChunk, class Head = std::uint64_t>
struct stack_traits {
  using head = Head;
  using geometry = detail::geometry<static_size<64>, detail::block_shape{16, 8}>;
  struct chunk : detail::numbered_column<scheduled_atomic, detail::half_of<Head>> {
    watched<std::byte*> first = nullptr;
    watched<std::size_t> blocks = 0;
    std::size_t carved = 0;
    chunk* next = nullptr;
  };
  static constexpr bool one_chunk = OneChunk, may_grow_past_cap = false;
  static constexpr bool has_bounded_store = false, store_is_bounded = false, second_store_is_bounded = false;
};

/// The pool behind the stack: its list and its chunks in one. It carves, a few blocks at a time, under the guard only.
template <class Traits>
class carver {
 public:
  using chunk = typename Traits::chunk;

  void set_up(const scheduled_mutex& guard, std::size_t at_most, std::size_t chunks) noexcept {
    guard_ = &guard;
    at_most_ = at_most;
    left_ = chunks;
  }
  typename Traits::geometry geometry() const noexcept { return {}; }
  /// As chunks::next(): whether a further chunk may come.
  auto next(std::size_t, std::size_t) const noexcept {
    struct {
      std::size_t wanted;
    } const request{left_};
    return request;
  }
  void adopt(chunk& c, carver&) noexcept {
    check();
    --left_;
    c.next = first_;
    first_ = &c;
  }
  std::size_t pop_batch(carver&, void** out, std::size_t n) noexcept {
    check();
    const std::size_t wanted = std::min(n, at_most_);
    std::size_t got = 0;
    for (chunk* c = first_; c != nullptr; c = c->next)
      while (got != wanted && c->carved != c->blocks)
        out[got++] = c->first + geometry().distance(c->carved++) + geometry().offset();
    return got;
  }
  detail::status push_batch(carver&, void* const*, std::size_t) noexcept {
    the_scheduler.fail("a block came back to the list");
    return detail::status::done;
  }
  static constexpr bool is_empty() noexcept { return true; }
  bool has_more() const noexcept {
    check();
    return !is_carved();
  }
  /// Whether every block of every chunk was carved.
  bool is_carved() const noexcept {
    const chunk* c = first_;
    while (c != nullptr && c->carved == c->blocks) c = c->next;
    return c == nullptr;
  }

 private:
  void check() const noexcept {
    if (!guard_->is_mine()) the_scheduler.fail("the list is used without its guard");
  }

  const scheduled_mutex* guard_ = nullptr;
  std::size_t at_most_ = 0;
  std::size_t left_ = 0;  // chunks that may still come
  chunk* first_ = nullptr;
};

/// A thread's script is a word: a takes a block, or adopts a chunk where none is free; n gives the newest of its own back, o
/// the oldest, c all of them at once; + adopts a chunk; p prepares the pool.
struct stack_script {
  std::array<const char*, 4> words;
  std::size_t chunks;     // at most
  std::size_t blocks;     // in each
  std::size_t at_most;    // blocks that the core carves at once
  std::size_t adopted;    // chunks before the schedule begins
  const char* before = "";  // what the first thread does before
};

template <class Types, bool OneChunk = false, class Head = std::uint64_t>
class stack_world {
  using traits = stack_traits<OneChunk, Head>;
  using chunk = typename traits::chunk;
  using link = typename chunk::link;

 public:
  explicit stack_world(const stack_script& script) noexcept : script_(script) {
    owners_.fill(nobody);
    carver_.set_up(pool_.locking.guards_.hot_mutex(), script.at_most, script.chunks);
    for (const char* word : script.words)
      for (; word != nullptr && *word != '\0'; ++word) takes_ += *word == 'a';
    for (const char* op = script.before; *op != '\0'; ++op) takes_ += *op == 'a';
    the_scheduler.pretend(0);
    while (adopted_ != script.adopted) grow();
    follow(script.before);
    the_scheduler.pretend(nobody);
  }

  void run(unsigned thread) noexcept { follow(script_.words[thread]); }
  void finish() noexcept {
    if (adopted_ == script_.chunks && carver_.is_carved() && !pool_.locking.has_nothing_more())
      the_scheduler.fail("the first refusal would take the guard");
    the_scheduler.pretend(scheduler::most - 1);
    for (std::size_t i = 0; i <= most; ++i) {
      void* const block = pool_.locking.pop_slow(pool_);
      if (block == nullptr) break;
      own(rest_, block);
    }
    the_scheduler.pretend(nobody);
    for (std::size_t i = 0; i != adopted_ * script_.blocks; ++i)
      if (owners_[i / script_.blocks * most_blocks + i % script_.blocks] == nobody) the_scheduler.fail("a block is lost");
  }

 private:
  static constexpr unsigned nobody = scheduler::nobody;
  static constexpr std::size_t most_chunks = 20;
  static constexpr std::size_t most_blocks = 8;  // in each
  static constexpr std::size_t most = most_chunks * most_blocks;
  static constexpr std::size_t chunk_bytes = 1024;
  struct hand {
    std::array<void*, most> blocks;
    std::size_t size = 0;
  };

  // ---- what threads do, as pool_members has it ----------------------------------------------------------------------------

  void follow(const char* word) noexcept {
    for (; *word != '\0'; ++word) {
      hand& mine = hands_[the_scheduler.current()];
      if (*word == 'a') {
        if (void* const block = allocate()) own(mine, block);
      } else if (*word == '+') {
        const auto growing = pool_.locking.growth_guard();
        grow();
      } else if (*word == 'p') {
        pool_.locking.prepare(pool_);
        if (adopted_ == script_.chunks && !pool_.locking.has_nothing_more())
          the_scheduler.fail("a prepared pool would take the guard");
      } else if (mine.size != 0) {
        if (*word == 'c') deallocate_all(mine);
        else deallocate(mine, *word == 'n' ? mine.size - 1 : 0);
      }
    }
  }
  void* allocate() noexcept {
    if (void* const block = pool_.locking.pop(pool_)) return block;
    if (void* const block = pool_.locking.pop_slow(pool_)) return block;
    if (!pool_.locking.has_nothing_more()) {
      const auto growing = pool_.locking.growth_guard();
      do {
        if (void* const block = pool_.locking.pop_slow(pool_)) return block;
      } while (grow());
    } else if (void* const block = pool_.locking.pop_slow(pool_)) {
      return block;
    }
    if (takes_ <= script_.chunks * script_.blocks) the_scheduler.fail("a block is refused, though there are enough");
    return nullptr;
  }
  bool grow() noexcept {
    if (adopted_ == script_.chunks) return false;
    chunk& c = chunks_[adopted_];
    c.first = memory_.data() + adopted_ * chunk_bytes;
    c.blocks = script_.blocks;
    c.open(reinterpret_cast<std::byte*>(links_.data()) + adopted_ * most_blocks * sizeof(link), c.blocks, geometry_);
    ++adopted_;
    while (const std::size_t bytes = pool_.locking.shortage(pool_, &c)) {
      pool_.locking.supply(pool_, {tables_.data() + tables_used_, bytes});
      tables_used_ += (bytes + 63) / 64 * 64;
      if (tables_used_ > tables_.size()) the_scheduler.fail("tables grow without end");
    }
    const auto lock = pool_.locking.core_guard();
    pool_.locking.adopt(pool_, c);
    return true;
  }
  void own(hand& mine, void* block) noexcept {
    unsigned& owner = owner_of(block);
    if (owner != nobody) return the_scheduler.fail("a block is owned twice");
    owner = the_scheduler.current();
    the_memory.written(block);
    mine.blocks[mine.size++] = block;
  }
  void disown(void* block) noexcept {
    the_memory.written(block);
    owner_of(block) = nobody;
  }
  void deallocate(hand& mine, std::size_t i) noexcept {
    void* const block = mine.blocks[i];
    for (--mine.size; i != mine.size; ++i) mine.blocks[i] = mine.blocks[i + 1];
    disown(block);
    pool_.locking.push(pool_, block);
  }
  void deallocate_all(hand& mine) noexcept {
    const std::size_t n = mine.size;
    mine.size = 0;
    for (std::size_t i = 0; i != n; ++i) disown(mine.blocks[i]);
    pool_.locking.push_batch(pool_, mine.blocks.data(), n);
  }
  unsigned& owner_of(const void* block) noexcept {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory_.data());
    const std::size_t slot = geometry_.slot_at(offset % chunk_bytes - geometry_.offset());
    if (offset / chunk_bytes >= adopted_ || slot >= script_.blocks) the_scheduler.fail("a block that never was");
    return owners_[offset / chunk_bytes * most_blocks + slot];
  }

  // By 4096: how many chunks share a granule of the table doesn't depend on where the linker puts them.
  alignas(4096) static inline std::array<std::byte, most_chunks * chunk_bytes> memory_;
  alignas(64) static inline std::array<std::byte, 16 * 1024> tables_;
  alignas(64) static inline std::array<std::byte, most * sizeof(link)> links_;
  static constexpr detail::geometry<static_size<64>, detail::block_shape{16, 8}> geometry_ = {};

  carver<traits> carver_;
  struct {
    typename Types::template calls<traits, scheduled_guards> locking;
    carver<traits>& list;
    carver<traits>& chunks;
  } pool_{{}, carver_, carver_};
  const stack_script& script_;
  std::array<chunk, most_chunks> chunks_;
  std::size_t takes_ = 0;
  std::size_t adopted_ = 0;
  std::size_t tables_used_ = 0;
  std::array<unsigned, most> owners_;
  std::array<hand, scheduler::most> hands_;
  hand rest_;
};

}  // namespace
}  // namespace tarn::test

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;

using small = stack_world<variants::small::types>;
using ahead = stack_world<variants::ahead::types>;
using as_it_is = stack_world<variants::as_it_is::types>;
using one_chunk = stack_world<variants::as_it_is::types, true>;
using narrow = stack_world<variants::small::types, false, std::uint32_t>;

struct scenario {
  const char* name;
  unsigned threads;
  unsigned preemptions;
  std::uint64_t at_least;
  stack_script script;
};

const scenario scenarios[] = {
    {"two carve", 2, 4, 45'000, {{"aa", "aa"}, 1, 4, 2, 1}},
    {"two carve all at once", 2, 4, 35'000, {{"ao", "aa"}, 1, 3, 32, 1}},
    {"three carve", 3, 3, 490'000, {{"aao", "ao", "a"}, 1, 5, 2, 1}},
    {"two carve and give back", 2, 3, 43'000, {{"aaoc", "aaca"}, 1, 4, 3, 1}},
    {"one prepares", 2, 3, 38'000, {{"pa", "aoa"}, 1, 4, 2, 1}},
};
const scenario growing[] = {
    {"two make room", 2, 3, 180'000, {{"aaa", "aaa"}, 3, 2, 2, 0}},
    {"blocks given back while a table grows", 2, 4, 29'000, {{"oo", "+"}, 3, 2, 2, 2, "aaa"}},
    {"blocks given back and taken while a table grows", 2, 4, 120'000, {{"coa", "+"}, 3, 2, 2, 2, "aaa"}},
    {"given back, taken, and a table that grows", 3, 3, 240'000, {{"oa", "ao", "+a"}, 3, 2, 2, 2, "aaa"}},
    {"a table that grows twice", 2, 3, 29'000, {{"oaoa", "+++"}, 6, 2, 2, 2, "aaa"}},
};

BOOST_AUTO_TEST_CASE(blocks_are_carved_once) {
  for (const scenario& s : scenarios) {
    expect_right<small>(s.name, s.threads, {s.preemptions + (nightly() ? 1 : 0)}, s.at_least, s.script);
    expect_right<one_chunk>(std::string(s.name) + ", one chunk", s.threads, {s.preemptions}, s.at_least / 5, s.script);
  }
}

BOOST_AUTO_TEST_CASE(blocks_are_found_while_tables_grow) {
  for (const scenario& s : growing)
    expect_right<small>(s.name, s.threads, {s.preemptions + (nightly() ? 1 : 0)}, s.at_least, s.script);
}

/// The seventh chunk begins a table, the eighth completes it.
BOOST_AUTO_TEST_CASE(blocks_are_found_while_a_table_is_made_for_later) {
  expect_right<ahead>("a table that is made for two chunks", 2, {2}, 1'000, stack_script{{"oa", "++"}, 8, 2, 2, 6, "aaa"});
}

BOOST_AUTO_TEST_CASE(a_narrow_stack_is_as_good) {
  const auto expect = [](const scenario& s) {
    if (s.threads == 2) expect_right<narrow>(std::string(s.name) + ", narrow", 2, {s.preemptions}, s.at_least, s.script);
  };
  for (const scenario& s : scenarios) expect(s);
  for (const scenario& s : growing) expect(s);
}

BOOST_AUTO_TEST_CASE(the_header_as_it_is) {
  const stack_script script{{"oa", "+a"}, 17, 2, 2, 16, "aaa"};
  expect_right<as_it_is>("tables for 16 chunks grow", 2, {3}, 70'000, script);
}

BOOST_AUTO_TEST_CASE(loads_may_be_stale) {
  const bounds one_stale{2, 0, 1};
  expect_right<small>("two carve, stale loads", 2, one_stale, 1'300, stack_script{{"aa", "aa"}, 1, 4, 2, 1});
  expect_right<small>("a chain, stale loads", 2, one_stale, 2'500, stack_script{{"aac", "aa"}, 1, 4, 3, 1});
  expect_right<small>("a table grows, stale loads", 2, one_stale, 1'400, stack_script{{"coa", "+"}, 3, 2, 2, 2, "aaa"});
  expect_right<small>("two make room, stale loads", 2, one_stale, 2'500, stack_script{{"aa", "aa"}, 3, 1, 1, 0});
}

template <class Types>
void expect_found(const char* name, unsigned threads, const stack_script& script, const bounds& limits = {2}) {
  expect_wrong<stack_world<Types>>(name, threads, limits, script);
}

const stack_script carving{{"aaoc", "aaca"}, 1, 4, 3, 1};
const stack_script making_room{{"aa", "aa"}, 3, 1, 1, 0};
const stack_script table_grows{{"coa", "+"}, 3, 2, 2, 2, "aaa"};

/// Those of the stack alone: stack_test.cc.
BOOST_AUTO_TEST_CASE(orders_that_are_too_weak_are_found) {
  expect_found<variants::table_published_relaxed::types>("a table published relaxed", 2, table_grows);
  expect_found<variants::nothing_more_relaxed::types>("that there is nothing more is loaded relaxed", 3,
                                                      {{"a", "a", "a"}, 1, 3, 3, 1}, {2, 0, 6});
  expect_found<variants::table_loaded_relaxed::types>("a table loaded relaxed", 2, table_grows);
}

/// Who has a block, or its number, knows what was entered before it was carved; and what is found on the way to a chunk was
/// entered before the chunk.
BOOST_AUTO_TEST_CASE(the_order_in_which_chunks_are_entered_is_no_matter) {
  const bounds limits{3, 0, 1};
  using relaxed = stack_world<variants::entered_relaxed::types>;
  expect_right<relaxed>("entered relaxed", 2, limits, 15'000, table_grows);
  expect_right<relaxed>("entered relaxed, two make room", 2, limits, 45'000, making_room);
}

BOOST_AUTO_TEST_CASE(mistakes_are_found) {
  expect_found<variants::batch_off_by_one::types>("a batch that is linked one short", 2, carving);
  expect_found<variants::last_of_batch_linked_first::types>("a batch whose first is linked to the stack", 2, carving);
  expect_found<variants::carved_without_guard::types>("carved without the guard", 2, carving);
  expect_found<variants::carried_without_guard::types>("carried to the stack without the guard", 2, {{"a", "a"}, 1, 2, 2, 1});
  expect_found<variants::prepared_without_guard::types>("prepared without the guard", 2, {{"p", "a"}, 1, 4, 2, 1});
  expect_found<variants::one_batch_prepared::types>("only some blocks prepared", 2, {{"p", "a"}, 1, 4, 2, 1});
  expect_found<variants::nothing_more_too_early::types>("nothing more said too early", 2, {{"aa", "aa"}, 1, 4, 2, 1});
  expect_found<variants::nothing_more_too_late::types>("nothing more said by the first refusal", 2, {{"aa", "aa"}, 1, 4, 2, 1});
  expect_found<variants::nothing_more_before_pushed::types>("nothing more said before the rest is pushed", 2,
                                                            {{"a", "aa"}, 1, 3, 3, 1});
  expect_found<variants::chain_published_before_linked::types>("a chain on the stack before it is linked", 2, carving);
  expect_found<variants::first_pushed_too::types>("the block returned is on the stack too", 2, carving);
  expect_found<variants::table_published_before_filled::types>("a table seen before it is filled", 2, table_grows);
  expect_found<variants::runs_not_copied::types>("a larger table without chunks", 2, table_grows);
  expect_found<variants::places_not_copied::types>("a larger table without addresses", 2, table_grows);
  expect_found<variants::carved_before_numbered::types>("carved before it is numbered", 2, {{"aa", "+"}, 3, 2, 2, 2, "aaaa"});
}

}  // namespace
