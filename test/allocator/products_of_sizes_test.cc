// Products of many sizes with every policy that they take: size_class_pool, pool_resource, own_pool_allocator, and xallocator,
// whose blocks are freed by address alone.
#include "tarn/test/support/tried_product.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <memory_resource>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/own_pool_allocator.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"

namespace tarn::test {
namespace {

/// Sizes of classes, none, and one that no class has.
template <class Free>
void free_null_of_each_size(Free free) {
  for (const std::size_t bytes : {0u, 1u, 40u, 4096u, 100'000u})
    for (const std::size_t alignment : {1u, 16u, 64u}) free(bytes, alignment);
}

template <class... Ps>
class tried_sizes final : public tried_product {
  using pool_type = size_class_pool<typename in_granules<Ps>::type...>;

 public:
  static constexpr bool ends = test::ends<Ps...>;
  explicit tried_sizes(grounds& where) : pool_(made_in<pool_type, Ps...>(where)) {}
  piece take(std::size_t n) override {
    const std::size_t bytes = bytes_of(n);
    void* const got = n % 2 == 0 ? pool_.try_allocate(bytes) : or_null([&] { return pool_.allocate(bytes); });
    return {static_cast<std::byte*>(got), bytes};
  }
  void give(piece p) override {
    if constexpr (requires { pool_.deallocate(static_cast<void*>(p.start)); })
      if (p.bytes % 4 == 0) return pool_.deallocate(static_cast<void*>(p.start));
    pool_.deallocate(p.start, p.bytes);
  }
  void give_null() override {
    free_null_of_each_size([&](std::size_t bytes, std::size_t alignment) { pool_.deallocate(nullptr, bytes, alignment); });
    pool_.deallocate_large(nullptr);
    if constexpr (requires { pool_.deallocate(nullptr); }) pool_.deallocate(nullptr);
  }
  void trim() override { trim_if_possible(pool_); }

 private:
  pool_type pool_;
};

template <class... Ps>
class tried_resource final : public tried_product {
 public:
  static constexpr bool ends = true;
  explicit tried_resource(grounds& where) : resource_(&where.upstream) { where.upstream.fail(60, failing::for_ever); }
  piece take(std::size_t n) override {
    std::pmr::memory_resource& resource = resource_;
    return {static_cast<std::byte*>(or_null([&] { return resource.allocate(bytes_of(n)); })), bytes_of(n)};
  }
  void give(piece p) override {
    std::pmr::memory_resource& resource = resource_;
    resource.deallocate(p.start, p.bytes);
  }
  void give_null() override {
    free_null_of_each_size(
        [&](std::size_t bytes, std::size_t alignment) { resource_.do_deallocate(nullptr, bytes, alignment); });
  }
  void trim() override { trim_if_possible(resource_); }

 private:
  /// memory_resource::deallocate() itself may not be called with null: libstdc++ declares that to the compiler.
  struct opened : pool_resource<Ps...> {
    using pool_resource<Ps...>::do_deallocate;
    using pool_resource<Ps...>::pool_resource;
  };
  opened resource_;
};

/// Nodes, arrays of them, and single bytes, by copies of one allocator.
template <class... Ps>
class tried_owned final : public tried_product {
  struct node {
    std::byte content[72];
  };
  using allocator = own_pool_allocator<node, typename in_granules<Ps>::type...>;
  using of_bytes = typename std::allocator_traits<allocator>::template rebind_alloc<std::byte>;

 public:
  static constexpr bool ends = test::ends<Ps...>;
  explicit tried_owned(grounds& where) : own_(made_in<allocator, Ps...>(where)) {}
  piece take(std::size_t n) override {
    if (n % 5 == 0) return {or_null([&] { return of_bytes(own_).allocate(n % 2 + 1); }), n % 2 + 1};
    const std::size_t nodes = n % 4 == 0 ? n % 60 + 2 : 1;
    return {reinterpret_cast<std::byte*>(or_null([&] { return own_.allocate(nodes); })), nodes * sizeof(node)};
  }
  void give(piece p) override {
    if (p.bytes < sizeof(node)) return of_bytes(own_).deallocate(p.start, p.bytes);
    own_.deallocate(reinterpret_cast<node*>(p.start), p.bytes / sizeof(node));
  }
  void give_null() override { own_.deallocate(nullptr, 0); }
  void trim() override { trim_if_possible(own_); }

 private:
  allocator own_;
};

template <class... Ps>
struct tag;

template <class... Ps>
class tried_mallocs final : public tried_product {
  using functions = xallocator<tag<Ps...>, typename in_granules<Ps>::type...>;

 public:
  static constexpr bool ends = test::ends<Ps...>;
  explicit tried_mallocs(grounds&) {}
  /// All that can be used is the caller's. Every third is moved once.
  piece take(std::size_t n) override {
    void* block = functions::allocate(bytes_of(n));
    if (block != nullptr && n % 3 == 0) {
      std::memset(block, 0x5A, bytes_of(n));
      if (void* const moved = functions::reallocate(block, bytes_of(n) * 2)) block = moved;
      CHECK(*static_cast<const unsigned char*>(block) == 0x5A);
    }
    CHECK(block == nullptr || functions::usable_size(block) >= bytes_of(n));
    return {static_cast<std::byte*>(block), functions::usable_size(block)};
  }
  void give(piece p) override { functions::deallocate(p.start); }
  void give_null() override {
    functions::deallocate(nullptr);
    CHECK(functions::usable_size(nullptr) == 0);
  }
  void trim() override {
    if constexpr (requires { functions::trim(); }) functions::trim();
  }
};

#include "tarn/test/support/tried_rows.inc"

BOOST_AUTO_TEST_CASE(size_class_pool_takes_every_policy) { try_all(rows, "sizes", 1000); }
BOOST_AUTO_TEST_CASE(own_pool_allocator_takes_every_policy) { try_all(rows, "owned", 1000); }
BOOST_AUTO_TEST_CASE(pool_resource_takes_every_policy) { try_all(rows, "resource", 1000); }
BOOST_AUTO_TEST_CASE(xallocator_takes_every_policy) { try_all(rows, "mallocs", 1000); }

}  // namespace
}  // namespace tarn::test
