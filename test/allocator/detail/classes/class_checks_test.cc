// Misuse of pools of many sizes that no class's pool sees: large blocks, and addresses from which the class must be found.
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/support/test.h"

namespace tarn::test {
namespace {

/// The kinds of misuse that a call reports, while the recorder lives.
template <class Call>
std::vector<misuse_kind> told_by(Call call) {
  recorder::seen().clear();
  call();
  std::vector<misuse_kind> kinds;
  for (const report& r : recorder::seen()) kinds.push_back(r.what.kind);
  return kinds;
}
bool is(const std::vector<misuse_kind>& told, misuse_kind kind) { return told == std::vector{kind}; }

std::byte* at(void* block, std::size_t offset) { return static_cast<std::byte*>(hidden(block)) + offset; }

/// A block of no pool, in the middle of bytes that are all zero, as a tag of the first class would be.
struct bytes_of_nobody {
  alignas(64) std::byte bytes[4096]{};
};
bytes_of_nobody outside;

template <class Free>
void refuse_addresses(Free free, void* small, void* large, called_from = {}) {
  const auto heap = std::make_unique<std::byte[]>(300);
  CHECK(is(told_by([&] { free(outside.bytes + 64); }), misuse_kind::foreign_pointer));
  CHECK(is(told_by([&] { free(heap.get()); }), misuse_kind::foreign_pointer));
  CHECK(is(told_by([&] { free(at(small, 16)); }), misuse_kind::interior_pointer));
  CHECK(told_by([&] { free(nullptr); }).empty());
  if (large != nullptr) {
    CHECK(is(told_by([&] { free(at(large, 16)); }), misuse_kind::interior_pointer));
    CHECK(recorder::seen().front().what.block == large);
    CHECK(told_by([&] { free(large); }).empty());
    CHECK(is(told_by([&] { free(hidden(large)); }), misuse_kind::foreign_pointer));  // nothing of it is left
  }
  CHECK(told_by([&] { free(small); }).empty());
  CHECK(is(told_by([&] { free(hidden(small)); }), misuse_kind::double_free));
}

struct checked_heap;
struct hardened_heap;

template <class Heap>
void refuse_addresses_of_malloc(called_from = {}) {
  const recorder now;
  refuse_addresses([](void* block) { Heap::deallocate(block); }, Heap::allocate(100), Heap::allocate(100'000));
  CHECK(is(told_by([] { Heap::deallocate(outside.bytes + 64); }), misuse_kind::foreign_pointer));
  CHECK(recorder::seen().front().pool_name.find("ed_heap") != std::string::npos);  // the tag
  CHECK(Heap::usable_size(outside.bytes + 64) == 0u);
  CHECK(Heap::statistics().large.blocks == 0u);
}
BOOST_AUTO_TEST_CASE(a_free_of_any_address_is_refused_by_mallocs_functions) {
  refuse_addresses_of_malloc<xallocator<checked_heap, checked>>();
  refuse_addresses_of_malloc<xallocator<hardened_heap, hardened, no_locking>>();
}
BOOST_AUTO_TEST_CASE(a_free_of_any_address_is_refused_over_an_array) {
  const recorder now;
  const auto pool = std::make_unique<size_class_pool<static_array_store<3>, checked>>();
  refuse_addresses([&](void* block) { pool->deallocate(block); }, pool->allocate(100), nullptr);
}
BOOST_AUTO_TEST_CASE(a_size_or_an_alignment_that_the_block_does_not_have_is_refused) {
  const recorder now;
  using heap = xallocator<checked_heap, checked>;
  for (const std::size_t bytes : {100u, 100'000u}) {
    void* const block = heap::allocate_aligned(64, bytes);
    const std::size_t more = heap::usable_size(block) + 1;
    BOOST_TEST(is(told_by([&] { heap::deallocate_sized(block, more); }), misuse_kind::wrong_size));
    BOOST_TEST(recorder::seen().front().what.size == more);
    BOOST_TEST(
        is(told_by([&] { heap::deallocate_aligned_sized(block, std::size_t{1} << 40, bytes); }), misuse_kind::wrong_size));
    BOOST_TEST(told_by([&] { heap::deallocate_aligned_sized(block, 64, bytes); }).empty());
  }
}

template <class Source>
void refuse_sizes(Source& source, called_from = {}) {
  const recorder now;
  void* const large = source.allocate(100'000, 16);
  void* const small = source.allocate(100, 16);
  CHECK(is(told_by([&] { source.deallocate(hidden(small), 100'000, 16); }), misuse_kind::wrong_size));
  CHECK(recorder::seen().front().what.block_size == 112u);
  CHECK(
      is(told_by([&] { source.deallocate(hidden(large), 4000, 16); }), misuse_kind::wrong_size));  // of a class without blocks
  CHECK(is(told_by([&] { source.deallocate(hidden(large), 100, 16); }), misuse_kind::foreign_pointer));
  CHECK(is(told_by([&] { source.deallocate(outside.bytes, 100'000, 16); }), misuse_kind::foreign_pointer));
  CHECK(told_by([&] { source.deallocate(large, 100'000, 16); }).empty());
  CHECK(is(told_by([&] { source.deallocate(hidden(large), 100'000, 16); }), misuse_kind::foreign_pointer));
  CHECK(told_by([&] { source.deallocate(small, 100, 16); }).empty());
}
BOOST_AUTO_TEST_CASE(a_free_of_another_size_is_refused) {
  size_class_pool<checked> pool;
  refuse_sizes(pool);
  pool_resource<hardened, mutex_locking<>> resource;
  refuse_sizes(resource);
}

BOOST_AUTO_TEST_CASE(what_outlives_its_pool_is_told_so) {
  const recorder now;
  using pool_type = size_class_pool<checked>;
  std::optional<pool_type> pool(std::in_place);
  pool_type& ended = *pool;
  void* const small = pool->allocate(100);
  void* const large = pool->allocate(100'000);
  const auto told = told_by([&] { pool.reset(); });
  BOOST_TEST((told == std::vector{misuse_kind::leak, misuse_kind::leak}));
  BOOST_TEST(recorder::seen().front().leaks.front() == large);
  BOOST_TEST(is(told_by([&] { ended.deallocate(hidden(small), 100); }), misuse_kind::ended_pool));
  BOOST_TEST(is(told_by([&] { ended.deallocate(hidden(large), 100'000); }), misuse_kind::ended_pool));
}
BOOST_AUTO_TEST_CASE(after_a_release_the_old_blocks_are_foreign) {
  const recorder now;
  size_class_pool<checked> pool(checked{"sizes"});
  void* const small = pool.allocate(100);
  void* const large = pool.allocate(100'000);
  BOOST_TEST(told_by([&] { pool.release(); }).empty());
  BOOST_TEST(is(told_by([&] { pool.deallocate(hidden(small), 100); }), misuse_kind::foreign_pointer));
  BOOST_TEST(is(told_by([&] { pool.deallocate(hidden(large), 100'000); }), misuse_kind::foreign_pointer));
  BOOST_TEST(recorder::seen().front().pool_name == "sizes");
  pool.deallocate(pool.allocate(100'000), 100'000);
  BOOST_TEST(pool.large().blocks == 0u);
}

template <class... Policies>
void what_reset_has_freed_is_not_freed_again(called_from = {}) {
  const recorder now;
  {
    size_class_pool<Policies...> pool;
    void* const small = pool.allocate(100);
    void* const large = pool.allocate(100'000);
    CHECK(told_by([&] { pool.reset(); }).empty());
    CHECK(is(told_by([&] { pool.deallocate(hidden(small), 100); }), misuse_kind::double_free));
    CHECK(is(told_by([&] { pool.deallocate(hidden(large), 100'000); }), misuse_kind::foreign_pointer));
    void* const other = pool.allocate(100);
    CHECK(told_by([&] { pool.deallocate(other, 100); }).empty());
    static_cast<void>(pool.allocate(100));
    pool.reset();
    recorder::seen().clear();
  }
  CHECK(recorder::seen().empty());  // no leak is left
}
BOOST_AUTO_TEST_CASE(what_reset_has_freed_is_free) {
  what_reset_has_freed_is_not_freed_again<checked>();
  what_reset_has_freed_is_not_freed_again<hardened>();
  what_reset_has_freed_is_not_freed_again<hardened, mutex_locking<>>();
}

}  // namespace
}  // namespace tarn::test
