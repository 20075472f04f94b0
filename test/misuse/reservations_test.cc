// Misuse of blocks that are reserved: what checking policies report of it, and that the reservation goes on.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/pool.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

std::vector<misuse_kind> kinds(const recorder&) {
  std::vector<misuse_kind> all;
  for (const report& one : recorder::seen()) all.push_back(one.what.kind);
  recorder::seen().clear();
  return all;
}
using kinds_of = std::vector<misuse_kind>;

using block = static_size<64>;

/// The reservation of blocks that were used before: the first it hands out is the first of `used`.
template <class Pool>
auto reserve_used(Pool& p, std::span<void*> used) {
  p.allocate_batch(used);
  p.deallocate_batch(used);
  return p.reserve_blocks(used.size());
}

template <class Checking>
void stale_free(called_from = {}) {
  recorder seen;
  pool<block, Checking> p;
  void* used[3];
  auto r = reserve_used(p, used);
  REQUIRE(p.owns(used[0]) && r.remaining() == 3);
  p.deallocate(used[0]);  // passes: the block is in use again
  CHECK(r.allocate() == nullptr);  // the pool may hand that out
  CHECK(kinds(seen) == kinds_of{misuse_kind::double_free});
  CHECK(r.remaining() == 0);
}
BOOST_AUTO_TEST_CASE(a_block_that_is_freed_before_it_is_handed_out) {
  stale_free<hardened>();
  stale_free<checked>();
}

BOOST_AUTO_TEST_CASE(a_write_past_the_end_of_a_reserved_block) {
  recorder seen;
  pool<block, checked, counting_statistics> p;
  void* used[3];
  auto r = reserve_used(p, used);
  std::memset(static_cast<std::byte*>(hidden(used[0])) + 60, 7, 8);
  CHECK(r.allocate() == used[1]);  // the damaged one isn't handed out
  CHECK(kinds(seen) == kinds_of{misuse_kind::write_past_end});
  CHECK(r.remaining() == 1);
  p.deallocate(used[1]);
  r = {};
  CHECK(kinds(seen).empty());
  CHECK(p.statistics().in_use == 1);
  p.release();
}

BOOST_AUTO_TEST_CASE(a_link_that_was_overwritten_is_not_followed) {
  recorder seen;
  pool<block, hardened> p;
  void* used[3];
  auto r = reserve_used(p, used);
  std::memset(hidden(used[0]), 7, 16);
  CHECK(r.allocate() == used[0]);
  CHECK(r.allocate() == nullptr);
  CHECK(kinds(seen).size() == 1);
  CHECK(r.remaining() == 0);
  p.deallocate(used[0]);
}

// shows: FM-39
BOOST_AUTO_TEST_CASE(a_pool_that_is_released_under_a_reservation) {
  recorder seen;
  pool<block, checked> p;
  {
    const auto r = p.reserve_blocks(100);
    p.release();
  }
  CHECK(kinds(seen).size() == 1);  // once for all blocks; which kind depends on what lies there now
}

// shows: FM-39
BOOST_AUTO_TEST_CASE(a_reservation_that_outlives_its_pool) {
  recorder seen;
  std::optional<pool<block, checked>> p(std::in_place);
  auto r = p->reserve_blocks(100);
  p.reset();
  CHECK(recorder::seen().size() == 1);
  CHECK(recorder::seen()[0].what.leaked == 100);
  CHECK(kinds(seen) == kinds_of{misuse_kind::leak});
  CHECK(r.allocate() == nullptr);
  CHECK(kinds(seen) == kinds_of{misuse_kind::ended_pool});
}

BOOST_AUTO_TEST_CASE(reserved_blocks_are_in_use_until_the_reservation_ends) {
  recorder seen;
  pool<block, checked> p;
  {
    const auto r = p.reserve_blocks(100);
    CHECK(report_in_use() == 100);
    CHECK(kinds(seen) == kinds_of{misuse_kind::leak});
  }
  CHECK(report_in_use() == 0);
  CHECK(p.verify() == 0);
  CHECK(kinds(seen).empty());
}

BOOST_AUTO_TEST_CASE(a_report_names_who_was_handed_the_block) {
  recorder seen;
  {
    pool<block, checked_with<sites>, mutex_locking<>> p;
    auto r = p.reserve_blocks(10);
    std::thread([&] { p.note_site(r.allocate(), call_site{"hot.cc", 7}); }).join();
    r = {};
  }
  REQUIRE(recorder::seen().size() == 1);
  const misuse& what = recorder::seen()[0].what;
  CHECK(what.kind == misuse_kind::leak && what.leaked == 1 && what.line == 7);
  CHECK(what.allocated > 10 && what.allocated_by != 1);  // not when it was reserved, and by whom
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_not_the_owner) {
  recorder seen;
  struct crew;
  pool<block, checked, grouped_locking<crew>> p;
  auto r = p.reserve_blocks(10);
  std::thread([&] { CHECK(r.allocate() == nullptr); }).join();
  CHECK(kinds(seen) == kinds_of{misuse_kind::wrong_thread});
  CHECK(r.remaining() == 10);
  std::thread([&] { CHECK(!p.try_reserve_blocks(1)); }).join();
  CHECK(kinds(seen) == kinds_of{misuse_kind::wrong_thread});
  p.deallocate(r.allocate());
  std::thread([mine = std::move(r)] {}).join();  // its end there gives nothing back
  CHECK(kinds(seen) == kinds_of{misuse_kind::wrong_thread});
  p.release();
}

BOOST_AUTO_TEST_CASE(the_first_thread_owns_a_group_whichever_it_is) {
  recorder seen;
  struct crew;
  struct others;
  pool<block, checked, grouped_locking<crew>> first;
  first.deallocate(first.allocate());
  std::thread([] {
    pool<block, checked, grouped_locking<others>> p;
    CHECK(p.try_allocate() != nullptr);
    p.release();
  }).join();
  CHECK(kinds(seen).empty());
}

}  // namespace
}  // namespace tarn::test
