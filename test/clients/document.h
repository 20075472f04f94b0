// What the clients share: ways to tarn, and the document that unicode_document.py writes, for tests that are given its files as
// arguments: TEST -- JSON TABLE.
#ifndef TARN_TEST_CLIENTS_DOCUMENT_H_
#define TARN_TEST_CLIENTS_DOCUMENT_H_

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <memory_resource>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

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
  std::string bidirectional;
  std::string name;
};

inline const std::vector<character>& characters() {
  static const std::vector<character> all = [] {
    std::vector<character> found;
    std::istringstream lines(read_file(2));
    for (std::string code, category, bidirectional, name;
         std::getline(lines, code, '\t') && std::getline(lines, category, '\t') && std::getline(lines, bidirectional, '\t') &&
         std::getline(lines, name);)
      found.push_back({std::stoi(code), category, bidirectional, name});
    return found;
  }();
  return all;
}

// ---- two ways to tarn: each has an allocator template, makes one, and knows whether everything came back --------------------

struct by_stl_allocator {
  template <class T>
  using allocator = stl_allocator<T>;
  allocator<char> get() { return {}; }
  bool idle() { return true; }  // the pool is everyone's
};
/// The resource behind the allocators gives and takes through an upstream that checks every block.
struct by_std_pmr {
  template <class T>
  using allocator = std::pmr::polymorphic_allocator<T>;
  upstream regions;
  pmr::unsynchronized_pool_resource resource{&regions};
  allocator<char> get() { return &resource; }
  bool idle(called_from = {}) {
    BOOST_TEST(regions.calls() > 0u);
    resource.release();
    return regions.regions() == 0 && regions.faults() == 0;
  }
};
template <class Way, class T>
using from = typename Way::template allocator<T>;

}  // namespace tarn::test

#endif  // TARN_TEST_CLIENTS_DOCUMENT_H_
