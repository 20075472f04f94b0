// Memory in runs of units of 64 KiB, and what is at an address. A run is in use, or free; free ones are joined with their
// neighbours. The record of a unit lies outside of it, so that no block is written to find out about it.
//
//   take     the free run that fits best, cut; else a new one: addresses are reserved by the region, and opened when needed
//   give     joined, and kept. If too much memory is kept, is_dirty() says so:
//   clean    gives the memory of the largest free runs back to the system, with nothing locked; their addresses, too, if the
//            process has a limit of them
//   resize   a run grows into the free one behind it, or into what isn't open yet
//   relocate the memory of a large run goes, without a copy, to where it can grow. The new place is a mapping of its own. When
//            the run is given back, the place is mapped again, and the system joins the mapping with its neighbours
//   span_of  the record of an address, or null: not this heap's
//   map      a byte a unit, at the address' number of the unit modulo the window: the class of the blocks there, 0 for none
//
// The map is a variable of 16 MiB, of which the pages that are used have memory. No two units may share a byte: a region whose
// units would is refused, so a heap has up to 1 TiB. An address that isn't the heap's may find the byte of one that is;
// span_of() finds that out.
#ifndef TARN_ALLOCATOR_DETAIL_SIZES_SPAN_HEAP_H_
#define TARN_ALLOCATOR_DETAIL_SIZES_SPAN_HEAP_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>

#include "tarn/allocator/detail/sizes/size_caches.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/address_limit.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

inline constexpr std::size_t span_unit = 64 * 1024;

/// The record of a unit. The data of a run is in the record of its first unit.
struct alignas(64) span_record {
  enum kind : unsigned char {
    inner,  // not the first of a run, or not in use yet
    blocks,  // a run of blocks of a class
    large,  // a run that is one block
    unused,  // a free run
    leaving  // a free run whose memory goes back to the system
  };

  std::byte* start = nullptr;
  span_record* next = nullptr;  // of free runs of about that size, or of runs with a free block of the class
  span_record* previous = nullptr;
  std::uint64_t words = 0;  // which words of `free` aren't 0
  std::uint32_t units = 0;
  std::uint32_t back = 0;  // units to the first: of inner ones of `blocks`, and of the last of a free run
  std::uint32_t block_count = 0, free_blocks = 0;
  std::uint32_t carved = 0;  // blocks that were ever in use; those behind are free, without a bit
  std::uint32_t moved = 0;  // of a large run that was moved: units that the caller has; the others are room. 0: it wasn't
  kind is = inner;
  unsigned char class_ = 0;
  bool is_dirty = false;  // may hold something else than zeros
  bool is_listed = false;
  bool stays = false;  // of a free run: the system refused to take its memory
  std::uint64_t free[span_unit / 16 / 64] = {};  // a bit a block

  std::byte* end() const noexcept { return start + units * span_unit; }
  std::size_t bytes_to_use() const noexcept { return (moved != 0 ? moved : units) * span_unit; }
};

/// For records and magazines: never given back.
template <class System>
class own_pages {
 public:
  /// Zero, aligned to 64; null: refused.
  void* get(std::size_t bytes) noexcept {
    bytes = round_up(bytes, 64);
    const held lock(mutex_);
    if (left_ < bytes && !map(bytes)) return nullptr;
    std::byte* const got = next_;
    next_ += bytes;
    left_ -= bytes;
    return got;
  }
  std::size_t mapped() const noexcept { return mapped_.load(memory_order_relaxed); }
  void act_at_fork(fork_step step) noexcept { mutex_.act(step); }

 private:
  static constexpr std::size_t piece = 256 * 1024;

  bool map(std::size_t bytes) noexcept {
    for (std::size_t more = larger(bytes, piece);; more = bytes) {
      if (auto* const start = static_cast<std::byte*>(System::map_pages(round_up(more, System::page_bytes()), 1, 0, true))) {
        next_ = start;
        left_ = round_up(more, System::page_bytes());
        mapped_.store(mapped_.load(memory_order_relaxed) + left_, memory_order_relaxed);
        return true;
      }
      if (more <= bytes) return false;
    }
  }

  joint_mutex mutex_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  // Order: relaxed; a number.
  atomic_word<std::size_t> mapped_ = 0;
};

/// Bins of free runs: by units up to 63, then four to a doubling.
struct run_bins {
  static constexpr unsigned exact = 64, count = exact + 4 * 20;

