// stl_allocator against the standard's requirements of allocators, and against containers: whichever way elements, nodes and
// whole containers go, each block returns to where it came from, with its size and alignment.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <forward_list>
#include <functional>
#include <future>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <random>
#include <scoped_allocator>
#include <set>
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
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

template <std::size_t Align>
struct alignas(Align) aligned {
  long value = 0;
};

// ---- what a source may be ------------------------------------------------------------------------------------------------

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

// ---- blocks ----------------------------------------------------------------------------------------------------------------

/// A store that counts its regions, and refuses on demand and what is over a GiB. Having no value, it serves static pools.
template <class Tag>
struct counted_store {
  using axis = tarn::axis::store;
  static constexpr bool bounded = false;
  static constexpr bool sized_by_geometry = false;
  static inline std::size_t calls = 0;
  static inline std::size_t regions = 0;  // outstanding
  static inline bool refuses = false;

  template <class Environment>
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

template <class T>
bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

/// Takes arrays of many lengths, fills them to the last byte, and gives them back in another order.
template <class A>
void take_arrays(A allocator, called_from = {}) {
  using T = typename A::value_type;
  struct array {
    T* start;
    std::size_t n;
    int stamp;
  };
  std::mt19937 random(7);
  std::vector<array> arrays;
  const auto bytes_of = [](const array& a) { return reinterpret_cast<unsigned char*>(a.start); };
  const auto is_intact = [&](const array& a) {
    return std::all_of(bytes_of(a), bytes_of(a) + a.n * sizeof(T), [&](unsigned char byte) { return byte == a.stamp; });
  };
  for (unsigned round = 0; round < 3; ++round) {
    for (const std::size_t n : {0u, 1u, 1u, 2u, 3u, 7u, 8u, 31u, 64u, 100u, 129u, 500u, 513u, 1000u, 1u, 2u, 0u})
      if (n * sizeof(T) <= 1u << 20) {
        arrays.push_back({allocator.allocate(n), n, static_cast<int>(arrays.size() % 251)});
        REQUIRE(arrays.back().start != nullptr);
        CHECK(is_aligned(arrays.back().start));
        if (n != 0) std::memset(bytes_of(arrays.back()), arrays.back().stamp, n * sizeof(T));
      }
    std::shuffle(arrays.begin(), arrays.end(), random);
    for (std::size_t keep = arrays.size() / (round + 2); arrays.size() > keep; arrays.pop_back()) {
      CHECK(is_intact(arrays.back()));
      allocator.deallocate(arrays.back().start, arrays.back().n);
    }
  }
  for (const array& a : arrays) {
    CHECK(is_intact(a));
    allocator.deallocate(a.start, a.n);
  }
}

BOOST_AUTO_TEST_CASE(none_one_and_many_objects) {
  take_arrays(stl_allocator<char>());
  take_arrays(stl_allocator<short>());
  take_arrays(stl_allocator<int>());
  take_arrays(stl_allocator<std::array<char, 3>>());
  take_arrays(stl_allocator<std::array<long, 9>>());
  take_arrays(stl_allocator<std::array<char, 5000>>());
  take_arrays(stl_allocator<std::uint64_t, no_locking, fixed_growth<16>>());
  take_arrays(stl_allocator<std::array<long, 9>, batch_reuse<>, mutex_locking<>>());
}

BOOST_AUTO_TEST_CASE(over_aligned_objects) {
  take_arrays(stl_allocator<aligned<32>>());
  take_arrays(stl_allocator<aligned<64>>());
  take_arrays(stl_allocator<aligned<128>>());
  take_arrays(stl_allocator<aligned<4096>>());
  take_arrays(stl_allocator<aligned<128>, page_store<>>());
}

template <class Rig>
void take_arrays_from_a_source(called_from = {}) {
  Rig rig;
  using source = typename Rig::source;
  take_arrays(stl_allocator<char, source>(rig.get()));
  take_arrays(stl_allocator<std::array<char, 3>, source>(rig.get()));
  take_arrays(stl_allocator<std::array<long, 9>, source>(rig.get()));
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

BOOST_AUTO_TEST_CASE(over_aligned_objects_in_containers) {
  const auto check = []<class T>(std::type_identity<T>) {
    std::vector<T, stl_allocator<T>> vector(5);
    std::list<T, stl_allocator<T>> list(5);
    std::deque<T, stl_allocator<T>> deque(5);
    std::map<int, T, std::less<>, stl_allocator<std::pair<const int, T>>> map;
    for (int i = 0; i < 5; ++i) map[i].value = i;
    for (int i = 0; i < 100; ++i) vector.push_back(T{i});
    for (const T& t : vector) CHECK(is_aligned(&t));
    for (const T& t : list) CHECK(is_aligned(&t));
    for (const T& t : deque) CHECK(is_aligned(&t));
    for (const auto& [i, t] : map) CHECK(is_aligned(&t) && t.value == i);
    CHECK(vector[104].value == 99);
  };
  check(std::type_identity<aligned<16>>());
  check(std::type_identity<aligned<64>>());
  check(std::type_identity<aligned<128>>());
  check(std::type_identity<aligned<4096>>());
}

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

template <class T, class... Arguments>
void ask_for_too_many(stl_allocator<T, Arguments...> allocator, called_from = {}) {
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  for (const std::size_t n : {all, all - 1, all / sizeof(T) + 1, all / sizeof(T) + 2, all / 2 / sizeof(T) + 1, all / 2 + 2})
    if (n > all / 2 / sizeof(T)) BOOST_TEST(thrown_by([&] { (void)allocator.allocate(n); }) == "bad_array_new_length");
  for (const std::size_t n : {all / 2 / sizeof(T), all / 2 / sizeof(T) - 1, all / 4 / sizeof(T)})
    BOOST_TEST(thrown_by([&] { (void)allocator.allocate(n); }) == "bad_alloc");
}

BOOST_AUTO_TEST_CASE(more_objects_than_there_can_be) {
  using store = counted_store<struct too_many>;
  ask_for_too_many(stl_allocator<int, store>());
  ask_for_too_many(stl_allocator<char, store>());
  ask_for_too_many(stl_allocator<std::array<char, 3>, store>());
  ask_for_too_many(stl_allocator<aligned<4096>, store>());
  BOOST_TEST(store::regions == 0u);

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

// ---- which pool --------------------------------------------------------------------------------------------------------------

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

BOOST_AUTO_TEST_CASE(arrays_come_from_classes_and_large_ones_go_back_at_once) {
  using store = counted_store<struct array_pools>;
  stl_allocator<int, store> ints;
  stl_allocator<char, store> chars;
  int* const a = ints.allocate(24);  // 96 bytes
  const std::size_t regions = store::regions;
  ints.deallocate(a, 24);
  char* const b = chars.allocate(90);  // the same class: 96
  BOOST_TEST(static_cast<void*>(a) == static_cast<void*>(b));
  chars.deallocate(b, 90);
  BOOST_TEST(store::regions == regions);
  int* const large = ints.allocate(100000);
  BOOST_TEST(store::regions == regions + 1);
  ints.deallocate(large, 100000);
  BOOST_TEST(store::regions == regions);
}

// ---- a store that fails ------------------------------------------------------------------------------------------------------

template <class A>
std::vector<typename A::value_type*> take_all(A allocator, std::size_t n) {
  std::vector<typename A::value_type*> all;
  try {
    while (all.size() < 100000) all.push_back(allocator.allocate(n));
  } catch (const std::bad_alloc&) {
  }
  return all;
}

BOOST_AUTO_TEST_CASE(an_array_store_runs_out_of_nodes) {
  stl_allocator<long, no_locking, static_array_store<8>> allocator;
  for (int round = 0; round < 3; ++round) {
    std::vector<long*> nodes = take_all(allocator, 1);
    BOOST_TEST(nodes.size() == 8u);
    std::sort(nodes.begin(), nodes.end());
    BOOST_TEST((std::unique(nodes.begin(), nodes.end()) == nodes.end()));
    for (long* const node : nodes) allocator.deallocate(node, 1);
  }

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

BOOST_AUTO_TEST_CASE(an_array_store_runs_out_of_arrays) {
  // 16 granules of 16 KiB: enough for each class that a growing vector comes through, but for nothing over 4 KiB.
  using allocator = stl_allocator<long, no_locking, static_array_store<16>>;
  const auto fill = [] {
    std::vector<long, allocator> vector;
    BOOST_CHECK_THROW(for (;;) vector.push_back(static_cast<long>(vector.size())), std::bad_alloc);
    for (std::size_t i = 0; i != vector.size(); ++i) BOOST_TEST(vector[i] == static_cast<long>(i));
    return vector.size();
  };
  const std::size_t size = fill();
  BOOST_TEST(size == 4096 / sizeof(long));
  BOOST_TEST(fill() == size);
  BOOST_CHECK_THROW((void)allocator().allocate(100000), std::bad_alloc);

  using other = stl_allocator<long, no_locking, static_array_store<5>>;
  const std::vector<long*> once = take_all(other(), 32);
  BOOST_TEST(once.size() >= 5u * 60);
  for (long* const a : once) other().deallocate(a, 32);
  const std::vector<long*> again = take_all(other(), 32);
  BOOST_TEST(again.size() == once.size());
  for (long* const a : again) other().deallocate(a, 32);
}

BOOST_AUTO_TEST_CASE(a_store_that_refuses_changes_nothing) {
  using store = counted_store<struct refusing>;
  using list = std::list<int, stl_allocator<int, store>>;
  using map = std::map<int, std::vector<int, stl_allocator<int, store>>, std::less<>,
                       stl_allocator<std::pair<const int, std::vector<int, stl_allocator<int, store>>>, store>>;
  for (int round = 0; round < 2; ++round) {
    list l;
    map m;
    for (int i = 0; i < 100; ++i) m[i].assign(10, i);
    l.assign(10, 1);
    const std::size_t regions = store::regions;
    store::refuses = true;
    int more = 0;
    BOOST_CHECK_THROW(for (;; ++more) l.push_back(2), std::bad_alloc);
    BOOST_CHECK_THROW(for (int i = 100;; ++i) m[i].assign(1000, i), std::bad_alloc);
    BOOST_CHECK_THROW(m[5].resize(50000), std::bad_alloc);
    BOOST_TEST(store::regions == regions);
    store::refuses = false;
    BOOST_TEST(l.size() == 10u + static_cast<std::size_t>(more));
    for (int i = 0; i < 100; ++i) BOOST_TEST((m[i] == std::vector<int, stl_allocator<int, store>>(10, i)));
    l.push_back(3);  // the next call works
    m[5].resize(50000);
    BOOST_TEST(store::regions > regions);
    m.erase(5);
  }
  // Nothing was lost: as many elements as were there before need no store any more.
  list l;
  for (int i = 0; i < 1000; ++i) l.push_back(i);
  l.clear();
  store::refuses = true;
  for (int i = 0; i < 1000; ++i) l.push_back(i);
  store::refuses = false;
  BOOST_TEST(l.size() == 1000u);
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

// ---- containers with sources: whichever way they go, blocks return to their source -------------------------------------------

template <class Rig, class T>
using from = stl_allocator<T, typename Rig::source>;

template <class Rig, class T>
using list_of = std::list<T, from<Rig, T>>;
template <class Rig, class T>
using forward_list_of = std::forward_list<T, from<Rig, T>>;
template <class Rig, class T>
using vector_of = std::vector<T, from<Rig, T>>;
template <class Rig, class T>
using deque_of = std::deque<T, from<Rig, T>>;
template <class Rig, class T>
using set_of = std::set<T, std::less<T>, from<Rig, T>>;
template <class Rig, class T>
using map_of = std::map<T, T, std::less<T>, from<Rig, std::pair<const T, T>>>;
template <class Rig, class T>
using multimap_of = std::multimap<T, T, std::less<T>, from<Rig, std::pair<const T, T>>>;
template <class Rig, class T>
using unordered_map_of = std::unordered_map<T, T, std::hash<T>, std::equal_to<T>, from<Rig, std::pair<const T, T>>>;
template <class Rig, class T>
using unordered_set_of = std::unordered_set<T, std::hash<T>, std::equal_to<T>, from<Rig, T>>;
template <class Rig>
using string_of = std::basic_string<char, std::char_traits<char>, from<Rig, char>>;

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

template <class Rig>
void go_every_way_with_each_container() {
  go_every_way<list_of<Rig, long>, Rig>();
  go_every_way<forward_list_of<Rig, long>, Rig>();
  go_every_way<vector_of<Rig, long>, Rig>();
  go_every_way<deque_of<Rig, long>, Rig>();
  go_every_way<string_of<Rig>, Rig>();
  go_every_way<set_of<Rig, long>, Rig>();
  go_every_way<map_of<Rig, long>, Rig>();
  go_every_way<unordered_map_of<Rig, long>, Rig>();
}

BOOST_AUTO_TEST_CASE(containers_with_a_ledger) { go_every_way_with_each_container<ledger_rig>(); }
BOOST_AUTO_TEST_CASE(containers_with_a_memory_resource) { go_every_way_with_each_container<resource_rig>(); }
BOOST_AUTO_TEST_CASE(containers_with_a_size_class_pool) { go_every_way_with_each_container<pool_rig>(); }

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

template <class Rig>
void hand_over() {
  splice_and_merge<Rig>();
  hand_nodes_over<map_of<Rig, long>, Rig>();
  hand_nodes_over<multimap_of<Rig, long>, Rig>();
  hand_nodes_over<set_of<Rig, long>, Rig>();
  hand_nodes_over<unordered_map_of<Rig, long>, Rig>();
  hand_nodes_over<unordered_set_of<Rig, long>, Rig>();
}

BOOST_AUTO_TEST_CASE(nodes_with_a_ledger) { hand_over<ledger_rig>(); }
BOOST_AUTO_TEST_CASE(nodes_with_a_memory_resource) { hand_over<resource_rig>(); }
BOOST_AUTO_TEST_CASE(nodes_with_a_size_class_pool) { hand_over<pool_rig>(); }

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

// ---- other users of allocators -----------------------------------------------------------------------------------------------

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

  std::vector<std::shared_ptr<thing>> many;
  for (long i = 0; i < 1000; ++i) many.push_back(std::allocate_shared<thing>(stl_allocator<thing>(), i));
  for (long i = 0; i < 1000; ++i) {
    BOOST_TEST(many[static_cast<std::size_t>(i)]->values[3] == i);
    BOOST_TEST(is_aligned(many[static_cast<std::size_t>(i)].get()));
  }
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

// ---- threads -----------------------------------------------------------------------------------------------------------------

struct stamped {
  std::uint64_t id;
  std::uint64_t words[3];
  explicit stamped(std::uint64_t i) : id(i), words{i * 3, ~i, i ^ 0x5555} {}
  bool is_intact() const { return words[0] == id * 3 && words[1] == ~id && words[2] == (id ^ 0x5555); }
};

BOOST_AUTO_TEST_CASE(two_threads_hand_nodes_to_each_other) {
  using nodes = std::list<stamped, stl_allocator<stamped>>;
  using text = std::basic_string<char, std::char_traits<char>, stl_allocator<char>>;
  struct inbox {
    std::mutex mutex;
    nodes list;
    std::vector<text, stl_allocator<text>> texts;
  } boxes[2];
  constexpr int rounds = 400, each = 60;
  std::size_t freed[2] = {};
  bool intact[2] = {true, true};

  const auto work = [&](std::size_t me) {
    inbox& mine = boxes[me];
    inbox& theirs = boxes[1 - me];
    std::uint64_t next = me << 60;
    const auto check_and_free = [&](nodes& got) {
      for (const stamped& s : got) intact[me] = intact[me] && s.is_intact();
      freed[me] += got.size();
      got.clear();
    };
    for (int round = 0; round < rounds; ++round) {
      nodes made;
      for (int i = 0; i < each; ++i) made.emplace_back(next++);
      std::vector<text, stl_allocator<text>> texts;
      for (int i = 0; i < 8; ++i) texts.emplace_back(static_cast<std::size_t>(20 + round % 100 * i), 'x');
      {
        const std::scoped_lock lock(theirs.mutex);
        theirs.list.splice(theirs.list.end(), made);
        std::move(texts.begin(), texts.end(), std::back_inserter(theirs.texts));
      }
      nodes got;
      {
        const std::scoped_lock lock(mine.mutex);
        got.splice(got.end(), mine.list);
        texts.swap(mine.texts);
      }
      for (const text& t : texts) intact[me] = intact[me] && t.find_first_not_of('x') == text::npos;
      check_and_free(got);
    }
  };
  std::thread first(work, 0u), second(work, 1u);
  first.join(), second.join();
  for (inbox& box : boxes)
    for (const stamped& s : box.list) BOOST_TEST(s.is_intact());
  BOOST_TEST((intact[0] && intact[1]));
  BOOST_TEST(freed[0] + freed[1] + boxes[0].list.size() + boxes[1].list.size() == 2u * rounds * each);
  BOOST_TEST(freed[0] + freed[1] > 0u);
}

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

// A front's batches need two pointers in a free block: smaller objects take that much.
BOOST_AUTO_TEST_CASE(small_objects_go_with_batch_reuse) {
  using policies_allocator = stl_allocator<char, no_locking, batch_reuse<>>;
  std::list<char, policies_allocator> letters;
  for (int i = 0; i < 1000; ++i) letters.push_back(static_cast<char>(i % 100));
  std::basic_string<char, std::char_traits<char>, policies_allocator> text(100, 'x');
  std::unordered_set<int, std::hash<int>, std::equal_to<>, policies_allocator::rebind<int>::other> numbers{1, 2, 3};
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
