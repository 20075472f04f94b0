// stl_allocator against the standard's requirements of allocators: types, blocks, which pool they come from, a store that
// fails. Whole containers with sources, what else asks an allocator for memory, threads, and constant expressions.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <functional>
#include <future>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <scoped_allocator>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/allocator/whole_containers.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

/// A source that knows every block that it gave, and counts as a fault what comes back otherwise.
class ledger {
 public:
  ledger() = default;
  ledger(const ledger&) = delete;
  ~ledger() {
    for (const auto& [start, block] : live_) ::operator delete(start, std::align_val_t{block.alignment});
  }

  void* allocate(std::size_t bytes, std::size_t alignment) {
    ++calls_;
    if (calls_ > limit_) throw std::bad_alloc();
    void* const start = ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{alignment});
    live_[start] = {bytes, alignment};
    return start;
  }
  void deallocate(void* start, std::size_t bytes, std::size_t alignment) {
    const auto found = live_.find(start);
    if (found == live_.end() || found->second.bytes != bytes || found->second.alignment != alignment) {
      ++faults_;
      return;
    }
    live_.erase(found);
    ::operator delete(start, std::align_val_t{alignment});
  }

  void refuse_after(std::size_t more) noexcept { limit_ = more == no_limit ? no_limit : calls_ + more; }
  static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

  std::size_t calls() const noexcept { return calls_; }
  std::size_t blocks() const noexcept { return live_.size(); }
  std::size_t faults() const noexcept { return faults_; }
  /// Whether the address lies in a block that is out.
  bool holds(const void* address) const noexcept {
    auto next = live_.upper_bound(const_cast<void*>(address));
    if (next == live_.begin()) return false;
    --next;
    return static_cast<const std::byte*>(address) < static_cast<const std::byte*>(next->first) + next->second.bytes;
  }

 private:
  struct extent {
    std::size_t bytes;
    std::size_t alignment;
  };
  std::map<void*, extent> live_;
  std::size_t calls_ = 0;
  std::size_t limit_ = no_limit;
  std::size_t faults_ = 0;
};

template <class T>
bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

static_assert(sized_source<ledger> && sized_source<std::pmr::memory_resource> && sized_source<size_class_pool<>> &&
              sized_source<size_class_pool<resource_store>>);
static_assert(!sized_source<int> && !sized_source<no_locking> && !sized_source<std::allocator<int>>);

// ---- the requirements, as far as types go --------------------------------------------------------------------------------

template <class A, class T, class U, class Other>
constexpr bool meets_the_requirements() {
  using traits = std::allocator_traits<A>;
  static_assert(std::is_same_v<typename A::value_type, T> && std::is_same_v<typename traits::value_type, T>);
  static_assert(std::is_same_v<typename traits::pointer, T*> && std::is_same_v<typename traits::const_pointer, const T*>);
  static_assert(std::is_same_v<typename traits::void_pointer, void*>);
  static_assert(std::is_same_v<typename traits::const_void_pointer, const void*>);
  static_assert(std::is_same_v<typename traits::size_type, std::size_t>);
  static_assert(std::is_same_v<typename traits::difference_type, std::ptrdiff_t>);
  static_assert(std::is_same_v<typename traits::template rebind_alloc<U>, Other>);
  static_assert(std::is_same_v<typename traits::template rebind_alloc<T>, A>);
  static_assert(std::is_same_v<typename std::allocator_traits<Other>::template rebind_alloc<T>, A>);
  // Copies, moves, conversions: none of them throws, all of them may be implicit.
  static_assert(std::is_nothrow_copy_constructible_v<A> && std::is_nothrow_move_constructible_v<A>);
  static_assert(std::is_nothrow_copy_assignable_v<A> && std::is_nothrow_move_assignable_v<A>);
  static_assert(std::is_nothrow_swappable_v<A> && std::is_nothrow_destructible_v<A>);
  static_assert(std::is_nothrow_constructible_v<A, const Other&> && std::is_convertible_v<const Other&, A>);
  static_assert(std::is_nothrow_constructible_v<A, Other&&> && std::is_convertible_v<Other&&, A>);
  static_assert(std::is_trivially_copyable_v<A> && std::is_trivially_destructible_v<A>);
  // Comparisons, also of allocators for different types.
  static_assert(requires(const A a, const A b, const Other c) {
    { a == b } noexcept -> std::same_as<bool>;
    { a != b } noexcept -> std::same_as<bool>;
    { a == c } noexcept -> std::same_as<bool>;
    { c != a } noexcept -> std::same_as<bool>;
  });
  static_assert(requires(A a, T* p, std::size_t n) {
    { a.allocate(n) } -> std::same_as<T*>;
    { a.deallocate(p, n) } noexcept -> std::same_as<void>;
  });
  static_assert(!noexcept(std::declval<A&>().allocate(1)));
  return true;
}

