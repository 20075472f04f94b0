// Class-level operator new: what the pool of the class gets, what the global operators get, and that each takes back its own.
// Where there is no memory, where a constructor throws, placement new, PREPARE_MEMORY_POOL, kinds of classes, and before main.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/global_operators.h"

namespace tarn::test {
namespace {

template <class T>
bool aligned(const T* object, std::size_t alignment = alignof(T)) noexcept {
  return reinterpret_cast<std::uintptr_t>(object) % alignment == 0;
}

/// Takes what is left of a bounded pool, and gives it back. Returns how many blocks that was.
template <class T>
std::size_t blocks_left() {
  std::vector<void*> blocks;
  while (void* const block = T::memory_pool().try_allocate()) blocks.push_back(block);
  T::memory_pool().deallocate_batch(blocks);
  return blocks.size();
}

// ---- one object of the class ---------------------------------------------------------------------------------------------

struct orders;

template <int>
struct own {
  long number = 7;
  double price = 0;
  char side = 'b';
  DECLARE_MEMORY_POOL(own)
};
struct own_nothrow : own<1> {
  DECLARE_MEMORY_POOL__NOTHROW(own_nothrow)
};
struct grouped : own<1> {
  DECLARE_MEMORY_POOL_GROUPED(grouped, orders)
};
struct grouped_nothrow : own<1> {
  DECLARE_MEMORY_POOL_GROUPED__NOTHROW(grouped_nothrow, orders)
};
struct with : own<1> {
  DECLARE_MEMORY_POOL_WITH(with, tarn::fixed_growth<32>, tarn::heap_store)
};
struct with_nothrow : own<1> {
  DECLARE_MEMORY_POOL_WITH__NOTHROW(with_nothrow, tarn::no_growth<32>, tarn::mutex_locking<>)
};
struct with_nothing : own<1> {
  DECLARE_MEMORY_POOL_WITH(with_nothing)
};

template <class T, bool Nothrow>
void objects_are_pooled(called_from = {}) {
  static_assert(noexcept(T::operator new(1)) == Nothrow && noexcept(T::operator new(1, std::align_val_t{64})) == Nothrow);
  static_assert(noexcept(T::operator new(1, std::nothrow)) && noexcept(T::operator new(1, std::align_val_t{64}, std::nothrow)));
  static_assert(noexcept(T::operator delete(nullptr, 1)) && noexcept(T::operator delete(nullptr, 1, std::align_val_t{64})));

  PREPARE_MEMORY_POOL(T, 3);
  T* first = nullptr;
  CHECK(during([&] {
          first = new T;
          T* const second = new (std::nothrow) T;
          const T* const third = new const T();
          CHECK(T::memory_pool().owns(first) && T::memory_pool().owns(second) && T::memory_pool().owns(third));
          CHECK(first != second && second != third && first != third && first->number == 7);
          delete third;
          delete second;
          delete first;
        }) == nothing);
  T* const again = new T;
  CHECK(again == first);
  delete again;
}

BOOST_AUTO_TEST_CASE(objects_come_from_the_pool_and_go_back) {
  objects_are_pooled<own<0>, false>();
  objects_are_pooled<own_nothrow, true>();
  objects_are_pooled<grouped, false>();
  objects_are_pooled<grouped_nothrow, true>();
  objects_are_pooled<with, false>();
  objects_are_pooled<with_nothrow, true>();
  objects_are_pooled<with_nothing, false>();
}

BOOST_AUTO_TEST_CASE(the_macro_decides_the_policies) {
  static_assert(&own<0>::memory_pool != &own<2>::memory_pool);
  CHECK(&own<0>::memory_pool() == (&static_pool<own<0>, size_of<own<0>>, shared_locking>::instance()));
  CHECK(&own_nothrow::memory_pool() == (&static_pool<own_nothrow, size_of<own_nothrow>, shared_locking>::instance()));
  CHECK(&grouped::memory_pool() == (&static_pool<grouped, size_of<grouped>, grouped_locking<orders>>::instance()));
  CHECK(&grouped_nothrow::memory_pool() ==
        (&static_pool<grouped_nothrow, size_of<grouped_nothrow>, grouped_locking<orders>>::instance()));
  CHECK(&with::memory_pool() == (&static_pool<with, size_of<with>, fixed_growth<32>, heap_store>::instance()));
  CHECK(&with_nothing::memory_pool() == (&static_pool<with_nothing, size_of<with_nothing>>::instance()));
  with_nothrow::memory_pool().reserve(1);
  CHECK(with_nothrow::memory_pool().capacity() == 32u);
  CHECK(own<0>::memory_pool().block_size() == sizeof(own<0>));
}

// ---- derived classes and arrays ------------------------------------------------------------------------------------------

struct shape {
  long id = 1;
  virtual ~shape() = default;
  DECLARE_MEMORY_POOL_WITH(shape, tarn::static_array_store<2>)
};
struct same_size : shape {
  using shape::shape;
};
struct larger : shape {
  char name[72] = "larger";
};
struct stricter : shape {  // as large as shape, once that is padded
  alignas(64) char name[48] = "stricter";
};
struct own_pool_below : shape {
  char name[40] = "own pool";
  DECLARE_MEMORY_POOL_WITH(own_pool_below, tarn::static_array_store<2>)
};
struct largest : own_pool_below {
  char more[40] = "largest";
};
struct stricter_base {
  virtual ~stricter_base() = default;
  char name[56] = "base";
  DECLARE_MEMORY_POOL_WITH(stricter_base, tarn::static_array_store<2>)
};
struct alignas(64) stricter_same_size : stricter_base {};
struct alignas(16) stricter_by_default : shape {};  // operator new is not told: it aligns to 16 anyway
static_assert(sizeof(same_size) == sizeof(shape) && sizeof(stricter_same_size) == sizeof(stricter_base));
static_assert(sizeof(stricter_by_default) == sizeof(shape) && alignof(stricter_by_default) > alignof(shape));

BOOST_AUTO_TEST_CASE(a_derived_class_of_stricter_alignment_uses_the_global_operators) {
  for (int i = 0; i < 4; ++i) {
    stricter_same_size* object = nullptr;
    CHECK((during([&] { object = seen(new stricter_same_size); }) == tally{.aligned = 1}));
    CHECK(aligned(object) && !stricter_base::memory_pool().owns(object));
    CHECK((during([&] { delete object; }) == tally{.aligned_delete = 1}));
    CHECK((during([&] { object = seen(new (std::nothrow) stricter_same_size); }) == tally{.aligned_nothrow = 1}));
    CHECK(aligned(object));
    CHECK((during([&] { delete static_cast<stricter_base*>(object); }) == tally{.aligned_delete = 1}));
  }
  CHECK(blocks_left<stricter_base>() == 2u);
}

BOOST_AUTO_TEST_CASE(a_block_is_aligned_for_every_derived_class_that_may_get_it) {
  shape* const first = new stricter_by_default;
  shape* const second = new stricter_by_default;
  CHECK(shape::memory_pool().owns(first) && shape::memory_pool().owns(second));
  CHECK(aligned(first, 16) && aligned(second, 16));
  delete first;
  delete second;
}

BOOST_AUTO_TEST_CASE(deletion_through_the_base_finds_where_the_object_came_from) {
  const auto cycle = [](auto make) { return during([&] { delete seen<shape>(make()); }); };
  CHECK(cycle([] { return new shape; }) == nothing);
  CHECK(cycle([] { return new same_size; }) == nothing);
  CHECK((cycle([] { return new larger; }) == tally{.plain = 1, .plain_delete = 1}));
  CHECK((cycle([] { return new (std::nothrow) larger; }) == tally{.nothrow = 1, .plain_delete = 1}));
  CHECK((cycle([] { return new stricter; }) == tally{.aligned = 1, .aligned_delete = 1}));
  CHECK((cycle([] { return new (std::nothrow) stricter; }) == tally{.aligned_nothrow = 1, .aligned_delete = 1}));
  CHECK(cycle([] { return new own_pool_below; }) == nothing);
  CHECK((cycle([] { return new largest; }) == tally{.plain = 1, .plain_delete = 1}));
  shape* const other = new own_pool_below;
  CHECK(!shape::memory_pool().owns(other) && own_pool_below::memory_pool().owns(static_cast<own_pool_below*>(other)));
  delete other;
  CHECK(blocks_left<shape>() == 2u && blocks_left<own_pool_below>() == 2u);
}

BOOST_AUTO_TEST_CASE(arrays_use_the_global_operators) {
  for (const std::size_t n : {1u, 3u}) {
    shape* array = nullptr;
    CHECK((during([&] { array = seen(new shape[n]); }) == tally{.array = 1}));
    CHECK(!shape::memory_pool().owns(array));
    CHECK((during([&] { delete[] array; }) == tally{.array_delete = 1}));
  }
  CHECK(blocks_left<shape>() == 2u);
}

BOOST_AUTO_TEST_CASE(a_delete_of_another_size_or_alignment_or_of_null_never_reaches_the_pool) {
  void* const held[] = {shape::memory_pool().allocate(), shape::memory_pool().allocate()};
  const std::size_t more = sizeof(shape) + 1;
  const auto far = std::align_val_t{64};
  CHECK((during([&] { shape::operator delete(seen(::operator new(more)), more); }).plain_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(1)), 1); }).plain_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(more, far)), more, far); }).aligned_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(64, far)), sizeof(shape), far); }).aligned_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(64)), std::nothrow); }).plain_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(64, far)), far, std::nothrow); }).aligned_delete == 1));
  CHECK(during([&] {
          delete seen<larger>(nullptr);
          for (const std::size_t bytes : {sizeof(shape), more}) shape::operator delete(nullptr, bytes, far);
          shape::operator delete(nullptr, std::nothrow);
          shape::operator delete(nullptr, far, std::nothrow);
        }) == nothing);
  CHECK(shape::memory_pool().try_allocate() == nullptr);
  shape::memory_pool().deallocate_batch(held);
  CHECK(blocks_left<shape>() == 2u);
}

