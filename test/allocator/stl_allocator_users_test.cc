// Whole containers with sources, whichever way they are copied, moved and swapped: each block returns to where it came from,
// with its size and alignment. Nodes that go from container to container, what else asks an allocator for memory, and threads.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <functional>
#include <future>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <scoped_allocator>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/test/allocator/allocator_sources.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

template <class T>
using from = stl_allocator<T, ledger>;
template <class T>
using list_of = std::list<T, from<T>>;
template <class T>
using forward_list_of = std::forward_list<T, from<T>>;
template <class T>
using vector_of = std::vector<T, from<T>>;
template <class T>
using deque_of = std::deque<T, from<T>>;
template <class T>
using map_of = std::map<T, T, std::less<T>, from<std::pair<const T, T>>>;
template <class T>
using unordered_map_of = std::unordered_map<T, T, std::hash<T>, std::equal_to<T>, from<std::pair<const T, T>>>;
using text = std::basic_string<char, std::char_traits<char>, from<char>>;

/// Puts `n` elements in, from `first` on.
template <class C>
void put(C& c, int first, int n) {
  for (int i = first; i < first + n; ++i) {
    using value = typename C::value_type;
    if constexpr (requires { typename C::mapped_type; }) c.emplace(i, -i);
    else if constexpr (requires { typename C::key_type; }) c.emplace(i);
    else if constexpr (requires { c.push_back(value()); }) c.push_back(static_cast<value>(i));
    else c.push_front(static_cast<value>(i));
  }
}
template <class C>
void drop_one(C& c) {
  if constexpr (requires { c.erase(c.begin()); }) c.erase(c.begin());
  else c.pop_front();
}
template <class C>
const void* address_of_first(const C& c) {
  return &*c.begin();
}
template <class C>
std::size_t length(const C& c) {
  return static_cast<std::size_t>(std::distance(c.begin(), c.end()));
}

/// Copies, moves and swaps of containers with unequal sources. Afterwards each is used further, so that a block that is on the
/// wrong side comes back there.
template <class C>
void go_every_way(called_from = {}) {
  ledger here, there, elsewhere;
  const auto filled = [](ledger& from) {
    C c{typename C::allocator_type(from)};
    put(c, 0, 50);
    return c;
  };
  const auto is_in = [](const C& c, const ledger& its) {  // its elements lie there
    return std::all_of(c.begin(), c.end(), [&](const auto& element) { return its.holds(&element); }) &&
           &c.get_allocator().source() == &its;
  };
  {
    const C expected = filled(elsewhere);
    C original = filled(here), copy(original), copy_there(original, there);
    CHECK(is_in(copy, here) && is_in(copy_there, there) && copy == expected && copy_there == expected);
    C moved(std::move(original));
    CHECK(is_in(moved, here) && moved == expected);
    C moved_there(std::move(moved), there);  // element by element
    CHECK(is_in(moved_there, there) && moved_there == expected);
    put(copy_there, 900, 80);
    copy_there = copy;  // it keeps its own source
    CHECK(is_in(copy_there, there) && copy_there == expected);
    const void* const first = address_of_first(copy);
    copy_there = std::move(copy);  // it takes the source along, and what it had goes back
    CHECK(is_in(copy_there, here) && address_of_first(copy_there) == first && copy_there == expected);
    const std::size_t calls = here.calls() + there.calls();
    using std::swap;
    swap(copy_there, moved_there);  // the sources go along
    CHECK(is_in(copy_there, there) && is_in(moved_there, here) && address_of_first(moved_there) == first);
    CHECK(here.calls() + there.calls() == calls);
    for (C* const one : {&original, &copy, &copy_there, &moved, &moved_there}) {
      one->clear();
      put(*one, 100, 60);
      drop_one(*one);
      CHECK(length(*one) == 59);
    }
  }
  CHECK(here.blocks() + there.blocks() + elsewhere.blocks() == 0);
  CHECK(here.faults() + there.faults() + elsewhere.faults() == 0);
}

BOOST_AUTO_TEST_CASE(containers_go_every_way) {
  go_every_way<list_of<long>>();
  go_every_way<forward_list_of<long>>();
  go_every_way<vector_of<long>>();
  go_every_way<deque_of<long>>();
  go_every_way<text>();
  go_every_way<map_of<long>>();
  go_every_way<unordered_map_of<long>>();
}

BOOST_AUTO_TEST_CASE(moving_nodes_asks_no_source) {
  ledger blocks;
  list_of<long> a({1, 3, 5}, blocks), b({2, 4, 6}, blocks);
  map_of<long> m({{1, 1}, {2, 2}}, blocks), n({{3, 3}, {2, 2}}, blocks);
  const std::size_t calls = blocks.calls();
  const std::size_t live = blocks.blocks();
  const long* const first = &a.front();
  b.splice(b.begin(), a, a.begin());
  BOOST_TEST(&b.front() == first);
  a.merge(b);
  m.merge(n);
  auto node = m.extract(1);
  node.key() = 9;
  n.insert(std::move(node));
  swap(m, n);
  BOOST_TEST(blocks.calls() == calls);
  BOOST_TEST(blocks.blocks() == live);
  BOOST_TEST(m.size() + n.size() == 4u);
}

