// The qualification kit: the compositions of configuration.h, tried on the target that they will run on. It needs no operating
// system, heap, exception or RTTI; `run` builds and runs it, and writes its report.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/allocator/block_reservation.h"
#include "tarn/test/platforms/core/check.h"
#include "tarn/test/qualification/configuration.h"

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
  static inline unsigned turn = 0;  // before which guard another task has its turn
  static inline void (*other_task)() noexcept = nullptr;
  static void let_others_in() noexcept {
    if (turn != 0 && held == 0 && --turn == 0) other_task();
  }
  static unsigned begin() noexcept {
    ++locked;
    return held++;
  }
  static void end(unsigned before) noexcept { wrong += --held != before; }
};
struct counted_mask {
  static unsigned save_and_mask() noexcept {
    counted::let_others_in();
    return counted::begin();
  }
  static void restore(unsigned before) noexcept { counted::end(before); }
};
struct counted_mutex {
  void lock() noexcept {
    counted::let_others_in();
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
// shows: FM-4
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

/// Batches with null pointers between the blocks, and requests that no pool can meet.
// shows: FM-4 FM-16
template <class Locking, class Checking>
void batches() {
  pool_of<Locking, Checking, 20> pool;
  void* all[20];
  CHECK(pool.try_allocate_batch(all) == 20);
  for (std::size_t null = 0; null != 10; ++null) {
    void* some[10];
    for (std::size_t i = 0; i != 10; ++i) some[i] = i == null ? nullptr : all[i];
    pool.deallocate_batch(span<void* const>(some, 10));
    CHECK(pool.try_allocate_batch(span<void*>(some, 4)) == 4);
    CHECK(pool.try_allocate_batch(span<void*>(some + 4, 6)) == 5 && pool.try_allocate() == nullptr);
    for (std::size_t i = 0, from = 0; i != 10; ++i)
      if (i != null) all[i] = some[from++];
  }
  pool.deallocate_batch(all);
  constexpr std::size_t most = static_cast<std::size_t>(-1), half = std::size_t{1} << 4 * sizeof(std::size_t);
  CHECK(pool.try_reserve(0) && !pool.try_reserve(half) && !pool.try_reserve(most) && !pool.try_reserve_blocks(most));
  CHECK(misuses == 0);
}

// shows: FM-28 FM-29 FM-36
template <class Pool>
void blocks_are_as_promised() {
  Pool pool;
  if constexpr (requires { Pool::bytes_for_peak(blocks); })
    CHECK(Pool::bytes_for_peak(blocks) == 0 && Pool::bytes_for_peak(blocks + 1) == static_cast<std::size_t>(-1));
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
    void* const other = pool.try_allocate();
    CHECK(pool.trim() == 0 && pool.owns(block));
    pool.deallocate(other);
    CHECK(pool.trim() == 0 && pool.try_allocate() == other);
    pool.deallocate(other), pool.deallocate(block);
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

// shows: FM-11
template <class Pool>
void a_block_that_was_never_handed_out() {
  Pool pool;
  auto* const first = static_cast<unsigned char*>(pool.try_allocate());
  auto* const second = static_cast<unsigned char*>(pool.try_allocate());
  const std::ptrdiff_t stride = second - first;
  pool.deallocate(second + stride);
  CHECK(std::exchange(misuses, 0u) == 1);
  pool.deallocate(second + stride + 8);
  CHECK(std::exchange(misuses, 0u) == 1);
  CHECK(pool.try_allocate() == second + stride && misuses == 0);
  pool.deallocate(first), pool.deallocate(second), pool.deallocate(second + stride);
  CHECK(still_works(pool));
}

// shows: FM-39
template <class Pool>
void wrong_reservations() {
  Pool pool;
  void* const block = pool.try_allocate();
  pool.deallocate(block);
  {
    auto one = pool.try_reserve_blocks(1);
    pool.deallocate(block);  // it is the reservation's
    CHECK(misuses == 0 && one.allocate() == nullptr && reported(misuse_kind::double_free));
  }
  {
    auto two = pool.try_reserve_blocks(2);
    std::memset(block, 0x41, bytes);  // and so is the link in it
    void* const first = two.allocate();
    CHECK(first == block && two.allocate() == nullptr && std::exchange(misuses, 0u) != 0);
    pool.deallocate(first);
  }
  misuses = 0;
  {
    auto two = pool.try_reserve_blocks(2);
    CHECK(static_cast<bool>(two));
    pool.deallocate(block);  // before the reservation gives it back
  }
  CHECK(std::exchange(misuses, 0u) == 1);
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
  pool.deallocate(again[0]), pool.deallocate(again[1]);
  std::memset(again[1], 0x41, bytes);  // while another block is in use
  void* const first = pool.try_allocate();
  void* const second = pool.try_allocate();
  CHECK(first != nullptr && second != nullptr && first != second && first != again[2] && second != again[2]);
  CHECK(std::exchange(misuses, 0u) != 0 && pool.try_allocate() == nullptr);
  pool.deallocate(first), pool.deallocate(second), pool.deallocate(again[2]);
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
  CHECK(reported(misuse_kind::ended_pool) && !pool->owns(block));
}

// shows: FM-18
template <class Locking>
void many_blocks_are_left() {
  {
    pool_of<Locking, stops_misuse, 20> pool;
    void* all[20];
    CHECK(pool.try_allocate_batch(all) == 20);
    pool.deallocate(all[3]);
  }
  CHECK(reported(misuse_kind::leak));
}

// ---- objects -------------------------------------------------------------------------------------------------------------

int alive = 0;
struct thing {
  explicit thing(int n) noexcept : number(n) { ++alive; }
  ~thing() {
    --alive;
    if (auto* const then = std::exchange(in_destructor, nullptr)) then(*this);
  }
  int number;
  static inline void (*in_destructor)(thing& its) noexcept = nullptr;  // once
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
    thing* const most[] = {some[0], nullptr, some[1]};
    things.destroy_n(span<thing* const>(most));
  }
  CHECK(alive == 0 && misuses == 0);  // the destructor destroys what is left
}

// shows: FM-15
template <class Pool>
void a_link_that_was_right_before_is_not_followed() {
  Pool pool;
  void* all[blocks];
  CHECK(pool.try_allocate_batch(all) == blocks);
  pool.deallocate_batch(all);
  unsigned char link[sizeof(void*)];
  std::memcpy(link, all[0], sizeof link);  // to all[1]
  CHECK(pool.try_allocate() == all[0] && pool.try_allocate() == all[1]);
  pool.deallocate(all[0]);
  std::memcpy(all[0], link, sizeof link);
  CHECK(pool.try_allocate() == all[0] && pool.try_allocate() == all[2] && pool.try_allocate() == nullptr);
  CHECK(std::exchange(misuses, 0u) != 0);
  for (void* const block : all) pool.deallocate(block);
  CHECK(still_works(pool));
}

/// Another task uses the block between two looks at it, wherever that is.
// shows: FM-10 FM-17 FM-39
template <class Pool>
void another_task_comes_between() {
  static Pool pool;
  static void* block = nullptr;
  for (unsigned turn = 1; turn != 6; ++turn) {
    block = pool.try_allocate();
    pool.deallocate(block);
    auto one = pool.try_reserve_blocks(1);
    counted::other_task = []() noexcept { pool.deallocate(block); };
    counted::turn = turn;
    void* const got = one.allocate();
    CHECK(got == nullptr || got == block);
    CHECK((got == nullptr) == (misuses != 0));
    if (std::exchange(counted::turn, 0u) != 0) pool.deallocate(block);  // there was no turn
    misuses = 0;
  }
  for (unsigned turn = 1; turn != 6; ++turn) {
    block = pool.try_allocate();
    pool.deallocate(block);
    counted::other_task = []() noexcept { block = pool.try_allocate(); };
    counted::turn = turn;
    pool.deallocate(block);  // twice, but perhaps another task's in between
    const bool reported = std::exchange(misuses, 0u) != 0;
    if (std::exchange(counted::turn, 0u) == 0 && reported) pool.deallocate(block);
    CHECK(still_works(pool));
  }
}

/// A fault of memory: the pool's first free block is one in use.
// shows: FM-15
template <class Pool>
void a_damaged_pool_object() {
  static Pool pool;
  void* all[blocks];
  CHECK(pool.try_allocate_batch(all) == blocks);
  pool.deallocate(all[2]);
  unsigned char last[sizeof(void*)];
  std::memcpy(last, all[2], sizeof last);  // the link of the last block of a list
  CHECK(pool.try_allocate() == all[2]);
  auto* const object = reinterpret_cast<unsigned char*>(&pool);
  for (int round = 0; round != 2; ++round) {
    pool.deallocate(all[1]);
    unsigned changed = 0;
    for (std::size_t i = 0; i + sizeof(void*) <= sizeof(pool); i += sizeof(void*))
      if (std::memcmp(object + i, all + 1, sizeof *all) == 0) ++changed, std::memcpy(object + i, all + 2, sizeof *all);
    CHECK(changed == 1);
    if (round == 0) std::memcpy(all[2], last, sizeof last);
    else std::memset(all[2], 0x41, bytes);
    CHECK(pool.try_allocate() == all[1] && pool.try_allocate() == nullptr && std::exchange(misuses, 0u) != 0);
  }
  pool.deallocate_batch(all);
  CHECK(still_works(pool));
}

/// What destructors do to the pool that destroys them, and visitors to the pool that they walk through.
// shows: FM-43 FM-46
template <class Locking, class Checking>
void objects_within_objects() {
  static objects<thing, blocks, Locking, Checking> things;
  static thing* other = nullptr;
  things.clear();
  const auto fill = [] {
    thing* const first = things.try_construct(1);
    other = things.try_construct(2);
    return CHECK(first != nullptr && other != nullptr && things.try_construct(3) != nullptr);
  };
  for (int round = 0; round != 2; ++round) {
    if (!fill()) return;
    if (round == 0) thing::in_destructor = [](thing&) noexcept { things.destroy(other); };
    else thing::in_destructor = [](thing&) noexcept { things.clear(), things.destroy(nullptr); };
    things.clear();
    CHECK(alive == 0 && things.count() == 0);
  }
  if (!fill()) return;
  thing::in_destructor = [](thing&) noexcept {
    thing* last = nullptr;
    things.for_each([&](thing& one) { last = &one; });
    things.destroy(last != other ? last : nullptr);
  };
  things.destroy(other);
  CHECK(alive == 1 && things.count() == 1);
  things.clear();
  if (!fill()) return;
  int seen = 0;
  things.for_each([&](thing& one) {
    ++seen;
    things.destroy(nullptr);
    if (one.number == 1) things.destroy(other);
    else things.destroy(&one);
  });
  CHECK(seen == 2 && alive == 1);
  CHECK(!things.for_each_while([](thing&) { return false; }));
  things.clear();
  CHECK(things.try_construct(1) != nullptr);
  thing::in_destructor = [](thing&) noexcept { other = things.try_construct(4); };
  things.clear();
  if (other != nullptr) things.clear();
  CHECK(alive == 0 && things.count() == 0 && misuses == 0);
}

/// More objects in one call than locks are taken for.
// shows: FM-40
template <class Locking, class Checking>
void many_objects() {
  {
    static objects<thing, 70, Locking, Checking> things;
    thing* all[71] = {};
    CHECK(things.try_construct_n(span<thing*>(all), 1) == 70 && alive == 70);
    things.destroy_n(span<thing* const>(all, 70));
  }
  CHECK(alive == 0 && misuses == 0);
}

// shows: FM-44
template <class Locking>
void what_is_no_object_is_not_destroyed() {
  static objects<thing, blocks + 1, Locking> things;
  alignas(thing) unsigned char elsewhere[sizeof(thing)] = {};
  things.destroy(reinterpret_cast<thing*>(elsewhere));
  CHECK(reported(misuse_kind::foreign_pointer) && alive == 0);
  CHECK(things.try_construct(1) != nullptr);
  thing::in_destructor = [](thing& its) noexcept { things.blocks().deallocate(&its); };  // which clear() does
  things.clear();
  CHECK(reported(misuse_kind::double_free) && alive == 0);

  static thing* some[blocks];
  const auto fill = [] {
    for (thing*& one : some) one = things.try_construct(1);
    return CHECK(alive == blocks);
  };
  if (!fill()) return;
  things.for_each([&](thing&) { things.destroy(reinterpret_cast<thing*>(elsewhere)); });
  CHECK(std::exchange(misuses, 0u) == blocks && alive == blocks);
  thing::in_destructor = [](thing&) noexcept {  // of some[0], which is the first
    static unsigned char no_object[sizeof(thing)];
    things.destroy(reinterpret_cast<thing*>(no_object));
    things.destroy(some[1]), things.destroy(some[1]);
    things.destroy(some[2] + (some[2] - some[1]));  // a block that was never handed out
    things.blocks().deallocate(some[2]), things.destroy(some[2]);
  };
  things.clear();
  CHECK(misuses != 0 && alive == 1);  // some[2], whose block was free
  misuses = 0, alive = 0;
  if (!fill()) return;
  thing::in_destructor = [](thing&) noexcept {
    thing::in_destructor = [](thing&) noexcept { things.destroy(some[0]); };  // which is gone
  };
  things.clear();
  CHECK(alive == 0);
  misuses = 0;
}

// shows: FM-51
template <class Locking>
void a_pointer_outlives_its_pool() {
  using pool_type = objects<thing, blocks, Locking>;
  alignas(pool_type) static unsigned char place[sizeof(pool_type)];
  pool_type* const things = ::new (place) pool_type;
  typename pool_type::unique_ptr one(things->try_construct(1), typename pool_type::deleter(things));
  things->~pool_type();
  CHECK(alive == 0);
  one.reset();
  CHECK(reported(misuse_kind::ended_pool) && alive == 0);
}

// shows: FM-44
template <class Locking>
void an_object_is_destroyed_once() {
  objects<thing, blocks, Locking> things;
  thing* const one = things.try_construct(1);
  things.destroy(one);
  things.destroy(one);
  CHECK(reported(misuse_kind::double_free) && alive == 0);
}

#ifdef TARN_KIT_LARGE
/// Blocks of 128 bytes, which are laid out in runs, and reservations of many pages.
// shows: FM-22
template <class Locking, class Checking>
void large_pools() {
  static pool<static_size<128>, static_array_store<1200>, Locking, Checking> large;
  static void* all[1200];
  CHECK(large.try_allocate_batch(all) == 1200 && large.try_allocate() == nullptr);
  for (std::size_t i = 1; i != 1200; ++i)
    CHECK(static_cast<unsigned char*>(all[i]) - static_cast<unsigned char*>(all[i - 1]) >= 128);
  for (void* const block : all) CHECK(large.owns(block));
  for (std::size_t i = 0; i != 1200; i += 2) large.deallocate(all[i]);  // apart from one another
  for (int round = 0; round != 2; ++round) {  // by descending addresses, by ascending ones
    auto half = large.try_reserve_blocks(600);
    CHECK(half.remaining() == 600);
    while (void* const block = half.allocate()) large.deallocate(block);
    for (std::size_t i = 0; i != 600; ++i) CHECK(large.try_allocate() != nullptr);
    for (std::size_t i = 1200; i != 0; i -= 2) large.deallocate(all[i - 2]);
  }
  CHECK(large.try_reserve_blocks(600).allocate() != nullptr);
  CHECK(!static_cast<bool>(large.try_reserve_blocks(601)) && misuses == 0);
  if constexpr (std::is_same_v<Checking, stops_misuse>) {
    auto* const odd = static_cast<unsigned char*>(all[601]);
    for (std::size_t distance = 8; distance < 1200; distance += 8) large.deallocate(odd + distance);
    CHECK(misuses != 0);
    misuses = 0;
  }
  large.release();
  CHECK(large.try_allocate_batch(all) == 1200);
  large.release();
}
#endif

struct tag;
// shows: FM-35
void the_pool_of_a_tag_is_one() {
  auto& one = block_pool<tag, bytes, blocks>::instance();
  CHECK(&one == &block_pool<tag, bytes, blocks>::instance());
  CHECK(still_works(one));
}

// ---- the table -----------------------------------------------------------------------------------------------------------

template <class Locking, class Checking>
struct cases {
  using pool = pool_of<Locking, Checking>;
  static constexpr entry each[] = {
      {"every_sequence", every_sequence<pool>},
      {"exhaustion", exhaustion<pool>},
      {"batches", batches<Locking, Checking>},
      {"blocks_are_as_promised", blocks_are_as_promised<pool>},
      {"null_is_ignored", null_is_ignored<pool>},
      {"a_reservation_cannot_fail", a_reservation_cannot_fail<pool>},
      {"trim_and_release", trim_and_release<pool>},
      {"objects_live_once", objects_live_once<Locking, Checking>},
      {"objects_within_objects", objects_within_objects<Locking, Checking>},
      {"many_objects", many_objects<Locking, Checking>},
#ifdef TARN_KIT_LARGE
      {"large_pools", large_pools<Locking, Checking>},
#endif
  };
};
template <class Locking>
struct misuse_cases {
  using pool = pool_of<Locking, stops_misuse>;
  static constexpr entry each[] = {
      {"wrong_frees", wrong_frees<pool>},
      {"a_block_that_was_never_handed_out", a_block_that_was_never_handed_out<pool>},
      {"wrong_reservations", wrong_reservations<pool>},
      {"an_overwritten_link_is_not_followed", an_overwritten_link_is_not_followed<pool>},
      {"a_link_that_was_right_before_is_not_followed", a_link_that_was_right_before_is_not_followed<pool>},
      {"a_damaged_pool_object", a_damaged_pool_object<pool>},
      {"the_end_of_a_pool", the_end_of_a_pool<pool>},
      {"many_blocks_are_left", many_blocks_are_left<Locking>},
      {"an_object_is_destroyed_once", an_object_is_destroyed_once<Locking>},
      {"a_pointer_outlives_its_pool", a_pointer_outlives_its_pool<Locking>},
      {"what_is_no_object_is_not_destroyed", what_is_no_object_is_not_destroyed<Locking>},
  };
};

using interrupts = interrupt_locking<counted_mask>;
using mutexes = mutex_locking<counted_mutex>;
constexpr entry guards[] = {
    {"interrupts_come_between", another_task_comes_between<pool_of<interrupts, stops_misuse>>},
    {"a_task_comes_between", another_task_comes_between<pool_of<mutexes, stops_misuse>>},
    {"interrupts", each_call_is_guarded<pool_of<interrupts, stops_misuse>>},
    {"mutex", each_call_is_guarded<pool_of<mutexes, stops_misuse>>},
    {"interrupts_unchecked", each_call_is_guarded<pool_of<interrupts, no_checking>>},
    {"mutex_unchecked", each_call_is_guarded<pool_of<mutexes, no_checking>>},
};
constexpr entry static_pools[] = {{"the_pool_of_a_tag_is_one", the_pool_of_a_tag_is_one}};

/// A line for each case, which `run` turns into JUnit XML: `case mutex.exhaustion passed`.
void tell(const part& of, const entry& ran, bool passed) {
  test::say("case ");
  test::say(of.name);
  test::say(".");
  test::say(ran.name);
  test::say(passed ? " passed\n" : " failed\n");
}

}  // namespace

int main() {
  using test::make_part;
  const part parts[] = {
      make_part("one_context", cases<no_locking, stops_misuse>::each),
      make_part("interrupts", cases<interrupts, stops_misuse>::each),
      make_part("mutex", cases<mutexes, stops_misuse>::each),
      make_part("one_context_unchecked", cases<no_locking, no_checking>::each),
      make_part("interrupts_unchecked", cases<interrupts, no_checking>::each),
      make_part("mutex_unchecked", cases<mutexes, no_checking>::each),
      make_part("one_context_misuse", misuse_cases<no_locking>::each),
      make_part("interrupts_misuse", misuse_cases<interrupts>::each),
      make_part("mutex_misuse", misuse_cases<mutexes>::each),
      make_part("guards", guards),
      make_part("static_pools", static_pools),
  };
  return test::run_parts(parts, sizeof parts / sizeof *parts, "", tell);
}
