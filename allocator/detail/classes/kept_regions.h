// Regions of large blocks that were freed: a few stay for the next, since a store may take a thousand times as long (a malloc
// that is asked for 64 KiB of alignment maps pages for each, and unmaps them: 11,600 ns a pair, 20 with this, Zen 5).
//
// At most `count` of them, none above `largest` bytes, `most` in all; the oldest goes for a newer one. trim() gives them back,
// and so does an allocation that the store refused.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_KEPT_REGIONS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_KEPT_REGIONS_H_

#include <cstddef>

#include "tarn/policies/detail/replace.h"

namespace tarn::detail {

/// \tparam Record  of a region, with `next` and bytes(); it lies in the region
template <class Record>
class kept_regions {
 public:
  /// Takes out the smallest that has so many bytes, and at most a quarter more; null: none has.
  Record* take(std::size_t bytes) noexcept {
    place* best = nullptr;
    for (place& p : places_)
      if (p.bytes >= bytes && p.bytes - bytes <= bytes / 4 && (best == nullptr || p.bytes < best->bytes)) best = &p;
    return best != nullptr ? take(*best) : nullptr;
  }
  /// Returns those that must go instead, which may be itself: a list, by `next`.
  Record* put(Record& r) noexcept {
    r.next = nullptr;
    const std::size_t bytes = r.bytes();
    if (bytes > largest) return &r;
    Record* gone = nullptr;
    place* to = free_or_oldest();
    take_into(gone, *to);
    while (bytes_ + bytes > most) take_into(gone, *oldest());
    *to = {bytes, &r, ++puts_};
    bytes_ += bytes;
    return gone;
  }
  Record* take_all() noexcept {
    Record* all = nullptr;
    for (place& p : places_) take_into(all, p);
    return all;
  }

 private:
  static constexpr std::size_t count = 32;
  static constexpr std::size_t most = 8 * 1024 * 1024;
  static constexpr std::size_t largest = most / 2;

  struct place {
    std::size_t bytes = 0;  // 0: it is empty
    Record* record = nullptr;
    std::size_t put = 0;  // the number of its put()
  };

  Record* take(place& p) noexcept {
    bytes_ -= replace(p.bytes, std::size_t{0});
    return p.record;
  }
  void take_into(Record*& list, place& p) noexcept {
    if (p.bytes == 0) return;
    Record* const r = take(p);
    r->next = list;
    list = r;
  }

  /// That which was put in longest ago. An empty one is passed over, unless all are.
  place* oldest() noexcept {
    place* found = places_;
    for (place& p : places_)
      if (p.bytes != 0 && (found->bytes == 0 || p.put < found->put)) found = &p;
    return found;
  }
  place* free_or_oldest() noexcept {
    for (place& p : places_)
      if (p.bytes == 0) return &p;
    return oldest();
  }

  place places_[count];
  std::size_t bytes_ = 0;
  std::size_t puts_ = 0;
};

/// Where regions go back at once.
template <class Record>
struct no_kept_regions {
  static constexpr Record* take(std::size_t) noexcept { return nullptr; }
  static constexpr Record* put(Record& r) noexcept { return r.next = nullptr, &r; }
  static constexpr Record* take_all() noexcept { return nullptr; }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_KEPT_REGIONS_H_
