// Static pools: usable before main and after it, one for each tag, without initialiser or destructor.
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <type_traits>

#include "tarn/allocator/static_pool.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using early = static_pool<struct early_tag, static_size<48>, mutex_locking<>>;
using early_array = static_pool<struct early_tag, static_size<32>, static_array_store<4>>;

// Runs before main, and before the pool's own translation unit could have initialised anything.
struct user_before_main {
  void* block = early::instance().allocate();
  void* in_array = early_array::instance().allocate();
  ~user_before_main() {  // after main, when static pools of the usual kind are gone
    if (!early::instance().owns(block) || !early_array::instance().owns(in_array)) std::abort();
    std::memset(block, 1, 48);
    early::instance().deallocate(block);
    early_array::instance().deallocate(in_array);
    void* const again = early::instance().allocate();
    if (again != block) std::abort();
    early::instance().deallocate(again);
  }
} before_main;

BOOST_AUTO_TEST_CASE(the_order_of_the_policies_does_not_make_another_pool) {
  using one = static_pool<struct order_tag, static_size<48>, mutex_locking<>, fixed_growth<10>>;
  using same = static_pool<struct order_tag, fixed_growth<10>, static_size<48>, mutex_locking<>>;
  using other = static_pool<struct order_tag, static_size<48>, mutex_locking<>, fixed_growth<11>>;
  BOOST_TEST(static_cast<void*>(&one::instance()) == static_cast<void*>(&same::instance()));
  BOOST_TEST(static_cast<void*>(&one::instance()) != static_cast<void*>(&other::instance()));
}

// shows: FM-35
BOOST_AUTO_TEST_CASE(it_is_usable_before_main) {
  BOOST_TEST(before_main.block != nullptr);
  BOOST_TEST(early::instance().owns(before_main.block));
  BOOST_TEST(early_array::instance().capacity() == 4u);
  BOOST_TEST(early_array::instance().owns(before_main.in_array));
}

// shows: FM-35
BOOST_AUTO_TEST_CASE(it_is_usable_from_atexit_and_thread_local_destructors) {
  std::atexit([] { early::instance().deallocate(early::instance().allocate()); });
  std::thread([] {
    struct late {
      void* block = early::instance().allocate();
      ~late() { early::instance().deallocate(block); }
    };
    static thread_local late object;
    BOOST_TEST(object.block != nullptr);
  }).join();
}

BOOST_AUTO_TEST_CASE(a_tag_has_one_pool_and_another_tag_another) {
  using a = static_pool<struct tag_a, static_size<64>>;
  using b = static_pool<struct tag_b, static_size<64>>;
  BOOST_TEST(&a::instance() == &a::instance());
  BOOST_TEST(static_cast<void*>(&a::instance()) != static_cast<void*>(&b::instance()));
  void* const block = a::instance().allocate();
  BOOST_TEST(a::instance().owns(block));
  BOOST_TEST(!b::instance().owns(block));
  a::instance().deallocate(block);
  static_assert(std::is_same_v<a::body, b::body>, "they share their code");
}

// Its body is never destroyed and cannot be copied.
using body = early::body;
static_assert(std::is_trivially_destructible_v<body>);
static_assert(!std::is_copy_constructible_v<body> && !std::is_move_constructible_v<body>);
static_assert(!std::is_default_constructible_v<early>);

}  // namespace
}  // namespace tarn::test
