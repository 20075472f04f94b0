// O: objects in pools.
#include <array>
#include <cstddef>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/recycling_pool.h"

// case o1_abstract_class: tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class
struct shape {
  virtual ~shape() = default;
  virtual double area() const = 0;
};
struct square final : shape {
  double area() const override { return 1; }
};

RIGHT(tarn::object_pool<square> right; void use() { right.destroy(right.construct()); })
WRONG(tarn::object_pool<shape> wrong; void use() { wrong.destroy(wrong.construct()); })

// case o1_array: tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class
RIGHT(tarn::object_pool<std::array<int, 4>> right; void use() { right.destroy(right.construct()); })
WRONG(tarn::object_pool<int[4]> wrong; void use() { wrong.destroy(wrong.construct()); })

// case o1_reference: tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class
RIGHT(tarn::object_pool<int> right; void use() { right.destroy(right.construct()); })
WRONG(tarn::object_pool<int&> wrong; void use() { wrong.destroy(wrong.construct()); })

// case o1_void: tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class
RIGHT(tarn::object_pool<int> right; void use() { right.destroy(right.construct()); })
WRONG(tarn::object_pool<void> wrong; void use() { wrong.destroy(wrong.construct()); })

// case o1_array_in_parts: tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class
#ifdef TARN_TWIN
tarn::object_pool<int> pool;
#else
tarn::object_pool<int[4]> pool;
#endif
void use() {
  const auto parts = pool.parts(4);
  for (std::size_t i = 0; i < parts.size(); ++i) (void)parts[i].begin();
}

// case o2_no_reset: tarn: [O2] recycling_pool was given a type without a public reset()
struct Plain {
  int used = 0;
};
struct Grid : Plain {
  void reset() { used = 0; }
};

#ifdef TARN_TWIN
tarn::recycling_pool<Grid> right;
void use() { right.release(right.acquire()); }
tarn::object_pool<Plain> right_too;
#else
tarn::recycling_pool<Plain> wrong;
void use() { wrong.release(wrong.acquire()); }
#endif

// case o3_no_default_constructor: tarn: [O3] recycling_pool was given a type without a public default constructor
struct Grid {
#ifdef TARN_TWIN
  Grid() : Grid(8) {}
#endif
  explicit Grid(int wide) : width(wide) {}
  void reset() { width = 8; }
  int width;
};

tarn::recycling_pool<Grid> grids;
void use() { grids.release(grids.acquire()); }

// case o4_recycling_pool_that_is_checked
// expect: tarn: [O4] recycling_pool was given a checking policy that overwrites or blocks access to free blocks, in which it
struct Grid {
  void reset() { used = 0; }
  int used = 0;
};

RIGHT(tarn::recycling_pool<Grid, tarn::hardened> right; void use() { right.release(right.acquire()); })
WRONG(tarn::recycling_pool<Grid, tarn::checked> wrong; void use() { wrong.release(wrong.acquire()); })

// shows: FM-52
// case o5_destructor_that_throws: tarn: [O5] a pool of objects was given a type whose destructor may throw
struct loud {
  ~loud() noexcept(false) {}
};
struct quiet {
  ~quiet() {}
};

RIGHT(tarn::object_pool<quiet> right; void use() { right.destroy(right.construct()); })
WRONG(tarn::object_pool<loud> wrong; void use() { wrong.destroy(wrong.construct()); })

// case o5_recycled_destructor_that_is_private
// expect: tarn: [O5] a pool of objects was given a type whose destructor may throw, which nothing could catch, or isn't public
class grid {
 public:
  void reset() {}

 private:
#ifdef TARN_TWIN
 public:
#endif
  ~grid() {}
};

tarn::recycling_pool<grid> grids;
void use() { grids.release(grids.acquire()); }

// case o6_recycling_pool_that_others_ask: tarn: [O6] recycling_pool was combined with reclaim_and_retry
struct Grid {
  void reset() { used = 0; }
  int used = 0;
};

RIGHT(tarn::recycling_pool<Grid, tarn::fall_back_to<tarn::heap_store>, tarn::static_array_store<4>> right;
      void use() { right.release(right.acquire()); })
WRONG(tarn::recycling_pool<Grid, tarn::reclaim_and_retry<>> wrong; void use() { wrong.release(wrong.acquire()); })

// case o7_blocks_reserved_in_a_pool_of_objects
// expect: tarn: [O7] blocks were reserved in an object_pool, but a reserved block isn't an object
RIGHT(tarn::pool<tarn::size_of<long>> blocks; void use() { blocks.reserve(10); })
WRONG(tarn::object_pool<long> objects; void use() { objects.blocks().reserve_blocks(10); })

// case o7_the_same_without_exceptions: tarn: [O7] blocks were reserved in an object_pool, but a reserved block isn't an object
RIGHT(tarn::pool<tarn::size_of<long>> blocks; void use() { blocks.reserve(10); })
WRONG(tarn::object_pool<long> objects; void use() { objects.blocks().try_reserve_blocks(10); })

// case o8_iterators_beside_magazines
// expect: tarn: [O8] an object_pool's iterators don't see blocks on guarded pages, in threads' magazines, on lock_free's stack
RIGHT(tarn::object_pool<long> pool; void use() {
  for (long& one : pool) ++one;
})
WRONG(tarn::object_pool<long, tarn::thread_cached<>> pool; void use() {
  for (long& one : pool) ++one;
})

// case o8_parts_of_a_stack
// expect: tarn: [O8] an object_pool's iterators don't see blocks on guarded pages, in threads' magazines, on lock_free's stack
#ifdef TARN_TWIN
tarn::object_pool<long> pool;
#else
tarn::object_pool<long, tarn::lock_free> pool;
#endif
void use() {
  const auto parts = pool.parts(4);
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (long& one : parts[i]) ++one;
}

// shows: FM-50
// case o9_iterators_over_an_array
// expect: tarn: [O9] iterators of an object_pool over an array were used, but it has no bits that show which blocks are free
RIGHT(tarn::object_pool<long, tarn::static_array_store<9>, tarn::page_local_reuse<>> pool; void use() {
  for (long& one : pool) ++one;
})
WRONG(tarn::object_pool<long, tarn::static_array_store<9>> pool; void use() {
  for (long& one : pool) ++one;
})
