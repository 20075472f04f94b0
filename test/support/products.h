// The products that are tested with every policy that they take, and what each takes. The compositions follow from these and
// from kinds.h: product_cover.inc is written by test/support/write_cover.py. A new product: a line in `products`, the command,
// and a class tried_NAME that tries it in one of test/allocator/products_*_test.cc; tried_product.h names it for the others.
#ifndef TARN_TEST_SUPPORT_PRODUCTS_H_
#define TARN_TEST_SUPPORT_PRODUCTS_H_

#include <string_view>
#include <tuple>

#include "tarn/allocator/pool.h"
#include "tarn/test/support/kinds.h"

namespace tarn::test {

/// A composition that a product is asked to take.
struct asked {
  detail::composition c;
  bool needs_value = false;  // of a policy that has no default value

  /// It is a pool; and a policy for the end of the store is asked for where there is one.
  constexpr bool is_pool() const {
    const bool is_for_the_end = c.exhaustion.has_second() || c.exhaustion.needs_frees();
    return (!is_for_the_end || c.store.bounded || c.growth.max_chunks == 1) && detail::first_broken(c) == detail::rule::none;
  }
};

// What the products' own rules look at. Where one of these allows what a rule refuses, the row doesn't compile; what it denies
// stands in `refusals`.

constexpr bool takes_all(const asked& a) { return a.is_pool(); }
constexpr bool takes_defaults(const asked& a) { return a.is_pool() && !a.needs_value; }
constexpr bool is_recycled(const asked& a) {
  return a.is_pool() && !a.c.checking.fills && !a.c.checking.samples && !a.c.exhaustion.reclaims;
}
constexpr bool is_static(const asked& a) { return takes_defaults(a) && !a.c.locking.ends_at_exit; }

/// The classes are pools whose store is their owner's. If chunks are tagged, so is their growth.
constexpr bool has_classes(asked a, bool for_malloc) {
  if (a.c.store.bounded && a.c.growth.max_chunks != 1) return false;
  if (for_malloc || a.c.store.bounded || a.c.exhaustion.store_is_bounded) {
    if (a.c.checking.samples) return false;
    a.c.growth = {.max_chunks = a.c.growth.max_chunks};
  }
  a.c.store = {};
  a.c.exhaustion.store_is_sized_by_geometry = false;  // a second store is the owner's, too: of granules
  return a.is_pool();
}
constexpr bool is_sizes(const asked& a) { return has_classes(a, false); }
/// A pool of one size and one of many, over one store.
constexpr bool is_owned(const asked& a) {
  return a.is_pool() && !a.c.store.bounded && !a.c.exhaustion.store_is_bounded && is_sizes(a);
}
constexpr bool is_resource(const asked& a) {
  asked with_end = a;
  with_end.c.growth.max_chunks = 1;  // its upstream refuses
  return has_classes(with_end, false);
}
constexpr bool is_malloc(const asked& a) { return has_classes(a, true) && !a.needs_value && !a.c.locking.ends_at_exit; }
constexpr bool is_of_containers(const asked& a) { return is_static(a) && is_sizes(a); }

/// \tparam Own  the policies that are the product's own, as far as the rules see them
template <class... Own>
struct product_kind {
  const char* name;
  const char* headers;  // in allocator/, of the products that are tried with it
  bool (*takes)(const asked&);
};

inline constexpr std::tuple products{
    product_kind<static_size<64>>{"objects", "object_pool handle object_ptr registry", takes_all},
    product_kind<static_size<64>>{"several", "multipool", takes_defaults},
    product_kind<static_size<64>, lifo_reuse<>>{"recycled", "recycling_pool", is_recycled},
    product_kind<static_size<64>>{"classwide", "static_pool memory_pool_macros shared_pool", is_static},
    product_kind<static_size<64>>{"nodes", "stl_allocator containers", is_of_containers},
    product_kind<dynamic_size>{"sizes", "size_class_pool", is_sizes},
    product_kind<dynamic_size>{"owned", "own_pool_allocator", is_owned},
    product_kind<dynamic_size, geometric_growth<>, resource_store>{"resource", "memory_resource", is_resource},
    product_kind<dynamic_size>{"mallocs", "xmalloc", is_malloc},
};
/// A product and a kind that a rule refuses; and the case of test/compile_fail that shows its sentence.
struct refusal {
  std::string_view product;
  std::string_view policy;
  std::string_view shown_by;
};
inline constexpr refusal refusals[] = {
    // Policies without a default value.
    {"several", "buffer_store", "c5_multipool_over_a_buffer"},
    {"several", "resource_store", "c5_multipool_over_a_buffer"},
    {"classwide", "buffer_store", "c8_class_pool_over_buffer"},
    {"classwide", "resource_store", "c8_class_pool_over_buffer"},
    {"nodes", "buffer_store", "c8_containers_over_a_buffer"},
    {"nodes", "resource_store", "c8_containers_over_a_buffer"},
    {"mallocs", "buffer_store", "c8_heap_over_a_resource"},
    {"mallocs", "resource_store", "c8_heap_over_a_resource"},
    // Idle objects lie in free blocks.
    {"recycled", "checked", "o4_recycling_pool_that_is_checked"},
    {"recycled", "checked_with<shuffled>", "o4_recycling_pool_that_is_checked"},
    {"recycled", "sampled_guard_pages<1>", "o4_recycling_pool_that_is_checked"},
    {"recycled", "reclaim_and_retry<>", "o6_recycling_pool_that_others_ask"},
    // Its free list is lifo_reuse.
    {"recycled", "return_empty_chunks<>", "r8_returning_idle_objects"},
    {"recycled", "return_empty_chunks<0, 0>", "r8_returning_idle_objects"},
    {"recycled", "return_empty_pages<25, 0>", "r8_returning_idle_objects"},
    // Blocks of a class lie in granules that the product's one store shares out.
    {"nodes", "return_empty_pages<25, 0>", "r15_pages_of_many_sizes"},
    {"sizes", "return_empty_pages<25, 0>", "r15_pages_of_many_sizes"},
    {"owned", "return_empty_pages<25, 0>", "r15_pages_of_many_sizes"},
    {"owned", "buffer_store", "q1_array"},
    {"owned", "static_array_store<3000>", "q1_array"},
    {"owned", "fall_back_to<static_array_store<500>>", "q1_array_to_fall_back_to"},
    {"resource", "return_empty_pages<25, 0>", "r15_pages_of_many_sizes"},
    {"mallocs", "return_empty_pages<25, 0>", "r15_pages_of_many_sizes"},
    {"recycled", "deferred_checking", "r14_deferred_checking_of_idle_objects"},
    // A block's address leads to its size.
    {"mallocs", "sampled_guard_pages<1>", "c15_sampled_heap"},
};

/// Headers of allocator/ that are none: pools themselves, names of compositions, declarations.
inline constexpr const char* no_products = "pool block_reservation maintenance_thread observe observing_thread presets fwd "
                                           "fixed_container allocator_block block_macros blocks resource_over "
                                           "arena arena_resource";  // arena_model_test has a list of its own

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_PRODUCTS_H_
