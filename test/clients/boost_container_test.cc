// Boost.Container's containers with tarn's allocators and resources, beside the standard's, on all characters of Unicode.
#include <boost/test/unit_test.hpp>

#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/pmr/memory_resource.hpp>
#include <boost/container/set.hpp>
#include <boost/container/slist.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory_resource>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/clients/document.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

namespace bc = boost::container;

// ---- three ways to tarn: each has an allocator template, makes one, and knows whether everything came back -----------------

struct by_stl_allocator {
  template <class T>
  using allocator = stl_allocator<T>;
  allocator<char> get() { return {}; }
  bool idle() { return true; }  // the pool is everyone's
};

struct by_source {
  template <class T>
  using allocator = stl_allocator<T, size_class_pool<resource_store>>;
  upstream regions;
  size_class_pool<resource_store> pool{resource_store{&regions}};
  allocator<char> get() { return pool; }
  bool idle(called_from = {}) {
    pool.trim();
    std::size_t held = 0;
    pool.each_pool([&](std::size_t, auto& of_class) { held += of_class.capacity(); });
    return held == 0 && pool.large().blocks == 0;
  }
};
/// Boost has memory resources of its own, of the same kind.
class for_boost final : public bc::pmr::memory_resource {
 public:
  explicit for_boost(std::pmr::memory_resource& resource) : resource_(resource) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++out_;
    return resource_.allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    --out_;
    resource_.deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const bc::pmr::memory_resource& other) const BOOST_NOEXCEPT override { return this == &other; }
  std::pmr::memory_resource& resource_;
  std::ptrdiff_t out_ = 0;

 public:
  std::ptrdiff_t out() const { return out_; }
};
struct by_boost_pmr {
  template <class T>
  using allocator = stl_allocator<T, bc::pmr::memory_resource>;  // Boost's polymorphic_allocator wants a library to be linked
  upstream regions;
  pmr::unsynchronized_pool_resource resource{&regions};
  for_boost adapted{resource};
  allocator<char> get() { return static_cast<bc::pmr::memory_resource&>(adapted); }
  bool idle(called_from = {}) {
    BOOST_TEST(regions.calls() > 0u);
    const bool all_back = adapted.out() == 0;
    resource.release();
    return all_back && regions.regions() == 0 && regions.faults() == 0;
  }
};

// ---- what is done -----------------------------------------------------------------------------------------------------------

template <class Way, class T>
using from = typename Way::template allocator<T>;

template <class Way>
using text = bc::basic_string<char, std::char_traits<char>, from<Way, char>>;

template <class A, class B>
bool same_text(const A& a, const B& b) {
  return std::string_view(a.data(), a.size()) == std::string_view(b.data(), b.size());
}

/// Name to code: filled, thinned, changed, searched, copied; ordered as the standard's map is.
template <class Map, class Way>
void fill_map(Way& way, std::size_t step = 3, called_from = {}) {
  using string = text<Way>;
  Map map((typename Map::allocator_type(way.get())));
  std::map<std::string, int> twin;
  const auto key = [&](const std::string& name) { return string(name.data(), name.size(), way.get()); };
  const auto same = [](const Map& m, const std::map<std::string, int>& t) {
    return std::equal(m.begin(), m.end(), t.begin(), t.end(),
                      [](const auto& a, const auto& b) { return same_text(a.first, b.first) && a.second == b.second; });
  };
  const std::vector<character>& all = characters();
  for (std::size_t i = 0; i < all.size(); i += step) {
    map.emplace(key(all[i].name), all[i].code);
    twin.emplace(all[i].name, all[i].code);
  }
  CHECK(map.size() == all.size() / step + (all.size() % step != 0) && map.size() > 3000);
  CHECK(same(map, twin));
  std::size_t erased = 0;
  for (std::size_t i = 0; i < all.size(); i += 3 * step) {
    erased += map.erase(key(all[i].name));
    twin.erase(all[i].name);
  }
  CHECK(erased > 1000);
  for (std::size_t i = 0; i < all.size(); i += 2 * step) {
    const auto found = map.find(key(all[i].name));
    const auto expected = twin.find(all[i].name);
    REQUIRE((found == map.end()) == (expected == twin.end()));
    if (found != map.end()) found->second = expected->second = -all[i].code;
  }
  CHECK(same(map, twin));
  Map copy(map, typename Map::allocator_type(way.get()));
  Map moved(std::move(map));
  CHECK(same(copy, twin) && same(moved, twin));
  copy.clear();
  for (const auto& [name, code] : twin)
    if (code % 2 == 0) copy.emplace(key(name), code);
  std::erase_if(twin, [](const auto& entry) { return entry.second % 2 != 0; });
  CHECK(same(copy, twin) && !twin.empty());
  swap(copy, moved);
  CHECK(same(moved, twin) && copy.size() > moved.size());
  moved = std::move(copy);
  CHECK(moved.size() > twin.size());
}

/// Category and code.
template <class Set, class Twin, class Way>
void fill_set(Way& way, called_from = {}) {
  Set set((typename Set::allocator_type(way.get())));
  Twin twin;
  for (const character& c : characters()) {
    const int key = static_cast<int>(c.name.size()) * 64 + c.category[0];
    set.insert(key), twin.insert(key);
  }
  const auto same = [](const Set& s, const Twin& t) { return std::equal(s.begin(), s.end(), t.begin(), t.end()); };
  CHECK(same(set, twin) && set.size() > 300);
  for (int key = 0; key < 7000; key += 3) CHECK(set.erase(key) == twin.erase(key));
  Set other(set, typename Set::allocator_type(way.get()));
  for (int key = 0; key < 3000; ++key) other.insert(key), twin.insert(key);
  CHECK(same(other, twin));
  set = std::move(other);
  CHECK(same(set, twin) && set.size() > 3000);
}