static_assert(meets_the_requirements<stl_allocator<int>, int, double, stl_allocator<double>>());
static_assert(meets_the_requirements<stl_allocator<std::string>, std::string, char, stl_allocator<char>>());
static_assert(meets_the_requirements<stl_allocator<aligned<4096>>, aligned<4096>, int, stl_allocator<int>>());
static_assert(meets_the_requirements<stl_allocator<int, no_locking, fixed_growth<10>>, int, std::string,
                                     stl_allocator<std::string, no_locking, fixed_growth<10>>>());
static_assert(meets_the_requirements<stl_allocator<int, ledger>, int, double, stl_allocator<double, ledger>>());
static_assert(meets_the_requirements<stl_allocator<char, std::pmr::memory_resource>, char, aligned<64>,
                                     stl_allocator<aligned<64>, std::pmr::memory_resource>>());
static_assert(meets_the_requirements<stl_allocator<char, size_class_pool<>>, char, aligned<64>,
                                     stl_allocator<aligned<64>, size_class_pool<>>>());

// Without a source: no state, so that a container is no larger, and always equal.
using free_standing = stl_allocator<int>;
static_assert(std::is_empty_v<free_standing> && std::is_nothrow_default_constructible_v<free_standing>);
static_assert(sizeof(std::vector<int, free_standing>) == sizeof(std::vector<int>));
static_assert(sizeof(std::map<int, int, std::less<>, stl_allocator<std::pair<const int, int>>>) == sizeof(std::map<int, int>));
static_assert(std::allocator_traits<free_standing>::is_always_equal::value);
static_assert(std::allocator_traits<free_standing>::propagate_on_container_move_assignment::value);
static_assert(!std::allocator_traits<free_standing>::propagate_on_container_copy_assignment::value);
static_assert(!std::allocator_traits<free_standing>::propagate_on_container_swap::value);
static_assert(std::is_nothrow_move_assignable_v<std::vector<int, free_standing>>);
static_assert(std::is_nothrow_swappable_v<std::list<int, free_standing>>);
static_assert(!std::is_constructible_v<free_standing, stl_allocator<int, no_locking>>, "another pool is another allocator");
static_assert(std::is_same_v<std::allocator_traits<free_standing>::rebind_alloc<char>, stl_allocator<char>>);
constexpr free_standing at_compile_time;
static_assert(at_compile_time == stl_allocator<char>(at_compile_time));

// With a source: one pointer, and no source by default.
using with_source = stl_allocator<int, ledger>;
static_assert(sizeof(with_source) == sizeof(void*) && !std::is_default_constructible_v<with_source>);
static_assert(std::is_nothrow_constructible_v<with_source, ledger&> && std::is_convertible_v<ledger&, with_source>);
static_assert(!std::is_constructible_v<with_source, const ledger&> && !std::is_constructible_v<with_source, ledger>);
static_assert(!std::allocator_traits<with_source>::is_always_equal::value);
static_assert(std::allocator_traits<with_source>::propagate_on_container_move_assignment::value);
static_assert(!std::allocator_traits<with_source>::propagate_on_container_copy_assignment::value);
static_assert(std::allocator_traits<with_source>::propagate_on_container_swap::value);
static_assert(std::is_nothrow_move_assignable_v<std::vector<int, with_source>>);

// An allocator of a user's own that is derived from ours is rebound to itself.
template <class T>
struct counting : stl_allocator<T> {
  static inline int calls = 0;
  counting() = default;
  template <class U>
  counting(const counting<U>&) noexcept {}
  T* allocate(std::size_t n) {
    ++calls;
    return stl_allocator<T>::allocate(n);
  }
};
static_assert(std::is_same_v<std::allocator_traits<counting<int>>::rebind_alloc<long>, counting<long>>);
template <class T>
struct counting_source : stl_allocator<T, ledger> {
  using stl_allocator<T, ledger>::stl_allocator;
};
static_assert(std::is_same_v<std::allocator_traits<counting_source<int>>::rebind_alloc<long>, counting_source<long>>);

// ---- blocks ----------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(none_one_and_many_objects) {
  take_arrays(stl_allocator<char>());
  take_arrays(stl_allocator<std::array<char, 3>>());
  take_arrays(stl_allocator<std::array<char, 5000>>());
  take_arrays(stl_allocator<std::array<long, 9>, batch_reuse<>, mutex_locking<>, fixed_growth<16>>());
}

