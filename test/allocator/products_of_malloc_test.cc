// xallocator with every policy that it takes: blocks are freed by address alone.
#include "tarn/test/support/dirty_operators.h"
#include "tarn/test/support/tried_product.h"

#include <cstddef>
#include <cstring>

#include "tarn/allocator/xmalloc.h"

namespace tarn::test {
namespace {

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
  void trim() override {
    if constexpr (requires { functions::trim(); }) functions::trim();
  }
};

#include "tarn/test/support/tried_rows.inc"

BOOST_AUTO_TEST_CASE(xallocator_takes_every_policy) { try_all(rows, "mallocs", 1000); }

}  // namespace
}  // namespace tarn::test
