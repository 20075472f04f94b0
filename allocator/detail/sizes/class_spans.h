// What has the free blocks of classes whose caches are size_caches: runs of a span_heap, cut into blocks, with a bit for each
// free one.
//
//   fill   blocks of the spans of the class that have some, the lowest of a span first; else of a new span, carved in order
//   drain  sets bits. A span of which all blocks are free goes back to the heap, unless it is the class' last with free ones
//
// Blocks aren't written to. What a drain finds wrong, it leaves alone, and notes: report() tells of it once nothing is locked.
#ifndef TARN_ALLOCATOR_DETAIL_SIZES_CLASS_SPANS_H_
#define TARN_ALLOCATOR_DETAIL_SIZES_CLASS_SPANS_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/allocator/detail/sizes/class_table.h"
#include "tarn/allocator/detail/sizes/size_caches.h"
#include "tarn/allocator/detail/sizes/span_heap.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Classes  a size_class_policy, of sizes that are multiples of 16 up to 64 KiB
/// \tparam Heap     a span_heap
template <class Classes, class Heap>
class class_spans {
 public:
  using table = class_table<Classes>;
  static_assert(table::largest <= span_unit);

  constexpr explicit class_spans(Heap& heap) noexcept : heap_(heap) {}

  /// Under the class' lock. Returns how many blocks it gave: fewer than `n` if the heap has no more.
  std::uint32_t fill(unsigned c, cache_word* out, std::uint32_t n) noexcept {
    std::uint32_t got = 0;
    while (got != n) {
      span_record* span = available_[c];
      if (span == nullptr && (span = make(c)) == nullptr) break;
      const std::uint32_t more = take_some(*span, c, out + got, n - got);
      got += more;
      if (span->free_blocks == 0) unlist(*span, c);
    }
    handed_out_[c] += got;
    return got;
  }

  void drain(unsigned c, const cache_word* in, std::uint32_t n) noexcept {
    span_record* span = nullptr;
    for (std::uint32_t i = 0; i != n; ++i) {
      // Neighbours leave together: most blocks are in the span of the one before.
      if (span == nullptr || in[i] - address_of(span->start) >= span->units * span_unit) {
        span = heap_.span_of(reinterpret_cast<void*>(in[i]));
        if (span == nullptr || span->is != span_record::blocks || span->class_ != c) {
          suspect(in[i]);
          span = nullptr;
          continue;
        }
      }
      const std::size_t offset = in[i] - address_of(span->start);
      const std::uint32_t block = table::block_at(c, offset);
      const std::uint64_t bit = std::uint64_t{1} << block % 64;
      if (block >= span->carved || block * table::bytes(c) != offset || (span->free[block / 64] & bit) != 0) {
        suspect(in[i]);
        continue;
      }
      span->free[block / 64] |= bit;
      span->words |= std::uint64_t{1} << block / 64;
      if (!span->is_listed) list(*span, c);
      --handed_out_[c];
      if (++span->free_blocks == span->block_count && retire(*span, c)) span = nullptr;
    }
  }

  void* own_memory(std::size_t bytes) noexcept { return heap_.own_memory(bytes); }
  void act_at_fork(fork_step step) noexcept { heap_.act_at_fork(step); }

  /// Blocks of the class that aren't here. Under its lock.
  std::size_t handed_out(unsigned c) const noexcept { return handed_out_[c]; }
  /// Units in the class' spans. Under its lock.
  std::size_t units(unsigned c) const noexcept { return units_[c]; }
  /// A block that a drain refused since the last time, or null.
  void* suspect() noexcept {
    if (suspect_.load(memory_order_relaxed) == nullptr) return nullptr;
    return suspect_.exchange(nullptr, memory_order_relaxed);
  }

 private:
  static std::size_t units_of(unsigned c) noexcept { return table::bytes(c) <= 8192 ? 1 : 4; }

  std::uint32_t take_some(span_record& span, unsigned c, cache_word* out, std::uint32_t n) noexcept {
    const std::uintptr_t start = address_of(span.start);
    const std::size_t bytes = table::bytes(c);
    std::uint32_t got = 0;
    while (got != n && span.words != 0) {
      const auto at = static_cast<unsigned>(std::countr_zero(span.words));
      std::uint64_t word = span.free[at];
      do {
        out[got++] = start + (std::size_t{at} * 64 + static_cast<unsigned>(std::countr_zero(word))) * bytes;
        word &= word - 1;
      } while (word != 0 && got != n);
      span.free[at] = word;
      if (word == 0) span.words &= ~(std::uint64_t{1} << at);
    }
    while (got != n && span.carved != span.block_count) out[got++] = start + span.carved++ * bytes;
    span.free_blocks -= got;
    return got;
  }

  span_record* make(unsigned c) noexcept {
    span_record* const span = heap_.take(units_of(c), span_record::blocks);
    if (span == nullptr) return nullptr;
    span->block_count = span->free_blocks = static_cast<std::uint32_t>(span->units * span_unit / table::bytes(c));
    span->carved = 0;
    heap_.set_class(*span, c);
    units_[c] += span->units;
    list(*span, c);
    return span;
  }
  /// Returns whether the span went back.
  bool retire(span_record& span, unsigned c) noexcept {
    if (span.next == nullptr && span.previous == nullptr) return false;
    unlist(span, c);
    for (std::uint32_t word = 0; word != (span.block_count + 63) / 64; ++word) span.free[word] = 0;
    span.words = 0;
    heap_.set_class(span, 0);
    units_[c] -= span.units;
    heap_.give(span);
    return true;
  }

  void list(span_record& span, unsigned c) noexcept {
    span.is_listed = true;
    span.previous = nullptr;
    span.next = available_[c];
    if (span.next != nullptr) span.next->previous = &span;
    available_[c] = &span;
  }
  void unlist(span_record& span, unsigned c) noexcept {
    span.is_listed = false;
    (span.previous != nullptr ? span.previous->next : available_[c]) = span.next;
    if (span.next != nullptr) span.next->previous = span.previous;
    span.next = span.previous = nullptr;
  }

  TARN_COLD void suspect(cache_word block) noexcept { suspect_.store(reinterpret_cast<void*>(block), memory_order_relaxed); }

  Heap& heap_;
  span_record* available_[table::count] = {};  // spans with a free block
  std::size_t handed_out_[table::count] = {}, units_[table::count] = {};
  // Order: relaxed; a number.
  atomic_word<void*> suspect_ = nullptr;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_SIZES_CLASS_SPANS_H_