/// Names in a row.
template <class Sequence, class Way>
void fill_sequence(Way& way, called_from = {}) {
  using string = text<Way>;
  Sequence s((typename Sequence::allocator_type(way.get())));
  std::list<std::string> twin;
  std::size_t i = 0;
  for (const character& c : characters()) {
    if (++i % 8 != 0) continue;
    string name(c.name.data(), c.name.size(), way.get());
    if constexpr (requires { s.push_back(std::move(name)); }) {
      s.push_back(std::move(name));
      twin.push_back(c.name);
    } else {
      s.push_front(std::move(name));
      twin.push_front(c.name);
    }
  }
  const auto same = [&](const Sequence& x) {
    return std::equal(x.begin(), x.end(), twin.begin(), twin.end(),
                      [](const auto& a, const auto& b) { return same_text(a, b); });
  };
  CHECK(same(s) && s.size() > 4000);
  Sequence copy(s, typename Sequence::allocator_type(way.get()));
  CHECK(same(copy));
  const auto before = [](const auto& a, const auto& b) {
    return std::string_view(a.data(), a.size()) < std::string_view(b.data(), b.size());
  };
  if constexpr (requires { s.sort(before); }) s.sort(before);
  else std::sort(s.begin(), s.end(), before);
  twin.sort();
  CHECK(same(s) && !same(copy));
  const auto short_enough = [](const auto& t) { return t.size() < 20; };
  if constexpr (requires { s.remove_if(short_enough); }) s.remove_if(short_enough);
  else s.erase(std::remove_if(s.begin(), s.end(), short_enough), s.end());
  twin.remove_if(short_enough);
  CHECK(same(s) && s.size() > 2500 && s.size() < copy.size());
  for (string& t : s) t += " and a tail that makes it longer";
  for (std::string& t : twin) t += " and a tail that makes it longer";
  copy = std::move(s);
  CHECK(same(copy));
  s = Sequence(typename Sequence::allocator_type(way.get()));
  swap(s, copy);
  CHECK(same(s) && copy.empty());
}

template <class Way>
using entry = std::pair<const text<Way>, int>;
template <class Way>
using flat_entry = std::pair<text<Way>, int>;

template <class Way>
void trees(called_from = {}) {
  Way way;
  using less = std::less<text<Way>>;
  fill_map<bc::map<text<Way>, int, less, from<Way, entry<Way>>>>(way);
  fill_map<bc::map<text<Way>, int, less, from<Way, entry<Way>>, bc::tree_assoc_options<bc::tree_type<bc::avl_tree>>::type>>(
      way);
  fill_set<bc::set<int, std::less<int>, from<Way, int>>, std::set<int>>(way);
  fill_set<bc::multiset<int, std::less<int>, from<Way, int>>, std::multiset<int>>(way);
  CHECK(way.idle());
}
template <class Way>
void flats(called_from = {}) {
  Way way;
  using less = std::less<text<Way>>;
  fill_map<bc::flat_map<text<Way>, int, less, from<Way, flat_entry<Way>>>>(way, 8);
  fill_set<bc::flat_set<int, std::less<int>, from<Way, int>>, std::set<int>>(way);
  CHECK(way.idle());
}
template <class Way>
void sequences(called_from = {}) {
  Way way;
  fill_sequence<bc::list<text<Way>, from<Way, text<Way>>>>(way);
  fill_sequence<bc::slist<text<Way>, from<Way, text<Way>>>>(way);
  fill_sequence<bc::vector<text<Way>, from<Way, text<Way>>>>(way);
  fill_sequence<bc::deque<text<Way>, from<Way, text<Way>>>>(way);
  fill_sequence<bc::stable_vector<text<Way>, from<Way, text<Way>>>>(way);
  fill_sequence<bc::small_vector<text<Way>, 8, from<Way, text<Way>>>>(way);
  CHECK(way.idle());
}

BOOST_AUTO_TEST_CASE(the_characters_are_there) {
  BOOST_TEST(characters().size() > 30000u);
  BOOST_TEST(characters()[33].name == "LATIN CAPITAL LETTER A");
  BOOST_TEST(characters()[33].code == 65);
}

BOOST_AUTO_TEST_CASE(trees_by_stl_allocator) { trees<by_stl_allocator>(); }
BOOST_AUTO_TEST_CASE(trees_by_source) { trees<by_source>(); }
BOOST_AUTO_TEST_CASE(trees_by_boost_pmr) { trees<by_boost_pmr>(); }
BOOST_AUTO_TEST_CASE(flats_by_stl_allocator) { flats<by_stl_allocator>(); }
BOOST_AUTO_TEST_CASE(sequences_by_stl_allocator) { sequences<by_stl_allocator>(); }
BOOST_AUTO_TEST_CASE(sequences_by_source) { sequences<by_source>(); }
BOOST_AUTO_TEST_CASE(sequences_by_boost_pmr) { sequences<by_boost_pmr>(); }

}  // namespace
}  // namespace tarn::test
