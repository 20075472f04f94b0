// thread_ids alone, in every order: no number is held twice, and each is free when it was given back.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tarn/policies/locking/thread_ids.h"
#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/magazine_calls_variants.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;

/// A thread's script is a word: t takes the lowest number, s the number below, if it is free, as a scavenger does; g gives the
/// oldest back.
struct ids_script {
  std::array<const char*, 4> words;
  unsigned taken;  // so many are taken before the schedule begins
};

template <class Ids>
class world {
 public:
  explicit world(const ids_script& script) : script_(script) {
    holders_.fill(nobody);
    for (unsigned i = 0; i != script.taken; ++i) holders_[ids_.take()] = scheduler::most;
  }
  void run(unsigned thread) {
    hand& mine = hands_[thread];
    for (const char* op = script_.words[thread]; *op != '\0'; ++op) {
      if (*op == 't') {
        own(mine, ids_.take(), thread);
      } else if (*op == 's') {
        if (ids_.take(script_.taken + 1)) own(mine, script_.taken + 1, thread);
      } else if (mine.size != 0) {
        const unsigned id = mine.numbers[0];
        for (std::size_t i = 1; i < mine.size; ++i) mine.numbers[i - 1] = mine.numbers[i];
        --mine.size;
        the_memory.written(&holders_[id]);
        holders_[id] = nobody;
        ids_.give_back(id);
      }
    }
  }
  void finish() {
    for (unsigned id = 1; id != holders_.size(); ++id) {
      if (ids_.take(id) != (holders_[id] == nobody)) the_scheduler.fail("a number is lost, or nobody's");
      ids_.give_back(id);
    }
    if (ids_.take() != 1) the_scheduler.fail("the lowest isn't taken first");
  }

 private:
  static constexpr unsigned nobody = scheduler::nobody;
  struct hand {
    std::array<unsigned, 8> numbers;
    std::size_t size = 0;
  };
  void own(hand& mine, unsigned id, unsigned thread) {
    if (id == 0 || id >= holders_.size()) return the_scheduler.fail("a number that isn't there");
    if (holders_[id] != nobody) return the_scheduler.fail("two threads hold one number");
    the_memory.written(&holders_[id]);  // for what pools keep under the number
    holders_[id] = thread;
    mine.numbers[mine.size++] = id;
  }

  Ids ids_;
  const ids_script& script_;
  std::array<unsigned, 96> holders_;
  std::array<hand, 4> hands_;
};

using right = world<tarn::detail::thread_ids<scheduled_atomic>>;
template <class Types>
using variant = world<typename Types::ids_type>;

BOOST_AUTO_TEST_CASE(no_number_is_held_twice) {
  const struct {
    ids_script script;
    unsigned threads;
    bounds limits;
    std::uint64_t at_least;
  } scenarios[] = {
      {{{"tgt", "tgt"}, 0}, 2, {bounds::any}, 270},
      {{{"tg", "tg", "t"}, 0}, 3, {bounds::any}, 1'400},
      {{{"tg", "sg", "tg"}, 0}, 3, {bounds::any}, 1'900},
      {{{"tgt", "sgs", "sgs"}, 0}, 3, {4}, 7'600},
      {{{"ttg", "ttg"}, 62}, 2, {bounds::any}, 2'500},  // into the second word
      {{{"tg", "tg", "sg", "sg"}, 0}, 4, {3}, 6'300},
      {{{"tgt", "tgs", "sg"}, 0}, 3, {3, 0, 2}, 1},
  };
  for (const auto& s : scenarios) {
    std::string name = "thread ids:";
    for (unsigned i = 0; i != s.threads; ++i) name += std::string(" ") + s.script.words[i];
    expect_right<right>(name, s.threads, s.limits, s.at_least, s.script);
  }
}

BOOST_AUTO_TEST_CASE(orders_that_are_too_weak_are_found) {
  expect_wrong<variant<variants::number_taken_relaxed::types>>("a number taken relaxed", 2, {2}, ids_script{{"tg", "t"}, 0});
  expect_wrong<variant<variants::dead_number_taken_relaxed::types>>("a dead thread's number taken relaxed", 2, {2},
                                                                    ids_script{{"tg", "s"}, 0});
  expect_wrong<variant<variants::number_given_back_relaxed::types>>("a number given back relaxed", 2, {2},
                                                                    ids_script{{"tg", "t"}, 0});
}

BOOST_AUTO_TEST_CASE(mistakes_are_found) {
  expect_wrong<variant<variants::taken_number_taken::types>>("a number that another took", 2, {2}, ids_script{{"t", "t"}, 0});
  expect_wrong<variant<variants::dead_number_taken_twice::types>>("a number that another took since it was looked at", 2, {2},
                                                                  ids_script{{"s", "t"}, 0});
}

}  // namespace