  static constexpr unsigned of(std::size_t units) noexcept {
    if (units < exact) return static_cast<unsigned>(units);
    const unsigned width = static_cast<unsigned>(std::bit_width(units));
    const unsigned bin = exact + 4 * (width - 7) + static_cast<unsigned>(units >> (width - 3) & 3);
    return bin < count ? bin : count - 1;
  }
};

/// What became of a large block that was given back by its address.
enum class run_verdict : unsigned char { done, not_ours, not_a_start, is_free };

struct heap_counts {
  std::size_t in_use = 0;  // bytes of runs
  std::size_t kept = 0;  // bytes of free runs that have memory
  std::size_t open = 0;  // bytes of all runs
  std::size_t own = 0;  // bytes of records and magazines
};

struct heap_options {
  std::size_t kept_bytes = 16 * 1024 * 1024;  // of free runs with memory, at least; and a quarter of what is in use
  bool huge_pages = false;  // the system is asked for them
  bool notes_use = false;  // a bit for each block says whether it is in use
};

/// What a heap asks of the system.
struct heap_calls : page_calls {
  static std::size_t address_limit() noexcept { return detail::address_limit(); }
};

/// Constant-initialised, without a destructor: a process has one. Neither copied nor on the stack: 20 MiB.
/// \tparam System  the system's pages; a test names one that refuses
template <class System = heap_calls>
class span_heap {
 public:
  static constexpr std::size_t window = std::size_t{1} << (sizeof(void*) == 8 ? 24 : 16);  // in units
  static constexpr std::size_t most_units = window / 2;  // in one run

  constexpr span_heap() noexcept = default;
  span_heap(const span_heap&) = delete;
  span_heap& operator=(const span_heap&) = delete;
  /// Before the first other call.
  void use(const heap_options& options) noexcept {
    options_ = options;
    update_bound();
  }

  // ---- what lies at an address ------------------------------------------------------------------------------------------

  /// The class of the blocks around it; 0: none, or it isn't the heap's. See above for addresses that aren't.
  TARN_STEP unsigned class_at(const void* address) const noexcept { return load_relaxed(map_[byte_of(address)]); }
  /// The record of the run that contains it, or null. Of a free run, or of a part of one, it may be that of a unit.
  span_record* span_of(const void* address) noexcept {
    span_record* const unit = unit_at(address);
    if (unit == nullptr || unit->back == 0) return unit;
    return unit_at(static_cast<const std::byte*>(address) - unit->back * span_unit);
  }
  void set_class(span_record& run, unsigned c) noexcept {
    run.class_ = static_cast<unsigned char>(c);
    for (std::uint32_t i = 0; i != run.units; ++i) {
      std::byte* const at = run.start + i * span_unit;
      unit_at(at)->back = c != 0 ? i : 0;
      store_relaxed(map_[byte_of(at)], static_cast<unsigned char>(c));
    }
  }
  /// Notes that a block is in use, or no longer. Returns whether that changed. If options say so; otherwise nothing is noted.
  bool note_use(const span_record& run, std::uint32_t block, bool in_use) noexcept {
    auto* const bits = piece_of(run.start)->in_use;
    if (bits == nullptr) return true;
    atomic_word<std::uint64_t>& word = bits[unit_in_piece(run.start) * words_a_unit + block / 64];
    const std::uint64_t bit = std::uint64_t{1} << block % 64;
    const std::uint64_t before = in_use ? word.fetch_or(bit, memory_order_relaxed) : word.fetch_and(~bit, memory_order_relaxed);
    return ((before & bit) != 0) != in_use;
  }

  // ---- runs -------------------------------------------------------------------------------------------------------------

