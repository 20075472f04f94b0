// Whole containers with sources, whichever way they are copied, moved and swapped: each block returns to where it came from,
// with its size and alignment. Nodes that go from container to container, what else asks an allocator for memory, and threads.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <functional>
#include <future>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <scoped_allocator>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/test/allocator/allocator_sources.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

/// Every operation of two containers with unequal sources. Afterwards each is used further, so that a block that is on the
/// wrong side comes back there.
template <class C, class Rig>
void go_every_way(called_from = {}) {
  Rig here, there;
  const typename C::allocator_type a(here.get()), b(there.get());
  CHECK(a != b && !(a == b));
  const auto is_on = [](const C& c, Rig& rig) { return &c.get_allocator().source() == &rig.get(); };
  auto use = [next = 5000](C& c) mutable {
    const std::size_t before = length(c);
    put(c, next += 100, 60);
    drop_one(c);
    CHECK(length(c) == before + 59);
  };
  const auto calls = [&] {
    if constexpr (std::is_same_v<Rig, ledger_rig>) return here.blocks.calls() + there.blocks.calls();
    else return 0;
  };
  const auto in = [](const C& c, Rig& rig) {  // its elements lie there
    if constexpr (std::is_same_v<Rig, ledger_rig>)
      for (const auto& element : c) CHECK(rig.blocks.holds(&element));
    CHECK(&c.get_allocator().source() == &rig.get());
  };
  const auto finished = [&](called_from = {}) {
    check_that(here.idle() && there.idle(), "a block did not come back to its source");
    check_that(here.sound() && there.sound(), "a block came back to another source, or with another size");
  };
  const auto filled = [](const typename C::allocator_type& allocator) {
    C c(allocator);
    put(c, 0, 50);
    return c;
  };
  const auto origin = [&] { return filled(a); };
  Rig elsewhere;
  const C expected = filled(elsewhere.get());

  {  // copies
    C c = origin();
    in(c, here);
    C same(c);
    in(same, here);
    C other(c, b);
    in(other, there);
    CHECK(same == expected && other == expected && c == expected);
    use(same), use(other), use(c);
  }
  finished();
  {  // moves
    C c = origin();
    const void* const first = address_of_first(c);
    C moved(std::move(c));
    in(moved, here);
    CHECK(moved == expected && address_of_first(moved) == first);
    c = C(a);
    C same(std::move(moved), a);
    CHECK(same == expected && address_of_first(same) == first);
    C other(std::move(same), b);  // element by element
    in(other, there);
    CHECK(other == expected && address_of_first(other) != first);
    same.clear();
    use(other), use(same), use(c);
  }
  finished();
  {  // assigning a copy: it keeps its own source
    C c = origin(), other(b), empty(b), self = origin();
    put(other, 900, 80);
    other = c;
    empty = c;
    in(other, there), in(empty, there), in(c, here);
    CHECK(other == expected && empty == expected && c == expected);
    C& alias = self;
    self = alias;
    CHECK(self == expected);
    other = empty;
    CHECK(other == expected);
    use(c), use(other), use(empty), use(self);
  }
  finished();
  {  // assigning what is moved: it takes the source along, and what it had goes back to the old one
    C c = origin(), other(b);
    put(other, 900, 80);
    const void* const first = address_of_first(c);
    const auto before = calls();
    other = std::move(c);
    if constexpr (!requires { c.push_front(1), c[0]; }) CHECK(calls() == before);  // libstdc++'s empty deque has a block
    in(other, here);
    CHECK(other == expected && address_of_first(other) == first && is_on(other, here));
    CHECK(there.idle());
    c = C(b);
    in(c, there);
    use(c), use(other);
    c.swap(other);
  }
  finished();
  {  // swapping: the sources go along
    C c = origin(), other(b);
    put(other, 900, 80);
    C kept(other);
    const void* const first = address_of_first(c);
    const void* const others = address_of_first(other);
    const auto before = calls();
    using std::swap;
    swap(c, other);
    CHECK(calls() == before);
    in(c, there), in(other, here);
    CHECK(other == expected && c == kept);
    CHECK(address_of_first(other) == first && address_of_first(c) == others);
    use(c), use(other);
    c.swap(other);
    in(c, here), in(other, there);
    use(c), use(other);
  }
  finished();
  {  // a short life after each other
    C c(a);
    for (int i = 0; i < 5; ++i) {
      put(c, 0, 40);
      C next(i % 2 == 0 ? b : a);
      put(next, 100, 40);
      c = std::move(next);
      c.clear();
    }
  }
  finished();
  CHECK(elsewhere.sound());
}

