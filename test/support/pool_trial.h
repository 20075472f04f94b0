// Operations of a pool while calls of its store fail: what failed changed nothing, no byte and no block is lost. First the
// pools over stores that fail, and the operations; then how they are tried.
#ifndef TARN_TEST_SUPPORT_POOL_TRIAL_H_
#define TARN_TEST_SUPPORT_POOL_TRIAL_H_

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/test/support/any_pool.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/faults.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/rig.h"

namespace tarn::test {

// ---- what is tried ---------------------------------------------------------------------------------------------------------

/// The two stores that a pool may have, a handler's, and another pool that may be asked for memory.
struct stores {
  origin first;
  origin second;
  origin elsewhere;
  std::vector<std::byte> buffer;        // of a pool whose first store is one
  std::unique_ptr<any_pool> neighbour;  // over `elsewhere`
  std::size_t asked = 0;                // times that a handler was called
  bool helps = false;                   // it answers true, once there is memory again

  std::size_t calls() const { return first.upstream.calls() + second.upstream.calls(); }
  std::size_t bytes() const { return first.upstream.bytes() + second.upstream.bytes(); }
  std::size_t faults() const { return first.upstream.faults() + second.upstream.faults() + elsewhere.upstream.faults(); }
  void fail(std::size_t k, failing mode) {
    first.upstream.fail(k, mode);
    second.upstream.fail(k, mode);
  }
};

/// Where calls fail: in the other store they all do, or none does.
enum class failing_store { first, second_first_is_dry, both };

struct subject {
  std::string name;
  std::unique_ptr<any_pool> (*make)(stores&);
  std::size_t grain = 1;         // of the store's regions, in bytes
  bool one_chunk = false;        // so that a pool without a free block can't grow
  std::size_t beside = 0;        // blocks that lie in no chunk, and need no store
  bool keeps_memory = false;     // it asks the store for memory besides its chunks
  bool keeps_blocks = false;     // with each thread
  bool may_return_chunks = true; // so that it has trim() and release()
  failing_store where = failing_store::first;
  bool goes_on = false;       // another store, or a handler, has memory
  bool goes_on_once = false;  // another pool has a chunk to give back
  bool handler = false;
  std::size_t own = 0;      // blocks of a bounded first store, which no origin gives
  std::size_t reserve = 0;  // the same of a bounded second one
};

template <class Pool, class... Given>
std::unique_ptr<any_pool> make_pool(const Given&... given) {
  if constexpr (facts<Pool>::size::traits.at_run_time) return std::make_unique<erased<Pool>>(dynamic_size{48, 16}, given...);
  else return std::make_unique<erased<Pool>>(given...);
}

template <class Pool>
std::unique_ptr<any_pool> over_first(stores& from) {
  return make_pool<Pool>(injecting_store(&from.first));
}

/// The same pool over two stores, with origins in the place of unbounded stores, and arrays of these sizes. The reserve has
/// what every operation needs.
inline constexpr std::size_t array_blocks = 100;
inline constexpr std::size_t reserve_blocks = 500;
template <class Store, std::size_t Blocks>
using failing_or_bounded = std::conditional_t<!Store::traits.bounded, injecting_store,
                                              std::conditional_t<Store::traits.in_place, static_array_store<Blocks>, Store>>;
template <class Pool, class Second = typename facts<Pool>::exhaustion::second_store>
using over_two_faults =
    with_exhaustion<with_store<Pool, failing_or_bounded<typename facts<Pool>::store, array_blocks>>,
                    std::conditional_t<Second::traits.bounded, fall_back_to<static_array_store<reserve_blocks>>,
                                       fall_back_to<injecting_store, fixed_growth<50>>>>;

template <class Pool>
std::unique_ptr<any_pool> over_two(stores& from) {
  using is = facts<Pool>;
  using exhaustion = typename is::exhaustion;
  const auto second = [&] {
    if constexpr (exhaustion::traits.store_is_bounded) return exhaustion();
    else return exhaustion(injecting_store(&from.second));
  }();
  if constexpr (!is::store::traits.bounded) {
    return make_pool<Pool>(injecting_store(&from.first), second);
  } else if constexpr (is::store::traits.in_place) {
    return make_pool<Pool>(second);
  } else {
    if constexpr (is::size::traits.at_run_time) from.buffer.resize(Pool::bytes_for(array_blocks, dynamic_size{48, 16}));
    else from.buffer.resize(Pool::bytes_for(array_blocks));
    return make_pool<Pool>(buffer_store(from.buffer), second);
  }
}

/// What follows from the policies of a pool.
template <class Pool>
subject subject_of(std::string name, decltype(subject::make) make) {
  using is = facts<Pool>;
  subject s{std::move(name), make};
  s.one_chunk = is::growth::traits.max_chunks == 1 && !is::store::traits.bounded;
  s.beside = is::beside;
  s.keeps_memory = is::keeps_memory;
  s.keeps_blocks = is::keeps_blocks;
  s.may_return_chunks = is::may_return_chunks;
  if (is::store::traits.bounded) s.own = array_blocks;
  if (is::exhaustion::traits.store_is_bounded) s.reserve = reserve_blocks;
  return s;
}

/// A pool with blocks in use, its model, and what it held before an operation.
struct trial {
  trial(const subject& s, refusal how) : of(s) {
    from.first.how = from.second.how = how;
    from.first.grain = from.second.grain = s.grain;
    from.helps = s.goes_on;
    disarm();
    pool = s.make(from);
    model.emplace(*pool);
  }