  /// A run in use, whose kind the caller sets, aligned to that many units; null: refused.
  span_record* take(std::size_t units, span_record::kind kind, std::size_t alignment = 1) noexcept {
    if (units == 0 || units > most_units || alignment > most_units) return nullptr;
    const held lock(mutex_);
    span_record* const run = take_held(units, alignment);
    if (run == nullptr) return nullptr;
    run->is = kind;
    note_taken(units, run->is_dirty ? 0 : units);
    return run;
  }
  void give(span_record& run) noexcept {
    const held lock(mutex_);
    give_held(run);
  }
  /// Gives back the large run that starts there.
  run_verdict give_at(void* start) noexcept {
    span_record* run;
    {
      const held lock(mutex_);
      const run_verdict found = verdict_at(start);
      if (found != run_verdict::done) return found;
      run = span_of(start);
      if (run->moved == 0) return give_held(*run), found;
      leave_held(*run);
      --moved_;
    }
    map_again(*run);
    return run_verdict::done;
  }
  /// What give_at() would say.
  run_verdict verdict_at(const void* start) noexcept {
    const span_record* const run = span_of(start);
    if (run == nullptr) return run_verdict::not_ours;
    if (run->is == span_record::unused || run->is == span_record::leaving) return run_verdict::is_free;
    if (run->is != span_record::large || run->start != start) return run_verdict::not_a_start;
    return run_verdict::done;
  }
  /// Changes the units of a large run in place. Returns whether it could. Precondition: not 0.
  bool resize(span_record& run, std::size_t units) noexcept {
    if (units > most_units) return false;
    if (run.moved != 0) return resize_moved(run, units);
    const held lock(mutex_);
    if (units <= run.units) {
      if (units == run.units) return true;
      span_record& rest = *cut(run, units);
      rest.is = span_record::large;
      give_held(rest);
      return true;
    }
    return extend(run, units - run.units);
  }

  /// Moves the memory of a large run to a place with that many units, and a quarter, without a copy. Null: no run of that size
  /// is moved, or it would shrink, or the system refused, or addresses are limited; the run is as it was. Precondition: not 0.
  span_record* relocate(span_record& run, std::size_t units) noexcept {
    if constexpr (!System::has_moving_pages) return nullptr;
    span_record* const to = begin_move(run, units);
    if (to == nullptr) return nullptr;
    if (to->is_dirty) empty(*to, 0, to->units);  // what the heap may lose has no memory
    const bool is_done = System::move_pages(run.start, run.units * span_unit, to->start, to->units * span_unit);
    span_record& left = is_done ? run : *to;
    // If another thread has got these addresses from the system during this, they are the heap's no longer.
    const bool is_mapped = System::map_pages_at(left.start, left.units * span_unit, false);
    {
      const held lock(mutex_);
      if (is_done) {
        moved_ += run.moved == 0;
        to->moved = static_cast<std::uint32_t>(units);
        to->is_dirty = true;
      } else {
        run.is = span_record::large;
        in_use_ += run.units;
        in_use_ -= to->units;
      }
    }
    come_back(left, is_mapped);
    return is_done ? to : nullptr;
  }

  // ---- memory for the system --------------------------------------------------------------------------------------------

  /// Whether clean() is due. Also whether runs with new memory were taken, 1 MiB since the last time: then caches give back
  /// what nobody asks for.
  bool is_dirty() const noexcept { return load_relaxed(dirty_) > load_relaxed(bound_); }
  bool has_grown() const noexcept { return load_relaxed(grown_) >= growth_a_sweep; }
  void forget_growth() noexcept {
    const held lock(mutex_);
    store_relaxed(grown_, std::size_t{0});
  }
  /// When clean() is due: down to three quarters of what may be kept, so that the next one isn't soon.
  std::size_t clean_some() noexcept {
    const std::size_t bound = load_relaxed(bound_);
    const std::size_t gone = clean((bound - bound / 4) * span_unit);
    const held lock(mutex_);
    cleaned_ += gone / span_unit;
    return gone;
  }
  /// Gives memory of free runs back, the largest first, until no more than that many bytes are kept. Returns how many went.
  std::size_t clean(std::size_t kept_bytes) noexcept {
    std::size_t all = 0;
    for (;;) {
      run_memory all_runs[runs_a_time];
      std::size_t unmapped = 0;
      const std::size_t n = choose(all_runs, kept_bytes / span_unit, unmapped);
      if (n + unmapped == 0) return all;
      for (std::size_t i = 0; i != unmapped; ++i) {
        System::unmap_pages(all_runs[i].start, all_runs[i].bytes);
        all += all_runs[i].bytes;
      }
      const run_memory* const runs = all_runs + unmapped;
      std::uint64_t refused = 0;  // a bit a run
      for (std::size_t done = 0; done != n;) {
        done += pages::discard(runs + done, n - done, page_advice::discard);
        if (done != n) refused |= std::uint64_t{1} << done++;
      }
      const held lock(mutex_);
      for (std::size_t i = 0; i != n; ++i) {
        span_record& run = *unit_at(runs[i].start);
        run.is_dirty = run.stays = (refused >> i & 1) != 0;
        if (!run.stays) all += runs[i].bytes;
        link(*joined(run));
      }
      if (n != 0) leaving_count_ = 0;
      update_bound();
    }
  }
  /// Gives all back that can go, and starts anew to learn what is wanted again and what the system refuses.
  std::size_t trim() noexcept {
    {
      const held lock(mutex_);
      extra_ = cleaned_ = lost_ = 0;
      peak_ = in_use_;
      for (span_record* const first : bins_)
        for (span_record* run = first; run != nullptr; run = run->next) run->stays = false;
      store_relaxed(dirty_, dirty_ + staying_);
      staying_ = 0;
      read_limit();
      if (limit_ != 0) give_up_rest();
      update_bound();
    }
    return clean(0);
  }
  /// Whether the process's addresses are limited. If so, trim() may help if there is no memory.
  bool is_limited() noexcept {
    const held lock(mutex_);
    return limit_ != 0;
  }
  heap_counts counts() noexcept {
    const held lock(mutex_);
    return {in_use_ * span_unit, (dirty_ + staying_) * span_unit, open_ * span_unit, own_.mapped()};
  }
  /// Aligned to 64, for as long as the process runs; null: refused.
  void* own_memory(std::size_t bytes) noexcept { return own_.get(bytes); }

