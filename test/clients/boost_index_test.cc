// Boost.MultiIndex and Boost.Unordered with tarn's allocators and resources, beside searches of the standard's containers.
#include <boost/test/unit_test.hpp>

#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/key_extractors.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <boost/multi_index_container.hpp>
#include <boost/unordered_map.hpp>
#include <boost/unordered_set.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tarn/test/clients/document.h"

namespace tarn::test {
namespace {

namespace mi = boost::multi_index;

// ---- Boost.MultiIndex -------------------------------------------------------------------------------------------------------

struct record {
  int code;
  tarn::string category;
  tarn::string name;
  bool operator==(const record&) const = default;
};
struct by_order {};
struct by_code {};
struct by_name {};
struct by_category {};
struct by_length {};

struct length_of {
  using result_type = std::size_t;
  std::size_t operator()(const record& r) const { return r.name.size(); }
};

template <class Way>
using table = mi::multi_index_container<
    record,
    mi::indexed_by<
        mi::sequenced<mi::tag<by_order>>, mi::ordered_unique<mi::tag<by_code>, mi::member<record, int, &record::code>>,
        mi::hashed_unique<mi::tag<by_name>, mi::member<record, tarn::string, &record::name>, std::hash<tarn::string>>,
        mi::ordered_non_unique<mi::tag<by_category>, mi::member<record, tarn::string, &record::category>>,
        mi::hashed_non_unique<mi::tag<by_length>, length_of, std::hash<std::size_t>>>,
    from<Way, record>>;

template <class Way>
void index_all_characters(called_from = {}) {
  Way way;
  {
    table<Way> all(typename table<Way>::ctor_args_list(), way.get());
    std::map<int, character> twin;
    for (const character& c : characters()) {
      const auto [at, added] = all.push_back({c.code, tarn::string(c.category), tarn::string(c.name)});
      REQUIRE(added);
      twin.emplace(c.code, c);
    }
    CHECK(all.size() == characters().size() && all.size() > 30000);
    CHECK(!all.push_back({65, "Lu", "another A"}).second && !all.push_back({-1, "Lu", "LATIN CAPITAL LETTER A"}).second);

    const auto agree = [&] {
      // Each index against the twin: the order of codes, each name, how many there are of each category and length.
      const auto& codes = all.template get<by_code>();
      CHECK(std::equal(codes.begin(), codes.end(), twin.begin(), twin.end(), [](const record& r, const auto& t) {
        return r.code == t.first && std::string_view(r.name) == std::string_view(t.second.name) &&
               std::string_view(r.category) == std::string_view(t.second.category);
      }));
      std::map<std::string, std::size_t> categories;
      std::map<std::size_t, std::size_t> lengths;
      const auto& names = all.template get<by_name>();
      for (const auto& [code, c] : twin) {
        ++categories[c.category], ++lengths[c.name.size()];
        const auto found = names.find(tarn::string(c.name));
        REQUIRE(found != names.end() && found->code == code);
      }
      CHECK(categories.size() > 20 && lengths.size() > 50);
      for (const auto& [category, n] : categories) CHECK(all.template get<by_category>().count(tarn::string(category)) == n);
      for (const auto& [length, n] : lengths) CHECK(all.template get<by_length>().count(length) == n);
      CHECK(all.size() == twin.size());
    };
    agree();

    // Erased by one index, they are gone from all.
    auto& by_categories = all.template get<by_category>();
    const std::size_t letters = by_categories.erase("Lo");
    CHECK(letters == std::erase_if(twin, [](const auto& t) { return t.second.category == "Lo"; }) && letters > 5000);
    agree();

    // Changed in place, they move to where they belong; a change to a key that is taken is refused.
    auto& codes = all.template get<by_code>();
    std::size_t changed = 0;
    for (auto i = codes.begin(); i != codes.end(); ++i)
      if (i->code % 5 == 0) {
        CHECK(codes.modify(i, [](record& r) { r.name += " (changed)", r.category = "Xx"; }));
        twin[i->code].name += " (changed)";
        twin[i->code].category = "Xx";
        ++changed;
      }
    CHECK(changed > 2000);
    const auto a = codes.find(66);
    CHECK(a != codes.end() && !codes.modify_key(a, [](int& code) { code = 67; }, [](int& code) { code = 66; }));
    agree();

    // Copies, moves and assignments.
    table<Way> copy(all.begin(), all.end(), typename table<Way>::ctor_args_list(), way.get());
    CHECK(copy == all);
    copy.template get<by_order>().reverse();
    CHECK(copy.front().code == all.back().code && copy != all);
    table<Way> moved(std::move(copy));
    moved.template get<by_order>().sort([](const record& x, const record& y) { return x.name < y.name; });
    CHECK(moved.front().name < moved.back().name && moved.size() == all.size());
    all.swap(moved);
    agree();
    moved.clear();
    CHECK(moved.empty() && moved.template get<by_length>().empty());
  }
  CHECK(way.idle());
}

BOOST_AUTO_TEST_CASE(multi_index_by_stl_allocator) { index_all_characters<by_stl_allocator>(); }
BOOST_AUTO_TEST_CASE(multi_index_by_std_pmr) { index_all_characters<by_std_pmr>(); }

// ---- Boost.Unordered --------------------------------------------------------------------------------------------------------

/// How often each word stands in the names, and where.
template <class Way>
void count_words(called_from = {}) {
  Way way;
  {
    using text = std::basic_string<char, std::char_traits<char>, from<Way, char>>;
    struct hash {
      std::size_t operator()(const text& t) const { return std::hash<std::string_view>()(t); }
    };
    using counts =
        boost::unordered_map<text, std::size_t, hash, std::equal_to<text>, from<Way, std::pair<const text, std::size_t>>>;
    using places = boost::unordered_multimap<text, int, hash, std::equal_to<text>, from<Way, std::pair<const text, int>>>;
    using codes = boost::unordered_set<int, boost::hash<int>, std::equal_to<int>, from<Way, int>>;
    counts words{typename counts::allocator_type(way.get())};
    places where{typename places::allocator_type(way.get())};
    codes seen{typename codes::allocator_type(way.get())};
    std::unordered_map<std::string, std::size_t> twin;
    std::size_t all = 0;
    for (const character& c : characters()) {
      for (std::size_t from = 0, to = 0; from < c.name.size(); from = to + 1) {
        to = std::min(c.name.find(' ', from), c.name.size());
        const std::string word = c.name.substr(from, to - from);
        const text ours(word.data(), word.size(), way.get());
        ++twin[word];
        ++words.try_emplace(ours, 0).first->second;
        where.emplace(ours, c.code);
        ++all;
      }
      seen.insert(c.code), seen.insert(c.code / 2);
    }
    const auto same = [&](const counts& c) {
      return c.size() == twin.size() && std::all_of(twin.begin(), twin.end(), [&](const auto& t) {
               const auto found = c.find(text(t.first.data(), t.first.size(), way.get()));
               return found != c.end() && found->second == t.second;
             });
    };
    CHECK(same(words) && words.size() > 9000 && where.size() == all && all > 100000);
    for (const auto& [word, n] : twin) CHECK(where.count(text(word.data(), word.size(), way.get())) == n);
    CHECK(seen.count(65) == 1 && seen.size() > characters().size());

    std::erase_if(twin, [](const auto& t) { return t.first.size() == 5; });
    for (auto i = words.begin(); i != words.end();)
      if (i->first.size() == 5) i = words.erase(i);
      else ++i;
    CHECK(same(words));
    counts copy(words, typename counts::allocator_type(way.get()));
    words.rehash(100000);
    CHECK(same(copy) && same(words) && copy == words);
    copy.clear();
    copy.rehash(0);
    for (auto i = words.begin(); i != words.end();) {  // node by node
      auto next = std::next(i);
      copy.insert(words.extract(i));
      i = next;
    }
    CHECK(same(copy) && words.empty());
    counts moved(std::move(copy));
    words = std::move(moved);
    CHECK(same(words));
    swap(words, copy);
    CHECK(same(copy));
  }
  CHECK(way.idle());
}

BOOST_AUTO_TEST_CASE(unordered_by_stl_allocator) { count_words<by_stl_allocator>(); }
BOOST_AUTO_TEST_CASE(unordered_by_std_pmr) { count_words<by_std_pmr>(); }

}  // namespace
}  // namespace tarn::test
