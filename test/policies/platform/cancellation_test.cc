// pthread_cancel() of a thread that uses pools: no call of a pool is where it ends, whatever the call waits for or calls.
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <memory_resource>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/store/resource_store.h"

namespace {

/// Runs `work` in a thread that was cancelled before, and so ends at the first cancellation point that it comes to. Returns
/// whether `work` got to its end, and the thread ended only then.
template <class Work>
bool outlives_cancellation(Work work) {
  struct run {
    Work& work;
    bool done = false;
  } r{work};
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void* given) -> void* {
        auto& its = *static_cast<run*>(given);
        pthread_cancel(pthread_self());
        its.work();
        its.done = true;
        pthread_testcancel();
        return nullptr;
      },
      &r);
  void* end = nullptr;
  pthread_join(thread, &end);
  return r.done && end == PTHREAD_CANCELED;
}

/// Waits, as a resource that reads a file does.
class waiting_resource : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    pthread_testcancel();
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    pthread_testcancel();
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cancellation)

BOOST_AUTO_TEST_CASE(a_thread_is_not_cancelled_in_a_memory_resource) {
  waiting_resource waiting;
  BOOST_TEST(outlives_cancellation([&] {
    tarn::pool<tarn::static_size<64>, tarn::resource_store> pool{tarn::resource_store{&waiting}};
    pool.deallocate(pool.allocate());
  }));
  BOOST_TEST(outlives_cancellation([&] {
    tarn::pool_resource<> resource(&waiting);
    resource.deallocate(resource.allocate(64), 64);
    resource.deallocate(resource.allocate(1 << 20), 1 << 20);  // goes straight to upstream
  }));
}

// shows: FM-21
BOOST_AUTO_TEST_CASE(a_thread_is_not_cancelled_in_a_handler_of_exhaustion) {
  struct handler {
    bool operator()(std::size_t) const {
      pthread_testcancel();
      return false;
    }
  };
  BOOST_TEST(outlives_cancellation([] {
    tarn::pool<tarn::static_size<64>, tarn::no_growth<1>, tarn::retry_with<handler>> pool;
    void* const block = pool.allocate();
    BOOST_TEST(pool.try_allocate() == nullptr);
    pool.deallocate(block);
  }));
}

BOOST_AUTO_TEST_CASE(a_thread_that_cannot_be_cancelled_stays_so) {
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  {
    tarn::pool<tarn::static_size<64>, tarn::resource_store> pool{tarn::resource_store{std::pmr::new_delete_resource()}};
    pool.deallocate(pool.allocate());
  }
  int after = 0;
  pthread_setcancelstate(before, &after);
  BOOST_TEST(after == PTHREAD_CANCEL_DISABLE);
}

// shows: FM-21
BOOST_AUTO_TEST_CASE(a_thread_is_not_cancelled_while_it_waits) {
  BOOST_TEST(outlives_cancellation([] { tarn::detail::sleep_microseconds(1); }));
  BOOST_TEST(outlives_cancellation([] {
    const unsigned word = 0;
    tarn::detail::wait_while(&word, 0, 1000);
  }));
}

BOOST_AUTO_TEST_CASE(a_thread_is_not_cancelled_while_the_pages_are_read) {
  tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::huge_pages>> pool;
  pool.deallocate(pool.allocate());
  BOOST_TEST(outlives_cancellation([&] { static_cast<void>(pool.pages()); }));
}

BOOST_AUTO_TEST_CASE(a_thread_is_not_cancelled_while_it_reports) {
  const int standard_error = dup(STDERR_FILENO);
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDERR_FILENO);
  const bool outlived = outlives_cancellation([] { tarn::print_misuse({}); });
  dup2(standard_error, STDERR_FILENO);
  close(nowhere);
  close(standard_error);
  BOOST_TEST(outlived);
}

BOOST_AUTO_TEST_SUITE_END()