// ---- over-aligned classes ------------------------------------------------------------------------------------------------

template <std::size_t Alignment>
struct alignas(Alignment) wide {
  char content = 'w';
  DECLARE_MEMORY_POOL(wide)
};

template <class T>
void over_aligned_objects_are_pooled(called_from = {}) {
  PREPARE_MEMORY_POOL(T, 8);
  T* objects[8];
  CHECK(during([&] {
          for (T*& object : objects) object = &object - objects < 4 ? new T : new (std::nothrow) T;
          for (T* object : objects) {
            CHECK(aligned(object) && T::memory_pool().owns(object) && object->content == 'w');
            delete object;
          }
        }) == nothing);
}

BOOST_AUTO_TEST_CASE(over_aligned_classes_are_pooled_and_aligned) {
  over_aligned_objects_are_pooled<wide<32>>();
  over_aligned_objects_are_pooled<wide<4096>>();
}

// ---- no memory --------------------------------------------------------------------------------

int constructed;

struct one_of_two {
  one_of_two() { ++constructed; }
  long value = 1;
  DECLARE_MEMORY_POOL_WITH(one_of_two, tarn::static_array_store<2>)
};
struct one_of_two_nothrow {
  one_of_two_nothrow() { ++constructed; }
  long value = 1;
  DECLARE_MEMORY_POOL_WITH__NOTHROW(one_of_two_nothrow, tarn::static_array_store<2>)
};
struct alignas(64) wide_of_two {
  wide_of_two() { ++constructed; }
  DECLARE_MEMORY_POOL_WITH(wide_of_two, tarn::static_array_store<2>)
};
struct alignas(64) wide_of_two_nothrow {
  wide_of_two_nothrow() { ++constructed; }
  DECLARE_MEMORY_POOL_WITH__NOTHROW(wide_of_two_nothrow, tarn::static_array_store<2>)
};

