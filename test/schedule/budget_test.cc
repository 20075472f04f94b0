// memory_budget, under every order that few preemptions make: at no moment is more had than the limit allows, nothing is left
// charged, and whoever crosses the soft limit is followed by a call of the handler.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>

#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"

namespace tarn::test {

/// The bytes in use: what a budget is to say of them is seen here, as they change.
class noted_word : public scheduled_atomic<std::size_t> {
  using base = scheduled_atomic<std::size_t>;

 public:
  using base::base;
  std::size_t fetch_add(std::size_t more, detail::memory_order order) noexcept {
    const std::size_t before = base::fetch_add(more, order);
    if (before + more > most) most = before + more;
    if (before <= soft && before + more > soft) ++crossings;
    return before;
  }

  static inline std::size_t most, soft;
  static inline unsigned crossings;
};

}  // namespace tarn::test

#include "tarn/test/schedule/budget_variants.h"

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;
using right = variants::as_it_is::types;

using words = std::array<const char*, 4>;

struct rules {
  std::size_t limit = 0;
  std::size_t soft = 0;
  std::size_t expected = 1;  // what a store is expected to give
  std::size_t given = 1;     // what it gives
};

/// t takes memory from a store, g gives the last back. What is left at the end goes back, too.
template <class Types>
class budget_world {
 public:
  budget_world(const words& script, const rules& is)
      : script_(script), is_(is), budget_(is.limit, is.soft, count, this) {
    noted_word::most = 0;
    noted_word::soft = is.soft;
    noted_word::crossings = 0;
  }

  void run(unsigned thread) {
    std::size_t has = 0;
    for (const char* op = script_[thread]; *op != '\0'; ++op) {
      if (*op == 't') has += take() ? 1u : 0u;
      else if (has != 0) --has, give();
    }
    for (; has != 0; --has) give();
  }
  void finish() {
    if (out_ != 0) the_scheduler.fail("memory is lost");
    if (budget_.used() != 0 || budget_.left() != is_.limit) the_scheduler.fail("something is left charged");
    if (budget_.peak() != noted_word::most) the_scheduler.fail("the peak is wrong");
    if (told_ == 0 && noted_word::crossings != 0) the_scheduler.fail("a crossing isn't told");
    if (told_ > noted_word::crossings) the_scheduler.fail("what was no crossing is told, or one twice");
  }

 private:
  static void count(typename Types::budget&, void* its) noexcept { ++static_cast<budget_world*>(its)->told_; }

  bool take() {
    const auto region = budget_.charge(
        is_.expected,
        [this] {
          out_ += is_.given;
          if (out_ > is_.limit && is_.given <= is_.expected) the_scheduler.fail("the limit is exceeded");
          if (is_.limit == is_.given && is_.given == is_.expected) ++only_;  // nobody else has any
          return tarn::detail::memory{this, is_.given};
        },
        [this](tarn::detail::memory) { out_ -= is_.given; });
    budget_.tell();
    return static_cast<bool>(region);
  }
  void give() {
    if (is_.limit == is_.given && is_.given == is_.expected) ++only_;
    out_ -= is_.given;
    budget_.give_back(is_.given);
  }

  const words& script_;
  const rules& is_;
  typename Types::budget budget_;
  std::size_t out_ = 0;
  watched<unsigned> only_ = 0;
  unsigned told_ = 0;
};

constexpr rules one{1, 5}, two{2, 1}, many{9, 1}, surplus{3, 5, 1, 2}, rest{3, 5, 3, 1};

BOOST_AUTO_TEST_CASE(the_limit_is_never_exceeded) {
  expect_right<budget_world<right>>("one region: tgt tg", 2, {5, 1, 1}, 100'000, words{"tgt", "tg"}, one);
  expect_right<budget_world<right>>("two regions: t t tgt", 3, {3, 0, 0}, 60'000, words{"t", "t", "tgt"}, two);
  expect_right<budget_world<right>>("more than expected: tt t", 2, {4, 0, 0}, 10'000, words{"tt", "t"}, surplus);
  expect_right<budget_world<right>>("less than expected: tt t", 2, {4, 0, 0}, 2'500, words{"tt", "t"}, rest);
}

BOOST_AUTO_TEST_CASE(each_crossing_is_told) {
  expect_right<budget_world<right>>("soft limit: tgt tgt", 2, {4, 0, 1}, 200'000, words{"tgt", "tgt"}, many);
  expect_right<budget_world<right>>("soft limit: t t t", 3, {3, 0, 0}, 30'000, words{"t", "t", "t"}, many);
}

template <class Types>
void expect_found(const char* name, const words& script, const rules& is) {
  expect_wrong<budget_world<Types>>(name, 2, {2}, script, is);
}
BOOST_AUTO_TEST_CASE(mistakes_with_budgets_are_found) {
  expect_found<variants::looked_then_charged::types>("looked, then charged", {"t", "t"}, one);
  expect_found<variants::charged_relaxed::types>("charged relaxed", {"t", "t"}, one);
  expect_found<variants::given_back_relaxed::types>("given back relaxed", {"t", "t"}, one);
  expect_found<variants::charged_afterwards::types>("charged afterwards", {"t", "t"}, one);
  expect_found<variants::surplus_not_charged::types>("surplus not charged", {"t", "t"}, surplus);
  expect_found<variants::given_back_without_going::types>("surplus given back without going", {"tt", ""}, surplus);
  expect_found<variants::surplus_is_kept::types>("charge of a refused surplus kept", {"tt", ""}, surplus);
  expect_found<variants::rest_is_kept::types>("rest kept", {"t", ""}, rest);
  expect_found<variants::peak_in_two_steps::types>("peak in two steps", {"t", "t"}, many);
  expect_found<variants::crossing_is_looked_at_later::types>("crossing looked at later", {"t", "t"}, many);
  expect_found<variants::told_twice::types>("told twice", {"t", "t"}, many);
  expect_found<variants::each_growth_above_is_told::types>("each growth above told", {"tt", "t"}, many);
}

}  // namespace
