// What the tests of page_store share: its options, each alone or beside others.
#ifndef TARN_TEST_POLICIES_STORE_PAGE_STORES_H_
#define TARN_TEST_POLICIES_STORE_PAGE_STORES_H_

#include <cstddef>
#include <cstdio>
#include <tuple>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/store/processes.h"

namespace tarn::test {

inline constexpr std::size_t KiB = 1024;
inline constexpr std::size_t MiB = 1024 * 1024;

struct no_pool {};
template <class Store>
using source_of = typename Store::template source<no_pool>;

using stores = std::tuple<page_store<>, page_store<huge_pages>, page_store<guard_pages>, page_store<locked_pages, guard_pages>,
                          page_store<huge_pages, guard_pages, locked_pages>, page_store<prefilled>,
                          page_store<huge_pages, prefilled, guard_pages>>;

/// Whether this process may lock so many bytes.
inline bool may_lock(std::size_t bytes) {
  void* const probe = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool may = mlock(probe, bytes) == 0;
  munmap(probe, bytes);
  if (!may) std::printf("this process may not lock %zu bytes: cases of locked_pages see that refused\n", bytes);
  return may;
}

}  // namespace tarn::test

#endif  // TARN_TEST_POLICIES_STORE_PAGE_STORES_H_