  void arm(const attempt& a) {
    if (of.where != failing_store::second_first_is_dry) from.first.upstream.fail(a.k, a.mode);
    if (of.where != failing_store::first) from.second.upstream.fail(a.k, a.mode);
    failures_ = failures();
  }
  void disarm() {
    from.fail(1, failing::never);
    if (of.where == failing_store::second_first_is_dry) from.first.upstream.fail(1, failing::for_ever);
  }
  /// Calls that failed since arm(), not counting those of a store that is dry anyhow.
  std::size_t injected() const { return failures() - failures_; }

  /// Blocks that the pool has without growing.
  std::size_t free_blocks() const { return pool->capacity() + of.beside - model->live(); }
  footprint held() const {
    return footprint(*pool, {&from.first.upstream, &from.second.upstream});
  }
  std::size_t growable() const { return pool->capacity() + 400; }

  const subject& of;
  stores from;
  std::unique_ptr<any_pool> pool;
  std::optional<test::model<any_pool>> model;
  bool may_fail = false;  // the operation went on, though it could not get everything

 private:
  std::size_t failures() const {
    const bool dry = of.where == failing_store::second_first_is_dry;
    return (dry ? 0 : from.first.upstream.failures()) + from.second.upstream.failures();
  }
  std::size_t failures_ = 0;
};

/// How the pool is found: as new; without a free block; with many, in several chunks if there can be several; with more than
/// a thread keeps for itself.
enum class state { fresh, full, worn, crowded };

inline void bring(trial& t, state to, called_from = {}) {
  for (std::size_t i = 0; i != t.of.beside; ++i) REQUIRE(t.model->take());  // the next blocks come from chunks
  if (to == state::full && t.of.one_chunk) to = state::fresh;               // once full, it asks for nothing
  if (to == state::full) {
    do REQUIRE(t.model->take());
    while (t.free_blocks() != 0);
  } else if (to == state::worn) {
    REQUIRE(t.model->take_batch(400) == 400);
    std::mt19937_64 random(seed());
    t.model->shuffle(random);
    t.model->give_batch(150);
    for (int i = 0; i < 50; ++i) t.model->give_newest();
  } else if (to == state::crowded) {
    for (int i = t.of.keeps_blocks ? 3000 : 300; i != 0; --i) REQUIRE(t.model->take());
  }
}

// ---- operations ------------------------------------------------------------------------------------------------------------

enum class promise {
  all_or_nothing,  // a failure leaves the pool as it was
  none_taken,      // chunks may stay
  some_taken,      // as many as could be had
  never_fails,
  never_asks,      // it makes no call of the store at all
};

struct operation {
  const char* name;
  state before;
  promise says;
  bool throws;
  bool (*run)(trial&);                  // returns whether it succeeded
  bool (*exists)(any_pool&) = nullptr;  // null: in every pool
};

inline bool take_one(trial& t) { return t.model->take(); }
inline bool take_many(trial& t) { return t.model->take_batch(250) == 250; }
inline bool reserve_more(trial& t) { return t.pool->try_reserve(t.growable()); }
inline bool give_all(trial& t) {
  while (t.model->live() != 0) t.model->give_newest();
  return true;
}
inline bool give_all_at_once(trial& t) {
  t.model->give_batch(t.model->live());
  return true;
}
/// Returns whether trim() said what it gave back, and kept what is in use.
inline bool trim_says_what_it_gave(trial& t) {
  const std::size_t before = t.held().chunk_bytes;
  const std::size_t said = *t.pool->trim();
  if (t.of.own + t.of.reserve == 0) CHECK(t.held().chunk_bytes + said == before);
  CHECK(t.held().chunk_bytes + said >= before);
  CHECK(t.pool->capacity() + t.of.beside >= t.model->live());
  return true;
}
inline bool release_gives_all(trial& t) {
  t.model->forget();
  CHECK(t.pool->release());
  CHECK(t.from.bytes() == 0);
  CHECK(t.pool->capacity() == t.of.own);
  return true;
}
inline bool ask(trial& t) {
  t.model->verify();
  for (void* const block : t.model->blocks()) CHECK(t.pool->owns(block));
  CHECK(!t.pool->owns(&t));
  CHECK(!t.pool->owns(nullptr));
  return t.pool->capacity() + t.of.beside >= t.model->live();
}
inline bool ask_counts(trial& t) { return t.pool->statistics()->in_use == t.model->live(); }
inline bool has_trim(any_pool& pool) { return pool.trim().has_value(); }
inline bool has_statistics(any_pool& pool) { return pool.statistics().has_value(); }

/// After a batch that the store's failures may have cut short, while they go on.
template <bool (*Then)(trial&)>
bool after_a_fault(trial& t) {
  t.may_fail = !take_many(t);
  return Then(t);
}
inline bool free_and_trim(trial& t) {
  t.model->give_batch(t.model->live() - t.model->live() / 3);
  return trim_says_what_it_gave(t);
}
inline bool end_the_pool(trial& t) {
  t.model.reset();
  t.pool.reset();
  CHECK(t.from.bytes() == 0);
  return true;
}

inline constexpr operation operations[] = {
    {"allocate, new pool", state::fresh, promise::all_or_nothing, true, take_one},
    {"allocate, full pool", state::full, promise::all_or_nothing, true, take_one},
    {"try_allocate, new pool", state::fresh, promise::all_or_nothing, false, take_one},
    {"try_allocate, full pool", state::full, promise::all_or_nothing, false, take_one},
    {"allocate_batch, new pool", state::fresh, promise::none_taken, true, take_many},
    {"allocate_batch, full pool", state::full, promise::none_taken, true, take_many},
    {"allocate_batch, used pool", state::worn, promise::none_taken, true, take_many},
    {"try_allocate_batch, new pool", state::fresh, promise::some_taken, false, take_many},
    {"try_allocate_batch, full pool", state::full, promise::some_taken, false, take_many},
    {"try_allocate_batch, used pool", state::worn, promise::some_taken, false, take_many},
    {"reserve, new pool", state::fresh, promise::all_or_nothing, true, reserve_more},
    {"reserve, full pool", state::full, promise::all_or_nothing, true, reserve_more},
    {"try_reserve, new pool", state::fresh, promise::all_or_nothing, false, reserve_more},
    {"try_reserve, full pool", state::full, promise::all_or_nothing, false, reserve_more},
    {"deallocate", state::crowded, promise::never_fails, false, give_all},
    {"deallocate_batch", state::crowded, promise::never_fails, false, give_all_at_once},
    {"deallocate after a fault", state::fresh, promise::never_fails, false, after_a_fault<give_all>},
    {"deallocate_batch after a fault", state::fresh, promise::never_fails, false, after_a_fault<give_all_at_once>},
    {"trim", state::worn, promise::never_asks, false, trim_says_what_it_gave, has_trim},
    {"trim after a fault", state::full, promise::never_fails, false, after_a_fault<free_and_trim>, has_trim},
    {"release", state::worn, promise::never_asks, false, release_gives_all, has_trim},
    {"release after a fault", state::full, promise::never_fails, false, after_a_fault<release_gives_all>, has_trim},
    {"destructor", state::worn, promise::never_asks, false, end_the_pool},
    {"destructor after a fault", state::full, promise::never_fails, false, after_a_fault<end_the_pool>},
    {"owns, capacity", state::worn, promise::never_asks, false, ask},
    {"owns, capacity after a fault", state::full, promise::never_fails, false, after_a_fault<ask>},
    {"statistics", state::worn, promise::never_asks, false, ask_counts, has_statistics},
    {"statistics after a fault", state::full, promise::never_fails, false, after_a_fault<ask_counts>, has_statistics},
};

/// Whether it asks a store for something.
inline bool asks(const subject& s, const operation& o) {
  const bool has_one = s.own != 0 && o.before == state::fresh && o.run == take_one;
  return !has_one && (o.before == state::fresh || o.before == state::full);
}

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

inline void try_everything(ledger& book, const subject& s, std::span<const refusal> refusals = null_and_exception,
                           called_from = {}) {
  for (const operation& o : operations) {
    if (o.exists != nullptr) {
      stores from;
      if (!o.exists(*s.make(from))) {
        book.absent(s.name, o.name);
        continue;
      }
    }
    const course otherwise = o.says == promise::all_or_nothing ? undisturbed(s, o) : course{};
    fail_each_call(book, s.name, o.name, refusals, [&](const attempt& a) { return try_once(s, o, otherwise, a); });
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