template <class T, bool Nothrow>
void an_exhausted_pool_says_so(called_from = {}) {
  T* const held[] = {new T, new T};
  constructed = 0;
  CHECK(during([] {
          CHECK(new (std::nothrow) T == nullptr);
          if constexpr (Nothrow) CHECK(seen(new T) == nullptr);
          else CHECK(throws_bad_alloc([] { seen(new T); }));
        }) == nothing);
  CHECK(constructed == 0);
  delete held[0];
  T* const again = new T;
  CHECK(again == held[0] && constructed == 1);
  delete again;
  delete held[1];
}

BOOST_AUTO_TEST_CASE(an_exhausted_pool_throws_or_gives_null_and_runs_no_constructor) {
  an_exhausted_pool_says_so<one_of_two, false>();
  an_exhausted_pool_says_so<one_of_two_nothrow, true>();
  an_exhausted_pool_says_so<wide_of_two, false>();
  an_exhausted_pool_says_so<wide_of_two_nothrow, true>();
}

BOOST_AUTO_TEST_CASE(no_memory_for_a_larger_derived_class_is_said_in_the_same_way) {
  const volatile std::size_t huge = std::numeric_limits<std::size_t>::max() / 4;
  const auto far = std::align_val_t{64};
  CHECK(throws_bad_alloc([&] { seen(one_of_two::operator new(huge)); }));
  CHECK(throws_bad_alloc([&] { seen(one_of_two::operator new(huge, far)); }));
  CHECK(one_of_two::operator new(huge, std::nothrow) == nullptr);
  CHECK(one_of_two::operator new(huge, far, std::nothrow) == nullptr);
  CHECK(one_of_two_nothrow::operator new(huge) == nullptr);
  CHECK(one_of_two_nothrow::operator new(huge, far) == nullptr);
}

