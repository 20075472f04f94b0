// Products of many sizes with threads: blocks of 8 bytes to 100 KiB that one thread takes and another frees, threads that end,
// trims in between. Every block holds its taker's stamp. In the nightly tier, a hundred million operations.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <ostream>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/locking/thread_cached.h"
#include "tarn/policies/statistics.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/stress/users.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

/// A product, behind virtual functions.
class heap {
 public:
  heap() = default;
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;
  virtual ~heap() = default;

  virtual void* take(std::size_t bytes) = 0;  // null: there is none
  virtual void give(void* block, std::size_t bytes) = 0;
  virtual void trim() = 0;
  virtual bool holds_nothing() = 0;  // called when all blocks were given back
  virtual std::size_t bytes() const { return 0; }  // from upstream
};

template <class... Policies>
class of_classes final : public heap {
 public:
  void* take(std::size_t bytes) override { return pool_.try_allocate(bytes); }
  void give(void* block, std::size_t bytes) override { pool_.deallocate(block, bytes); }
  void trim() override { pool_.trim(); }
  bool holds_nothing() override {
    pool_.release();
    return upstream_.bytes() == 0 && upstream_.faults() == 0;
  }
  std::size_t bytes() const override { return upstream_.bytes(); }

 private:
  upstream upstream_;  // it locks nothing: two calls at once would be a data race
  size_class_pool<resource_store, Policies...> pool_{resource_store(&upstream_)};
};

class in_an_array final : public heap {
 public:
  void* take(std::size_t bytes) override { return pool_.try_allocate(bytes); }
  void give(void* block, std::size_t bytes) override { pool_.deallocate(block, bytes); }
  void trim() override {}
  bool holds_nothing() override { return true; }

 private:
  size_class_pool<mutex_locking<>, static_array_store<100>> pool_;
};

class of_pmr final : public heap {
 public:
  void* take(std::size_t bytes) override { return resource_.allocate(bytes); }
  void give(void* block, std::size_t bytes) override { resource_.deallocate(block, bytes); }
  void trim() override { resource_.trim(); }
  bool holds_nothing() override {
    resource_.release();
    return upstream_.bytes() == 0 && upstream_.faults() == 0;
  }
  std::size_t bytes() const override { return upstream_.bytes(); }

 private:
  upstream upstream_;
  pmr::synchronized_pool_resource resource_{&upstream_};
};

template <class Allocator>
class of_malloc final : public heap {
 public:
  void* take(std::size_t bytes) override { return Allocator::allocate(bytes); }
  void give(void* block, std::size_t) override { Allocator::deallocate(block); }
  void trim() override { Allocator::trim(); }
  bool holds_nothing() override {
    const auto counts = Allocator::statistics();
    std::size_t in_use = counts.large.blocks;
    for (const auto& one : counts.by_class) in_use += one.counts.in_use;
    return in_use == 0;
  }
};

struct row {
  const char* name;
  std::unique_ptr<heap> (*make)();
  bool caches = false;  // over an upstream that is counted
};
std::ostream& operator<<(std::ostream& out, const row& is) { return out << is.name; }

template <class Heap>
std::unique_ptr<heap> make() {
  return std::make_unique<Heap>();
}
const std::array rows = {
    row{"size_class_pool, thread_cached", make<of_classes<thread_cached<64>>>, true},
    row{"size_class_pool, thread_cached<16>", make<of_classes<thread_cached<16>>>},
    row{"size_class_pool, mutex", make<of_classes<mutex_locking<>>>},
    row{"size_class_pool, hardened", make<of_classes<mutex_locking<>, hardened>>},
    row{"size_class_pool in an array", make<in_an_array>},
    row{"pmr::synchronized_pool_resource", make<of_pmr>, true},
    row{"xallocator", make<of_malloc<xallocator<struct many_sizes_tag>>>},
};

/// A stamp says how large its block is.
constexpr std::size_t bytes_of(std::uint32_t low) {
  const std::size_t most = low % 512 == 0 ? 100'000 : low % 16 == 0 ? 8000 : 1024;
  return 8 + low / 512 % (most - 7);
}

class heap_user final : public user {
 public:
  heap_user(heap& its, boxes& shared, std::uint64_t seed) : user(&shared, 800, seed), heap_(its) {}

 private:
  void* take_block(std::uint32_t low) override { return heap_.take(bytes_of(low)); }
  void give_block(void* block, std::size_t bytes) override { heap_.give(block, bytes); }
  std::size_t bytes_with(std::uint32_t low) const override { return bytes_of(low); }
  void trim() override { heap_.trim(); }

