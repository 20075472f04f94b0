// A thousand million allocations and frees over all tested compositions: singly, in batches, from two threads where the
// composition allows it, with blocks that one takes and the other frees, threads that end, and all that walks through free
// blocks in between. Every block holds its taker's stamp. By hand, without TARN_NIGHTLY, a thousandth of it.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "tarn/test/stress/boxes.h"
#include "tarn/test/stress/stamps.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/tested_pools.h"

namespace tarn::test {
namespace {

constexpr std::size_t rounds = 10;  // of threads that begin and end; of a row
std::size_t operations_for_all() { return patience() == 1 ? 1'000'000 : 1'000'000'000; }
std::size_t operations_for_a_row() { return operations_for_all() / tested_pools().size() + 1; }
std::size_t done_in_all = 0;

/// A thread's view of a pool: what it holds, and what it has done.
class user {
 public:
  user(any_pool& pool, boxes* shared, std::uint64_t seed) : pool_(pool), shared_(shared), random_(seed) {}

  void work(std::size_t operations) {
    for (const std::size_t end = done_ + operations; done_ < end;) {
      const std::uint64_t dice = random_() % 8192;
      if (dice == 0) pool_.trim();
      else if (dice == 1) pool_.try_reserve(std::min<std::size_t>(pool_.capacity(), most));
      else if (dice < 16) level_ = random_() % most;
      else if (dice < 80) take_batch();
      else if (dice < 144) give_batch();
      else if (dice < 1024 && shared_ != nullptr) pass_on();
      else if (live_.size() < level_) take();
      else if (!live_.empty()) give();
      else level_ = random_() % most;
    }
  }
  void give_all() {
    while (!live_.empty()) give();
  }
  void found(void* block) { live_.push_back(block); }
  std::size_t done() const { return done_; }
  std::size_t spoiled() const { return spoiled_; }
  std::size_t passed_on() const { return passed_on_; }

 private:
  static constexpr std::size_t most = 800;  // blocks in use by one thread

  void take() {
    void* const block = pool_.try_allocate();
    if (block != nullptr) took(block);
    else give_some();
    ++done_;
  }
  void give() {
    pool_.deallocate(leave());
    ++done_;
  }
  void take_batch() {
    std::array<void*, 100> out;
    const std::size_t got = pool_.try_allocate_batch(std::span(out).first(random_() % out.size()));
    for (void* const block : std::span(out).first(got)) took(block);
    done_ += got;
  }
  void give_batch() {
    std::array<void*, 100> in;
    std::size_t n = 0;
    for (const std::size_t wanted = random_() % in.size(); n != wanted && !live_.empty();) in[n++] = leave();
    pool_.deallocate_batch(std::span(in).first(n));
    done_ += n;
  }
  /// The pool has no more: the other thread may hold what is missing.
  void give_some() {
    for (std::size_t n = live_.size() / 2; n != 0; --n) give();
  }
  void pass_on() {
    void* mine = nullptr;
    if (!live_.empty()) {
      mine = live_.back();
      live_.pop_back();
    }
    if (void* const theirs = shared_->swap(random_(), mine)) live_.push_back(theirs), ++passed_on_;
  }

  void took(void* block) {
    stamps::put(block, pool_.block_size(), static_cast<std::uint32_t>(random_()));
    live_.push_back(block);
  }
  void* leave() {
    const std::size_t i = random_() % live_.size();
    void* const block = live_[i];
    live_[i] = live_.back();
    live_.pop_back();
    spoiled_ += stamps::take(block, pool_.block_size());  // no tested block is smaller than a word
    return block;
  }

  any_pool& pool_;
  boxes* shared_;
  std::minstd_rand random_;
  std::vector<void*> live_;
  std::size_t level_ = most / 2;
  std::size_t done_ = 0;
  std::size_t spoiled_ = 0;
  std::size_t passed_on_ = 0;
};

/// Threads that begin, use the pool, and end; the first frees what the others left.
void use(any_pool& pool, std::size_t threads, std::size_t operations, std::uint64_t seed, std::size_t& passed_on) {
  boxes shared;
  std::vector<user> users;
  for (std::size_t t = 0; t != threads; ++t) users.emplace_back(pool, threads == 1 ? nullptr : &shared, seed + t);
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back([&, t] { users[t].work(operations / threads); });
    users[0].work(operations - operations / threads * (threads - 1));
  }
  shared.empty([&](void* block) { users[0].found(block); });
  for (user& u : users) {
    u.give_all();
    CHECK(u.spoiled() == 0);
    done_in_all += u.done();
    passed_on += u.passed_on();
  }
}

BOOST_DATA_TEST_CASE(blocks_stay_as_they_were_left, tested_pools(), is) {
  const auto rig = is.make();
  any_pool& pool = rig->pool;
  const std::size_t threads = is.one_thread ? 1 : 2;
  std::size_t passed_on = 0;
  for (std::size_t round = 0; round != rounds; ++round) {
    use(pool, threads, operations_for_a_row() / rounds + 1, seed() + round * threads, passed_on);
    if (const auto counts = pool.statistics()) CHECK(counts->in_use == 0);
    if (round % 3 == 2) pool.release();
  }
  CHECK((passed_on != 0 || threads == 1));
  pool.release();
  CHECK((rig->upstream.bytes() == 0 || !is.may_return_chunks));
  CHECK(rig->upstream.faults() == 0);
}

BOOST_AUTO_TEST_CASE(all_together_are_a_thousand_million_operations,
                     *boost::unit_test::depends_on("blocks_stay_as_they_were_left")) {
  std::printf("%zu operations over %zu compositions\n", done_in_all, tested_pools().size());
  CHECK(done_in_all >= operations_for_all());
}

}  // namespace
}  // namespace tarn::test