// ---- constructors that throw -----------------------------------------------------------------------------------------------

struct refused {};

struct thrower {
  explicit thrower(bool throws) {
    if (throws) throw refused();
  }
  char content[56] = "";
  DECLARE_MEMORY_POOL_WITH(thrower, tarn::static_array_store<2>)
};
struct thrower_nothrow : thrower {
  using thrower::thrower;
  DECLARE_MEMORY_POOL_WITH__NOTHROW(thrower_nothrow, tarn::static_array_store<2>)
};
struct alignas(128) wide_thrower : thrower {
  using thrower::thrower;
  DECLARE_MEMORY_POOL_WITH(wide_thrower, tarn::static_array_store<2>)
};
template <class Base>
struct larger_thrower : Base {
  using Base::Base;
  char more[128] = "";
};
template <class Base>
struct alignas(256) stricter_thrower : Base {
  using Base::Base;
};

template <class T>
tally cost_of_a_throw(called_from = {}) {
  bool caught[2] = {};
  const tally cost = during([&] {
    try {
      seen(new T(true));
    } catch (const refused&) {
      caught[0] = true;
    }
    try {
      seen(new (std::nothrow) T(true));
    } catch (const refused&) {
      caught[1] = true;
    }
  });
  CHECK(caught[0] && caught[1]);
  return cost;
}

/// \param Throwing  whether operator new is the throwing one
template <class T, bool Throwing>
void a_throw_gives_the_block_back(called_from = {}) {
  for (int i = 0; i < 3; ++i) CHECK(cost_of_a_throw<T>() == nothing);
  CHECK(blocks_left<T>() == 2u);

  const tally plain{.plain = Throwing, .nothrow = 2 - Throwing, .plain_delete = 2};
  const tally wide{.aligned = Throwing, .aligned_nothrow = 2 - Throwing, .aligned_delete = 2};
  CHECK(cost_of_a_throw<larger_thrower<T>>() == (alignof(T) > 16 ? wide : plain));
  CHECK(cost_of_a_throw<stricter_thrower<T>>() == wide);
  CHECK(blocks_left<T>() == 2u);
}

BOOST_AUTO_TEST_CASE(a_constructor_that_throws_gives_the_block_back_where_it_came_from) {
  a_throw_gives_the_block_back<thrower, true>();
  a_throw_gives_the_block_back<thrower_nothrow, false>();
  a_throw_gives_the_block_back<wide_thrower, true>();
}

