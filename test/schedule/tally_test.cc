// thread_tally, under every order that few preemptions make, with loads of what was overwritten: never more blocks are
// counted in use than there were at once.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>

#include "tarn/policies/locking/thread_ids.h"
#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/process.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"
#include "tarn/test/schedule/tally_variants.h"

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;
using right = variants::as_it_is::types;

/// Threads with capital letters have a number of their own; the others share a count.
struct tally_script {
  std::array<const char*, 4> words;  // A, a: allocates; F, f: frees; ?: counts what is in use
  std::size_t most;  // in use at once
};

struct process {
  template <class T>
  using atomic = scheduled_atomic<T>;
  static tarn::detail::thread_record& self() noexcept { return record_of_thread<tarn::detail::thread_record>(); }
};

template <class Types>
class world {
 public:
  explicit world(const tally_script& script) : script_(script) {
    static constexpr char domain = 0;
    for (unsigned thread = 0; thread != script.words.size(); ++thread) {
      auto& record = thread_records<tarn::detail::thread_record>[thread];
      record = {};
      const char* const word = script.words[thread];
      if (word != nullptr && *word == 'A') record.enrol(&domain, thread + 1);
    }
  }
  void run(unsigned thread) {
    for (const char* op = script_.words[thread]; *op != '\0'; ++op) {
      if (*op == '?') {
        if (tally_.in_use() > script_.most) the_scheduler.fail("more in use than there were");
      } else if (*op == 'A' || *op == 'a') {
        if (!tally_.try_add()) tally_.add(1);
      } else if (!tally_.try_subtract()) {
        tally_.subtract(1);
      }
    }
  }
  void finish() {
    if (tally_.in_use() != 0) the_scheduler.fail("a free isn't counted");
    if (tally_.peak() > script_.most) the_scheduler.fail("a peak that never was");
  }

 private:
  const tally_script& script_;
  typename Types::template tally<process> tally_;
};

const bounds limits{3, 0, 2};

BOOST_AUTO_TEST_CASE(no_more_blocks_are_counted_than_there_were) {
  expect_right<world<right>>("tally: AFAF ?", 2, limits, 18'000, tally_script{{"AFAF", "?"}, 1});
  expect_right<world<right>>("tally: afaf ?", 2, limits, 40'000, tally_script{{"afaf", "?"}, 1});
  expect_right<world<right>>("tally: AF af ?", 3, {2, 0, 1}, 72'000, tally_script{{"AF", "af", "?"}, 2});
}

template <class Types>
void expect_found(const char* name, const tally_script& script) {
  expect_wrong<world<Types>>(name, 2, limits, script);
}
BOOST_AUTO_TEST_CASE(mistakes_of_order_are_found) {
  expect_found<variants::added_relaxed::types>("added relaxed", {{"AFAF", "?"}, 1});
  expect_found<variants::added_by_others_relaxed::types>("added by others relaxed", {{"afaf", "?"}, 1});
  expect_found<variants::summed_relaxed::types>("summed relaxed", {{"AFAF", "?"}, 1});
  expect_found<variants::frees_read_first::types>("frees read first", {{"AFAF", "?"}, 1});
}

}  // namespace
