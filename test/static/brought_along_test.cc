// What pool.h brings where a program has already included what costs so much: resource_store and group_guard.
#include <memory_resource>
#include <mutex>

#include "tarn/allocator/pool.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(a_store_over_a_resource_and_a_guard_of_a_group) {
  struct crew;
  tarn::pool<tarn::static_size<64>, tarn::resource_store, tarn::grouped_locking<crew, std::mutex>> pool{
      tarn::resource_store{std::pmr::new_delete_resource()}};
  const tarn::group_guard<crew> guard;
  void* const block = pool.allocate();
  BOOST_TEST(pool.owns(block));
  pool.deallocate(block);
}