BOOST_AUTO_TEST_CASE(over_aligned_objects) {
  take_arrays(stl_allocator<aligned<64>>());
  take_arrays(stl_allocator<aligned<4096>>());
  take_arrays(stl_allocator<aligned<128>, page_store<>>());
  take_arrays(stl_allocator<aligned<64>, checked>());
}

/// A source, and how to see that nothing of it is in use and nothing went wrong.
struct ledger_rig {
  using source = ledger;
  ledger blocks;
  source& get() noexcept { return blocks; }
  bool idle() const noexcept { return blocks.blocks() == 0; }
  bool sound() const noexcept { return blocks.faults() == 0; }
};
struct resource_rig {
  using source = std::pmr::memory_resource;
  upstream blocks;
  source& get() noexcept { return blocks; }
  bool idle() const noexcept { return blocks.regions() == 0; }
  bool sound() const noexcept { return blocks.faults() == 0; }
};
struct pool_rig {
  using source = size_class_pool<resource_store>;
  upstream regions;
  source blocks{resource_store{&regions}};
  source& get() noexcept { return blocks; }
  bool idle() {  // every chunk is wholly free: each block came back, and to this pool
    blocks.trim();
    std::size_t held = 0;
    blocks.each_pool([&](std::size_t, auto& pool) { held += pool.capacity(); });
    return held == 0 && blocks.large().blocks == 0;
  }
  bool sound() const noexcept { return regions.faults() == 0; }
};

template <class Rig>
void take_arrays_from_a_source(called_from = {}) {
  Rig rig;
  using source = typename Rig::source;
  take_arrays(stl_allocator<std::array<char, 3>, source>(rig.get()));
  take_arrays(stl_allocator<aligned<64>, source>(rig.get()));
  take_arrays(stl_allocator<aligned<4096>, source>(rig.get()));
  CHECK(rig.idle());
  CHECK(rig.sound());
}

BOOST_AUTO_TEST_CASE(objects_from_a_source) {
  take_arrays_from_a_source<ledger_rig>();
  take_arrays_from_a_source<resource_rig>();
  take_arrays_from_a_source<pool_rig>();
}

BOOST_AUTO_TEST_CASE(room_is_that_of_a_class) {  // also where the library has no allocate_at_least()
  CHECK(detail::room_for<int>(37, 160) == 40u);
  CHECK(detail::room_for<int>(2, 16) == 4u);
  CHECK(detail::room_for<int>(1, 16) == 1u);  // a node
  CHECK(detail::room_for<int>(0, 16) == 0u);
  CHECK(detail::room_for<int>(5000, 0) == 5000u);  // in no class
}

#ifdef __cpp_lib_allocate_at_least
/// Whatever number from what was requested to what there is, deallocate() takes it.
template <class A>
void all_the_room_is_used(A allocator, std::size_t n, std::size_t least, called_from = {}) {
  using T = typename A::value_type;
  const auto first = allocator.allocate_at_least(n);
  REQUIRE(first.count >= least);
  for (std::size_t given = n; given <= first.count; ++given) {
    const auto again = given == n ? first : allocator.allocate_at_least(n);
    CHECK(again.ptr == first.ptr && again.count == first.count);
    if (again.count != 0) std::memset(static_cast<void*>(again.ptr), 0x5A, again.count * sizeof(T));
    allocator.deallocate(again.ptr, given);
  }
}

BOOST_AUTO_TEST_CASE(an_array_may_have_room_for_more) {
  size_class_pool<> pool;
  ledger blocks;
  using three = std::array<char, 3>;
  all_the_room_is_used(stl_allocator<int>(), 0, 0);
  all_the_room_is_used(stl_allocator<int>(), 1, 1);
  all_the_room_is_used(stl_allocator<int>(), 37, 40);  // 148 bytes, and the class has 160
  all_the_room_is_used(stl_allocator<three>(), 40, 42);
  all_the_room_is_used(stl_allocator<aligned<64>>(), 3, 3);
  all_the_room_is_used(stl_allocator<int, size_class_pool<>>(pool), 37, 40);
  all_the_room_is_used(stl_allocator<aligned<64>, size_class_pool<>>(pool), 3, 3);
  CHECK((stl_allocator<int, ledger>(blocks).allocate_at_least(37).count == 37));
  const auto large = stl_allocator<int>().allocate_at_least(50'000);
  CHECK(large.count == 50'000);
  stl_allocator<int>().deallocate(large.ptr, large.count);
}
#endif

template <class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const std::bad_array_new_length&) {
    return "bad_array_new_length";
  } catch (const std::bad_alloc&) {
    return "bad_alloc";
  }
  return "nothing";
}

