// The references for many threads must be right, too: a block has one owner at a time, whichever threads it goes through, and
// nothing is lost when a thread ends. The seed is printed, and read from TARN_SEED.

#include "tarn/bench/threads_reference.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace {

using subjects = boost::mpl::list<tarn_bench::bare_arrays<64>, tarn_bench::bare_arrays<24, 14>,  //
                                  tarn_bench::bare_lists<64>, tarn_bench::bare_lists<24, 14>>;
// The references are static: those that no other test has filled.
using fresh_subjects = boost::mpl::list<tarn_bench::bare_arrays<32>, tarn_bench::bare_arrays<40, 14>,  //
                                        tarn_bench::bare_lists<32>, tarn_bench::bare_lists<40, 14>>;

std::uint64_t seed() {
  const char* const given = std::getenv("TARN_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20240229;
}

/// A live block and what stands in its words.
struct held {
  std::uint64_t* block;
  std::uint64_t stamp;
};
using box = std::vector<held>;

/// A thread's part of the churn: its blocks come from whoever had the box before.
template <class Subject>
struct worker {
  static constexpr std::size_t words = 3;
  std::mt19937_64 random;
  std::uint64_t next_stamp;
  std::size_t faults = 0;

  held take() {
    const held one{static_cast<std::uint64_t*>(Subject::take()), next_stamp++};
    for (std::size_t i = 0; i < words; ++i) one.block[i] = one.stamp;
    return one;
  }
  void give(const held& one) {
    for (std::size_t i = 0; i < words; ++i) faults += one.block[i] != one.stamp;
    Subject::give(one.block);
  }
  void churn(std::atomic<box*>& shared, box* mine, std::size_t rounds) {
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t wanted = random() % 3000;
      while (mine->size() < wanted) mine->push_back(take());
      while (mine->size() > wanted) {
        std::swap((*mine)[random() % mine->size()], mine->back());
        give(mine->back());
        mine->pop_back();
      }
      mine = shared.exchange(mine, std::memory_order_acq_rel);
    }
    for (const held& one : *mine) give(one);
    mine->clear();
  }
};

BOOST_AUTO_TEST_SUITE(threads_reference)

BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_that_change_hands_keep_their_stamps, Subject, subjects) {
  BOOST_TEST_MESSAGE("TARN_SEED=" << seed());
  const std::size_t before = Subject::handed_over();
  std::size_t faults = 0;
  for (std::uint64_t generation = 0; generation < 5; ++generation) {  // magazines of ended threads come back
    std::array<box, 5> boxes;
    std::array<worker<Subject>, 4> workers;
    std::atomic<box*> shared = &boxes[4];
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      workers[i].random.seed(seed() + generation * workers.size() + i);
      workers[i].next_stamp = (i + 1) << 48;
      threads.emplace_back([&shared, &mine = boxes[i], &worker = workers[i]] { worker.churn(shared, &mine, 400); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const held& one : *shared.load()) workers[0].give(one);
    for (const auto& each : workers) faults += each.faults;
  }
  BOOST_TEST(faults == 0U);
  BOOST_TEST_MESSAGE("magazines handed over: " << Subject::handed_over() - before);
  BOOST_TEST(Subject::handed_over() - before > 100U);
}

/// Threads that end hand back what they kept: whoever comes next takes the same blocks.
BOOST_AUTO_TEST_CASE_TEMPLATE(what_a_thread_frees_another_takes_again, Subject, fresh_subjects) {
  std::set<void*> all;
  std::vector<void*> live;
  for (std::size_t round = 0; round < 100; ++round) {
    live.resize(4000 + round * 617 % 1000);  // so that magazines end at any filling
    std::thread{[&live] {
      for (void*& block : live) block = Subject::take();
    }}.join();
    const std::set<void*> distinct(live.begin(), live.end());
    BOOST_TEST(distinct.size() == live.size());
    all.insert(live.begin(), live.end());
    for (const std::size_t first : {0U, 1U}) {
      std::thread{[&live, first] {
        for (std::size_t i = first; i < live.size(); i += 2) Subject::give(live[i]);
      }}.join();
    }
  }
  BOOST_TEST_MESSAGE("blocks in all: " << all.size());
  BOOST_TEST(all.size() <= 5000U + 510U);  // one magazine may have been carved beyond
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
