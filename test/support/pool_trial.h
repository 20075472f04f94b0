// Operations of a pool while calls of its store fail: what failed changed nothing, no byte and no block is lost.
#ifndef TARN_TEST_SUPPORT_POOL_TRIAL_H_
#define TARN_TEST_SUPPORT_POOL_TRIAL_H_

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "tarn/test/support/any_pool.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/faults.h"
#include "tarn/test/support/pool_operations.h"

namespace tarn::test {

/// With no memory to be had, all blocks of the pool can be, each once, and then no more.
inline void no_block_is_lost(trial& t, called_from = {}) {
  t.from.helps = false;
  t.from.fail(1, failing::for_ever);
  if (t.of.own + t.of.reserve != 0)  // a bounded store's chunk that isn't there counts from then on
    static_cast<void>(t.pool->try_reserve(t.pool->capacity() + 1));
  const std::size_t rest = t.free_blocks();
  const std::size_t singly = std::min(rest, t.of.beside);  // batches get none of those that lie in no chunk
  std::vector<void*> blocks(rest);
  for (std::size_t i = 0; i != singly; ++i) REQUIRE((blocks[i] = t.pool->try_allocate()) != nullptr);
  REQUIRE(t.pool->try_allocate_batch(std::span(blocks).subspan(singly)) == rest - singly);
  CHECK(t.pool->try_allocate() == nullptr);
  for (std::size_t i = 0; i != rest; ++i) std::memcpy(blocks[i], &i, sizeof i);
  for (std::size_t i = 0; i != rest; ++i) REQUIRE(std::memcmp(blocks[i], &i, sizeof i) == 0);  // no block came twice
  t.model->verify();
  t.pool->deallocate_batch(blocks);
  t.disarm();
}

/// With no memory to be had from the first call on, what bounded stores have is served, to the last block, and again.
inline void what_is_promised_is_served(const subject& s, called_from = {}) {
  trial t(s, refusal::null);
  t.from.fail(1, failing::for_ever);
  for (int round = 0; round != 2; ++round) {
    while (t.model->take()) {}
    CHECK(t.model->live() == s.own + s.reserve + s.beside);
    t.model->verify();
    give_all(t);
  }
  end_the_pool(t);
}

inline void books_balance(const trial& t, called_from = {}) {
  const footprint held = t.held();
  CHECK(held.lost == 0);
  const std::size_t beyond = t.of.own + t.of.reserve;  // blocks that lie in no origin
  const std::size_t capacity = t.pool->capacity() - std::min(t.pool->capacity(), beyond);
  CHECK(held.chunk_bytes >= capacity * t.pool->block_size());
  if (beyond == 0) CHECK((held.chunks == 0) == (capacity == 0));
  if (!t.of.keeps_memory) CHECK(held.own == 0);
  if (const auto counts = t.pool->statistics()) {
    CHECK(counts->in_use == t.model->live());
    CHECK(counts->chunks - held.chunks <= std::size_t{t.of.own != 0} + std::size_t{t.of.reserve != 0});
    CHECK((beyond == 0 ? counts->bytes == held.chunk_bytes : counts->bytes >= held.chunk_bytes));
  }
}

/// How a pool goes on: its capacity after the next block, and after some room was asked for. What failed before makes no
/// difference to it.
struct course {
  std::size_t next = 0;
  std::size_t later = 0;
  bool operator==(const course&) const = default;
};
inline course go_on(trial& t, called_from = {}) {
  course c;
  REQUIRE(t.model->take());
  c.next = t.pool->capacity();
  static_cast<void>(t.pool->try_reserve(t.growable()));
  c.later = t.pool->capacity();
  return c;
}
inline course undisturbed(const subject& s, const operation& o) {
  trial t(s, refusal::null);
  bring(t, o.before);
  return go_on(t);
}

/// The same failure, over and over, takes no further memory. Returns whether it was one to the end: a pool may have got memory
/// for itself, and need that call no more.
inline bool fails_again(trial& t, const operation& o, const attempt& a) {
  std::size_t bytes = 0;
  for (int i = 0; i != 50; ++i) {
    if (i == 10) bytes = t.from.bytes();
    if (i > 10) REQUIRE(t.from.bytes() == bytes);
    t.arm(a);
    const bool succeeded = o.run(t);
    t.disarm();
    if (succeeded) return false;
  }
  return true;
}

inline verdict try_once(const subject& s, const operation& o, const course& otherwise, const attempt& a) {
  trial t(s, a.how);
  bring(t, o.before);
  const footprint held = t.held();
  const std::size_t capacity = t.pool->capacity();
  const std::size_t live = t.model->live();
  const std::size_t calls = t.from.calls();
  const std::size_t asked = t.from.asked;

  t.arm(a);
  t.pool->throws = o.throws;
  const bool succeeded = o.run(t);
  const verdict is{succeeded && (!t.may_fail || t.injected() != 0), t.injected() != 0};
  t.disarm();
  if (o.says == promise::never_asks) CHECK(t.from.calls() == calls);
  if (o.says >= promise::never_fails) CHECK(succeeded);
  if (s.goes_on || (s.goes_on_once && a.mode == failing::once)) CHECK(succeeded && !t.may_fail);
  if (s.handler && !s.keeps_memory && asks(s, o)) CHECK((t.from.asked != asked) == is.injected);  // then, and only then
  if (t.from.neighbour != nullptr) CHECK((t.from.neighbour->capacity() == 0) == is.injected);
  if (t.pool == nullptr) return is;

  t.pool->throws = false;
  books_balance(t);
  for (void* const block : t.model->blocks()) CHECK(t.pool->owns(block));
  t.model->verify();
  if (!succeeded && o.says != promise::some_taken) CHECK(t.model->live() == live);
  if (!succeeded && o.says == promise::all_or_nothing) {
    const footprint now = t.held();
    CHECK(t.pool->capacity() == capacity);
    CHECK(now.chunks == held.chunks && now.chunk_bytes == held.chunk_bytes);
    CHECK(now.own >= held.own);  // what it got for itself stays for the next call
    if (a.mode != failing::once || fails_again(t, o, a)) CHECK(go_on(t) == otherwise);
  }
  if (!s.one_chunk || t.model->live() < t.pool->capacity() || t.pool->capacity() == 0)
    REQUIRE(t.model->take());  // the next call works
  no_block_is_lost(t);
  books_balance(t);
  if (a.k % 2 == 0) give_all(t);
  if (a.k % 4 < 2 && s.may_return_chunks) release_gives_all(t);
  end_the_pool(t);
  t.from.neighbour.reset();
  CHECK(t.from.elsewhere.upstream.bytes() == 0);
  CHECK(t.from.faults() == 0);
  return is;
}

inline void try_everything(ledger& book, const subject& s, called_from = {}) {
  for (const operation& o : operations) {
    if (o.exists != nullptr) {
      stores from;
      if (!o.exists(*s.make(from))) {
        book.absent(s.name, o.name);
        continue;
      }
    }
    const course otherwise = o.says == promise::all_or_nothing ? undisturbed(s, o) : course{};
    fail_each_call(book, s.name, o.name, null_and_exception, [&](const attempt& a) { return try_once(s, o, otherwise, a); });
    // Those that can ask a store did so here, and it refused. A free asks for nothing.
    if (asks(s, o)) CHECK(book.failed(s.name, o.name));
    if (o.says == promise::never_asks || o.run == give_all || o.run == give_all_at_once) CHECK(!book.failed(s.name, o.name));
  }
}

/// Each operation that can ask a store did, and was refused: the loops injected.
inline void check_floors(ledger& book, std::size_t at_least, called_from = {}) {
  book.print();
  for (const operation& o : operations)
    if (asks(subject{}, o) && book.subjects(o.name) != 0) CHECK(book.points(o.name) >= 6);  // three modes, two refusals
  BOOST_TEST(book.points() >= at_least);
}

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_POOL_TRIAL_H_
