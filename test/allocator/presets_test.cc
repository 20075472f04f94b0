// Each preset gives a block, and takes it back. test/docs checks that none is left out.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <memory_resource>

#include "tarn/allocator/presets.h"

namespace tarn::test {
namespace {

struct order {
  long number;
  double price;
};
struct desk;  // a group
struct book;  // a tag

template <class Pool>
bool works(Pool& pool) {
  void* const block = pool.try_allocate();
  const bool good = block != nullptr && pool.owns(block);
  if (good) pool.deallocate(block);
  return good;
}

template <class Pool, class... Values>
bool made_and_works(const Values&... values) {
  Pool pool(values...);
  return works(pool);
}

BOOST_AUTO_TEST_CASE(each_preset_gives_a_block) {
  alignas(order) std::array<std::byte, 8 * sizeof(order)> bytes;
  BOOST_TEST(made_and_works<presets::local<order>>());
  BOOST_TEST(made_and_works<presets::shared<order>>());
  BOOST_TEST(made_and_works<presets::locked<order>>());
  BOOST_TEST(made_and_works<presets::returned_without_waiting<order>>());
  BOOST_TEST((made_and_works<presets::grouped<order, desk>>()));
  BOOST_TEST((made_and_works<presets::group_locked<order, desk>>()));
  BOOST_TEST(made_and_works<presets::bulk<order>>());
  BOOST_TEST((made_and_works<presets::stepped<order, 100>>()));
  BOOST_TEST((made_and_works<presets::capped<order, 100>>()));
  BOOST_TEST((made_and_works<presets::bounded<order, 100>>()));
  BOOST_TEST(made_and_works<presets::compact<order>>());
  BOOST_TEST(made_and_works<presets::cold<order>>());
  BOOST_TEST((made_and_works<presets::embedded<order, 8>>()));
  BOOST_TEST(made_and_works<presets::in_buffer<order>>(buffer_store{bytes}));
  BOOST_TEST(made_and_works<presets::over_resource<order>>(resource_store{std::pmr::new_delete_resource()}));
  BOOST_TEST(made_and_works<presets::mapped<order>>());
  BOOST_TEST(made_and_works<presets::returning<order>>());
  BOOST_TEST(made_and_works<presets::lean<order>>());
  BOOST_TEST(made_and_works<presets::reclaiming<order>>());
  BOOST_TEST(made_and_works<presets::sized_at_run_time>(dynamic_size{48, 16}));
  BOOST_TEST(works(presets::process_wide<book, order>::instance()));
  BOOST_TEST(works(presets::process_wide_local<book, order>::instance()));
}

}  // namespace
}  // namespace tarn::test
