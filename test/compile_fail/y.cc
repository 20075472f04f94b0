// Y: what the target lacks. Here it is one that has nothing, whatever this machine is; test/platforms/ has the same on targets
// that lack it. Y1, Y4, Y8 and Y10 are about processors and standard libraries: there only.
#define TARN_PLATFORM_HEADER "tarn/policies/platform/bare.h"
#include "tarn/allocator/observing_thread.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"

// case y2_thread_cached
// expect: tarn: [Y2] thread_cached was used, but this target has no threads, or no thread-local variables, which it needs
RIGHT(tarn::pool<tarn::static_size<64>, tarn::no_locking> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::thread_cached<>> wrong;)

// case y3_mutex
// expect: tarn: [Y3] one of tarn's mutexes was used, but this target has no threads, and the mutex doesn't stop interrupts
struct mutex_of_user {
  void lock() {}
  void unlock() {}
};
RIGHT(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<mutex_of_user>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>> wrong;)

// case y5_page_store: tarn: [Y5] page_store was used, but this target has no system that provides pages of memory
RIGHT(tarn::pool<tarn::static_size<64>, tarn::heap_store> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::page_store<>> wrong;)

// case y6_wait_for_block
// expect: tarn: [Y6] wait_for_block was used, but this target has no other thread that could free a block, or no clock
RIGHT(tarn::pool<tarn::static_size<64>, tarn::no_growth<4>, tarn::report_exhaustion> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::no_growth<4>, tarn::wait_for_block<>> wrong;)

// case y7_sampled_guard_pages: tarn: [Y7] sampled_guard_pages was used, but this target has no pages of memory
RIGHT(tarn::pool<tarn::static_size<64>, tarn::hardened> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<>> wrong;)

// case y11_observe: tarn: [Y11] observe was called, but this target has no sockets with a path
RIGHT(std::string right() { return tarn::to_json(tarn::snapshot()); })
WRONG(auto wrong = tarn::observe("/run/service.sock");)

// case y12_observing_thread: tarn: [Y12] observing_thread was used, but this target has no std::thread to run it, or no sockets
RIGHT(std::string right() { return tarn::to_json(tarn::snapshot()); })
WRONG(tarn::observing_thread wrong("/run/service.sock");)
