// The list of chunks to carve: what it does, and in how many steps.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <vector>

#include "tarn/allocator/detail/core/chunk.h"

namespace {

struct chunk;
/// A link that counts how often it is read.
struct counted_link {
  static inline std::size_t reads = 0;
  chunk* to = nullptr;

  counted_link& operator=(chunk* c) noexcept {
    to = c;
    return *this;
  }
  operator chunk*() const noexcept {
    ++reads;
    return to;
  }
  chunk* operator->() const noexcept { return *this; }
};
struct chunk {
  counted_link next;
  counted_link* link_to_it = nullptr;
  std::size_t carved = 0;
};
using list = tarn::detail::carving_list<chunk, counted_link>;

std::vector<const chunk*> content(const list& l) {
  std::vector<const chunk*> all;
  for (const chunk* c = l.first(); c != nullptr; c = c->next) all.push_back(c);
  return all;
}

BOOST_AUTO_TEST_CASE(the_newest_is_first_and_any_can_go) {
  std::vector<chunk> chunks(5);
  list l;
  BOOST_TEST(l.first() == nullptr);
  for (chunk& c : chunks) l.push(c);
  const chunk* const c = chunks.data();
  BOOST_TEST(content(l) == (std::vector{c + 4, c + 3, c + 2, c + 1, c}), boost::test_tools::per_element());
  l.remove(chunks[2]);
  l.remove(chunks[4]);
  l.remove(chunks[0]);
  BOOST_TEST(content(l) == (std::vector{c + 3, c + 1}), boost::test_tools::per_element());
  l.push(chunks[2]);
  l.remove(chunks[3]);
  BOOST_TEST(content(l) == (std::vector{c + 2, c + 1}), boost::test_tools::per_element());
  l.forget();
  BOOST_TEST(l.first() == nullptr);
}

BOOST_AUTO_TEST_CASE(one_that_was_used_stays_first) {
  std::vector<chunk> chunks(4);
  list l;
  BOOST_TEST(!l.has_untouched());
  for (std::size_t i = 0; i != 3; ++i) {
    l.push(chunks[i]);
    chunks[i].carved = i == 0 ? 1 : 0;
    BOOST_TEST(l.has_untouched() == (i != 0));
  }
  const chunk* const c = chunks.data();
  BOOST_TEST(content(l) == (std::vector{c, c + 2, c + 1}), boost::test_tools::per_element());
  chunks[3].carved = 1;  // one that comes back
  l.push(chunks[3]);
  BOOST_TEST(content(l) == (std::vector{c + 3, c, c + 2, c + 1}), boost::test_tools::per_element());
  for (const std::size_t i : {3u, 2u, 1u}) l.remove(chunks[i]);
  BOOST_TEST(content(l) == std::vector{c}, boost::test_tools::per_element());
  BOOST_TEST(!l.has_untouched());
}

BOOST_AUTO_TEST_CASE(neighbours_go_one_after_the_other) {
  std::vector<chunk> chunks(5);
  list l;
  for (chunk& c : chunks) l.push(c);
  const chunk* const c = chunks.data();
  for (const std::size_t i : {3u, 2u, 1u}) l.remove(chunks[i]);
  BOOST_TEST(content(l) == (std::vector{c + 4, c}), boost::test_tools::per_element());
  for (const std::size_t i : {4u, 0u}) l.remove(chunks[i]);
  BOOST_TEST(l.first() == nullptr);
}

/// Links that are read while all chunks go, the oldest first.
std::size_t steps(std::size_t n) {
  std::vector<chunk> chunks(n);
  list l;
  for (chunk& c : chunks) l.push(c);
  counted_link::reads = 0;
  for (chunk& c : chunks) l.remove(c);
  BOOST_TEST(l.first() == nullptr);
  return counted_link::reads;
}
BOOST_AUTO_TEST_CASE(a_chunk_goes_in_as_many_steps_whatever_their_number) {
  BOOST_TEST(steps(1000) <= 4000u);
  BOOST_TEST(steps(2000) <= 8000u);
}

}  // namespace
