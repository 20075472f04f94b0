// Static pools with every policy that they take: those of a class, by its operator new; and those of stl_allocator.
#include "tarn/test/support/tried_product.h"

#include <cstddef>
#include <new>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/stl_allocator.h"

namespace tarn::test {
namespace {

/// Each composition is another class, and so has a pool of its own.
template <class... Ps>
class pooled {
 public:
  piece inside() noexcept { return {content_, sizeof content_}; }

 private:
  std::byte content_[72];

  DECLARE_MEMORY_POOL_WITH(pooled, Ps...)
};

template <class... Ps>
class tried_classwide final : public tried_product {
  using object = pooled<Ps...>;

 public:
  static constexpr bool ends = test::ends<Ps...>;
  explicit tried_classwide(grounds&) {}
  ~tried_classwide() override {
    if constexpr (requires { object::memory_pool().release(); }) object::memory_pool().release();
  }
  piece take(std::size_t n) override {
    object* const one = n % 2 == 0 ? new (std::nothrow) object : or_null([] { return new object; });
    return one == nullptr ? piece{} : one->inside();
  }
  void give(piece p) override { delete reinterpret_cast<object*>(p.start); }
  void give_null() override {
    delete static_cast<object*>(nullptr);
    for (const std::size_t bytes : {sizeof(object), 7 * sizeof(object)}) object::operator delete(nullptr, bytes);
  }
  void trim() override { trim_if_possible(object::memory_pool()); }
};

template <class... Ps>
class tried_nodes final : public tried_product {
  struct node {
    std::byte content[72];
  };
  using allocator = stl_allocator<node, typename in_granules<Ps>::type...>;

 public:
  static constexpr bool ends = test::ends<Ps...>;
  explicit tried_nodes(grounds&) {}
  piece take(std::size_t n) override {
    const std::size_t nodes = n % 4 == 0 ? n % 60 + 2 : 1;
    return {reinterpret_cast<std::byte*>(or_null([&] { return allocator().allocate(nodes); })), nodes * sizeof(node)};
  }
  void give(piece p) override { allocator().deallocate(reinterpret_cast<node*>(p.start), p.bytes / sizeof(node)); }
  void give_null() override {
    for (const std::size_t nodes : {0u, 1u, 7u, 100'000u}) allocator().deallocate(nullptr, nodes);
  }
};

#include "tarn/test/support/tried_rows.inc"

BOOST_AUTO_TEST_CASE(the_pool_of_a_class_takes_every_policy) { try_all(rows, "classwide", 6000); }
BOOST_AUTO_TEST_CASE(stl_allocator_takes_every_policy) { try_all(rows, "nodes", 1500); }

}  // namespace
}  // namespace tarn::test
