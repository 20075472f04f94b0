// The registry: who is in it under which name, what it counts, and how it is written as text.
#include "tarn/allocator/registry.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tarn/allocator/all.h"
#include "tarn/test/support/calling_memory.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

std::optional<pool_record> find(std::string_view name) {
  std::optional<pool_record> found;
  for (const pool_record& one : snapshot())
    if (one.name == name) found = one;
  return found;
}

// ---- who is in it --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_pool_is_in_the_registry_while_it_lives) {
  const std::size_t before = snapshot().size();
  {
    pool<static_size<64>> without;
    CHECK(snapshot().size() == before);
    pool<static_size<64>, named<"orders">> orders;
    CHECK(snapshot().size() == before + 1);
    const auto record = find("orders");
    REQUIRE(record.has_value());
    CHECK(record->address == &orders);
    CHECK(std::string_view(record->policies) == "no_locking, batch_reuse, heap_store");
    CHECK(record->block_size == 64u && record->stride == 64u);
    CHECK(record->in_use == 0u && record->capacity == 0u && record->chunks == 0u && record->where.file == nullptr);
  }
  CHECK(snapshot().size() == before);
}

BOOST_AUTO_TEST_CASE(names_come_at_run_time_too) {
  const std::string text = "of a connection";
  const unsigned line = __LINE__ + 1;
  pool<static_size<24>, mutex_locking<>, run_time_name> p(run_time_name(text.c_str()));
  const auto record = find(text);
  REQUIRE(record.has_value());
  CHECK(record->where.line == line && std::string_view(record->where.file).ends_with("registry_test.cc"));
  pool<static_size<24>, run_time_name> q(run_time_name("elsewhere", call_site("a.cc", 7)));
  CHECK(find("elsewhere")->where.line == 7u);
  const std::string much(100, 'x');  // of which the registry shows the beginning
  pool<static_size<24>, run_time_name> r(run_time_name(much.c_str()));
  CHECK(find(much.substr(0, 63)).has_value());
}

struct tag_of_nothing;
struct order {
  DECLARE_MEMORY_POOL(order)
  int numbers[10];
};

BOOST_AUTO_TEST_CASE(static_pools_and_classes_know_theirs) {
  auto& by_tag = static_pool<tag_of_nothing, static_size<40>>::instance();
  CHECK(!find("tarn::test::{anonymous}::tag_of_nothing") && !find("tarn::test::(anonymous namespace)::tag_of_nothing"));
  void* const one = by_tag.allocate();
  const auto its_name = std::string(detail::name_of_type<tag_of_nothing>::text());
  REQUIRE(find(its_name).has_value());
  CHECK(find(its_name)->in_use == 1u);
  by_tag.deallocate(one);

  auto& by_name = static_pool<struct other_tag, static_size<40>, named<"a name of its own">>::instance();
  by_name.deallocate(by_name.allocate());
  CHECK(find("a name of its own").has_value());

  delete new order;
  bool found = false;
  for (const pool_record& r : snapshot()) found |= std::string_view(r.name).find("order") != std::string_view::npos;
  CHECK(found);
}

BOOST_AUTO_TEST_CASE(size_class_products_name_their_classes) {
  size_class_pool<named<"nodes">> nodes;
  void* const small = nodes.allocate(100);
  void* const large = nodes.allocate(1000);
  CHECK(find("nodes/112").has_value() && find("nodes/1024").has_value());
  CHECK(find("nodes/112")->in_use == 1u);
  nodes.deallocate(small, 100);
  nodes.deallocate(large, 1000);
  object_pool<order, named<"objects">> objects;
  CHECK(find("objects").has_value());
}

// ---- what it counts ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(growths_and_refusals_are_counted) {
  pool<static_size<64>, fixed_growth<10, 25>, named<"small">> p;
  std::vector<void*> blocks;
  while (void* const block = p.try_allocate()) blocks.push_back(block);
  CHECK(p.try_allocate() == nullptr);
  auto record = find("small");
  REQUIRE(record.has_value());
  CHECK(record->in_use == blocks.size() && record->capacity == blocks.size() && record->peak == blocks.size());
  CHECK(record->refused == 2u && record->growths == record->chunks && record->chunks == 3u);
  CHECK(record->bytes_held >= blocks.size() * 64);
  p.deallocate_batch(blocks);
  p.release();
  record = find("small");
  CHECK(record->in_use == 0u && record->capacity == 0u && record->chunks == 0u && record->bytes_held == 0u);
  CHECK(record->growths == 3u && record->refused == 2u && record->peak == blocks.size());
  CHECK(!p.try_reserve_blocks(26));
  CHECK(find("small")->refused == 3u);
}