// ---- other users of allocators ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(shared_pointers) {
  struct alignas(64) thing {
    long values[5];
    explicit thing(long v) : values{v, v, v, v, v} {}
  };
  ledger blocks;
  {
    std::weak_ptr<thing> weak;
    {
      const std::shared_ptr<thing> one = std::allocate_shared<thing>(stl_allocator<char, ledger>(blocks), 7);
      BOOST_TEST(one->values[4] == 7);
      BOOST_TEST(is_aligned(one.get()));
      BOOST_TEST(blocks.holds(one.get()));
      weak = one;
      const std::shared_ptr<long> part(one, &one->values[2]);
      BOOST_TEST(blocks.blocks() == 1u);
    }
    BOOST_TEST(weak.expired());
    BOOST_TEST(blocks.blocks() == 1u);  // the block stays for the weak pointer
    const std::shared_ptr<int> other(new int(5), std::default_delete<int>(), stl_allocator<int, ledger>(blocks));
    BOOST_TEST(blocks.blocks() == 2u);
  }
  BOOST_TEST(blocks.blocks() == 0u);
  BOOST_TEST(blocks.faults() == 0u);
}

struct tree;
struct branches {  // its members are instantiated before their element is complete
  std::vector<tree, stl_allocator<tree>> vector;
  std::list<tree, stl_allocator<tree>> list;
  std::forward_list<tree, stl_allocator<tree>> forward_list;
};
struct tree {
  int depth;
  branches below;
};
static_assert(sizeof(stl_allocator<struct never_completed>) == 1);
static_assert(stl_allocator<struct never_completed>() == stl_allocator<int>());

BOOST_AUTO_TEST_CASE(elements_that_are_incomplete) {
  tree root{2, {}};
  root.below.vector.push_back({1, {}});
  root.below.vector[0].below.list.push_back({0, {}});
  root.below.forward_list.push_front({1, {}});
  const tree copy = root;
  root.below = {};
  BOOST_TEST(copy.below.vector[0].below.list.front().depth == 0);
  BOOST_TEST(copy.below.forward_list.front().depth == 1);
}

class later;  // as in a header that names it only in members
struct users_of_later {
  explicit users_of_later(later& source);
  std::list<int, stl_allocator<int, later>> list;
  std::vector<long, stl_allocator<long, later>> vector;
};
class later : public ledger {};
static_assert(sized_source<later>);
users_of_later::users_of_later(later& source) : list(source), vector(source) {}

