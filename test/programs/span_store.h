// A store for the heap of a whole program: page_store would map each block that is larger than any class, and unmap it when it
// is freed. Spans of units of 64 KiB are cut from areas of addresses. A free span keeps its memory for the next, up to a limit,
// and is joined with its neighbours.
#ifndef TARN_TEST_PROGRAMS_SPAN_STORE_H_
#define TARN_TEST_PROGRAMS_SPAN_STORE_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/store.h"

namespace tarn::test {

struct span_store {
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};

  static constexpr std::size_t unit = 64 * 1024;
  static constexpr std::size_t page = 4096;

  /// Called by one thread at a time.
  template <class Traits>
  class source {
   public:
    constexpr explicit source(const span_store&) noexcept {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      if (bytes > detail::size_limit || alignment > detail::size_limit) return {};
      if (bytes <= small && alignment <= page) return acquire_small(detail::round_up(bytes, page));
      if (bytes > area_bytes / 4 || alignment > unit)
        return map(detail::round_up(bytes, page), detail::larger(alignment, unit));
      const std::size_t units = (bytes + unit - 1) / unit;
      std::byte* const start = take(units);
      if (start == nullptr) return {};
      return {start, bytes > unit ? units * unit : detail::round_up(bytes, page)};
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      if (region.bytes <= small && alignment <= page) return release_small(region);
      if (area* const its = area_of(region.start)) return give(*its, region);
      ::munmap(region.start, region.bytes);
    }

   private:
    static constexpr std::size_t area_bytes = std::size_t{1} << 30;
    static constexpr std::size_t area_units = area_bytes / unit;
    static constexpr std::size_t areas = 256;
    static constexpr std::size_t small = unit / 2;  // what pools need for themselves
    static constexpr std::size_t bins = 64;         // by units; the last: all larger ones
    static constexpr std::size_t kept_units = 64;   // free, with memory; more, where much is in use

    /// Of the first and the last unit of a span.
    struct span {
      std::uint32_t units;
      bool is_free;
      bool has_memory;
      span *next, *previous;
    };
    struct area {
      std::byte* start;
      span* spans;
      std::size_t top;  // units that were ever in use
    };
    struct free_region {
      free_region* next;
    };

    // ---- spans -------------------------------------------------------------------------------------------------------

    std::byte* take(std::size_t units) noexcept {
      for (std::size_t bin = detail::smaller(units, bins - 1); bin != bins; ++bin)
        for (span* s = bins_[bin]; s != nullptr; s = s->next)
          if (s->units >= units) return cut(*area_of_span(s), *s, units);
      if (count_ == 0 || area_units - last().top < units)
        if (!add_area()) return nullptr;
      area& its = last();
      const std::size_t at = its.top;
      its.top += units;
      used_ += units;
      note(its, at, units, false, false);
      return its.start + at * unit;
    }
    std::byte* cut(area& its, span& s, std::size_t units) noexcept {
      const auto at = static_cast<std::size_t>(&s - its.spans);
      const std::size_t left = s.units - units;
      const bool has_memory = s.has_memory;
      unlink(s);
      note(its, at, units, false, false);
      if (left != 0) link(its, at + units, left, has_memory);
      used_ += units;
      return its.start + at * unit;
    }
    void give(area& its, detail::memory region) noexcept {
      auto at = static_cast<std::size_t>(static_cast<std::byte*>(region.start) - its.start) / unit;
      std::size_t units = (region.bytes + unit - 1) / unit;
      used_ -= units;
      bool has_memory = units <= kept_units / 2;
      if (!has_memory) ::madvise(region.start, region.bytes, MADV_DONTNEED);
      if (at + units != its.top && its.spans[at + units].is_free) {
        span& next = its.spans[at + units];
        has_memory |= next.has_memory;
        units += next.units;
        unlink(next);
      }
      if (at != 0 && its.spans[at - 1].is_free) {
        span& first = its.spans[at - its.spans[at - 1].units];
        has_memory |= first.has_memory;
        at -= first.units;
        units += first.units;
        unlink(first);
      }
      link(its, at, units, has_memory);
      if (with_memory_ > kept_units + used_ / 8) empty_all();
    }
    /// Takes the memory of free spans, the largest first, until half of what may be kept is left.
    void empty_all() noexcept {
      for (std::size_t bin = bins; bin-- != 0;)
        for (span* s = bins_[bin]; s != nullptr; s = s->next) {
          if (!s->has_memory) continue;
          area& its = *area_of_span(s);
          ::madvise(its.start + static_cast<std::size_t>(s - its.spans) * unit, s->units * unit, MADV_DONTNEED);
          s->has_memory = false;
          with_memory_ -= s->units;
          if (with_memory_ <= kept_units / 2) return;
        }
    }