BOOST_AUTO_TEST_CASE(with_counting_statistics_the_peak_is_exact) {
  pool<static_size<64>, counting_statistics, named<"counted">> p;
  p.deallocate(p.allocate());
  CHECK(find("counted")->peak == 1u && find("counted")->in_use == 0u);
}

BOOST_AUTO_TEST_CASE(blocks_that_wait_in_threads_are_told_apart) {
  pool<static_size<64>, thread_cached<>, named<"cached">> p;
  std::vector<void*> blocks(1000);
  std::barrier step(2);
  std::thread other([&] {
    for (void*& block : blocks) block = p.allocate();
    p.deallocate_batch(std::span(blocks).first(300));
    step.arrive_and_wait();  // at rest
    step.arrive_and_wait();
    p.deallocate_batch(std::span(blocks).subspan(300));
  });
  step.arrive_and_wait();
  const auto record = find("cached");
  CHECK(record->is_exact && record->in_use == 700u && record->waiting >= 300u);
  CHECK(record->peak >= 1000u);
  step.arrive_and_wait();
  other.join();
  CHECK(find("cached")->in_use == 0u);
}

BOOST_AUTO_TEST_CASE(of_a_pool_without_a_lock_another_thread_sees_what_it_noted_last) {
  pool<static_size<64>, named<"confined">> p;
  std::vector<void*> blocks(1000);
  for (void*& block : blocks) block = p.allocate();
  CHECK(find("confined")->is_exact && find("confined")->in_use == 1000u);
  std::optional<pool_record> seen;
  std::thread([&] { seen = find("confined"); }).join();
  REQUIRE(seen.has_value());
  CHECK(!seen->is_exact && seen->in_use >= 1000u && seen->in_use <= 1064u && seen->capacity >= 1000u);
  CHECK(seen->chunks == find("confined")->chunks && seen->bytes_held == find("confined")->bytes_held);
  p.deallocate_batch(blocks);
}

// ---- while pools come and go ---------------------------------------------------------------------------------------------

// The store uses the pool while that ends. So it looks for a block, and must not enter the registry again.
BOOST_AUTO_TEST_CASE(a_pool_that_ends_is_in_no_list_whatever_its_store_does) {
  const alarm_clock limit(60);
  const std::size_t before = snapshot().size();
  test::budget memory(1 << 20);
  std::size_t used = 0;
  {
    std::optional<pool<static_size<64>, mutex_locking<>, resource_store, named<"ends">>> one(std::in_place,
                                                                                            resource_store{&memory});
    one->deallocate(one->allocate());
    memory.on_deallocate = [&](std::size_t) { used += one->try_allocate() == nullptr; };
    one.reset();
    memory.on_deallocate = nullptr;
  }
  CHECK(used != 0);
  CHECK(snapshot().size() == before);
}
template <class Pool>
void come_and_go(std::atomic<int>& working) {
  const std::size_t rounds = std::getenv("TARN_NIGHTLY") != nullptr ? 20'000 : 300;
  std::mt19937_64 random(7);
  for (std::size_t round = 0; round != rounds; ++round) {
    const auto p = std::make_unique<Pool>();
    std::vector<void*> blocks(random() % 300);
    for (void*& block : blocks) block = p->allocate();
    p->deallocate_batch(blocks);
  }
  --working;
}
BOOST_AUTO_TEST_CASE(snapshots_are_right_while_pools_come_and_go) {
  using staying = pool<static_size<64>, mutex_locking<>, named<"stays">>;
  std::array<staying, 20> pools;
  for (std::size_t i = 0; i != pools.size(); ++i) {
    std::vector<void*> blocks(i);
    pools[i].allocate_batch(blocks);
  }
  const std::size_t before = snapshot().size();
  std::atomic<int> working = 4, wrong = 0;
  std::vector<std::thread> threads;
  threads.emplace_back([&] { come_and_go<pool<static_size<64>, named<"comes">>>(working); });
  threads.emplace_back([&] { come_and_go<pool<static_size<32>, mutex_locking<>, named<"comes">>>(working); });
  threads.emplace_back([&] { come_and_go<pool<static_size<64>, thread_cached<>, named<"comes">>>(working); });
  threads.emplace_back([&] { come_and_go<pool<static_size<24>, lock_free, named<"comes">>>(working); });
  const auto look = [&] {
    do {
      std::size_t in_use = 0, stay = 0;
      for (const pool_record& r : snapshot())
        if (std::string_view(r.name) == "stays") ++stay, in_use += r.in_use;
      wrong += stay != pools.size() || in_use != 190;
    } while (working != 0);
  };
  threads.emplace_back(look);
  look();
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(snapshot().size() == before);
}