/// A store that counts its regions, and refuses on demand and what is over a GiB. Having no value, it serves static pools.
template <class Tag>
struct counted_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  static inline std::size_t calls = 0;
  static inline std::size_t regions = 0;  // outstanding
  static inline bool refuses = false;

  template <class Traits>
  struct source {
    constexpr explicit source(const counted_store&) noexcept {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      ++calls;
      if (refuses || bytes > (std::size_t{1} << 30)) return {};
      ++regions;
      return {::operator new(bytes, std::align_val_t{alignment}), bytes};
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      --regions;
      ::operator delete(region.start, std::align_val_t{alignment});
    }
  };
};
using counted = counted_store<struct of_any_case>;

template <class T, class... Arguments>
void ask_for_too_many(stl_allocator<T, Arguments...> allocator, called_from = {}) {
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  for (const std::size_t n : {all, all - 1, all / sizeof(T) + 1, all / sizeof(T) + 2, all / 2 / sizeof(T) + 1, all / 2 + 2})
    if (n > all / 2 / sizeof(T)) BOOST_TEST(thrown_by([&] { (void)allocator.allocate(n); }) == "bad_array_new_length");
  for (const std::size_t n : {all / 2 / sizeof(T), all / 2 / sizeof(T) - 1, all / 4 / sizeof(T)})
    BOOST_TEST(thrown_by([&] { (void)allocator.allocate(n); }) == "bad_alloc");
}

BOOST_AUTO_TEST_CASE(more_objects_than_there_can_be) {
  const std::size_t regions = counted::regions;
  ask_for_too_many(stl_allocator<int, counted>());
  ask_for_too_many(stl_allocator<char, counted>());
  ask_for_too_many(stl_allocator<std::array<char, 3>, counted>());
  ask_for_too_many(stl_allocator<aligned<4096>, counted>());
  BOOST_TEST(counted::regions == regions);

  const auto no_bytes = [](auto allocator) {
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
    BOOST_TEST(thrown_by([&] { (void)allocator.allocate(all / sizeof(long)); }) == "bad_array_new_length");
    BOOST_TEST(thrown_by([&] { (void)allocator.allocate(all / 8 + 2); }) == "bad_array_new_length");
  };
  ledger blocks;
  upstream resource;
  size_class_pool<> pool;
  no_bytes(stl_allocator<long, ledger>(blocks));
  no_bytes(stl_allocator<long, std::pmr::memory_resource>(resource));
  no_bytes(stl_allocator<long, size_class_pool<>>(pool));
  BOOST_TEST(blocks.calls() == 0u);
  BOOST_TEST(resource.calls() == 0u);

  std::vector<int, stl_allocator<int>> vector;
  BOOST_CHECK_THROW(vector.reserve(vector.max_size() + 1), std::length_error);
  BOOST_TEST(vector.max_size() <= std::allocator_traits<stl_allocator<int>>::max_size(vector.get_allocator()));
}

// ---- which pool -------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(types_of_equal_size_and_alignment_share_one_pool) {
  struct pair_of_ints {
    int a, b;
  };
  struct also_ints {
    unsigned c[2];
  };
  using store = counted_store<struct shared_pools>;
  stl_allocator<pair_of_ints, store, no_locking> first;
  const stl_allocator<also_ints, store, no_locking> converted(first);
  stl_allocator<also_ints, store, no_locking> second(converted);
  pair_of_ints* const a = first.allocate(1);
  BOOST_TEST(store::regions == 1u);
  first.deallocate(a, 1);
  also_ints* const b = second.allocate(1);
  BOOST_TEST(static_cast<void*>(a) == static_cast<void*>(b));
  BOOST_TEST(store::regions == 1u);
  stl_allocator<pair_of_ints, store, no_locking>(second).deallocate(std::launder(reinterpret_cast<pair_of_ints*>(b)), 1);

  // Another alignment is another pool; an array is of a size class.
  stl_allocator<std::uint64_t, store, no_locking> third(first);
  std::uint64_t* const c = third.allocate(1);
  BOOST_TEST(store::regions == 2u);
  BOOST_TEST(static_cast<void*>(c) != static_cast<void*>(a));
  third.deallocate(c, 1);
}

