// What every product is tried with under every policy that it takes: it hands out pieces of memory until it has no more, and
// gets some back, while it trims and other pools ask it to. No two pieces overlap, the product's own account agrees, nothing is
// reported, and all memory goes back. Compiled once for all rows of a file.
#ifndef TARN_TEST_SUPPORT_TRIED_PRODUCT_H_
#define TARN_TEST_SUPPORT_TRIED_PRODUCT_H_

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/kinds.h"
#include "tarn/test/support/upstream.h"

// The global operators new give memory that isn't zero, as is memory that was used before, and are counted.
namespace tarn::test {

inline constinit thread_local std::size_t calls_of_new = 0;

inline void* dirty_memory(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
  ++calls_of_new;
  if (bytes > std::size_t{1} << 40) return nullptr;  // a sanitizer would stop the program
  const std::size_t whole = (bytes + alignment) / alignment * alignment;
  void* const start = std::aligned_alloc(alignment, whole);
  if (start != nullptr) std::memset(start, 0xA5, whole);
  return start;
}
inline void* dirty_or_throw(void* start) {
  if (start == nullptr) throw std::bad_alloc();
  return start;
}
inline void give_back(void* start) noexcept {
  asm volatile("" : "+r"(start));  // else g++ sees a block of operator new that is given to free()
  std::free(start);
}

}  // namespace tarn::test

