// The checked pools of the process by address: 1024 have names, further ones are left out; which of them are asked what is in
// use; and bytes at an address that need not be anything.
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tarn/policies/checking/block_checks.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {

using tarn::detail::pool_names;
constexpr auto read_anywhere = tarn::platform::system::read_anywhere;
constexpr std::size_t most = pool_names::most;

struct stand_in_pool {};

BOOST_AUTO_TEST_CASE(a_pool_is_named_from_when_it_enters_until_it_leaves) {
  pool_names names;
  std::array<stand_in_pool, 3> pools;
  BOOST_TEST(names.find(&pools[0]) == nullptr);
  names.enter(&pools[0], "first");
  names.enter(&pools[1], "second");
  BOOST_TEST(names.find(&pools[0]) == std::string("first"));
  BOOST_TEST(names.find(&pools[1]) == std::string("second"));
  BOOST_TEST(names.find(&pools[2]) == nullptr);
  names.leave(&pools[2]);  // who never entered
  names.leave(&pools[0]);
  BOOST_TEST(names.find(&pools[0]) == nullptr);
  BOOST_TEST(names.find(&pools[1]) == std::string("second"));
  names.enter(&pools[0], "again");  // another pool at the same address
  BOOST_TEST(names.find(&pools[0]) == std::string("again"));
  names.leave(&pools[1]);
  names.leave(&pools[0]);
  for (const stand_in_pool& p : pools) BOOST_TEST(names.find(&p) == nullptr);
}

BOOST_AUTO_TEST_CASE(one_too_many_is_left_out_until_another_leaves) {
  pool_names names;
  std::vector<stand_in_pool> pools(most + 2);
  for (std::size_t i = 0; i != most + 1; ++i) names.enter(&pools[i], "pool");
  for (std::size_t i = 0; i != most; ++i) BOOST_TEST(names.find(&pools[i]) != nullptr);
  BOOST_TEST(names.find(&pools[most]) == nullptr);
  names.leave(&pools[most]);  // does nothing
  for (std::size_t i = 0; i != most; ++i) BOOST_TEST(names.find(&pools[i]) != nullptr);
  names.leave(&pools[100]);
  names.enter(&pools[most + 1], "late");
  BOOST_TEST(names.find(&pools[most + 1]) == std::string("late"));
  BOOST_TEST(names.find(&pools[100]) == nullptr);
  names.enter(&pools[100], "too late");
  BOOST_TEST(names.find(&pools[100]) == nullptr);
}

BOOST_AUTO_TEST_CASE(threads_enter_and_leave_at_once) {
  static pool_names names;
  constexpr std::size_t threads = 4;
  constexpr std::size_t each = 40;
  constexpr int rounds = 300;
  static std::array<std::array<stand_in_pool, each>, threads> pools;
  static const std::array<const char*, threads> name = {"a", "b", "c", "d"};
  std::atomic<std::size_t> wrong = 0;
  std::atomic<std::size_t> right = 0;
  std::vector<std::thread> running;
  for (std::size_t t = 0; t != threads; ++t)
    running.emplace_back([&, t] {
      for (int round = 0; round != rounds; ++round) {
        for (stand_in_pool& p : pools[t]) names.enter(&p, name[t]);
        for (stand_in_pool& p : pools[t]) {
          ++(names.find(&p) == name[t] ? right : wrong);
        }
        for (stand_in_pool& p : pools[(t + 1) % threads]) {  // which may be there or not, or another meanwhile
          const char* const found = names.find(&p);
          if (found != nullptr && std::strlen(found) != 1) ++wrong;
        }
        for (stand_in_pool& p : pools[t]) names.leave(&p);
        for (stand_in_pool& p : pools[t])
          if (names.find(&p) != nullptr) ++wrong;
      }
    });
  for (std::thread& t : running) t.join();
  BOOST_TEST(wrong == 0u);
  BOOST_TEST(right == threads * each * rounds);
  std::vector<stand_in_pool> more(most);  // no entry was lost
  for (stand_in_pool& p : more) names.enter(&p, "after");
  for (stand_in_pool& p : more) BOOST_TEST(names.find(&p) != nullptr);
}

std::vector<void*> asked;
std::size_t tell(void* pool) noexcept {
  asked.push_back(pool);
  return asked.size();
}

BOOST_AUTO_TEST_CASE(those_are_asked_that_can_tell_and_are_there) {
  pool_names names;
  std::array<stand_in_pool, 4> pools;
  const char library = 0;
  names.enter(&pools[0], "silent");
  names.enter(&pools[1], "tells", tell);
  names.enter(&pools[2], "of a library", tell, &library);
  names.enter(&pools[3], "leaves", tell);
  names.leave(&pools[3]);
  asked.clear();
  BOOST_TEST(names.report_all() == 1u + 2u);
  BOOST_TEST((asked == std::vector<void*>{&pools[1], &pools[2]}));
  names.leave_library(&library);
  asked.clear();
  BOOST_TEST(names.report_all() == 1u);
  BOOST_TEST((asked == std::vector<void*>{&pools[1]}));
  BOOST_TEST(names.find(&pools[2]) == nullptr);
  BOOST_TEST(names.find(&pools[0]) == std::string("silent"));
}

#if defined(__linux__)
BOOST_AUTO_TEST_CASE(bytes_are_read_wherever_they_are_and_where_there_are_none_that_is_said) {
  const char text[] = "0123456789abcde";
  char copy[sizeof text] = {};
  BOOST_TEST(read_anywhere(text, copy, sizeof text));
  BOOST_TEST(std::strcmp(copy, text) == 0);
  BOOST_TEST(!read_anywhere(nullptr, copy, sizeof copy));
  BOOST_TEST(!read_anywhere(reinterpret_cast<const void*>(~std::size_t{0} - 7), copy, sizeof copy));
  constexpr std::size_t page = 4096;
  auto* const pages = static_cast<std::byte*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  BOOST_REQUIRE(pages != MAP_FAILED);
  BOOST_REQUIRE(mprotect(pages + page, page, PROT_NONE) == 0);
  BOOST_TEST(read_anywhere(pages + page - 16, copy, 16));
  BOOST_TEST(!read_anywhere(pages + page - 8, copy, 16));  // half of it
  BOOST_TEST(!read_anywhere(pages + page, copy, 16));
  BOOST_REQUIRE(munmap(pages, 2 * page) == 0);
  BOOST_TEST(!read_anywhere(pages, copy, 16));
}
#endif

}  // namespace
