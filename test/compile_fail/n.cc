// N: classes and the pools that macros give them.
#include "tarn/allocator/memory_pool_macros.h"

// case n1_prepare_without_any_pool
// expect: tarn: [N1] PREPARE_MEMORY_POOL was given a class without its own pool (a base class may have one)
struct Node {
  int value = 0;
#ifdef TARN_TWIN
  DECLARE_MEMORY_POOL(Node)
#endif
};

void prepare() { PREPARE_MEMORY_POOL(Node, 1024); }

// case n1_prepare_without_pool
// expect: tarn: [N1] PREPARE_MEMORY_POOL was given a class without its own pool (a base class may have one)
struct Node {
  virtual ~Node() = default;
  DECLARE_MEMORY_POOL(Node)
};
struct Leaf : Node {
  int value = 0;
#ifdef TARN_TWIN
  DECLARE_MEMORY_POOL(Leaf)
#endif
};

void prepare() { PREPARE_MEMORY_POOL(Leaf, 1024); }

// case n3_new_is_a_macro
// expect: tarn: [N3] DECLARE_MEMORY_POOL was used where new is a macro, as debug heaps define it, so operator new can't be
#ifndef TARN_TWIN
#define new new(__FILE__, __LINE__)
#endif
struct Node {
  int value = 0;
  DECLARE_MEMORY_POOL(Node)
};

// case n2_name_of_another_class
// expect: tarn: [N2] DECLARE_MEMORY_POOL was given a different class from the one that contains it, which would have no pool
struct Order {
  int id = 0;
  DECLARE_MEMORY_POOL(Order)
};
struct Trade {
  int id = 0;
RIGHT(DECLARE_MEMORY_POOL(Trade))
WRONG(DECLARE_MEMORY_POOL(Order))
};

void use() { delete new Trade; }

// case n2_name_of_another_class_in_a_template
// expect: tarn: [N2] DECLARE_MEMORY_POOL was given a different class from the one that contains it, which would have no pool
struct crowd;
struct Order {
  int id = 0;
};
template <class Price>
struct Trade {
  Price price{};
RIGHT(DECLARE_MEMORY_POOL_GROUPED(Trade, crowd))
WRONG(DECLARE_MEMORY_POOL_GROUPED(Order, crowd))
};

void use() { delete new Trade<double>; }

// case n4_number_of_blocks: tarn: [N4] DECLARE_MEMORY_POOL was given a value after the class, but takes policies only
struct Order {
  int id = 0;
RIGHT(DECLARE_MEMORY_POOL_WITH(Order, tarn::fixed_growth<100>))
WRONG(DECLARE_MEMORY_POOL_WITH(Order, 100))
};
void use() { delete new Order; }

// case n4_number_of_blocks_in_a_template: tarn: [N4] DECLARE_MEMORY_POOL was given a value after the class, but takes policies
template <class Price>
struct Trade {
  Price price{};
RIGHT(DECLARE_MEMORY_POOL(Trade))
WRONG(DECLARE_MEMORY_POOL__NOTHROW(Trade, 100))
};
void use() { delete new Trade<double>; }
