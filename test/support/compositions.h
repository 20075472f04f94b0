// The tested compositions: together they hold every legal pair of policies (compositions_test.cc proves it). A new policy gets
// one line here, and a place in the lists of kinds in compositions_test.cc.
#ifndef TARN_TEST_SUPPORT_COMPOSITIONS_H_
#define TARN_TEST_SUPPORT_COMPOSITIONS_H_

#include <cstddef>
#include <mutex>
#include <tuple>

#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"

namespace tarn::test {

struct trio {
  void* a;
  long b;
  char c;
};
struct crew;  // a group
struct gives_up {
  bool operator()(std::size_t) const noexcept { return false; }
};

// Each row is one pool. A shard of the rows can be compiled alone: TARN_SHARD of TARN_SHARDS.
using compositions = std::tuple<
    pool<static_size<64>, resource_store, reclaim_and_retry<>, checked_with<shuffled>>,
    pool<static_size<64>, grouped_locking<crew>, no_growth<5000>, static_array_store<3000>, batch_reuse<prefetch::none, 128>,
         fall_back_to<heap_store, fixed_growth<50, 500>>, counting_statistics>,
    pool<static_size<64>, lock_free, no_growth<5000>, static_array_store<3000>, lifo_reuse<>, counting_statistics>,
    pool<static_size<64>, grouped_locking<crew>, geometric_growth<8, 64, 3, 20000>, resource_store,
         batch_reuse<prefetch::on_free, 256>, retry_with<gives_up>, sampled_guard_pages<1>>,
    pool<dynamic_size, thread_cached<>, no_growth<5000>, page_store<huge_pages>, lifo_reuse<prefetch::on_allocate>,
         retry_with<gives_up>>,
    pool<static_size<64>, grouped_locking<crew, std::mutex>, fixed_growth<100>, page_store<huge_pages>,
         batch_reuse<prefetch::none, 128>>,
    pool<static_size<8>, no_locking, geometric_growth<8, 64, 3, 20000>, page_store<huge_pages>, lifo_reuse<>>,
    pool<static_size<8>, mutex_locking<>, no_growth<5000>, resource_store, retry_with<gives_up>, deferred_checking>,
    pool<static_size<8>, thread_cached<>, geometric_growth<8, 64, 3, 20000>, heap_store, lifo_reuse<prefetch::on_allocate>,
         hardened_with<guard_bytes>>,
    pool<static_size<8>, grouped_locking<crew>, geometric_growth<>, resource_store, lifo_reuse<prefetch::on_allocate>,
         reclaim_and_retry<>, counting_statistics>,
    pool<size_of<trio>, grouped_locking<crew, std::mutex>, fixed_growth<100>, page_store<>,
         page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<0, 0>, wait_for_block<1>, checked_with<shuffled>>,
    pool<static_size<8>, grouped_locking<crew, std::mutex>, no_growth<5000>, buffer_store, lifo_reuse<prefetch::on_allocate>,
         counting_statistics>,
    pool<size_of<trio>, no_locking, fixed_growth<100>, page_store<>, lifo_reuse<prefetch::on_allocate>, retry_with<gives_up>,
         counting_statistics>,
    pool<size_of<trio>, no_locking, no_growth<5000>, buffer_store, batch_reuse<prefetch::on_free, 256>, counting_statistics>,
    pool<size_of<trio>, mutex_locking<>, geometric_growth<>, page_store<huge_pages>, batch_reuse<>, wait_for_block<1>,
         counting_statistics>,
    pool<size_of<trio>, grouped_locking<crew>, page_store<huge_pages>, lifo_reuse<>, retry_with<gives_up>>,
    pool<size_of<trio>, grouped_locking<crew>, geometric_growth<8, 64, 3, 20000>, heap_store, batch_reuse<prefetch::none, 128>,
         retry_with<gives_up>, counting_statistics>,
    pool<size_of<trio>, grouped_locking<crew, std::mutex>, no_growth<5000>, static_array_store<3000>,
         batch_reuse<prefetch::on_free, 256>, fall_back_to<heap_store, fixed_growth<50, 500>>, counting_statistics>,
    pool<static_size<256, 64>, no_locking, no_growth<5000>, static_array_store<3000>, batch_reuse<prefetch::none, 128>,
         fall_back_to<heap_store, fixed_growth<50, 500>>, checked>,
    pool<static_size<8>, lock_free, fixed_growth<100>, page_store<>, fall_back_to<heap_store, fixed_growth<50, 500>>,
         sampled_guard_pages<1>>,
    pool<static_size<256, 64>, mutex_locking<>, no_growth<5000>, buffer_store, batch_reuse<prefetch::none, 128>,
         wait_for_block<1>, sampled_guard_pages<1>>,
    pool<static_size<256, 64>, thread_cached<>, fixed_growth<100>, page_store<huge_pages>, batch_reuse<prefetch::on_free, 256>,
         fall_back_to<heap_store, fixed_growth<50, 500>>>,
    pool<static_size<256, 64>, thread_cached<>, geometric_growth<>, page_store<>, batch_reuse<prefetch::none, 128>,
         reclaim_and_retry<>, counting_statistics>,
    pool<static_size<256, 64>, grouped_locking<crew>, fixed_growth<100>, page_store<>, batch_reuse<>, reclaim_and_retry<>>,
    pool<static_size<256, 64>, grouped_locking<crew>, no_growth<5000>, heap_store, lifo_reuse<prefetch::on_allocate>,
         reclaim_and_retry<>, checked_with<shuffled>>,
    pool<static_size<256, 64>, grouped_locking<crew>, no_growth<5000>, static_array_store<3000>, batch_reuse<>,
         retry_with<gives_up>, hardened_with<shuffled>>,
    pool<static_size<256, 64>, grouped_locking<crew, std::mutex>, geometric_growth<8, 64, 3, 20000>, resource_store,
         batch_reuse<>, retry_with<gives_up>>,
    pool<dynamic_size, no_locking, fixed_growth<100>, resource_store, batch_reuse<prefetch::none, 128>, reclaim_and_retry<>,
         hardened_with<shuffled>, counting_statistics>,
    pool<dynamic_size, mutex_locking<>, geometric_growth<8, 64, 3, 20000>, page_store<>, batch_reuse<prefetch::on_free, 256>,
         wait_for_block<1>, counting_statistics>,
    pool<dynamic_size, mutex_locking<>, no_growth<5000>, resource_store, lifo_reuse<>,
         fall_back_to<heap_store, fixed_growth<50, 500>>, counting_statistics>,
    pool<dynamic_size, lock_free, no_growth<5000>, buffer_store, lifo_reuse<>, retry_with<gives_up>>,
    pool<dynamic_size, mutex_locking<>, no_growth<5000>, buffer_store, batch_reuse<>, checked>,
    pool<static_size<64>, mutex_locking<>, no_growth<5000>, buffer_store, batch_reuse<prefetch::none, 128>,
         retry_with<gives_up>, checked_with<shuffled>, counting_statistics>,
    pool<dynamic_size, thread_cached<>, geometric_growth<>, resource_store, batch_reuse<>, hardened_with<generations>>,
    pool<static_size<8>, lock_free, fixed_growth<100>, page_store<>, retry_with<gives_up>, hardened, counting_statistics>,
    pool<size_of<trio>, lock_free, page_store<huge_pages>, fall_back_to<heap_store, fixed_growth<50, 500>>>,
    pool<static_size<256, 64>, lock_free, geometric_growth<8, 64, 3, 20000>, resource_store>,
    pool<static_size<64>, lock_free, geometric_growth<>, page_store<huge_pages>, retry_with<gives_up>,
         hardened_with<guard_bytes>>,
    pool<dynamic_size, grouped_locking<crew>, no_growth<5000>, buffer_store, batch_reuse<>,
         fall_back_to<heap_store, fixed_growth<50, 500>>>,
    pool<dynamic_size, grouped_locking<crew, std::mutex>, geometric_growth<>, heap_store, batch_reuse<prefetch::on_free, 256>,
         reclaim_and_retry<>>,
    pool<dynamic_size, resource_store, batch_reuse<prefetch::none, 128>, counting_statistics>,
    pool<static_size<256, 64>, geometric_growth<8, 64, 3, 20000>, lifo_reuse<prefetch::on_allocate>,
         fall_back_to<heap_store, fixed_growth<50, 500>>>,
    pool<static_size<8>, no_growth<5000>, heap_store, page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<>,
         hardened_with<generations>, counting_statistics>,
    pool<size_of<trio>, thread_cached<>, geometric_growth<8, 64, 3, 20000>, resource_store,
         page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<0, 0>, reclaim_and_retry<>>,
    pool<static_size<64>, grouped_locking<crew>, geometric_growth<8, 64, 3, 20000>, page_store<>, page_local_reuse<>,
         return_empty_chunks<>, deferred_checking>,
    pool<static_size<64>, grouped_locking<crew>, page_store<huge_pages>, lifo_reuse<prefetch::on_allocate>, reclaim_and_retry<>,
         hardened_with<generations>, counting_statistics>,
    pool<dynamic_size, mutex_locking<>, no_growth<5000>, buffer_store, batch_reuse<prefetch::on_free, 256>,
         retry_with<gives_up>, hardened_with<generations>, counting_statistics>,
    pool<static_size<64>, mutex_locking<>, no_growth<5000>, buffer_store, page_local_reuse<4096, prefetch::on_free, 128>,
         return_empty_chunks<0, 0>, retry_with<gives_up>>,
    pool<size_of<trio>, grouped_locking<crew, std::mutex>, page_store<>, return_empty_chunks<>,
         fall_back_to<heap_store, fixed_growth<50, 500>>, sampled_guard_pages<1>>,
    pool<dynamic_size, grouped_locking<crew>, fixed_growth<100>, page_store<>, page_local_reuse<4096, prefetch::on_free, 128>,
         return_empty_chunks<0, 0>, fall_back_to<heap_store, fixed_growth<50, 500>>>,
    pool<static_size<8>, grouped_locking<crew, std::mutex>, geometric_growth<8, 64, 3, 20000>, heap_store,
         page_local_reuse<4096, prefetch::on_free, 128>>,
    pool<static_size<256, 64>, mutex_locking<>, fixed_growth<100>, resource_store,
         page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<>, wait_for_block<1>>,
    pool<static_size<64>, thread_cached<>, no_growth<5000>, sampled_guard_pages<1>, counting_statistics>,
    pool<static_size<8>, mutex_locking<>, no_growth<5000>, static_array_store<3000>,
         page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<0, 0>, deferred_checking, counting_statistics>,
    pool<static_size<256, 64>, grouped_locking<crew, std::mutex>, no_growth<5000>, static_array_store<3000>, page_local_reuse<>,
         return_empty_chunks<>, retry_with<gives_up>>,
    pool<dynamic_size, no_growth<5000>, buffer_store, page_local_reuse<>, return_empty_chunks<>,
         fall_back_to<heap_store, fixed_growth<50, 500>>, deferred_checking>,
    pool<static_size<8>, mutex_locking<>, fixed_growth<100>, page_store<huge_pages>, page_local_reuse<>,
         return_empty_chunks<0, 0>, hardened_with<shuffled>, counting_statistics>,
    pool<static_size<256, 64>, grouped_locking<crew, std::mutex>, no_growth<5000>, static_array_store<3000>,
         return_empty_chunks<0, 0>, wait_for_block<1>, hardened>,
    pool<static_size<64>, mutex_locking<>, no_growth<5000>, static_array_store<3000>, lifo_reuse<prefetch::on_allocate>,
         wait_for_block<1>, sampled_guard_pages<1>>,
    pool<static_size<24, 8>, mutex_locking<>, heap_store, return_empty_chunks<>, reclaim_and_retry<>, deferred_checking>,
    pool<size_of<trio>, thread_cached<>, resource_store, reclaim_and_retry<>, hardened, counting_statistics>,
    pool<static_size<64>, lock_free, heap_store, reclaim_and_retry<>>,
    pool<dynamic_size, thread_cached<>, no_growth<5000>, page_store<>, lifo_reuse<>, reclaim_and_retry<>>,
    pool<static_size<8>, grouped_locking<crew, std::mutex>, fixed_growth<100>, page_store<guard_pages>, wait_for_block<1>>,
    pool<static_size<64>, no_growth<5000>, static_array_store<3000>, batch_reuse<>, retry_with<gives_up>>,
    pool<static_size<256, 64>, thread_cached<>, page_store<huge_pages, guard_pages>, return_empty_chunks<>,
         retry_with<gives_up>, checked_with<shuffled>>,
    pool<static_size<64>, geometric_growth<8, 64, 3, 20000>, resource_store, fall_back_to<heap_store, fixed_growth<50, 500>>,
         hardened_with<guard_bytes>>,
    pool<static_size<256, 64>, mutex_locking<>, fixed_growth<100>, page_store<>, return_empty_chunks<0, 0>,
         fall_back_to<heap_store>, hardened_with<generations>>,
    pool<static_size<8>, thread_cached<>, geometric_growth<8, 64, 3, 20000>, page_store<huge_pages>, return_empty_chunks<>,
         retry_with<gives_up>, deferred_checking, counting_statistics>,
    pool<dynamic_size, grouped_locking<crew>, geometric_growth<8, 64, 3, 20000>, page_local_reuse<4096, prefetch::on_free, 128>,
         return_empty_chunks<>, hardened, counting_statistics>,
    pool<static_size<64>, no_growth<5000>, page_store<huge_pages>, lifo_reuse<prefetch::on_allocate>, retry_with<gives_up>,
         hardened>,
    pool<static_size<64>, mutex_locking<>, geometric_growth<8, 64, 3, 20000>, resource_store, batch_reuse<prefetch::none, 128>,
         reclaim_and_retry<>, hardened>,
    pool<static_size<256, 64>, no_growth<5000>, buffer_store, batch_reuse<prefetch::on_free, 256>,
         fall_back_to<heap_store, fixed_growth<50, 500>>, hardened, counting_statistics>,
    pool<static_size<256, 64>, grouped_locking<crew, std::mutex>, no_growth<5000>, static_array_store<3000>,
         return_empty_chunks<0, 0>, hardened_with<guard_bytes>, counting_statistics>,
    pool<size_of<trio>, fixed_growth<100>, page_store<>, batch_reuse<prefetch::none, 128>, reclaim_and_retry<>,
         hardened_with<guard_bytes>, counting_statistics>,
    pool<static_size<64>, mutex_locking<>, no_growth<5000>, buffer_store, page_local_reuse<4096, prefetch::on_free, 128>,
         return_empty_chunks<>, wait_for_block<1>, hardened_with<guard_bytes>>,
    pool<dynamic_size, grouped_locking<crew>, no_growth<5000>, page_store<huge_pages>, batch_reuse<prefetch::on_free, 256>,
         reclaim_and_retry<>, hardened_with<guard_bytes>>,
    pool<size_of<trio>, thread_cached<>, batch_reuse<prefetch::on_free, 256>, fall_back_to<heap_store, fixed_growth<50, 500>>,
         hardened_with<shuffled>>,
    pool<static_size<64>, mutex_locking<>, no_growth<5000>, buffer_store, lifo_reuse<prefetch::on_allocate>, wait_for_block<1>,
         hardened_with<shuffled>>,
    pool<static_size<8>, grouped_locking<crew, std::mutex>, geometric_growth<8, 64, 3, 20000>, page_store<>,
         page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<>, hardened_with<shuffled>>,
    pool<static_size<8>, lock_free, no_growth<5000>, reclaim_and_retry<>, hardened_with<shuffled>, counting_statistics>,
    pool<static_size<8>, lock_free, fixed_growth<100>, resource_store, retry_with<gives_up>, checked>,
    pool<size_of<trio>, grouped_locking<crew>, resource_store, lifo_reuse<prefetch::on_allocate>, retry_with<gives_up>, checked,
         counting_statistics>,
    pool<static_size<64>, grouped_locking<crew, std::mutex>, no_growth<5000>, return_empty_chunks<>, wait_for_block<1>,
         checked>,
    pool<static_size<8>, grouped_locking<crew>, geometric_growth<8, 64, 3, 20000>, page_store<huge_pages>,
         page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<0, 0>, reclaim_and_retry<>, checked>,
    pool<size_of<trio>, thread_cached<>, page_store<>, batch_reuse<prefetch::on_free, 256>,
         fall_back_to<heap_store, fixed_growth<50, 500>>, checked>,
    pool<dynamic_size, grouped_locking<crew, std::mutex>, geometric_growth<8, 64, 3, 20000>, page_store<huge_pages>,
         batch_reuse<prefetch::on_free, 256>, fall_back_to<heap_store, fixed_growth<50, 500>>, checked_with<shuffled>>,
    pool<static_size<8>, lock_free, no_growth<5000>, static_array_store<3000>, checked_with<shuffled>>,
    pool<static_size<256, 64>, grouped_locking<crew, std::mutex>, fixed_growth<100>, return_empty_chunks<0, 0>,
         wait_for_block<1>, deferred_checking, counting_statistics>,
    pool<dynamic_size, page_store<huge_pages>, page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<0, 0>,
         reclaim_and_retry<>, sampled_guard_pages<1>, counting_statistics>,
    pool<static_size<64>, grouped_locking<crew, std::mutex>, no_growth<5000>, static_array_store<3000>,
         batch_reuse<prefetch::none, 128>, wait_for_block<1>, hardened_with<generations>>,
    pool<size_of<trio>, lock_free, geometric_growth<8, 64, 3, 20000>, fall_back_to<heap_store, fixed_growth<50, 500>>,
         hardened_with<generations>>>;

#if !defined(TARN_SHARDS)
#define TARN_SHARDS 1
#define TARN_SHARD 0
#endif

template <class Tuple, class Indices>
struct pick;
template <class Tuple, std::size_t... I>
struct pick<Tuple, std::index_sequence<I...>> {
  using type = decltype(std::tuple_cat(
      std::declval<
          std::conditional_t<I % TARN_SHARDS == TARN_SHARD, std::tuple<std::type_identity<std::tuple_element_t<I, Tuple>>>,
                             std::tuple<>>>()...));
};

/// The rows of this shard, each as a std::type_identity, since a pool can't be passed around.
using shard = pick<compositions, std::make_index_sequence<std::tuple_size_v<compositions>>>::type;

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_COMPOSITIONS_H_
