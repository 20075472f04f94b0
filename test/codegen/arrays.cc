// Static pools over an array, and products over one: check_arrays.py looks at where they lie. They follow from the kinds in
// test/support/kinds.h: a pool of each legal pair of them, and each product with every kind that it takes. Nothing of them is
// called: what they consist of when the program starts is all that counts.
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tarn/allocator/all.h"
#include "tarn/test/support/kinds.h"
#include "tarn/test/support/products.h"

namespace tarn::test {

struct tool {
  std::size_t numbers[8];
  void reset() noexcept {}
};
struct tag;

/// Without its destructor, which would have to be compiled.
template <class Product>
union kept {
  constexpr kept() noexcept : product() {}
  constexpr ~kept() {}
  Product product;
};
template <class Product>
constinit kept<Product> object{};

// What there is of each product: where one of it lies, or a function that needs it.
struct pools {
  static constexpr bool in_pairs = true;
  static constexpr bool takes(const asked& a) { return detail::first_broken(a.c) == detail::rule::none; }
  template <class... Ps>
  static constexpr const void* place() {
    return &object<pool<Ps...>>;
  }
};
struct static_pools {
  static constexpr bool in_pairs = false;
  static constexpr bool takes(const asked& a) { return pools::takes(a) && !a.c.locking.ends_at_exit; }
  template <class... Ps>
  static constexpr const void* place() {
    return &detail::static_body<tag, pool<Ps...>>::body;
  }
};
struct object_pools {
  static constexpr bool in_pairs = false;
  static constexpr bool takes(const asked& a) { return takes_all(a); }
  template <class Size, class... Ps>
  static constexpr const void* place() {
    return &object<object_pool<tool, Ps...>>;
  }
};
struct recycling_pools {
  static constexpr bool in_pairs = false;
  static constexpr bool takes(const asked& a) {
    return is_recycled(a) && !a.c.reuse.finds_chunks && !a.c.retention.returns_chunks && !a.c.checking.checks_leaving;
  }
  template <class Size, class... Ps>
  static constexpr const void* place() {
    return &object<recycling_pool<tool, Ps...>>;
  }
};
struct multipools {
  static constexpr bool in_pairs = false;
  static constexpr bool takes(const asked& a) { return takes_defaults(a); }
  template <class Size, class... Ps>
  static constexpr const void* place() {
    return &object<multipool<tool, Ps...>>;
  }
};
struct size_class_pools {
  static constexpr bool in_pairs = false;
  static constexpr bool takes(const asked& a) { return is_sizes(a); }
  template <class Size, class... Ps>
  static constexpr const void* place() {
    return &object<size_class_pool<Ps...>>;
  }
};
struct xallocators {
  static constexpr bool in_pairs = false;
  static constexpr bool takes(const asked& a) { return is_malloc(a); }
  template <class Size, class... Ps>
  static constexpr auto place() {
    return &detail::static_classes<tag, 16 * 1024, Ps...>::instance;
  }
};

// ---- which of them are legal ------------------------------------------------------------------------------------------------

template <class... Ten>
struct ten_policies {
  static constexpr bool have_defaults = (std::default_initializable<Ten> && ...);
};
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
constexpr asked ask(ten_policies<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>) {
  return {detail::composition_of<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Name>(), false};
}
template <class Product, class... Ps>
constexpr bool takes() {
  if constexpr (detail::judge_selection<Ps...>() != detail::selection::good) {
    return false;
  } else {
    using ten = typename detail::selected<ten_policies, Ps...>::type;
    if constexpr (!ten::have_defaults) return false;
    else return Product::takes(ask(ten{}));
  }
}

// ---- all of them ------------------------------------------------------------------------------------------------------------

template <std::size_t I>
using kind_at = typename std::remove_cvref_t<std::tuple_element_t<I, decltype(kinds)>>::policy;
constexpr std::size_t number = std::tuple_size_v<decltype(kinds)>;

template <class Product, class... Ps>
void add([[maybe_unused]] void (*use)(const void*)) {
  if constexpr (takes<Product, static_size<64>, Ps...>())
    use(reinterpret_cast<const void*>(Product::template place<static_size<64>, Ps...>()));
}
/// The kinds that a pool over an array can differ by: of sizes there is one.
template <class Array, class P>
constexpr bool differs() {
  return !policy_on<P, axis::size> && takes<pools, static_size<64>, Array, P>();
}
template <class Product, class Array, std::size_t First, std::size_t... Second>
void add_pairs(void (*use)(const void*), std::index_sequence<Second...>) {
  using first = kind_at<First>;
  const auto add_pair = [&]<class P>(std::type_identity<P>) {
    if constexpr (differs<Array, P>()) add<Product, first, P, Array>(use);
  };
  if constexpr (!std::is_same_v<Product, recycling_pools> || !policy_on<first, axis::reuse>) add<Product, first, Array>(use);
  if constexpr (Product::in_pairs && differs<Array, first>())
    (add_pair(std::type_identity<kind_at<First + 1 + Second>>{}), ...);
}
template <class Product, class Array, std::size_t... I>
void add_all(void (*use)(const void*), std::index_sequence<I...>) {
  (add_pairs<Product, Array, I>(use, std::make_index_sequence<number - 1 - I>()), ...);
}
template <class Array, class... Products>
void add_products(void (*use)(const void*)) {
  (add_all<Products, Array>(use, std::make_index_sequence<number>()), ...);
}

/// So that the compiler makes them. Each array is 256,000 bytes or more.
void all(void (*use)(const void*)) {
  add_products<static_array_store<4000>, pools, static_pools, object_pools, recycling_pools, multipools>(use);
  add_products<static_array_store<100>, size_class_pools, xallocators>(use);
  add<pools, fall_back_to<static_array_store<4000>>>(use);
  add<pools, mutex_locking<>, fall_back_to<static_array_store<4000>>, named<"tested">>(use);
  add<static_pools, mutex_locking<>, fall_back_to<static_array_store<4000>>>(use);
  add<static_pools, mutex_locking<>, static_array_store<4000>, fall_back_to<static_array_store<4000>>>(use);
  add<static_pools, budgeted<static_array_store<4000>, &kinds_budget>, checked>(use);
}

}  // namespace tarn::test
