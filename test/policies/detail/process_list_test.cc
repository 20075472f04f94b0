// The list of the process's pools: in which order they are asked, and that none is asked while it is paused or after it left.
// Threads that come, go and ask at once: registry_test and reclaim_test.
#include "tarn/policies/detail/process_list.h"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <deque>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tarn::detail::process_calls;
using tarn::detail::process_list;
using tarn::detail::process_node;
using tarn::detail::reclaim_member;
using tarn::detail::reclaim_round;
using tarn::detail::trimmed;

/// A pool that notes when it was asked to trim, and has as many bytes as its rank.
struct member : reclaim_member {
  explicit member(int its_rank) : reclaim_member(its_rank), rank(its_rank) {}
  static trimmed trim(void* its) noexcept {
    asked.push_back(static_cast<member*>(its));
    return {static_cast<std::size_t>(static_cast<member*>(its)->rank) + 100, false};
  }
  int rank;
  static inline std::vector<const member*> asked;
};
constexpr process_calls trims{.trim = member::trim};

/// One of the registry.
struct named : process_node {
  named() : process_node(0) {}
  static inline int entered = 0;
};
constexpr process_calls tells{.entered = [](void*) noexcept { ++named::entered; },
                              .tell = [](const void*, tarn::pool_record&) noexcept {}};

/// Whom a walk through all ranks asks, and how many bytes it gets.
std::vector<const member*> asked_by(process_list& list, std::size_t& bytes) {
  member::asked.clear();
  bytes = 0;
  int before = 0;
  for (reclaim_round round; !round.ended; before = round.from) {
    BOOST_TEST((round.from >= before || before == 0));
    bytes += list.trim_next(round);
  }
  return member::asked;
}
std::vector<const process_node*> listed_in(process_list& list) {
  std::vector<const process_node*> all;
  list.ask_each_listed([&](const process_node& n) { all.push_back(&n); });
  return all;
}

BOOST_AUTO_TEST_CASE(members_are_asked_by_rank_and_then_as_they_entered) {
  std::mt19937 random(20261124);
  std::deque<member> all;
  std::deque<named> others;  // are in the same list, and asked something else
  static constinit process_list list;  // a fork knows it from now on
  for (int i = 0; i != 200; ++i) all.emplace_back(static_cast<int>(random() % 7) - 3);
  for (int i = 0; i != 50; ++i) others.emplace_back();
  std::vector<member*> in, out;
  std::vector<named*> others_in, others_out;
  for (member& m : all) out.push_back(&m);
  for (named& n : others) others_out.push_back(&n);
  for (int step = 0; step != 3000; ++step) {
    const auto move = [&](auto& from, auto& to) {
      const std::size_t which = random() % from.size();
      to.push_back(from[which]);
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(which));
      return to.back();
    };
    if (random() % 2 != 0 && !out.empty()) {
      member* const m = move(out, in);
      list.add(*m, m, trims);
      list.add(*m, nullptr, trims);  // only the first call does something
    } else if (!in.empty()) {
      list.remove(*move(in, out));
    }
    if (random() % 2 != 0 && !others_out.empty()) {
      named* const n = move(others_out, others_in);
      list.add(*n, n, tells);
    } else if (!others_in.empty()) {
      list.remove(*move(others_in, others_out));
    }
    if (step % 20 != 0) continue;
    std::vector<const member*> wanted(in.begin(), in.end());
    // In the order of ranks; of one rank, as they came. Not std::stable_sort: clang 19 warns of what libstdc++ 12 has in it.
    for (std::size_t i = 1; i < wanted.size(); ++i)
      for (std::size_t j = i; j != 0 && wanted[j]->rank < wanted[j - 1]->rank; --j) std::swap(wanted[j], wanted[j - 1]);
    std::size_t bytes = 0, wanted_bytes = 0;
    for (const member* const m : wanted) wanted_bytes += static_cast<std::size_t>(m->rank) + 100;
    BOOST_TEST((asked_by(list, bytes) == wanted));
    BOOST_TEST(bytes == wanted_bytes);
    BOOST_TEST((listed_in(list) == std::vector<const process_node*>(others_in.begin(), others_in.end())));
    BOOST_TEST(list.listed() == others_in.size());
  }
  BOOST_TEST(named::entered > 50);
}

/// Memory in which each object has a page to itself, and that can tell how many of them something looks at.
class pages {
 public:
  explicit pages(std::size_t objects) : bytes_(objects * page()) {
    start_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~pages() { munmap(start_, bytes_); }
  pages(const pages&) = delete;
  pages& operator=(const pages&) = delete;

  void* operator[](std::size_t i) const { return start_ + i * page(); }
  template <class Work>
  std::size_t touched_by(Work work) {
    struct sigaction open {}, before {};
    open.sa_sigaction = open_page;
    open.sa_flags = SA_SIGINFO;
    now_ = this;
    touched_ = 0;
    sigaction(SIGSEGV, &open, &before);
    mprotect(start_, bytes_, PROT_NONE);
    work();
    mprotect(start_, bytes_, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before, nullptr);
    return touched_;
  }

 private:
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  static void open_page(int, siginfo_t* info, void*) {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(info->si_addr) - now_->start_);
    if (offset >= now_->bytes_) _exit(99);  // another's mistake
    mprotect(now_->start_ + offset / page() * page(), page(), PROT_READ | PROT_WRITE);
    ++now_->touched_;
  }