void* operator new(std::size_t n) { return tarn::test::dirty_or_throw(tarn::test::dirty_memory(n)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return tarn::test::dirty_memory(n); }
void* operator new(std::size_t n, std::align_val_t a) {
  return tarn::test::dirty_or_throw(tarn::test::dirty_memory(n, static_cast<std::size_t>(a)));
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return tarn::test::dirty_memory(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { tarn::test::give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { tarn::test::give_back(p); }
void operator delete(void* p, std::size_t) noexcept { tarn::test::give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { tarn::test::give_back(p); }

namespace tarn::test {

/// Memory that a product handed out, all of which is the caller's. Null: there was none.
struct piece {
  std::byte* start = nullptr;
  std::size_t bytes = 0;
};

class tried_product {
 public:
  virtual ~tried_product() = default;
  virtual piece take(std::size_t n) = 0;
  virtual void give(piece) = 0;
  /// Frees null in every form that there is.
  virtual void give_null() {}
  virtual void trim() {}
  /// What the product itself says, with so many pieces taken.
  virtual void check(std::size_t) {}
};

/// Where the stores of a product are.
struct grounds {
  test::upstream upstream;
  std::vector<std::byte> buffer = std::vector<std::byte>(70'000, std::byte{0xA5});
};

/// A row of product_cover.inc.
struct tried_row {
  const char* product;
  const char* policies;
  bool ends = false;  // there is a piece that isn't had
  std::unique_ptr<tried_product> (*make)(grounds&) = nullptr;
};
/// What stands for a product that is tried in another file: a file's own tried_... hides it.
struct elsewhere {};
template <class...>
using tried_objects = elsewhere;
template <class...>
using tried_several = elsewhere;
template <class...>
using tried_recycled = elsewhere;
template <class...>
using tried_classwide = elsewhere;
template <class...>
using tried_nodes = elsewhere;
template <class...>
using tried_sizes = elsewhere;
template <class...>
using tried_owned = elsewhere;
template <class...>
using tried_resource = elsewhere;
template <class...>
using tried_mallocs = elsewhere;

template <class Tried>
constexpr tried_row row_of(const char* product, const char* policies) {
  if constexpr (std::is_same_v<Tried, elsewhere>) return {product, policies};
  else
    return {product, policies, Tried::ends,
            [](grounds& where) -> std::unique_ptr<tried_product> { return std::make_unique<Tried>(where); }};
}

/// The pieces that were taken of a product. Each is full of its own number.
class pieces {
 public:
  explicit pieces(tried_product& from) : from_(from) {}

  /// Takes so many, or all that there are.
  void take(std::size_t count, bool ends, called_from = {}) {
    for (std::size_t refused = 0; count != 0 && refused != 8; --count) {
      const piece one = from_.take(++n_);
      if (one.start == nullptr) {
        CHECK(ends);
        ++refused;
        continue;
      }
      refused = 0;
      std::memset(one.start, mark(n_), one.bytes);
      taken_.push_back({n_, one});
    }
    verify();
  }
  /// Gives each k-th back, and null beside it. That needs no memory.
  void give(std::size_t k, called_from = {}) {
    std::vector<numbered> kept;
    for (std::size_t i = 0; i != taken_.size(); ++i) {
      if (i % k == 0) {
        const std::size_t calls = calls_of_new;
        from_.give(taken_[i].at);
        if (i % 16 == 0) from_.give_null();
        CHECK(calls_of_new == calls);
      } else {
        kept.push_back(taken_[i]);
      }
    }
    taken_ = std::move(kept);
    verify();
  }
  void verify(called_from = {}) {
    for (const auto& [n, at] : taken_)  // the first byte is right, and each is like the one before
      CHECK(at.start[0] == std::byte{mark(n)} && std::memcmp(at.start, at.start + 1, at.bytes - 1) == 0);
    from_.check(taken_.size());
  }

 private:
  struct numbered {
    std::size_t n;
    piece at;
  };
  static unsigned char mark(std::size_t n) noexcept { return static_cast<unsigned char>(n * 37 % 251 + 1); }

  tried_product& from_;
  std::size_t n_ = 0;
  std::vector<numbered> taken_;
};

/// Counts and prints reports while it lives. There is to be none.
class no_reports {
 public:
  no_reports() : before_(set_misuse_handler(print)) { seen_ = 0; }
  ~no_reports() {
    set_misuse_handler(before_);
    CHECK(seen_ == 0);
  }
  no_reports(const no_reports&) = delete;
  no_reports& operator=(const no_reports&) = delete;

 private:
  static void print(const misuse& what) noexcept {
    char text[1024];
    to_text(what, text, sizeof text);
    std::printf("%s\n", text);
    ++seen_;
  }
  static inline int seen_ = 0;
  misuse_handler before_;
};

/// \param most  pieces, if the product doesn't end earlier
inline void try_product(const tried_row& row, std::size_t most, called_from = {}) {
  std::printf("  %s\n", row.policies);
  const no_reports none;
  grounds where;
  {
    const std::unique_ptr<tried_product> product = row.make(where);
    pieces all(*product);
    const std::size_t calls = where.upstream.calls();
    product->give_null();
    CHECK(where.upstream.calls() == calls);
    all.take(40, row.ends);
    all.give(2);
    product->trim();
    reclaim_all();
    all.take(row.ends ? most : 300, row.ends);  // until there are no more
    all.give(3);
    product->trim();
    reclaim_all();
    all.take(most / 10, row.ends);
    all.give(1);
    product->trim();
    all.take(20, row.ends);
    all.give(1);
    all.take(20, row.ends);  // the newest again, without a trim
    all.give(2);
    all.give(1);
  }
  CHECK(where.upstream.bytes() == 0);
  CHECK(where.upstream.faults() == 0);
}

/// Each row of a product. Prints how many.
inline void try_all(std::span<const tried_row> rows, std::string_view product, std::size_t most, called_from = {}) {
  std::size_t tried = 0;
  for (const tried_row& row : rows) {
    if (row.product != product) continue;
    ++tried;
    BOOST_TEST_CONTEXT(row.policies) try_product(row, most);
  }
  std::printf("%s in %zu compositions\n", std::string(product).c_str(), tried);
  BOOST_TEST(tried >= 5u);  // else the cover wasn't read
}

// ---- what the rows of a product have in common ------------------------------------------------------------------------------

template <class P>
constexpr bool is_end() {
  if constexpr (policy_on<P, axis::store>) return P::traits.bounded;
  else if constexpr (policy_on<P, axis::growth>) return P::traits.max_chunks == 1;
  else return false;
}
template <class... Ps>
inline constexpr bool ends = (is_end<typename detail::canonical<Ps>::type>() || ...);

/// A product whose constructor gets the buffer or the resource, if one of its policies asks for that.
template <class Product, class... Ps>
Product made_in(grounds& where) {
  if constexpr (detail::one_of<buffer_store, Ps...>) return Product(buffer_store{std::span(where.buffer).subspan(5)});
  else if constexpr (detail::one_of<resource_store, Ps...>) return Product(resource_store{&where.upstream});
  else return Product();
}

/// The same policy for a product of many sizes, whose ends are counted in granules of 16 or 64 KiB.
template <class P>
struct in_granules : std::type_identity<P> {};
template <std::size_t Blocks>
struct in_granules<static_array_store<Blocks>> : std::type_identity<static_array_store<12>> {};
template <std::size_t Blocks>
struct in_granules<fall_back_to<static_array_store<Blocks>>> : std::type_identity<fall_back_to<static_array_store<12>>> {};
template <std::size_t Blocks>
struct in_granules<no_growth<Blocks>> : std::type_identity<no_growth<40>> {};

/// The size of the n-th request of a product of many sizes.
inline std::size_t bytes_of(std::size_t n) {
  static constexpr std::array<std::size_t, 8> sizes{48, 1, 100, 64, 3000, 16, 700, 5000};
  return sizes[n % sizes.size()];
}

template <class Pool>
void trim_if_possible(Pool& pool) {
  if constexpr (requires { pool.trim(); }) pool.trim();
}

/// What a call returns, or null where it throws that there is no memory.
template <class Call>
auto or_null(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_TRIED_PRODUCT_H_