// ---- placement new -------------------------------------------------------------------------------------------------------

struct small {
  explicit small(int v) : value(v) {
    if (v < 0) throw refused();
  }
  int value;
  int more = 0;
  DECLARE_MEMORY_POOL_WITH(small, tarn::static_array_store<1>)
};
/// What the global placement new takes, since it converts to void*.
struct slot {
  alignas(small) std::byte room[sizeof(small)];
  operator void*() noexcept { return room; }
};
template <class Place>
concept takes_a_small = requires(Place place) { small::operator new(1, place); };
static_assert(takes_a_small<void*> && takes_a_small<slot&> && takes_a_small<small*> && takes_a_small<std::nullptr_t>);
static_assert(!takes_a_small<const void*> && !takes_a_small<const slot&> && !takes_a_small<void (*)()> && !takes_a_small<long>);

BOOST_AUTO_TEST_CASE(defect_5_placement_new_is_not_hidden) {
  alignas(small) char chars[sizeof(small)];
  alignas(small) unsigned char unsigned_chars[sizeof(small)];
  alignas(small) std::byte bytes[2 * sizeof(small)];
  slot converts;
  const std::unique_ptr<small> held(new small(1));  // the pool's only block
  void* const anywhere = bytes + sizeof(small);
  const auto at = [](auto&& place, const void* address, int value) {
    small* const object = new (place) small(value);
    return static_cast<void*>(object) == address && object->value == value;
  };
  CHECK(at(chars, chars, 2) && at(unsigned_chars, unsigned_chars, 3) && at(bytes, bytes, 4) && at(anywhere, anywhere, 5));
  CHECK(at(&bytes[0], bytes, 6) && at(held.get(), held.get(), 7) && at(converts, converts.room, 8));
  CHECK(std::construct_at(held.get(), 9) == held.get() && ::new (anywhere) small(10) == anywhere);
  static_assert(noexcept(small::operator new(1, anywhere)));
  BOOST_CHECK_THROW(new (chars) small(-1), refused);
  CHECK(small::memory_pool().try_allocate() == nullptr);  // nothing was given to the pool
  static_assert(std::is_trivially_destructible_v<small>, "no room for a count: sizeof(small) bytes are asked for");
  const std::unique_ptr<small[]> one(new small[1]{small(1)});
  CHECK(!small::memory_pool().owns(one.get()));
}

// ---- PREPARE_MEMORY_POOL ---------------------------------------------------------------------------------------------------

struct node {
  long number = 7;
  char name[24] = "";
  DECLARE_MEMORY_POOL(node)
};

BOOST_AUTO_TEST_CASE(prepare_gets_room_or_throws) {
  if (true) PREPARE_MEMORY_POOL(node, 1000);  // one statement
  CHECK(node::memory_pool().capacity() >= 1000u);
  std::vector<node*> nodes(1000);
  CHECK(during([&] {
          for (node*& n : nodes) n = new node;
        }) == nothing);
  for (node* n : nodes) delete n;

  PREPARE_MEMORY_POOL(one_of_two, 2);
  CHECK(throws_bad_alloc([] { PREPARE_MEMORY_POOL(one_of_two, 3); }));
  CHECK(throws_bad_alloc([] { PREPARE_MEMORY_POOL(one_of_two_nothrow, 3); }));
  CHECK(throws_bad_alloc([] { PREPARE_MEMORY_POOL(node, std::numeric_limits<std::size_t>::max()); }));
  CHECK(node::memory_pool().capacity() >= 1000u && blocks_left<one_of_two>() == 2u);
}

// ---- kinds of classes ---------------------------------------------------------------------------------------------------

/// Whether a new object of T lies in the pool of Owner, and its block is the one that comes next once it was deleted.
template <class Owner, class T, class Deleted = T, class... Args>
bool is_pooled(Args&&... args) {
  T* const object = new T(std::forward<Args>(args)...);
  const void* const block = dynamic_cast<const void*>(object);
  const bool ours = Owner::memory_pool().owns(block);
  delete static_cast<Deleted*>(object);
  void* const next = Owner::memory_pool().allocate();
  Owner::memory_pool().deallocate(next);
  return ours && next == block;
}

