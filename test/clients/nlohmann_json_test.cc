// A JSON library whose objects, arrays, strings and bytes are all tarn's, beside the same library with the standard's, on a
// real document: parsed, walked, edited, written and read again, both hold the same.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/test/clients/document.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

// The library wants an allocator template of one argument, and strict compilers take it at its word.
template <class T>
using one_argument = stl_allocator<T>;

using json = nlohmann::basic_json<tarn::map, tarn::vector, tarn::string, bool, std::int64_t, std::uint64_t, double,
                                  one_argument, nlohmann::adl_serializer, tarn::vector<std::uint8_t>>;
using twin = nlohmann::json;

template <class C>
constexpr bool is_ours = std::is_same_v<typename C::allocator_type, stl_allocator<typename C::value_type>>;
static_assert(is_ours<json::object_t> && is_ours<json::array_t> && is_ours<json::string_t> &&
              is_ours<json::binary_t::container_type> && is_ours<json>);
static_assert(!is_ours<twin::object_t>);

template <class Json>
Json parse() {
  return Json::parse(document());
}

/// Whether both hold the same, and how many values that was.
bool same(const json& a, const twin& b, std::size_t& values) {
  ++values;
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_object()) {
    auto i = a.begin();
    for (auto j = b.begin(); j != b.end(); ++i, ++j)
      if (std::string_view(i.key()) != std::string_view(j.key()) || !same(*i, *j, values)) return false;
    return true;
  }
  if (a.is_array()) {
    auto i = a.begin();
    for (const twin& inner : b)
      if (!same(*i++, inner, values)) return false;
    return true;
  }
  if (a.is_string())
    return std::string_view(a.get_ref<const tarn::string&>()) == std::string_view(b.get_ref<const std::string&>());
  if (a.is_boolean()) return a.get<bool>() == b.get<bool>();
  if (a.is_number_float()) return a.get<double>() == b.get<double>();
  return a.is_null() || a.get<std::int64_t>() == b.get<std::int64_t>();
}

/// Parsed once for the cases that only read.
const json& ours() {
  static const json value = parse<json>();
  return value;
}
const twin& theirs() {
  static const twin value = parse<twin>();
  return value;
}

BOOST_AUTO_TEST_CASE(it_holds_what_the_twin_holds) {
  std::size_t values = 0;
  BOOST_TEST(document().size() > 3'000'000u);
  BOOST_TEST(same(ours(), theirs(), values));
  BOOST_TEST(values > 250000u);
  const json& a = ours()["characters"][33];
  BOOST_TEST(a.at("char").get<tarn::string>() == "A");
  BOOST_TEST(a.value("name", tarn::string()) == "LATIN CAPITAL LETTER A");
  BOOST_TEST(a.at("category") == "Lu");
  BOOST_CHECK_THROW((void)a.at("nothing"), json::out_of_range);
  BOOST_TEST(ours().at(json::json_pointer("/characters/33/code")) == 65);
}

BOOST_AUTO_TEST_CASE(written_and_read_again_it_is_the_same) {
  const tarn::string text = ours().dump();
  BOOST_TEST((std::string_view(text) == std::string_view(theirs().dump())));
  BOOST_TEST(text.size() > 3'000'000u);
  BOOST_TEST((json::parse(text) == ours()));
  for (const char* const part : {"words", "categories"}) {
    const std::vector<std::uint8_t> packed = json::to_msgpack(ours()[part]);
    BOOST_TEST((packed == twin::to_msgpack(theirs()[part])));
    BOOST_TEST(packed.size() > 50'000u);
    std::size_t values = 0;  // the library's binary readers make standard strings only
    BOOST_TEST(same(ours()[part], twin::from_msgpack(packed), values));
  }
}

/// The same edits for both, in terms of the library only.
template <class Json>
Json edited(Json value) {
  using array = typename Json::array_t;
  using string = typename Json::string_t;
  Json& all = value["characters"];
  // Keeps every second character, takes the letters out, and every second digit's number.
  array& characters = all.template get_ref<array&>();
  bool second = false;
  std::erase_if(characters, [&](const Json&) { return (second = !second); });
  array letters;
  for (Json& c : characters)
    if (c["category"] == "Lu") letters.push_back(std::move(c));
  std::erase_if(characters, [](const Json& c) { return c.is_null(); });
  bool odd = false;
  for (Json& c : characters)
    if (c.contains("numeric") && (odd = !odd)) c.erase("numeric");
  // Longer, shorter and other strings.
  for (std::size_t i = 0; i < characters.size(); i += 3) {
    string& name = characters[i]["name"].template get_ref<string&>();
    if (i % 2 == 0) name.append(" - ").append(name);
    else name.resize(name.size() / 2);
    characters[i]["note"] = {{"was", i}, {"kept", {true, nullptr, 0.25, "a text"}}};
  }
  std::sort(letters.begin(), letters.end(), [](const Json& a, const Json& b) { return a["name"] > b["name"]; });
  value["letters"] = std::move(letters);
  // An index by name of everything in one category, objects moved and copied across.
  Json& index = value["index"];
  for (const Json& c : characters)
    if (c["category"] == "Po") index[c["name"].template get<string>()] = c;
  value.erase("words");
  value["categories"].update({{"Lu", Json::array()}, {"new", "here"}});
  value["categories"]["Ll"].swap(value["categories"]["Nd"]);
  value["nested"]["deep"]["deeper"] = value["categories"];
  value["characters"].insert(value["characters"].begin() + 10, 100, Json{{"filler", string(50, '-')}});
  value.merge_patch({{"categories", {{"Zs", nullptr}}}, {"unicode", {{"version", value["unicode"]}}}});
  return value;
}

BOOST_AUTO_TEST_CASE(edited_it_is_still_what_the_twin_is) {
  const json a = edited(ours());
  const twin b = edited(theirs());
  std::size_t values = 0;
  BOOST_TEST(same(a, b, values));
  BOOST_TEST(values > 150000u);
  BOOST_TEST(a["letters"].size() > 800u);
  BOOST_TEST(a["index"].size() > 200u);
  BOOST_TEST(!a["categories"].contains("Zs"));
  BOOST_TEST((a != ours()));
  BOOST_TEST((json::parse(a["letters"].dump(2)) == a["letters"]));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_leaves_nothing_behind) {
  const std::string_view text(document());
  for (const std::size_t end : {100u, 5000u, 77777u, 300000u}) {
    BOOST_CHECK_THROW(const json value = json::parse(text.substr(0, end)), json::parse_error);
    BOOST_TEST(json::parse(text.substr(0, end), nullptr, false).is_discarded());
  }
}

BOOST_AUTO_TEST_CASE(read_in_one_thread_it_ends_in_another) {
  const std::string text = [] {
    twin part = twin::array();
    for (std::size_t i = 0; i < 2000; ++i) part.push_back(theirs()["characters"][i * 10]);
    return part.dump();
  }();
  json made[2];
  std::size_t sizes[2] = {};
  const auto both = [&](auto work) {
    std::thread first(work, 0u), second(work, 1u);
    first.join(), second.join();
  };
  for (int round = 0; round < 2; ++round) {
    both([&](std::size_t i) { made[i] = json::parse(text); });
    both([&](std::size_t i) {
      const json got = std::move(made[1 - i]);
      sizes[i] += got.dump().size();
    });
  }
  BOOST_TEST(sizes[0] == text.size() * 2);
  BOOST_TEST(sizes[1] == text.size() * 2);
  BOOST_TEST(text.size() > 150000u);
}

}  // namespace
}  // namespace tarn::test
