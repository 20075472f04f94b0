// Memory behind pages: brought in, given back, by each of the ways that there are where the system lacks a call.
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/test/policies/store/processes.h"

namespace tarn::test {
namespace {

using detail::page_calls;
using detail::page_memory_over;

struct call_counts {
  int advise = 0;
  int advise_all = 0;
  std::size_t most_runs = 0;
};

/// The calls of this system, counted. One error for those of several runs, one for those that bring memory; 0: none.
template <int VectorError = 0, int FillError = 0>
struct calls : page_calls {
  static inline call_counts seen;
  static int advise(void* start, std::size_t bytes, int advice) noexcept {
    ++seen.advise;
    if (FillError == 0 || advice != populate_write) return page_calls::advise(start, bytes, advice);
    errno = FillError;
    return -1;
  }
  static long advise_all(const detail::page_run* runs, std::size_t n, int advice) noexcept {
    ++seen.advise_all;
    seen.most_runs = std::max(seen.most_runs, n);
    if (VectorError == 0) return page_calls::advise_all(runs, n, advice);
    errno = VectorError;
    return -1;
  }
};
/// A system that gives back less than asked for: a signal, or a run of which a part is gone.
template <class Other>
struct half_calls : Other {
  static long advise_all(const detail::page_run* runs, std::size_t n, int advice) noexcept {
    return Other::advise_all(runs, (n + 1) / 2, advice);
  }
};

struct pages_of_test {
  std::byte* start;
  std::size_t page = page_bytes();
  std::size_t count;

