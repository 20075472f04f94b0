// Every growable composition and every operation of a pool, with the k-th call of the store failing, k = 1, 2, ..., until the
// operation needs no more calls: once, for ever, every second; with null and with an exception (pool_trial.h).
#include <boost/test/unit_test.hpp>

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/compositions.h"
#include "tarn/test/support/faults.h"
#include "tarn/test/support/pool_trial.h"
#include "tarn/test/support/rig.h"

namespace tarn::test {
namespace {

// ---- every composition -----------------------------------------------------------------------------------------------------

// Other exhaustion policies have a test of their own: a second store would never be dry.
template <class Pool>
using over_faults = with_exhaustion<with_store<Pool, injecting_store>, report_exhaustion>;

BOOST_AUTO_TEST_CASE(every_growable_composition) {
  std::vector<subject> subjects;
  std::size_t rows = 0;
  std::size_t bounded = 0;
  std::size_t without_trim = 0;
  const auto add = [&]<class Row>(std::type_identity<Row>) {
    ++rows;
    using is = facts<typename Row::type>;
    using over = over_faults<typename Row::type>;
    if constexpr (is::store::traits.bounded) {
      ++bounded;
    } else {
      subject s = subject_of<over>("composition " + std::to_string(rows - 1), &over_first<over>);
      if (is::whole_pages) s.grain = 4096;
      without_trim += !s.may_return_chunks;
      subjects.push_back(std::move(s));
    }
  };
  const auto add_all = [&]<class... Row>(std::type_identity<std::tuple<Row...>>) { (add(std::type_identity<Row>{}), ...); };
  add_all(std::type_identity<shard>{});

  ledger book;
  for (const subject& s : subjects) try_everything(book, s);
  std::printf("%zu of %zu compositions grow; the others have a bounded store\n", subjects.size(), rows);
  check_floors(book, 10'000 / TARN_SHARDS);
  BOOST_TEST(rows == std::tuple_size_v<shard>);
  BOOST_TEST(subjects.size() + bounded == rows);
  BOOST_TEST(subjects.size() >= 32u / TARN_SHARDS);
  for (const operation& o : operations)
    if (o.exists == &has_trim) BOOST_TEST(book.without(o.name) == without_trim);
}

// ---- every way to go on without memory -------------------------------------------------------------------------------------

struct helper {
  stores* from;
  bool operator()(std::size_t) noexcept {
    ++from->asked;
    if (from->helps) from->fail(1, failing::never);  // somebody gave up memory
    return from->helps;
  }
};

template <class... Policies>
subject with_handler(std::string name, bool helps) {
  using made = pool<static_size<64>, injecting_store, fixed_growth<100>, retry_with<helper>, Policies...>;
  subject s = subject_of<made>(std::move(name), [](stores& from) {
    return make_pool<made>(injecting_store(&from.first), retry_with<helper>(helper{&from}));
  });
  s.goes_on = helps;
  s.handler = true;
  return s;
}
template <class Growth, class... Policies>
subject with_second_store(std::string name, failing_store where) {
  using second = fall_back_to<injecting_store, Growth>;
  using made = pool<static_size<64>, injecting_store, fixed_growth<100>, second, Policies...>;
  subject s = subject_of<made>(std::move(name), [](stores& from) {
    return make_pool<made>(injecting_store(&from.first), second(injecting_store(&from.second)));
  });
  s.where = where;
  s.goes_on = where == failing_store::first;
  return s;
}

using reclaiming = pool<static_size<64>, injecting_store, fixed_growth<100>, mutex_locking<>, reclaim_and_retry<>>;
/// With an empty chunk in another pool.
subject with_neighbour() {
  subject s = subject_of<reclaiming>("reclaim_and_retry, another pool has a chunk", [](stores& from) {
    from.neighbour = make_pool<reclaiming>(injecting_store(&from.elsewhere));
    REQUIRE(from.neighbour->try_reserve(100));
    return make_pool<reclaiming>(injecting_store(&from.first));
  });
  s.goes_on_once = true;
  return s;
}

using waiting = pool<static_size<64>, injecting_store, fixed_growth<100>, mutex_locking<>, wait_for_block<1>>;

BOOST_AUTO_TEST_CASE(every_exhaustion_policy) {
  ledger book;
  std::vector<subject> subjects = {
      with_handler<>("retry_with, gives up", false),
      with_handler<>("retry_with, finds memory", true),
      with_handler<thread_cached<>>("retry_with, gives up, thread_cached", false),
      with_handler<mutex_locking<>, page_local_reuse<>>("retry_with, finds memory, page_local_reuse", true),
      with_second_store<fixed_growth<50>>("fall_back_to, first fails", failing_store::first),
      with_second_store<fixed_growth<50>>("fall_back_to, second fails", failing_store::second_first_is_dry),
      with_second_store<geometric_growth<8, 64>>("fall_back_to with larger and larger chunks, second fails",
                                                 failing_store::second_first_is_dry),
      with_second_store<fixed_growth<50>>("fall_back_to, both fail", failing_store::both),
      with_second_store<fixed_growth<50>, return_empty_chunks<0, 1>>("fall_back_to, both fail, return_empty_chunks",
                                                                      failing_store::both),
      with_second_store<geometric_growth<8, 64>, lock_free>("fall_back_to, both fail, lock_free", failing_store::both),
      with_neighbour(),
      subject_of<reclaiming>("reclaim_and_retry, nothing to reclaim", &over_first<reclaiming>),
      subject_of<waiting>("wait_for_block", &over_first<waiting>),
  };
  for (const subject& s : subjects) try_everything(book, s);
  std::printf("%zu pools with an exhaustion policy\n", subjects.size());
  check_floors(book, 3'000);
}

}  // namespace
}  // namespace tarn::test
