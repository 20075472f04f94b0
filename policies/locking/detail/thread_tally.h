// Counts blocks in a line of the cache for each thread, which nobody else writes: no call of one thread waits for another's.
//
//   lines_[number]   allocations | frees | peak of the difference            written by the holder of the number alone
//   others_          the same, for threads without a line, each change atomic
//
// What is in use is the sum of the differences, since a block may be freed by another thread. Its peak is exact as long as one
// thread counts. With several it is the most that was seen, never more than there was: a thread looks at all lines whenever its
// own difference has risen by a sixteenth of what was in use at its last look, and by 64 at least.
#ifndef TARN_POLICIES_LOCKING_DETAIL_THREAD_TALLY_H_
#define TARN_POLICIES_LOCKING_DETAIL_THREAD_TALLY_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/shared_cell.h"
#include "tarn/policies/locking/detail/thread_ids.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Threads  lines: one of slot_counts
template <class Process, unsigned Threads>
class thread_tally {
  template <class T>
  using atomic = typename Process::template atomic<T>;

 public:
  /// Counts one block, where that takes no call. Returns whether it did. Precondition of the first: the thread has a slot, out
  /// of which the block came.
  TARN_STEP bool try_add() noexcept {
    const thread_record& me = Process::self();
    line& mine = line_for(me);
    if (mine.domain.load(memory_order_relaxed) != me.domain) [[unlikely]] return false;
    const std::size_t handed_out = read(mine.allocations) + 1;
    const std::size_t now = handed_out - read(mine.frees);
    if (as_signed(now) > as_signed(read(mine.peak))) {
      if (now >= mine.next_look) [[unlikely]] return false;
      write(mine.peak, now);
    }
    mine.allocations.store(handed_out, memory_order_release);
    return true;
  }
  TARN_STEP bool try_subtract() noexcept {
    const thread_record& me = Process::self();
    line& mine = line_for(me);
    if (!mine.is_of(me)) [[unlikely]] return false;
    write(mine.frees, read(mine.frees) + 1);
    return true;
  }
  TARN_NOINLINE void add(std::size_t blocks) noexcept {
    const thread_record& me = Process::self();
    line& mine = line_for(me);
    if (!mine.is_of(me)) {
      note_peak();
      if (claim(me)) return add(blocks);
      const std::size_t before = others_.allocations.fetch_add(blocks, memory_order_release);
      if (only_others() || (before + blocks) % step < blocks) seen_.raise_to(in_use());
      return;
    }
    mine.allocations.store(read(mine.allocations) + blocks, memory_order_release);
    const std::size_t now = mine.difference();
    if (as_signed(now) <= as_signed(read(mine.peak))) return;
    write(mine.peak, now);
    if (now < mine.next_look) return;
    const std::size_t all = in_use();
    seen_.raise_to(all);
    mine.next_look = now + larger(all / 16, step);
  }
  TARN_NOINLINE void subtract(std::size_t blocks) noexcept {
    const thread_record& me = Process::self();
    line& mine = line_for(me);
    if (mine.is_of(me)) return write(mine.frees, read(mine.frees) + blocks);
    note_peak();
    if (claim(me)) return subtract(blocks);  // a thread that only frees, as a consumer, counts on its own, too
    others_.frees.fetch_add(blocks, memory_order_relaxed);
  }
  /// All blocks are free. Precondition: no other thread counts.
  void settle() noexcept {
    for (line& l : lines_) write(l.frees, read(l.allocations));
    write(others_.frees, read(others_.allocations));
  }

  /// While others count: at most what was in use when the last allocation was read. The frees are read after it; and those that
  /// came before an allocation are seen with it, since each allocation is released.
  std::size_t in_use() const noexcept {
    const std::size_t handed_out = allocations();
    std::size_t freed = read(others_.frees);
    for (const line& l : lines_) freed += read(l.frees);
    return handed_out - smaller(handed_out, freed);
  }
  std::size_t peak() const noexcept {
    if (const line* const only = only_line()) return read(only->peak);
    seen_.raise_to(in_use());  // so that it never falls
    return seen_;
  }
  std::size_t allocations() const noexcept {
    std::size_t all = others_.allocations.load(memory_order_acquire);
    for (const line& l : lines_) all += l.allocations.load(memory_order_acquire);
    return all;
  }

 private:
  static constexpr std::size_t step = 64;  // blocks

  struct alignas(slot_bytes) line {
    atomic<const void*> domain = nullptr;  // whose number it is; null: nobody's yet
    atomic<std::size_t> allocations = 0;
    atomic<std::size_t> frees = 0;
    atomic<std::size_t> peak = 0;     // of their difference
    std::size_t next_look = 0;        // the difference at which its thread looks at all lines

    TARN_STEP bool is_of(const thread_record& me) const noexcept {
      return domain.load(memory_order_relaxed) == me.domain && me.domain != nullptr;
    }
    TARN_STEP std::size_t difference() const noexcept { return read(allocations) - read(frees); }
  };
  struct shared {
    atomic<std::size_t> allocations = 0;
    atomic<std::size_t> frees = 0;
  };
  static constexpr std::size_t tier = tier_of(Threads);

  TARN_STEP static std::size_t read(const atomic<std::size_t>& number) noexcept { return number.load(memory_order_relaxed); }
  TARN_STEP static void write(atomic<std::size_t>& number, std::size_t value) noexcept {
    number.store(value, memory_order_relaxed);
  }
  TARN_STEP static std::ptrdiff_t as_signed(std::size_t difference) noexcept { return static_cast<std::ptrdiff_t>(difference); }

  TARN_STEP line& line_for(const thread_record& me) noexcept {
    return *detail::launder_address(reinterpret_cast<line*>(reinterpret_cast<std::byte*>(lines_) + me.offset[tier]));
  }

  /// Takes the line of the thread's number, unless it is another domain's.
  bool claim(const thread_record& me) noexcept {
    line& mine = line_for(me);
    const void* nobody = nullptr;
    return detail::pointer_to(mine) != lines_ && mine.domain.compare_exchange_strong(nobody, me.domain, memory_order_relaxed);
  }
  /// Called before another than the only one counts.
  void note_peak() noexcept {
    if (const line* const only = only_line()) seen_.raise_to(read(only->peak));
  }
  bool only_others() const noexcept {
    for (const line& l : lines_)
      if (l.domain.load(memory_order_relaxed) != nullptr) return false;
    return true;
  }
  /// The line of the only thread that ever counted, or null if there were several, or none has one.
  const line* only_line() const noexcept {
    const line* only = nullptr;
    if (read(others_.allocations) != 0 || read(others_.frees) != 0) return nullptr;
    for (const line& l : lines_) {
      if (l.domain.load(memory_order_relaxed) == nullptr) continue;
      if (only != nullptr) return nullptr;
      only = detail::pointer_to(l);
    }
    return only;
  }

  line lines_[Threads];  // the first is nobody's
  shared others_;
  mutable shared_cell<std::size_t> seen_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_THREAD_TALLY_H_
