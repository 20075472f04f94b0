// Which chunks a store requested huge pages for, and what became of that.
#ifndef TARN_POLICIES_STORE_DETAIL_PAGE_RECORDS_H_
#define TARN_POLICIES_STORE_DETAIL_PAGE_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/detail/sorted_links.h"
#include "tarn/policies/platform/process_map.h"

namespace tarn {

/// What became of the huge pages that a store requested. All in bytes of the memory that it holds for its pool now; guard pages
/// and the store's own records don't count. If `huge` equals `resident`, huge pages were granted for everything that is
/// resident.
struct page_report {
  std::size_t mapped = 0;    // what the store got from the system
  std::size_t refused = 0;   // of `mapped`: the system says that huge pages can't be had there
  std::size_t resident = 0;  // of `mapped`: in memory now. Pages that were never touched are not
  std::size_t huge = 0;      // of `resident`: in whole huge pages now
  bool measured = false;     // `resident` and `huge` were read; false if the system doesn't report them
};

namespace detail {

/// A doubly linked list through a record for each chunk, which the store keeps in a page of its own in front of the chunk. Not
/// thread-safe, not even if const.
class page_records {
 public:
  /// \param page  room for the record
  void add(void* page, memory region, bool refused) noexcept {
    record* const r = ::new (page) record{{first_}, nullptr, region, refused};
    if (first_ != nullptr) first()->before = r;
    first_ = r;
  }
  void remove(void* page) noexcept {
    record* const r = std::launder(static_cast<record*>(page));
    (r->before != nullptr ? r->before->next : first_) = r->next;
    if (r->next != nullptr) r->following()->before = r->before;
  }

  page_report report() const noexcept {
    sort();
    page_report sum;
    for (const record* r = first(); r != nullptr; r = r->following()) {
      sum.mapped += r->region.bytes;
      if (r->refused) sum.refused += r->region.bytes;
    }
    const record* next = first();  // that ends past the mappings seen so far
    sum.measured = each_process_mapping([&](const process_mapping& m) {
      std::size_t ours = 0;
      for (; next != nullptr && next->start() < m.last; next = next->following()) {
        const std::size_t part = m.overlap(next->start(), next->region.bytes);
        ours += part;
        if (!next->refused && !m.may_be_huge) sum.refused += part;  // if the system's setting is "never", the request succeeds
        if (next->start() + next->region.bytes > m.last) break;
      }
      // A chunk is a mapping of its own, except if huge pages were refused: then its record is in front of it.
      sum.resident += detail::smaller(m.resident, ours);
      sum.huge += detail::smaller(m.huge, ours);
    });
    return sum;
  }

 private:
  struct record : free_link {
    record* before;
    memory region;
    bool refused;

    record* following() const noexcept { return static_cast<record*>(next); }
    std::uintptr_t start() const noexcept { return address_of(region.start); }
  };

  record* first() const noexcept { return static_cast<record*>(first_); }

  /// By address, the order in which the system lists mappings: each is sought in one place only. 1000 chunks: 186 to 5 ms.
  void sort() const noexcept {
    first_ = sort_links(first_);
    record* before = nullptr;
    for (record* r = first(); r != nullptr; r = r->following()) r->before = replace(before, r);
  }

  mutable free_link* first_ = nullptr;
};

}  // namespace detail
}  // namespace tarn

#endif  // TARN_POLICIES_STORE_DETAIL_PAGE_RECORDS_H_