  void act_at_fork(fork_step step) noexcept {
    mutex_.act(step);
    own_.act_at_fork(step);
    if (step != fork_step::renew || cleaner_ == this_thread_number()) return;  // that forks in a signal handler
    for (std::size_t i = 0; i != leaving_count_; ++i) link(*joined(*leaving_[i]));  // the thread that cleaned is gone
    leaving_count_ = 0;
  }

 private:
  using pages = page_memory_over<System>;
  struct run_memory {
    void* start;
    std::size_t bytes;
  };
  static constexpr std::size_t runs_a_time = 64;
  static constexpr std::size_t words_a_unit = span_unit / 16 / 64;
  static constexpr std::size_t growth_a_sweep = 16;  // units
  static constexpr std::size_t piece_units = 64, piece_bytes = piece_units * span_unit;
  static constexpr std::size_t least_open = 16;  // units opened at once, if there are
  static constexpr std::size_t least_unmapped = 16;  // units, so that there are few mappings
  static constexpr std::size_t least_moved = 16;  // units
  static constexpr std::size_t most_moved = 2048;  // runs: each splits a mapping in three, of 65,530
  static constexpr std::size_t most_lost = 16;  // places
  static constexpr std::size_t first_region = 1024, largest_region = std::size_t{1} << 20;  // units

  /// The records of units whose addresses are a multiple of 4 MiB and what follows.
  struct piece {
    std::uintptr_t start;
    atomic_word<std::uint64_t>* in_use;  // bits of blocks; null: not noted
    span_record units[piece_units];
  };

  TARN_STEP static std::size_t byte_of(const void* at) noexcept { return address_of(at) / span_unit % window; }
  static std::size_t unit_in_piece(const void* at) noexcept { return address_of(at) / span_unit % piece_units; }

  piece* piece_of(const void* at) noexcept {
    piece* const its = pieces_[address_of(at) / piece_bytes % (window / piece_units)].load(memory_order_acquire);
    return its != nullptr && its->start == address_of(at) / piece_bytes * piece_bytes ? its : nullptr;
  }
  span_record* unit_at(const void* at) noexcept {
    piece* const its = piece_of(at);
    return its != nullptr ? &its->units[unit_in_piece(at)] : nullptr;
  }
  /// A free run that starts there; null: there is none.
  span_record* free_run_at(const std::byte* at) noexcept {
    span_record* const run = unit_at(at);
    return run != nullptr && run->is == span_record::unused ? run : nullptr;
  }
  span_record* free_run_before(const std::byte* at) noexcept {
    const std::byte* const last = at - span_unit;
    const span_record* const unit = unit_at(last);
    if (unit == nullptr) return nullptr;
    span_record* const first = free_run_at(last - unit->back * span_unit);
    return first != nullptr && first->end() == at ? first : nullptr;
  }

  // ---- all under the lock -----------------------------------------------------------------------------------------------

