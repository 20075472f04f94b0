// own_pool_allocator: which pool a container has after it was copied, moved, swapped and spliced, that everything goes back to
// the store, and clear_at_once(). Whole containers with two locking policies and three stores.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <scoped_allocator>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/own_pool_allocator.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/allocator/whole_containers.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

template <class T>
using own = own_pool_allocator<T>;
/// Its store is seen.
template <class T>
using seen = own_pool_allocator<T, resource_store>;

// ---- the requirements, as far as types go --------------------------------------------------------------------------------

static_assert(sizeof(own<int>) == sizeof(void*));
static_assert(std::is_nothrow_default_constructible_v<own<int>> && std::is_nothrow_copy_constructible_v<own<int>>);
static_assert(std::is_nothrow_move_constructible_v<own<int>> && std::is_nothrow_constructible_v<own<int>, const own<char>&>);
static_assert(std::is_nothrow_copy_assignable_v<own<int>> && std::is_nothrow_swappable_v<own<int>>);
static_assert(std::is_convertible_v<own<char>, own<int>> && !std::is_convertible_v<resource_store, seen<int>>);
static_assert(!std::is_default_constructible_v<seen<int>> && std::is_constructible_v<seen<int>, resource_store>);
static_assert(!std::is_constructible_v<own<int>, own_pool_allocator<int, mutex_locking<>>>, "another pool is another type");
using traits = std::allocator_traits<own<int>>;
static_assert(std::is_same_v<traits::rebind_alloc<char>, own<char>> && std::is_same_v<traits::pointer, int*>);
static_assert(!traits::is_always_equal::value && !traits::propagate_on_container_copy_assignment::value);
static_assert(traits::propagate_on_container_move_assignment::value && traits::propagate_on_container_swap::value);
static_assert(noexcept(std::declval<own<int>&>() == std::declval<own<char>&>()));
static_assert(sizeof(own<struct never_completed>) == sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<std::list<int, own<int>>>, "a vector of lists moves them");
static_assert(std::is_nothrow_swappable_v<std::map<int, int, std::less<>, own<std::pair<const int, int>>>>);

// ---- one allocator -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(equal_to_itself_and_its_copies_only) {
  const own<int> a;
  own<int> b;
  BOOST_TEST((a == a && a != b));
  const own<char> of_chars(a);
  const own<int> copy(of_chars);
  BOOST_TEST((of_chars == a && a == copy && copy != b));
  own<int> moved(std::move(b));
  BOOST_TEST((moved == b));  // as the standard wants it
  b = a;
  BOOST_TEST((b == a && b != moved));
  swap(b, moved);
  BOOST_TEST((moved == a && b != a));
  BOOST_TEST((traits::select_on_container_copy_construction(a) != a));
  own<int>& itself = moved;
  moved = itself;
  BOOST_TEST((moved == a));
}