BOOST_AUTO_TEST_CASE(a_buffer_that_is_too_small_is_filled) {
  pool<static_size<64>, named<"first">> first;
  pool<static_size<64>, named<"second">> second;
  pool_record some[1];
  const std::size_t all = snapshot().size();
  CHECK(snapshot(some) == all && all >= 2u);
  CHECK(some[0].name[0] != 0);
  CHECK(snapshot(span<pool_record>()) == all);
}

// ---- text ----------------------------------------------------------------------------------------------------------------

pool_record written() {
  pool_record r;
  const char name[] = "a \"b\"\\\n\x01 caf\xC3\xA9 \xFF\xE2\x82";
  std::copy(std::begin(name), std::end(name), r.name);
  r.policies[0] = 'p';
  r.address = reinterpret_cast<const void*>(std::uintptr_t{0x1f0});
  r.where = call_site("a.cc", 12);
  r.block_size = 64, r.stride = 80, r.in_use = 1, r.peak = 2, r.waiting = 3, r.capacity = 100, r.chunks = 2;
  r.bytes_held = 8192, r.growths = 5, r.refused = 6, r.is_exact = true;
  return r;
}

BOOST_AUTO_TEST_CASE(as_json) {
  const pool_record r[] = {written()};
  BOOST_TEST(to_json(r) ==
             "{\"version\":1,\"pools\":[\n"
             "{\"name\":\"a \\\"b\\\"\\\\\\u000a\\u0001 caf\xC3\xA9 \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\",\"policies\":\"p\","
             "\"address\":\"0x1f0\",\"file\":\"a.cc\",\"line\":12,\"block_size\":64,\"stride\":80,\"in_use\":1,\"peak\":2,"
             "\"waiting\":3,\"capacity\":100,\"chunks\":2,\"bytes_held\":8192,\"growths\":5,\"refused\":6,\"is_exact\":true}\n"
             "]}\n");
  BOOST_TEST(to_json(span<const pool_record>()) == "{\"version\":1,\"pools\":[\n]}\n");
}

BOOST_AUTO_TEST_CASE(for_prometheus) {
  const pool_record r[] = {written()};
  const std::string text = to_prometheus(r);
  const std::string labels = "{pool=\"a \\\"b\\\"\\\\\\n\x01 caf\xC3\xA9 \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\",id=\"0x1f0\"} ";
  BOOST_TEST(text.find("# TYPE tarn_pool_blocks_in_use gauge\ntarn_pool_blocks_in_use" + labels + "1\n") != std::string::npos);
  BOOST_TEST(text.find("# TYPE tarn_pool_refused_total counter\ntarn_pool_refused_total" + labels + "6\n") !=
             std::string::npos);
  BOOST_TEST(text.find("# EOF") == std::string::npos);
  const std::string open = to_open_metrics(r);
  BOOST_TEST(open.find("# TYPE tarn_pool_refused counter\ntarn_pool_refused_total" + labels + "6\n") != std::string::npos);
  BOOST_TEST(open.ends_with("\n# EOF\n"));
}

BOOST_AUTO_TEST_CASE(slabinfo_has_its_columns_whatever_the_name) {
  struct named_oddly {
    const char *name, *column;
  };
  for (const auto& [name, column] : {named_oddly{"", "-"}, named_oddly{" ", "_"}, named_oddly{"a b\tc\r\n\v\f", "a_b_c____"},
                                     named_oddly{"\x1b[1m\x7f", "_[1m_"}, named_oddly{"#a#", "_a#"}, named_oddly{"-", "-"},
                                     named_oddly{"a\xC2\xA0\xC2\x85\xC2\x9B" "b", "a___b"},  // U+A0, U+85, U+9B
                                     named_oddly{"\xE2\x80\xA8\xE3\x80\x80\xE1\x9A\x80\xE2\x80\x83", "____"},
                                     named_oddly{"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\u00E9\u20AC\U0001F600"}}) {
    pool_record its = written();
    std::snprintf(its.name, sizeof its.name, "%s", name);
    const pool_record r[] = {its};
    const std::string text = to_slabinfo(r);
    BOOST_TEST(text.starts_with("slabinfo - version: 2.1\n# name "));
    const std::string line = text.substr(text.rfind('\n', text.size() - 2) + 1);
    BOOST_TEST(line == column + std::string(" 1 100 80 50 1 : tunables 0 0 0 : slabdata 2 2 0\n"));
  }
}

BOOST_AUTO_TEST_CASE(a_buffer_gets_what_it_has_room_for) {
  const pool_record r[] = {written(), written()};
  const std::string whole = to_json(r);
  for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{100}, whole.size() - 1, whole.size()}) {
    std::string buffer(whole.size() + 1, '#');
    CHECK(to_json(r, span<char>(buffer.data(), room)) == whole.size());
    CHECK(buffer == whole.substr(0, room) + std::string(buffer.size() - room, '#'));
  }
}

}  // namespace
}  // namespace tarn::test