  static inline pages* now_ = nullptr;
  std::size_t bytes_;
  std::byte* start_;
  std::size_t touched_ = 0;
};

/// With so many pools of the registry and as many that can trim: how many are looked at by who enters and leaves, of each kind,
/// and by a question to each of a kind.
struct steps {
  explicit steps(std::size_t n) {
    static constinit process_list list;  // a fork knows it from now on
    pages memory(2 * n + 2);
    std::deque<named*> listed;
    std::deque<member*> trimming;
    for (std::size_t i = 0; i != n + 1; ++i) {
      listed.push_back(::new (memory[2 * i]) named);
      trimming.push_back(::new (memory[2 * i + 1]) member(0));
    }
    for (std::size_t i = 0; i != n; ++i) {
      list.add(*listed[i], listed[i], tells);
      list.add(*trimming[i], trimming[i], trims);
    }
    entering[0] = memory.touched_by([&] { list.add(*listed[n], listed[n], tells); });
    entering[1] = memory.touched_by([&] { list.add(*trimming[n], trimming[n], trims); });
    leaving[0] = memory.touched_by([&] { list.remove(*listed[n / 2]); });
    leaving[1] = memory.touched_by([&] { list.remove(*trimming[n / 2]); });
    asking[0] = memory.touched_by([&] { list.ask_each_listed([](const process_node&) {}); });
    asking[1] = memory.touched_by([&] { list.ask_each_of_rank(0, [](const process_node&) {}); });
    for (named* const one : listed) list.remove(*one);
    for (member* const one : trimming) list.remove(*one);
  }
  std::array<std::size_t, 2> entering, leaving, asking;
};

BOOST_AUTO_TEST_CASE(no_step_looks_at_pools_that_are_not_its_own) {
  for (const std::size_t n : {50u, 100u}) {
    const steps with(n);
    for (const std::size_t kind : {0u, 1u}) {
      BOOST_TEST(with.entering[kind] == 2u);  // itself and the last
      BOOST_TEST(with.leaving[kind] == 3u);   // itself and its neighbours
      BOOST_TEST(with.asking[kind] == n);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_rank_is_one_step_of_a_walk) {
  static constinit process_list list;  // a fork knows it from now on
  member highest(INT_MAX), lowest(INT_MIN), one(0), other(0);
  for (member* const m : {&highest, &one, &lowest, &other}) list.add(*m, m, trims);
  member::asked.clear();
  reclaim_round round;
  const std::vector<std::vector<const member*>> steps{{&lowest}, {&one, &other}, {&highest}};
  for (const std::vector<const member*>& step : steps) {
    BOOST_TEST(!round.ended);
    list.trim_next(round);
    BOOST_TEST((member::asked == step));
    member::asked.clear();
  }
  BOOST_TEST(round.ended);
  static constinit process_list nobody;
  reclaim_round at_once;
  BOOST_TEST(nobody.trim_next(at_once) == 0u);
  BOOST_TEST(at_once.ended);
}

BOOST_AUTO_TEST_CASE(a_paused_one_is_passed_over_until_it_is_resumed_as_often) {
  static constinit process_list list;  // a fork knows it from now on
  member first(0), second(1);
  list.add(first, &first, trims);
  list.add(second, &second, trims);
  std::size_t bytes = 0;
  list.pause(second);
  list.pause(second);
  BOOST_TEST((asked_by(list, bytes) == std::vector<const member*>{&first}));
  list.resume(second);
  BOOST_TEST((asked_by(list, bytes) == std::vector<const member*>{&first}));
  list.resume(second);
  BOOST_TEST((asked_by(list, bytes) == std::vector<const member*>{&first, &second}));
}

BOOST_AUTO_TEST_CASE(who_leaves_waits_for_the_thread_that_asks_it_and_the_walk_goes_on) {
  static constinit process_list list;  // a fork knows it from now on
  member first(0), second(0);
  list.add(first, &first, trims);
  list.add(second, &second, trims);
  std::vector<const process_node*> seen;
  std::thread leaving;
  std::atomic<bool> has_left = false;
  list.ask_each_of_rank(0, [&](const process_node& n) {
    seen.push_back(&n);
    if (&n != &first) return;
    leaving = std::thread([&] {
      list.remove(first);
      has_left = true;
    });
    bool is_paused = false;  // as the other thread begins with
    const auto look = [&](const process_node& other) { is_paused = is_paused && &other != &first; };
    for (long i = 0; i != 100'000'000 && !is_paused; ++i) is_paused = true, list.ask_each_of_rank(0, look);
    BOOST_TEST(is_paused);
    for (int i = 0; i != 1000; ++i) list.ask_each_of_rank(0, look);
    BOOST_TEST(!has_left);
  });
  leaving.join();
  BOOST_TEST((seen == std::vector<const process_node*>{&first, &second}));
  std::size_t bytes = 0;
  BOOST_TEST((asked_by(list, bytes) == std::vector<const member*>{&second}));
}

}  // namespace