// ---- debug heaps -----------------------------------------------------------------------------------------------------------

struct throws_at_two {
  explicit throws_at_two(int n) {
    if (n == 2) throw n;
  }
  int its = 0;
  DECLARE_MEMORY_POOL_WITH(throws_at_two)
};
struct alignas(64) aligned_more : throws_at_two {
  aligned_more() : throws_at_two(1) {}
};
struct single {
  long its[2] = {};
  DECLARE_MEMORY_POOL_WITH__NOTHROW(single, tarn::static_array_store<1>)
};

template <class New>
void calls_with_lines(New make) {
  auto& pool = throws_at_two::memory_pool();
  throws_at_two* const one = make(1);
  CHECK(pool.owns(one));
  BOOST_CHECK_THROW(make(2), int);
  void* const next = pool.allocate();  // that of the object that wasn't made
  pool.deallocate(next);
  CHECK(make(1) == next);
  delete one;
  delete static_cast<throws_at_two*>(next);
}

BOOST_AUTO_TEST_CASE(a_macro_called_new) {
  static char file[] = "file.cc";  // as MFC's THIS_FILE
#define new new (file, __LINE__)
  calls_with_lines([](int n) { return new throws_at_two(n); });
  const std::unique_ptr<aligned_more> aligned(new aligned_more);
  CHECK(reinterpret_cast<std::uintptr_t>(aligned.get()) % 64 == 0);
  const std::unique_ptr<single[]> array(new single[3]);
  CHECK(!single::memory_pool().owns(array.get()));
  const std::unique_ptr<single> last(new single);
  CHECK(new single == nullptr);
#undef new
#define new new (1, __FILE__, __LINE__)  // the CRT's
  calls_with_lines([](int n) { return new throws_at_two(n); });
#undef new
}

class with_semicolon {
 public:
  virtual ~with_semicolon() = default;

 private:
  long hidden_ = 1;
  DECLARE_MEMORY_POOL(with_semicolon);
  long after() const { return hidden_; }
};
class without_semicolon {
 public:
  virtual ~without_semicolon() = default;

 private:
  long hidden_ = 2;
  DECLARE_MEMORY_POOL__NOTHROW(without_semicolon)
  long after() const { return hidden_; }
};

BOOST_AUTO_TEST_CASE(a_semicolon_may_follow_and_access_is_public_afterwards) {
  CHECK((is_pooled<with_semicolon, with_semicolon>()));
  CHECK((is_pooled<without_semicolon, without_semicolon>()));
  CHECK(with_semicolon().after() == 1 && without_semicolon().after() == 2);
}

// The macros take a class by any of its names, also by one that has commas.
template <class K, class V>
struct named_in_full {
  virtual ~named_in_full() = default;
  K key{};
  V value{};
  DECLARE_MEMORY_POOL(named_in_full<K, V>)
};
template <class K, class V>
struct named_in_full_for_a_group {
  virtual ~named_in_full_for_a_group() = default;
  K key{};
  V value{};
  DECLARE_MEMORY_POOL_GROUPED__NOTHROW(named_in_full_for_a_group<K, V>, struct crowd)
};
template <class A, class B, class C, class D, class E>
struct named_in_full_with_policies {
  virtual ~named_in_full_with_policies() = default;
  DECLARE_MEMORY_POOL_WITH(named_in_full_with_policies<A, B, C, D, E>, tarn::fixed_growth<8>, tarn::no_locking)
};

BOOST_AUTO_TEST_CASE(names_with_commas) {
  using one = named_in_full<int, long>;
  using two = named_in_full_for_a_group<int, long>;
  using five = named_in_full_with_policies<char, short, int, long, float>;
  CHECK((is_pooled<one, one>()) && (is_pooled<two, two>()) && (is_pooled<five, five>()));
  PREPARE_MEMORY_POOL(named_in_full<int, long>, 1000);
  PREPARE_MEMORY_POOL(named_in_full_for_a_group<int, long>, 999 + one::memory_pool().owns(nullptr));
  PREPARE_MEMORY_POOL(named_in_full_with_policies<char, short, int, long, float>, 16);
  CHECK(one::memory_pool().capacity() >= 1000 && two::memory_pool().capacity() >= 999);
  CHECK(five::memory_pool().capacity() == 16);
}