BOOST_AUTO_TEST_CASE(a_copy_frees_what_another_allocated_and_the_last_ends_the_pool) {
  upstream memory;
  {
    own_pool_allocator<long, resource_store> a{resource_store(&memory)};
    BOOST_TEST(memory.regions() == 1u);  // what copies share
    long *one, *some;
    {
      seen<long> b(a);
      one = b.allocate(1);
      some = b.allocate(100);
      BOOST_TEST(b.allocate(0) != nullptr);  // left to the pool
    }
    *one = some[99] = 7;
    seen<long> c((seen<char>(a)));
    a = seen<long>(resource_store(&memory));
    c.deallocate(one, 1);
    c.deallocate(some, 100);
    c.deallocate(nullptr, 0);
    BOOST_TEST((memory.regions() > 2u));
    BOOST_TEST((c.trim() != 0u && a.trim() == 0u));
  }
  BOOST_TEST(memory.regions() == 0u);
  BOOST_TEST(memory.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(trimming_arrays) {
  own<long> a;
  BOOST_TEST(a.trim() == 0u);
  a.deallocate(a.allocate(100), 100);
  BOOST_TEST(a.trim() != 0u);
}

/// Bytes of the first size have a pool of just that size.
BOOST_AUTO_TEST_CASE(nodes_lie_side_by_side) {
  struct forty {
    std::int64_t words[5];
  };
  own<forty> a;
  std::array<forty*, 20> nodes;
  for (forty*& node : nodes) node = a.allocate(1);
  for (std::size_t i = 1; i != nodes.size(); ++i) BOOST_TEST(std::abs(nodes[i] - nodes[i - 1]) == 1);
  own<char> of_chars(a);  // another size
  char* const letter = of_chars.allocate(1);
  own<forty> copy(a);
  for (forty* node : nodes) BOOST_TEST((static_cast<void*>(letter) != node));
  of_chars.deallocate(letter, 1);
  for (forty* node : nodes) copy.deallocate(node, 1);
}

BOOST_AUTO_TEST_CASE(sizes_and_alignments) {
  own<char> shared;
  take_arrays(own<char>());
  take_arrays(own<std::array<char, 3>>(shared));
  take_arrays(own<long>(shared));
  take_arrays(own<aligned<16>>());
  take_arrays(own<aligned<64>>());
  take_arrays(own<aligned<64>>(shared));
  take_arrays(own<aligned<4096>>());
  take_arrays(own<std::array<char, 5000>>(shared));
  take_arrays(own_pool_allocator<std::array<char, 24>, batch_reuse<>, checked>());
  BOOST_CHECK_THROW((void)own<long>().allocate(static_cast<std::size_t>(-1) / 4), std::bad_array_new_length);
}

#ifdef __cpp_lib_allocate_at_least
BOOST_AUTO_TEST_CASE(an_array_may_have_room_for_more) {
  own<int> a;
  const auto some = a.allocate_at_least(37);
  BOOST_TEST(some.count == 40u);
  a.deallocate(some.ptr, 38);
  const auto one = a.allocate_at_least(1);
  BOOST_TEST(one.count == 1u);
  a.deallocate(one.ptr, 1);
}
#endif

// ---- containers ----------------------------------------------------------------------------------------------------------

constexpr auto is_of = [](const auto& container, const auto& allocator) { return container.get_allocator() == allocator; };

template <template <class> class... Containers>
void go_every_way_with_each() {
  (go_every_way<Containers<own<char>>>(own<char>(), own<char>(), is_of), ...);
}
BOOST_AUTO_TEST_CASE(containers_go_every_way) {
  go_every_way_with_each<list_of, forward_list_of, vector_of, deque_of, map_of, multimap_of, set_of, multiset_of,
                         unordered_map_of, unordered_set_of, unordered_multimap_of, unordered_multiset_of>();
}

template <class... Policies>
void go_every_way_over_a_resource(called_from = {}) {
  upstream here, there;
  {
    using allocator = own_pool_allocator<char, resource_store, Policies...>;
    const allocator a{resource_store(&here)}, b{resource_store(&there)};
    go_every_way<list_of<allocator>>(a, b, is_of);
    go_every_way<map_of<allocator>>(a, b, is_of);
    go_every_way<unordered_map_of<allocator>>(a, b, is_of);
    CHECK(here.calls() > 4);
  }
  CHECK(here.regions() == 0 && there.regions() == 0);
  CHECK(here.faults() == 0 && there.faults() == 0);
}
BOOST_AUTO_TEST_CASE(all_memory_goes_back) {
  go_every_way_over_a_resource<>();
  go_every_way_over_a_resource<mutex_locking<>>();
}

template <class... Policies>
void fill_some(called_from = {}) {
  using allocator = own_pool_allocator<char, Policies...>;
  go_every_way<unordered_map_of<allocator>>(allocator(), allocator(), is_of);
}
constinit memory_budget budget(1 << 20);
BOOST_AUTO_TEST_CASE(other_policies) {
  fill_some<page_store<>, mutex_locking<>>();
  fill_some<checked, budgeted<heap_store, &budget>, counting_statistics>();
  fill_some<thread_cached<>, fixed_growth<10>>();
  BOOST_TEST(budget.used() == 0u);
  BOOST_TEST(budget.peak() != 0u);
}

// Containers that were never used have no pool. They are still copied, moved, assigned and swapped.
template <class C>
void go_unused(called_from = {}) {
  C a, b;
  C c(a), d(std::move(b));
  a = c;
  c = std::move(d);
  using std::swap;
  swap(a, c);
  swap(a, b);
  for (C* const one : {&a, &b, &c, &d}) {
    put(*one, 0, 20);
    CHECK(length(*one) == 20);
  }
  CHECK(a.get_allocator() == a.get_allocator() && a.get_allocator() != c.get_allocator());
}
BOOST_AUTO_TEST_CASE(containers_that_were_never_used) {
  go_unused<list_of<own<char>>>();
  go_unused<forward_list_of<own<char>>>();
  go_unused<vector_of<own<char>>>();
  go_unused<deque_of<own<char>>>();
  go_unused<map_of<own<char>>>();
  go_unused<unordered_map_of<own<char>>>();
}

BOOST_AUTO_TEST_CASE(nodes_go_from_one_to_another_that_shares_the_pool) {
  upstream memory;
  {
    const seen<char> shared{resource_store(&memory)};
    move_nodes(shared, [&] { return std::pair(memory.calls(), memory.regions()); });
  }
  BOOST_TEST(memory.regions() == 0u);
}

int counted_allocators = 0;
template <class T>
struct counted : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = counted<U>;
  };
  counted() { ++counted_allocators; }
  counted(const counted& other) noexcept : std::allocator<T>(other) { ++counted_allocators; }
  template <class U>
  counted(const counted<U>&) noexcept {
    ++counted_allocators;
  }
  counted& operator=(const counted&) = default;
  ~counted() { --counted_allocators; }
};
BOOST_AUTO_TEST_CASE(a_node_handle_that_is_inserted) {
  upstream memory;
  {
    const seen<char> shared{resource_store(&memory)};
    std::set<long, std::less<>, counted<long>> a({1, 2}), b;
    b.insert(a.extract(1));
    set_of<seen<char>> c({1, 2}, shared), d(shared);
    d.insert(c.extract(1));
    BOOST_TEST((c.size() == 1u && d.size() == 1u));
  }
  // libstdc++ forgets the handle's allocator (GCC's bug 114401), whatever allocator that is: then the pool stays.
  BOOST_TEST((memory.regions() == 0u) == (counted_allocators == 0));
}