  void give_held(span_record& run) noexcept {
    in_use_ -= run.units;
    run.is_dirty = true;
    link(*joined(run));
    update_bound();
  }
  /// A run that is out of use is in no list until it comes back.
  void leave_held(span_record& run) noexcept {
    in_use_ -= run.units;
    run.is = span_record::leaving;
    update_bound();
  }
  /// Free without memory; or, if it isn't mapped, the heap's no longer. Not under the lock.
  void come_back(span_record& run, bool is_mapped) noexcept {
    if (is_mapped && options_.huge_pages) System::ask_for_huge_pages(run.start, run.units * span_unit);
    const held lock(mutex_);
    run.moved = 0;
    run.is_dirty = run.stays = false;
    if (is_mapped) {
      link(*joined(run));
    } else {
      run.is = span_record::inner;
      open_ -= run.units;
      ++lost_;
    }
    update_bound();
  }
  /// Of a moved run, which is leaving: mapped again, so that the system joins it with its neighbours. Not under the lock.
  void map_again(span_record& run) noexcept {
    empty(run, 0, run.units);  // first: a system that refuses to map it again must not keep the memory
    const bool is_mapped = System::map_pages_at(run.start, run.units * span_unit, true);
    come_back(run, is_mapped);
  }
  static void empty(const span_record& run, std::size_t from, std::size_t to) noexcept {
    const run_memory part{run.start + from * span_unit, (to - from) * span_unit};
    pages::discard(&part, 1, page_advice::discard);
  }
  /// It has room to grow, and gives memory back if it shrinks, also addresses if it needs less than half of them. It isn't
  /// moved for that: Linux would unmap its end first, and might then refuse to move the rest.
  bool resize_moved(span_record& run, std::size_t units) noexcept {
    const bool has_too_many = units < run.units / 2;
    if (units > run.units || (has_too_many && units < least_moved)) return false;
    if (units < run.moved) empty(run, units, run.moved);
    run.moved = static_cast<std::uint32_t>(units);
    if (has_too_many) give_end(run, units + units / 4);
    return true;
  }
  void give_end(span_record& run, std::size_t units) noexcept {
    span_record* end;
    {
      const held lock(mutex_);
      end = cut(run, units);
      leave_held(*end);
    }
    map_again(*end);
  }
  /// The place for it. The run is leaving: what else is done with it is a misuse.
  span_record* begin_move(span_record& run, std::size_t units) noexcept {
    const held lock(mutex_);
    if (run.is != span_record::large || units > most_units / 2) return nullptr;
    if (run.units < least_moved || units < run.units) return nullptr;
    if (limit_ != 0 || lost_ >= most_lost || (moved_ >= most_moved && run.moved == 0)) return nullptr;
    // Where both places are aligned to huge pages, whole tables of pages are moved.
    constexpr std::size_t alignment = System::huge_page_bytes / span_unit;
    span_record* to = take_held(units + units / 4, alignment);
    if (to == nullptr) to = take_held(units, alignment);
    if (to == nullptr) return nullptr;
    to->is = span_record::large;
    leave_held(run);
    note_taken(to->units, units - run.bytes_to_use() / span_unit);
    return to;
  }
  /// In no list, and whose kind isn't set.
  span_record* take_held(std::size_t units, std::size_t alignment) noexcept {
    const std::size_t all = units + alignment - 1;
    span_record* run = find(all);
    if (run == nullptr) {
      if (!grow(all)) return nullptr;
      run = find(all);
      if (run == nullptr) return nullptr;
    }
    unlink(*run);
    run->stays = false;
    const std::size_t number = address_of(run->start) / span_unit;
    if (const std::size_t before = (alignment - number % alignment) % alignment; before != 0) {
      span_record* const rest = cut(*run, before);
      link(*run);
      run = rest;
    }
    if (run->units > units) link(*cut(*run, units));
    return run;
  }
  /// Free runs that follow, and what isn't open yet.
  bool extend(span_record& run, std::size_t units) noexcept {
    std::size_t here = 0;
    for (const span_record* next = free_run_at(run.end()); next != nullptr && here < units; next = free_run_at(next->end()))
      here += next->units;
    if (here < units && (run.end() + here * span_unit != opened_ || !open(units - here))) return false;
    std::size_t clean_units = 0;
    for (std::size_t left = units; left != 0;) {
      span_record& next = *free_run_at(run.end());
      unlink(next);
      next.stays = false;
      if (next.units > left) link(*cut(next, left));
      if (!next.is_dirty) clean_units += next.units;
      next.is = span_record::inner;
      run.units += next.units;
      left -= next.units;
    }
    note_taken(units, clean_units);
    return true;
  }
  /// Clean memory that is taken after some was given back was given back too soon: twice as much more is kept from then on.
  /// Whenever 16 times the most that was in use has been taken, that falls by half of what was kept all that time.
  void note_taken(std::size_t units, std::size_t clean_units) noexcept {
    in_use_ += units;
    peak_ = larger(peak_, in_use_);
    store_relaxed(grown_, grown_ + clean_units);
    const std::size_t again = smaller(clean_units, cleaned_);
    cleaned_ -= again;
    extra_ += 2 * again;
    fewest_ = smaller(fewest_, dirty_);
    taken_ += units;
    if (taken_ > 16 * larger(peak_, least_kept())) [[unlikely]] {
      taken_ = cleaned_ = 0;
      extra_ -= smaller(extra_, (fewest_ + 1) / 2);
      if (extra_ == 0) peak_ = in_use_;
      fewest_ = dirty_;
    }
    update_bound();
  }
  std::size_t least_kept() const noexcept { return options_.kept_bytes / span_unit; }
  /// With what is in use, what is kept above the least is at most the most that was in use, and three quarters: large blocks of
  /// ever different sizes leave gaps.
  void update_bound() noexcept {
    const std::size_t extra = smaller(extra_, peak_ + peak_ * 3 / 4 - in_use_);
    const std::size_t bound = larger(larger(least_kept(), in_use_ / 4), extra);
    store_relaxed(bound_, limit_ != 0 ? smaller(bound, limit_ / 16) : bound);
  }
  /// The run joined with the free ones next to it. One with memory isn't joined to a large one without, which would then count
  /// as having memory.
  span_record* joined(span_record& run) noexcept {
    span_record* first = &run;
    if (span_record* const before = free_run_before(run.start); before != nullptr && may_join(*before, run)) {
      unlink(*before);
      run.is = span_record::inner;
      before->units += run.units;
      before->is_dirty |= run.is_dirty;
      first = before;
    }
    if (span_record* const after = free_run_at(first->end()); after != nullptr && may_join(*first, *after)) {
      unlink(*after);
      after->is = span_record::inner;
      first->units += after->units;
      first->is_dirty |= after->is_dirty;
    }
    return first;
  }
  static bool may_join(const span_record& a, const span_record& b) noexcept {
    return a.stays == b.stays && (a.is_dirty == b.is_dirty || (a.units < 16 && b.units < 16));
  }
  void link(span_record& run) noexcept {
    run.is = span_record::unused;
    run.back = 0;
    if (run.units > 1) unit_at(run.end() - span_unit)->back = run.units - 1;
    const unsigned bin = run_bins::of(run.units);
    run.previous = nullptr;
    run.next = bins_[bin];
    if (run.next != nullptr) run.next->previous = &run;
    bins_[bin] = &run;
    occupied_[bin / 64] |= std::uint64_t{1} << bin % 64;
    if (run.stays) staying_ += run.units;
    else if (run.is_dirty) store_relaxed(dirty_, dirty_ + run.units);
  }
  void unlink(span_record& run) noexcept {
    const unsigned bin = run_bins::of(run.units);
    (run.previous != nullptr ? run.previous->next : bins_[bin]) = run.next;
    if (run.next != nullptr) run.next->previous = run.previous;
    if (bins_[bin] == nullptr) occupied_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
    if (run.units > 1) unit_at(run.end() - span_unit)->back = 0;
    if (run.stays) staying_ -= run.units;
    else if (run.is_dirty) store_relaxed(dirty_, dirty_ - run.units);
  }
  /// Leaves the first units in the run. Returns the rest, which is in no list.
  span_record* cut(span_record& run, std::size_t units) noexcept {
    span_record& rest = *unit_at(run.start + units * span_unit);
    rest.start = run.start + units * span_unit;
    rest.units = run.units - static_cast<std::uint32_t>(units);
    rest.is_dirty = run.is_dirty;
    rest.stays = run.stays;
    rest.back = 0;
    run.units = static_cast<std::uint32_t>(units);
    return &rest;
  }
  /// The smallest bin whose runs all fit, or one of the first runs of the bin before it.
  span_record* find(std::size_t units) noexcept {
    unsigned bin = run_bins::of(units);
    if (bin >= run_bins::exact) {
      span_record* best = nullptr;
      unsigned tries = 32;
      for (span_record* run = bins_[bin]; run != nullptr && tries-- != 0; run = run->next)
        if (run->units >= units && (best == nullptr || run->units < best->units)) best = run;
      if (best != nullptr || ++bin == run_bins::count) return best;
    }
    for (unsigned word = bin / 64; word != words_of_bins; ++word) {
      const std::uint64_t here = word == bin / 64 ? occupied_[word] >> bin % 64 << bin % 64 : occupied_[word];
      if (here != 0) return bins_[word * 64 + static_cast<unsigned>(std::countr_zero(here))];
    }
    return nullptr;
  }