  heap& heap_;
};

bool nightly() { return patience() != 1; }
std::size_t operations_for_all() { return nightly() ? 100'000'000 : 1'000'000; }
std::size_t done_in_all = 0;

BOOST_DATA_TEST_CASE(blocks_of_many_sizes_stay_as_they_were_left, rows, is) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t rounds = 10;
  const std::size_t operations = operations_for_all() / rows.size() / rounds / threads + 1;
  const auto its = is.make();
  std::size_t passed_on = 0;
  std::size_t refused = 0;
  for (std::size_t round = 0; round != rounds; ++round) {
    boxes shared;
    std::vector<heap_user> users;
    for (std::size_t t = 0; t != threads; ++t) users.emplace_back(*its, shared, seed() + round * threads + t);
    {
      std::barrier start(threads);
      const auto work = [&](std::size_t t) {
        start.arrive_and_wait();
        users[t].work(operations);
      };
      std::vector<std::jthread> others;  // they end each time
      for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
      work(0);
    }
    shared.empty([&](void* block) { users[0].found(block); });
    for (heap_user& u : users) {
      u.give_all();
      CHECK(u.spoiled() == 0);
      done_in_all += u.done();
      passed_on += u.passed_on();
      refused += u.refused();
    }
    CHECK((round % 3 != 2 || its->holds_nothing()));
  }
  CHECK(its->holds_nothing());
  CHECK(passed_on != 0);
  std::printf("%s: %zu blocks changed hands, %zu were refused\n", is.name, passed_on, refused);
}

BOOST_AUTO_TEST_CASE(all_rows_together_did_what_was_asked,
                     *boost::unit_test::depends_on("blocks_of_many_sizes_stay_as_they_were_left")) {
  std::printf("%zu operations of mixed sizes\n", done_in_all);
  CHECK(done_in_all >= operations_for_all());
}

std::vector<row> caching() {
  std::vector<row> all;
  for (const row& is : rows)
    if (is.caches) all.push_back(is);
  return all;
}

/// Takes so many bytes of 16 to 1024, in an order that `seed` decides, writes none, and gives them back.
void take_and_give(heap& its, std::size_t bytes, std::uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t have = 0; have < bytes;) {
    const std::size_t n = 16 + random() % 1009;
    blocks.emplace_back(its.take(n), n);
    have += n;
  }
  for (const auto& [block, n] : blocks) its.give(block, n);
}

// One after the other, each with what the one before has left.
BOOST_DATA_TEST_CASE(ten_thousand_short_threads_need_no_more_than_ten, caching(), is) {
  const auto its = is.make();
  std::size_t after_ten = 0;
  for (std::uint32_t t = 0; t != (nightly() ? 10'000u : 1000u); ++t) {
    std::thread([&] { take_and_give(*its, 40'000, 1 + t % 10); }).join();
    if (t == 9) after_ten = its->bytes();
  }
  CHECK(after_ten != 0);
  CHECK(its->bytes() <= after_ten);
  CHECK(its->holds_nothing());
}

// One after the other, so that all that is held beyond what one needs is what sleeping threads keep.
BOOST_DATA_TEST_CASE(sleeping_threads_keep_less_than_a_megabyte_each, caching(), is) {
  constexpr std::size_t threads = 64;
  const auto its = is.make();
  std::barrier asleep(threads + 1);
  std::barrier done(2);  // of this thread and the newest
  std::vector<std::jthread> all;
  std::size_t one = 0;
  for (std::uint32_t t = 0; t != threads; ++t) {
    all.emplace_back([&, t] {
      for (int round = 0; round != 4; ++round) take_and_give(*its, std::size_t{4} << 20, 1 + t);
      done.arrive_and_wait();
      asleep.arrive_and_wait();
    });
    done.arrive_and_wait();
    if (t == 0) one = its->bytes();
  }
  const std::size_t held = its->bytes();
  std::printf("%s: %zu KiB with one thread, %zu with %zu\n", is.name, one / 1024, held / 1024, threads);
  CHECK(one >= std::size_t{4} << 20);
  CHECK(held - one <= threads << 20);
  asleep.arrive_and_wait();
  all.clear();
  its->trim();
  std::printf("%s: %zu KiB when they ended\n", is.name, its->bytes() / 1024);
  CHECK(its->bytes() <= std::size_t{8} << 20);
  CHECK(its->holds_nothing());
}

}  // namespace
}  // namespace tarn::test
