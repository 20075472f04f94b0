// Each way to make an allocator of allocators, over each that can be at the bottom: random requests against a model,
// exhaustion, constructors that throw, alignments to 256, and everything given back as it was requested.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <tuple>

#include "tarn/allocator/arena.h"
#include "tarn/allocator/blocks.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/statistics.h"
#include "tarn/test/allocator/accounted_block.h"
#include "tarn/test/allocator/live_blocks.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

// ---- what can be at the bottom: a line each -----------------------------------------------------------------------------

struct some_bytes {
  std::byte of_buffer[50'001];
};
class given_buffer : some_bytes, public buffer_block<> {
 public:
  given_buffer() : buffer_block(tarn::span<std::byte>(of_buffer + 1, sizeof of_buffer - 1)) {}
};
struct sized_at_run_time : block_of<pool<dynamic_size>> {
  sized_at_run_time() : block_of(dynamic_size(512, 64)) {}
};
using bottoms = std::tuple<pool<static_size<512, 64>>,  // the pool
                           sized_at_run_time,  // whose size isn't known at compile time
                           pool<static_size<512, 64>, static_array_store<60>>,  // a static array of blocks
                           size_class_pool<>,  // many sizes
                           heap_block,  // the heap
                           buffer_block<50'000>,  // an array
                           arena<>,  // blocks that end all at once
                           given_buffer>;  // somebody else's bytes

// ---- what can be made of it: a line each --------------------------------------------------------------------------------

struct deaf {
  static void on_event(const trace_event&) noexcept {}
};
struct alignas(32) wide_header {
  unsigned char bytes[40] = {};
};

template <class B>
using under_pool = segregate<64, accounted<pool<static_size<64>>>, B>;
template <class B>
using under_two = by_size<up_to<24, accounted<pool<static_size<24>>>>, up_to<100, accounted<size_class_pool<>>>, B>;
template <class B>
using small_ones = segregate<200, B, accounted<heap_block>>;
template <class B>
using behind_array = fall_back<accounted<pool<static_size<128>, static_array_store<8>>>, B>;
template <class B>
using behind_stack = stack_first<1000, B>;
template <class B>
using with_header = prefix<std::uint32_t, B>;
template <class B>
using with_wide_header = prefix<wide_header, B>;
template <class B>
using to_64 = aligned_to<64, B>;
template <class B>
using in_lock = shared_between<mutex, B>;
template <class B>
using deep = counted<aligned_to<32, checked_bounds<prefix<int, fall_back<accounted<buffer_block<300>>, traced<deaf, B>>>>>>;

template <class B>
using made_of = std::tuple<B, under_pool<B>, under_two<B>, small_ones<B>, behind_array<B>, behind_stack<B>, with_header<B>,
                           with_wide_header<B>, to_64<B>, in_lock<B>, counted<B>, traced<deaf, B>, checked_bounds<B>, deep<B>>;

// ---- the trials: compiled once ------------------------------------------------------------------------------------------

std::size_t some_size(std::mt19937_64& random) {
  const std::size_t kind = random() % 10;
  return 1 + random() % (kind < 6 ? 65 : kind < 9 ? 400 : 3000);
}
std::size_t some_alignment(std::mt19937_64& random) {
  return std::size_t{1} << (random() % 2 == 0 ? random() % 5 : random() % 9);
}

/// As live_blocks gives it back, or with the size that it may have.
void give_back(any_block& all, live_blocks& live, void* block, bool as_good_size) {
  if (!as_good_size || !all.good_size) return live.give(block);
  const live_blocks::part its = live.leave(block);
  const std::size_t good = all.good_size(its.bytes, its.alignment);
  REQUIRE(good >= its.bytes);
  REQUIRE(all.good_size(good, its.alignment) == good);
  all.deallocate(block, good, its.alignment);
}

void try_random_requests(any_block& all) {
  std::mt19937_64 random(44);
  live_blocks live(all);
  const int on_stack = 0;
  const auto elsewhere = std::make_unique<int>(0);
  std::size_t had = 0;
  for (int step = 0; step != 2000; ++step) {
    if (live.count() == 0 || (random() % 5 < 3 && live.count() < 60)) {
      const std::size_t bytes = some_size(random), alignment = some_alignment(random);
      void* block = nullptr;
      if (random() % 2 == 0) block = all.try_allocate(bytes, alignment);
      else if (throws_bad_alloc([&] { block = all.allocate(bytes, alignment); })) REQUIRE(block == nullptr);
      else REQUIRE(block != nullptr);
      if (block == nullptr) continue;
      ++had;
      live.add(block, bytes, alignment);
      if (all.owns) REQUIRE(all.owns(block) && all.owns(static_cast<char*>(block) + (bytes - 1)));
    } else {
      give_back(all, live, live.any(random), random() % 2 == 0);
    }
    if (all.owns) REQUIRE(!all.owns(&on_stack) && !all.owns(elsewhere.get()) && !all.owns(nullptr));
  }
  live.verify();
  live.give_all();
  CHECK(had > 400);
  all.deallocate(nullptr, 0, 1);
  all.deallocate(nullptr, 100, 256);
  all.deallocate(nullptr, 3000, 16);
  CHECK(accounts::outstanding == 0);
}

/// Blocks of no bytes are blocks: each has an address of its own.
void try_no_bytes(any_block& all) {
  void* const one = all.allocate(0, 8);
  void* const other = all.try_allocate(0, 16);
  REQUIRE(one != nullptr && other != nullptr && one != other);
  if (all.owns) CHECK(all.owns(one) && all.owns(other));
  all.deallocate(one, 0, 8);
  all.deallocate(other, 0, 16);
  CHECK(accounts::outstanding == 0);
}

/// What is refused leaves no trace, wherever the request got to.
void try_exhaustion(any_block& all) {
  for (std::size_t k = 1; k != 12; ++k) {
    live_blocks live(all);
    accounts::refused_from = accounts::calls + k;
    std::size_t refused = 0;
    for (std::size_t i = 0; i != 80; ++i) {
      const std::size_t bytes = 10 + i % 7 * 60;
      void* block = nullptr;
      if (i % 2 == 0) block = live.take(bytes, 8);
      else if (!throws_bad_alloc([&] { block = all.allocate(bytes, 8); })) live.add(block, bytes, 8);
      refused += block == nullptr;
    }
    REQUIRE(refused >= 40);
    accounts::refused_from = 0;
    REQUIRE(live.take(50, 8) != nullptr);
    live.give_all();
    REQUIRE(accounts::outstanding == 0);
  }
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 8, ~std::size_t{0} / 2, ~std::size_t{0} / 4}) {
    CHECK(all.try_allocate(bytes, 64) == nullptr);
    CHECK(throws_bad_alloc([&] { static_cast<void>(all.allocate(bytes, 8)); }));
  }
  CHECK(accounts::outstanding == 0);
}

