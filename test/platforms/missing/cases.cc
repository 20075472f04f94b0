// What needs something that a target lacks. CASE is one of them; each must give one error, which names the rule.
#include "tarn/allocator/maintenance_thread.h"
#include "tarn/allocator/observing_thread.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/statistics.h"

using sixty_four = tarn::static_size<64>;

#if CASE == 2  // expect: [Y2]
tarn::pool<sixty_four, tarn::thread_cached<>> wrong;
#elif CASE == 3  // expect: [Y3]
tarn::pool<sixty_four, tarn::mutex_locking<>> wrong;
#elif CASE == 4  // expect: [Y4]
tarn::pool<sixty_four, tarn::lock_free, tarn::no_growth<4>> wrong;
#elif CASE == 5  // expect: [Y5]
tarn::pool<sixty_four, tarn::page_store<>> wrong;
#elif CASE == 6  // expect: [Y6]
tarn::pool<sixty_four, tarn::no_growth<4>, tarn::wait_for_block<>> wrong;
#elif CASE == 7  // expect: [Y7]
tarn::pool<sixty_four, tarn::sampled_guard_pages<>> wrong;
#elif CASE == 8  // expect: [Y8]
tarn::maintenance_thread wrong;
#elif CASE == 9  // expect: [D7]
tarn::pool<sixty_four, tarn::tracing_statistics<tarn::heaptrack_trace>> wrong;
#elif CASE == 10  // expect: [D7]
struct called {
  static constexpr const char* name = "orders";
};
tarn::pool<sixty_four, tarn::tracing_statistics<tarn::perfetto_trace<called>>> wrong;
#elif CASE == 11  // expect: [Y11]
auto wrong = tarn::observe("/tmp/socket");
#elif CASE == 12  // expect: [Y12]
tarn::observing_thread wrong("/tmp/socket");
#elif !defined(__ARM_ARCH_6M__) && CASE == 16  // expect: [R16]
tarn::pool<sixty_four, tarn::lock_free> wrong;
#else
tarn::pool<sixty_four> right;
void* use() { return right.try_allocate(); }
#endif
