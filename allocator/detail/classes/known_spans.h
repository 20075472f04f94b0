// The spans of memory that are in use, for checking policies: any address may be looked up, and only the owner's own memory is
// read.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_KNOWN_SPANS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_KNOWN_SPANS_H_

#include <cstddef>

#include "tarn/allocator/detail/classes/owner_stores.h"
#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/policies/platform/held.h"

namespace tarn::detail {

/// What the record of a span has, as chunk_tree calls it. It lies where its owner puts it.
template <class Record>
struct known_span {
  static constexpr bool is_guarded = false;
  std::byte* first = nullptr;
  std::size_t blocks = 0;  // bytes
  Record* left = nullptr;
  Record* right = nullptr;
};

template <class Record, class Locking>
class known_spans {
 public:
  void insert(Record& r, void* start, std::size_t bytes) noexcept {
    const held lock(mutex_);
    r.first = static_cast<std::byte*>(start);
    r.blocks = bytes;
    tree_.insert(r, {});
  }
  void take_out(Record& r) noexcept {
    const held lock(mutex_);
    tree_.take_out(r, {});
  }
  /// Takes out the span that starts at the address. Returns its record, or null.
  Record* take(const void* address) noexcept {
    const held lock(mutex_);
    Record* const r = tree_.find(address, {});
    if (r == nullptr || r->first != address) return nullptr;
    tree_.take_out(*r, {});
    return r;
  }
  /// Calls visit(record) for the span that the address lies in. Returns whether there is one.
  template <class Visit>
  bool find(const void* address, Visit visit) const noexcept {
    const held lock(mutex_);
    const Record* const r = tree_.find(address, {});
    if (r != nullptr) visit(*r);
    return r != nullptr;
  }
  /// Calls visit(record) for the span that starts next after the address, if there is one.
  template <class Visit>
  void next_after(const void* address, Visit visit) const noexcept {
    const held lock(mutex_);
    if (const Record* const r = tree_.after(address)) visit(*r);
  }
  /// The owner ends: nothing is known any more.
  void leave() noexcept {
    tree_ = {};
    mutex_.leave();
  }

 private:
  struct in_bytes {
    static constexpr std::size_t extent(std::size_t bytes) noexcept { return bytes; }
  };

  chunk_tree<Record, in_bytes> tree_;
  mutable owner_mutex<Locking> mutex_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_KNOWN_SPANS_H_
