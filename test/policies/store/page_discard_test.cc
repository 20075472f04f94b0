// Pages that go back inside a region of page_store: the process no longer has them, and the system has them again.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/store/page_stores.h"

namespace tarn::test {
namespace {

using discarding_stores = std::tuple<page_store<>, page_store<guard_pages>, page_store<prefilled, guard_pages>>;

/// What smaps says of the mapping that starts there: "name: n kB", in bytes.
std::size_t mapping_bytes(const void* start, const std::string& name) {
  const std::string text = text_of("/proc/self/smaps");
  char first[40];
  std::snprintf(first, sizeof first, "%zx-", reinterpret_cast<std::size_t>(start));
  const std::size_t at = text.find("\n" + name + ":", text.find(first));
  return at == std::string::npos ? detail::size_max : std::strtoull(text.c_str() + at + name.size() + 2, nullptr, 10) * 1024;
}

/// The second half of each fourth of a region, whole pages.
std::array<detail::memory, 4> halves_of(detail::memory region) {
  std::array<detail::memory, 4> runs;
  const std::size_t part = region.bytes / 4;
  for (std::size_t i = 0; i != 4; ++i) runs[i] = {static_cast<std::byte*>(region.start) + i * part + part / 2, part / 2};
  return runs;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_discarded_has_no_page_and_is_zero, Store, discarding_stores) {
  source_of<Store> source{Store{}};
  const std::size_t bytes = 64 * page_bytes();
  const detail::memory region = source.acquire(bytes, 64);
  auto* const start = static_cast<std::byte*>(region.start);
  madvise(start, bytes, MADV_NOHUGEPAGE);  // where everybody has them
  std::memset(start, 1, bytes);
  const auto runs = halves_of(region);
  BOOST_TEST(source.discard(runs.data(), 4, page_advice::discard) == 4u);
  BOOST_TEST(pages_in(start, bytes).resident == 32u);
  for (const detail::memory run : runs) BOOST_TEST(pages_in(run.start, run.bytes).resident == 0u);
  for (std::size_t at = 0; at != bytes; ++at)
    if (start[at] != std::byte(at / (bytes / 8) % 2 == 0)) BOOST_FAIL("byte " << at);
  std::memset(start, 2, bytes);  // they come again
  BOOST_TEST(pages_in(start, bytes).resident == 64u);
  source.release(region, 64);
}

// Resident bytes alone would not show it: half a huge page can be discarded, and the system has nothing of it. 128 MiB go in 9
// ms; what other programs take or give in this time is far less, in most of the rounds.
BOOST_AUTO_TEST_CASE(the_system_has_the_memory_again, *boost::unit_test::enable_if<!sanitized>()) {
  if (free_bytes() == 0) return;
  constexpr std::size_t bytes = 256 * MiB;
  source_of<page_store<>> source{page_store<>{}};
  const detail::memory region = source.acquire(bytes, 64);
  BOOST_TEST_REQUIRE(bool{region});
  auto* const start = static_cast<std::byte*>(region.start);
  const auto runs = halves_of(region);
  std::array<bool, 5> came;
  for (bool& one : came) {
    std::memset(start, 1, bytes);
    const std::size_t free_before = free_bytes();
    BOOST_TEST_REQUIRE(source.discard(runs.data(), 4, page_advice::discard) == 4u);
    one = free_bytes() >= free_before + bytes / 4;  // of the half that went
  }
  BOOST_TEST(std::count(came.begin(), came.end(), true) >= 3);
  source.release(region, 64);
}

BOOST_AUTO_TEST_CASE(what_is_freed_lazily_is_held_until_the_system_needs_it, *boost::unit_test::enable_if<!sanitized>()) {
  // The guards make it a mapping of its own, which smaps lists.
  source_of<page_store<guard_pages>> source{page_store<guard_pages>{}};
  const detail::memory region = source.acquire(4 * MiB, 64);
  auto* const start = static_cast<std::byte*>(region.start);
  std::memset(start, 1, region.bytes);
  BOOST_TEST(mapping_bytes(start, "LazyFree") == 0u);
  const detail::memory half{start + 2 * MiB, 2 * MiB};
  BOOST_TEST(source.discard(&half, 1, page_advice::free_lazily) == 1u);
  const std::size_t lazy = mapping_bytes(start, "LazyFree");
  BOOST_TEST(lazy <= 2 * MiB);
  BOOST_TEST(lazy >= 1 * MiB);  // the system notes some of them later
  BOOST_TEST(mapping_bytes(start, "Rss") >= 2 * MiB + lazy);
  std::memset(start, 2, region.bytes);  // who writes a page keeps it
  BOOST_TEST(mapping_bytes(start, "LazyFree") == 0u);
  BOOST_TEST((start[3 * MiB] == std::byte{2}));
  source.release(region, 64);
}

/// A store over another, as a user writes it.
template <class Inner, bool Forwards>
struct wrapping_store : Inner {
  static constexpr store_traits traits = [] {
    store_traits all = Inner::traits.wrapped();
    all.can_discard = Forwards && Inner::traits.can_discard;
    return all;
  }();
  template <class Traits>
  struct source : Inner::template source<Traits> {
    constexpr explicit source(const wrapping_store& store) noexcept : Inner::template source<Traits>(store) {}
  };
};
static_assert(!page_store<>::traits.wrapped().can_discard);

struct promising_store : heap_store {
  static constexpr store_traits traits{.can_discard = true};
};

template <class Store>
constexpr bool is_store = detail::store_members<Store, no_pool>;

BOOST_AUTO_TEST_CASE(a_store_over_another_says_whether_it_discards) {
  BOOST_TEST((is_store<wrapping_store<page_store<>, false>>));  // inherits discard(), which no one calls
  BOOST_TEST((is_store<wrapping_store<page_store<>, true>>));
  BOOST_TEST((is_store<wrapping_store<heap_store, true>>));
  BOOST_TEST(!is_store<promising_store>);
  pool<static_size<64>, wrapping_store<page_store<>, true>> pool;
  pool.deallocate(pool.allocate());
}

}  // namespace
}  // namespace tarn::test
