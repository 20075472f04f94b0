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
#include <span>
#include <thread>
#include <vector>

#include "tarn/test/stress/users.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/tested_pools.h"

namespace tarn::test {
namespace {

constexpr std::size_t rounds = 10;  // of threads that begin and end; of a row
std::size_t operations_for_all() { return patience() == 1 ? 1'000'000 : 1'000'000'000; }
std::size_t operations_for_a_row() { return operations_for_all() / tested_pools().size() + 1; }
std::size_t done_in_all = 0;

/// Also in batches, and with room that is asked for.
class pool_user final : public user {
 public:
  pool_user(any_pool& pool, boxes* shared, std::uint64_t seed) : user(shared, 800, seed), pool_(pool) {}

 private:
  void* take_block(std::uint32_t) override { return pool_.try_allocate(); }
  void give_block(void* block, std::size_t) override { pool_.deallocate(block); }
  std::size_t bytes_with(std::uint32_t) const override { return pool_.block_size(); }  // none is smaller than a word
  void trim() override { pool_.trim(); }
  bool does_more(std::uint32_t dice) override {
    if (dice == 1) pool_.try_reserve(std::min<std::size_t>(pool_.capacity(), 800));
    else if (dice >= 16 && dice < 80) take_batch();
    else if (dice >= 80 && dice < 144) give_batch();
    else return false;
    return true;
  }

  void take_batch() {
    std::array<void*, 100> out;
    const std::size_t got = pool_.try_allocate_batch(std::span(out).first(random() % out.size()));
    for (void* const block : std::span(out).first(got)) took(block, random());
  }
  void give_batch() {
    std::array<void*, 100> in;
    std::size_t n = 0;
    for (const std::size_t wanted = random() % in.size(); n != wanted && holds_some();) in[n++] = leave().start;
    pool_.deallocate_batch(std::span(in).first(n));
  }

  any_pool& pool_;
};

/// Threads that begin, use the pool, and end; the first frees what the others left.
void use(any_pool& pool, std::size_t threads, std::size_t operations, std::uint64_t seed, std::size_t& passed_on) {
  boxes shared;
  std::vector<pool_user> users;
  for (std::size_t t = 0; t != threads; ++t) users.emplace_back(pool, threads == 1 ? nullptr : &shared, seed + t);
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back([&, t] { users[t].work(operations / threads); });
    users[0].work(operations - operations / threads * (threads - 1));
  }
  shared.empty([&](void* block) { users[0].found(block); });
  for (pool_user& u : users) {
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
