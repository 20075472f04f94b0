// Class-level operator new where there is no memory, where a constructor throws, and PREPARE_MEMORY_POOL.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/global_operators.h"

namespace tarn::test {
namespace {

/// Takes what is left of a bounded pool, and gives it back. Returns how many blocks that was.
template <class T>
std::size_t blocks_left() {
  std::vector<void*> blocks;
  while (void* const block = T::memory_pool().try_allocate()) blocks.push_back(block);
  T::memory_pool().deallocate_batch(blocks);
  return blocks.size();
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
struct alignas(128) wide_thrower_nothrow : thrower {
  using thrower::thrower;
  DECLARE_MEMORY_POOL_WITH__NOTHROW(wide_thrower_nothrow, tarn::static_array_store<2>)
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
  a_throw_gives_the_block_back<wide_thrower_nothrow, false>();
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

}  // namespace
}  // namespace tarn::test
