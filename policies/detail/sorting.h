// Orders of free blocks: shuffler puts blocks that were never allocated into an order that can't be predicted from their
// addresses; sort_links sorts a list by address.
#ifndef TARN_POLICIES_DETAIL_SORTING_H_
#define TARN_POLICIES_DETAIL_SORTING_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

class shuffler {
 public:
  /// The Fisher-Yates shuffle (Knuth, vol. 2, 3.4.2), with xorshift64* (Vigna, 2016). The order is hard to guess, not
  /// impossible.
  void operator()(void** blocks, std::size_t n) noexcept {
    for (std::size_t i = n; i > 1; --i) swap_both(blocks[i - 1], blocks[next() % i]);
  }

 private:
  std::size_t next() noexcept {
    if (state_ == 0) state_ = code_of(this, coded::order);
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::size_t>(state_ * 0x2545F4914F6CDD1Du >> 32);
  }

  std::uint64_t state_ = 0;
};

// ---- a list by address, sorted in the blocks themselves: no memory, no recursion ------------------------------------------

inline bool lies_before(const free_link* a, const free_link* b) noexcept { return address_of(a) < address_of(b); }

inline free_link* merge_links(free_link* a, free_link* b) noexcept {
  free_link start{nullptr};
  free_link* last = &start;
  while (a != nullptr && b != nullptr) {
    free_link*& lower = lies_before(a, b) ? a : b;
    last = last->next = lower;
    lower = lower->next;
  }
  last->next = a != nullptr ? a : b;
  return start.next;
}

/// Cuts the longest run off the front of a list and sorts it: each of its blocks goes after the last or before the first one.
inline free_link* take_run(free_link*& list) noexcept {
  free_link* first = list;
  free_link* last = first;
  list = first->next;
  last->next = nullptr;
  while (list != nullptr) {
    free_link* const block = list;
    if (lies_before(last, block)) {
      list = block->next;
      last->next = block;
      last = block;
      last->next = nullptr;
    } else if (lies_before(block, first)) {
      list = block->next;
      block->next = first;
      first = block;
    } else {
      break;
    }
  }
  return first;
}

/// A natural merge sort, bottom up (Knuth, vol. 3, 5.2.4): O(n log n), and O(n) if the order was ascending or descending.
inline free_link* sort_links(free_link* list) noexcept {
  free_link* sorted[64] = {};  // [i]: 2^i runs merged, or none
  while (list != nullptr) {
    free_link* run = take_run(list);
    std::size_t i = 0;
    for (; sorted[i] != nullptr; ++i) run = merge_links(replace(sorted[i], nullptr), run);
    sorted[i] = run;
  }
  free_link* all = nullptr;
  for (free_link* const some : sorted) all = merge_links(some, all);
  return all;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_SORTING_H_
