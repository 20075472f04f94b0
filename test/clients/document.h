// The document that unicode_document.py writes, for tests that are given its files as arguments: TEST -- JSON TABLE.
#ifndef TARN_TEST_CLIENTS_DOCUMENT_H_
#define TARN_TEST_CLIENTS_DOCUMENT_H_

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::test {

inline std::string read_file(int argument) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  if (suite.argc <= argument) throw std::runtime_error("usage: TEST -- JSON TABLE");
  std::ifstream file(suite.argv[argument], std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.view().empty()) throw std::runtime_error(std::string("cannot read ") + suite.argv[argument]);
  return std::move(text).str();
}

/// The document as it is written.
inline const std::string& document() {
  static const std::string text = read_file(1);
  return text;
}

/// A line of the table.
struct character {
  int code;
  std::string category;
  std::string name;
};

inline const std::vector<character>& characters() {
  static const std::vector<character> all = [] {
    std::vector<character> found;
    std::istringstream lines(read_file(2));
    for (std::string code, category, name;
         std::getline(lines, code, '\t') && std::getline(lines, category, '\t') && std::getline(lines, name);)
      found.push_back({std::stoi(code), category, name});
    return found;
  }();
  return all;
}

}  // namespace tarn::test

#endif  // TARN_TEST_CLIENTS_DOCUMENT_H_