BOOST_AUTO_TEST_CASE(containers_with_a_ledger) {
  using rig = ledger_rig;
  go_every_way<list_of<rig, long>, rig>();
  go_every_way<forward_list_of<rig, long>, rig>();
  go_every_way<vector_of<rig, long>, rig>();
  go_every_way<deque_of<rig, long>, rig>();
  go_every_way<string_of<rig>, rig>();
  go_every_way<set_of<rig, long>, rig>();
  go_every_way<map_of<rig, long>, rig>();
  go_every_way<unordered_map_of<rig, long>, rig>();
}
// What a source is makes no difference to a container: an array and nodes.
BOOST_AUTO_TEST_CASE(containers_with_a_memory_resource) {
  go_every_way<vector_of<resource_rig, long>, resource_rig>();
  go_every_way<list_of<resource_rig, long>, resource_rig>();
}
BOOST_AUTO_TEST_CASE(containers_with_a_size_class_pool) {
  go_every_way<vector_of<pool_rig, long>, pool_rig>();
  go_every_way<unordered_map_of<pool_rig, long>, pool_rig>();
}

// ---- nodes -----------------------------------------------------------------------------------------------------------------

/// Lists of equal sources hand nodes over without a call of the source.
template <class Rig>
void splice_and_merge() {
  Rig rig;
  {
    list_of<Rig, long> a({1, 3, 5, 7}, rig.get()), b({2, 4, 6, 8}, rig.get());
    const long* const three = &*std::next(a.begin());
    b.splice(b.end(), a, std::next(a.begin()));
    CHECK(&b.back() == three);
    a.splice(a.begin(), b, b.begin(), std::next(b.begin(), 2));
    a.splice(a.end(), std::move(b));
    CHECK(b.empty() && a.size() == 8);
    b.assign({9, 10});
    a.sort();
    b.merge(a);
    CHECK(a.empty() && (b == list_of<Rig, long>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, rig.get())));
    forward_list_of<Rig, long> f({1, 3}, rig.get()), g({2, 4}, rig.get());
    f.merge(g);
    g.assign({7, 8});
    f.splice_after(f.before_begin(), g);
    CHECK(g.empty() && (f == forward_list_of<Rig, long>({7, 8, 1, 2, 3, 4}, rig.get())));
  }
  CHECK(rig.idle() && rig.sound());
}

template <class C, class Rig>
void hand_nodes_over(called_from = {}) {
  Rig rig, other;
  {
    std::vector<typename C::node_type> left_over;  // handles outside would make g++ 12 warn of its own library
    {
      C a(rig.get()), b(rig.get()), c(other.get());
      put(a, 0, 50), put(b, 20, 10), put(b, 60, 40), put(c, 0, 10);
      const void* const address = address_of_first(a);
      auto node = a.extract(a.begin());
      CHECK(&node.get_allocator().source() == &rig.get());
      const auto inserted = b.insert(std::move(node));
      if constexpr (requires { inserted.inserted; }) CHECK(inserted.inserted && &*inserted.position == address);
      else CHECK(&*inserted == address);
      b.merge(a);
      CHECK(b.size() + a.size() == 100);
      left_over.push_back(b.extract(b.begin()));
      left_over.push_back(c.extract(c.begin()));
      b.extract(b.begin());  // dies at once
      C into(rig.get());
      into.swap(b);
      C moved(std::move(into));
      CHECK(moved.size() + a.size() == 98);
    }
    CHECK(!rig.idle() && !other.idle());  // nodes outlive their containers
    left_over[0] = std::move(left_over[1]);  // a node handle takes the allocator along
    CHECK(&left_over[0].get_allocator().source() == &other.get());
    CHECK(rig.idle());
    C again(other.get());
    again.insert(std::move(left_over[0]));
    CHECK(again.size() == 1);
  }
  CHECK(rig.idle() && other.idle() && rig.sound() && other.sound());
}

BOOST_AUTO_TEST_CASE(nodes_with_a_ledger) {
  splice_and_merge<ledger_rig>();
  hand_nodes_over<multimap_of<ledger_rig, long>, ledger_rig>();
  hand_nodes_over<set_of<ledger_rig, long>, ledger_rig>();
  hand_nodes_over<unordered_map_of<ledger_rig, long>, ledger_rig>();
}
BOOST_AUTO_TEST_CASE(nodes_with_a_size_class_pool) {
  splice_and_merge<pool_rig>();
  hand_nodes_over<map_of<pool_rig, long>, pool_rig>();
}

