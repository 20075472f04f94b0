// How often the system refused what a store of pages requires of it.
#ifndef TARN_POLICIES_STORE_DETAIL_PAGE_REFUSALS_H_
#define TARN_POLICIES_STORE_DETAIL_PAGE_REFUSALS_H_

#include <cstddef>

#include "tarn/policies/platform/atomic_word.h"

namespace tarn {

/// Chunks that a page_store didn't get, though they could be mapped. Growth that is refused tries again with half as much: each
/// try counts.
struct page_refusals {
  std::size_t locks = 0;  // that the system wouldn't lock in memory
  std::size_t fills = 0;  // that it wouldn't bring into memory
  int error = 0;          // errno of the last (GetLastError() on Windows): mlock() and MADV_POPULATE_WRITE say what it means
};

namespace detail {

/// Read at any time, changed by one thread at a time.
class refusal_counts {
 public:
  void add_lock(int error) noexcept { add(locks_, error); }
  void add_fill(int error) noexcept { add(fills_, error); }

  page_refusals get() const noexcept {
    return {locks_.load(memory_order_relaxed), fills_.load(memory_order_relaxed), error_.load(memory_order_relaxed)};
  }

 private:
  void add(atomic_word<std::size_t>& count, int error) noexcept {
    error_.store(error, memory_order_relaxed);
    count.store(count.load(memory_order_relaxed) + 1, memory_order_relaxed);
  }

  atomic_word<std::size_t> locks_ = 0;
  atomic_word<std::size_t> fills_ = 0;
  atomic_word<int> error_ = 0;
};

}  // namespace detail
}  // namespace tarn

#endif  // TARN_POLICIES_STORE_DETAIL_PAGE_REFUSALS_H_
