// Pools of many sizes with every policy that they take: size_class_pool and pool_resource.
#include "tarn/test/support/dirty_operators.h"
#include "tarn/test/support/tried_product.h"

#include <cstddef>
#include <memory_resource>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/size_class_pool.h"

namespace tarn::test {
namespace {

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
  void trim() override { trim_if_possible(resource_); }

 private:
  pool_resource<Ps...> resource_;
};

#include "tarn/test/support/tried_rows.inc"

BOOST_AUTO_TEST_CASE(size_class_pool_takes_every_policy) { try_all(rows, "sizes", 1000); }
BOOST_AUTO_TEST_CASE(pool_resource_takes_every_policy) { try_all(rows, "resource", 1000); }

}  // namespace
}  // namespace tarn::test
