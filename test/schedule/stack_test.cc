// tagged_stack under every order of its operations that few preemptions make: no number is owned twice, none is lost. The same
// for stacks with a mistake in them, each of which must be found.
//
// A thread's script is a word: a takes a number, n puts the newest of its own back, o the oldest, c all of them as a chain,
// and for ? each of a, n and o is tried. Without o a number never comes back before another that was taken later, and nothing
// is wrong even with untagged stacks.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tarn/policies/locking/lock_free.h"
#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"
#include "tarn/test/schedule/stack_calls_variants.h"

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;

using script = std::array<const char*, 4>;
constexpr unsigned nobody = scheduler::nobody;

template <class Stack>
class world {
 public:
  world(const script& words, unsigned numbers) : script_(words), numbers_(numbers) {
    owners_.fill(nobody);
    for (unsigned n = numbers; n != 0; --n) stack_.push(number(n), links_[n]);
  }

  void run(unsigned thread) {
    hand& mine = hands_[thread];
    for (const char* word = script_[thread]; *word != '\0'; ++word) {
      const unsigned choices = mine.size < 2 ? static_cast<unsigned>(mine.size) + 1 : 3;
      const char op = *word != '?' ? *word : "ano"[the_scheduler.any_of(choices)];
      if (op == 'a') {
        const unsigned n = stack_.pop([this](unsigned of) -> auto& { return link_of(of); });
        if (n != 0) own(mine, n, thread);
      } else if (mine.size != 0) {
        if (op == 'c') give_chain(mine);
        else give(mine, op == 'n' ? mine.size - 1 : 0);
      }
    }
  }
  void finish() {
    for (unsigned i = 0; i <= numbers_; ++i) {
      const unsigned n = stack_.pop([this](unsigned of) -> auto& { return link_of(of); });
      if (n == 0) break;
      own(rest_, n, scheduler::most);
    }
    for (unsigned n = 1; n <= numbers_; ++n)
      if (owners_[n] == nobody) the_scheduler.fail("a number is lost");
  }

 private:
  static constexpr std::size_t most = 8;
  struct hand {
    std::array<unsigned, most> numbers;
    std::size_t size = 0;
  };

  static typename Stack::number number(unsigned n) { return static_cast<typename Stack::number>(n); }
  auto& link_of(unsigned n) {
    if (n > numbers_) the_scheduler.fail("a number that never was");
    return links_[n];
  }
  void own(hand& mine, unsigned n, unsigned thread) {
    if (n > numbers_) return the_scheduler.fail("a number that never was");
    if (owners_[n] != nobody) return the_scheduler.fail("a number is owned twice");
    the_memory.written(&owners_[n]);  // for the payload
    owners_[n] = thread;
    mine.numbers[mine.size++] = n;
  }
  void give(hand& mine, std::size_t i) {
    const unsigned n = mine.numbers[i];
    for (--mine.size; i != mine.size; ++i) mine.numbers[i] = mine.numbers[i + 1];
    the_memory.written(&owners_[n]);
    owners_[n] = nobody;
    stack_.push(number(n), links_[n]);
  }
  void give_chain(hand& mine) {
    const std::size_t size = mine.size;
    for (std::size_t i = 0; i != size; ++i) {
      the_memory.written(&owners_[mine.numbers[i]]);
      owners_[mine.numbers[i]] = nobody;
    }
    for (std::size_t i = 1; i != size; ++i) links_[mine.numbers[i - 1]].store(number(mine.numbers[i]));
    mine.size = 0;
    stack_.push_chain(number(mine.numbers[0]), links_[mine.numbers[size - 1]]);
  }

  Stack stack_;
  std::array<typename Stack::link, most + 1> links_;
  std::array<unsigned, most + 1> owners_;
  std::array<hand, 4> hands_;
  hand rest_;
  const script& script_;
  unsigned numbers_;
};

