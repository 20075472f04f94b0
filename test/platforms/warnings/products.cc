// Every product with every policy that it takes: all members of the class, used or not.
#include <cstddef>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/own_pool_allocator.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/test/support/kinds.h"

namespace tarn::test {

template <std::size_t Bytes>
struct item {
  explicit item(int start = 0) noexcept : first(start) {}
  void reset() noexcept { first = 0; }

  int first;
  std::byte content[Bytes];
};

template <class... Ps>
class pooled {
 public:
  int value = 0;
  std::byte content[72]{};
  DECLARE_MEMORY_POOL_WITH(pooled, Ps...)
};

template <class... Ps>
struct tag;

// What a product is called in the rows.
template <class... Ps>
using objects = object_pool<item<40>, Ps...>;
template <class... Ps>
using several = multipool<item<40>, Ps..., item<120>>;
template <class... Ps>
using recycled = recycling_pool<item<40>, Ps...>;
template <class... Ps>
using classwide = pooled<Ps...>;
template <class... Ps>
using nodes = stl_allocator<item<72>, Ps...>;
template <class... Ps>
using owned = own_pool_allocator<item<72>, Ps...>;
template <class... Ps>
using sizes = size_class_pool<Ps...>;
template <class... Ps>
using resource = pool_resource<Ps...>;
template <class... Ps>
using mallocs = xallocator<tag<Ps...>, Ps...>;

// Calls: what is a template, and what bases have, isn't made with the class.
void use(auto& pool)
  requires requires { pool.try_construct_n({}); }
{
  auto* const one = pool.try_construct(1);
  if (one == nullptr) return;
  item<40>* some[2];
  const std::size_t made = pool.try_construct_n(some, 2);
  pool.destroy_n(span<item<40>* const>(some, made));
  pool.for_each([](item<40>& each) { each.reset(); });
  pool.destroy(one);
}
void use(auto& pools)
  requires requires { pools.template try_construct<item<120>>(); }
{
  auto* const one = pools.template try_construct<item<120>>(1);
  if (one != nullptr) pools.destroy(one);
}
void use(auto& pool)
  requires requires { pool.acquire(); }
{
  auto* const one = pool.acquire();
  if (one != nullptr) pool.release(one);
}
template <class... Ps>
void use(pooled<Ps...>& one) {
  delete (one.value == 0 ? new (std::nothrow) pooled<Ps...>(one) : nullptr);
}
template <class T, class... Ps>
void use(stl_allocator<T, Ps...>& allocator) {
  allocator.deallocate(allocator.allocate(1), 1);
  allocator.deallocate(allocator.allocate(7), 7);
}
template <class T, class... Ps>
void use(own_pool_allocator<T, Ps...>& allocator) {
  allocator.deallocate(allocator.allocate(1), 1);
  allocator.deallocate(allocator.allocate(7), 7);
}
void use(auto& blocks)
  requires requires { blocks.try_allocate(std::size_t(1), std::size_t(1)); }
{
  void* const block = blocks.try_allocate(100, 8);
  if (block != nullptr) blocks.deallocate(block, 100, 8);
}
void use(std::pmr::memory_resource& resource) { resource.deallocate(resource.allocate(100), 100); }
template <class Tag, class... Ps>
void use(xallocator<Tag, Ps...>& functions) {
  functions.deallocate(functions.reallocate(functions.allocate_zeroed(3, 5), 100));
}

template <class Product>
void use_one(Product& product) {
  use(product);
}

}  // namespace tarn::test

// Older versions make members, too, whose `requires` is false.
#if defined(__clang__) && __clang_major__ < 16
#define MAKE(...) static_assert(sizeof(__VA_ARGS__) != 0);
#else
#define MAKE(...) template class __VA_ARGS__;
#endif
#define MAKE_objects(...) MAKE(object_pool<test::item<40>, __VA_ARGS__>)
#define MAKE_several(...) MAKE(multipool<test::item<40>, __VA_ARGS__, test::item<120>>)
#define MAKE_recycled(...) MAKE(recycling_pool<test::item<40>, __VA_ARGS__>)
#define MAKE_classwide(...) MAKE(test::pooled<__VA_ARGS__>)
#define MAKE_nodes(...) MAKE(stl_allocator<test::item<72>, __VA_ARGS__>)
#define MAKE_owned(...) MAKE(own_pool_allocator<test::item<72>, __VA_ARGS__>)
#define MAKE_sizes(...) MAKE(size_class_pool<__VA_ARGS__>)
#define MAKE_resource(...) MAKE(pool_resource<__VA_ARGS__>)
#define MAKE_mallocs(...)  // its statistics() is for those that count

#define ROW(product, ...)                                   \
  template void test::use_one(test::product<__VA_ARGS__>&); \
  MAKE_##product(__VA_ARGS__)

namespace tarn {
using namespace test;
#include "tarn/test/support/product_cover.inc"
}  // namespace tarn
