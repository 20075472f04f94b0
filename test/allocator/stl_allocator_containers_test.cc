// Whole containers with sources, whichever way they are copied, moved and swapped: each block returns to where it came from,
// with its size and alignment.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "tarn/allocator/stl_allocator.h"
#include "tarn/test/allocator/allocator_sources.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

/// Every operation of two containers with unequal sources. Afterwards each is used further, so that a block that is on the
/// wrong side comes back there.
template <class C, class Rig>
void go_every_way(called_from = {}) {
  Rig here, there;
  const typename C::allocator_type a(here.get()), b(there.get());
  CHECK(a != b && !(a == b));
  const auto is_on = [](const C& c, Rig& rig) { return &c.get_allocator().source() == &rig.get(); };
  auto use = [next = 5000](C& c) mutable {
    const std::size_t before = length(c);
    put(c, next += 100, 60);
    drop_one(c);
    CHECK(length(c) == before + 59);
  };
  const auto calls = [&] {
    if constexpr (std::is_same_v<Rig, ledger_rig>) return here.blocks.calls() + there.blocks.calls();
    else return 0;
  };
  const auto in = [](const C& c, Rig& rig) {  // its elements lie there
    if constexpr (std::is_same_v<Rig, ledger_rig>)
      for (const auto& element : c) CHECK(rig.blocks.holds(&element));
    CHECK(&c.get_allocator().source() == &rig.get());
  };
  const auto finished = [&](called_from = {}) {
    check_that(here.idle() && there.idle(), "a block did not come back to its source");
    check_that(here.sound() && there.sound(), "a block came back to another source, or with another size");
  };
  const auto filled = [](const typename C::allocator_type& allocator) {
    C c(allocator);
    put(c, 0, 50);
    return c;
  };
  const auto origin = [&] { return filled(a); };
  Rig elsewhere;
  const C expected = filled(elsewhere.get());

  {  // copies
    C c = origin();
    in(c, here);
    C same(c);
    in(same, here);
    C other(c, b);
    in(other, there);
    CHECK(same == expected && other == expected && c == expected);
    use(same), use(other), use(c);
  }
  finished();
  {  // moves
    C c = origin();
    const void* const first = address_of_first(c);
    C moved(std::move(c));
    in(moved, here);
    CHECK(moved == expected && address_of_first(moved) == first);
    c = C(a);
    C same(std::move(moved), a);
    CHECK(same == expected && address_of_first(same) == first);
    C other(std::move(same), b);  // element by element
    in(other, there);
    CHECK(other == expected && address_of_first(other) != first);
    same.clear();
    use(other), use(same), use(c);
  }
  finished();
  {  // assigning a copy: it keeps its own source
    C c = origin(), other(b), empty(b), self = origin();
    put(other, 900, 80);
    other = c;
    empty = c;
    in(other, there), in(empty, there), in(c, here);
    CHECK(other == expected && empty == expected && c == expected);
    C& alias = self;
    self = alias;
    CHECK(self == expected);
    other = empty;
    CHECK(other == expected);
    use(c), use(other), use(empty), use(self);
  }
  finished();
  {  // assigning what is moved: it takes the source along, and what it had goes back to the old one
    C c = origin(), other(b);
    put(other, 900, 80);
    const void* const first = address_of_first(c);
    const auto before = calls();
    other = std::move(c);
    if constexpr (!requires { c.push_front(1), c[0]; }) CHECK(calls() == before);  // libstdc++'s empty deque has a block
    in(other, here);
    CHECK(other == expected && address_of_first(other) == first && is_on(other, here));
    CHECK(there.idle());
    c = C(b);
    in(c, there);
    use(c), use(other);
    c.swap(other);
  }
  finished();
  {  // swapping: the sources go along
    C c = origin(), other(b);
    put(other, 900, 80);
    C kept(other);
    const void* const first = address_of_first(c);
    const void* const others = address_of_first(other);
    const auto before = calls();
    using std::swap;
    swap(c, other);
    CHECK(calls() == before);
    in(c, there), in(other, here);
    CHECK(other == expected && c == kept);
    CHECK(address_of_first(other) == first && address_of_first(c) == others);
    use(c), use(other);
    c.swap(other);
    in(c, here), in(other, there);
    use(c), use(other);
  }
  finished();
  {  // a short life after each other
    C c(a);
    for (int i = 0; i < 5; ++i) {
      put(c, 0, 40);
      C next(i % 2 == 0 ? b : a);
      put(next, 100, 40);
      c = std::move(next);
      c.clear();
    }
  }
  finished();
  CHECK(elsewhere.sound());
}

template <class Rig>
void go_every_way_with_each_container() {
  go_every_way<list_of<Rig, long>, Rig>();
  go_every_way<forward_list_of<Rig, long>, Rig>();
  go_every_way<vector_of<Rig, long>, Rig>();
  go_every_way<deque_of<Rig, long>, Rig>();
  go_every_way<string_of<Rig>, Rig>();
  go_every_way<set_of<Rig, long>, Rig>();
  go_every_way<map_of<Rig, long>, Rig>();
  go_every_way<unordered_map_of<Rig, long>, Rig>();
}

BOOST_AUTO_TEST_CASE(containers_with_a_ledger) { go_every_way_with_each_container<ledger_rig>(); }
BOOST_AUTO_TEST_CASE(containers_with_a_memory_resource) { go_every_way_with_each_container<resource_rig>(); }
BOOST_AUTO_TEST_CASE(containers_with_a_size_class_pool) { go_every_way_with_each_container<pool_rig>(); }

}  // namespace
}  // namespace tarn::test