using right = world<tarn::detail::tagged_stack<scheduled_atomic>>;
using narrow = world<tarn::detail::tagged_stack<scheduled_atomic, std::uint32_t>>;
template <class Types>
using variant = world<typename Types::template stack<scheduled_atomic>>;

std::string name_of(const script& words, unsigned threads, unsigned numbers) {
  std::string text = "stack of " + std::to_string(numbers) + ":";
  for (unsigned i = 0; i != threads; ++i) text += std::string(" ") + words[i];
  return text;
}

struct scenario {
  script words;
  unsigned threads;
  unsigned numbers;
  unsigned preemptions;
  std::uint64_t at_least;  // schedules

  std::string name() const { return name_of(words, threads, numbers); }
};

const scenario few[] = {
    // every order
    {{"aao", "aao"}, 2, 3, bounds::any, 370'000},
    {{"??", "??"}, 2, 2, bounds::any, 9'000},
    // every program
    {{"?????", "?????"}, 2, 3, 3, 580'000},
    {{"???", "???", "???"}, 3, 3, 3, 830'000},
    {{"????", "????", "????"}, 3, 3, 2, 1'000'000},
    {{"a?", "a?", "a?", "a?"}, 4, 4, 2, 180'000},
    // chains
    {{"aacao", "aaoac"}, 2, 3, 4, 27'000},
    {{"aaoa", "aaca", "anan"}, 3, 4, 3, 94'000},
    {{"aao", "aac", "ana", "aoa"}, 4, 4, 2, 38'000},
    // to the empty stack and back
    {{"aana", "anao"}, 2, 1, 4, 1'700},
};
const scenario longer[] = {
    {{"aaoa", "aaoa"}, 2, 3, 12, 15'000'000},
    {{"?????", "?????"}, 2, 3, 4, 3'700'000},
    {{"????", "????", "????"}, 3, 3, 3, 15'000'000},
    {{"a?", "a?", "a?", "a?"}, 4, 4, 3, 2'700'000},
    {{"aao", "aac", "ana", "aoa"}, 4, 4, 3, 910'000},
};

BOOST_AUTO_TEST_CASE(a_tagged_stack_keeps_every_number) {
  for (const scenario& s : few)
    expect_right<right>(s.name(), s.threads, {s.preemptions}, s.at_least, s.words, s.numbers);
  if (nightly())
    for (const scenario& s : longer)
      expect_right<right>(s.name(), s.threads, {s.preemptions}, s.at_least, s.words, s.numbers);
}

/// Where a tag of 16 bits comes round: tagged_stack_test.cc.
BOOST_AUTO_TEST_CASE(a_narrow_stack_keeps_every_number) {
  for (const scenario& s : few)
    if (s.threads == 2)
      expect_right<narrow>("narrow " + s.name(), s.threads, {s.preemptions}, s.at_least, s.words, s.numbers);
}

BOOST_AUTO_TEST_CASE(a_load_may_be_stale) {
  const struct {
    script words;
    unsigned threads;
    bounds limits;
    std::uint64_t at_least;
  } scenarios[] = {
      {{"aao", "aoa"}, 2, {3, 0, 2}, 2'500},
      {{"aaca", "aaoc"}, 2, {2, 0, 2}, 1'500},
      {{"ao", "ao", "a"}, 3, {3, 0, 1}, 17'000},
      {{"???", "???"}, 2, {2, 1, 1}, 34'000},
  };
  for (const auto& s : scenarios)
    expect_right<right>(name_of(s.words, s.threads, 3), s.threads, s.limits, s.at_least, s.words, 3u);
}

BOOST_AUTO_TEST_CASE(a_weak_exchange_may_fail) {
  const script words{"aao", "aoa"};
  expect_right<right>("stack of 3, 2 weak failures", 2, {3, 2}, 5'000, words, 3u);
}

// The second thread is stopped between its load and its exchange, while the first makes the head what it was.
const script reused{"aao", "aa"};

template <class Types>
void expect_found(const char* name, const script& words, unsigned numbers = 3, const bounds& limits = {2}) {
  expect_wrong<variant<Types>>(name, 2, limits, words, numbers);
}

BOOST_AUTO_TEST_CASE(stacks_with_a_tag_that_comes_round_are_found) {
  expect_found<variants::untagged::types>("untagged", reused);
  expect_found<variants::tag_of_1_bit::types>("tag of 1 bit", reused);
  expect_found<variants::tag_of_2_bits::types>("tag of 2 bits", {"ananaao", "aa"});
  expect_found<variants::tag_of_4_bits::types>("tag of 4 bits", {"anananananan" "anananananananan" "aao", "aa"}, 3, {1});
}

BOOST_AUTO_TEST_CASE(stacks_that_lose_their_tag_are_found) {
  expect_found<variants::tag_lost_when_empty::types>("a tag lost when the stack is empty", {"aaoo", "aa"}, 2);
  expect_found<variants::tag_lost_on_push::types>("a tag lost on a push", {"aaono", "aa"});
}

BOOST_AUTO_TEST_CASE(narrow_stacks_without_a_tag_are_found) {
  expect_wrong<world<variants::untagged::types::narrow_stack<scheduled_atomic>>>("untagged, narrow", 2, {2}, reused, 3u);
  expect_wrong<world<variants::tag_of_2_bits::types::narrow_stack<scheduled_atomic>>>(
      "tag of 2 bits, narrow", 2, {2}, script{"ananaao", "aa"}, 3u);
}

BOOST_AUTO_TEST_CASE(what_only_frees_the_newest_finds_nothing) {
  const script newest{"aan", "aa"};
  using untagged = variant<variants::untagged::types>;
  expect_right<untagged>("untagged, only the newest is given back", 2, {bounds::any}, 21'000, newest, 3u);
  expect_right<variant<variants::tag_of_2_bits::types>>("tag of 2 bits that doesn't come round", 2, {3}, 270, reused, 3u);
}

/// A number comes back to the head only by a push, so that this is no mistake.
BOOST_AUTO_TEST_CASE(a_tag_that_pushes_change_is_as_good) {
  for (const scenario& s : few)
    if (s.threads == 2)
      expect_right<variant<variants::tag_by_push::types>>("tag by push, " + s.name(), s.threads, {s.preemptions}, s.at_least,
                                                          s.words, s.numbers);
  expect_found<variants::tag_of_1_bit_by_push::types>("tag of 1 bit by push", {"aaano", "aa"});
}

BOOST_AUTO_TEST_CASE(orders_that_are_too_weak_are_found) {
  expect_found<variants::push_relaxed::types>("push relaxed", {"an", "a"}, 1);
  expect_found<variants::pop_relaxed::types>("pop relaxed", {"an", "a"}, 1);
  const bounds one_stale{2, 0, 1};
  expect_found<variants::loaded_relaxed::types>("the first load of pop relaxed", {"aao", "a"}, 3, one_stale);
  expect_found<variants::loaded_again_relaxed::types>("the failed exchange of pop relaxed", {"aao", "a"}, 3, one_stale);
}

/// What it reads was read before, with an acquire: a number that came back has another tag.
BOOST_AUTO_TEST_CASE(the_order_of_an_exchange_of_pop_is_no_matter) {
  for (const script& words : {script{"aao", "aoa"}, script{"aaca", "aaoc"}})
    expect_right<variant<variants::exchanged_relaxed::types>>("the exchange of pop relaxed", 2, {2, 0, 2}, 560, words, 3u);
}

BOOST_AUTO_TEST_CASE(other_mistakes_are_found) {
  expect_found<variants::next_not_read_again::types>("next isn't read again", {"ao", "ao"});
  expect_found<variants::published_before_linked::types>("published before it is linked", reused);
  expect_found<variants::linked_once::types>("linked once for all tries", {"an", "an"});
  expect_found<variants::stored_by_pop::types>("a pop stores", {"a", "a"});
}

}  // namespace
