// One of three translation units, by -DUNIT: static objects that use the pools from their constructors to their destructors,
// in every order in which the three can be linked.
#include <array>
#include <cstddef>
#include <cstdlib>

#include "tarn/test/process/pools.h"

#if !defined(CONTROL_ENDS) && !defined(CONTROL_LATE)
#define WITH_PRODUCTS
#include <mutex>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/allocator/memory_pool_macros.h"
#endif

namespace tarn::test {

#if defined(CONTROL_LATE) && UNIT == 0
control control::one;
#endif

// Blocks of the next unit's objects, given back by whichever comes first.
extern stamped left_by_unit_0, left_by_unit_1, left_by_unit_2;

namespace {

constinit stamped& mine = UNIT == 0 ? left_by_unit_0 : UNIT == 1 ? left_by_unit_1 : left_by_unit_2;
constinit stamped& others = UNIT == 0 ? left_by_unit_1 : UNIT == 1 ? left_by_unit_2 : left_by_unit_0;

#if defined(WITH_PRODUCTS)
struct item {
  std::size_t n;
  std::array<std::byte, 40> more;
  DECLARE_MEMORY_POOL(item)
};
template <class... Policies>
struct item_with {
  std::size_t n;
  std::array<std::byte, 8> more;
  DECLARE_MEMORY_POOL_WITH(item_with, Policies...)
};
/// Containers and objects of a class with a pool, as globals.
struct products {
  static constexpr std::size_t sum = 49 * 50 / 2;
  list<std::size_t> numbers;
  map<int, string> words;
  std::vector<std::size_t, stl_allocator<std::size_t>> array;
  std::vector<item*> items;  // the vector's own memory is the heap's
  std::tuple<item_with<>*, item_with<mutex_locking<>>*, item_with<mutex_locking<spin_mutex>>*,
             item_with<mutex_locking<thread_aware_mutex>>*, item_with<grouped_locking<lone_group>>*,
             item_with<grouped_locking<group, std::mutex>>*, item_with<thread_cached<>>*, item_with<lock_free>*>
      one_of_each = {};

  products() { fill(); }
  ~products() {
    check();
    numbers.clear(), words.clear(), array.clear();
    for (const item* i : items) delete i;
    items.clear();
    delete_each();
    fill();  // what is destroyed now was made after main()
    check();
    for (const item* i : items) delete i;
    delete_each();
    note(when::containers_end);
  }
  void delete_each() {
    std::apply([](auto*... one) { (delete one, ...); }, one_of_each);
  }
  void fill() {
    for (std::size_t i = 0; i != 50; ++i) {
      numbers.push_back(i);
      words[static_cast<int>(i)] = "a string that is longer than the room inside a string";
      array.push_back(i);
      items.push_back(new item{i, {}});
    }
    std::apply([](auto*&... one) { ((one = new std::remove_reference_t<decltype(*one)>{sum, {}}), ...); }, one_of_each);
  }
  void check() const {
    std::size_t right = 0;
    std::apply([](auto*... one) { if (((one->n != sum) || ...)) note(when::faults); }, one_of_each);
    for (const item* i : items) right += i->n;
    for (const auto& [number, word] : words) right += word.size() == 53 ? 0u : 1u;
    right += std::accumulate(numbers.begin(), numbers.end(), std::size_t{});
    right += std::accumulate(array.begin(), array.end(), std::size_t{});
    if (right != 3 * sum) note(when::faults);
  }
};
products before_the_user;
#endif

struct user {
  stamped held;
  user() noexcept {
    order[made.fetch_add(1)] = '0' + UNIT;
    std::atexit([] {
      stamped late;
      late.take(true);
      late.give(true);
      note(when::at_exit);
    });
    held.take(true);
    mine.take(true);
    note(when::before_main);
  }
  ~user() {
    held.pass_through(true);
    others.pass_through(true);
    std::atexit([] {  // while the process ends
      stamped late;
      late.take(true);
      late.give(true);
      note(when::at_exit);
    });
    note(when::after_main);
  }
} the_user;

#if defined(WITH_PRODUCTS)
products behind_the_user;
#endif

}  // namespace
}  // namespace tarn::test