BOOST_AUTO_TEST_CASE(a_source_that_is_only_declared) {
  later source;
  {
    users_of_later users(source);
    users.list.push_back(1);
    users.vector.push_back(2);
    BOOST_TEST(source.holds(&users.list.front()));
    BOOST_TEST(source.holds(&users.vector.front()));
  }
  BOOST_TEST(source.blocks() == 0u);
  BOOST_TEST(source.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(uses_by_const_and_by_traits) {
  ledger blocks, others;
  const stl_allocator<int, ledger> a(blocks);
  BOOST_TEST((&stl_allocator<char, ledger>(a).source() == &blocks));
  using traits = std::allocator_traits<stl_allocator<int, ledger>>;
  BOOST_TEST((traits::select_on_container_copy_construction(a) == a));
  BOOST_TEST(traits::max_size(a) == std::numeric_limits<std::size_t>::max() / sizeof(int));
  stl_allocator<int, ledger> copy(a);
  int* const p = traits::allocate(copy, 1);
  traits::construct(copy, p, 5);
  BOOST_TEST(*p == 5);
  int* const hinted = traits::allocate(copy, 3, p);
  traits::deallocate(copy, hinted, 3);
  traits::deallocate(copy, p, 1);
  BOOST_TEST(blocks.blocks() + blocks.faults() == 0u);
  copy = stl_allocator<int, ledger>(others);
  BOOST_TEST((copy != a));
}

BOOST_AUTO_TEST_CASE(allocators_that_are_handed_down) {
  ledger outer;
  {
    using scoped = std::scoped_allocator_adaptor<stl_allocator<text, ledger>>;
    std::vector<text, scoped> texts{scoped(stl_allocator<text, ledger>(outer))};
    for (int i = 0; i < 20; ++i) texts.emplace_back("a string that is too long to be stored inside its object");
    for (const text& t : texts) BOOST_TEST(outer.holds(t.data()));
    BOOST_TEST(outer.blocks() == 21u);

    static_assert(std::uses_allocator_v<text, stl_allocator<char, ledger>>);
    static_assert(std::uses_allocator_v<text, stl_allocator<int, ledger>>, "by conversion");
    const std::tuple<int, text> tuple(std::allocator_arg, stl_allocator<int, ledger>(outer), 1, texts[0]);
    BOOST_TEST(outer.holds(std::get<1>(tuple).data()));

    std::vector<bool, stl_allocator<bool, ledger>> bits(1000, true, outer);
    bits.resize(3000);
    BOOST_TEST(std::count(bits.begin(), bits.end(), true) == 1000);
    BOOST_TEST(outer.blocks() == 23u);

    std::promise<int> promise(std::allocator_arg, stl_allocator<int, ledger>(outer));
    promise.set_value(4);
    BOOST_TEST(promise.get_future().get() == 4);
  }
  BOOST_TEST(outer.blocks() == 0u);
  BOOST_TEST(outer.faults() == 0u);
}

// ---- threads ----------------------------------------------------------------------------------------------------------------

// Nothing but the allocator makes these threads wait for each other, and they start together each time.
BOOST_AUTO_TEST_CASE(two_threads_take_and_give_at_once) {
  constexpr unsigned rounds = 1000;
  std::atomic<unsigned> arrived = 0;
  bool intact[2] = {true, true};
  const auto work = [&](std::size_t me) {
    std::list<std::size_t, stl_allocator<std::size_t>> list;
    std::vector<int, stl_allocator<int>> ints;
    for (unsigned round = 0; round < rounds; ++round) {
      ++arrived;
      while (arrived < 2 * (round + 1)) std::this_thread::yield();
      for (int i = 0; i < 300; ++i) {
        list.push_back(me);
        list.push_front(me);
        list.pop_back();
        ints.assign(static_cast<std::size_t>(i % 32 + 2), i);
        ints.shrink_to_fit();
        intact[me] = intact[me] && ints.front() == i && ints.back() == i;
      }
      for (const std::size_t whose : list) intact[me] = intact[me] && whose == me;
      if (round % 2 == 1) list.clear();
    }
  };
  std::thread first(work, 0u), second(work, 1u);
  first.join(), second.join();
  BOOST_TEST((intact[0] && intact[1]));
}

// ---- constant expressions ---------------------------------------------------------------------------------------------------

constexpr std::size_t beyond_any_object = 100;

/// What a constexpr container does.
template <class Container>
constexpr std::size_t size_at_compile_time(const typename Container::allocator_type& a) {
  Container c(beyond_any_object, typename Container::value_type(), a);
  for (std::size_t i = 0; i != beyond_any_object; ++i) c.push_back(c.back());
  Container copy = c;
  c.erase(c.begin());
  c.shrink_to_fit();
  copy = std::move(c);
  return copy.size();
}
template <class T, class... Policies>
constexpr bool allocates_at_compile_time(stl_allocator<T, Policies...> a) {
  T* const one = a.allocate(1);
  T* const some = std::construct_at(one, T()) == one ? a.allocate(3) : nullptr;
  std::destroy_at(one);
  a.deallocate(one, 1);
  a.deallocate(some, 3);
  return a == stl_allocator<T, Policies...>(a);
}
constinit size_class_pool<> of_constants;
using from_source = stl_allocator<long, size_class_pool<>>;

static_assert(allocates_at_compile_time(stl_allocator<int>()));
static_assert(allocates_at_compile_time(stl_allocator<int, no_locking, checked, static_array_store<4>>()));
static_assert(allocates_at_compile_time(from_source(of_constants)));
#if defined(__cpp_lib_constexpr_vector)
static_assert(size_at_compile_time<std::vector<int, stl_allocator<int>>>({}) == 199);
static_assert(size_at_compile_time<std::vector<long, from_source>>(from_source(of_constants)) == 199);
#endif
#if defined(__cpp_lib_constexpr_string) && __cpp_lib_constexpr_string >= 201907L
static_assert(size_at_compile_time<std::basic_string<char, std::char_traits<char>, stl_allocator<char>>>({}) == 199);
#endif

// At run time the same functions use the pools.
BOOST_AUTO_TEST_CASE(a_constexpr_function_at_run_time) {
  size_class_pool<> source;
  CHECK(size_at_compile_time<std::vector<long, from_source>>(from_source(source)) == 199);
  CHECK(source.trim() != 0);
}

// A front's batches need two pointers in a free block: smaller objects take that much.
BOOST_AUTO_TEST_CASE(small_objects_go_with_batch_reuse) {
  using policies_allocator = stl_allocator<char, no_locking, batch_reuse<>>;
  std::list<char, policies_allocator> letters(1000, 'x');
  policies_allocator one;
  char* const letter = one.allocate(1);
  *letter = 'y';
  BOOST_TEST(std::count(letters.begin(), letters.end(), 'x') == 1000);
  one.deallocate(letter, 1);
}

}  // namespace
}  // namespace tarn::test