    static void note(area& its, std::size_t at, std::size_t units, bool is_free, bool has_memory) noexcept {
      span& first = its.spans[at];
      span& end = its.spans[at + units - 1];
      first.units = end.units = static_cast<std::uint32_t>(units);
      first.is_free = end.is_free = is_free;
      first.has_memory = end.has_memory = has_memory;
    }
    void link(area& its, std::size_t at, std::size_t units, bool has_memory) noexcept {
      note(its, at, units, true, has_memory);
      span& s = its.spans[at];
      span*& bin = bins_[detail::smaller(units, bins - 1)];
      s.previous = nullptr;
      s.next = bin;
      if (bin != nullptr) bin->previous = &s;
      bin = &s;
      if (has_memory) with_memory_ += units;
    }
    void unlink(span& s) noexcept {
      (s.previous != nullptr ? s.previous->next : bins_[detail::smaller(s.units, bins - 1)]) = s.next;
      if (s.next != nullptr) s.next->previous = s.previous;
      if (s.has_memory) with_memory_ -= s.units;
    }

    // ---- areas -------------------------------------------------------------------------------------------------------

    area& last() noexcept { return areas_[count_ - 1]; }
    area* area_of(const void* address) noexcept {
      for (std::size_t i = 0; i != count_; ++i)
        if (detail::address_of(address) - detail::address_of(areas_[i].start) < area_bytes) return &areas_[i];
      return nullptr;
    }
    area* area_of_span(const span* s) noexcept {
      for (std::size_t i = 0; i != count_; ++i)
        if (detail::address_of(s) - detail::address_of(areas_[i].spans) < area_units * sizeof(span)) return &areas_[i];
      return nullptr;
    }
    bool add_area() noexcept {
      if (count_ == areas) return false;
      const detail::memory addresses = map(area_bytes, unit), spans = map(area_units * sizeof(span), page);
      if (!addresses || !spans) return false;
      areas_[count_++] = {static_cast<std::byte*>(addresses.start), static_cast<span*>(spans.start), 0};
      return true;
    }
    static detail::memory map(std::size_t bytes, std::size_t alignment) noexcept {
      const std::size_t slack = alignment - page;
      void* const mapped =
          ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapped == MAP_FAILED) return {};
      const std::size_t skip = detail::round_up(detail::address_of(mapped), alignment) - detail::address_of(mapped);
      std::byte* const start = static_cast<std::byte*>(mapped) + skip;
      if (skip != 0) ::munmap(mapped, skip);
      if (slack != skip) ::munmap(start + bytes, slack - skip);
      return {start, bytes};
    }

    // ---- what pools need for themselves, in pages ---------------------------------------------------------------------

    detail::memory acquire_small(std::size_t bytes) noexcept {
      free_region*& kept = small_[bytes / page];
      if (kept != nullptr) {
        void* const start = kept;
        kept = kept->next;
        return {start, bytes};
      }
      if (rest_.bytes < bytes) {
        std::byte* const start = take(4);
        if (start == nullptr) return {};
        rest_ = {start, 4 * unit};
      }
      void* const start = rest_.start;
      rest_ = {static_cast<std::byte*>(start) + bytes, rest_.bytes - bytes};
      return {start, bytes};
    }
    void release_small(detail::memory region) noexcept {
      free_region*& kept = small_[region.bytes / page];
      kept = ::new (region.start) free_region{kept};
    }

    span* bins_[bins] = {};
    area areas_[areas] = {};
    std::size_t count_ = 0;
    std::size_t used_ = 0;         // units
    std::size_t with_memory_ = 0;  // units in free spans
    free_region* small_[small / page + 1] = {};
    detail::memory rest_;
  };
};

}  // namespace tarn::test

#endif  // TARN_TEST_PROGRAMS_SPAN_STORE_H_
