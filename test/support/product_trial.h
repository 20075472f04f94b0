// A product over a pool while calls of its store fail: what failed changed nothing, the next call works, nothing leaks.
#ifndef TARN_TEST_SUPPORT_PRODUCT_TRIAL_H_
#define TARN_TEST_SUPPORT_PRODUCT_TRIAL_H_

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <span>

#include "tarn/test/support/check.h"
#include "tarn/test/support/faults.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {

/// A product in use. All that it has comes from one origin.
struct product {
  virtual ~product() = default;
  /// One more of the n-th kind. Returns false where there was no memory; then nothing has changed.
  virtual bool take(std::size_t n) = 0;
  /// What was taken is intact.
  virtual void verify() = 0;
  /// Things taken, as the product itself counts them.
  virtual std::size_t things() = 0;
  /// Regions that a call may have got for itself though it failed: the pools of size classes.
  virtual std::size_t kept() { return 0; }
  /// Whether a call that the store refuses gives back what nobody uses.
  virtual bool gives_back() { return false; }
};

struct entry {
  const char* name;
  std::span<const refusal> refusals;
  std::unique_ptr<product> (*make)(origin&);
};

inline verdict try_once(const entry& e, origin& from, const attempt& a) {
  from.how = a.how;
  const auto p = e.make(from);
  std::size_t n = 0;
  for (; n != 3; ++n) REQUIRE(p->take(n));
  const upstream& memory = from.upstream;
  const std::size_t failures = memory.failures();
  std::size_t failed = 0;
  from.upstream.fail(a.k, a.mode);
  for (; n != 33; ++n) {
    const std::size_t things = p->things();
    const std::size_t regions = memory.regions() - p->kept();
    const std::size_t bytes = memory.bytes();
    const std::size_t kept = p->kept();
    const std::size_t before = memory.failures();
    if (p->take(n)) {
      CHECK(p->things() == things + 1);
      continue;
    }
    ++failed;
    CHECK(memory.failures() != before);
    CHECK(p->things() == things);
    CHECK(memory.regions() - p->kept() == regions || (p->gives_back() && memory.regions() - p->kept() < regions));
    if (p->kept() == kept) CHECK(memory.bytes() == bytes || (p->gives_back() && memory.bytes() < bytes));
    if (a.mode != failing::for_ever) p->verify();
  }
  p->verify();
  const verdict is{failed == 0, memory.failures() != failures};
  if (a.mode == failing::once) CHECK(failed <= 1);
  from.upstream.fail(1, failing::never);
  for (const std::size_t last = n + 12; n != last; ++n) REQUIRE(p->take(n));  // the next calls work
  p->verify();
  return is;
}

inline void try_product(ledger& book, const entry& e, called_from = {}) {
  fail_each_call(book, "product", e.name, e.refusals, [&](const attempt& a) {
    origin from;
    const verdict is = try_once(e, from, a);
    CHECK(from.upstream.bytes() == 0);
    CHECK(from.upstream.faults() == 0);
    return is;
  });
  CHECK(book.points(e.name) >= 3 * e.refusals.size());  // in three modes
}

template <class Product, auto&... Args>
std::unique_ptr<product> make(origin& from) {
  return std::make_unique<Product>(from, Args...);
}

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_PRODUCT_TRIAL_H_
