// The columns that are tarn's: one line for each composition that a benchmark compares.
#ifndef TARN_BENCH_COMPOSITIONS_H_
#define TARN_BENCH_COMPOSITIONS_H_

#include <cstddef>
#include <mutex>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/retention.h"

namespace tarn_bench {

/// A pool as a column. The names that follow are keys for report.py.
template <class Pool>
struct pooled {
  void* take() { return pool_.allocate(); }
  void give(void* block) { pool_.deallocate(block); }
  Pool& pool() { return pool_; }

 private:
  Pool pool_;
};

#define TARN_BENCH_COLUMN(key, ...)                                                      \
  template <std::size_t Bytes>                                                           \
  struct key : pooled<tarn::pool<tarn::static_size<Bytes> __VA_OPT__(, ) __VA_ARGS__>> { \
    static constexpr const char* name = #key;                                            \
  }

TARN_BENCH_COLUMN(tarn_default);
TARN_BENCH_COLUMN(tarn_lifo, tarn::lifo_reuse<>);
TARN_BENCH_COLUMN(tarn_pages, tarn::page_store<>);
TARN_BENCH_COLUMN(tarn_prefilled, tarn::page_store<tarn::prefilled>);
TARN_BENCH_COLUMN(tarn_default_huge, tarn::page_store<tarn::huge_pages>);
TARN_BENCH_COLUMN(tarn_paged, tarn::page_local_reuse<>);
TARN_BENCH_COLUMN(tarn_paged_pages, tarn::page_local_reuse<>, tarn::page_store<>);
TARN_BENCH_COLUMN(tarn_paged_huge, tarn::page_local_reuse<>, tarn::page_store<tarn::huge_pages>);
TARN_BENCH_COLUMN(tarn_returning, tarn::return_empty_chunks<>);
TARN_BENCH_COLUMN(tarn_returning_pages, tarn::return_empty_chunks<>, tarn::page_store<>);
TARN_BENCH_COLUMN(tarn_returning_small, tarn::return_empty_chunks<>, tarn::page_store<>,
                  tarn::geometric_growth<tarn::natural, (16 << 10) / Bytes * 15 / 16>);
TARN_BENCH_COLUMN(tarn_page_returning, tarn::return_empty_pages<>, tarn::page_store<>);
TARN_BENCH_COLUMN(tarn_cached_returning, tarn::return_empty_chunks<>, tarn::thread_cached<>);
TARN_BENCH_COLUMN(tarn_array, tarn::static_array_store<4096>);
TARN_BENCH_COLUMN(tarn_array_hardened, tarn::static_array_store<4096>, tarn::hardened);
TARN_BENCH_COLUMN(tarn_array_checked, tarn::static_array_store<4096>, tarn::checked);
TARN_BENCH_COLUMN(tarn_hardened, tarn::hardened);
TARN_BENCH_COLUMN(tarn_checked, tarn::checked);
TARN_BENCH_COLUMN(tarn_deferred, tarn::deferred_checking);
TARN_BENCH_COLUMN(tarn_sampled, tarn::sampled_guard_pages<5000>);
TARN_BENCH_COLUMN(tarn_mutex, tarn::mutex_locking<>);
TARN_BENCH_COLUMN(tarn_grouped, tarn::grouped_locking<struct own_group>);
TARN_BENCH_COLUMN(tarn_grouped_mutex, tarn::grouped_locking<struct shared_group, std::mutex>);

#undef TARN_BENCH_COLUMN

/// The process-wide pool of a tag. Every call names instance() anew, as a user's code does.
template <std::size_t Bytes, class... Policies>
struct static_column {
  using pool = tarn::static_pool<static_column, tarn::static_size<Bytes>, Policies...>;
  void* take() { return pool::instance().allocate(); }
  void give(void* block) { pool::instance().deallocate(block); }
};
template <std::size_t Bytes>
struct tarn_static : static_column<Bytes> {
  static constexpr const char* name = "tarn_static";
};
template <std::size_t Bytes>
struct tarn_static_lifo : static_column<Bytes, tarn::lifo_reuse<>> {
  static constexpr const char* name = "tarn_static_lifo";
};
template <std::size_t Bytes>
struct tarn_static_mutex : static_column<Bytes, tarn::mutex_locking<>> {
  static constexpr const char* name = "tarn_static_mutex";
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_COMPOSITIONS_H_
