// deferred_checking: what was given back wrongly is found when it leaves the front, at the latest when the pool ends, and does
// no harm there.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <set>
#include <tuple>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/checking/recording.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using pools = std::tuple<pool<static_size<64>, deferred_checking, return_empty_chunks<>>,
                         pool<static_size<24, 8>, deferred_checking, thread_cached<>>,
                         pool<static_size<256, 64>, deferred_checking, page_local_reuse<4096, prefetch::none, 128>>>;

/// 2000 blocks, of which 1000 go back after whatever `wrong` does; then the front is emptied.
template <class Pool, class Wrong>
void misuse_once(misuse_kind kind, Wrong wrong, called_from = {}) {
  const recording here;
  const void* address;
  {
    Pool pool{deferred_checking{"late"}};
    std::vector<void*> blocks;
    for (int i = 0; i != 2000; ++i) blocks.push_back(pool.try_allocate());
    address = wrong(pool, blocks);
    for (std::size_t i = 0; i != 1000; ++i) pool.deallocate(blocks[i]);
    pool.trim();
    BOOST_REQUIRE(told.size() == 1u);

    // What was wrong was dropped: no block is there twice, and all that were given back are.
    std::set<void*> held(blocks.begin() + 1000, blocks.end());
    for (int i = 0; i != 3000; ++i) BOOST_REQUIRE(held.insert(pool.try_allocate()).second);
    for (void* const block : held) BOOST_REQUIRE(pool.owns(block));
  }
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].kind == kind));
  BOOST_TEST(told[0].address == address);
  BOOST_TEST(told[0].pool_name == "late");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_double_free, Pool, pools) {
  misuse_once<Pool>(misuse_kind::double_free, [](Pool& pool, std::vector<void*>& blocks) {
    pool.deallocate(blocks[3]);
    return blocks[3];
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_double_free_of_a_block_in_the_bitmaps, Pool, pools) {
  misuse_once<Pool>(misuse_kind::double_free, [](Pool& pool, std::vector<void*>& blocks) {
    void* const block = blocks.back();
    blocks.pop_back();
    pool.deallocate(block);
    pool.trim();  // now it is in no front
    pool.deallocate(block);
    return block;
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_foreign_pointer, Pool, pools) {
  static std::byte elsewhere[64];
  misuse_once<Pool>(misuse_kind::foreign_pointer, [](Pool& pool, std::vector<void*>&) {
    pool.deallocate(elsewhere);
    return static_cast<void*>(elsewhere);
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_interior_pointer, Pool, pools) {
  misuse_once<Pool>(misuse_kind::interior_pointer, [](Pool& pool, std::vector<void*>& blocks) {
    void* const inside = static_cast<std::byte*>(blocks[1500]) + 8;
    pool.deallocate(inside);
    return inside;
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_still_in_a_front_is_found_when_the_pool_ends, Pool, pools) {
  const recording here;
  {
    Pool pool;
    void* const block = pool.try_allocate();
    pool.deallocate(block);
    pool.deallocate(block);
    BOOST_TEST(told.empty());  // it didn't leave yet
  }
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].kind == misuse_kind::double_free));
}

}  // namespace
}  // namespace tarn::test
