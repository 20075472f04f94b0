// The pools that are fuzzed. A new one gets one line, at the end: inputs that were saved name the others by their number.
#ifndef TARN_TEST_FUZZ_POOLS_H_
#define TARN_TEST_FUZZ_POOLS_H_

#include <cstddef>
#include <mutex>
#include <tuple>

#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"

namespace tarn::test {

struct crew;  // a group
struct gives_up {
  bool operator()(std::size_t) const noexcept { return false; }
};

using fuzzed_pools = std::tuple<
    pool<static_size<64>>,
    pool<static_size<16, 8>, fixed_growth<100>, resource_store, lifo_reuse<prefetch::on_allocate>, counting_statistics>,
    pool<static_size<24, 8>, mutex_locking<>, fixed_growth<50>, return_empty_chunks<0, 0>>,
    pool<static_size<64>, geometric_growth<8, 64, 3>, resource_store, page_local_reuse<4096, prefetch::on_free, 128>,
         counting_statistics>,
    pool<static_size<256, 64>, thread_cached<>, page_store<>, batch_reuse<prefetch::none, 128>, counting_statistics>,
    pool<static_size<64>, thread_cached<>, fixed_growth<100>, resource_store, return_empty_chunks<>, retry_with<gives_up>>,
    pool<static_size<8>, thread_cached<>, geometric_growth<8, 64, 3, 2000>, lifo_reuse<>>,
    pool<static_size<64>, lock_free, fixed_growth<100>, resource_store, counting_statistics>,
    pool<dynamic_size, lock_free, no_growth<700>, buffer_store, lifo_reuse<>>,
    pool<static_size<64>, static_array_store<200>>,
    pool<static_size<8>, mutex_locking<>, static_array_store<300>, page_local_reuse<>, return_empty_chunks<0, 0>,
         counting_statistics>,
    pool<dynamic_size, buffer_store, batch_reuse<prefetch::on_free, 128>>,
    pool<dynamic_size, mutex_locking<>, geometric_growth<4, 400, 3, 1500>, resource_store>,
    pool<dynamic_size, grouped_locking<crew>, fixed_growth<30>, page_local_reuse<>, return_empty_chunks<1, 4>>,
    pool<static_size<64>, mutex_locking<>, fixed_growth<60>, resource_store, reclaim_and_retry<>>,
    pool<static_size<48, 16>, no_growth<200>, fall_back_to<heap_store, fixed_growth<50, 500>>>,
    pool<static_size<40, 8>, grouped_locking<crew, std::mutex>, fixed_growth<20>, return_empty_chunks<0, 2>,
         reclaim_and_retry<>>,
    pool<static_size<256, 64>, fixed_growth<16>, page_store<guard_pages>, return_empty_chunks<0, 2>, counting_statistics>,
    pool<static_size<4096, 4096>, geometric_growth<1, 8>, batch_reuse<prefetch::on_allocate, 128>>,
    pool<dynamic_size, thread_cached<>, fixed_growth<200>, page_local_reuse<4096, prefetch::none, 128>,
         fall_back_to<heap_store, fixed_growth<50, 500>>>,
    pool<static_size<64>, hardened>,
    pool<static_size<24, 8>, thread_cached<>, fixed_growth<100>, resource_store, hardened, counting_statistics>,
    pool<static_size<64>, lock_free, geometric_growth<8, 64, 3>, resource_store, hardened_with<shuffled>>,
    pool<dynamic_size, buffer_store, hardened_with<shuffled, guard_bytes>>,
    pool<static_size<40, 8>, mutex_locking<>, fixed_growth<50>, return_empty_chunks<0, 2>, checked>,
    pool<dynamic_size, geometric_growth<8, 64, 3>, resource_store, checked_with<shuffled>>,
    pool<static_size<64>, fixed_growth<100>, resource_store, deferred_checking>,
    pool<static_size<48, 16>, mutex_locking<>, geometric_growth<8, 64, 3>, resource_store,
         sampled_guard_pages<1, no_checking, 5>, counting_statistics>,
    pool<dynamic_size, fixed_growth<50>, resource_store, return_empty_chunks<0, 2>,
         hardened_with<shuffled, guard_bytes, generations>>>;

}  // namespace tarn::test

#endif  // TARN_TEST_FUZZ_POOLS_H_
