// The key that tells of a thread's end: it asks for no memory, keeps to its own key, and tells once.
#include <boost/test/unit_test.hpp>

#include <limits.h>
#include <pthread.h>

#include <cstddef>
#include <thread>
#include <vector>

#include "tarn/policies/platform/waiting.h"

namespace tarn::test {
namespace {

/// As many keys as there are, or up to `most`.
class many_keys {
 public:
  explicit many_keys(std::size_t most = PTHREAD_KEYS_MAX) {
    for (pthread_key_t key; keys_.size() != most && pthread_key_create(&key, nullptr) == 0;) keys_.push_back(key);
  }
  ~many_keys() {
    for (const pthread_key_t key : keys_) pthread_key_delete(key);
  }
  many_keys(const many_keys&) = delete;
  many_keys& operator=(const many_keys&) = delete;

  const std::vector<pthread_key_t>& all() const { return keys_; }

 private:
  std::vector<pthread_key_t> keys_;
};

int told = 0;
void tell(void* number) { told += *static_cast<int*>(number); }
int one = 1;
int ten = 10;

BOOST_AUTO_TEST_SUITE(thread_end)

BOOST_AUTO_TEST_CASE(a_thread_s_end_is_told_once_with_the_last_argument) {
  detail::thread_end end;
  told = 0;
  bool done = true;
  std::thread([&] {
    done = end.tell(tell, &one) && end.tell(tell, &ten);
    done = done && told == 0;
  }).join();
  BOOST_TEST(done);
  BOOST_TEST(told == 10);
  std::thread([&] { done = end.tell(tell, &one); }).join();
  BOOST_TEST(done);
  BOOST_TEST(told == 11);
  end.close();
}

BOOST_AUTO_TEST_CASE(a_library_that_is_gone_is_told_nothing) {
  detail::thread_end end;
  told = 0;
  bool again = true;
  std::thread([&] {
    BOOST_TEST(end.tell(tell, &one));
    end.close();
    again = end.tell(tell, &one);
  }).join();
  BOOST_TEST(told == 0);
  BOOST_TEST(!again);
}

BOOST_AUTO_TEST_CASE(where_all_keys_are_taken_nobody_else_s_is_used) {
  detail::thread_end end;
  {
    const many_keys all;
    int mine = 0;
    for (const pthread_key_t key : all.all()) pthread_setspecific(key, &mine);
    BOOST_TEST(!end.tell(tell, &one));
    std::size_t others = 0;
    for (const pthread_key_t key : all.all()) others += pthread_getspecific(key) != &mine ? 1 : 0;
    BOOST_TEST(others == 0u);
  }
  bool later = false;
  std::thread([&] { later = end.tell(tell, &one); }).join();
  BOOST_TEST(later);  // there is one again
  end.close();
}

BOOST_AUTO_TEST_CASE(a_key_whose_value_needs_memory_is_given_back) {
  const many_keys first(32);  // glibc has memory for the values of 32
  const std::size_t left = many_keys().all().size();
  detail::thread_end end;
  BOOST_TEST(!end.tell(tell, &one));
  BOOST_TEST(!end.tell(tell, &one));
  BOOST_TEST(many_keys().all().size() == left);
  end.close();
  BOOST_TEST(many_keys().all().size() == left);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tarn::test