BOOST_AUTO_TEST_CASE(moving_nodes_asks_no_source) {
  ledger blocks;
  list_of<ledger_rig, long> a({1, 3, 5}, blocks), b({2, 4, 6}, blocks);
  map_of<ledger_rig, long> m({{1, 1}, {2, 2}}, blocks), n({{3, 3}, {2, 2}}, blocks);
  const std::size_t calls = blocks.calls();
  const std::size_t live = blocks.blocks();
  b.splice(b.begin(), a, a.begin());
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

struct incomplete_for_now;
struct holder {  // its members are instantiated before their element is complete
  std::vector<incomplete_for_now, stl_allocator<incomplete_for_now>> vector;
  std::list<incomplete_for_now, stl_allocator<incomplete_for_now>> list;
  std::forward_list<incomplete_for_now, stl_allocator<incomplete_for_now>> forward_list;
};
struct incomplete_for_now {
  int depth;
  holder below;
};
struct tree {
  int depth = 0;
  std::vector<tree, stl_allocator<tree, size_class_pool<>>> children;
};
static_assert(sizeof(stl_allocator<struct never_completed>) == 1);
static_assert(stl_allocator<struct never_completed>() == stl_allocator<int>());

BOOST_AUTO_TEST_CASE(elements_that_are_incomplete) {
  const auto grow = [](const auto& self, incomplete_for_now& node) -> int {
    if (node.depth == 0) return 1;
    for (int i = 0; i < 3; ++i) node.below.vector.push_back({node.depth - 1, {}});
    node.below.list.push_back({node.depth - 1, {}});
    node.below.forward_list.push_front({node.depth - 1, {}});
    int count = 1;
    for (auto& child : node.below.vector) count += self(self, child);
    for (auto& child : node.below.list) count += self(self, child);
    for (auto& child : node.below.forward_list) count += self(self, child);
    return count;
  };
  incomplete_for_now root{5, {}};
  BOOST_TEST(grow(grow, root) == (5 * 5 * 5 * 5 * 5 * 5 - 1) / 4);
  const incomplete_for_now copy = root;
  root.below = {};
  BOOST_TEST(copy.below.vector[2].below.list.front().depth == 3);

  size_class_pool<> pool;
  tree t{1, std::vector<tree, stl_allocator<tree, size_class_pool<>>>(pool)};
  t.children.push_back(t);
  t.children.push_back(t);
  BOOST_TEST(t.children[1].children.size() == 1u);
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
  ledger blocks;
  const stl_allocator<int, ledger> a(blocks);
  const stl_allocator<char, ledger> converted(a);
  BOOST_TEST(&converted.source() == &blocks);
  using traits = std::allocator_traits<stl_allocator<int, ledger>>;
  BOOST_TEST((traits::select_on_container_copy_construction(a) == a));
  BOOST_TEST(traits::max_size(a) == std::numeric_limits<std::size_t>::max() / sizeof(int));
  stl_allocator<int, ledger> copy(a);
  int* const p = traits::allocate(copy, 1);
  traits::construct(copy, p, 5);
  BOOST_TEST(*p == 5);
  traits::destroy(copy, p);
  traits::deallocate(copy, p, 1);
  int* const hinted = traits::allocate(copy, 3, p);
  traits::deallocate(copy, hinted, 3);
  BOOST_TEST(blocks.faults() == 0u);

  ledger others;
  copy = stl_allocator<int, ledger>(others);
  BOOST_TEST((copy != a));
  BOOST_TEST((copy != converted));
  std::swap(copy, const_cast<stl_allocator<int, ledger>&>(a));
  BOOST_TEST(&copy.source() == &blocks);
}

BOOST_AUTO_TEST_CASE(allocators_that_are_handed_down) {
  ledger outer;
  {
    using text = string_of<ledger_rig>;
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

struct stamped {
  std::uint64_t id;
  std::uint64_t words[3];
  explicit stamped(std::uint64_t i) : id(i), words{i * 3, ~i, i ^ 0x5555} {}
  bool is_intact() const { return words[0] == id * 3 && words[1] == ~id && words[2] == (id ^ 0x5555); }
};

// Nothing but the allocator makes these threads wait for each other, and they start together each time.
BOOST_AUTO_TEST_CASE(two_threads_take_and_give_at_once) {
  constexpr unsigned rounds = 1000;
  std::atomic<unsigned> arrived = 0;
  bool intact[2] = {true, true};
  const auto work = [&](std::size_t me) {
    std::list<stamped, stl_allocator<stamped>> list;
    std::vector<int, stl_allocator<int>> ints;
    std::uint64_t next = me << 60;
    for (unsigned round = 0; round < rounds; ++round) {
      ++arrived;
      while (arrived < 2 * (round + 1)) std::this_thread::yield();
      for (int i = 0; i < 300; ++i) {
        list.emplace_back(next++);
        list.emplace_front(next++);
        intact[me] = intact[me] && list.back().is_intact() && list.back().id >> 60 == me;
        list.pop_back();
        ints.assign(static_cast<std::size_t>(i % 32 + 2), i);
        ints.shrink_to_fit();
        intact[me] = intact[me] && ints.front() == i && ints.back() == i;
      }
      for (const stamped& s : list) intact[me] = intact[me] && s.is_intact() && s.id >> 60 == me;
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
  std::list<char, policies_allocator> letters;
  for (int i = 0; i < 1000; ++i) letters.push_back(static_cast<char>(i % 100));
  std::basic_string<char, std::char_traits<char>, policies_allocator> text(100, 'x');
  using of_numbers = std::allocator_traits<policies_allocator>::rebind_alloc<int>;
  std::unordered_set<int, std::hash<int>, std::equal_to<>, of_numbers> numbers{1, 2, 3};
  policies_allocator one;
  char* const letter = one.allocate(1);
  *letter = 'y';
  one.deallocate(letter, 1);
  BOOST_TEST(letters.size() == 1000u);
  BOOST_TEST(text.size() == 100u);
  BOOST_TEST(numbers.size() == 3u);
}

}  // namespace
}  // namespace tarn::test
