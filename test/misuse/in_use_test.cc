// report_in_use(): what is in use now, in pools that never end as well as in those that do.
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/test/misuse/reports.h"

namespace tarn::test {
namespace {

struct letter {
  ~letter() { text = 0; }
  int text = 1;
};

struct parcel {
  double weight = 0;
};

struct large_tag;

struct card {
  int number = 0;
  DECLARE_MEMORY_POOL_WITH(card, mutex_locking<>, checked)
};

// Of this program's last object: what is still in use after it is asked about at the very end.
struct last_tag;
using last_pool = static_pool<last_tag, static_size<40>, checked>;
struct last_object {
  last_object() : block(last_pool::instance().allocate()), other(last_pool::instance().allocate()) {}
  ~last_object() { last_pool::instance().deallocate(other); }
  void* block;
  void* other;
} last;

std::size_t at_the_end = 0;
void count_at_the_end(const misuse& what) noexcept {
  if (what.kind == misuse_kind::leak && std::string(what.pool_name).find("last_tag") != std::string::npos)
    at_the_end += what.leaked;
}
[[gnu::destructor]] void after_the_last_object() {
  set_misuse_handler(count_at_the_end);
  report_in_use();
  if (at_the_end != 1) _exit(99);
}

/// The reports of one question without those of pools that other cases or this program keep in use.
std::vector<report> reports_of(const char* pool_name) {
  std::vector<report> found;
  recorder keeping;
  report_in_use();
  for (const report& one : recorder::seen())
    if (one.pool_name.find(pool_name) != std::string::npos) found.push_back(one);
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(in_use)

BOOST_AUTO_TEST_CASE(every_checked_pool_is_asked) {
  const std::size_t before = [] {
    recorder keeping;
    return report_in_use();
  }();
  pool<static_size<64>, checked> blocks{checked{"blocks"}};
  pool<static_size<64>, thread_cached<>, checked> cached{checked{"cached"}};
  pool<static_size<64>, sampled_guard_pages<1, checked>> sampled;
  object_pool<letter, checked> letters{checked{"letters"}};
  size_class_pool<checked> classes;
  std::list<int, stl_allocator<int, checked>> list(3);

  void* const a = blocks.allocate();
  void* const b = cached.allocate();
  void* const c = sampled.allocate();
  letter* const d = letters.construct();
  void* const e = classes.allocate(24, 8);
  card* const f = new card;

  BOOST_TEST(reports_of("blocks").size() == 1u);
  BOOST_TEST(reports_of("cached").size() == 1u);
  BOOST_TEST(reports_of("letters").size() == 1u);
  BOOST_TEST(reports_of("card").size() == 1u);
  BOOST_REQUIRE(reports_of("stl_pools").size() == 1u);
  BOOST_TEST(reports_of("stl_pools")[0].what.leaked == 3u);
  const report one = reports_of("blocks")[0];
  BOOST_TEST((one.what.kind == misuse_kind::leak));
  BOOST_TEST(one.what.leaked == 1u);
  BOOST_REQUIRE(one.leaks.size() == 1u);
  BOOST_TEST(one.leaks[0] == a);
  {
    recorder keeping;
    BOOST_TEST(report_in_use() == before + 9);
  }

  blocks.deallocate(a);
  cached.deallocate(b);
  sampled.deallocate(c);
  letters.destroy(d);
  classes.deallocate(e, 24, 8);
  delete f;
  list.clear();
  recorder keeping;
  BOOST_TEST(report_in_use() == before);
}

BOOST_AUTO_TEST_CASE(every_product_is_asked) {
  const auto in_use = [] {
    recorder keeping;
    return report_in_use();
  };
  const std::size_t before = in_use();
  multipool<letter, parcel, checked> two;
  pool_resource<mutex_locking<>, checked> resource;
  using any = xallocator<large_tag, checked>;
  using in_static = static_pool<struct other_tag, static_size<24>, checked>;

  letter* const a = two.construct<letter>();
  void* const b = resource.allocate(40, 8);
  void* const c = any::allocate(100);
  void* const d = in_static::instance().allocate();
  BOOST_TEST(in_use() == before + 4);

  two.destroy(a);
  resource.deallocate(b, 40, 8);
  any::deallocate(c);
  in_static::instance().deallocate(d);
  BOOST_TEST(in_use() == before);
}

BOOST_AUTO_TEST_CASE(blocks_of_no_class_are_in_use_too) {
  const auto in_use = [] {
    recorder keeping;
    return report_in_use();
  };
  const std::size_t before = in_use();
  using any = xallocator<large_tag, checked>;
  using array = std::vector<int, stl_allocator<int, checked>>;
  {
    size_class_pool<checked> classes{checked{"large"}};
    pool_resource<mutex_locking<>, checked> resource;
    array numbers(50'000);
    void* const a = any::allocate(100'000);
    void* const b = classes.allocate(100'000);
    void* const c = classes.allocate(200'000);
    void* const d = resource.allocate(100'000);
    BOOST_TEST(in_use() == before + 5);
    const std::vector<report> seen = reports_of("large");
    BOOST_REQUIRE(seen.size() == 3u);  // each by itself; one is the tag's
    for (const report& one : seen) {
      BOOST_TEST((one.what.kind == misuse_kind::leak));
      BOOST_REQUIRE(one.leaks.size() == 1u);
      const void* const block = one.leaks[0];
      BOOST_TEST((block == a || block == b || block == c));
      BOOST_TEST(one.what.block_size >= (block == c ? 200'000u : 100'000u));
      BOOST_TEST(one.what.block_size < (block == c ? 300'000u : 200'000u));
    }
    any::deallocate(a);
    classes.deallocate(b, 100'000);
    classes.deallocate(c, 200'000);
    resource.deallocate(d, 100'000);
    BOOST_TEST(in_use() == before + 1);
  }
  BOOST_TEST(in_use() == before);  // nobody asks what has ended
}

BOOST_AUTO_TEST_CASE(a_pool_of_many_sizes_that_ends_names_each_large_block) {
  recorder keeping;
  const void* blocks[2];
  {
    size_class_pool<checked> classes{checked{"classes"}};
    blocks[0] = classes.allocate(100'000);
    blocks[1] = classes.allocate(200'000);
    classes.deallocate(classes.allocate(300'000), 300'000);
  }
  const std::vector<report> seen = recorder::seen();
  BOOST_REQUIRE(seen.size() == 2u);
  for (const report& one : seen) {
    BOOST_TEST((one.what.kind == misuse_kind::leak));
    BOOST_TEST(one.pool_name == "classes");
    BOOST_TEST(one.what.leaked == 1u);
    BOOST_REQUIRE(one.leaks.size() == 1u);
    const bool is_first = one.leaks[0] == blocks[0];
    BOOST_TEST((is_first || one.leaks[0] == blocks[1]));
    BOOST_TEST(one.what.block_size >= (is_first ? 100'000u : 200'000u));
    BOOST_TEST(one.what.block_size < (is_first ? 200'000u : 300'000u));
  }
  BOOST_TEST(seen[0].leaks[0] != seen[1].leaks[0]);
}

BOOST_AUTO_TEST_CASE(a_pool_that_has_ended_is_not_asked) {
  {
    recorder keeping;
    pool<static_size<64>, checked> ending{checked{"ending"}};
    static_cast<void>(ending.try_allocate() == nullptr);
    BOOST_TEST(recorder::seen().empty());
  }
  BOOST_TEST(reports_of("ending").empty());
}

BOOST_AUTO_TEST_CASE(blocks_of_one_site_are_one_report) {
  object_pool<letter, checked_with<sites>> letters{checked_with<sites>{"sited"}};
  std::vector<letter*> held;
  for (int i = 0; i != 3; ++i) held.push_back(letters.here({"here.cc", 1}).construct());
  held.push_back(letters.here({"there.cc", 1}).construct());
  held.push_back(letters.here({"here.cc", 2}).construct());
  held.push_back(letters.here({"here.cc", 1}).construct());
  held.push_back(letters.construct());

  const std::vector<report> reports = reports_of("sited");
  BOOST_REQUIRE(reports.size() == 4u);
  const std::size_t blocks[] = {4, 1, 1, 1};
  for (std::size_t i = 0; i != 4; ++i) BOOST_TEST(reports[i].what.leaked == blocks[i]);
  BOOST_TEST(reports[0].text.find("here.cc:1") != std::string::npos);
  BOOST_TEST(reports[1].text.find("there.cc:1") != std::string::npos);
  BOOST_TEST(reports[2].text.find("here.cc:2") != std::string::npos);
  BOOST_TEST(reports[3].what.file == nullptr);
  for (letter* const one : held) letters.destroy(one);
  BOOST_TEST(reports_of("sited").empty());
}

BOOST_AUTO_TEST_CASE(more_sites_than_can_be_kept_apart_are_the_last_report) {
  object_pool<letter, checked_with<sites>> letters{checked_with<sites>{"many"}};
  std::vector<letter*> held;
  for (unsigned line = 1; line != 41; ++line) held.push_back(letters.here({"many.cc", line}).construct());
  const std::vector<report> reports = reports_of("many");
  BOOST_REQUIRE(reports.size() == 16u);
  BOOST_TEST(reports[14].what.leaked == 1u);
  BOOST_TEST(reports[15].what.leaked == 25u);
  for (letter* const one : held) letters.destroy(one);
}

/// How many blocks are reported while something ends with some in use.
template <class Use>
std::size_t reported(Use use) {
  recorder keeping;
  use();
  std::size_t n = 0;
  for (const report& one : recorder::seen()) n += one.what.leaked;
  return n;
}
template <class Checking>
std::size_t left_in_pools() {
  return reported([] {
    pool<static_size<64>, Checking> plain;
    static_cast<void>(plain.allocate());
    pool<static_size<64>, Checking, static_array_store<2>> array;
    static_cast<void>(array.allocate());
  });
}
template <class Checking>
std::size_t left_in_classes() {
  return reported([] {
    size_class_pool<Checking> classes;
    static_cast<void>(classes.allocate(100));
    static_cast<void>(classes.allocate(1 << 20));
  });
}
template <class Checking>
std::size_t left_in_pools_of_objects() {
  return reported([] {
    object_pool<letter, Checking> letters;
    static_cast<void>(letters.construct());
    multipool<letter, parcel, Checking> both;
    static_cast<void>(both.template construct<letter>());
    static_cast<void>(both.template construct<parcel>());
    if constexpr (!Checking::traits.fills) {
      struct tool : letter {
        void reset() {}
      };
      recycling_pool<tool, Checking> tools;
      static_cast<void>(tools.acquire());
    }
  });
}
BOOST_AUTO_TEST_CASE(what_is_left_is_a_leak_if_it_is_a_block_and_not_meant) {
  BOOST_TEST(left_in_pools<checked>() == 2u);
  BOOST_TEST(left_in_pools<hardened>() == 2u);
  BOOST_TEST((left_in_pools<checked_with<sites, may_end_in_use>>() == 0u));
  BOOST_TEST((left_in_pools<hardened_with<may_end_in_use, guard_bytes>>() == 0u));
  BOOST_TEST(left_in_classes<checked>() == 2u);
  BOOST_TEST((left_in_classes<hardened_with<may_end_in_use, guard_bytes>>() == 0u));
  BOOST_TEST(left_in_pools_of_objects<checked>() == 0u);
  BOOST_TEST(left_in_pools_of_objects<hardened>() == 0u);
  using meant = checked_with<may_end_in_use>;
  pool<static_size<64>, meant> blocks{meant{"meant"}};
  static_cast<void>(blocks.allocate());
  BOOST_TEST(reports_of("meant").size() == 1u);  // who asks is told
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tarn::test