  /// Free runs for clean(), now in no list: first those that are to be unmapped, and are the heap's no longer, then those that
  /// come back. Returns how many come back.
  std::size_t choose(run_memory* runs, std::size_t kept_units, std::size_t& unmapped) noexcept {
    const held lock(mutex_);
    if (leaving_count_ != 0) return 0;
    const auto is_full = [&] { return leaving_count_ + unmapped == runs_a_time; };
    for (unsigned bin = run_bins::count; bin-- != 0 && !is_full();) {
      for (span_record *run = bins_[bin], *next = nullptr; run != nullptr && !is_full(); run = next) {
        next = run->next;
        if (run->stays) continue;
        const bool is_unmapped = limit_ != 0 && (run->units >= least_unmapped || kept_units == 0);
        if (run->is_dirty ? dirty_ <= kept_units : !is_unmapped) continue;
        unlink(*run);
        run->is = span_record::leaving;
        runs[leaving_count_ + unmapped] = {run->start, run->units * span_unit};
        if (is_unmapped) run->is = span_record::inner, open_ -= run->units, ++unmapped;
        else leaving_[leaving_count_++] = run;
      }
      if (limit_ == 0 && dirty_ <= kept_units) break;
    }
    if (leaving_count_ != 0) cleaner_ = this_thread_number();
    return leaving_count_;
  }

