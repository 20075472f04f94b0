// stl_allocator over stores that run out or refuse: containers stay as they were.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/test/allocator/allocator_sources.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

template <class A>
std::vector<typename A::value_type*> take_all(A allocator, std::size_t n) {
  std::vector<typename A::value_type*> all;
  try {
    while (all.size() < 100000) all.push_back(allocator.allocate(n));
  } catch (const std::bad_alloc&) {
  }
  return all;
}

BOOST_AUTO_TEST_CASE(an_array_store_runs_out_of_nodes) {
  stl_allocator<long, no_locking, static_array_store<8>> allocator;
  for (int round = 0; round < 3; ++round) {
    std::vector<long*> nodes = take_all(allocator, 1);
    BOOST_TEST(nodes.size() == 8u);
    std::sort(nodes.begin(), nodes.end());
    BOOST_TEST((std::unique(nodes.begin(), nodes.end()) == nodes.end()));
    for (long* const node : nodes) allocator.deallocate(node, 1);
  }

  using small_list = std::list<int, stl_allocator<int, static_array_store<20>>>;
  for (int round = 0; round < 3; ++round) {
    small_list list;
    int made = 0;
    BOOST_CHECK_THROW(
        for (;;) {
          list.push_back(made);
          ++made;
        },
        std::bad_alloc);
    BOOST_TEST(made == 20);
    BOOST_TEST(list.size() == 20u);
    int expected = 0;
    for (const int i : list) BOOST_TEST(i == expected++);
    BOOST_CHECK_THROW(small_list copy(list), std::bad_alloc);
    BOOST_CHECK_THROW(list.insert(list.begin(), 3u, -1), std::bad_alloc);
    list.pop_front();
    list.push_back(20);  // the one that came back
    BOOST_TEST(list.back() == 20);
    BOOST_CHECK_THROW(list.push_back(21), std::bad_alloc);
  }
}

BOOST_AUTO_TEST_CASE(an_array_store_runs_out_of_arrays) {
  // 16 granules of 16 KiB: enough for each class that a growing vector comes through, but for nothing over 4 KiB.
  using allocator = stl_allocator<long, no_locking, static_array_store<16>>;
  const auto fill = [] {
    std::vector<long, allocator> vector;
    BOOST_CHECK_THROW(for (;;) vector.push_back(static_cast<long>(vector.size())), std::bad_alloc);
    for (std::size_t i = 0; i != vector.size(); ++i) BOOST_TEST(vector[i] == static_cast<long>(i));
    return vector.size();
  };
  const std::size_t size = fill();
  BOOST_TEST(size == 4096 / sizeof(long));
  BOOST_TEST(fill() == size);
  BOOST_CHECK_THROW((void)allocator().allocate(100000), std::bad_alloc);

  using other = stl_allocator<long, no_locking, static_array_store<5>>;
  const std::vector<long*> once = take_all(other(), 32);
  BOOST_TEST(once.size() >= 5u * 60);
  for (long* const a : once) other().deallocate(a, 32);
  const std::vector<long*> again = take_all(other(), 32);
  BOOST_TEST(again.size() == once.size());
  for (long* const a : again) other().deallocate(a, 32);
}

BOOST_AUTO_TEST_CASE(a_store_that_refuses_changes_nothing) {
  using store = counted_store<struct refusing>;
  using list = std::list<int, stl_allocator<int, store>>;
  using map = std::map<int, std::vector<int, stl_allocator<int, store>>, std::less<>,
                       stl_allocator<std::pair<const int, std::vector<int, stl_allocator<int, store>>>, store>>;
  for (int round = 0; round < 2; ++round) {
    list l;
    map m;
    for (int i = 0; i < 100; ++i) m[i].assign(10, i);
    l.assign(10, 1);
    const std::size_t regions = store::regions;
    store::refuses = true;
    int more = 0;
    BOOST_CHECK_THROW(for (;; ++more) l.push_back(2), std::bad_alloc);
    BOOST_CHECK_THROW(for (int i = 100;; ++i) m[i].assign(1000, i), std::bad_alloc);
    BOOST_CHECK_THROW(m[5].resize(50000), std::bad_alloc);
    BOOST_TEST(store::regions == regions);
    store::refuses = false;
    BOOST_TEST(l.size() == 10u + static_cast<std::size_t>(more));
    for (int i = 0; i < 100; ++i) BOOST_TEST((m[i] == std::vector<int, stl_allocator<int, store>>(10, i)));
    l.push_back(3);  // the next call works
    m[5].resize(50000);
    BOOST_TEST(store::regions > regions);
    m.erase(5);
  }
  // Nothing was lost: as many elements as were there before need no store any more.
  list l;
  for (int i = 0; i < 1000; ++i) l.push_back(i);
  l.clear();
  store::refuses = true;
  for (int i = 0; i < 1000; ++i) l.push_back(i);
  store::refuses = false;
  BOOST_TEST(l.size() == 1000u);
}

BOOST_AUTO_TEST_CASE(a_source_that_refuses_changes_nothing) {
  ledger blocks;
  {
    using allocator = stl_allocator<int, ledger>;
    std::vector<int, allocator> vector(10, 7, blocks);
    std::list<int, allocator> list(vector.begin(), vector.end(), blocks);
    blocks.refuse_after(5);
    BOOST_CHECK_THROW((std::list<int, allocator>(list)), std::bad_alloc);
    BOOST_TEST(blocks.blocks() == 11u);
    BOOST_CHECK_THROW(vector.reserve(100), std::bad_alloc);
    BOOST_CHECK_THROW(list.push_back(1), std::bad_alloc);
    BOOST_CHECK_THROW((std::allocate_shared<int>(allocator(blocks), 4)), std::bad_alloc);
    blocks.refuse_after(ledger::no_limit);
    BOOST_TEST(blocks.blocks() == 11u);
    BOOST_TEST((vector == std::vector<int, allocator>(10, 7, blocks)));
    list.push_back(1);
    BOOST_TEST(list.size() == 11u);
  }
  BOOST_TEST(blocks.blocks() == 0u);
  BOOST_TEST(blocks.faults() == 0u);
}

}  // namespace
}  // namespace tarn::test