BOOST_AUTO_TEST_CASE(a_node_handle_outlives_its_container) {
  upstream memory;
  {
    std::map<int, std::string, std::less<>, seen<std::pair<const int, std::string>>>::node_type node;
    {
      std::map<int, std::string, std::less<>, seen<std::pair<const int, std::string>>> m(
          seen<std::pair<const int, std::string>>{resource_store(&memory)});
      m[1] = "a string that is too long to be stored inside its object";
      node = m.extract(1);
      BOOST_TEST((node.get_allocator() == m.get_allocator()));
    }
    BOOST_TEST(node.mapped().size() == 56u);
    BOOST_TEST(memory.regions() != 0u);
  }
  BOOST_TEST(memory.regions() == 0u);
}

BOOST_AUTO_TEST_CASE(handed_down_to_the_elements) {
  upstream memory;
  {
    using text = std::basic_string<char, std::char_traits<char>, seen<char>>;
    using scoped = std::scoped_allocator_adaptor<seen<text>>;
    using texts = std::list<text, scoped>;
    texts a{scoped(seen<text>(resource_store(&memory)))};
    for (int i = 0; i < 20; ++i) a.emplace_back("a string that is too long to be stored inside its object");
    for (const text& t : a) BOOST_TEST((t.get_allocator() == a.get_allocator()));
    const texts b = a;  // all of it in another pool
    BOOST_TEST((b == a && b.get_allocator() != a.get_allocator()));
    for (const text& t : b) BOOST_TEST((t.get_allocator() == b.get_allocator()));
    const texts c = std::move(a);
    BOOST_TEST((c == b));
  }
  BOOST_TEST(memory.regions() == 0u);
  BOOST_TEST(memory.faults() == 0u);
}

// ---- a store that refuses ------------------------------------------------------------------------------------------------

/// Each call of the store fails once: the container is then what it was, and goes on.
template <class C>
void fail_each_call(called_from = {}) {
  for (std::size_t k = 1; k != 100; ++k) {
    upstream memory;
    {
      std::unique_ptr<C> c;
      memory.fail(k, failing::once);
      const bool refused =
          throws_bad_alloc([&] { c = std::make_unique<C>(typename C::allocator_type(resource_store(&memory))); });
      CHECK(refused == (c == nullptr));
      if (refused) c = std::make_unique<C>(typename C::allocator_type(resource_store(&memory)));
      long in = 0, failed = 0;
      while (in != 700) {
        const bool failed_now = throws_bad_alloc([&] { put(*c, in, 1); });
        in += failed_now ? 0 : 1;
        failed += failed_now ? 1 : 0;
        CHECK(length(*c) == in);
        REQUIRE(failed < 2);
      }
      CHECK(failed + (refused ? 1 : 0) <= static_cast<long>(memory.failures()));
      if (memory.failures() == 0) {
        CHECK(k > 4);  // its own record, its pool, chunks
        k = 99;
      }
    }
    CHECK(memory.regions() == 0 && memory.faults() == 0);
  }
}
BOOST_AUTO_TEST_CASE(strong_guarantee) {
  fail_each_call<list_of<seen<char>>>();
  fail_each_call<map_of<seen<char>>>();
  fail_each_call<unordered_set_of<seen<char>>>();
  fail_each_call<vector_of<seen<char>>>();
}

// ---- threads -------------------------------------------------------------------------------------------------------------