  explicit pages_of_test(std::size_t n) : count(n) {
    void* const at = mmap(nullptr, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    BOOST_REQUIRE(at != MAP_FAILED);
    start = static_cast<std::byte*>(at);
    madvise(at, n * page, MADV_NOHUGEPAGE);
  }
  ~pages_of_test() { munmap(start, count * page); }

  std::byte* at(std::size_t i) const { return start + i * page; }
  void write() const { std::memset(start, 1, count * page); }
  bool holds(std::size_t i, int value) const {
    return std::all_of(at(i), at(i + 1), [&](std::byte b) { return b == std::byte(value); });
  }
  std::size_t resident() const { return pages_in(start, count * page).resident; }
  /// Every second page, a run each.
  std::vector<detail::memory> every_second() const {
    std::vector<detail::memory> runs;
    for (std::size_t i = 0; i < count; i += 2) runs.push_back({at(i), page});
    return runs;
  }
};

/// Gives back 130 runs of one page, every second one. Returns the calls that it took.
template <class System>
call_counts discard_every_second(page_advice how = page_advice::discard) {
  const pages_of_test pages(260);
  pages.write();
  const std::vector<detail::memory> runs = pages.every_second();
  System::seen = {};
  errno = 77;
  BOOST_TEST(page_memory_over<System>::discard(runs.data(), runs.size(), how) == runs.size());
  BOOST_TEST(errno == 77);
  if (how == page_advice::discard) BOOST_TEST(pages.resident() == 130u);
  bool right = true;
  for (std::size_t i = 0; i != pages.count; ++i)
    if (i % 2 == 1 || how == page_advice::discard) right = right && pages.holds(i, static_cast<int>(i % 2));
  BOOST_TEST(right);  // what went is zero, what lies between is as it was
  return System::seen;
}

/// Whether this system takes several runs in one call; without (before Linux 6.15, Valgrind), its calls are those of an error.
bool has_vectored_calls() {
  const pages_of_test pages(1);
  const detail::page_run run{pages.start, pages.page};
  return page_calls::advise_all(&run, 1, page_calls::discard) >= 0;
}

BOOST_AUTO_TEST_CASE(one_call_gives_back_64_runs) {
  if (!has_vectored_calls()) return;
  using system = calls<>;
  for (const page_advice how : {page_advice::discard, page_advice::free_lazily}) {
    const call_counts took = discard_every_second<system>(how);
    BOOST_TEST(took.advise_all == 3);  // 64, 64 and 2
    BOOST_TEST(took.advise == 0);
    BOOST_TEST(took.most_runs == 64u);
  }
  const call_counts halves = discard_every_second<half_calls<system>>();
  BOOST_TEST(halves.advise == 1);  // the last run of all
}

/// The first call fails, and from then on each run has one of its own.
template <int Error>
void check_without_vectored_calls() {
  BOOST_TEST_CONTEXT("error " << Error) {
    const call_counts first = discard_every_second<calls<Error>>();
    BOOST_TEST(first.advise_all == 1);
    BOOST_TEST(first.advise == 130);
    const call_counts second = discard_every_second<calls<Error>>(page_advice::free_lazily);
    BOOST_TEST(second.advise_all == 0);
    BOOST_TEST(second.advise == 130);
  }
}

BOOST_AUTO_TEST_CASE(without_the_call_each_run_has_its_own) {
  check_without_vectored_calls<ENOSYS>();  // no process_madvise
  check_without_vectored_calls<EPERM>();   // a filter of system calls
  check_without_vectored_calls<EBADF>();   // no constant for oneself
  check_without_vectored_calls<EINVAL>();  // not this advice
  const call_counts busy = discard_every_second<calls<EAGAIN>>();
  BOOST_TEST(busy.advise_all > 64);  // it isn't believed to be so for ever
}

template <class System>
void check_a_run_that_stays() {
  const pages_of_test pages(260);
  pages.write();
  std::vector<detail::memory> runs = pages.every_second();
  munmap(runs[70].start, pages.page);  // as if it were locked, which sanitizers don't do
  BOOST_TEST(page_memory_over<System>::discard(runs.data(), runs.size(), page_advice::discard) == 70u);
  BOOST_TEST(pages.holds(142, 1));  // the run behind it
  BOOST_TEST(page_memory_over<System>::discard(&runs[70], 1, page_advice::discard) == 0u);
  BOOST_TEST(page_memory_over<System>::discard(&runs[71], 59, page_advice::discard) == 59u);
  BOOST_TEST(page_memory_over<System>::discard(&runs[0], 0, page_advice::discard) == 0u);
  BOOST_TEST(pages.resident() == 130u);
  BOOST_TEST(pages.holds(138, 0));
}

BOOST_AUTO_TEST_CASE(a_run_that_the_system_refuses_ends_it) {
  using system = calls<0, 1>;
  check_a_run_that_stays<system>();
  check_a_run_that_stays<calls<ENOSYS, 1>>();
  if (has_vectored_calls()) BOOST_TEST(discard_every_second<system>().advise_all == 3);  // which it has not unlearned
}

BOOST_AUTO_TEST_CASE(a_child_gives_back_its_own) {
  const pages_of_test pages(8);
  pages.write();
  const std::vector<detail::memory> runs = pages.every_second();
  BOOST_TEST(detail::page_memory::discard(runs.data(), 2, page_advice::discard) == 2u);
  BOOST_TEST(in_child([&] {
               if (detail::page_memory::discard(&runs[2], 2, page_advice::discard) != 2) return 2;
               return pages.holds(4, 0) && pages.holds(6, 0) && pages.holds(5, 1) ? 0 : 3;
             }) == 0);
  BOOST_TEST((pages.holds(2, 0) && pages.holds(4, 1) && pages.holds(6, 1)));
}

long page_faults() {
  rusage used;
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_minflt;
}

template <class System>
void check_fill() {
  const pages_of_test pages(100);
  std::memset(pages.at(3), 7, pages.page);
  BOOST_TEST((pages.at(50)[5] == std::byte{0}));  // read, so that it is a page that all processes share
  errno = 77;
  System::seen = {};
  BOOST_TEST(page_memory_over<System>::fill(pages.start, pages.count * pages.page));
  BOOST_TEST(errno == 77);
  BOOST_TEST(System::seen.advise == 1);
  BOOST_TEST(pages.resident() == 100u);
  BOOST_TEST((pages.holds(3, 7) && pages.holds(2, 0) && pages.holds(50, 0) && pages.holds(99, 0)));
  const long before = page_faults();
  std::memset(pages.at(4), 1, 96 * pages.page);
  if (!sanitized) BOOST_TEST(page_faults() - before < 10);  // they were there to write; a sanitizer has pages of its own
}

BOOST_AUTO_TEST_CASE(every_page_comes_in_and_no_content_changes) {
  check_fill<calls<>>();
  check_fill<calls<0, EINVAL>>();
  check_fill<calls<0, ENOSYS>>();
}

struct no_calls {
  static constexpr bool exist = false;
};

BOOST_AUTO_TEST_CASE(a_system_without_such_calls_gives_back_nothing_and_touches) {
  const pages_of_test pages(4);
  const detail::memory all{pages.start, 4 * pages.page};
  BOOST_TEST(page_memory_over<no_calls>::fill(pages.start, all.bytes));
  BOOST_TEST(pages.resident() == 4u);
  BOOST_TEST(page_memory_over<no_calls>::discard(&all, 1, page_advice::discard) == 0u);
}

BOOST_AUTO_TEST_CASE(what_the_system_has_no_memory_for_is_refused) {
  const pages_of_test pages(10);
  using system = calls<0, ENOMEM>;
  BOOST_TEST(!page_memory_over<system>::fill(pages.start, 10 * pages.page));
  BOOST_TEST(errno == ENOMEM);
  BOOST_TEST((!page_memory_over<calls<0, EFAULT>>::fill(pages.start, 10 * pages.page)));
  BOOST_TEST((!page_memory_over<calls<0, 133>>::fill(pages.start, 10 * pages.page)));  // EHWPOISON
  BOOST_TEST(pages.resident() == 0u);
  munmap(pages.at(5), pages.page);
  if (detail::page_memory::fill(pages.start, pages.page))
    BOOST_TEST(!detail::page_memory::fill(pages.start, 10 * pages.page));
}

}  // namespace
}  // namespace tarn::test
