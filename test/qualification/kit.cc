// The qualification kit: the compositions of configuration.h, tried on the target that they will run on. It needs no operating
// system, heap, exception or RTTI; `run` builds and runs it, and writes its report.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "tarn/allocator/block_reservation.h"
#include "tarn/test/qualification/configuration.h"
#include "tarn/test/qualification/report.h"

namespace {

unsigned misuses = 0;
tarn::misuse_kind last_misuse{};

}  // namespace

void on_misuse(const tarn::misuse& what) noexcept {
  ++misuses;
  last_misuse = what.kind;
}

namespace {

using namespace tarn;
using test::entry, test::part;

/// What masks interrupts, and what locks: each begin must have its end. Guards may be nested.
struct counted {
  static inline unsigned locked = 0, held = 0, wrong = 0;
  static unsigned begin() noexcept {
    ++locked;
    return held++;
  }
  static void end(unsigned before) noexcept { wrong += --held != before; }
};
struct counted_mask {
  static unsigned save_and_mask() noexcept { return counted::begin(); }
  static void restore(unsigned before) noexcept { counted::end(before); }
};
struct counted_mutex {
  void lock() noexcept {
    counted::wrong += locked;
    before = counted::begin();
    locked = true;
  }
  void unlock() noexcept {
    counted::wrong += !locked;
    locked = false;
    counted::end(before);
  }
  unsigned before = 0;
  bool locked = false;
};

constexpr std::size_t bytes = 24, blocks = 3;

/// The pool of configuration.h, as an object: each case has a new one.
template <class Locking, class Checking, std::size_t Blocks = blocks>
using pool_of = pool<static_size<bytes>, static_array_store<Blocks>, Locking, Checking>;

template <class Pool>
void* filled(Pool& pool) noexcept {
  void* const block = pool.try_allocate();
  if (block != nullptr) std::memset(block, static_cast<int>(reinterpret_cast<std::uintptr_t>(block) >> 3 & 0xFF), bytes);
  return block;
}
bool is_filled(const void* block) noexcept {
  for (std::size_t i = 0; i != bytes; ++i)
    if (static_cast<const unsigned char*>(block)[i] != (reinterpret_cast<std::uintptr_t>(block) >> 3 & 0xFF)) return false;
  return true;
}
/// Whether a misuse of that kind was reported since the last question, once and nothing else.
bool reported(misuse_kind kind) noexcept { return std::exchange(misuses, 0u) == 1 && last_misuse == kind; }

// ---- what every pool does ------------------------------------------------------------------------------------------------

/// Every sequence of six calls: allocate, or free one of the blocks in use.
// shows: FM-4 FM-10
template <class Pool>
void every_sequence() {
  constexpr unsigned calls = 6, choices = blocks + 1;
  unsigned all = 1;
  for (unsigned i = 0; i != calls; ++i) all *= choices;
  bool right = true;
  for (unsigned number = 0; number != all; ++number) {
    Pool pool;
    void* held[blocks] = {};
    unsigned used = 0;
    for (unsigned i = 0, rest = number; i != calls; ++i, rest /= choices) {
      const unsigned which = rest % choices;
      if (which < blocks) {
        if (held[which] == nullptr) continue;
        right &= is_filled(held[which]);
        pool.deallocate(std::exchange(held[which], nullptr)), --used;
        continue;
      }
      void* const block = filled(pool);
      right &= (block == nullptr) == (used == blocks);
      if (block == nullptr) continue;
      for (void*& place : held) right &= place != block;
      for (void*& place : held)
        if (place == nullptr) {
          place = block, ++used;
          break;
        }
    }
    for (void* const block : held)
      if (block != nullptr) right &= is_filled(block), pool.deallocate(block);
  }
  CHECK(right);
  CHECK(misuses == 0 && counted::held == 0 && counted::wrong == 0);
}

// shows: FM-4 FM-5
template <class Pool>
void exhaustion() {
  Pool pool;
  CHECK(pool.capacity() == blocks && pool.try_reserve(blocks) && !pool.try_reserve(blocks + 1));
  void* all[blocks + 1] = {};
  CHECK(pool.try_allocate_batch(all) == blocks);
  CHECK(pool.try_allocate() == nullptr && pool.allocate_or_null() == nullptr);
  void* const last = std::exchange(all[0], nullptr);
  pool.deallocate(last);
  CHECK((all[0] = pool.try_allocate()) == last && pool.try_allocate() == nullptr);
  pool.deallocate_batch(span<void* const>(all, blocks));
  CHECK(pool.try_allocate_batch(all) == blocks);
  pool.deallocate_batch(span<void* const>(all, blocks));
  CHECK(misuses == 0);
}

// shows: FM-28 FM-29
template <class Pool>
void blocks_are_as_promised() {
  Pool pool;
  CHECK(pool.block_size() == bytes && pool.block_alignment() == 8);
  void* all[blocks];
  for (void*& block : all) {
    block = filled(pool);
    if (!CHECK(block != nullptr)) return;
    CHECK(reinterpret_cast<std::uintptr_t>(block) % pool.block_alignment() == 0 && pool.owns(block));
    for (void** other = all; *other != block; ++other) {
      const auto distance = static_cast<unsigned char*>(block) - static_cast<unsigned char*>(*other);
      CHECK(distance >= static_cast<std::ptrdiff_t>(bytes) || -distance >= static_cast<std::ptrdiff_t>(bytes));
    }
  }
  int elsewhere = 0;
  CHECK(!pool.owns(&elsewhere) && !pool.owns(nullptr));
  for (void* const block : all) CHECK(is_filled(block));
  for (void* const block : all) pool.deallocate(block, bytes);
}

// shows: FM-16
template <class Pool>
void null_is_ignored() {
  Pool pool;
  void* const block = pool.try_allocate();
  void* const some[] = {nullptr, block, nullptr};
  pool.deallocate(nullptr);
  pool.deallocate(nullptr, bytes);
  pool.deallocate_batch(some);
  CHECK(pool.try_allocate() == block && misuses == 0);
  pool.deallocate(block);
}

// shows: FM-22
template <class Pool>
void a_reservation_cannot_fail() {
  Pool pool;
  {
    auto two = pool.try_reserve_blocks(2);
    CHECK(static_cast<bool>(two) && two.remaining() == 2);
    CHECK(!static_cast<bool>(pool.try_reserve_blocks(2)));
    void* const other = pool.try_allocate();
    CHECK(other != nullptr && pool.try_allocate() == nullptr);
    void* const first = two.allocate();
    void* const second = two.allocate();
    CHECK(first != nullptr && second != nullptr && two.allocate() == nullptr && two.remaining() == 0);
    pool.deallocate(first), pool.deallocate(second), pool.deallocate(other);
  }
  CHECK(misuses == 0 && counted::held == 0);
}

// shows: FM-24 FM-25
template <class Pool>
void trim_and_release() {
  if constexpr (requires(Pool& pool) { pool.trim(); }) {
    Pool pool;
    void* const block = pool.try_allocate();
    CHECK(pool.trim() == 0 && pool.owns(block));
    pool.deallocate(block);
    pool.trim();
    CHECK(pool.try_allocate() != nullptr);
    pool.release();  // with a block in use
    void* all[blocks];
    CHECK(pool.try_allocate_batch(all) == blocks);
    pool.deallocate_batch(all);
    CHECK(misuses == 0);
  }
}

// shows: FM-17
template <class Pool>
void each_call_is_guarded() {
  Pool pool;
  counted::locked = 0;
  void* const block = pool.try_allocate();
  const unsigned taking = std::exchange(counted::locked, 0u);
  pool.deallocate(block);
  const unsigned giving = std::exchange(counted::locked, 0u);
  CHECK(taking >= 1 && giving >= 1 && counted::held == 0 && counted::wrong == 0);
}

// ---- misuse: nothing happens but the report ------------------------------------------------------------------------------

template <class Pool>
bool still_works(Pool& pool) noexcept {
  void* all[blocks + 1] = {};
  const std::size_t got = pool.try_allocate_batch(all);
  bool right = got == blocks;
  for (std::size_t i = 0; i != got; ++i)
    for (std::size_t j = 0; j != i; ++j) right &= all[i] != all[j];
  pool.deallocate_batch(span<void* const>(all, got));
  return right && misuses == 0;
}

// shows: FM-10 FM-11 FM-12 FM-13 FM-14
template <class Pool>
void wrong_frees() {
  Pool pool, other;
  void* const block = pool.try_allocate();
  void* const its = other.try_allocate();
  unsigned char elsewhere[64] = {};
  pool.deallocate(elsewhere + 16);
  CHECK(reported(misuse_kind::foreign_pointer));
  pool.deallocate(its);
  CHECK(reported(misuse_kind::foreign_pointer));
  pool.deallocate(static_cast<unsigned char*>(block) + 8);
  CHECK(reported(misuse_kind::interior_pointer));
  pool.deallocate(block, bytes + 8);
  CHECK(reported(misuse_kind::wrong_size));
  pool.deallocate(block, bytes, 4096);
  CHECK(reported(misuse_kind::wrong_size));
  void* const some[] = {block, block};
  pool.deallocate_batch(some);
  CHECK(reported(misuse_kind::double_free));
  pool.deallocate(block);
  CHECK(reported(misuse_kind::double_free));
  other.deallocate(its);
  CHECK(still_works(pool) && still_works(other));
}

// shows: FM-15
template <class Pool>
void an_overwritten_link_is_not_followed() {
  Pool pool;
  void* all[blocks];
  CHECK(pool.try_allocate_batch(all) == blocks);
  pool.deallocate_batch(all);
  std::memset(all[0], 0x41, bytes);  // free: a use after free
  void* again[blocks] = {};
  CHECK(pool.try_allocate_batch(again) == blocks);
  CHECK(misuses != 0 && last_misuse == misuse_kind::corrupt_free_list);
  misuses = 0;
  pool.deallocate_batch(again);
  CHECK(still_works(pool));
}

// shows: FM-18 FM-19
template <class Pool>
void the_end_of_a_pool() {
  alignas(Pool) static unsigned char place[sizeof(Pool)];
  Pool* const pool = ::new (place) Pool;
  void* const block = pool->try_allocate();
  pool->~Pool();
  CHECK(reported(misuse_kind::leak));
  pool->deallocate(block);
  CHECK(reported(misuse_kind::ended_pool) || !CHECK(last_misuse != misuse_kind::leak));
  misuses = 0;
}

// ---- objects -------------------------------------------------------------------------------------------------------------

int alive = 0;
struct thing {
  explicit thing(int n) noexcept : number(n) { ++alive; }
  ~thing() { --alive; }
  int number;
};

// shows: FM-40 FM-41 FM-43 FM-45 FM-53
template <class Locking, class Checking>
void objects_live_once() {
  {
    objects<thing, blocks, Locking, Checking> things;
    CHECK(things.blocks().capacity() == blocks);
    thing* some[blocks] = {};
    for (thing*& one : some) CHECK((one = things.try_construct(5)) != nullptr);
    CHECK(alive == blocks && things.try_construct(6) == nullptr && alive == blocks);  // no constructor runs
    things.destroy(nullptr);
    things.destroy(some[1]);
    CHECK(alive == blocks - 1 && things.count() == blocks - 1);
    int seen = 0;
    things.for_each([&](thing& one) { seen += one.number; });
    CHECK(seen == 5 * static_cast<int>(blocks - 1));
    CHECK(things.try_construct_n(span<thing*>(some, 2), 7) == 1 && alive == blocks);  // as many as there are
    things.clear();
    CHECK(alive == 0 && things.try_construct_n(span<thing*>(some, blocks), 8) == blocks);
    things.destroy_n(span<thing* const>(some, blocks - 1));
  }
  CHECK(alive == 0 && misuses == 0);  // the destructor destroys what is left
}

template <class Locking>
void an_object_is_destroyed_once() {
  objects<thing, blocks, Locking> things;
  thing* const one = things.try_construct(1);
  things.destroy(one);
  things.destroy(one);
  CHECK(reported(misuse_kind::double_free) && alive == 0);
}

struct tag;
// shows: FM-35
void the_pool_of_a_tag_is_one() {
  auto& one = block_pool<tag, bytes, blocks>::instance();
  CHECK(&one == &block_pool<tag, bytes, blocks>::instance());
  CHECK(still_works(one));
}

// ---- the table -----------------------------------------------------------------------------------------------------------

#define EACH(Pool)                                                                                            \
  {"every_sequence", every_sequence<Pool>}, {"exhaustion", exhaustion<Pool>},                                 \
      {"blocks_are_as_promised", blocks_are_as_promised<Pool>}, {"null_is_ignored", null_is_ignored<Pool>},    \
      {"a_reservation_cannot_fail", a_reservation_cannot_fail<Pool>}, {"trim_and_release", trim_and_release<Pool>}
#define STOPS(Pool)                                                                                           \
  {"wrong_frees", wrong_frees<Pool>},                                                                          \
      {"an_overwritten_link_is_not_followed", an_overwritten_link_is_not_followed<Pool>},                      \
      {"the_end_of_a_pool", the_end_of_a_pool<Pool>}

using interrupts = interrupt_locking<counted_mask>;
using mutexes = mutex_locking<counted_mutex>;
using plain_one = pool_of<no_locking, no_checking>;
using plain_interrupts = pool_of<interrupts, no_checking>;
using plain_mutex = pool_of<mutexes, no_checking>;
using one_context = pool_of<no_locking, stops_misuse>;
using with_interrupts = pool_of<interrupts, stops_misuse>;
using with_mutex = pool_of<mutexes, stops_misuse>;

constexpr entry plain_one_cases[] = {EACH(plain_one), {"objects", objects_live_once<no_locking, no_checking>}};
constexpr entry plain_interrupts_cases[] = {EACH(plain_interrupts), {"guarded", each_call_is_guarded<plain_interrupts>},
                                            {"objects", objects_live_once<interrupts, no_checking>}};
constexpr entry plain_mutex_cases[] = {EACH(plain_mutex), {"guarded", each_call_is_guarded<plain_mutex>},
                                       {"objects", objects_live_once<mutexes, no_checking>}};
constexpr entry one_context_cases[] = {EACH(one_context), STOPS(one_context),
                                       {"objects", objects_live_once<no_locking, stops_misuse>},
                                       {"an_object_is_destroyed_once", an_object_is_destroyed_once<no_locking>},
                                       {"the_pool_of_a_tag_is_one", the_pool_of_a_tag_is_one}};
constexpr entry interrupts_cases[] = {EACH(with_interrupts), STOPS(with_interrupts),
                                      {"guarded", each_call_is_guarded<with_interrupts>},
                                      {"objects", objects_live_once<interrupts, stops_misuse>},
                                      {"an_object_is_destroyed_once", an_object_is_destroyed_once<interrupts>}};
constexpr entry mutex_cases[] = {EACH(with_mutex), STOPS(with_mutex), {"guarded", each_call_is_guarded<with_mutex>},
                                 {"objects", objects_live_once<mutexes, stops_misuse>},
                                 {"an_object_is_destroyed_once", an_object_is_destroyed_once<mutexes>}};

}  // namespace

int main() {
  using test::make_part;
  const part parts[] = {make_part("one_context", one_context_cases),
                        make_part("interrupts", interrupts_cases),
                        make_part("mutex", mutex_cases),
                        make_part("one_context_unchecked", plain_one_cases),
                        make_part("interrupts_unchecked", plain_interrupts_cases),
                        make_part("mutex_unchecked", plain_mutex_cases)};
  return test::run_parts(parts, sizeof parts / sizeof *parts);
}