  // ---- addresses --------------------------------------------------------------------------------------------------------

  /// Opens at least that many units in a row.
  bool grow(std::size_t units) noexcept {
    if (static_cast<std::size_t>(reserved_ - opened_) / span_unit < units && !reserve(units)) return false;
    return open(units);
  }
  /// Opens that many units of the region, or some more. False: the region has no more, or the system refuses.
  bool open(std::size_t units) noexcept {
    const std::size_t left = static_cast<std::size_t>(reserved_ - opened_) / span_unit;
    if (left < units) return false;
    std::size_t more = smaller(left, larger(units, larger(least_open, smaller(open_ / 16, std::size_t{1024}))));
    if (!have_records(opened_, more) || !System::open_pages(opened_, more * span_unit)) {
      more = units;
      if (!have_records(opened_, more) || !System::open_pages(opened_, more * span_unit)) return false;
    }
    if (options_.huge_pages) System::ask_for_huge_pages(opened_, more * span_unit);
    span_record& run = *unit_at(opened_);
    run.start = opened_;
    run.units = static_cast<std::uint32_t>(more);
    run.is_dirty = run.stays = false;
    opened_ += more * span_unit;
    open_ += more;
    link(*joined(run));
    return true;
  }
  void read_limit() noexcept {
    const std::size_t limit = System::address_limit();
    limit_ = limit != ~std::size_t{0} ? larger(limit / span_unit, 1) : 0;
  }
  void give_up_rest() noexcept {
    if (opened_ != reserved_) System::unmap_pages(opened_, static_cast<std::size_t>(reserved_ - opened_));
    reserved_ = opened_;
  }
  /// A new region, as large as all before, or as large as the system allows. What is left of the last one is given up. Where
  /// addresses are limited, what isn't needed is left to the others.
  bool reserve(std::size_t units) noexcept {
    read_limit();
    if (limit_ != 0) give_up_rest();
    const std::size_t usual = limit_ != 0 ? units + least_open : larger(reserved_units_, first_region);
    std::size_t wanted = larger(units, smaller(usual, largest_region));
    for (;; wanted = larger(units, wanted / 2)) {
      if (std::byte* const start = map_usable(wanted)) {
        opened_ = start;
        reserved_ = start + wanted * span_unit;
        reserved_units_ += wanted;
        return true;
      }
      if (wanted == units) return false;
    }
  }
  /// Addresses of which no unit shares its byte of the map. The system may go on offering the same ones: those that can't be
  /// used are held until there are better ones.
  std::byte* map_usable(std::size_t units) noexcept {
    std::byte* refused[8];
    std::size_t n = 0;
    std::byte* start = map(units);
    while (start != nullptr && !is_usable(start, units)) {
      refused[n++] = start;
      start = n != std::size(refused) ? map(units) : nullptr;
    }
    while (n != 0) System::unmap_pages(refused[--n], units * span_unit);
    return start;
  }
  std::byte* map(std::size_t units) noexcept {
    return static_cast<std::byte*>(System::map_pages(units * span_unit, alignment(), 0, false));
  }
  std::size_t alignment() const noexcept { return options_.huge_pages ? System::huge_page_bytes : span_unit; }
  /// Whether no unit shares its byte of the map with another one's, or with null.
  bool is_usable(const std::byte* start, std::size_t units) noexcept {
    if (byte_of(start) == 0 || byte_of(start) + units > window) return false;
    const std::byte* const last = start + units * span_unit - 1;
    for (const std::byte* at = start; at < last; at += piece_bytes)
      if (is_other(at)) return false;
    return !is_other(last);
  }
  bool is_other(const std::byte* at) noexcept {
    const piece* const its = pieces_[address_of(at) / piece_bytes % (window / piece_units)].load(memory_order_relaxed);
    return its != nullptr && its->start != address_of(at) / piece_bytes * piece_bytes;
  }
  /// Makes the records of units that have none.
  bool have_records(const std::byte* start, std::size_t units) noexcept {
    const std::uintptr_t end = address_of(start) + units * span_unit;
    for (std::uintptr_t at = address_of(start) / piece_bytes * piece_bytes; at < end; at += piece_bytes) {
      atomic_word<piece*>& place = pieces_[at / piece_bytes % (window / piece_units)];
      if (place.load(memory_order_relaxed) != nullptr) continue;
      const std::size_t bits = options_.notes_use ? piece_units * words_a_unit * sizeof(std::uint64_t) : 0;
      void* const memory = own_.get(sizeof(piece) + bits);
      if (memory == nullptr) return false;
      auto* const made = static_cast<piece*>(memory);  // zero is what a record starts with
      made->start = at;
      if (bits != 0) made->in_use = reinterpret_cast<atomic_word<std::uint64_t>*>(made + 1);
      place.store(made, memory_order_release);
    }
    return true;
  }

