// Checks that are off until somebody names the pool: what they find while they are on, and what becomes of blocks that were
// handed out before. switchable_checking_right_test.cc: what they don't find.
#include "tarn/policies/checking/switchable_checking.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/locking/thread_cached.h"
#include "tarn/test/policies/checking/recording.h"

namespace tarn::test {
namespace {

// Before any pool: they ask once.
const int named_at_the_start = setenv("TARN_CHECK", "on,guarded:guard,off_not,classes*,tag<a, b>,without_room:guard", 1);

using on = named<"on">;
using off = named<"off">;

template <class... Ps>
using switched_pool = pool<static_size<64>, switchable_checking, Ps...>;

std::size_t told_of(misuse_kind kind) {
  std::size_t n = 0;
  for (const misuse& what : told) n += what.kind == kind;
  told.clear();
  return n;
}

// Every kind, under each locking and reuse; then, that the pool is as it should be.
template <class... Ps>
void finds() {
  const recording now;
  switched_pool<on, Ps...> pool;
  void* const block = pool.allocate();
  void* const other = pool.allocate();
  pool.deallocate(static_cast<std::byte*>(block) + 8);
  BOOST_TEST(told_of(misuse_kind::interior_pointer) == 1u);
  int local = 0;
  pool.deallocate(&local);
  BOOST_TEST(told_of(misuse_kind::foreign_pointer) == 1u);
  pool.deallocate(block);
  BOOST_TEST(told.size() == 0u);
  pool.deallocate(block);
  BOOST_TEST(told.size() == 1u);
  BOOST_TEST(told.at(0).pool_name == "on");
  BOOST_TEST(told.at(0).address == block);
  BOOST_TEST(told_of(misuse_kind::double_free) == 1u);
  pool.deallocate(nullptr);
  void* const wrong[] = {other, block, nullptr, &local};
  pool.deallocate_batch(wrong);
  BOOST_TEST(told.size() >= 1u);  // of a batch, the first is told
  told.clear();
  for (const pool_record& one : snapshot())
    if (one.address == &pool) BOOST_TEST(one.in_use == 0u);
  std::vector<void*> blocks(1000);
  pool.allocate_batch(blocks);
  for (void* const each : blocks) std::memset(each, 1, 64);
  for (std::size_t i = 0; i != blocks.size(); ++i)
    for (std::size_t k = i + 1; k < blocks.size() && k < i + 10; ++k) BOOST_REQUIRE(blocks[i] != blocks[k]);
  pool.deallocate_batch(blocks);
  BOOST_TEST(told.size() == 0u);
}
BOOST_AUTO_TEST_CASE(what_is_found) {
  finds<lock_free>();
  finds<lifo_reuse<>, counting_statistics, mutex_locking<>>();
  finds<page_local_reuse<>, return_empty_chunks<0, 0>>();
  finds<static_array_store<2000>>();
  finds<fixed_growth<16>, thread_cached<>>();
}

BOOST_AUTO_TEST_CASE(guard_bytes_are_looked_at) {
  const recording now;
  pool<static_size<40>, switchable_checking_with<guard_bytes>, named<"guarded">> pool;
  auto* const block = static_cast<std::byte*>(pool.allocate());
  std::memset(block, 1, 40);
  block[40] = std::byte{1};
  pool.deallocate(block);
  BOOST_TEST(told.size() == 1u);
  BOOST_TEST(told.at(0).offset == 40);
  BOOST_TEST(told_of(misuse_kind::write_past_end) == 1u);
  pool.deallocate(block);  // it was refused, and the damage repaired
  BOOST_TEST(told.size() == 0u);
  block[-1] = std::byte{1};  // while it is free
  BOOST_TEST(pool.allocate() == block);
  static_cast<void>(pool.try_reserve(2000));
  pool.deallocate(block);
  BOOST_TEST(told_of(misuse_kind::write_in_front) == 1u);
}
BOOST_AUTO_TEST_CASE(damage_to_a_free_block_is_told_when_it_is_handed_out) {
  const recording now;
  pool<static_size<40>, switchable_checking_with<guard_bytes>, named<"guarded">, mutex_locking<>> pool;
  auto* const block = static_cast<std::byte*>(pool.allocate());
  pool.deallocate(block);
  block[-1] = std::byte{1};
  std::vector<void*> all;
  while (told.empty() && all.size() < 5000) all.push_back(pool.allocate());  // a slow half comes by, and tells
  BOOST_TEST(told_of(misuse_kind::write_in_front) == 1u);
  pool.deallocate_batch(all);
  BOOST_TEST(told.size() == 0u);
}
BOOST_AUTO_TEST_CASE(without_room_there_are_no_guard_bytes) {
  const recording now;
  pool<static_size<40>, switchable_checking, named<"without_room">> pool;  // which says so on stderr
  void* const block = pool.allocate();
  pool.deallocate(block);
  pool.deallocate(block);
  BOOST_TEST(told_of(misuse_kind::double_free) == 1u);
}

BOOST_AUTO_TEST_CASE(a_list_is_divided_and_a_bracket_that_is_never_closed_swallows_nothing) {
  const auto names = [](const char* text) {
    std::string all;
    std::size_t next = 0;
    detail::each_check(text, [&](const detail::check_entry& one, std::size_t index) {
      BOOST_TEST(index == next++);
      all.append(one.name, one.length);
      all += '|';
    });
    return all;
  };
  BOOST_TEST(names(",a,pair<int, long>,f(x,y),,b:guard,") == "a|pair<int, long>|f(x,y)|b|");
  BOOST_TEST(names("a<b,orders") == "a<b|orders|");
  BOOST_TEST(names("a<b,pair<int, long>,orders:guard") == "a<b|pair<int, long>|orders|");
  BOOST_TEST(names("f(x,g(y,z),orders") == "f(x|g(y,z)|orders|");
  BOOST_TEST(names("a>b,pair<int, long>,orders") == "a>b|pair<int, long>|orders|");
  BOOST_TEST(names("a)b,f(x,y),tag<(1>2), c>,orders") == "a)b|f(x,y)|tag<(1>2), c>|orders|");
  BOOST_TEST(names("<,<,,(,orders") == "<|<|(|orders|");
}

BOOST_AUTO_TEST_CASE(products) {
  const recording now;
  size_class_pool<switchable_checking, named<"classes">> sizes;
  void* const block = sizes.allocate(20);
  sizes.deallocate(block, 20);
  sizes.deallocate(block, 20);
  BOOST_TEST(told_of(misuse_kind::double_free) == 1u);
  pool_resource<switchable_checking, named<"classes">> resource;
  for (int round = 0; round != 3; ++round) resource.deallocate(resource.allocate(20), 20);  // which takes hits by itself
  BOOST_TEST(told.size() == 0u);

  struct counted {
    explicit counted(int& n) : ended(n) {}
    ~counted() { ++ended; }
    int& ended;
  };
  int ended = 0;
  {
    object_pool<counted, switchable_checking, on> objects;
    counted* const one = objects.construct(ended);
    static_cast<void>(objects.construct(ended));
    objects.destroy(one);
    objects.destroy(one);  // no destructor runs on it
    BOOST_TEST(ended == 1);
    BOOST_TEST(told_of(misuse_kind::double_free) == 1u);
    int n = 0;
    objects.for_each([&](counted&) { ++n; });
    BOOST_TEST(n == 1);
    objects.clear();
    BOOST_TEST(ended == 2);
    objects.destroy(objects.construct(ended));
    BOOST_TEST(ended == 3);
  }
  BOOST_TEST(told.size() == 0u);
}

// ---- switched on and off ---------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(blocks_from_before_pass_once) {
  const recording now;
  switched_pool<off, mutex_locking<>, fixed_growth<4>> pool;
  std::vector<void*> blocks(20);
  pool.allocate_batch(blocks);
  pool.deallocate(blocks[0]);
  const switched_pools done = switch_checks("off", true);
  BOOST_TEST(done.switched == 1u);
  BOOST_TEST(done.refused == 0u);
  pool.deallocate(blocks[1]);  // nothing was known of it
  BOOST_TEST(told.size() == 0u);
  pool.deallocate(blocks[1]);
  BOOST_TEST(told_of(misuse_kind::double_free) == 1u);
  BOOST_TEST(switch_checks("off", false).switched == 1u);
  void* const again = pool.allocate();
  BOOST_TEST(again == blocks[1]);
  BOOST_TEST(switch_checks("off", true).switched == 1u);
  pool.deallocate(again);  // its record of before says free
  BOOST_TEST(told.size() == 0u);
  for (std::size_t i = blocks.size(); i-- != 2;) pool.deallocate(blocks[i]);  // records begin at the end of a chunk
  BOOST_TEST(told.size() == 0u);
  int local = 0;
  pool.deallocate(&local);
  BOOST_TEST(told_of(misuse_kind::foreign_pointer) == 1u);
}

BOOST_AUTO_TEST_CASE(blocks_from_before_have_no_guard_bytes) {
  const recording now;
  pool<static_size<40>, switchable_checking_with<guard_bytes>, named<"off">, mutex_locking<>> pool;
  void* const block = pool.allocate();
  std::memset(static_cast<std::byte*>(block) - 16, 7, 16);  // whatever lay there before
  BOOST_TEST(switch_checks("off", true).switched == 1u);
  pool.deallocate(block);
  BOOST_TEST(pool.allocate() == block);
  pool.deallocate(block);
  std::vector<void*> all(2000);
  pool.allocate_batch(all);  // a slow half comes by, and would tell
  pool.deallocate_batch(all);
  BOOST_TEST(told.size() == 0u);
}
BOOST_AUTO_TEST_CASE(a_list_that_names_a_block_in_use) {
  const recording now;
  switched_pool<on, lifo_reuse<>> pool;
  void* const used = pool.allocate();
  void* const block = pool.allocate();
  void* const other = pool.allocate();
  pool.deallocate(other);
  pool.deallocate(block);
  std::memset(used, 0, 64);
  std::memcpy(block, &used, sizeof used);  // the link to the next free block
  BOOST_TEST(pool.allocate() == block);
  void* const next = pool.allocate();
  BOOST_TEST(next != used);
  BOOST_TEST(told_of(misuse_kind::corrupt_free_list) == 1u);
  static_cast<void>(pool.try_reserve(10));
}
BOOST_AUTO_TEST_CASE(objects_without_destructors_are_cleared) {
  const recording now;
  object_pool<long, switchable_checking, on> objects;
  for (int round = 0; round != 3; ++round) {
    for (long i = 0; i != 500; ++i) static_cast<void>(objects.construct(i));
    objects.clear();
  }
  BOOST_TEST(told.size() == 0u);
}

template <class... Ps>
switched_pools switched_at_run_time() {
  switched_pool<named<"one">, Ps...> pool;
  switched_pools result;
  std::thread([&] { result = switch_checks("one", true); }).join();
  BOOST_TEST(switch_checks("one", false).switched == 1u);
  return result;
}
BOOST_AUTO_TEST_CASE(who_can_be_switched_on_while_the_program_runs) {
  BOOST_TEST(switched_at_run_time<mutex_locking<>>().switched == 1u);
  BOOST_TEST(switched_at_run_time<thread_cached<>>().refused == 1u);
  BOOST_TEST(switched_at_run_time<lock_free>().refused == 1u);
  BOOST_TEST(switched_at_run_time<no_locking>().refused == 1u);  // by another thread
  switched_pool<named<"mine">> mine;
  mine.deallocate(mine.allocate());
  BOOST_TEST(switch_checks("mine", true).switched == 1u);
  const switched_pools none = switch_checks("nobody", true);
  BOOST_TEST(none.switched + none.refused == 0u);
  pool<static_size<64>, named<"unchecked">> unchecked;
  const switched_pools not_it = switch_checks("unchecked", true);
  BOOST_TEST(not_it.switched + not_it.refused == 0u);
}

}  // namespace
}  // namespace tarn::test