// Each round a container goes to another thread, which uses it while this one destroys what it was moved from.
BOOST_AUTO_TEST_CASE(containers_move_between_threads) {
  for (int round = 0; round < 200; ++round) {
    auto m = std::make_unique<map_of<own<char>>>();
    put(*m, 0, 10);
    auto l = std::make_unique<list_of<own<char>>>();  // perhaps never used
    if (round % 2 == 0) put(*l, 0, 10);
    long sum = 0;
    std::thread other([&sum, m_there = std::move(*m), l_there = std::move(*l)]() mutable {
      put(m_there, 10, 50);
      put(l_there, 10, 50);
      sum = length(m_there) + length(l_there);
    });
    m.reset();
    l.reset();
    other.join();
    CHECK(sum == (round % 2 == 0 ? 120 : 110));
  }
}

// Several threads have copies of an allocator that was never used, at once; and with a mutex, they use its pool at once.
BOOST_AUTO_TEST_CASE(threads_share_a_pool_from_its_first_use_on) {
  for (int round = 0; round < 100; ++round) {
    const own_pool_allocator<char, mutex_locking<>> shared;
    using list = list_of<own_pool_allocator<char, mutex_locking<>>>;
    std::array<list, 3> lists;
    std::array<std::thread, 3> threads;
    for (std::size_t t = 0; t != threads.size(); ++t)
      threads[t] = std::thread([&shared, &its = lists[t]] {
        list l(shared);
        put(l, 0, 30);
        its = std::move(l);
      });
    for (std::thread& t : threads) t.join();
    lists[0].splice(lists[0].end(), lists[1]);
    lists[0].splice(lists[0].end(), lists[2]);
    CHECK(lists[0].size() == 90 && lists[0].get_allocator() == shared);
  }
}

// ---- all elements at once ------------------------------------------------------------------------------------------------

template <class C>
void clear_it_at_once(called_from = {}) {
  upstream memory;
  {
    C c(typename C::allocator_type{resource_store(&memory)});
    const std::size_t at_first = memory.regions();
    put(c, 0, 1000);
    const std::size_t full = memory.regions();
    CHECK(full > at_first);
    clear_at_once(c);
    CHECK(c.empty());
#ifndef _GLIBCXX_DEBUG
    CHECK(memory.regions() == at_first);
#endif
    put(c, 0, 100);
    C other(std::move(c));
    put(c, 7, 1);  // it shares the pool
    const std::size_t shared = memory.regions();
    clear_at_once(other);
    CHECK(other.empty() && length(c) == 1 && memory.regions() == shared);
    CHECK(other.get_allocator() == c.get_allocator());  // it still shares it
    c = C(typename C::allocator_type(resource_store(&memory)));
    clear_at_once(c);  // one without elements
    put(c, 0, 10);
    CHECK(length(c) == 10);
  }
  CHECK(memory.regions() == 0 && memory.faults() == 0);
}
BOOST_AUTO_TEST_CASE(clearing_at_once) {
  clear_it_at_once<list_of<seen<char>>>();
  clear_it_at_once<forward_list_of<seen<char>>>();
  clear_it_at_once<map_of<seen<char>>>();
  clear_it_at_once<multimap_of<seen<char>>>();
  clear_it_at_once<set_of<seen<char>>>();
  clear_it_at_once<multiset_of<seen<char>>>();
  list_of<own<char>> unused;
  clear_at_once(unused);
  BOOST_TEST(unused.empty());
}

int reports = 0;
BOOST_AUTO_TEST_CASE(clearing_at_once_leaks_nothing) {  // a checked pool that ended with blocks in use would say so
  const misuse_handler before = set_misuse_handler([](const misuse&) noexcept { ++reports; });
  {
    list_of<own_pool_allocator<char, checked>> l;
    put(l, 0, 100);
    clear_at_once(l);
    BOOST_TEST(l.empty());
  }
  set_misuse_handler(before);
  BOOST_TEST(reports == 0);
}

struct by_sign {
  int sign;
  bool operator()(int a, int b) const noexcept { return sign * a < sign * b; }
};
BOOST_AUTO_TEST_CASE(clearing_at_once_keeps_the_comparator) {
  std::set<int, by_sign, own<int>> s({1, 2, 3}, by_sign{-1});
  clear_at_once(s);
  s = {5, 6, 7};
  BOOST_TEST(*s.begin() == 7);
}

// A store that lets a container see that nothing is visited: elements whose memory is overwritten first.
BOOST_AUTO_TEST_CASE(clearing_at_once_visits_nothing) {
#ifndef _GLIBCXX_DEBUG
  upstream memory;
  {
    list_of<seen<char>> l(seen<char>{resource_store(&memory)});
    put(l, 0, 1000);
    std::vector<void*> nodes;
    for (long& value : l) nodes.push_back(&value - 2);  // two links in front
    for (void* node : nodes) static_cast<void**>(node)[0] = static_cast<void**>(node)[1] = nullptr;
    clear_at_once(l);
    BOOST_TEST(l.empty());
  }
  BOOST_TEST(memory.regions() == 0u);
#endif
}

}  // namespace
}  // namespace tarn::test
