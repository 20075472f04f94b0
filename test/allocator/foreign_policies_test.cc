// Policies written outside the library, as a user would write them, that take part in more than their own axis: one that hears
// of frees, and a list that sees its chunks empty. For each axis, with just what is asked for: test/static/archetypes_test.cc.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

// ---- exhaustion that hears of every block that was freed, and of nothing else --------------------------------------------

struct listener {
  using axis = tarn::axis::exhaustion;
  static constexpr tarn::exhaustion_traits traits{.hears_frees = true};
  static inline std::size_t heard = 0;

  template <class Traits>
  struct state : detail::no_second_store {
    explicit state(const listener&) noexcept {}
    bool retry(std::size_t) noexcept { return false; }
    void freed(std::size_t blocks) noexcept { heard += blocks; }
  };
};

template <class... Policies>
void listen(called_from = {}) {
  const auto heard = [] { return std::exchange(listener::heard, 0); };
  {
    pool<static_size<64>, mutex_locking<>, listener, Policies...> pool;
    std::array<void*, 4> blocks;
    pool.allocate_batch(blocks);
    pool.deallocate(nullptr);
    CHECK(heard() == 0u);
    pool.deallocate(blocks[0]);
    CHECK(heard() == 1u);
    blocks[0] = nullptr;
    pool.deallocate_batch(blocks);
    CHECK(heard() == 3u);
  }
  object_pool<long, mutex_locking<>, listener, Policies...> numbers;
  for (long i = 0; i != 5; ++i) static_cast<void>(numbers.construct(i));
  numbers.clear();
  CHECK(heard() == 5u);
  object_pool<std::string, mutex_locking<>, listener, Policies...> names;
  for (int i = 0; i != 5; ++i) static_cast<void>(names.construct("a name that is too long to lie in the string itself"));
  names.clear();
  CHECK(heard() == 5u);
}

BOOST_AUTO_TEST_CASE(an_exhaustion_policy_that_hears_of_every_free) {
  listen<>();
  listen<page_local_reuse<>>();
  listen<checked>();
}

// ---- reuse and retention: a list that counts what is out, and gives chunks back when nothing is -------------------------

struct tidy_retention {
  using axis = tarn::axis::retention;
  static constexpr tarn::retention_traits traits{.returns_chunks = true};
  struct state {
    explicit state(const tidy_retention&) noexcept {}
    detail::status emptied() noexcept { return detail::status::surplus; }
    void reused() noexcept {}
    std::size_t keep() const noexcept { return 0; }
  };
};

struct counted_reuse : lifo_reuse<> {
  static constexpr tarn::reuse_traits traits = [] {
    tarn::reuse_traits all = lifo_reuse<>::traits;
    all.sees_empty_chunks = true;
    return all;
  }();
  template <class Traits>
  class list : public lifo_reuse<>::list<Traits> {
    using base = lifo_reuse<>::list<Traits>;
    using core = typename Traits::chunks;
    using chunk = typename Traits::chunk;
    std::size_t out_ = 0;
    std::vector<chunk*> chunks_;

   public:
    void settle(core&) noexcept {}
    std::size_t empty_chunks() const noexcept { return out_ == 0 ? chunks_.size() : 0; }
    chunk& take_empty() noexcept {
      base::forget();  // all go
      chunk& last = *chunks_.back();
      chunks_.pop_back();
      return last;
    }
    void adopted(chunk& c) noexcept { chunks_.push_back(&c); }
    void forget() noexcept {
      base::forget();
      chunks_.clear();
      out_ = 0;
    }
    void* pop(core& c) noexcept { return counted(base::pop(c)); }
    void* pop_slow(core& c) noexcept { return counted(base::pop_slow(c)); }
    detail::status push(core& c, void* block) noexcept {
      base::push(c, block);
      return --out_ == 0 ? c.chunk_emptied() : detail::status::done;
    }
    std::size_t pop_batch(core& c, void** out, std::size_t n) noexcept {
      const std::size_t got = base::pop_batch(c, out, n);
      out_ += got;
      return got;
    }
    detail::status push_batch(core& c, void* const* in, std::size_t n) noexcept {
      base::push_batch(c, in, n);
      out_ -= n;
      return out_ == 0 ? c.chunk_emptied() : detail::status::done;
    }

   private:
    void* counted(void* block) noexcept {
      if (block != nullptr) ++out_;
      return block;
    }
  };
};

BOOST_AUTO_TEST_CASE(a_reuse_and_a_retention_that_return_chunks) {
  upstream upstream;
  pool<static_size<64>, resource_store, fixed_growth<16>, counted_reuse, tidy_retention> pool{resource_store{&upstream}};
  std::vector<void*> blocks(100);
  pool.allocate_batch(blocks);
  BOOST_TEST(upstream.regions() == 7u);
  for (void* const block : blocks) pool.deallocate(block);
  BOOST_TEST(upstream.regions() == 0u);  // keep() says so
  pool.allocate_batch(blocks);
  pool.deallocate_batch(blocks);
  BOOST_TEST(upstream.regions() == 0u);
}

}  // namespace
}  // namespace tarn::test
