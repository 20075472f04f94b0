// Pools of objects with every policy that they take: object_pool, its handles and its pointers, multipool, recycling_pool.
#include "tarn/test/support/tried_product.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/recycling_pool.h"

namespace tarn::test {
namespace {

/// An object that knows whether it is one, and lets others write into it.
template <std::size_t Bytes>
struct item {
  item() noexcept : itself(this) { ++alive; }
  item(const item&) = delete;
  ~item() {
    CHECK(is_one());
    itself = nullptr;
    --alive;
  }
  void reset() noexcept { ++resets; }

  bool is_one() const noexcept { return itself == this; }
  piece inside() noexcept { return {content, Bytes}; }
  static item* around(piece one) noexcept { return reinterpret_cast<item*>(one.start - offsetof(item, content)); }

  item* itself;
  std::byte content[Bytes];
  std::size_t resets = 0;
  static inline std::size_t alive = 0;
};
using small = item<40>;
using large = item<120>;

template <class Item>
piece inside(Item* one) noexcept {
  return one == nullptr ? piece{} : one->inside();
}

template <class... Ps>
class tried_objects final : public tried_product {
  using pool_type = object_pool<small, Ps...>;

 public:
  static constexpr bool ends = test::ends<Ps...>;
  explicit tried_objects(grounds& where) : pool_(made_in<pool_type, Ps...>(where)) { stale_.reserve(50'000); }
  ~tried_objects() override {
    static_cast<void>(pool_.try_construct());  // its end destroys that
    const std::size_t calls = calls_of_new;
    pool_.clear();
    CHECK(calls_of_new == calls);
    CHECK(small::alive == 0);
    static_cast<void>(pool_.try_construct());
  }
  piece take(std::size_t n) override {
    small* const one = n % 2 == 0 ? pool_.try_construct()
                                  : or_null([&] { return pool_.make_unique().release(); });
    if constexpr (pool_type::has_generations)
      if (one != nullptr) handles_[one] = pool_.handle_to(one);
    return inside(one);
  }
  void give(piece p) override {
    small* const one = small::around(p);
    if constexpr (pool_type::has_generations) {
      stale_.push_back(handles_[one]);
      handles_.erase(one);
    }
    pool_.destroy(one);
  }
  void give_null() override {
    pool_.destroy(nullptr);
    typename pool_type::unique_ptr(nullptr).reset();
  }
  void trim() override { trim_if_possible(pool_.blocks()); }
  void check(std::size_t taken) override {
    CHECK(small::alive == taken);
    std::size_t seen = 0;
    pool_.for_each([&](small& one) { seen += one.is_one(); });
    CHECK(seen == taken);
    if constexpr (pool_type::has_generations) {
      for (const auto& [one, handle] : handles_) CHECK(pool_.get(handle) == one);
      for (const auto& handle : stale_) CHECK(pool_.get(handle) == nullptr);
    }
  }

 private:
  pool_type pool_;
  std::map<small*, handle<small>> handles_;
  std::vector<handle<small>> stale_;
};

template <class... Ps>
class tried_several final : public tried_product {
 public:
  static constexpr bool ends = test::ends<Ps...>;
  explicit tried_several(grounds&) {}
  ~tried_several() override { static_cast<void>(pools_.template try_construct<large>()); }
  piece take(std::size_t n) override {
    if (n % 2 == 0) return inside(pools_.template try_construct<small>());
    return inside(or_null([&] { return pools_.template construct<large>(); }));
  }
  void give(piece p) override {
    if (p.bytes == 40) pools_.destroy(small::around(p));
    else pools_.destroy(large::around(p));
  }
  void give_null() override {
    pools_.destroy(static_cast<small*>(nullptr));
    pools_.destroy(static_cast<large*>(nullptr));
  }
  void trim() override {
    trim_if_possible(pools_.template pool_of<small>().blocks());
    trim_if_possible(pools_.template pool_of<large>().blocks());
  }
  void check(std::size_t taken) override { CHECK(small::alive + large::alive == taken); }

 private:
  multipool<small, Ps..., large> pools_;
};

template <class... Ps>
class tried_recycled final : public tried_product {
  using pool_type = recycling_pool<small, Ps...>;

 public:
  static constexpr bool ends = test::ends<Ps...>;
  explicit tried_recycled(grounds& where) : pool_(made_in<pool_type, Ps...>(where)) {}
  piece take(std::size_t) override {
    small* const one = pool_.acquire();
    if (one == nullptr) return {};
    CHECK(one->is_one());
    CHECK(pool_.owns(one));
    return one->inside();
  }
  void give(piece p) override {
    small* const one = small::around(p);
    const std::size_t resets = one->resets;
    CHECK(pool_.release(one));
    CHECK(one->resets == resets + 1);
    CHECK(one->is_one());  // it is idle
    CHECK(!pool_.release(one));
  }
  void give_null() override { CHECK(!pool_.release(nullptr)); }
  void check(std::size_t taken) override {
    CHECK(small::alive >= taken);
    most_ = std::max(most_, taken);
    CHECK(small::alive <= most_);  // none is made while one is idle
  }

 private:
  pool_type pool_;
  std::size_t most_ = 0;
};

#include "tarn/test/support/tried_rows.inc"

BOOST_AUTO_TEST_CASE(object_pool_takes_every_policy) {
  try_all(rows, "objects", 6000);
  BOOST_TEST(small::alive == 0u);
}
BOOST_AUTO_TEST_CASE(multipool_takes_every_policy) {
  try_all(rows, "several", 10'500);
  BOOST_TEST((small::alive == 0u && large::alive == 0u));
}
BOOST_AUTO_TEST_CASE(recycling_pool_takes_every_policy) {
  try_all(rows, "recycled", 6000);
  BOOST_TEST(small::alive == 0u);
}

}  // namespace
}  // namespace tarn::test