template <class Derived>
struct pooled {
  virtual ~pooled() = default;
  DECLARE_MEMORY_POOL(Derived)
};
struct of_a_pooled : pooled<of_a_pooled> {
  long content = 0;
};
class owner {
 public:
  static bool test() { return is_pooled<secret, secret>(); }

 private:
  class secret {
   public:
    virtual ~secret() = default;
    DECLARE_MEMORY_POOL(secret)
  };
};

BOOST_AUTO_TEST_CASE(a_class_may_be_local_or_private_or_named_by_its_base) {
  struct local {
    virtual ~local() = default;
    int content = 0;
    DECLARE_MEMORY_POOL_WITH(local, tarn::static_array_store<1>)
  };
  CHECK((is_pooled<local, local>()));
  CHECK(owner::test());
  CHECK((is_pooled<of_a_pooled, of_a_pooled>()));
  CHECK(of_a_pooled::memory_pool().block_size() == sizeof(of_a_pooled));
}

struct task {
  virtual ~task() = default;
  virtual int run() = 0;
  long id = 0;
  DECLARE_MEMORY_POOL(task)
};
struct same_size_task : task {
  int run() override { return 1; }
};
struct large_task : task {
  int run() override { return 2; }
  char content[100] = "";
};
struct first_pool {
  virtual ~first_pool() = default;
  long first = 1;
  DECLARE_MEMORY_POOL(first_pool)
};
struct of_two_pools : first_pool, task {
  int run() override { return 4; }
  DECLARE_MEMORY_POOL(of_two_pools)
};
struct virtual_base {
  virtual ~virtual_base() = default;
  long common = 1;
  DECLARE_MEMORY_POOL(virtual_base)
};
struct left : virtual virtual_base {};
struct right : virtual virtual_base {};
struct bottom final : left, right {
  DECLARE_MEMORY_POOL(bottom)
};

BOOST_AUTO_TEST_CASE(bases_may_be_abstract_several_or_virtual) {
  CHECK((is_pooled<task, same_size_task, task>()));
  CHECK(!(is_pooled<task, large_task, task>()));
  CHECK((is_pooled<of_two_pools, of_two_pools, first_pool>()));
  CHECK((is_pooled<of_two_pools, of_two_pools, task>()));  // which doesn't lie where the block starts
  CHECK(!(is_pooled<virtual_base, left, virtual_base>()));
  CHECK((is_pooled<bottom, bottom, right>()));
}

// ---- before main and after it: static_pool_test.cc has the ends of threads, too -----------------------------------------

struct early {
  explicit early(long v) : value(v) {}
  long value;
  char more[40] = "";
  DECLARE_MEMORY_POOL(early)
};

void must(bool holds) {
  if (!holds) std::abort();  // nobody reports any more
}

// Runs in this file before main; the pool's own initialiser, if it had one, would come later.
struct user_before_main {
  early* object = new early(1);
  early* prepared = [] {
    PREPARE_MEMORY_POOL(early, 100);
    return new (std::nothrow) early(2);
  }();
  ~user_before_main() {  // after main
    must(early::memory_pool().owns(object) && object->value == 1 && prepared->value == 2);
    delete object;
    delete prepared;
    const std::unique_ptr<early> another(new early(3));
    must(early::memory_pool().owns(another.get()));
  }
} before_main;

BOOST_AUTO_TEST_CASE(they_work_before_main_and_after_it) {
  CHECK(early::memory_pool().owns(before_main.object) && before_main.object->value == 1);
  CHECK(early::memory_pool().owns(before_main.prepared) && early::memory_pool().capacity() >= 100u);
}

}  // namespace
}  // namespace tarn::test
