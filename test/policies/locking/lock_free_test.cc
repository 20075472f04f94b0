// lock_free: which calls take a guard. Once every block was carved, none does, so a signal handler may interrupt any of them.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/axis.h"
#include "tarn/policies/checking/checked.h"

namespace tarn::test {
namespace {

/// Guards that are counted: a call that takes one would wait for the thread that holds it.
class counted_guards {
  struct held {
    explicit held(unsigned& count) noexcept { ++count; }
    ~held() {}
  };

 public:
  static inline unsigned core_, growth_;
  static held hot() noexcept { return held(core_); }
  static held growth() noexcept { return held(growth_); }
  static held try_growth() noexcept { return held(growth_); }
  static void end() noexcept {}
};
/// lock_free, with them.
struct counted : detail::stack_locking<std::uint64_t> {
  template <class Traits>
  using state = detail::stack_calls<Traits, counted_guards, detail::atomic_word, std::uint64_t>;
};

struct taken {
  unsigned core = 0, growth = 0;
  bool operator==(const taken&) const = default;
};
template <class Call>
taken guards_of(Call call) {
  counted_guards::core_ = counted_guards::growth_ = 0;
  call();
  return {counted_guards::core_, counted_guards::growth_};
}
constexpr taken none;

template <class Pool>
std::vector<void*> all_of(Pool& pool) {
  std::vector<void*> blocks;
  while (blocks.size() != pool.capacity()) blocks.push_back(pool.allocate());
  return blocks;
}
/// From the first refusal on, and after frees, no call of a pool without further blocks takes a guard.
template <class Pool>
void expect_no_guards(Pool& pool) {
  const std::vector<void*> blocks = all_of(pool);
  BOOST_TEST_CONTEXT(blocks.size() << " blocks") {
    const taken first = guards_of([&] { BOOST_TEST(pool.try_allocate() == nullptr); });
    BOOST_TEST((first == none));
    const taken batch = guards_of([&] {
      std::array<void*, 40> out;
      BOOST_TEST(pool.try_allocate_batch(out) == 0u);
    });
    BOOST_TEST((batch == none));
    const taken rest = guards_of([&] {
      for (int round = 0; round != 2; ++round) {
        for (void* const block : blocks) pool.deallocate(block);
        std::set<void*> again;
        for (std::size_t i = 0; i != blocks.size(); ++i) again.insert(pool.try_allocate());
        BOOST_TEST((again == std::set<void*>(blocks.begin(), blocks.end())));
        BOOST_TEST(pool.try_allocate() == nullptr);
      }
    });
    BOOST_TEST((rest == none));
    BOOST_TEST(guards_of([&] { BOOST_TEST(!pool.try_reserve(blocks.size() + 1)); }).growth == 0u);
  }
  pool.deallocate_batch(blocks);
}
template <class... Policies>
void expect_no_guards_of() {
  tarn::pool<static_size<48>, counted, Policies...> pool;
  static_cast<void>(pool.try_reserve(1));
  expect_no_guards(pool);
}

BOOST_AUTO_TEST_CASE(the_first_refusal_takes_no_guard_and_no_later_call_does) {
  expect_no_guards_of<static_array_store<1>>();
  expect_no_guards_of<static_array_store<31>>();
  expect_no_guards_of<static_array_store<32>>();  // what is carved at once
  expect_no_guards_of<static_array_store<33>>();
  expect_no_guards_of<static_array_store<64>>();
  expect_no_guards_of<static_array_store<100>>();
  expect_no_guards_of<no_growth<96>>();
  alignas(64) std::byte memory[6400];
  tarn::pool<static_size<48>, counted, buffer_store> in_buffer{buffer_store(memory)};
  static_cast<void>(in_buffer.try_reserve(1));
  expect_no_guards(in_buffer);
}

BOOST_AUTO_TEST_CASE(nor_in_a_pool_that_has_grown_to_its_cap) {
  tarn::pool<static_size<48>, counted, fixed_growth<16, 64>> pool;
  BOOST_TEST(pool.try_reserve(64));
  expect_no_guards(pool);
}

/// After reserve(n), the next n allocations take no guard, though their blocks were never used.
template <class... Policies>
void expect_prepared(std::size_t n) {
  tarn::pool<static_size<48>, counted, Policies...> pool;
  BOOST_TEST(pool.try_reserve(n));
  std::set<void*> blocks;
  const taken all = guards_of([&] {
    for (std::size_t i = 0; i != n; ++i) blocks.insert(pool.try_allocate());
  });
  BOOST_TEST((all == none));
  BOOST_TEST((blocks.size() == n && !blocks.contains(nullptr)));
  for (void* const block : blocks) pool.deallocate(block);
}
BOOST_AUTO_TEST_CASE(no_allocation_of_what_was_reserved_takes_a_guard) {
  expect_prepared<static_array_store<100>>(100);
  expect_prepared<static_array_store<1>>(1);
  expect_prepared<no_growth<96>>(96);
  expect_prepared<fixed_growth<16, 64>>(40);
  expect_prepared<geometric_growth<4, 64>>(200);
}

/// So a handler must not use a pool with checks.
BOOST_AUTO_TEST_CASE(with_checks_each_call_takes_one) {
  tarn::pool<static_size<48>, counted, static_array_store<100>, hardened> pool;
  BOOST_TEST(pool.try_reserve(100));
  void* block = nullptr;
  const bool allocates = guards_of([&] { block = pool.try_allocate(); }) == taken{1, 0};
  const bool frees = guards_of([&] { pool.deallocate(block); }) == taken{1, 0};
  BOOST_TEST((allocates && frees));
}
/// The guards that a pool below its cap takes are seen.
BOOST_AUTO_TEST_CASE(a_pool_that_may_grow_takes_both) {
  tarn::pool<static_size<48>, counted, fixed_growth<16, 64>> pool;
  std::vector<void*> blocks;
  const taken first = guards_of([&] { blocks.push_back(pool.allocate()); });
  BOOST_TEST((first.core != 0 && first.growth == 1));
  while (blocks.size() != 32) blocks.push_back(pool.allocate());
  const taken grown = guards_of([&] { blocks.push_back(pool.allocate()); });
  BOOST_TEST((grown.core != 0 && grown.growth == 1));
  pool.deallocate_batch(blocks);
}

/// What clear() moves is found again, though a destructor that allocates meanwhile is refused.
struct taker {
  static inline object_pool<taker, counted, no_growth<8>>* pool;
  static inline bool takes, refused;
  ~taker() {
    if (takes) refused |= pool->try_construct() == nullptr;
  }
};
BOOST_AUTO_TEST_CASE(after_clear_all_blocks_are_found) {
  object_pool<taker, counted, no_growth<8>> pool;
  taker::pool = &pool;
  for (int i = 0; i != 8; ++i) static_cast<void>(pool.construct());
  taker::takes = true;
  pool.clear();
  taker::takes = false;
  BOOST_TEST(taker::refused);
  std::set<void*> again;
  while (taker* const one = pool.try_construct()) again.insert(one);
  BOOST_TEST(again.size() == 8u);
  pool.clear();
}

}  // namespace
}  // namespace tarn::test
