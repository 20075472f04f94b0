// Class-level operator new: what the pool of the class gets, what the global operators get, and that each takes back its own.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
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
struct with_nothing_nothrow : own<1> {
  DECLARE_MEMORY_POOL_WITH__NOTHROW(with_nothing_nothrow)
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
  objects_are_pooled<with_nothing_nothrow, true>();
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

BOOST_AUTO_TEST_CASE(a_derived_class_of_the_same_size_uses_the_pool) {
  CHECK(during([] {
          shape* const s = new same_size;
          CHECK(shape::memory_pool().owns(s));
          delete s;
        }) == nothing);
  CHECK(blocks_left<shape>() == 2u);
}

BOOST_AUTO_TEST_CASE(a_derived_class_of_another_size_uses_the_global_operators) {
  CHECK((during([] { delete seen(new larger); }) == tally{.plain = 1, .plain_delete = 1}));
  CHECK((during([] { delete seen(new (std::nothrow) larger); }) == tally{.nothrow = 1, .plain_delete = 1}));
  CHECK((during([] { delete seen(new stricter); }) == tally{.aligned = 1, .aligned_delete = 1}));
  CHECK((during([] { delete seen(new (std::nothrow) stricter); }) == tally{.aligned_nothrow = 1, .aligned_delete = 1}));
  CHECK(blocks_left<shape>() == 2u);
}

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
  CHECK((cycle([] { return new larger; }) == tally{.plain = 1, .plain_delete = 1}));
  CHECK((cycle([] { return new stricter; }) == tally{.aligned = 1, .aligned_delete = 1}));
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

BOOST_AUTO_TEST_CASE(a_delete_of_another_size_or_alignment_never_reaches_the_pool) {
  void* const held[] = {shape::memory_pool().allocate(), shape::memory_pool().allocate()};
  const std::size_t more = sizeof(shape) + 1;
  const auto far = std::align_val_t{64};
  CHECK((during([&] { shape::operator delete(seen(::operator new(more)), more); }).plain_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(1)), 1); }).plain_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(more, far)), more, far); }).aligned_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(64, far)), sizeof(shape), far); }).aligned_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(64)), std::nothrow); }).plain_delete == 1));
  CHECK((during([&] { shape::operator delete(seen(::operator new(64, far)), far, std::nothrow); }).aligned_delete == 1));
  CHECK(shape::memory_pool().try_allocate() == nullptr);
  shape::memory_pool().deallocate_batch(held);
  CHECK(blocks_left<shape>() == 2u);
}

BOOST_AUTO_TEST_CASE(null_is_left_alone) {
  void* const held[] = {shape::memory_pool().allocate(), shape::memory_pool().allocate()};
  CHECK(during([] {
          delete seen<shape>(nullptr);
          delete seen<larger>(nullptr);
          for (const std::size_t bytes : {sizeof(shape), sizeof(larger)}) {
            shape::operator delete(nullptr, bytes);
            shape::operator delete(nullptr, bytes, std::align_val_t{8});
            shape::operator delete(nullptr, bytes, std::align_val_t{64});
          }
          shape::operator delete(nullptr, std::nothrow);
          shape::operator delete(nullptr, std::align_val_t{64}, std::nothrow);
        }) == nothing);
  CHECK(shape::memory_pool().try_allocate() == nullptr);
  shape::memory_pool().deallocate_batch(held);
}

// ---- over-aligned classes ------------------------------------------------------------------------------------------------

template <std::size_t Alignment>
struct alignas(Alignment) wide {
  char content = 'w';
  DECLARE_MEMORY_POOL(wide)
};

template <std::size_t... Alignments>
void over_aligned_objects_are_pooled() {
  const auto check = []<class T>(std::type_identity<T>) {
    PREPARE_MEMORY_POOL(T, 8);
    T* objects[8];
    CHECK(during([&] {
            for (T*& object : objects) object = &object - objects < 4 ? new T : new (std::nothrow) T;
            for (T* object : objects) {
              CHECK(aligned(object) && T::memory_pool().owns(object) && object->content == 'w');
              delete object;
            }
          }) == nothing);
  };
  (check(std::type_identity<wide<Alignments>>()), ...);
}

BOOST_AUTO_TEST_CASE(over_aligned_classes_are_pooled_and_aligned) {
  over_aligned_objects_are_pooled<32, 64, 128, 256, 512, 1024, 2048, 4096>();
}

}  // namespace
}  // namespace tarn::test
