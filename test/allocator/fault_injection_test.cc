// Every composition that grows or has a second store, and every operation of a pool, with the k-th call of the stores failing,
// k = 1, 2, ..., until the operation needs no more calls: once, for ever, every second; with null and with an exception
// (pool_trial.h).
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/compositions.h"
#include "tarn/test/support/faults.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/pool_trial.h"
#include "tarn/test/support/rig.h"

namespace tarn::test {
namespace {

// ---- every composition -----------------------------------------------------------------------------------------------------

// Other exhaustion policies have a test of their own.
template <class Pool>
using over_faults = with_exhaustion<with_store<Pool, injecting_store>, report_exhaustion>;

/// The rows of the list, and what is tried of them.
struct rows {
  std::size_t all = 0;
  std::size_t bounded = 0;  // one store, which is: no call of it fails
  std::vector<subject> growing;  // one store
  std::vector<subject> with_two;
};

template <class Pool>
void add_row(rows& to) {
  using is = facts<Pool>;
  const std::string name = "composition " + std::to_string(to.all++);
  const std::size_t grain = is::whole_pages ? 4096 : 1;
  if constexpr (is::exhaustion::traits.has_second()) {
    using over = over_two_faults<Pool>;
    subject s = subject_of<over>(name, &over_two<over>);
    s.grain = grain;
    s.where = failing_store::both;
    s.goes_on = s.reserve != 0;
    to.with_two.push_back(std::move(s));
  } else if constexpr (is::store::traits.bounded) {
    ++to.bounded;
  } else {
    using over = over_faults<Pool>;
    subject s = subject_of<over>(name, &over_first<over>);
    s.grain = grain;
    to.growing.push_back(std::move(s));
  }
}
const rows& the_rows() {
  static const rows found = []<class... Row>(std::type_identity<std::tuple<Row...>>) {
    rows all;
    (add_row<typename Row::type>(all), ...);
    return all;
  }(std::type_identity<shard>{});
  return found;
}

/// A store has turned an exception into null before its pool hears of it, so a composition meets one of both by day.
std::span<const refusal> refusals_of(std::size_t row) {
  const std::span<const refusal> both(null_and_exception);
  return patience() > 1 ? both : both.subspan(row % 2, 1);
}

void check_trims(ledger& book, const std::vector<subject>& subjects, called_from = {}) {
  const auto without = static_cast<std::size_t>(
      std::count_if(subjects.begin(), subjects.end(), [](const subject& s) { return !s.may_return_chunks; }));
  for (const operation& o : operations)
    if (o.exists == &has_trim) CHECK(book.without(o.name) == without);
}

// shows: FM-6
BOOST_AUTO_TEST_CASE(every_growable_composition) {
  const rows& of = the_rows();
  ledger book;
  for (std::size_t i = 0; i != of.growing.size(); ++i) try_everything(book, of.growing[i], refusals_of(i));
  std::printf("%zu of %zu compositions have one store, and grow\n", of.growing.size(), of.all);
  check_floors(book, 7'000 / TARN_SHARDS);
  BOOST_TEST(of.all == std::tuple_size_v<shard>);
  BOOST_TEST(of.growing.size() + of.with_two.size() + of.bounded == of.all);
  BOOST_TEST(of.growing.size() >= 24u / TARN_SHARDS);
  check_trims(book, of.growing);
}

// An array, a buffer or another store before or behind another one: whichever of them can refuse does.
BOOST_AUTO_TEST_CASE(every_composition_with_a_second_store) {
  const rows& of = the_rows();
  ledger book;
  std::vector<subject> tried;
  for (const subject& s : of.with_two) {
    BOOST_TEST_CONTEXT(s.name) what_is_promised_is_served(s);
    if (s.own != 0 && s.reserve != 0) continue;  // neither can refuse
    try_everything(book, s, refusals_of(tried.size()));
    tried.push_back(s);
    if (s.own != 0 || s.reserve != 0) continue;
    subject again = s;
    again.name += ", the first is dry";
    again.where = failing_store::second_first_is_dry;
    try_everything(book, again, refusals_of(tried.size()));
    tried.push_back(std::move(again));
  }
  std::printf("%zu of %zu compositions have two stores; %zu ways to fail\n", of.with_two.size(), of.all, tried.size());
  check_floors(book, 7'000 / TARN_SHARDS);
  BOOST_TEST(of.with_two.size() >= 30u / TARN_SHARDS);
  BOOST_TEST(tried.size() >= 24u / TARN_SHARDS);
  check_trims(book, tried);
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