BOOST_AUTO_TEST_CASE(arrays_come_from_classes_and_large_ones_have_regions_of_their_own) {
  using store = counted;
  stl_allocator<int, store> ints;
  stl_allocator<char, store> chars;
  int* const a = ints.allocate(24);  // 96 bytes
  const std::size_t regions = store::regions;
  ints.deallocate(a, 24);
  char* const b = chars.allocate(90);  // the same class: 96
  BOOST_TEST(static_cast<void*>(a) == static_cast<void*>(b));
  chars.deallocate(b, 90);
  BOOST_TEST(store::regions == regions);
  int* const large = ints.allocate(1'000'000);
  BOOST_TEST(store::regions == regions + 1);
  ints.deallocate(large, 1'000'000);  // beyond what stays for the next
  BOOST_TEST(store::regions == regions);
}

// ---- stores that run out or refuse: containers stay as they were ---------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_array_store_runs_out_of_nodes) {
  using small_list = std::list<int, stl_allocator<int, static_array_store<20>>>;
  for (int round = 0; round < 3; ++round) {
    small_list list;
    int made = 0;
    BOOST_CHECK_THROW(
        for (;;) {
          list.push_back(made);
          ++made;
        },
        std::bad_alloc);
    BOOST_TEST(made == 20);
    BOOST_TEST(list.size() == 20u);
    int expected = 0;
    for (const int i : list) BOOST_TEST(i == expected++);
    BOOST_CHECK_THROW(small_list copy(list), std::bad_alloc);
    BOOST_CHECK_THROW(list.insert(list.begin(), 3u, -1), std::bad_alloc);
    list.pop_front();
    list.push_back(20);  // the one that came back
    BOOST_TEST(list.back() == 20);
    BOOST_CHECK_THROW(list.push_back(21), std::bad_alloc);
  }
}

BOOST_AUTO_TEST_CASE(a_source_that_refuses_changes_nothing) {
  ledger blocks;
  {
    using allocator = stl_allocator<int, ledger>;
    std::vector<int, allocator> vector(10, 7, blocks);
    std::list<int, allocator> list(vector.begin(), vector.end(), blocks);
    blocks.refuse_after(5);
    BOOST_CHECK_THROW((std::list<int, allocator>(list)), std::bad_alloc);
    BOOST_TEST(blocks.blocks() == 11u);
    BOOST_CHECK_THROW(vector.reserve(100), std::bad_alloc);
    BOOST_CHECK_THROW(list.push_back(1), std::bad_alloc);
    BOOST_CHECK_THROW((std::allocate_shared<int>(allocator(blocks), 4)), std::bad_alloc);
    blocks.refuse_after(ledger::no_limit);
    BOOST_TEST(blocks.blocks() == 11u);
    BOOST_TEST((vector == std::vector<int, allocator>(10, 7, blocks)));
    list.push_back(1);
    BOOST_TEST(list.size() == 11u);
  }
  BOOST_TEST(blocks.blocks() == 0u);
  BOOST_TEST(blocks.faults() == 0u);
}

// ---- whole containers, whichever way they are copied, moved and swapped: each block returns to where it came from -------

using from = stl_allocator<char, ledger>;
using text = std::basic_string<char, std::char_traits<char>, from>;

template <class C>
void go_every_way_between_ledgers(called_from = {}) {
  ledger here, there;
  go_every_way<C>(here, there, [](const C& c, const typename C::allocator_type& its) {
    return std::all_of(c.begin(), c.end(), [&](const auto& element) { return its.source().holds(&element); }) &&
           c.get_allocator() == its;
  });
  CHECK(here.blocks() + there.blocks() == 0);
  CHECK(here.faults() + there.faults() == 0);
}

BOOST_AUTO_TEST_CASE(containers_go_every_way) {
  go_every_way_between_ledgers<list_of<from>>();
  go_every_way_between_ledgers<forward_list_of<from>>();
  go_every_way_between_ledgers<vector_of<from>>();
  go_every_way_between_ledgers<deque_of<from>>();
  go_every_way_between_ledgers<text>();
  go_every_way_between_ledgers<map_of<from>>();
  go_every_way_between_ledgers<unordered_map_of<from>>();
}

BOOST_AUTO_TEST_CASE(moving_nodes_asks_no_source) {
  ledger blocks;
  const auto held = [&] { return std::pair(blocks.calls(), blocks.blocks()); };
  move_nodes(from(blocks), held);
  map_of<from> m({{1, 1}}, blocks), n({{2, 2}}, blocks);
  const auto before = held();
  n.insert(m.extract(1));
  BOOST_TEST((held() == before && n.size() == 2u));
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
