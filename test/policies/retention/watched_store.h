// A store over page_store that notes what it is asked, and refuses or does something else meanwhile when it is told to; and
// blocks that know what they should contain.
#ifndef TARN_TEST_POLICIES_RETENTION_WATCHED_STORE_H_
#define TARN_TEST_POLICIES_RETENTION_WATCHED_STORE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/store/page_stores.h"
#include "tarn/test/support/check.h"

namespace tarn::test {

/// Not atomic: a pool calls its store under its growth guard.
struct watch {
  std::size_t regions = 0;  // that were given
  std::size_t most_regions = detail::size_max;
  std::size_t discards = 0;  // calls
  std::size_t runs = 0;
  std::size_t faults = 0;  // runs that aren't whole pages of a region
  std::size_t accepts = detail::size_max;  // how many runs may go still
  page_advice how = page_advice::discard;
  std::function<void()> meanwhile;  // called once, by discard()
  std::map<const std::byte*, std::size_t> held;

  /// How many pages of the regions are in memory.
  std::size_t resident() const {
    std::size_t sum = 0;
    for (const auto& [start, bytes] : held) sum += pages_in(start, bytes).resident;
    return sum;
  }
  std::size_t resident_bytes() const { return resident() * page_bytes(); }
};

template <class Inner = page_store<>>
struct watched_store : Inner {
  static constexpr store_traits traits = [] {
    store_traits all = Inner::traits.wrapped();
    all.can_discard = Inner::traits.can_discard;
    return all;
  }();
  constexpr explicit watched_store(watch& its) noexcept : seen(&its) {}

  template <class Traits>
  class source : public Inner::template source<Traits> {
    using inner = typename Inner::template source<Traits>;

   public:
    constexpr explicit source(const watched_store& store) noexcept : inner(store), seen_(*store.seen) {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      if (seen_.regions == seen_.most_regions) return {};
      const detail::memory region = inner::acquire(bytes, alignment);
      if (!region) return region;
      madvise(region.start, region.bytes, MADV_NOHUGEPAGE);  // where the system makes huge ones of them unasked
      seen_.held.emplace(static_cast<std::byte*>(region.start), region.bytes);
      ++seen_.regions;
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      seen_.held.erase(static_cast<std::byte*>(region.start));
      inner::release(region, alignment);
    }
    std::size_t discard(const detail::memory* runs, std::size_t n, page_advice how) noexcept {
      ++seen_.discards;
      seen_.runs += n;
      seen_.how = how;
      for (std::size_t i = 0; i != n; ++i) seen_.faults += !is_inside(runs[i]);
      if (const auto body = std::exchange(seen_.meanwhile, nullptr)) body();
      n = std::min(n, seen_.accepts);
      if (seen_.accepts != detail::size_max) seen_.accepts -= n;
      return n == 0 ? 0 : inner::discard(runs, n, how);
    }

   private:
    bool is_inside(detail::memory run) const noexcept {
      const auto* const start = static_cast<const std::byte*>(run.start);
      const auto after = seen_.held.upper_bound(start);
      if (after == seen_.held.begin() || run.bytes == 0) return false;
      const auto& [first, bytes] = *std::prev(after);
      return start + run.bytes <= first + bytes && reinterpret_cast<std::uintptr_t>(start) % page_bytes() == 0 &&
             run.bytes % page_bytes() == 0;
    }
    watch& seen_;
  };

  watch* seen;
};

/// Blocks of a pool, each filled with a pattern of its own: one that was handed out twice or lost its pages has another one.
template <class Pool>
class stamped_blocks {
 public:
  stamped_blocks(Pool& pool, std::size_t block_bytes, std::uint64_t seed)
      : pool_(pool), words_(block_bytes / 8), random_(seed) {}

  std::size_t size() const { return live_.size(); }
  std::size_t bytes() const { return live_.size() * words_ * 8; }
  std::mt19937_64& random() { return random_; }
  const std::vector<std::uint64_t*>& all() const { return live_; }

  void add(std::size_t n) {
    for (; n != 0; --n) {
      auto* const block = static_cast<std::uint64_t*>(pool_.try_allocate());
      REQUIRE(block != nullptr);
      for (std::size_t i = 0; i != words_; ++i) block[i] = stamp(block, i);
      live_.push_back(block);
    }
  }
  /// Random ones.
  void free(std::size_t n) {
    for (; n != 0 && !live_.empty(); --n) {
      std::swap(live_[random_() % live_.size()], live_.back());
      drop_last();
    }
  }
  /// Neighbours: what was allocated one after the other.
  void free_last(std::size_t n) {
    for (; n != 0 && !live_.empty(); --n) drop_last();
  }
  /// Several times so many, wherever they are.
  void free_neighbours(std::size_t times, std::size_t n) {
    sort();
    std::vector<bool> goes(live_.size());
    for (; times != 0; --times)
      for (std::size_t i = random_() % live_.size(), end = std::min(i + n, live_.size()); i != end; ++i) goes[i] = true;
    std::size_t i = live_.size();
    free_if([&](void*) { return goes[--i]; });
  }
  /// Asks of each, from the last on.
  template <class Which>
  void free_if(Which which) {
    for (std::size_t i = live_.size(); i-- != 0;) {
      if (!which(live_[i])) continue;
      std::swap(live_[i], live_.back());
      drop_last();
    }
  }
  void sort() { std::sort(live_.begin(), live_.end()); }
  void check(called_from = {}) const {
    for (const auto* const block : live_) REQUIRE(is_intact(block));
  }
  bool are_intact() const {
    return std::all_of(live_.begin(), live_.end(), [this](const auto* block) { return is_intact(block); });
  }

 private:
  // Of the address alone: no record of it can be lost. Zero for no word.
  std::uint64_t stamp(const std::uint64_t* block, std::size_t i) const {
    return (reinterpret_cast<std::uintptr_t>(block) + i + 1) * 0x9E3779B97F4A7C15 ^
           reinterpret_cast<std::uintptr_t>(this);
  }
  bool is_intact(const std::uint64_t* block) const {
    for (std::size_t i = 0; i != words_; ++i)
      if (block[i] != stamp(block, i)) return false;
    return true;
  }
  void drop_last() {
    REQUIRE(is_intact(live_.back()));
    std::fill_n(live_.back(), words_, 0xDDDDDDDDDDDDDDDD);  // whoever else has it sees that
    pool_.deallocate(live_.back());
    live_.pop_back();
  }

  Pool& pool_;
  std::size_t words_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t*> live_;
};

/// No two are the same.
template <class Pool>
bool are_distinct(const stamped_blocks<Pool>& blocks) {
  return std::set<void*>(blocks.all().begin(), blocks.all().end()).size() == blocks.size();
}
/// Blocks in a row of which few are left, so that most pages have none.
template <class Pool>
void leave_one_in_a_thousand(stamped_blocks<Pool>& blocks, std::size_t n) {
  blocks.add(n - blocks.size());
  blocks.sort();
  std::size_t i = 0;
  blocks.free_if([&](void*) { return ++i % 1000 != 0; });
}

}  // namespace tarn::test

#endif  // TARN_TEST_POLICIES_RETENTION_WATCHED_STORE_H_