  static constexpr unsigned words_of_bins = (run_bins::count + 63) / 64;

  joint_mutex mutex_;
  heap_options options_{0, false, false};  // all is zero, so that the program's file has none of it
  std::byte* opened_ = nullptr;  // of the last region: what follows can't be accessed yet
  std::byte* reserved_ = nullptr;  // its end
  std::size_t reserved_units_ = 0, open_ = 0, in_use_ = 0;
  std::size_t limit_ = 0;  // units of addresses that the process may have; 0: there is no limit
  std::size_t dirty_ = 0;  // units of free runs that have memory, but for those that stay
  std::size_t staying_ = 0;
  std::size_t bound_ = 0;  // of dirty_
  std::size_t grown_ = 0;  // units of new memory that were taken since the last sweep
  std::size_t peak_ = 0;  // of in_use_, since extra_ was 0
  std::size_t extra_ = 0;  // units that may be kept, since they were wanted again
  std::size_t moved_ = 0;  // runs in use that were moved
  std::size_t lost_ = 0;  // places that the heap couldn't keep when something was moved
  std::size_t cleaned_ = 0, taken_ = 0, fewest_ = 0;  // units given back, taken, and the least of dirty_, of late
  std::uint64_t occupied_[words_of_bins] = {};
  span_record* bins_[run_bins::count] = {};
  span_record* leaving_[runs_a_time] = {};
  std::size_t leaving_count_ = 0;
  thread_number cleaner_ = 0;  // the thread that has those
  own_pages<System> own_;
  // Order: store release, load acquire. It publishes records once, under the heap's mutex. A unit's byte in `map_` is written
  // before a block of it is allocated and after the last was freed; what passed the block on orders it.
  atomic_word<piece*> pieces_[window / piece_units] = {};
  unsigned char map_[window] = {};
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_SIZES_SPAN_HEAP_H_