/// What a bounded one has, it has again.
void try_to_the_end(any_block& all) {
  std::size_t had[2];
  for (std::size_t& blocks : had) {
    live_blocks live(all);
    while (live.count() != 3000 && live.take(100, 8) != nullptr) {
    }
    blocks = live.count();
    live.give_every(2);
    live.give_all();
  }
  CHECK(had[0] >= 40);
  CHECK(had[0] == had[1]);
  CHECK(accounts::outstanding == 0);
}

void try_reset(any_block& all) {
  if (!all.reset) return;
  for (int round = 0; round != 3; ++round) {
    live_blocks live(all);
    for (std::size_t i = 0; i != 40; ++i) live.take(1 + i * 11, 16);
    live.verify();
    live.forget();
    all.reset();
    REQUIRE(accounts::outstanding == 0);
  }
}

template <class T>
struct allocator_over {
  using value_type = T;
  explicit allocator_over(any_block& all) : source(&all) {}
  template <class U>
  allocator_over(const allocator_over<U>& other) : source(other.source) {}
  T* allocate(std::size_t n) { return static_cast<T*>(source->allocate(n * sizeof(T), alignof(T))); }
  void deallocate(T* objects, std::size_t n) { source->deallocate(objects, n * sizeof(T), alignof(T)); }
  template <class U>
  bool operator==(const allocator_over<U>& other) const {
    return source == other.source;
  }
  any_block* source;
};
struct throws_each_third {
  throws_each_third() {
    if (++made % 3 == 0) throw std::runtime_error("third");
  }
  alignas(32) char bytes[64];
  static inline int made = 0;
};

void try_throwing_constructors(any_block& all) {
  throws_each_third::made = 0;
  int thrown = 0;
  std::list<throws_each_third, allocator_over<throws_each_third>> objects{allocator_over<throws_each_third>(all)};
  for (int i = 0; i != 30; ++i) try {
      objects.emplace_back();
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  CHECK(thrown == 10);
  objects.clear();
  CHECK(accounts::outstanding == 0);
}

void try_block(any_block all) {
  try_random_requests(all);
  try_no_bytes(all);
  try_exhaustion(all);
  try_to_the_end(all);
  try_throwing_constructors(all);
  try_reset(all);
}

template <class... Made>
void try_each(std::tuple<Made...>*) {
  (
      [] {
        const auto all = std::make_unique<Made>();
        try_block(any_block(*all));
      }(),
      ...);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_over, Bottom, bottoms) { try_each(static_cast<made_of<accounted<Bottom>>*>(nullptr)); }

}  // namespace
}  // namespace tarn::test
